import { setTimeout as delay } from 'node:timers/promises';
import { equalBytes } from '../../bytes/index.js';
import { RowanError } from '../../errors.js';
import {
  Get,
  ownTableDescriptor,
  RECORD_TABLES,
  Scan,
  type Table,
  type TableDescriptor,
} from '../../table/index.js';
import { compareAndSet } from '../../table/table.js';

/**
 * The table `rowan_schema`: the lock for schema changes, and the plans that were applied (docs/formats.md).
 *
 * Row `l`: the lock. Row `p` + four bytes, big-endian: an applied plan, numbered from 1. Row `r` + the names of two
 * entities with a zero byte between: a change of a key layout (docs/rekey.md). Row `m` + the name of a migration: that it
 * was deployed (docs/migrations.md). Where such a row is the record of another program with other tables, the names of
 * the tables follow. Each row is one cell of JSON, `c:v`, and each change of it is a checkAndMutate on the bytes before.
 */

const FAMILY = 'c';
const VALUE = Buffer.from('v', 'latin1');
const ENTRY = Buffer.from('p', 'latin1');
const REKEY = Buffer.from('r', 'latin1');
const MIGRATION = Buffer.from('m', 'latin1');

export const LOCK_ROW: Uint8Array = Buffer.from('l', 'latin1');

export function controlTableDescriptor(): TableDescriptor {
  return ownTableDescriptor(RECORD_TABLES.schema, FAMILY);
}

/** A value with its row, and its stored bytes, against which the next change is checked. */
export interface Kept<T> {
  readonly row: Uint8Array;
  readonly value: T;
  readonly bytes: Uint8Array;
}

/** Cells of JSON that are changed by compare-and-set. */
export class ControlTable {
  constructor(private readonly table: Table) {}

  async read<T>(row: Uint8Array): Promise<Kept<T> | undefined> {
    const bytes = (await this.table.get(new Get(row).addColumn(FAMILY, VALUE))).getValue(FAMILY, VALUE);
    return bytes === undefined ? undefined : keptOf<T>(row, bytes);
  }

  /** Returns undefined if another process was faster. If a response is lost, it reads the cell to find out. */
  async change<T>(
    row: Uint8Array,
    before: Kept<unknown> | undefined,
    value: T,
  ): Promise<Kept<T> | undefined> {
    const bytes = new Uint8Array(Buffer.from(JSON.stringify(value)));
    const place = { row, family: FAMILY, qualifier: VALUE };
    return (await compareAndSet(this.table, place, before?.bytes, bytes)) ? { row, value, bytes } : undefined;
  }

  /** The time of a value's last change, by the clock of the engine; 0 if it was never changed. */
  async changedAt(row: Uint8Array): Promise<number> {
    const found = await this.table.get(new Get(row).addColumn(FAMILY, VALUE));
    return found.getLatest(FAMILY, VALUE)?.timestamp ?? 0;
  }

  /** The applied plans, oldest first. */
  entries<T>(): Promise<Kept<T>[]> {
    return this.under(ENTRY);
  }

  /** The changes of key layouts, in the order of their names. */
  rekeys<T>(): Promise<Kept<T>[]> {
    return this.under(REKEY);
  }

  /** The migrations, in the order of their names. */
  migrations<T>(): Promise<Kept<T>[]> {
    return this.under(MIGRATION);
  }

  private async under<T>(prefix: Uint8Array): Promise<Kept<T>[]> {
    const found: Kept<T>[] = [];
    const scan = new Scan().setStartStopRowForPrefix(prefix).addColumn(FAMILY, VALUE);
    for await (const { row, cells } of this.table.scan(scan)) found.push(keptOf<T>(row, cells[0]!.value));
    return found;
  }
}

/** The row of an applied plan. */
export function entryRow(number: number): Uint8Array {
  const row = Buffer.alloc(5);
  row.set(ENTRY);
  row.writeUInt32BE(number, 1);
  return row;
}

/** The row of a key change: r, the entity's name, a zero byte, the other's name; then a zero byte and the name of each table. */
export function rekeyRow(from: string, to: string, tables: readonly string[] = []): Uint8Array {
  return Buffer.concat([REKEY, Buffer.from([from, to, ...tables].join('\0'))]);
}

/** The row of a migration: m, its name; then a zero byte and the name of each table. */
export function migrationRow(name: string, tables: readonly string[] = []): Uint8Array {
  return Buffer.concat([MIGRATION, Buffer.from([name, ...tables].join('\0'))]);
}

function keptOf<T>(row: Uint8Array, bytes: Uint8Array): Kept<T> {
  const copy = new Uint8Array(bytes);
  try {
    return { row: new Uint8Array(row), value: JSON.parse(Buffer.from(copy).toString()) as T, bytes: copy };
  } catch (cause) {
    throw new RowanError(
      'ERR_CORRUPTION',
      'The table "rowan_schema" contains data that Rowan did not write.',
      {
        cause,
        details: { table: 'rowan_schema' },
      },
    );
  }
}

interface LockState {
  /** Undefined if the lock is free. */
  readonly owner?: string;
  /** Changes with every heartbeat. */
  readonly beat: number;
}

interface LockOptions {
  /** How long, in ms, the lock is respected without a heartbeat. Default 30,000. */
  readonly leaseMs: number;
  /** How long to wait for the lock, in ms. Default 60,000. */
  readonly waitMs: number;
}

const POLL_MS = 200;

/**
 * The lock for schema changes: a row with an owner and a heartbeat. A process takes the lock over when it has seen the
 * same bytes for a whole lease by its own clock, so no two clocks need to agree.
 */
export class SchemaLock {
  private readonly timer: NodeJS.Timeout;
  private beating: Promise<void> = Promise.resolve();
  private lost: unknown;

  private constructor(
    private readonly control: ControlTable,
    private readonly owner: string,
    private held: Kept<LockState>,
    private readonly leaseMs: number,
    private renewedAt: number,
  ) {
    this.timer = setInterval(() => {
      this.beating = this.beating.then(() => this.renew());
    }, leaseMs / 4);
    this.timer.unref();
  }

  /**
   * Acquires the lock.
   * @throws RowanError `ERR_LOCKED`, retryable, naming the owner.
   */
  static async acquire(
    control: ControlTable,
    owner: string,
    { leaseMs, waitMs }: LockOptions,
  ): Promise<SchemaLock> {
    const began = performance.now();
    let seen: Kept<LockState> | undefined;
    let seenAt = began;
    for (;;) {
      const now = await control.read<LockState>(LOCK_ROW);
      const time = performance.now();
      if (seen === undefined || now === undefined || !equalBytes(seen.bytes, now.bytes)) seenAt = time;
      seen = now;
      if (now?.value.owner === undefined || time - seenAt >= leaseMs) {
        const beat = (now?.value.beat ?? 0) + 1;
        const held = await control.change<LockState>(LOCK_ROW, now, { owner, beat });
        if (held !== undefined) return new SchemaLock(control, owner, held, leaseMs, time);
        seen = undefined;
        continue;
      }
      if (time - began >= waitMs) {
        throw new RowanError(
          'ERR_LOCKED',
          `Another process is changing schemas: ${now.value.owner}. Try again when it is done. If it has crashed, the lock becomes free ${leaseMs / 1000} s after its last heartbeat; lockWaitMs sets how long to wait for it.`,
          { retryable: true, details: { owner: now.value.owner } },
        );
      }
      await delay(Math.min(POLL_MS, leaseMs / 4));
    }
  }

  /**
   * Called before each change. If the last heartbeat is old, writes one now, which succeeds only if nobody took the
   * lock.
   * @throws RowanError `ERR_LOCKED` when another process has taken it.
   */
  async check(): Promise<void> {
    if (performance.now() - this.renewedAt >= this.leaseMs / 2) {
      this.beating = this.beating.then(() => this.renew());
      await this.beating;
    }
    if (this.lost === undefined && performance.now() - this.renewedAt < this.leaseMs) return;
    throw new RowanError(
      'ERR_LOCKED',
      'The lock of the schema was lost: no heartbeat succeeded within its lease. Steps done so far remain applied; plan and apply again.',
      { retryable: true, cause: this.lost },
    );
  }

  async release(): Promise<void> {
    clearInterval(this.timer);
    await this.beating;
    const { beat } = this.held.value;
    // If this fails, the lease expires by itself.
    if (this.lost === undefined) {
      await this.control.change<LockState>(LOCK_ROW, this.held, { beat: beat + 1 }).catch(() => undefined);
    }
  }

  private async renew(): Promise<void> {
    if (this.lost !== undefined) return;
    const time = performance.now();
    try {
      const { beat } = this.held.value;
      const held = await this.control.change<LockState>(LOCK_ROW, this.held, {
        owner: this.owner,
        beat: beat + 1,
      });
      if (held === undefined) {
        this.lost = new Error('Another process took it over.');
        return;
      }
      this.held = held;
      this.renewedAt = time;
    } catch (error) {
      // The next heartbeat tries again; `check` reports if that takes too long. A closed engine does not come back.
      if (error instanceof RowanError && error.code === 'ERR_CLOSED') this.lost = error;
    }
  }
}

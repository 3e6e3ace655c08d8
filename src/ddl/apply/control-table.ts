import { setTimeout as delay } from 'node:timers/promises';
import { equalBytes } from '../../bytes/index.js';
import { RowanError } from '../../errors.js';
import { Get, Scan, type Table, type TableDescriptor, tableDescriptor } from '../../table/index.js';
import { compareAndSet } from '../../table/table.js';

/**
 * The table `rowan_schema`: the lock of those who change schemas, and the plans that were applied (docs/formats.md).
 *
 * Row `l`: the lock. Row `p` and four bytes, big endian: an applied plan, numbered from 1. Row `r` and the names of two entities
 * with a zero byte between: a change of keys (docs/rekey.md). Each is one cell of JSON, `c:v`,
 * and each change of it a checkAndMutate on the bytes before.
 */

const FAMILY = 'c';
const VALUE = Buffer.from('v', 'latin1');
const ENTRY = Buffer.from('p', 'latin1');
const REKEY = Buffer.from('r', 'latin1');

export const LOCK_ROW: Uint8Array = Buffer.from('l', 'latin1');

export function controlTableDescriptor(): TableDescriptor {
  return tableDescriptor('rowan_schema', { [FAMILY]: {} });
}

/** A value with the bytes it stands in: what the next change is checked against. */
export interface Kept<T> {
  readonly value: T;
  readonly bytes: Uint8Array;
}

/** Cells of JSON that are changed by compare and set. */
export class ControlTable {
  constructor(private readonly table: Table) {}

  async read<T>(row: Uint8Array): Promise<Kept<T> | undefined> {
    const bytes = (await this.table.get(new Get(row).addColumn(FAMILY, VALUE))).getValue(FAMILY, VALUE);
    return bytes === undefined ? undefined : keptOf<T>(bytes);
  }

  /** Undefined when another one was faster. An answer that was lost is found by reading what stands there. */
  async change<T>(
    row: Uint8Array,
    before: Kept<unknown> | undefined,
    value: T,
  ): Promise<Kept<T> | undefined> {
    const bytes = new Uint8Array(Buffer.from(JSON.stringify(value)));
    const place = { row, family: FAMILY, qualifier: VALUE };
    return (await compareAndSet(this.table, place, before?.bytes, bytes)) ? { value, bytes } : undefined;
  }

  /** When a value was changed last, by the clock of whoever keeps it; 0: never. */
  async changedAt(row: Uint8Array): Promise<number> {
    const found = await this.table.get(new Get(row).addColumn(FAMILY, VALUE));
    return found.getLatest(FAMILY, VALUE)?.timestamp ?? 0;
  }

  /** The applied plans, oldest first. */
  entries<T>(): Promise<Kept<T>[]> {
    return this.under(ENTRY);
  }

  /** The changes of keys, in the order of their names. */
  rekeys<T>(): Promise<Kept<T>[]> {
    return this.under(REKEY);
  }

  private async under<T>(prefix: Uint8Array): Promise<Kept<T>[]> {
    const found: Kept<T>[] = [];
    const scan = new Scan().setStartStopRowForPrefix(prefix).addColumn(FAMILY, VALUE);
    for await (const { cells } of this.table.scan(scan)) found.push(keptOf<T>(cells[0]!.value));
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

/** The row of a change of keys: r, the entity's name, a zero byte, the other's name. */
export function rekeyRow(from: string, to: string): Uint8Array {
  return Buffer.concat([REKEY, Buffer.from(`${from}\0${to}`)]);
}

function keptOf<T>(bytes: Uint8Array): Kept<T> {
  const copy = new Uint8Array(bytes);
  try {
    return { value: JSON.parse(Buffer.from(copy).toString()) as T, bytes: copy };
  } catch (cause) {
    throw new RowanError('ERR_CORRUPTION', 'The table "rowan_schema" holds what Rowan did not write there.', {
      cause,
      details: { table: 'rowan_schema' },
    });
  }
}

/**
 * The lock of those who change schemas: a row with an owner and a sign of life. Whoever wants it takes it over when it has
 * seen the same bytes for a whole lease, by its own clock, so that no two clocks need to agree.
 */

interface LockState {
  /** Undefined: nobody has it. */
  readonly owner?: string;
  /** Changes with every sign of life. */
  readonly beat: number;
}

export interface LockOptions {
  /** Milliseconds without a sign of life after which the lock may be taken over. Default 30,000. */
  readonly leaseMs: number;
  /** Milliseconds that are waited for it. Default 60,000. */
  readonly waitMs: number;
}

const POLL_MS = 200;

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

  /** @throws RowanError `ERR_LOCKED`, retryable, naming who has it. */
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
          `Another one is changing schemas: ${now.value.owner}. Try again when it is done; if it is dead, the lock is free ${leaseMs / 1000} s after its last sign of life, and can be waited for with lockWaitMs.`,
          { retryable: true, details: { owner: now.value.owner } },
        );
      }
      await delay(Math.min(POLL_MS, leaseMs / 4));
    }
  }

  /**
   * Called before each change. Where the last sign of life is old one is given now: it succeeds if nobody took the lock.
   * @throws RowanError `ERR_LOCKED` when another one has it by now.
   */
  async check(): Promise<void> {
    if (performance.now() - this.renewedAt >= this.leaseMs / 2) {
      this.beating = this.beating.then(() => this.renew());
      await this.beating;
    }
    if (this.lost === undefined && performance.now() - this.renewedAt < this.leaseMs) return;
    throw new RowanError(
      'ERR_LOCKED',
      'The lock of the schema was lost: no sign of life could be given for the length of its lease. What was done so far stands; plan and apply again.',
      { retryable: true, cause: this.lost },
    );
  }

  async release(): Promise<void> {
    clearInterval(this.timer);
    await this.beating;
    const { beat } = this.held.value;
    // Where this fails the lease runs out.
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
        this.lost = new Error('It was taken over.');
        return;
      }
      this.held = held;
      this.renewedAt = time;
    } catch (error) {
      // Tried again at the next beat; `check` tells when that takes too long. Closed engines do not come back.
      if (error instanceof RowanError && error.code === 'ERR_CLOSED') this.lost = error;
    }
  }
}

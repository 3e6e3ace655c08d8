/**
 * Sequences: rising numbers that are given once (docs/sequences.md).
 *
 * The table `rowan_sequences` has a counter for each sequence, and for each scope of one (docs/formats.md). Outside of
 * transactions a process takes a block of numbers by one increment, which the engine carries out in one step, and gives
 * them from memory. So no number is ever given twice, and those of a block that are not given before the process ends
 * are lost. A transaction takes each number by itself, and gives it back when it does not commit.
 */

import { InvalidArgumentError, RowanError } from '../errors.js';
import { checkOptions, describe } from '../table/checks.js';
import { takeNumbers } from '../table/counter.js';
import { Get, ownTableDescriptor, type Table, type TableDescriptor } from '../table/index.js';

/** FROZEN. */
const FAMILY = 's';
const LAST = Buffer.from('n', 'latin1');
const DEFAULT_BLOCK = 20;
const LARGEST_BLOCK = 1_000_000;
/** Scopes whose blocks are kept in memory. What is left of the block of another one is lost. */
const KEPT_SCOPES = 10_000;

/** The table of sequences. */
export function sequenceTableDescriptor(): TableDescriptor {
  return ownTableDescriptor('rowan_sequences', FAMILY);
}

/** The value of a property that separates the numbers of a sequence. */
export type ScopeValue = string | number | bigint;

/** An object with the properties that `per` names: an entity, or its key. */
export type SequenceScope<Per extends string> = [Per] extends [never]
  ? []
  : [scope: { readonly [P in Per]: ScopeValue }];

export interface SequenceOptions<Per extends string = string> {
  /** The properties that separate numbers: each of their values has a sequence of its own, from 1 on. */
  readonly per?: Per | readonly Per[];
  /**
   * How many numbers a process takes at once outside of transactions, 1 to 1,000,000. Default 20. With 1 numbers rise
   * over all processes, and each costs a write.
   */
  readonly block?: number;
}

const OPTIONS: Readonly<Record<keyof SequenceOptions, true>> = { per: true, block: true };

/** Numbers that a process has taken and not given. */
interface Block {
  next: number;
  end: number;
  taking: Promise<void> | undefined;
}

/** A sequence: rising whole numbers from 1 on, each given once. */
export class Sequence<Per extends string = never> {
  private readonly blocks = new Map<string, Block>();

  /** Made by `Database.sequence` and `Transaction.sequence`. */
  constructor(
    readonly name: string,
    private readonly per: readonly string[],
    private readonly block: number,
    private readonly table: () => Promise<Table>,
  ) {}

  /**
   * The next number.
   *
   * @example
   * ```ts
   * const number = await db.sequence('tickets', { per: 'tenantId' }).next({ tenantId: 't1' });
   * ```
   * @throws InvalidArgumentError when the scope lacks a property of `per`; RowanError `ERR_TABLE_NOT_FOUND` when the
   * table `rowan_sequences` is missing and the database does not create tables.
   */
  async next(...scope: SequenceScope<Per>): Promise<number> {
    const row = this.rowOf(scope);
    if (this.block === 1) return (await this.take(row, 1)).next;
    const block = this.blockOf(row);
    while (block.next > block.end) {
      block.taking ??= this.refill(row, block);
      await block.taking;
    }
    return block.next++;
  }

  /**
   * The next `count` numbers, which follow each other, in one write.
   * @throws InvalidArgumentError on a count that is no whole number from 1 to 1,000,000; as `next`.
   */
  async nextMany(count: number, ...scope: SequenceScope<Per>): Promise<number[]> {
    checkCount('nextMany: count', count);
    const { next } = await this.take(this.rowOf(scope), count);
    return Array.from({ length: count }, (_, at) => next + at);
  }

  /** The last number that was taken, by any process; 0 if none was. Numbers up to it may not be given yet. */
  async last(...scope: SequenceScope<Per>): Promise<number> {
    const table = await this.table();
    const found = await table.get(new Get(Buffer.from(this.rowOf(scope))).addColumn(FAMILY, LAST));
    const value = found.getValue(FAMILY, LAST);
    return value === undefined ? 0 : Number(Buffer.from(value).readBigInt64BE());
  }

  private async refill(row: string, block: Block): Promise<void> {
    try {
      Object.assign(block, await this.take(row, this.block));
    } finally {
      block.taking = undefined;
    }
  }

  private async take(row: string, count: number): Promise<{ readonly next: number; readonly end: number }> {
    const table = await this.table();
    const counter = { row: Buffer.from(row), family: FAMILY, qualifier: LAST };
    const end = await takeNumbers(table, counter, count);
    if (end > BigInt(Number.MAX_SAFE_INTEGER) || end < BigInt(count)) {
      throw new RowanError(
        'ERR_TOO_LARGE',
        `The sequence "${this.name}" has reached ${end}; it gives numbers up to ${Number.MAX_SAFE_INTEGER}.`,
      );
    }
    return { next: Number(end) - count + 1, end: Number(end) };
  }

  private blockOf(row: string): Block {
    let block = this.blocks.get(row);
    if (block !== undefined) return block;
    block = { next: 1, end: 0, taking: undefined };
    this.blocks.set(row, block);
    if (this.blocks.size > KEPT_SCOPES) {
      for (const [other, { taking }] of this.blocks) {
        if (taking !== undefined || other === row) continue;
        this.blocks.delete(other);
        break;
      }
    }
    return block;
  }

  /** FROZEN: the row of the counter. */
  private rowOf([scope]: readonly [scope?: Readonly<Record<string, unknown>>]): string {
    if (this.per.length === 0) {
      if (scope === undefined) return `${this.name}\0`;
      throw new InvalidArgumentError(
        `The sequence "${this.name}" is the same for all and takes nothing, not ${describe(scope)}. Separate its numbers by { per: 'tenantId' }.`,
      );
    }
    const values = this.per.map((property) => {
      const value = scope?.[property];
      if (typeof value === 'string') return JSON.stringify(value);
      if (typeof value === 'bigint' || Number.isSafeInteger(value)) return BigInt(value as bigint).toString();
      throw new InvalidArgumentError(
        `The sequence "${this.name}" is per ${this.per.join(', ')}; "${property}" must be a text or a whole number, not ${describe(value)}.`,
      );
    });
    return `${this.name}\0${values.join(',')}`;
  }
}

/** The sequences of a database. */
export class Sequences {
  private readonly known = new Map<string, Sequence<string>>();
  private created: Promise<void> | undefined;

  /** @param create makes the table where it is missing and may be made. */
  constructor(
    private readonly table: () => Table,
    private readonly create: () => Promise<void>,
  ) {}

  /** The same object at each call, so that all callers share its block. @throws InvalidArgumentError. */
  of<Per extends string>(name: string, options: SequenceOptions<Per>): Sequence<Per> {
    const { per, block } = checked(name, options);
    const id = JSON.stringify([name, per, block]);
    let sequence = this.known.get(id);
    if (sequence === undefined) {
      sequence = new Sequence(name, per, block, async () => {
        await this.ready();
        return this.table();
      });
      this.known.set(id, sequence);
    }
    return sequence as unknown as Sequence<Per>;
  }

  /** In a transaction: without blocks. @throws InvalidArgumentError. */
  within<Per extends string>(table: Table, name: string, options: SequenceOptions<Per>): Sequence<Per> {
    const { per } = checked(name, options);
    return new Sequence(name, per, 1, async () => {
      await this.ready();
      return table;
    });
  }

  private ready(): Promise<void> {
    this.created ??= this.create().catch((error: unknown) => {
      this.created = undefined;
      throw error;
    });
    return this.created;
  }
}

function checked(
  name: string,
  options: SequenceOptions,
): { readonly per: readonly string[]; readonly block: number } {
  if (typeof name !== 'string' || name === '' || name.includes('\0')) {
    throw new InvalidArgumentError(
      `${describe(name)} is no name of a sequence: it must be a non-empty text without NUL.`,
    );
  }
  checkOptions('sequence', options, OPTIONS);
  const { per = [], block = DEFAULT_BLOCK } = options;
  checkCount('sequence: block', block);
  const properties = typeof per === 'string' ? [per] : per;
  if (Array.isArray(properties) && properties.every((each) => typeof each === 'string' && each !== ''))
    return { per: properties, block };
  throw new InvalidArgumentError(
    `sequence: per is ${describe(per)}; it must be the name of a property, or an array of names.`,
  );
}

function checkCount(what: string, count: number): void {
  if (Number.isSafeInteger(count) && count >= 1 && count <= LARGEST_BLOCK) return;
  throw new InvalidArgumentError(
    `${what} is ${describe(count)}; it must be a whole number from 1 to ${LARGEST_BLOCK}.`,
  );
}

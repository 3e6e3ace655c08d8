import { type BytesLike, EMPTY_BYTES } from '../bytes/index.js';
import { InvalidArgumentError } from '../errors.js';
import {
  brand,
  CellType,
  checkBytes,
  checkFamily,
  checkPositiveInteger,
  checkRow,
  checkTimestamp,
  describe,
  LATEST_TIMESTAMP,
} from './checks.js';
import { TimeRange } from './get-and-scan.js';

/** A bare label, or a quoted one, which may contain anything, with `\"` and `\\` as escapes. */
const LABEL = /[\w.:/-]+|"(?!\s*")(?:[^"\\]|\\["\\])+"/y;
const SPACE = /\s*/y;

/**
 * Checks a visibility expression by HBase's grammar:
 *
 *     expression = operand { ("&" | "|") operand }
 *     operand    = label | "!" label | [ "!" ] "(" expression ")"
 *
 * Checked here because a server fails the whole request that contains an invalid expression, without naming it.
 * @throws InvalidArgumentError naming the position of the fault.
 */
function checkVisibility(expression: string): string {
  if (typeof expression !== 'string') {
    throw new InvalidArgumentError(
      `A visibility is an expression of labels, "secret & !trial", not ${describe(expression)}.`,
    );
  }
  const reader = new ExpressionReader(expression);
  reader.expression(0);
  return expression;
}

/** The most nested parentheses: deeper nesting has no use, and would exhaust the stack. */
const DEEPEST = 100;

class ExpressionReader {
  private at = 0;

  constructor(private readonly text: string) {}

  expression(depth: number): void {
    if (depth > DEEPEST) this.fail(`at most ${DEEPEST} parentheses within each other`);
    do this.operand(depth);
    while (this.take('&') || this.take('|'));
    if (depth === 0 && this.at < this.text.length) this.fail('"&" or "|"');
  }

  private operand(depth: number): void {
    if (this.take('!') && /\s/.test(this.text[this.at - 1]!)) this.fail('no space behind "!"');
    if (!this.take('(')) {
      this.label();
      return;
    }
    this.expression(depth + 1);
    if (!this.take(')')) this.fail('"&", "|" or ")"');
  }

  private label(): void {
    LABEL.lastIndex = this.at;
    if (!LABEL.test(this.text)) this.fail('a label');
    this.at = LABEL.lastIndex;
    this.space();
  }

  private take(sign: string): boolean {
    this.space();
    if (this.text[this.at] !== sign) return false;
    this.at++;
    this.space();
    return true;
  }

  private space(): void {
    SPACE.lastIndex = this.at;
    SPACE.test(this.text);
    this.at = SPACE.lastIndex;
  }

  private fail(wanted: string): never {
    const found = this.at < this.text.length ? `"${this.text.slice(this.at, this.at + 20)}"` : 'its end';
    throw new InvalidArgumentError(
      `The visibility ${describe(this.text)} has ${found} at character ${this.at} where ${wanted} is expected. ` +
        'Write labels joined by "&", "|" and "!", with parentheses; those of other characters than letters, digits and "_-.:/" between quotes.',
    );
  }
}

/**
 * How durable a write is when it is acknowledged (HBase `Durability`, R87). `FSYNC_WAL` and `SYNC_WAL`: on the disk; `ASYNC_WAL`: with
 * the operating system; `SKIP_WAL`: in memory only; `USE_DEFAULT`: as the table is configured.
 */
export type Durability = 'USE_DEFAULT' | 'SKIP_WAL' | 'ASYNC_WAL' | 'SYNC_WAL' | 'FSYNC_WAL';

/** A cell that a mutation will write; `LATEST_TIMESTAMP` stands for the time of the write (R7). */
export interface MutationCell {
  readonly family: string;
  readonly qualifier: Uint8Array;
  readonly timestamp: number;
  readonly type: CellType;
  readonly value: Uint8Array;
}

/** A change of one row, applied as a whole or not at all (HBase `Mutation`). */
export abstract class Mutation {
  abstract readonly kind: 'put' | 'delete' | 'increment' | 'append';
  readonly row: Uint8Array;
  /** The time to live of every cell of this mutation, in milliseconds (R21). */
  ttl: number | undefined;
  /** True: an engine without times to live of cells (capability `cellTtl`) writes it without one instead of refusing it. */
  ttlIsOptional = false;
  durability: Durability = 'USE_DEFAULT';
  /** Who may read its cells, as a visibility expression; undefined: everybody. Only HBase supports it. */
  visibility: string | undefined;

  constructor(row: BytesLike) {
    this.row = checkRow(row);
  }

  /** `optional`: see {@link ttlIsOptional}; default false. */
  setTtl(milliseconds: number | undefined, options?: { readonly optional?: boolean }): this {
    this.ttl = milliseconds === undefined ? undefined : checkPositiveInteger(milliseconds, 'A time to live');
    this.ttlIsOptional = options?.optional === true;
    return this;
  }

  setDurability(durability: Durability): this {
    this.durability = durability;
    return this;
  }

  /**
   * Sets who may read the cells of this mutation: a visibility expression, `'secret & !(trial | probationary)'`. A delete only deletes
   * cells with the same expression. Needs HBase's `VisibilityController`; the embedded engine refuses it (`ERR_UNSUPPORTED`).
   * @throws InvalidArgumentError for an invalid expression.
   */
  setCellVisibility(expression: string | undefined): this {
    this.visibility = expression === undefined ? undefined : checkVisibility(expression);
    return this;
  }
}

brand(Mutation, 'mutation');

/** Writes cells of one row (HBase `Put`). */
export class Put extends Mutation {
  readonly kind = 'put';
  readonly cells: MutationCell[] = [];
  /** The timestamp of cells that are added without one. */
  readonly timestamp: number;

  constructor(row: BytesLike, timestamp: number = LATEST_TIMESTAMP) {
    super(row);
    this.timestamp = checkTimestamp(timestamp);
  }

  addColumn(
    family: string,
    qualifier: BytesLike,
    value: BytesLike,
    timestamp: number = this.timestamp,
  ): this {
    this.cells.push({
      family: checkFamily(family),
      qualifier: checkBytes(qualifier, 'qualifier'),
      timestamp: checkTimestamp(timestamp),
      type: CellType.Put,
      value: checkBytes(value, 'value'),
    });
    return this;
  }
}

/**
 * Writes delete markers into one row (HBase `Delete`, R28-R31). Without added columns it deletes the whole row up to its timestamp: a
 * `DeleteFamily` marker in every family.
 */
export class Delete extends Mutation {
  readonly kind = 'delete';
  readonly cells: MutationCell[] = [];
  readonly timestamp: number;

  constructor(row: BytesLike, timestamp: number = LATEST_TIMESTAMP) {
    super(row);
    this.timestamp = checkTimestamp(timestamp);
  }

  /** Deletes one version: the one with exactly this timestamp, or without a timestamp the newest (R30). */
  addColumn(family: string, qualifier: BytesLike, timestamp: number = this.timestamp): this {
    return this.add(CellType.Delete, family, checkBytes(qualifier, 'qualifier'), timestamp);
  }

  /** Deletes every version of the column up to and including this timestamp; without one, up to now. */
  addColumns(family: string, qualifier: BytesLike, timestamp: number = this.timestamp): this {
    return this.add(CellType.DeleteColumn, family, checkBytes(qualifier, 'qualifier'), timestamp);
  }

  /** Deletes every column of the family up to this timestamp. Discards what was added for the family before (R29). */
  addFamily(family: string, timestamp: number = this.timestamp): this {
    const kept = this.cells.filter((cell) => cell.family !== family);
    this.cells.length = 0;
    this.cells.push(...kept);
    return this.add(CellType.DeleteFamily, family, EMPTY_BYTES, timestamp);
  }

  /** Deletes the versions with exactly this timestamp in every column of the family. */
  addFamilyVersion(family: string, timestamp: number = this.timestamp): this {
    return this.add(CellType.DeleteFamilyVersion, family, EMPTY_BYTES, timestamp);
  }

  private add(type: CellType, family: string, qualifier: Uint8Array, timestamp: number): this {
    this.cells.push({
      family: checkFamily(family),
      qualifier,
      timestamp: checkTimestamp(timestamp),
      type,
      value: EMPTY_BYTES,
    });
    return this;
  }
}

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

/** Adds to counters: 8-byte big-endian integers that wrap at 64 bits (HBase `Increment`, R67-R71). */
export class Increment extends Mutation {
  readonly kind = 'increment';
  readonly columns: {
    readonly family: string;
    readonly qualifier: Uint8Array;
    readonly amount: bigint;
    readonly timestamp: number;
  }[] = [];
  /** The timestamps of the value that is incremented (R69). */
  timeRange: TimeRange = TimeRange.ALL;
  returnResults = true;

  /**
   * @param timestamp Of the new value if the column has none yet; default: the time of the write. A value that replaces another is always newer.
   * @throws InvalidArgumentError for an amount that is no integer of 64 bits.
   */
  addColumn(
    family: string,
    qualifier: BytesLike,
    amount: bigint | number,
    timestamp: number = LATEST_TIMESTAMP,
  ): this {
    if (typeof amount !== 'bigint' && !Number.isSafeInteger(amount)) {
      throw new InvalidArgumentError(`An amount is a bigint or a safe integer, not ${describe(amount)}.`);
    }
    const value = BigInt(amount);
    if (value < INT64_MIN || value > INT64_MAX) {
      throw new InvalidArgumentError(`The amount ${value} does not fit into 64 bits.`);
    }
    this.columns.push({
      family: checkFamily(family),
      qualifier: checkBytes(qualifier, 'qualifier'),
      amount: value,
      timestamp: checkTimestamp(timestamp),
    });
    return this;
  }

  setTimeRange(min: number, max: number = LATEST_TIMESTAMP): this {
    this.timeRange = new TimeRange(min, max);
    return this;
  }

  setReturnResults(returnResults: boolean): this {
    this.returnResults = returnResults;
    return this;
  }
}

/** Appends bytes to values; a missing value counts as empty (HBase `Append`, R68). */
export class Append extends Mutation {
  readonly kind = 'append';
  readonly columns: {
    readonly family: string;
    readonly qualifier: Uint8Array;
    readonly value: Uint8Array;
    readonly timestamp: number;
  }[] = [];
  timeRange: TimeRange = TimeRange.ALL;
  returnResults = true;

  /** @param timestamp As with {@link Increment.addColumn}. */
  addColumn(
    family: string,
    qualifier: BytesLike,
    value: BytesLike,
    timestamp: number = LATEST_TIMESTAMP,
  ): this {
    this.columns.push({
      family: checkFamily(family),
      qualifier: checkBytes(qualifier, 'qualifier'),
      value: checkBytes(value, 'value'),
      timestamp: checkTimestamp(timestamp),
    });
    return this;
  }

  setTimeRange(min: number, max: number = LATEST_TIMESTAMP): this {
    this.timeRange = new TimeRange(min, max);
    return this;
  }

  setReturnResults(returnResults: boolean): this {
    this.returnResults = returnResults;
    return this;
  }
}

/** One of the four kinds of changes of a row. */
export type RowMutation = Put | Delete | Increment | Append;

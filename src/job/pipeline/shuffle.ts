import { equalBytes } from '../../bytes/index.js';
import type { JsonValue } from '../../codec/index.js';
import { RowanError } from '../../errors.js';
import { murmur3 } from '../../key/digest.js';
import { fromParsed, toTagged } from '../../mapper/tagged.js';
import { Put, type Result, type Table, type TableDescriptor, tableDescriptor } from '../../table/index.js';
import type { RowRange } from '../types.js';
import { encodeJobKey, type JobKey, keyOfName, nameOfKey } from './ordered-key.js';

/** Combines the values of a key so far into one. */
type Combine = (key: JobKey, values: readonly unknown[]) => unknown;

/** How many values of one key are collected before they are combined. */
const KEPT_VALUES = 256;

/** The values of one key. */
class PairGroup {
  values: unknown[];

  constructor(
    readonly key: JobKey,
    value: unknown,
  ) {
    this.values = [value];
  }
}

/** Groups emitted pairs by key, and combines them on the way. */
export class PairGroups {
  /** The number of values in memory. */
  pairs = 0;
  /** Fast path for strings and integers, the most common keys: they are encoded once at the end, not for each pair. */
  private plain = new Map<string | number, PairGroup>();
  /** Other keys, by the name of their encoded form. */
  private named = new Map<string, PairGroup>();

  constructor(private readonly combine: Combine | undefined) {}

  /**
   * Adds a pair.
   * @throws InvalidArgumentError for an invalid key; errors of `combine`.
   */
  emit(key: JobKey, value: unknown): void {
    // Ill-formed strings, and zeros of both signs, are several keys with the same bytes.
    if (typeof key === 'string' ? isWellFormed(key) : Number.isSafeInteger(key) && key !== 0) {
      const known = this.plain.get(key as string | number);
      if (known === undefined) this.plain.set(key as string | number, new PairGroup(key, value));
      else this.add(known, value);
      this.pairs++;
    } else this.emitNamed(nameOfKey(key), value);
  }

  /** Adds a pair, given the name of its key. */
  emitNamed(name: string, value: unknown): void {
    const known = this.named.get(name);
    if (known === undefined) this.named.set(name, new PairGroup(keyOfName(name), value));
    else this.add(known, value);
    this.pairs++;
  }

  private add(group: PairGroup, value: unknown): void {
    group.values.push(value);
    if (this.combine !== undefined && group.values.length >= KEPT_VALUES) this.combineGroup(group);
  }

  private combineGroup(group: PairGroup): void {
    const { values } = group;
    if (this.combine === undefined || values.length < 2) return;
    group.values = [this.combine(group.key, values)];
    this.pairs -= values.length - 1;
  }

  /** Combines the values of each key into one. */
  combineAll(): void {
    if (this.combine === undefined) return;
    for (const groups of [this.plain, this.named])
      for (const group of groups.values()) this.combineGroup(group);
  }

  /** Yields every group with its encoded key, and removes it. */
  *take(): Generator<readonly [key: Uint8Array, values: readonly unknown[]]> {
    const { plain, named } = this;
    this.plain = new Map();
    this.named = new Map();
    this.pairs = 0;
    for (const { key, values } of plain.values()) {
      const bytes = encodeJobKey(key);
      // A key may also occur under its encoded name; both are one group.
      const name = named.size === 0 ? '' : latin1(bytes);
      const other = named.size === 0 ? undefined : named.get(name);
      if (other !== undefined) named.delete(name);
      yield [bytes, other === undefined ? values : [...values, ...other.values]];
    }
    for (const [name, { values }] of named) yield [Buffer.from(name, 'latin1'), values];
  }
}

const latin1 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');

function isWellFormed(text: string): boolean {
  return (text as string & { isWellFormed(): boolean }).isWellFormed();
}

// — Moves pairs from mappers to reducers by a temporary table of the job, which sorts them.
//
//     row:  partition (2) | ordered bytes of the key | split (4) | attempt (2) | part (4)
//     s:v:  the values, as JSON (mapper/tagged.ts)
//
// Numbers are big-endian. A part is the result of one flush of a split's buffer. With each checkpoint, a split stores
// which parts are valid: `[[attempt, parts], …]`, for each attempt the number of its parts from 0 on. Other parts are
// never read.

const FAMILY = 's';
const VALUE = Buffer.from('v', 'latin1');
/** Bytes after the key: split, attempt, part. */
const TAIL_BYTES = 10;
const HEAD_BYTES = 2;

/** How many pairs a split buffers before it writes them. */
export const BUFFERED_PAIRS = 50_000;
const PUTS_AT_ONCE = 2000;
/** The largest number of values for one call of a reducer. */
const MAX_VALUES = 5_000_000;

/** The table of one run of a job. Earlier runs have other tables. */
export function shuffleTableDescriptor(job: string, run: number): TableDescriptor {
  const name = `rowan_shuffle_${job}_${run}`;
  return tableDescriptor(
    name,
    { [FAMILY]: { compression: 'NONE', bloomFilter: 'NONE' } },
    { durability: 'ASYNC_WAL' },
  );
}

/** One range for each partition. */
export function partitionRanges(partitions: number): RowRange[] {
  return Array.from({ length: partitions }, (_, i) => ({
    start: i === 0 ? new Uint8Array(0) : partitionStart(i),
    stop: i + 1 === partitions ? new Uint8Array(0) : partitionStart(i + 1),
  }));
}

/** The split points of the shuffle table: one region for each partition. */
export function partitionSplits(partitions: number): Uint8Array[] {
  return Array.from({ length: partitions - 1 }, (_, i) => partitionStart(i + 1));
}

function partitionStart(partition: number): Uint8Array {
  return new Uint8Array([partition >>> 8, partition & 0xff]);
}

/** The pairs that one attempt at a split emits. */
export class ShuffleWriter {
  private readonly groups: PairGroups;
  private part = 0;
  private readonly committed: [number, number][];

  constructor(
    private readonly table: Table,
    private readonly split: number,
    private readonly attempt: number,
    resumed: JsonValue | undefined,
    private readonly partitions: number,
    combine: Combine | undefined,
  ) {
    this.groups = new PairGroups(combine);
    this.committed = (resumed as [number, number][] | undefined) ?? [];
  }

  emit(key: JobKey, value: unknown): void {
    this.groups.emit(key, value);
  }

  /** Adds a pair, given the name of its key (`nameOfKey`). */
  emitNamed(name: string, value: unknown): void {
    this.groups.emitNamed(name, value);
  }

  /** Combines, and writes the buffer if it is still too large. */
  async flushIfFull(): Promise<void> {
    if (this.groups.pairs < BUFFERED_PAIRS) return;
    this.groups.combineAll();
    if (this.groups.pairs >= BUFFERED_PAIRS / 2) await this.flush();
  }

  private async flush(): Promise<void> {
    if (this.groups.pairs === 0) return;
    const part = this.part++;
    let puts: Put[] = [];
    for (const [key, values] of this.groups.take()) {
      const json = Buffer.from(JSON.stringify(values.map((value) => toTagged(value))));
      puts.push(new Put(this.row(key, part)).addColumn(FAMILY, VALUE, json));
      if (puts.length < PUTS_AT_ONCE) continue;
      await this.table.putAll(puts);
      puts = [];
    }
    if (puts.length > 0) await this.table.putAll(puts);
  }

  /** Writes the buffer; returns the list of valid parts. */
  async commit(): Promise<JsonValue> {
    this.groups.combineAll();
    await this.flush();
    const own: [number, number][] = this.part === 0 ? [] : [[this.attempt, this.part]];
    return [...this.committed, ...own];
  }

  private row(key: Uint8Array, part: number): Uint8Array {
    const row = Buffer.alloc(HEAD_BYTES + key.length + TAIL_BYTES);
    row.writeUInt16BE(murmur3(key) % this.partitions);
    row.set(key, HEAD_BYTES);
    row.writeUInt32BE(this.split, HEAD_BYTES + key.length);
    row.writeUInt16BE(this.attempt & 0xffff, HEAD_BYTES + key.length + 4);
    row.writeUInt32BE(part, HEAD_BYTES + key.length + 6);
    return row;
  }
}

/** All values of one key. */
interface Group {
  readonly key: Uint8Array;
  readonly values: unknown[];
}

/** Collects the rows of a partition into groups, in the order of the keys. */
export class GroupReader {
  private readonly parts = new Map<string, number>();
  private group: Group | undefined;
  private lastRow: Uint8Array | undefined;
  /** The last row of the last group returned. */
  doneUpTo: Uint8Array | undefined;

  constructor(work: ReadonlyMap<number, JsonValue>) {
    for (const [split, committed] of work) {
      for (const [attempt, parts] of committed as [number, number][]) {
        this.parts.set(`${split}/${attempt & 0xffff}`, parts);
      }
    }
  }

  /** Yields the groups that are complete with these rows. */
  *take(rows: readonly Result[]): Generator<Group> {
    for (const { row, cells } of rows) {
      const key = row.subarray(HEAD_BYTES, row.length - TAIL_BYTES);
      if (this.group !== undefined && !equalBytes(this.group.key, key)) yield this.end();
      this.lastRow = row;
      if (!this.counts(row)) continue;
      this.group ??= { key, values: [] };
      const { values } = this.group;
      const { value } = cells[0]!;
      const json = Buffer.from(value.buffer, value.byteOffset, value.length).toString();
      for (const each of JSON.parse(json) as JsonValue[]) values.push(fromParsed(each));
      if (values.length > MAX_VALUES) throw tooManyValues(values.length);
    }
  }

  /** Yields the last group, if there is one. */
  *finish(): Generator<Group> {
    if (this.group !== undefined) yield this.end();
  }

  private end(): Group {
    const group = this.group!;
    this.group = undefined;
    this.doneUpTo = this.lastRow;
    return group;
  }

  private counts(row: Uint8Array): boolean {
    const tail = Buffer.from(row.buffer, row.byteOffset + row.length - TAIL_BYTES, TAIL_BYTES);
    const parts = this.parts.get(`${tail.readUInt32BE(0)}/${tail.readUInt16BE(4)}`);
    return parts !== undefined && tail.readUInt32BE(6) < parts;
  }
}

function tooManyValues(count: number): RowanError {
  return new RowanError(
    'ERR_JOB',
    `One key has more than ${count} values, too many for one call of a reducer. Add a combine() step to the job.`,
  );
}

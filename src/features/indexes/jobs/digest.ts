/**
 * Digests of the rows of an entity and of the entries of an index: sums of hashes, which do not depend on the order, for each bucket of
 * rows. Where the sums are equal, rows and entries agree, and each of them was read once and in the order of its table.
 *
 * Rows may be written between the two readings. Then the sums differ, and the rows and entries of the bucket are compared one by one.
 */

import { equalBytes, hashBytes, lane1, lane2 } from '../../../bytes/index.js';
import type { JsonValue } from '../../../codec/index.js';
import type { RawRowWork, SplitContext, SplitWork } from '../../../job/types.js';
import { RawRow, type Result } from '../../../table/index.js';
import type { NewEntries } from '../entity-indexes.js';
import { ENTRY_QUALIFIER, EntryReader, INDEX_FAMILY } from '../entry.js';
import { type IndexTarget, isOwn } from './target.js';

const BUCKETS = 256;
const ROW_SEED = 0x2545f491;
const ENTRY_SEEDS = [0x6c078965, 0x19660d11] as const;

/** The bucket of a row of the entity. */
function bucketOf(row: Uint8Array): number {
  hashBytes(row, 0, row.length, ROW_SEED, ROW_SEED);
  return lane1 >>> 24;
}

/** What rows and entries sum up to, for each bucket. */
export class EntryDigest {
  private readonly sums1 = new Uint32Array(BUCKETS);
  private readonly sums2 = new Uint32Array(BUCKETS);
  private readonly rows = new Float64Array(BUCKETS);
  private readonly entries = new Float64Array(BUCKETS);
  /** 1: the bucket has something that only a comparison can judge. */
  private readonly odd = new Uint8Array(BUCKETS);

  /** The sum of stored digests. */
  static of(stored: Iterable<JsonValue>): EntryDigest {
    const digest = new EntryDigest();
    for (const each of stored) {
      (each as number[][]).forEach((values, field) => {
        const into = digest.fields[field]!;
        values.forEach((value, bucket) => (into[bucket]! += value));
      });
    }
    return digest;
  }

  toJson(): JsonValue {
    return this.fields.map((values) => [...values]);
  }

  countRow(bucket: number): void {
    this.rows[bucket]!++;
  }

  /** Adds an entry, with its value in `bytes`. */
  add(bucket: number, entry: Uint8Array, bytes: Uint8Array, start: number, end: number): void {
    hashBytes(entry, 0, entry.length, ENTRY_SEEDS[0], ENTRY_SEEDS[1]);
    hashBytes(bytes, start, end - start, lane1, lane2);
    this.sums1[bucket]! += lane1;
    this.sums2[bucket]! += lane2;
    this.entries[bucket]!++;
  }

  /** Has a bucket compared; by default all. */
  compare(bucket?: number): void {
    if (bucket === undefined) this.odd.fill(1);
    else this.odd[bucket] = 1;
  }

  /** What differs from the digest of the entries, if this one is that of the rows. */
  differences(of: EntryDigest): DifferingRows {
    const { sums1, sums2, rows, entries, odd } = this;
    const isDifferent = Uint8Array.from(odd, (isOdd, i) => {
      const isEqual = sums1[i] === of.sums1[i] && sums2[i] === of.sums2[i] && entries[i] === of.entries[i];
      return isEqual && isOdd === 0 && of.odd[i] === 0 ? 0 : 1;
    });
    const inEqual = (counts: Float64Array): number =>
      counts.reduce((sum, count, i) => (isDifferent[i] === 1 ? sum : sum + count), 0);
    return new DifferingRows(isDifferent, inEqual(rows), inEqual(entries));
  }

  private get fields(): readonly (Uint32Array | Float64Array | Uint8Array)[] {
    return [this.sums1, this.sums2, this.rows, this.entries, this.odd];
  }
}

/** The rows whose entries must be compared one by one. */
export class DifferingRows {
  constructor(
    private readonly buckets: Uint8Array,
    /** The other rows, and their entries. */
    readonly equalRows: number,
    readonly equalEntries: number,
  ) {}

  get isEmpty(): boolean {
    return !this.buckets.includes(1);
  }

  has(row: Uint8Array): boolean {
    return this.buckets[bucketOf(row)] === 1;
  }
}

/** Adds a row, or entry, to a digest. */
type Adding = (row: RawRow, digest: EntryDigest) => void;

/** Adds the entries that a row of the entity must have. */
export function addingRows(target: IndexTarget, computed: NewEntries): Adding {
  const { key, marker } = target.indexes.schema;
  const entries: Uint8Array[] = [];
  const values: Uint8Array[] = [];
  return (row, digest) => {
    if (!isOwn(target, row)) return;
    const bucket = bucketOf(row.row);
    entries.length = values.length = 0;
    if (!key.matches(row.row) || !hasCell(row, marker!)) return digest.compare(bucket);
    try {
      computed.addTo(entries, values, row);
    } catch {
      return digest.compare(bucket);
    }
    digest.countRow(bucket);
    for (let i = 0; i < entries.length; i++) {
      const value = values[i]!;
      digest.add(bucket, entries[i]!, value, 0, value.length);
    }
  };
}

/** Adds a stored entry. */
export function addingEntries(target: IndexTarget): Adding {
  const reader = new EntryReader(target.indexes.all[0]!.index);
  const column = { family: INDEX_FAMILY, qualifier: ENTRY_QUALIFIER };
  return (entry, digest) => {
    const { row, count, bytes, starts, ends } = entry;
    if (count !== 1 || !hasCell(entry, column)) return digest.compare();
    try {
      reader.read(row, bytes, starts[0]!, ends[0]!);
    } catch {
      return digest.compare();
    }
    digest.add(bucketOf(reader.dataRow), row, bytes, starts[0]!, ends[0]!);
  };
}

export function hasCell(
  { families, qualifiers, count }: RawRow,
  column: { readonly family: string; readonly qualifier: Uint8Array },
): boolean {
  for (let i = 0; i < count; i++)
    if (families[i] === column.family && equalBytes(qualifiers[i]!, column.qualifier)) return true;
  return false;
}

/** Digests a split; its digest is stored with each checkpoint. */
export class DigestWork implements SplitWork {
  readonly raw: RawRowWork = { row: (row) => this.add(row, this.digest), flush: () => {} };
  private readonly digest: EntryDigest;

  constructor(
    private readonly add: Adding,
    { resumed }: SplitContext,
  ) {
    this.digest = EntryDigest.of(resumed === undefined ? [] : [resumed]);
  }

  rows(rows: readonly Result[]): void {
    const raw = new RawRow();
    for (const row of rows) {
      raw.fill(row);
      this.add(raw, this.digest);
    }
  }

  commit(): JsonValue {
    return this.digest.toJson();
  }
}

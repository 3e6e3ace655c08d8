/**
 * The core workloads of YCSB (Cooper et al., "Benchmarking Cloud Serving Systems with YCSB", SoCC 2010, table 2): records of ten fields
 * of 100 bytes; requests by a zipfian distribution, in D of the latest records.
 */

import { generator, zipf, zipfRanks } from '../store/data.js';

export const FIELDS = 10;
export const FIELD_BYTES = 100;

const OPERATIONS = ['read', 'update', 'insert', 'scan', 'modify'] as const;
type Operation = (typeof OPERATIONS)[number];

/** Shares of the operations, in percent. `modify` reads a record and writes one of its fields. */
type Mix = Readonly<Partial<Record<Operation, number>>>;

export interface Workload {
  readonly name: string;
  readonly about: string;
  readonly mix: Mix;
  readonly latest?: boolean;
}

/** In the order in which YCSB asks for them to be run: those that insert come last. */
export const WORKLOADS: readonly Workload[] = [
  { name: 'A', about: '50 reads, 50 updates', mix: { read: 50, update: 50 } },
  { name: 'B', about: '95 reads, 5 updates', mix: { read: 95, update: 5 } },
  { name: 'C', about: 'reads', mix: { read: 100 } },
  { name: 'F', about: '50 reads, 50 read-modify-writes', mix: { read: 50, modify: 50 } },
  { name: 'D', about: '95 reads of the latest, 5 inserts', mix: { read: 95, insert: 5 }, latest: true },
  { name: 'E', about: '95 scans of 1 to 100, 5 inserts', mix: { scan: 95, insert: 5 } },
];

const LONGEST_SCAN = 100;

/** The key of record `index`: hashed (FNV-1a, as YCSB does), so that records that are inserted together lie apart. */
export function keyOf(index: number): string {
  let high = 0x811c9dc5;
  let low = 0x01000193;
  for (let rest = index, at = 0; at < 6; at++, rest = Math.floor(rest / 256)) {
    high = Math.imul(high ^ (rest & 255), 0x01000193) >>> 0;
    low = Math.imul(low ^ (rest & 255), 0x85ebca6b) >>> 0;
  }
  return `user${String(high).padStart(10, '0')}${String(low).padStart(10, '0')}`;
}

const TEXT = 'the quick brown fox jumps over the lazy dog. ';
const texts = Array.from({ length: 1024 }, (_, seed) => {
  const next = generator(seed);
  let text = '';
  while (text.length < FIELD_BYTES / 2) text += next().toString(36);
  return (text.slice(0, FIELD_BYTES / 2) + TEXT.repeat(3)).slice(0, FIELD_BYTES);
});

/** A text of {@link FIELD_BYTES} ASCII letters, half of which compress. */
export function textOf(index: number): string {
  return texts[index % texts.length]!;
}

/** The fields of record `index` as it is loaded. */
export function recordOf(index: number): string[] {
  return Array.from({ length: FIELDS }, (_, field) => textOf(index * 7 + field));
}

/** What one run of a workload does, drawn before it is timed. */
export interface Requests {
  readonly operations: readonly Operation[];
  /** Of each operation, the index of its record. */
  readonly records: Uint32Array;
  /** Of each scan, how many records it reads. */
  readonly lengths: Uint32Array;
}

/** `count` requests of a store that has `records` records. */
export function draw({ mix, latest }: Workload, records: number, count: number, seed: number): Requests {
  const next = generator(seed);
  const shares = OPERATIONS.flatMap((name) => Array.from({ length: mix[name] ?? 0 }, () => name));
  const operations = Array.from({ length: count }, () => shares[next() % shares.length]!);
  const chosen = latest === true ? zipfRanks(records, count, seed + 1) : zipf(records, count, seed + 1);
  let present = records;
  operations.forEach((operation, at) => {
    if (operation === 'insert') chosen[at] = present++;
    else if (latest === true) chosen[at] = present - 1 - chosen[at]!;
  });
  return {
    operations,
    records: chosen,
    lengths: Uint32Array.from({ length: count }, () => 1 + (next() % LONGEST_SCAN)),
  };
}

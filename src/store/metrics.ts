/** Metrics of a store for monitoring: name, unit and value of each. They cover the whole store, not single tables. */

import type { Metric } from '../table/telemetry.js';
import type { StoreStats } from './stats.js';

/** A figure of an embedded store. */
export type StoreMetric = Metric;

/** How often and how long writers waited for memory. */
interface Stalls {
  readonly count: number;
  readonly milliseconds: number;
}

/** Verifications since the store was opened: those that found no fault, and those that found one. */
interface Verified {
  readonly runs: number;
  readonly faults: number;
}

/** Counters besides those of {@link StoreStats}. */
interface Counts {
  readonly stalls: Stalls;
  readonly verified: Verified;
  /** Bytes of the log. */
  readonly unarchived: number;
}

type Figure = readonly [
  name: string,
  kind: StoreMetric['kind'],
  unit: string,
  description: string,
  value: (stats: StoreStats, counts: Counts) => number,
];

const FIGURES: readonly Figure[] = [
  ['memstore.bytes', 'gauge', 'By', 'Cells in memory that no file has yet.', (stats) => stats.memstoreBytes],
  ['cache.bytes', 'gauge', 'By', 'Decoded blocks in memory.', (stats) => stats.blockCache.bytes],
  ['cache.capacity', 'gauge', 'By', 'Most bytes of decoded blocks.', (stats) => stats.blockCache.capacity],
  ['cache.hits', 'counter', '{block}', 'Blocks found in memory.', (stats) => stats.blockCache.hits],
  ['cache.misses', 'counter', '{block}', 'Blocks read from files.', (stats) => stats.blockCache.misses],
  [
    'cache.evictions',
    'counter',
    '{block}',
    'Blocks that gave way to others.',
    (stats) => stats.blockCache.evictions,
  ],
  ['files', 'gauge', '{file}', 'Sorted files.', (stats) => ofFamilies(stats, ({ files }) => files)],
  [
    'files.bytes',
    'gauge',
    'By',
    'Bytes of sorted files on the disk.',
    (stats) => ofFamilies(stats, ({ fileBytes }) => fileBytes),
  ],
  [
    'flush.bytes',
    'counter',
    'By',
    'Bytes written by flushes.',
    (stats) => ofFamilies(stats, ({ bytesFlushed }) => bytesFlushed),
  ],
  [
    'compaction.bytes',
    'counter',
    'By',
    'Bytes written by compactions.',
    (stats) => ofFamilies(stats, ({ bytesCompacted }) => bytesCompacted),
  ],
  ['stalls', 'counter', '{stall}', 'Writes that waited for memory.', (_, { stalls }) => stalls.count],
  [
    'stalls.duration',
    'counter',
    'ms',
    'Time that writes waited for memory.',
    (_, { stalls }) => stalls.milliseconds,
  ],
  ['log.segments', 'gauge', '{file}', 'Files of the write-ahead log.', (stats) => stats.walSegments],
  ['log.bytes', 'gauge', 'By', 'Bytes of the write-ahead log.', (stats) => stats.walBytes],
  [
    'log.unarchived',
    'gauge',
    'By',
    'Bytes of the log that its archive does not have yet.',
    (_, { unarchived }) => unarchived,
  ],
  [
    'regions',
    'gauge',
    '{region}',
    'Regions.',
    (stats) => stats.tables.reduce((sum, { regions }) => sum + regions.length, 0),
  ],
  ['verify.runs', 'counter', '{run}', 'Verifications without a fault.', (_, { verified }) => verified.runs],
  [
    'verify.faults',
    'counter',
    '{fault}',
    'Verifications that found damage.',
    (_, { verified }) => verified.faults,
  ],
  ['scanners', 'gauge', '{scan}', 'Scans that are open.', (stats) => stats.openScanners],
];

type Family = StoreStats['tables'][number]['regions'][number]['families'][number];

function ofFamilies(stats: StoreStats, of: (family: Family) => number): number {
  let sum = 0;
  for (const { regions } of stats.tables)
    for (const { families } of regions) for (const family of families) sum += of(family);
  return sum;
}

export function storeMetrics(stats: StoreStats, counts: Counts): StoreMetric[] {
  return FIGURES.map(([name, kind, unit, description, value]) => ({
    name: `rowan.store.${name}`,
    kind,
    unit,
    description,
    value: value(stats, counts),
  }));
}

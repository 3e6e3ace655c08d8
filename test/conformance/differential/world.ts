/** What a random sequence is about: its families, and the few rows, columns, values and times that meet each other. */

import { fromLatin1 } from '../../../src/bytes/index.js';
import {
  BLOOM_FILTERS,
  COMPRESSIONS,
  DATA_BLOCK_ENCODINGS,
  type FamilyOptions,
  KEEP_DELETED_CELLS,
} from '../../../src/table/index.js';
import type { Random } from './random.js';

export const ROWS = ['a', 'a\x00', 'ab', 'b', 'b\xff', 'c', 'ca'].map(fromLatin1);
export const QUALIFIERS = ['', 'x', 'xy', 'y', '\xff'].map(fromLatin1);
/** Columns that increments and appends have for themselves. */
export const COUNTER = fromLatin1('n');
export const LOG = fromLatin1('p');
export const VALUES = ['', 'v', 'vw', 'w', 'V', '\x00\xff', 'v'.repeat(300)].map(fromLatin1);

const SECOND = 1000;

export interface World {
  readonly families: Readonly<Record<string, FamilyOptions>>;
  readonly names: readonly string[];
  readonly splitKeys: readonly Uint8Array[];
  /** Splits change which files a major compaction looks at, which shows with KEEP_DELETED_CELLS only (R44). */
  readonly canSplit: boolean;
  /** Raw scans show what compactions have dropped, which with NEW_VERSION_BEHAVIOR is the engine's own affair. */
  readonly canReadRaw: boolean;
  /** Filters that end the scan see the keys of rows of which only hidden cells are left, or compacted away. */
  readonly canEndScans: boolean;
  /** Times to live of single cells: with NEW_VERSION_BEHAVIOR what they hid comes back or not as it has been kept. */
  readonly canUseCellTtl: boolean;
  readonly hasTtl: boolean;
  /** A timestamp as of `now`. */
  time(random: Random, now: number): number;
}

export function makeWorld(random: Random): World {
  const names = ['f', 'g', 'h'].slice(0, random.between(1, 3));
  const hasTtl = random.chance(0.3);
  const newVersionBehavior = random.chance(0.12);
  const keepsDeleted = !newVersionBehavior && random.chance(0.35);
  const families: Record<string, FamilyOptions> = {};
  for (const name of names) {
    const versions = random.between(1, 4);
    // Expired versions go when they are flushed (R18), which the model of NEW_VERSION_BEHAVIOR, with its whole history,
    // does not know.
    const expires = hasTtl && !newVersionBehavior && random.chance(0.4);
    const minVersions = expires ? random.between(0, Math.min(2, versions)) : 0;
    families[name] = {
      versions,
      minVersions,
      ...(hasTtl && random.chance(0.8) ? { ttl: 100 } : {}),
      keepDeletedCells: keepsDeleted ? random.pick(KEEP_DELETED_CELLS) : 'FALSE',
      newVersionBehavior,
      bloomFilter: random.pick(BLOOM_FILTERS),
      dataBlockEncoding: random.pick(DATA_BLOCK_ENCODINGS),
      blockSize: 1024,
      compression: random.chance(0.1) ? random.pick(COMPRESSIONS) : 'NONE',
    };
  }
  const splitKeys = !keepsDeleted && random.chance(0.3) ? [random.pick(ROWS.slice(1))] : [];
  return {
    families,
    names,
    splitKeys,
    canSplit: !keepsDeleted,
    canReadRaw: !newVersionBehavior,
    canEndScans: !newVersionBehavior,
    canUseCellTtl: !newVersionBehavior,
    hasTtl,
    time: (source, now) =>
      // Times to live are 100 s: some cells are older, some grow old while the sequence runs.
      hasTtl ? now - source.between(0, 13) * 10 * SECOND : source.between(0, 13),
  };
}

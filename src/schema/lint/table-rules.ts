/** Rules of thumb for tables and families (HBase book, chapters "Schema Creation" to "Keeping Deleted Cells"). */

import { isRecord } from '../../table/checks.js';
import { type FamilyDescriptor, FOREVER } from '../../table/index.js';
import type { TableSchema } from '../types.js';
import type { LintRule, Smell } from './types.js';

/** "On the number of column families": the largest family determines flushes and compactions of all. */
const MANY_FAMILIES = 3;
/** "Try to minimize row and column sizes": each cell repeats the name. */
const LONG_FAMILY = 4;
/** "Number of versions": hundreds of versions make files large. */
const MANY_VERSIONS = 100;
/** "Table schema rules of thumb": regions of 10 to 50 GB, 50 to 100 of them for one or two families. */
const GIB = 2 ** 30;
const SMALL_REGION = 10 * GIB;
const LARGE_REGION = 50 * GIB;
const MANY_REGIONS = 200;
const SMALL_BLOCK = 8 * 1024;
const LARGE_BLOCK = 1024 * 1024;

/** A finding about a family. Undefined: none. */
function ofFamilies(
  check: (family: FamilyDescriptor, table: TableSchema) => Omit<Smell, 'place'> | undefined,
): LintRule['check'] {
  return (table) =>
    table.descriptor.families.flatMap((family) => {
      const found = check(family, table);
      return found === undefined ? [] : [{ place: `${table.descriptor.name}/${family.name}`, ...found }];
    });
}

function ofTable(check: (table: TableSchema) => Omit<Smell, 'place'> | undefined): LintRule['check'] {
  return (table) => {
    const found = check(table);
    return found === undefined ? [] : [{ place: table.descriptor.name, ...found }];
  };
}

export const TABLE_RULES: readonly LintRule[] = [
  {
    code: 'few-regions',
    severity: 'warning',
    check: ofTable(({ declaration: { presplit } = { families: {} }, splitKeys }) =>
      !isRecord(presplit) || 'splits' in presplit || splitKeys.length + 1 >= presplit.regions
        ? undefined
        : {
            message: `It is to begin with ${presplit.regions} regions, but its keys tell ${splitKeys.length + 1}.`,
            advice:
              'Begin the key with salt() or hash(), or tell presplit more: { regions, samples }, { regions, between } or { regions, algorithm }.',
          },
    ),
  },
  {
    code: 'many-families',
    severity: 'warning',
    check: ofTable(({ descriptor: { families } }) =>
      families.length <= MANY_FAMILIES
        ? undefined
        : {
            message: `It has ${families.length} families; more than ${MANY_FAMILIES} cost flushes and compactions.`,
            advice: 'Merge those that are read together.',
          },
    ),
  },
  {
    code: 'long-family-name',
    severity: 'warning',
    check: ofFamilies(({ name }) =>
      Buffer.byteLength(name) <= LONG_FAMILY
        ? undefined
        : {
            message: `The family name "${name}" stands in every cell.`,
            advice: 'Shorten it to one or two letters.',
          },
    ),
  },
  {
    code: 'many-versions',
    severity: 'warning',
    check: ofFamilies(({ versions }) =>
      versions <= MANY_VERSIONS
        ? undefined
        : {
            message: `It keeps ${versions} versions of every column, in every read of the row's files.`,
            advice: 'Keep history in rows of its own, keyed by time, or lower versions.',
          },
    ),
  },
  {
    code: 'keep-deleted-with-ttl',
    severity: 'hint',
    check: ofFamilies(({ keepDeletedCells, ttl }) =>
      keepDeletedCells !== 'TRUE' || ttl === FOREVER
        ? undefined
        : {
            message:
              "keepDeletedCells: 'TRUE' keeps delete markers for good, though the cells under them expire.",
            advice: "Write keepDeletedCells: 'TTL': markers go with what they hide.",
          },
    ),
  },
  {
    code: 'min-versions-without-ttl',
    severity: 'hint',
    check: ofFamilies(({ minVersions, ttl }) =>
      minVersions === 0 || ttl !== FOREVER
        ? undefined
        : {
            message: `minVersions: ${minVersions} does nothing: no cell of the family expires.`,
            advice: 'Leave it out, or set ttl.',
          },
    ),
  },
  {
    code: 'min-versions-with-ttl',
    severity: 'hint',
    check: ofFamilies(({ minVersions, ttl }) =>
      minVersions === 0 || ttl === FOREVER
        ? undefined
        : {
            message:
              'With minVersions files of which everything has expired are not dropped whole, but merged.',
            advice: 'Leave minVersions out where nothing has to outlive its time.',
          },
    ),
  },
  {
    code: 'no-compression',
    severity: 'hint',
    check: ofFamilies(({ compression, dataBlockEncoding }) =>
      compression !== 'NONE' || dataBlockEncoding !== 'NONE'
        ? undefined
        : {
            message:
              'Its files are neither compressed nor encoded, so that each cell repeats row, family and column.',
            advice:
              "Write dataBlockEncoding: 'FAST_DIFF', and compression: 'ZSTD' or 'SNAPPY' unless values are compressed already.",
          },
    ),
  },
  {
    code: 'rowcol-bloom',
    severity: 'hint',
    check: ofFamilies(({ bloomFilter }) =>
      bloomFilter !== 'ROWCOL'
        ? undefined
        : {
            message: 'A ROWCOL filter has an entry for each cell, and helps only reads of single columns.',
            advice: "Write bloomFilter: 'ROW' unless most reads select one column of a row with many.",
          },
    ),
  },
  {
    code: 'block-size',
    severity: 'hint',
    check: ofFamilies(({ blockSize }) =>
      blockSize >= SMALL_BLOCK && blockSize <= LARGE_BLOCK
        ? undefined
        : {
            message:
              blockSize < SMALL_BLOCK
                ? `Blocks of ${blockSize} bytes make indexes large, which stand in memory.`
                : `Each read of a row reads and decodes a block of ${blockSize} bytes.`,
            advice: 'Leave blockSize at 65536; 16384 for single small rows, 262144 for scans.',
          },
    ),
  },
  {
    code: 'region-size',
    severity: 'hint',
    check: ofTable(({ descriptor: { maxFileSize } }) =>
      maxFileSize === undefined || (maxFileSize >= SMALL_REGION && maxFileSize <= LARGE_REGION)
        ? undefined
        : {
            message: `Regions are split at ${(maxFileSize / GIB).toFixed(1)} GB; 10 to 50 GB keep their number and their compactions bearable.`,
            advice: 'Write maxFileSize between 10737418240 and 53687091200, or leave it out.',
          },
    ),
  },
  {
    code: 'many-regions',
    severity: 'hint',
    check: ofTable(({ splitKeys }) =>
      splitKeys.length < MANY_REGIONS
        ? undefined
        : {
            message: `It begins with ${splitKeys.length + 1} regions, each with a memstore a family.`,
            advice: '50 to 100 regions are a good number for one or two families; `rowan size` reckons them.',
          },
    ),
  },
  {
    code: 'skip-wal',
    severity: 'warning',
    check: ofTable(({ descriptor: { durability } }) =>
      durability !== 'SKIP_WAL'
        ? undefined
        : {
            message: 'Acknowledged writes are lost with the server that took them.',
            advice: "Write durability: 'SKIP_WAL' only of what can be loaded again; else leave it out.",
          },
    ),
  },
];

/** File facts as JSON: for the meta block and the MANIFEST. */

import { fromHex, toHex } from '../../bytes/index.js';
import { CorruptionError } from '../../errors.js';
import { BLOOM_FILTERS, COMPRESSIONS, DATA_BLOCK_ENCODINGS } from '../../table/index.js';
import type { FileMeta } from './file-meta.js';

type Kind = 'number' | 'boolean' | 'bytes' | readonly string[];

const FIELDS: Readonly<Record<keyof FileMeta, Kind>> = {
  fileNo: 'number',
  cells: 'number',
  puts: 'number',
  deletes: 'number',
  deleteFamilyCount: 'number',
  rows: 'number',
  minTimestamp: 'number',
  maxTimestamp: 'number',
  earliestPutTimestamp: 'number',
  minSeq: 'number',
  maxSeq: 'number',
  firstRow: 'bytes',
  lastRow: 'bytes',
  maxVersions: 'number',
  hasTtl: 'boolean',
  majorCompacted: 'boolean',
  bulkLoaded: 'boolean',
  compression: COMPRESSIONS,
  encoding: DATA_BLOCK_ENCODINGS,
  bloomFilter: BLOOM_FILTERS,
  bloomKeys: 'number',
  blockSize: 'number',
  dataBlocks: 'number',
  rawBytes: 'number',
  dataBytes: 'number',
};

export type FileMetaJson = {
  readonly [Field in keyof FileMeta]: FileMeta[Field] extends Uint8Array ? string : FileMeta[Field];
};

/** A plain object that `JSON.stringify` takes: rows in hex. */
export function fileMetaToJson(meta: FileMeta): FileMetaJson {
  const json: Record<string, unknown> = {};
  for (const field of Object.keys(FIELDS) as (keyof FileMeta)[]) {
    const value = meta[field];
    json[field] = value instanceof Uint8Array ? toHex(value) : value;
  }
  return json as FileMetaJson;
}

/**
 * Fields that are not known are passed over: later versions may add some.
 * @throws CorruptionError naming the field that is missing or wrong.
 */
export function fileMetaFromJson(json: unknown): FileMeta {
  if (typeof json !== 'object' || json === null)
    throw new CorruptionError('The facts of a sorted file are no object.');
  const given = json as Record<string, unknown>;
  const meta: Record<string, unknown> = {};
  for (const [field, kind] of Object.entries(FIELDS)) {
    const value = given[field];
    if (!isOfKind(value, kind))
      throw new CorruptionError(`"${field}" of a sorted file is ${JSON.stringify(value)}.`, {
        details: { field },
      });
    meta[field] = kind === 'bytes' ? fromHex(value as string) : value;
  }
  return Object.freeze(meta) as unknown as FileMeta;
}

function isOfKind(value: unknown, kind: Kind): boolean {
  if (kind === 'number') return Number.isSafeInteger(value) && (value as number) >= 0;
  if (kind === 'boolean') return typeof value === 'boolean';
  if (kind === 'bytes') return typeof value === 'string' && /^(?:[0-9a-f]{2}){1,32767}$/.test(value);
  return kind.includes(value as string);
}

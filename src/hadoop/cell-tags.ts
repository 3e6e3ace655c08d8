/** Cells as files of HBase have them, with the tags that say of a cell how long it lives. */

import { CorruptionError } from '../errors.js';
import { checkRow } from '../table/checks.js';
import { Cell, CellType, EndingCell } from '../table/index.js';
import type { ByteBuilder } from './writable.js';

/** Of tags: the time to live of a cell, in milliseconds (8 bytes). */
const TTL_TAG = 8;
export const TTL_TAG_BYTES = 11;
const TYPES: ReadonlySet<number> = new Set(Object.values(CellType));

export function writeTtlTag(target: ByteBuilder, ttl: number): void {
  target
    .short(TTL_TAG_BYTES - 2)
    .byte(TTL_TAG)
    .long(ttl);
}

/** What was read of a cell. */
export interface CellParts {
  readonly row: Uint8Array;
  readonly family: string;
  readonly qualifier: Uint8Array;
  readonly timestamp: number;
  readonly type: number;
  readonly value: Uint8Array;
  readonly tags: Buffer | undefined;
}

/** @throws CorruptionError when its row, timestamp or type is none of stored cells. */
export function cellOf({ row, family, qualifier, timestamp, type, value, tags }: CellParts): Cell {
  if (!TYPES.has(type)) throw new CorruptionError(`${type} is no type of a cell`);
  if (timestamp < 0) throw new CorruptionError(`${timestamp} is no timestamp of a stored cell`);
  try {
    checkRow(row);
  } catch (cause) {
    throw new CorruptionError((cause as Error).message, { cause });
  }
  const ttl = tags === undefined || tags.length === 0 ? undefined : ttlOf(tags);
  return ttl === undefined
    ? new Cell(row, family, qualifier, timestamp, type as CellType, value)
    : new EndingCell(row, family, qualifier, timestamp, type as CellType, value, ttl);
}

/** The time to live among tags; others (labels, access rights) are HBase's own and are not read. */
function ttlOf(tags: Buffer): number | undefined {
  for (let at = 0; at + 3 <= tags.length; ) {
    const length = tags.readUInt16BE(at);
    if (length === 0 || at + 2 + length > tags.length) break;
    if (tags[at + 2] === TTL_TAG && length === 9) {
      const ttl = Number(tags.readBigInt64BE(at + 3));
      if (Number.isSafeInteger(ttl) && ttl > 0) return ttl;
    }
    at += 2 + length;
  }
  return undefined;
}

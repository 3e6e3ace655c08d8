/**
 * Torn or damaged? A log that was being written when the power went may end in bytes that are no record, and must open
 * all the same; a log whose acknowledged bytes changed must not. The rules, in this order, for a break at offset X:
 *
 * 1. Bytes that were known to be synced when something else was written (the header of a file that is named by the
 *    MANIFEST, a promise in any chunk) cannot be torn: X before them is damage. The promise may stand in a chunk after X,
 *    so every later byte is tried as the start of a chunk.
 * 2. When one flipped bit explains a failed check, and the bit lies in a sector that was written, it is damage.
 * 3. A file that ends inside the chunk is torn: appends grow the file. So is one in whose prepared room the chunk stops: from
 *    the last byte of the chunk, or of its header where that is all that is known, to the end of the file there are zeros.
 * 4. A chunk that lies wholly in the file is torn if one of its 512-byte sectors is all zeros from where the chunk
 *    enters it: never written. (Disks write sectors whole; room is prepared by zeros and never used again, so what was
 *    not written reads as zeros.)
 * 5. Everything else is damage.
 *
 * What stays open: damage to the last group of records, before any later chunk reached the disk, that also zeroes a
 * whole sector or cuts the file, looks like a torn end.
 */

import { crc32 } from '../../bytes/index.js';
import {
  BLOCK_SIZE,
  CHUNK_HEADER_SIZE,
  fileSeed,
  headerCheck,
  LAST_CHUNK_TYPE,
  type LogKind,
  readUint32,
  readUint48,
} from './format.js';
import { type Break, isZero } from './reader.js';

const SECTOR = 512;

export type Verdict = { readonly torn: true } | { readonly torn: false; readonly why: string };

const TORN: Verdict = { torn: true };

/** Judges the break of a log that was open for writing. `knownSynced`: bytes that are known to have been safe. */
export function judgeBreak(
  bytes: Uint8Array,
  broken: Break,
  kind: LogKind,
  fileNumber: number,
  knownSynced: number,
): Verdict {
  const { offset, reason } = broken;
  if (offset < knownSynced) return damage(`${knownSynced} bytes of it were known to be on the disk`);
  const seed = fileSeed(kind, fileNumber);
  const witness = findWitness(bytes, seed, offset);
  if (witness >= 0) return damage(`the chunk at byte ${witness} shows that what stood there had been synced`);
  if (reason === 'cut header' || reason === 'cut payload' || reason === 'cut record') return TORN;
  const header = reason === 'bad header';
  const length = header ? 0 : bytes[offset + 8]! | (bytes[offset + 9]! << 8);
  const end = offset + CHUNK_HEADER_SIZE + length;
  const flipped = header ? flippedHeaderBit(bytes, offset, seed) : flippedPayloadBit(bytes, offset, length);
  if (flipped >= 0 && !unwritten(bytes, offset, flipped))
    return damage(`one bit is flipped at byte ${flipped}`);
  if (kind.preparedSince !== Number.POSITIVE_INFINITY && isZero(bytes, end - 1)) return TORN;
  for (let at = offset; at < end; at = (Math.floor(at / SECTOR) + 1) * SECTOR) {
    if (unwritten(bytes, offset, at)) return TORN;
  }
  return damage(`the check of its ${header ? 'header' : 'payload'} fails`);
}

function damage(why: string): Verdict {
  return { torn: false, why };
}

/** Whether the sector that holds byte `at` is all zeros from where the chunk that begins at `start` enters it. */
function unwritten(bytes: Uint8Array, start: number, at: number): boolean {
  const sector = Math.floor(at / SECTOR) * SECTOR;
  const end = Math.min(sector + SECTOR, bytes.length);
  for (let i = Math.max(start, sector); i < end; i++) if (bytes[i] !== 0) return false;
  return true;
}

/** The offset of a chunk after `broken` that promises more than `broken` bytes to have been synced; -1 for none. */
function findWitness(bytes: Uint8Array, seed: number, broken: number): number {
  const last = bytes.length - CHUNK_HEADER_SIZE;
  for (let at = broken + 1; at <= last; at++) {
    const type = bytes[at + 10]!;
    if (type === 0 || type > LAST_CHUNK_TYPE) continue;
    const synced = readUint48(bytes, at + 11);
    if (synced <= broken || synced > at) continue;
    if ((bytes[at + 8]! | (bytes[at + 9]! << 8)) > BLOCK_SIZE - CHUNK_HEADER_SIZE) continue;
    if (readUint32(bytes, at) === headerCheck(bytes, at, seed, at)) return at;
  }
  return -1;
}

/** The byte whose one flipped bit makes the header's check fail; -1 when no single bit does. */
function flippedHeaderBit(bytes: Uint8Array, offset: number, seed: number): number {
  const header = Uint8Array.from(bytes.subarray(offset, offset + CHUNK_HEADER_SIZE));
  for (let bit = 0; bit < 8 * CHUNK_HEADER_SIZE; bit++) {
    const at = bit >> 3;
    header[at] = header[at]! ^ (1 << (bit & 7));
    if (readUint32(header, 0) === headerCheck(header, 0, seed, offset)) return offset + at;
    header[at] = header[at]! ^ (1 << (bit & 7));
  }
  return -1;
}

/**
 * The byte of the payload whose one flipped bit makes its crc fail; -1 when no single bit does. A flipped bit changes
 * the crc by a pattern that depends only on its distance from the end: walk the distances until the pattern is met.
 */
function flippedPayloadBit(bytes: Uint8Array, offset: number, length: number): number {
  const from = offset + CHUNK_HEADER_SIZE;
  const pattern = crc32(bytes, from, length) ^ readUint32(bytes, offset + 4);
  let walk = 1;
  for (let distance = 0; distance < 8 * length; distance++) {
    walk = (walk & 1) !== 0 ? (walk >>> 1) ^ 0xedb88320 : walk >>> 1;
    if (walk === pattern) return from + length - 1 - (distance >> 3);
  }
  return -1;
}

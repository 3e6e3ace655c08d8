/** Divides a scan into parts of about equal bytes, along the blocks of files and the cells of memstores. */

import { compareBytes } from '../../bytes/index.js';
import type { ScannedRange } from '../../table/index.js';
import type { StoreFile } from '../file/store-file.js';
import { CellArena } from '../memstore/arena.js';
import { CellList } from '../memstore/cell-list.js';
import { MemstoreCursor, type SharedMemstore } from '../memstore/memstore-cursor.js';
import type { ScanPart } from './protocol.js';

/** Parts for each thread, so that none waits long for the last one. */
const PARTS_PER_THREAD = 16;
/** Bytes of a part, as stored. */
const LEAST_BYTES = 1 << 16;
const MOST_BYTES = 1 << 21;
/** Rows of one file or memstore at which parts may begin. */
const MAX_BOUNDS = 4096;

/** A region with what a scan reads of it. */
interface RegionContent {
  readonly startKey: Uint8Array;
  readonly endKey: Uint8Array;
  readonly files: readonly StoreFile[];
  readonly memstores: readonly SharedMemstore[];
}

/** A row at which a part may begin, and about how many bytes follow before the next of its source. */
interface Bound {
  readonly row: Uint8Array;
  readonly bytes: number;
}

/** The parts of the ranges, in their order and that of the rows. Which rows they have does not depend on the bounds. */
export function scanParts(
  regions: readonly RegionContent[],
  ranges: readonly ScannedRange[],
  threads: number,
): ScanPart[] {
  const bounds = regions.map(boundsOf);
  let total = 0;
  for (const range of ranges)
    for (const each of bounds) for (const { row, bytes } of each) if (isIn(row, range)) total += bytes;
  const size = Math.min(MOST_BYTES, Math.max(LEAST_BYTES, total / (threads * PARTS_PER_THREAD)));
  const parts: ScanPart[] = [];
  for (const range of ranges) {
    regions.forEach((content, region) => {
      const part = intersection(range, { start: content.startKey, stop: content.endKey });
      if (part === undefined) return;
      let { start } = part;
      let filled = 0;
      for (const { row, bytes } of bounds[region]!) {
        if (!isIn(row, part)) continue;
        if (filled >= size && compareBytes(row, start) > 0) {
          parts.push({ region, start, stop: row });
          start = row;
          filled = 0;
        }
        filled += bytes;
      }
      parts.push({ region, start, stop: part.stop });
    });
  }
  return parts;
}

function boundsOf({ files, memstores }: RegionContent): Bound[] {
  const bounds = [...files.flatMap(boundsOfFile), ...memstores.flatMap(boundsOfMemstore)];
  return bounds.sort((a, b) => compareBytes(a.row, b.row));
}

function boundsOfFile({ reader }: StoreFile): Bound[] {
  const { root, twoLevels, meta } = reader;
  const step = Math.ceil(meta.dataBlocks / MAX_BOUNDS);
  const bounds: Bound[] = [];
  let bytes = 0;
  let row: Uint8Array | undefined;
  for (let number = 0; number < (twoLevels ? root.count : 1); number++) {
    const leaf = twoLevels ? reader.leaf(number) : root;
    for (let i = 0; i < leaf.count; i++) {
      if (i % step === 0) {
        if (row !== undefined) bounds.push({ row, bytes });
        row = leaf.keyRow(i);
        bytes = 0;
      }
      bytes += leaf.lengths[i]!;
    }
  }
  if (row !== undefined) bounds.push({ row, bytes });
  return bounds;
}

function boundsOfMemstore({ buffers, refs }: SharedMemstore): Bound[] {
  const step = Math.max(128, Math.ceil(refs.length / MAX_BOUNDS));
  const chosen = new Uint32Array(Math.ceil(refs.length / step));
  for (let i = 0; i < chosen.length; i++) chosen[i] = refs[i * step]!;
  const arena = CellArena.of(buffers);
  const list = new CellList(arena);
  list.fill(chosen);
  const cursor = new MemstoreCursor(arena, list);
  const bounds: Bound[] = [];
  for (let more = cursor.seekToFirst(); more; more = cursor.next()) {
    const { key, rowOffset, rowLength, qualifierLength, valueLength } = cursor;
    const bytes = step * (rowLength + qualifierLength + valueLength);
    bounds.push({ row: key.slice(rowOffset, rowOffset + rowLength), bytes });
  }
  return bounds;
}

function isIn(row: Uint8Array, { start, stop }: ScannedRange): boolean {
  return compareBytes(row, start) >= 0 && (stop.length === 0 || compareBytes(row, stop) < 0);
}

/** Undefined when it is empty. */
function intersection(a: ScannedRange, b: ScannedRange): ScannedRange | undefined {
  const start = compareBytes(a.start, b.start) >= 0 ? a.start : b.start;
  const stop =
    a.stop.length === 0 || (b.stop.length > 0 && compareBytes(b.stop, a.stop) < 0) ? b.stop : a.stop;
  return stop.length > 0 && compareBytes(start, stop) >= 0 ? undefined : { start, stop };
}

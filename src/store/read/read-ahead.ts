/** Reads off the thread what a batch of gets needs, where reads of files wait for the disk. */

import type { Get } from '../../table/index.js';
import type { DiskWaits } from '../cache.js';
import { BloomKey } from '../file/bloom-filter.js';
import type { FilePlace } from '../file/sorted-file-reader.js';
import { regionOf } from '../region/region.js';
import type { TableState } from '../table-state.js';

/** With fewer places to read, other threads save nothing. */
const LEAST_PLACES = 4;
/** Reads that are in flight at once: one for each thread of the pool, and one that waits for it. */
const IN_FLIGHT = 8;

const key = new BloomKey();

/**
 * Reads the parts and blocks of files that the gets need and that are not in the cache, several at once. They are in the system's memory
 * then, where the gets find and verify them. Undefined when little is missing, or when reads of files do not wait: then the gets
 * cost less without.
 */
export function readAhead(state: TableState, gets: readonly Get[]): Promise<void> | undefined {
  if (gets.length < LEAST_PLACES) return undefined;
  const disk = diskOf(state);
  if (!disk?.waitsAreLong) return undefined;
  const places: FilePlace[] = [];
  for (const get of gets) addPlaces(state, get, places);
  if (places.length >= LEAST_PLACES) return readPlaces(places);
  disk.waitedForNothing();
  return undefined;
}

function diskOf({ regions }: TableState): DiskWaits | undefined {
  for (const { stores } of regions)
    for (const { version } of stores)
      for (const { reader } of version.files) return reader.context.files.disk;
  return undefined;
}

function addPlaces({ regions }: TableState, get: Get, places: FilePlace[]): void {
  key.setRow(get.row);
  for (const { descriptor, version } of regionOf(regions, get.row).stores) {
    if (!get.asksForAll && !get.families.has(descriptor.name)) continue;
    for (const { reader } of version.files) {
      const place = reader.placeOf(key);
      const last = places.at(-1);
      if (place !== undefined && (place.file !== last?.file || place.offset !== last.offset))
        places.push(place);
    }
  }
}

async function readPlaces(places: readonly FilePlace[]): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < places.length) {
      const { file, offset, length } = places[next++]!;
      await file.readAhead(offset, length);
    }
  };
  await Promise.all(Array.from({ length: Math.min(IN_FLIGHT, places.length) }, lane));
}

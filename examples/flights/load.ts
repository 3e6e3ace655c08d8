/** Loads both files with a progress bar. Every batch is on the disk when it is acknowledged. */

import { SingleBar } from 'cli-progress';
import type { Database, KeyedClass, Repository } from 'rowan-orm';
import { readAirports, readFlights } from './data.js';
import { Airport, Flight } from './entities.js';

/** The store of this example, in the folder that it is run in. */
export const PATH = '.rowan/flights';

/** Entities in one call, and calls under way at the same time: these share their syncs to the disk. */
const BATCH = 500;
const LANES = 4;

export interface LoadReport {
  readonly entities: number;
  readonly seconds: number;
}

/** Loads what the store does not have yet; answers undefined when everything is there. */
export async function load(database: Database): Promise<LoadReport | undefined> {
  const airports = await readAirports();
  const flights = await readFlights();
  const stored =
    (await database.repository(Airport).find({}, { fullScan: true }).count()) +
    (await database.repository(Flight).find({}, { fullScan: true }).count());
  const entities = airports.length + flights.length;
  if (stored === entities) return undefined;
  const bar = new SingleBar({
    format: 'Loading {bar} {percentage}% | {value}/{total} entities',
    hideCursor: true,
    noTTYOutput: true,
    notTTYSchedule: 500,
  });
  bar.start(entities, 0);
  const start = performance.now();
  try {
    await putAll(database.repository(Airport), airports, (count) => bar.increment(count));
    await putAll(database.repository(Flight), flights, (count) => bar.increment(count));
  } finally {
    bar.stop();
  }
  return { entities, seconds: (performance.now() - start) / 1000 };
}

async function putAll<C extends KeyedClass>(
  repository: Repository<C>,
  entities: readonly Parameters<Repository<C>['put']>[0][],
  onStored: (count: number) => void,
): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < entities.length) {
      const batch = entities.slice(next, next + BATCH);
      next += batch.length;
      await repository.putMany(batch);
      onStored(batch.length);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}

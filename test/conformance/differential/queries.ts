import { Get, type Query, Scan } from '../../../src/table/index.js';
import { makeFilter } from './filters.js';
import type { Random } from './random.js';
import { COUNTER, LOG, QUALIFIERS, ROWS, type World } from './world.js';

export function makeGet(random: Random, world: World, now: number): Get {
  const get = new Get(random.pick(ROWS));
  describe(get, random, world, now, true);
  return get.setCheckExistenceOnly(random.chance(0.1));
}

export function makeScan(random: Random, world: World, now: number): Scan {
  const scan = new Scan().setReversed(random.chance(0.3)).setRaw(world.canReadRaw && random.chance(0.35));
  if (random.chance(0.4)) scan.withStartRow(random.pick(ROWS), random.chance(0.6));
  if (random.chance(0.4)) scan.withStopRow(random.pick(ROWS), random.chance(0.5));
  if (random.chance(0.1)) scan.setStartStopRowForPrefix(random.pick(ROWS));
  if (random.chance(0.25)) scan.setLimit(random.between(1, 4));
  describe(scan, random, world, now, !scan.raw);
  if (!scan.filter && random.chance(0.15)) scan.setBatch(random.between(1, 4));
  return scan;
}

function describe(query: Query, random: Random, world: World, now: number, withColumns: boolean): void {
  if (random.chance(0.35)) query.readAllVersions();
  else if (random.chance(0.4)) query.readVersions(random.between(1, 5));
  if (random.chance(0.3)) setRange(random, world, now, (min, max) => query.setTimeRange(min, max));
  if (random.chance(0.1)) {
    const family = random.pick(world.names);
    setRange(random, world, now, (min, max) => query.setColumnFamilyTimeRange(family, min, max));
  }
  if (random.chance(0.3)) for (const family of random.some(world.names)) query.addFamily(family);
  if (withColumns && random.chance(0.35)) {
    const family = random.pick(world.names);
    for (const qualifier of random.some([...QUALIFIERS, COUNTER, LOG])) query.addColumn(family, qualifier);
  }
  if (random.chance(0.1)) query.setMaxResultsPerColumnFamily(random.between(1, 3));
  if (random.chance(0.1)) query.setRowOffsetPerColumnFamily(random.between(0, 2));
  if (random.chance(0.45)) {
    query.setFilter(makeFilter(random, world, now, { depth: 2, forScan: query instanceof Scan }));
  }
}

function setRange(random: Random, world: World, now: number, set: (min: number, max?: number) => void): void {
  const a = world.time(random, now);
  const b = world.time(random, now);
  if (random.chance(0.3)) set(a);
  else set(Math.min(a, b), Math.max(a, b) + random.below(2));
}

/** Where rows and load are: counters of the engine, and rows of an entity by salt and leading part. */

import { toStringBinary } from '../../bytes/index.js';
import type { KeyPlan } from '../../key/types.js';
import { parseKeyConditions } from '../../query/index.js';
import type { EntitySchema } from '../../schema/types.js';
import { filters, Scan } from '../../table/index.js';
import type { Counters, HeatMap, TableSize } from './api.js';
import { statsOf } from './catalog.js';
import { repositoryOf } from './questions.js';
import type { StudioDatabase } from './studio-database.js';
import { shownValue } from './values.js';

/** Rows that are counted for one heat map, and its columns. */
const MAX_ROWS = 200_000;
const MAX_GROUPS = 48;
/** Values of a part that are told apart while rows are counted. */
const MAX_VALUES = 5000;

/** The load of each table, as its regions count it. */
export async function sizesOf(db: StudioDatabase, signal: AbortSignal): Promise<TableSize[]> {
  const sizes: TableSize[] = [];
  for (const { name } of await db.admin.listTables()) {
    signal.throwIfAborted();
    const regions = await db.admin.getRegions(name);
    sizes.push({
      table: name,
      regions: regions.length,
      fileBytes: regions.reduce((sum, { storeFileSize }) => sum + storeFileSize, 0),
      memstoreBytes: regions.reduce((sum, { memstoreSize }) => sum + memstoreSize, 0),
    });
  }
  return sizes;
}

/** Counters of the whole engine: of an embedded store from its statistics, else from the regions of its tables. */
export async function countersOf(db: StudioDatabase): Promise<Counters> {
  const stats = statsOf(db.engine);
  const sums = { writes: 0, reads: 0, memstoreBytes: 0, fileBytes: 0 };
  if (stats === undefined) {
    for (const { name } of await db.admin.listTables()) {
      for (const region of await db.admin.getRegions(name)) {
        sums.writes += region.writeRequests;
        sums.reads += region.readRequests;
        sums.memstoreBytes += region.memstoreSize;
        sums.fileBytes += region.storeFileSize;
      }
    }
    return { time: Date.now(), ...sums, store: null };
  }
  const store = {
    bytesFlushed: 0,
    bytesCompacted: 0,
    cacheHits: stats.blockCache.hits,
    cacheMisses: stats.blockCache.misses,
    walBytes: stats.walBytes,
    files: 0,
  };
  for (const { regions } of stats.tables) {
    for (const { readRequests, writeRequests, families } of regions) {
      sums.reads += readRequests;
      sums.writes += writeRequests;
      for (const family of families) {
        sums.memstoreBytes += family.memstoreBytes;
        sums.fileBytes += family.fileBytes;
        store.bytesFlushed += family.bytesFlushed;
        store.bytesCompacted += family.bytesCompacted;
        store.files += family.files;
      }
    }
  }
  return { time: Date.now(), ...sums, store };
}

interface Lane {
  readonly name: string;
  readonly byValue: Map<string, number>;
}

/**
 * Counts rows of an entity by salt and by the first part after it. Reads the first cell of each row only, up to a limit that the
 * salts share.
 */
export async function heatOf(db: StudioDatabase, entity: string, signal: AbortSignal): Promise<HeatMap> {
  const { schema } = repositoryOf(db, entity);
  const plan = schema.key.plan(parseKeyConditions(schema.name, schema.key, {}));
  const part = schema.key.parts[0]?.name ?? '';
  const lanes: Lane[] = [];
  const each = Math.ceil(MAX_ROWS / Math.max(1, plan.ranges.length));
  let counted = 0;
  let complete = true;
  for (const range of plan.ranges) {
    const lane: Lane = { name: laneName(schema, plan, range.start), byValue: new Map() };
    const found = await countLane(db, schema, range, lane, each, signal);
    counted += found.rows;
    complete &&= found.complete;
    const same = lanes.find(({ name }) => name === lane.name);
    if (same === undefined) lanes.push(lane);
    else for (const [value, rows] of lane.byValue) add(same.byValue, value, rows);
  }
  return { ...grouped(lanes), part, counted, complete };
}

/** The derived bytes that the keys of a range begin with: the salt or bucket. */
function laneName(schema: EntitySchema, plan: KeyPlan, start: Uint8Array): string {
  if (plan.ranges.length === 1) return '';
  try {
    const [first] = schema.key.pieces(start);
    if (first !== undefined && /^(salt|bucket)\(/.test(first.element))
      return toStringBinary(start.subarray(first.start, first.end));
  } catch {
    // The range begins within an element.
  }
  return toStringBinary(start.subarray(0, 1));
}

async function countLane(
  db: StudioDatabase,
  schema: EntitySchema,
  { start, stop }: KeyPlan['ranges'][number],
  { byValue }: Lane,
  limit: number,
  signal: AbortSignal,
): Promise<{ rows: number; complete: boolean }> {
  const { key, table } = schema;
  const [part] = key.parts;
  const scan = new Scan()
    .withStartRow(start)
    .withStopRow(stop ?? new Uint8Array(0))
    .setFilter(filters.all(filters.firstKeyOnly(), filters.keyOnly()))
    .setCaching(1000)
    .setCacheBlocks(false);
  const scanner = db.engine.table(table.descriptor.name).scan(scan, { signal });
  let rows = 0;
  try {
    for (;;) {
      const batch = await scanner.nextBatch(1000);
      if (batch.length === 0) return { rows, complete: true };
      for (const { row } of batch) {
        if (!key.matches(row)) continue;
        const value = part === undefined ? '' : valueText(schema, row, part.name);
        add(byValue, byValue.has(value) || byValue.size < MAX_VALUES ? value : 'others', 1);
        rows++;
      }
      if (rows >= limit) return { rows, complete: false };
    }
  } finally {
    await scanner.close();
  }
}

function valueText({ key }: EntitySchema, row: Uint8Array, part: string): string {
  try {
    const shown = shownValue(key.stored.decode(row)[part], 60).value;
    return typeof shown === 'string' ? shown : JSON.stringify(shown);
  } catch {
    return '(not decoded)';
  }
}

function add(counts: Map<string, number>, value: string, rows: number): void {
  counts.set(value, (counts.get(value) ?? 0) + rows);
}

/** Lines and columns. Of more values than there are columns, neighbors stand together. */
function grouped(lanes: readonly Lane[]): Pick<HeatMap, 'lanes' | 'groups' | 'rows'> {
  const values = [...new Set(lanes.flatMap(({ byValue }) => [...byValue.keys()]))].sort(byText);
  const size = Math.max(1, Math.ceil(values.length / MAX_GROUPS));
  const groupOf = new Map(values.map((value, at) => [value, Math.floor(at / size)]));
  const groups: string[] = [];
  for (let at = 0; at < values.length; at += size) {
    const last = values[Math.min(at + size, values.length) - 1]!;
    groups.push(size === 1 ? last : `${values[at]} … ${last}`);
  }
  const rows = lanes.map(({ byValue }) => {
    const line = new Array<number>(groups.length).fill(0);
    for (const [value, count] of byValue) line[groupOf.get(value)!]! += count;
    return line;
  });
  return { lanes: lanes.map(({ name }) => name), groups, rows };
}

const byText = (a: string, b: string): number =>
  a.localeCompare(b, 'en', { numeric: true, sensitivity: 'variant' });

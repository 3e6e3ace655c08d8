/** Export, import and verify between the engines, in all four directions, by processes that are killed on their way. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openEngine } from '../../src/cli/databases.js';
import { type BatchAction, Delete, type Engine, Put, tableDescriptor } from '../../src/table/index.js';
import { countCells } from '../../src/tools/count.js';
import { verifyTables } from '../../src/tools/verify.js';
import { runScript } from '../crash/run-script.js';
import { seededRandom } from '../crash/seeded-random.js';
import { scaled } from '../proof/scale.js';
import { connectShared, sharedHBase } from './connect.js';
import { orSay } from './patience.js';
import { dropTable, uniqueTable } from './tables.js';

/** Cells of the table that is carried about, of five a row. */
const CELLS = scaled(2000, 40_000, 2_000_000);
const CELLS_OF_A_ROW = 5;
const ROWS = CELLS / CELLS_OF_A_ROW;
/** Kills of each tool in each direction, and how often they are tried before a tool counts as too short to be killed. */
const KILLS = scaled(1, 2, 3);
const TRIES = 20;
/** Turns of the event loop within which a process is killed the first time. */
const TURNS = scaled(200, 400, 2000);
/** Milliseconds that a tool may take for all of the table, and a test of one direction. */
const TOOL_MS = scaled(300_000, 300_000, 1_200_000);
const TEST_MS = scaled(900_000, 1_800_000, 7_200_000);
const BATCH = 1000;
/** A life of single cells that outlasts every test, though it begins in 1970. */
const LIFE_MS = 300 * 365 * 86_400_000;

let folder: string;
let hbase: Engine;
const tables: string[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowan-directions-'));
  hbase = await connectShared();
});
afterAll(async () => {
  for (const table of tables) await dropTable(hbase, table);
  await hbase.close();
  await rm(folder, { recursive: true, force: true });
});

/** A table in a place: the folder of a store, which one process has at a time, or HBase. */
interface Place {
  readonly place: string;
  readonly table: string;
}

function onHBase(): Place {
  const table = uniqueTable('directions');
  tables.push(table);
  return { place: `hbase:${sharedHBase().masters.join(',')}`, table };
}

function embedded(name: string): Place {
  return { place: join(folder, name), table: 'carried' };
}

function rowName(number: number): Buffer {
  return Buffer.from(`row${String(number).padStart(8, '0')}`);
}

/** Five cells of a row: versions, values of any bytes and of none, lives, and each kind of delete marker. */
function changesOf(row: Buffer, random: () => number): BatchAction[] {
  const below = (limit: number): number => Math.floor(random() * limit);
  const column = () => ['', 'x', 'y\0z', 'ü'][below(4)]!;
  const family = () => (below(2) === 0 ? 'a' : 'b');
  const changes: BatchAction[] = [];
  // At times of their own: no two cells of a row are in one place.
  for (let time = 1; time <= CELLS_OF_A_ROW; time++) {
    const kind = below(10);
    if (kind === 6) changes.push(new Delete(row).addColumn(family(), column(), time));
    // Behind a column without a name that is hidden so HBase passes over the markers of the family, once it has flushed.
    else if (kind === 7) changes.push(new Delete(row).addColumns(family(), column() || 'x', time));
    else if (kind === 8) changes.push(new Delete(row).addFamily(family(), time));
    else if (kind === 9) changes.push(new Delete(row).addFamilyVersion(family(), time));
    else {
      const value = Buffer.alloc(below(40), below(256));
      const put = new Put(row).addColumn(family(), column(), value, time);
      changes.push(kind === 5 ? put.setTtl(LIFE_MS + time) : put);
    }
  }
  return changes;
}

async function fill({ place, table }: Place, seed: number): Promise<void> {
  const engine = await openEngine(place, { mayMake: true });
  // Nothing of it is ever dropped: both sides keep what was written, whenever they flush and compact.
  const family = { versions: 1000, keepDeletedCells: 'TRUE' } as const;
  const splits = [rowName(Math.floor(ROWS / 3)), rowName(ROWS / 2)];
  await engine.admin.createTable(tableDescriptor(table, { a: family, b: family }), splits);
  const random = seededRandom(seed);
  const target = engine.table(table);
  for (let from = 0; from < ROWS; from += BATCH) {
    const changes: BatchAction[] = [];
    for (let i = from; i < Math.min(from + BATCH, ROWS); i++) {
      changes.push(...changesOf(rowName(i), random));
    }
    // By kinds: those of one row that are of two kinds wait for each other.
    const puts = changes.filter((change) => change instanceof Put);
    const deletes = changes.filter((change) => !(change instanceof Put));
    const outcomes = await Promise.all([target.batch(puts), target.batch(deletes)]);
    for (const outcome of outcomes.flat()) if (!outcome.ok) throw outcome.error;
  }
  await engine.close();
}

/** Runs a tool in processes that are killed, and then to its end. */
async function runKilled(tool: string, { place, table }: Place, files: string, random: () => number) {
  const run = async (turn: number) => {
    const script = runScript('test/hbase/tool-process.ts', [tool, place, table, files, String(turn)]);
    try {
      return await orSay(`The end of ${tool}`, script.exit, script.errors, TOOL_MS);
    } finally {
      script.kill();
    }
  };
  let within = TURNS;
  let kills = 0;
  for (let tries = 0; kills < KILLS && tries < TRIES; tries++) {
    const ended = await run(1 + Math.floor(random() * within));
    if (ended === 'SIGKILL') kills++;
    // It was done before: the next one dies earlier.
    else within = Math.max(1, Math.floor(within / 2));
    expect(['SIGKILL', 0]).toContain(ended);
  }
  expect(kills).toBe(KILLS);
  expect(await run(0)).toBe(0);
}

/** A place that is filled when it is first asked for. */
function filled(make: () => Place, seed: number): () => Promise<Place> {
  let place: Promise<Place> | undefined;
  return () => {
    place ??= Promise.resolve(make()).then(async (made) => {
      await fill(made, seed);
      return made;
    });
    return place;
  };
}
const fromEmbedded = filled(() => embedded('from'), 1);
const fromHBase = filled(onHBase, 2);

it.each([
  ['embedded to embedded', fromEmbedded, () => embedded('into')],
  ['embedded to HBase', fromEmbedded, onHBase],
  ['HBase to embedded', fromHBase, () => embedded('into too')],
  ['HBase to HBase', fromHBase, onHBase],
])(
  '%s: what is exported and imported by processes that die is the same, cell by cell',
  { timeout: TEST_MS },
  async (name, a, b) => {
    const [from, into, files] = [await a(), b(), join(folder, name)];
    const random = seededRandom(name.length);
    await runKilled('export', from, files, random);
    await runKilled('import', into, files, random);
    const first = await openEngine(from.place);
    const second = into.place === from.place ? first : await openEngine(into.place);
    try {
      const counted = await countCells(first, from.table, { raw: true });
      expect(counted.counters).toMatchObject({ rows: ROWS, cells: CELLS });
      for (const raw of [true, false]) {
        const { rows, counters } = await verifyTables(
          { engine: first, table: from.table },
          { engine: second, table: into.table },
          { raw },
        );
        expect(counters).toEqual({ rows, equal: rows });
        expect(rows).toBeGreaterThan(raw ? ROWS - 1 : ROWS / 2);
      }
    } finally {
      await first.close();
      if (second !== first) await second.close();
    }
  },
);

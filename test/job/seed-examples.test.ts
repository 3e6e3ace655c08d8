/**
 * The examples of MapReduce over HBase in seed 003, sections 49 to 57, each held against a naive computation. Sections 48 (class
 * paths), 52 (files of HBase) and 55.7 on real databases are shown elsewhere: `test/hbase`, `test/job/sql`.
 */

import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type Combiner,
  type Increments,
  increments,
  JobBuilder,
  type Mapper,
  ndjsonFiles,
  type SqlValue,
  several,
  sqlTable,
  tableSink,
  tableSource,
} from '../../src/job/index.js';
import {
  type Engine,
  Get,
  Increment,
  Put,
  type Result,
  Scan,
  type Table,
  tableDescriptor,
} from '../../src/table/index.js';
import { countRows } from '../../src/tools/count.js';
import { exportTable } from '../../src/tools/export.js';
import { memoryStore, type TestStore } from '../store/engine/support.js';
import { workerOn } from './support.js';

const ROWS = 240;
const VALUES = ['ash', 'birch', 'cedar', 'elm', 'fir', 'oak', 'pine'];

let store: TestStore;
let engine: Engine;
const naive = new Map<string, number>();
beforeEach(async () => {
  store = await memoryStore();
  engine = store.engine;
  for (const name of ['target', 'other', 'summary']) {
    await engine.admin.createTable(tableDescriptor(name, { cf: {} }));
  }
  await engine.admin.createTable(
    tableDescriptor('source', { cf: { versions: 2 }, more: {} }),
    ['r060', 'r120', 'r180'].map((row) => Buffer.from(row)),
  );
  naive.clear();
  const puts: Put[] = [];
  for (let i = 0; i < ROWS; i++) {
    const value = VALUES[(i * i) % VALUES.length]!;
    naive.set(value, (naive.get(value) ?? 0) + 1);
    const put = new Put(`r${String(i).padStart(3, '0')}`).addColumn('cf', 'attr1', value, 5);
    puts.push(i % 3 === 0 ? put.addColumn('more', 'x', String(i), 5) : put);
  }
  await engine.table('source').putAll(puts);
});
afterEach(() => store.engine.close());

/** `setCaching(500)`, `setCacheBlocks(false)`. */
const scan = () => new Scan().setCaching(500).setCacheBlocks(false);
const source = tableSource('source', scan);
const attr1 = (row: Result): string => Buffer.from(row.getValue('cf', 'attr1')!).toString();
const sum = (values: readonly number[]): number => values.reduce((total, n) => total + n, 0);

/** The mapper of the summaries (55.4): the value, and a one. */
const ones: Mapper<Result, string, number> = (row, emit) => emit(attr1(row), 1);
const combined: Combiner<string, number> = (_, values) => sum(values);
const summary = (name: string) => new JobBuilder(engine, name).from(source).map(ones).combine(combined);

/** The counts that a table has, by row. */
async function counted(table: string): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for await (const row of engine.table(table).scan(new Scan())) {
    const value = Buffer.from(row.getValue('cf', 'count')!);
    found.set(
      Buffer.from(row.row).toString(),
      value.length === 8 ? Number(value.readBigInt64BE()) : value.readInt32BE(),
    );
  }
  return found;
}

function countPut(value: string, count: number): Put {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(count);
  return new Put(value).addColumn('cf', 'count', bytes);
}

async function cellsOf(table: string): Promise<string[]> {
  const cells: string[] = [];
  for await (const { cells: found } of engine.table(table).scan(new Scan().readAllVersions())) {
    for (const { row, family, qualifier, timestamp, value } of found) {
      cells.push([row, family, qualifier, String(timestamp), value].map(String).join(' '));
    }
  }
  return cells;
}

test('49 scan caching: a job reads in batches, whatever the scan says, and gives the same', async () => {
  for (const [caching, batchRows] of [
    [1, 7],
    [500, 1000],
  ] as const) {
    const rows: string[] = [];
    const { rows: read } = await new JobBuilder(engine, `caching-${caching}`)
      .from(tableSource('source', () => new Scan().setCaching(caching)))
      .map<string, string>((row, emit) => emit('', Buffer.from(row.row).toString()))
      .to({ signature: 'rows', open: () => ({ write: (items) => void rows.push(...items) }) })
      .run({ batchRows });
    expect([read, new Set(rows).size]).toEqual([ROWS, ROWS]);
  }
});

test('50, 53 bundled jobs: RowCounter, also of one family, and Export', async () => {
  expect((await countRows(engine, 'source')).counters).toEqual({ rows: ROWS });
  expect((await countRows(engine, 'source', { families: ['more'] })).counters).toEqual({ rows: ROWS / 3 });
  const folder = await mkdtemp(join(tmpdir(), 'rowan-seed-'));
  expect((await exportTable(engine, 'source', folder)).counters).toMatchObject({ rows: ROWS });
  await rm(folder, { recursive: true });
});

test('51, 54.1 source and splits: one split for each region', async () => {
  const regions = await engine.admin.getRegions('source');
  expect((await summary('split').run({ restart: true })).splits).toBe(regions.length);
});

test('54.2 custom splitters: the ranges that are given, cut at regions', async () => {
  const bytes = (text: string) => new Uint8Array(Buffer.from(text));
  const own = tableSource('source', scan, [
    { start: bytes('r010'), stop: bytes('r020') },
    { start: bytes('r050'), stop: bytes('r070') },
  ]);
  const outcome = await new JobBuilder(engine, 'ranges').from(own).map(ones).run();
  expect([outcome.rows, outcome.splits]).toEqual([30, 3]);
});

test('55.1 read: a mapper that emits nothing, and counts', async () => {
  const { counters } = await new JobBuilder(engine, 'read')
    .from(source)
    .map((row, _emit, context) => context.count(attr1(row)))
    .run();
  expect(new Map(Object.entries(counters))).toEqual(naive);
});

test('55.2 read and write: every row put into another table as it is, whoever died on the way', async () => {
  const copying = (on: Engine) =>
    new JobBuilder(on, 'copy')
      .from(source)
      .map<string, Put>((row, emit) => {
        const put = new Put(row.row);
        for (const { family, qualifier, value, timestamp } of row.cells) {
          if (family === 'cf') put.addColumn(family, qualifier, value, timestamp);
        }
        emit('', put);
      })
      .to(tableSink(on, 'target'))
      .run({ batchRows: 10, checkpointRows: 20 });
  await expect(copying(workerOn(engine, { lives: 20 }).engine)).rejects.toThrow();
  expect((await copying(engine)).rows).toBe(ROWS);
  expect(await cellsOf('target')).toEqual((await cellsOf('source')).filter((cell) => cell.includes(' cf ')));
});

test('55.3 multi-table output: each item to the table that it names', async () => {
  await new JobBuilder(engine, 'tables')
    .from(source)
    .map<string, { to: 'oaks' | 'others'; item: Put }>((row, emit) => {
      const put = new Put(row.row).addColumn('cf', 'attr1', attr1(row));
      emit('', { to: attr1(row) === 'oak' ? 'oaks' : 'others', item: put });
    })
    .to(several({ oaks: tableSink(engine, 'target'), others: tableSink(engine, 'other') }))
    .run();
  const size = async (table: string) => (await countRows(engine, table)).rows;
  expect([await size('target'), await size('other')]).toEqual([
    naive.get('oak') ?? 0,
    ROWS - (naive.get('oak') ?? 0),
  ]);
});

test('55.4 summary to HBase: the instances of each value, by a reducer', async () => {
  await summary('summary')
    .reduce((value, counts) => countPut(value as string, sum(counts)))
    .to(tableSink(engine, 'summary'))
    .run();
  expect(await counted('summary')).toEqual(naive);
});

test('55.5 summary to a file', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'rowan-seed-'));
  await summary('file')
    .reduce((value, counts) => [[value, sum(counts)]])
    .to(ndjsonFiles(folder))
    .run();
  const lines: [string, number][] = [];
  for (const file of await readdir(folder)) {
    const text = (await readFile(join(folder, file), 'utf8')).trim();
    if (text !== '') lines.push(...text.split('\n').map((line) => JSON.parse(line) as [string, number]));
  }
  expect(new Map(lines)).toEqual(naive);
  await rm(folder, { recursive: true });
});

test('55.6 summary without a reducer: the table adds up', async () => {
  const counters = increments<{ value: string }, { count: number }>({
    entityName: 'summary',
    increment: ({ value }, { count }) =>
      engine.table('summary').increment(new Increment(value).addColumn('cf', 'count', BigInt(count))),
  });
  await new JobBuilder(engine, 'increments')
    .from(source)
    .map<string, Increments<{ value: string }, { count: number }>>((row, emit) =>
      emit('', { key: { value: attr1(row) }, by: { count: 1 } }),
    )
    .to(counters)
    .run();
  expect(await counted('summary')).toEqual(naive);
});

test('55.7 summary to a relational database', async () => {
  const rows = new Map<SqlValue, SqlValue>();
  let open = 0;
  await summary('sql')
    .reduce((value, counts) => ({ value: value as string, count: sum(counts) }))
    .to(
      sqlTable<{ value: string; count: number }>({
        dialect: 'sqlite',
        table: 'summary',
        columns: ['value', 'count'],
        key: ['value'],
        connect: async () => {
          open++;
          return {
            execute: async (_sql, values) => {
              for (let at = 0; at < values.length; at += 2) rows.set(values[at]!, values[at + 1]!);
            },
            close: async () => void open--,
          };
        },
      }),
    )
    .run();
  expect(new Map([...rows].map(([value, count]) => [value, Number(count)]))).toEqual(naive);
  expect(open).toBe(0);
});

test('56 other tables in a mapper: each row looks its value up', async () => {
  await engine
    .table('other')
    .putAll(VALUES.map((value) => new Put(value).addColumn('cf', 'size', String(value.length))));
  const lookups: Table = engine.table('other');
  const { counters } = await new JobBuilder(engine, 'lookups')
    .from(source)
    .map(async (row, _emit, context) => {
      const found = await lookups.get(new Get(attr1(row)));
      context.count('letters', Number(Buffer.from(found.getValue('cf', 'size')!).toString()));
    })
    .run();
  expect(counters['letters']).toBe(sum([...naive].map(([value, count]) => value.length * count)));
});

test('57 speculative execution: no split is worked by two at once, however many workers there are', async () => {
  const rows: string[] = [];
  const working = (on: Engine) =>
    new JobBuilder(on, 'twice')
      .from(source)
      .to({
        signature: 'rows',
        open: () => ({
          write: (items) => void rows.push(...items.map(({ row }) => Buffer.from(row).toString())),
        }),
      })
      .run({ parallel: 1 });
  const cluster = () => working(workerOn(engine, { cluster: true }).engine);
  const outcomes = await Promise.all([cluster(), cluster(), cluster()]);
  expect(outcomes.map((outcome) => outcome.rows)).toEqual([ROWS, ROWS, ROWS]);
  expect([rows.length, new Set(rows).size]).toEqual([ROWS, ROWS]);
});

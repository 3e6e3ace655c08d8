/** The short way to the first row of a prefix that has a column, against a scan of both. */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { prefixEnd } from '../../../src/bytes/index.js';
import { type EmbeddedEngine, openEmbedded } from '../../../src/store/engine.js';
import {
  Delete,
  Put,
  RawRow,
  type Result,
  Scan,
  type SyncTable,
  tableDescriptor,
} from '../../../src/table/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { scaled } from '../../proof/scale.js';

const NOW = 1_000_000;
const rows = ['a', 'aa', 'ab', 'abc', 'abd', 'ac', 'b', 'ba'];
const Q = Buffer.from('q');
const prefixes = ['a', 'ab', 'abc', 'abcd', 'b', 'c'];
const COLUMNS = ['', 'p', 'q'];
const families = {
  plain: { blockSize: 1024 },
  coded: { dataBlockEncoding: 'ROW_INDEX_V1', blockSize: 1024 },
  ending: { ttl: 500, blockSize: 1024 },
  versions: { versions: 3 },
  newer: { newVersionBehavior: true },
} as const;
/** What the short way reads whenever there are no markers of single versions. */
const SHORT: readonly string[] = ['plain', 'coded', 'ending', 'versions'];

type Step =
  | readonly ['put' | 'row' | 'column' | 'version', row: number, qualifier: number, time: number]
  | 'flush'
  | 'compact'
  | 'split';

const write = fc.tuple(
  fc.constantFrom('put', 'put', 'put', 'row', 'column', 'version'),
  fc.nat({ max: rows.length - 1 }),
  fc.nat({ max: COLUMNS.length - 1 }),
  fc.integer({ min: 1, max: 4 }),
) as fc.Arbitrary<Step>;
const steps = fc.array(
  fc.oneof(
    { weight: 20, arbitrary: write },
    { weight: 2, arbitrary: fc.constant('flush' as const) },
    { weight: 1, arbitrary: fc.constant('compact' as const) },
    { weight: 1, arbitrary: fc.constant('split' as const) },
  ),
  { maxLength: 40, size: 'max' },
);

async function run(engine: EmbeddedEngine, name: string, step: Step): Promise<void> {
  if (step === 'flush') return engine.admin.flush(name);
  if (step === 'compact') return engine.admin.compact(name);
  if (step === 'split') return engine.admin.split(name, Buffer.from('abd')).catch(() => undefined);
  const [kind, r, q, t] = step;
  const row = rows[r]!;
  const qualifier = COLUMNS[q]!;
  const time = 499_400 + t * 200;
  const table = engine.table(name);
  if (kind === 'put') return table.put(new Put(row).addColumn(name, qualifier, `${t}`, time));
  const del = new Delete(row, time);
  if (kind === 'column') del.addColumns(name, qualifier, time);
  if (kind === 'version') del.addColumn(name, qualifier, time);
  await table.delete(del);
}

const told = (result: Result): unknown =>
  result.cells.map(({ row, qualifier, timestamp, value }) =>
    [row, qualifier, value].map((bytes) => Buffer.from(bytes).toString('latin1')).concat(`${timestamp}`),
  );

/** The prefixes that the short way has told of. */
function compare(table: SyncTable): number {
  const raw = new RawRow();
  let short = 0;
  for (const [prefix, column] of prefixes.flatMap((one) => COLUMNS.map((each) => [one, each] as const))) {
    const bytes = Buffer.from(prefix);
    const qualifier = Buffer.from(column);
    const [first] = table
      .scanSync(
        new Scan().withStartRow(bytes).withStopRow(prefixEnd(bytes)!).addColumn(table.name, qualifier),
      )
      .nextBatch(1);
    const found = table.firstRaw!(bytes, qualifier, raw);
    if (found === undefined) continue;
    short++;
    expect(found, prefix).toBe(first !== undefined);
    if (found) expect(told(raw.toResult()), prefix).toEqual(told(first!));
  }
  return short;
}

test('the first row of a prefix is what a scan gives first, whatever is where', async () => {
  for (const [name, options] of Object.entries(families)) {
    let short = 0;
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const engine = await openEmbedded('/store', {
          fileSystem: new MemoryFileSystem(),
          clock: () => NOW,
          background: 'inline',
          durability: 'SKIP_WAL',
          automatic: false,
        });
        try {
          await engine.admin.createTable(tableDescriptor(name, { [name]: options }));
          for (const step of all) await run(engine, name, step);
          short += compare(engine.table(name));
        } finally {
          await engine.close();
        }
      }),
      { numRuns: scaled(3, 60, 2000) },
    );
    expect(short > 0, name).toBe(SHORT.includes(name));
  }
});

test('of several families, and where a prefix goes on in the next region, a scan is to tell', async () => {
  await using engine = await openEmbedded('/store', {
    fileSystem: new MemoryFileSystem(),
    background: 'inline',
    automatic: false,
  });
  await engine.admin.createTable(tableDescriptor('two', { a: {}, b: {} }));
  await engine.admin.createTable(tableDescriptor('split', { a: {} }), [Buffer.from('mm')]);
  const raw = new RawRow();
  expect(engine.table('two').firstRaw!(Buffer.from('m'), Q, raw)).toBeUndefined();
  await engine.table('split').put(new Put('mmm').addColumn('a', 'q', 'v'));
  expect(engine.table('split').firstRaw!(Buffer.from('m'), Q, raw)).toBeUndefined();
  expect(engine.table('split').firstRaw!(Buffer.from('mm'), Q, raw)).toBe(true);
  expect(engine.table('split').firstRaw!(Buffer.from('l'), Q, raw)).toBe(false);
});

test('rows of which nothing is left or to be seen are passed over, and many of them left to a scan', async () => {
  await using engine = await openEmbedded('/store', {
    fileSystem: new MemoryFileSystem(),
    background: 'inline',
    automatic: false,
  });
  await engine.admin.createTable(tableDescriptor('t', { a: {} }));
  const table = engine.table('t');
  const raw = new RawRow();
  for (let i = 0; i < 40; i++) {
    const row = `r${String(i).padStart(2, '0')}`;
    await table.put(new Put(row).addColumn('a', 'q', 'v'));
    if (i === 20) await engine.admin.flush('t');
  }
  for (let i = 0; i < 10; i++) await table.delete(new Delete(`r0${i}`));
  expect(table.firstRaw!(Buffer.from('r'), Q, raw)).toBe(true);
  expect(Buffer.from(raw.row).toString()).toBe('r10');
  for (let i = 10; i < 40; i++) await table.delete(new Delete(`r${i}`));
  expect(table.firstRaw!(Buffer.from('r'), Q, raw)).toBeUndefined();
  expect(table.firstRaw!(Buffer.from('r3'), Q, raw)).toBe(false);
  // What is not acknowledged yet is seen by nobody, alone in its prefix or before what is there.
  await table.put(new Put('s1').addColumn('a', 'q', 'v'));
  const waiting = [
    table.put(new Put('s0').addColumn('a', 'q', 'v')),
    table.put(new Put('t').addColumn('a', 'q', 'v')),
  ];
  expect(table.firstRaw!(Buffer.from('s'), Q, raw)).toBe(true);
  expect(Buffer.from(raw.row).toString()).toBe('s1');
  expect(table.firstRaw!(Buffer.from('t'), Q, raw)).toBe(false);
  await Promise.all(waiting);
  expect(table.firstRaw!(Buffer.from('t'), Q, raw)).toBe(true);
});

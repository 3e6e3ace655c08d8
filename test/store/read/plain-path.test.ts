/**
 * The short ways of reads (plain gets, plain scans) against the scanner for every case, which a time range of single
 * families asks for without changing any answer.
 */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type EmbeddedEngine, openEmbedded } from '../../../src/store/engine.js';
import {
  ALL_VERSIONS,
  CellType,
  CellWithTtl,
  Delete,
  Get,
  LATEST_TIMESTAMP,
  Put,
  type Query,
  RawRow,
  type Result,
  Scan,
  type SyncTable,
  tableDescriptor,
} from '../../../src/table/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { scaled } from '../../proof/scale.js';

const NOW = 1_000_000;
/** Rows that begin alike, and rows of many cells over several small blocks. */
const rows = ['a', 'aa', 'ab', 'b', 'row-000000001', 'row-000000002', 'row-000000002x', 'z'];
const qualifiers = ['', 'a', 'ab', 'b', 'q'];
const families = {
  one: { blockSize: 1024 },
  three: { versions: 3, dataBlockEncoding: 'ROW_INDEX_V1', blockSize: 1024 },
  kept: { versions: 2, keepDeletedCells: 'TRUE', dataBlockEncoding: 'FAST_DIFF' },
  ttl: { ttl: 500, bloomFilter: 'ROWCOL', blockSize: 1024 },
  least: { ttl: 500, minVersions: 1, versions: 3, bloomFilter: 'NONE' },
  newer: { newVersionBehavior: true, versions: 2 },
} as const;
const names = Object.keys(families);

type Write = readonly [
  kind: 'put' | 'often' | 'column' | 'version' | 'family' | 'familyVersion' | 'row',
  row: number,
  family: number,
  qualifier: number,
  time: number,
  cellTtl: boolean,
];
type Step = Write | 'flush' | 'compact' | 'read';

const write = (cellTtls: boolean): fc.Arbitrary<Step> =>
  fc.tuple(
    fc.constantFrom(
      'put',
      'put',
      'put',
      'put',
      'often',
      'column',
      'version',
      'family',
      'familyVersion',
      'row',
    ),
    fc.nat({ max: rows.length - 1 }),
    fc.nat({ max: names.length - 1 }),
    fc.nat({ max: qualifiers.length - 1 }),
    fc.integer({ min: 3, max: 7 }),
    cellTtls ? fc.boolean() : fc.constant(false),
  ) as fc.Arbitrary<Step>;

const steps = fc.oneof(
  // Without versions, markers of versions and times of single cells, the short ways are never left.
  ...[write(false), write(true)].map((arbitrary) =>
    fc.array(
      fc.oneof(
        { weight: 20, arbitrary },
        { weight: 3, arbitrary: fc.constant('flush' as const) },
        { weight: 1, arbitrary: fc.constant('compact' as const) },
        { weight: 1, arbitrary: fc.constant('read' as const) },
      ),
      { maxLength: 60, size: 'max' },
    ),
  ),
);

function told(result: Result | undefined): unknown {
  return result?.cells.map((cell) => [
    Buffer.from(cell.row).toString(),
    cell.family,
    Buffer.from(cell.qualifier).toString(),
    cell.timestamp,
    Buffer.from(cell.value).toString(),
    ...(cell.type === CellType.Put ? [] : [cell.type]),
    ...(cell instanceof CellWithTtl ? [`lives ${cell.ttl}`] : []),
  ]);
}

/** The same query, by the scanner for every case. */
function general<Asked extends Query>(query: Asked): Asked {
  for (const name of names) query.setColumnFamilyTimeRange(name, 0, LATEST_TIMESTAMP);
  return query;
}

async function apply(table: SyncTable, [kind, r, f, q, t, cellTtl]: Write): Promise<void> {
  const row = rows[r]!;
  const family = names[f]!;
  const qualifier = qualifiers[q]!;
  // Around the time at which `ttl` and cells with a time to live of their own have expired.
  const time = 499_000 + t * 200;
  if (kind === 'put') {
    const put = new Put(row).addColumn(family, qualifier, String(t).padEnd(t * 60), time);
    await table.put(cellTtl ? put.setTtl(500_000) : put);
  } else if (kind === 'often') {
    // More versions than are walked over.
    const puts = Array.from({ length: 12 }, (_, i) =>
      new Put(row).addColumn(family, qualifier, `${i}`, time - i),
    );
    await table.putAll(puts);
  } else {
    const del = kind === 'row' ? new Delete(row, time) : new Delete(row);
    if (kind === 'column') del.addColumns(family, qualifier, time);
    else if (kind === 'version') del.addColumn(family, qualifier, time);
    else if (kind === 'family') del.addFamily(family, time);
    else if (kind === 'familyVersion') del.addFamilyVersion(family, time);
    await table.delete(del);
  }
}

const gets: readonly ((row: string) => Get)[] = [
  (row) => new Get(row),
  (row) => new Get(row).addFamily('one').addFamily('three'),
  (row) => new Get(row).addFamily('ttl'),
  (row) => new Get(row).readVersions(ALL_VERSIONS),
  (row) => new Get(row).addColumn('one', 'b').addColumn('one', '').addColumn('one', 'none'),
  (row) =>
    new Get(row).addColumn('one', 'q').addColumn('one', 'a').addFamily('three').addColumn('kept', 'ab'),
  ...names.flatMap((name) =>
    qualifiers.map((qualifier) => (row: string) => new Get(row).addColumn(name, qualifier)),
  ),
];

const scans: readonly (() => Scan)[] = [
  () => new Scan(),
  () => new Scan().addFamily('one'),
  () => new Scan().addFamily('three').addFamily('kept').addFamily('ttl'),
  () => new Scan().addFamily('one').readVersions(ALL_VERSIONS),
  () =>
    new Scan().addFamily('one').addFamily('ttl').withStartRow('aa', false).withStopRow('row-000000002', true),
  () => new Scan().addColumn('one', 'q').addColumn('one', 'a'),
  () => new Scan().addColumn('one', 'ab').addFamily('three').addColumn('ttl', ''),
  () => new Scan().addFamily('kept').withStartRow('ab').setLimit(3),
  () => new Scan().setRaw(true).readAllVersions(),
  () => new Scan().setRaw(true).readAllVersions().addFamily('one').addFamily('ttl'),
  () => new Scan().setRaw(true).readAllVersions().addFamily('newer').withStartRow('aa', false).setLimit(4),
  () => new Scan().setRaw(true).readVersions(2),
];

function compareGets(table: SyncTable): void {
  const raw = new RawRow();
  for (const row of [...rows, 'none', 'row-00000000']) {
    for (const get of gets) {
      const expected = told(table.getSync(general(get(row))));
      expect(told(table.getSync(get(row)))).toEqual(expected);
      expect(table.getRaw!(get(row), raw) ? told(raw.toResult()) : []).toEqual(expected);
    }
  }
}

function compareScans(table: SyncTable): void {
  const raw = new RawRow();
  for (const scan of scans) {
    const expected = [...table.scanSync(general(scan()))].map(told);
    expect([...table.scanSync(scan())].map(told)).toEqual(expected);
    const inRaw = (asked: Scan): unknown[] => {
      const scanner = table.scanSync(asked);
      const raws: unknown[] = [];
      while (scanner.nextRaw!(raw)) raws.push(told(raw.toResult()));
      return raws;
    };
    // Rows that hold no objects do not say what is a marker.
    expect(inRaw(scan())).toEqual(scan().raw ? inRaw(general(scan())) : expected);
  }
}

async function withTable(
  action: (engine: EmbeddedEngine, name: string, table: SyncTable) => Promise<void>,
): Promise<void> {
  const engine = await openEmbedded('/store', {
    fileSystem: new MemoryFileSystem(),
    clock: () => NOW,
    background: 'inline',
    durability: 'SKIP_WAL',
    automatic: false,
  });
  try {
    await engine.admin.createTable(tableDescriptor('t', families));
    await action(engine, 't', engine.table('t'));
  } finally {
    await engine.close();
  }
}

async function run(engine: EmbeddedEngine, name: string, table: SyncTable, step: Step): Promise<void> {
  if (step === 'flush') await engine.admin.flush(name);
  else if (step === 'compact') await engine.admin.compact(name);
  // Blocks are searched in another way once they were looked into before.
  else if (step === 'read') compareGets(table);
  else await apply(table, step);
}

describe('the short ways of reads', () => {
  test('give what the scanner for every case gives, whatever is where', async () => {
    await fc.assert(
      fc.asyncProperty(steps, (all) =>
        withTable(async (engine, name, table) => {
          for (const step of all) await run(engine, name, table, step);
          compareGets(table);
          compareGets(table);
          compareScans(table);
        }),
      ),
      { numRuns: scaled(2, 60, 3000) },
    );
  });

  test('see a marker of the family behind many versions of the empty qualifier, and the column behind many of another', () =>
    withTable(async (engine, name, table) => {
      for (const family of ['one', 'three']) {
        await table.put(new Put('a').addColumn(family, 'b', 'hidden', 1000));
        await table.delete(new Delete('a').addFamily(family, 2000));
        for (let i = 0; i < 20; i++) {
          await table.put(new Put('a').addColumn(family, '', `${i}`, 3000 + i));
          await table.put(new Put('a').addColumn(family, 'a', `${i}`, 3000 + i));
          if (i === 9) await table.put(new Put('a').addColumn(family, 'q', 'seen', 3000));
        }
      }
      for (const flushed of [false, true]) {
        if (flushed) await engine.admin.flush(name);
        compareGets(table);
        compareScans(table);
        expect(told(table.getSync(new Get('a').addFamily('one')))).toMatchObject([
          ['a', 'one', '', 3019, '19'],
          ['a', 'one', 'a', 3019, '19'],
          ['a', 'one', 'q', 3000, 'seen'],
        ]);
      }
    }));

  test('see nothing of what is written, flushed and compacted while a scan is open', async () => {
    await fc.assert(
      fc.asyncProperty(steps, steps, fc.nat({ max: 4 }), (before, after, read) =>
        withTable(async (engine, name, table) => {
          for (const step of before) await run(engine, name, table, step);
          const expected = scans.map((scan) => [...table.scanSync(general(scan()))].map(told));
          const open = scans.map((scan) => table.scanSync(scan()));
          const found = open.map((scanner) => scanner.nextBatch(read).map(told));
          for (const step of after) await run(engine, name, table, step);
          for (const [i, scanner] of open.entries()) found[i]!.push(...[...scanner].map(told));
          expect(found).toEqual(expected);
        }),
      ),
      { numRuns: scaled(1, 30, 1500) },
    );
  });
});

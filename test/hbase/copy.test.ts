import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openEmbedded } from '../../src/store/engine.js';
import {
  type Cell,
  CellType,
  Delete,
  type Engine,
  Increment,
  Put,
  type RowMutation,
  Scan,
  tableDescriptor,
} from '../../src/table/index.js';
import { copyTable } from '../../src/tools/copy.js';
import { connectShared } from './connect.js';
import { dropTable, uniqueTable } from './tables.js';

let folder: string;
let embedded: Engine;
let hbase: Engine;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowan-copy-'));
  embedded = await openEmbedded(folder, { durability: 'ASYNC_WAL', background: 'inline' });
  hbase = await connectShared();
});
afterAll(async () => {
  await hbase?.close();
  await embedded?.close();
  await rm(folder, { recursive: true, force: true });
});

/** The mutation that writes one cell as it is. */
function writing(cell: Cell): RowMutation {
  const { row, family, qualifier, timestamp, value } = cell;
  switch (cell.type) {
    case CellType.Put:
      return new Put(row).addColumn(family, qualifier, value, timestamp);
    case CellType.Delete:
      return new Delete(row).addColumn(family, qualifier, timestamp);
    case CellType.DeleteColumn:
      return new Delete(row).addColumns(family, qualifier, timestamp);
    case CellType.DeleteFamily:
      return new Delete(row).addFamily(family, timestamp);
    case CellType.DeleteFamilyVersion:
      return new Delete(row).addFamilyVersion(family, timestamp);
  }
}

async function read(engine: Engine, name: string, scan: Scan): Promise<string[]> {
  const lines: string[] = [];
  for await (const result of engine.table(name).scan(scan)) {
    for (const { row, family, qualifier, timestamp, type, value } of result.cells) {
      const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
      lines.push(`${hex(row)} ${family}:${hex(qualifier)} @${timestamp} ${type} ${hex(value)}`);
    }
  }
  return lines;
}

describe.each([
  ['from HBase to the embedded engine', () => [hbase, embedded] as const],
  ['from the embedded engine to HBase', () => [embedded, hbase] as const],
])('a table copied cell by cell %s', (_direction, engines) => {
  it('is read the same: values, versions, timestamps, counters and markers', async () => {
    const [from, to] = engines();
    const name = uniqueTable('copy');
    const descriptor = tableDescriptor(name, { a: { versions: 3 }, ü: { keepDeletedCells: 'TRUE' } });
    for (const engine of [from, to]) await engine.admin.createTable(descriptor);
    const table = from.table(name);
    const everyByte = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
    for (let i = 0; i < 60; i++) {
      const row = Buffer.concat([Buffer.from([i * 4]), everyByte.subarray(i, i + 3)]);
      await table.put(new Put(row).addColumn('a', everyByte, everyByte).addColumn('ü', '', ''));
      for (const ts of [3, 1, 2]) await table.put(new Put(row).addColumn('a', 'v', `${ts}`, ts));
      await table.increment(new Increment(row).addColumn('a', 'n', 2n ** 62n));
      if (i % 3 === 0) await table.delete(new Delete(row).addColumn('a', 'v', 2).addColumns('ü', ''));
      if (i % 5 === 0) await table.delete(new Delete(row).addFamilyVersion('a', 1));
      if (i % 7 === 0) await table.delete(new Delete(row));
    }
    await from.admin.flush(name);
    for await (const result of table.scan(new Scan().setRaw(true).readAllVersions())) {
      const outcomes = await to.table(name).batch(result.cells.map(writing));
      expect(outcomes.every((outcome) => outcome.ok)).toBe(true);
    }
    for (const scan of [
      () => new Scan(),
      () => new Scan().readAllVersions(),
      () => new Scan().setReversed(true).readVersions(2),
      () => new Scan().setRaw(true).readAllVersions(),
      () => new Scan().setTimeRange(0, 3).readAllVersions(),
    ]) {
      const expected = await read(from, name, scan());
      expect(expected.length).toBeGreaterThan(50);
      expect(await read(to, name, scan())).toEqual(expected);
    }
    for (const engine of [from, to]) await dropTable(engine, name);
  });
});

/** More columns than one answer of a scan has. */
const COLUMNS = 4000;

/** Rows of many columns, with versions, each kind of marker among them; the largest keys; cells that are large, empty, from 1970 and of the future. */
async function fillWide(engine: Engine, name: string): Promise<void> {
  const table = engine.table(name);
  for (const row of ['wide', 'zwide']) {
    for (let from = 0; from < COLUMNS; from += 1000) {
      const put = new Put(row);
      for (let i = from; i < from + 1000; i++) {
        for (const time of [1, 2, 3])
          put.addColumn(i % 2 === 0 ? 'a' : 'ü', `c${i}`, Buffer.alloc((i * time) % 300, i), time);
      }
      await table.put(put);
    }
    const marks = new Delete(row).addFamilyVersion('ü', 1);
    for (let i = 0; i < COLUMNS; i += 7) marks.addColumn('a', `c${i}`, 2);
    for (let i = 0; i < COLUMNS; i += 11) marks.addColumns('ü', `c${i}`, 3);
    await table.delete(marks);
  }
  await table.delete(new Delete('zwide').addFamily('a', 1));
  await table.delete(new Delete('marks alone').addFamily('a', 5).addColumn('ü', 'none', 7));
  await table.put(new Put(Buffer.alloc(32_767, 255)).addColumn('a', Buffer.alloc(20_000, 1), 'largest keys'));
  await table.put(new Put(Buffer.from([0])).addColumn('ü', '', '').addColumn('a', '', ''));
  await table.put(new Put('large').addColumn('a', 'v', Buffer.alloc(5_000_000, 7)));
  await table.put(new Put('times').addColumn('a', 'v', 'first', 0).addColumn('a', 'v', 'last', 2 ** 52));
  await table.put(new Put('lives').addColumn('a', 'v', 'x', Date.now()).setTtl(2 ** 40));
}

it.each([
  ['all that was written', { versions: 1000, keepDeletedCells: 'TRUE' as const }],
  ['two versions', { versions: 2 }],
])('a store whose tables keep %s is the same after a copy to HBase and back', async (_what, family) => {
  const name = uniqueTable('there');
  const back = uniqueTable('back');
  await embedded.admin.createTable(tableDescriptor(name, { a: family, ü: family }), [Buffer.from('m')]);
  await fillWide(embedded, name);
  const first = { engine: embedded, table: name };
  const second = { engine: hbase, table: name };
  const third = { engine: embedded, table: back };
  await copyTable(first, second, { create: true });
  await copyTable(second, third, { create: true });
  const { name: _, ...described } = await embedded.admin.getDescriptor(back);
  expect({ name, ...described }).toEqual(await embedded.admin.getDescriptor(name));
  const scans = [
    () => new Scan().setRaw(true).readAllVersions(),
    () => new Scan().readAllVersions(),
    () => new Scan().setReversed(true),
  ];
  const expectEqual = async (): Promise<void> => {
    for (const scan of scans) {
      const expected = await read(embedded, name, scan());
      expect(expected.length).toBeGreaterThan(COLUMNS);
      expect((await read(hbase, name, scan())).join('\n') === expected.join('\n')).toBe(true);
      expect((await read(embedded, back, scan())).join('\n') === expected.join('\n')).toBe(true);
    }
  };
  await expectEqual();
  for (const [engine, table] of [
    [embedded, name],
    [hbase, name],
    [embedded, back],
  ] as const) {
    await engine.admin.flush(table);
    await engine.admin.majorCompact(table);
  }
  // Raw scans show markers that one engine has dropped and the other has not yet.
  scans.shift();
  await expectEqual();
  await dropTable(hbase, name);
  for (const table of [name, back]) await dropTable(embedded, table);
});

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

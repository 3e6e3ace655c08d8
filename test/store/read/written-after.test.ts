import { expect, test } from 'vitest';
import { Delete, Put, type Result, Scan } from '../../../src/table/index.js';
import { createTable, memoryStore } from '../engine/support.js';

test('a raw scan reads what later commits wrote, of any timestamp, from memory and files', async () => {
  const { engine } = await memoryStore();
  const table = await createTable(engine, { f: { versions: 5 } });
  const read = async (scan: Scan): Promise<string[]> => {
    const rows: Result[] = [];
    for await (const row of table.scan(scan.setRaw(true).readAllVersions())) rows.push(row);
    return rows.flatMap(({ cells }) =>
      cells.map(({ row, timestamp, type }) => `${Buffer.from(row)} ${timestamp} ${type}`),
    );
  };
  for (const timestamp of [30, 20, 10]) await table.put(new Put('a').addColumn('f', 'q', 'x', timestamp));
  await engine.admin.flush('t');
  const { last } = engine.commits;
  await table.put(new Put('a').addColumn('f', 'q', 'x', 15));
  await table.delete(new Delete('b').addColumns('f', 'q', 5));
  const later = ['a 15 4', 'b 5 12'];
  expect(await read(new Scan().setTimeRange(0, 0).setWrittenAfter(last))).toEqual(later);
  await engine.admin.flush('t');
  expect(await read(new Scan().setTimeRange(0, 0).setWrittenAfter(last))).toEqual(later);
  await engine.admin.compact('t');
  expect(await read(new Scan().setTimeRange(0, 0).setWrittenAfter(last))).toEqual(later);
  expect(await read(new Scan().setTimeRange(20, 30).setWrittenAfter(last))).toEqual(['a 20 4', ...later]);
  await expect(table.scan(new Scan().setWrittenAfter(last)).next()).rejects.toThrow('Only a raw scan');
  expect(() => new Scan().setWrittenAfter(-1)).toThrow('an integer from 0 on, not -1');
  await engine.close();
});

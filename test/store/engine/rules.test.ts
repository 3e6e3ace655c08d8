/** Rules of cells that need the engine's own clock, options or moments: R62, R63, R66, R78. */

import { describe, expect, test } from 'vitest';
import { Cell, CellType, Delete, Get, Put, Scan } from '../../../src/table/index.js';
import { contents, createTable, memoryStore, put, readValue } from './support.js';

describe('rules of cells that only this engine can show', () => {
  test('R61, R62: markers outlive their timestamp for the time to purge, unless they have expired', async () => {
    const store = await memoryStore({ timeToPurgeDeletes: 10_000 });
    const table = await createTable(store.engine, { f: { ttl: 60 }, g: {} });
    for (const family of ['f', 'g']) {
      await table.delete(new Delete('r').addColumns(family, 'q', store.now));
    }
    const markers = async (): Promise<string[]> => {
      await store.engine.admin.majorCompact('t');
      const families: string[] = [];
      for await (const result of table.scan(new Scan().setRaw(true).readAllVersions())) {
        families.push(...result.cells.map((cell) => cell.family));
      }
      return families;
    };
    expect(await markers()).toEqual(['f', 'g']);
    store.now += 10_000;
    expect(await markers()).toEqual(['f', 'g']);
    store.now += 1;
    expect(await markers()).toEqual([]);
    await table.delete(new Delete('r').addColumns('f', 'q', store.now - 61_000));
    expect(await markers()).toEqual([]);
    await store.engine.close();
  });

  test('R63: a put in memory comes back when the marker that hid it is compacted away', async () => {
    const store = await memoryStore();
    const table = await createTable(store.engine);
    await table.put(put('other', 'x'));
    await table.delete(new Delete('r').addColumns('f', 'q', 10));
    await store.engine.admin.flush('t');
    await table.put(put('r', 'hidden', 'f', 'q', 5));
    expect(await readValue(table, 'r')).toBeUndefined();
    const file = store.engine.stats().tables[0]!.regions[0]!.families[0]!;
    expect(file.deletes).toBe(1);
    // A major compaction flushes first, and then sees both: the put stays hidden, and goes.
    await store.engine.admin.majorCompact('t');
    expect(await readValue(table, 'r')).toBeUndefined();
    await table.put(put('r', 'written after', 'f', 'q', 5));
    expect(await readValue(table, 'r')).toBe('written after');
    await store.engine.close();
  });

  test('R66: a major compaction takes bulk-loaded files with it', async () => {
    const store = await memoryStore();
    const table = await createTable(store.engine);
    await table.put(put('a', 'old', 'f', 'q', 1));
    await store.engine.bulkLoad('t', [
      new Cell(Buffer.from('a'), 'f', Buffer.from('q'), 2, CellType.Put, Buffer.from('loaded')),
    ]);
    await store.engine.admin.majorCompact('t');
    expect(store.engine.stats().tables[0]!.regions[0]!.families[0]).toMatchObject({ files: 1, cells: 1 });
    expect(await contents(table)).toEqual(['a f:q=loaded']);
    await store.engine.close();
  });

  test('R78: a write is seen only when it is acknowledged, and writes are seen in their order', async () => {
    const store = await memoryStore();
    const table = await createTable(store.engine);
    const first = table.put(put('r', '1'));
    const second = table.put(put('r', '2').setDurability('ASYNC_WAL'));
    // Both are in the memstore, neither is durable.
    expect(store.engine.table('t').getSync(new Get('r')).isEmpty).toBe(true);
    await second;
    await first;
    expect(await readValue(table, 'r')).toBe('2');
    await table.put(new Put('r').addColumn('f', 'q', '3'));
    expect(await readValue(table, 'r')).toBe('3');
    await store.engine.close();
  });
});

import { describe, expect, test } from 'vitest';
import type { RowanError } from '../../../src/errors.js';
import { openEmbedded } from '../../../src/store/engine.js';
import { Delete, Get, Increment, Put, Scan, tableDescriptor } from '../../../src/table/index.js';
import { scaled } from '../../proof/scale.js';
import { contents, createTable, memoryStore, put, readValue, withFolder } from './support.js';

describe('an embedded store', () => {
  test('gives back what was put, after a flush, and after it was closed and opened again', async () => {
    const store = await memoryStore();
    let table = await createTable(store.engine);
    await table.put(put('a', '1'));
    await table.putAll([put('b', '2'), put('c', '3')]);
    const expected = ['a f:q=1', 'b f:q=2', 'c f:q=3'];
    expect(await contents(table)).toEqual(expected);
    await store.engine.admin.flush('t');
    await table.put(put('b', '4'));
    await store.reopen();
    table = store.engine.table('t');
    expect(await contents(table)).toEqual(['a f:q=1', 'b f:q=4', 'c f:q=3']);
    expect(await readValue(table, 'b')).toBe('4');
    expect(await readValue(table, 'nobody')).toBeUndefined();
    await store.engine.close();
  });

  test('every durability keeps its write when the process closes the store', async () => {
    const store = await memoryStore();
    const table = await createTable(store.engine);
    for (const durability of ['ASYNC_WAL', 'SYNC_WAL', 'FSYNC_WAL'] as const) {
      await table.put(put(durability, 'x').setDurability(durability));
    }
    await table.put(put('SKIP_WAL', 'x').setDurability('SKIP_WAL'));
    expect(await readValue(table, 'SKIP_WAL')).toBe('x');
    await store.reopen();
    expect(await contents(store.engine.table('t'))).toEqual([
      'ASYNC_WAL f:q=x',
      'FSYNC_WAL f:q=x',
      'SYNC_WAL f:q=x',
    ]);
    await store.engine.close();
  });

  test('a family is flushed and compacted by itself: the quiet one is never rewritten', async () => {
    const store = await memoryStore();
    const table = await createTable(store.engine, { busy: {}, quiet: {} });
    await table.put(put('r', 'once', 'quiet'));
    await store.engine.admin.flush('t', 'quiet');
    const written = (): Record<string, number> =>
      Object.fromEntries(
        store.engine
          .stats()
          .tables[0]!.regions[0]!.families.map((family) => [
            family.family,
            family.bytesFlushed + family.bytesCompacted,
          ]),
      );
    const quiet = written().quiet!;
    expect(quiet).toBeGreaterThan(0);
    for (let round = 0; round < 5; round++) {
      for (let i = 0; i < 50; i++) await table.put(put(`r${i}`, 'x'.repeat(round), 'busy'));
      await store.engine.admin.flush('t', 'busy');
    }
    await store.engine.admin.compact('t', 'busy');
    expect(written().quiet).toBe(quiet);
    expect(written().busy).toBeGreaterThan(quiet);
    await store.engine.close();
  });

  test('a scan sees the table as it was when it began, whatever happens meanwhile', async () => {
    const store = await memoryStore();
    const table = await createTable(store.engine);
    for (let i = 10; i < 60; i++) await table.put(put(`r${i}`, 'old'));
    const scanner = table.scan(new Scan());
    const seen: string[] = [];
    const take = async (count: number): Promise<void> => {
      for (const result of await scanner.nextBatch(count)) {
        seen.push(`${Buffer.from(result.row)}=${Buffer.from(result.cells[0]!.value)}`);
      }
    };
    await take(5);
    for (let i = 10; i < 80; i++) await table.put(put(`r${i}`, 'new'));
    await table.delete(new Delete('r20'));
    await store.engine.admin.flush('t');
    await take(5);
    await store.engine.admin.majorCompact('t');
    await store.engine.admin.split('t', Buffer.from('r40'));
    await take(5);
    await store.engine.admin.majorCompact('t');
    await take(100);
    expect(seen).toEqual(Array.from({ length: 50 }, (_, i) => `r${i + 10}=old`));
    await scanner.close();
    expect((await contents(table)).length).toBe(69);
    await store.engine.close();
  });

  test('a split leaves every row where reads and writes find it, also after it is opened again', async () => {
    const store = await memoryStore();
    const table = await createTable(store.engine, { f: {}, g: {} });
    for (let i = 100; i < 300; i++) await table.put(put(`r${i}`, `${i}`));
    await store.engine.admin.flush('t');
    for (let i = 300; i < 400; i++) await table.put(put(`r${i}`, `${i}`, 'g'));
    const before = await contents(table);
    await store.engine.admin.split('t', Buffer.from('r250'));
    await store.engine.admin.split('t', Buffer.from('r350'));
    expect(await contents(table)).toEqual(before);
    const regions = await store.engine.admin.getRegions('t');
    expect(regions.map((region) => Buffer.from(region.startKey).toString())).toEqual(['', 'r250', 'r350']);
    await table.put(put('r260', 'changed'));
    await store.reopen();
    const again = store.engine.table('t');
    expect(await readValue(again, 'r260')).toBe('changed');
    expect((await contents(again)).length).toBe(before.length);
    expect(await contents(again, new Scan().setReversed(true).setLimit(1))).toEqual(['r399 g:q=399']);
    await store.engine.admin.majorCompact('t');
    expect((await contents(again)).length).toBe(before.length);
    await store.engine.verify();
    await store.engine.close();
  });

  test('splits by itself at MAX_FILESIZE, and counts the requests of each region', async () => {
    const store = await memoryStore({ automatic: true, memstoreFlushSize: 20_000 });
    const rows = scaled(1500, 3000, 3000);
    const table = await createTable(store.engine, { f: { blockSize: 1024 } }, { maxFileSize: 50_000 });
    for (let i = 0; i < rows; i++) await table.put(put(`r${String(i).padStart(5, '0')}`, 'v'.repeat(40)));
    await store.engine.quiet();
    const regions = await store.engine.admin.getRegions('t');
    expect(regions.length).toBeGreaterThan(1);
    expect((await contents(table)).length).toBe(rows);
    expect(regions.reduce((sum, region) => sum + region.writeRequests, 0)).toBeGreaterThan(0);
    await store.engine.close();
  });

  test('options of a family changed on a live store hold for new files, and wholly after a major compaction', async () => {
    const store = await memoryStore();
    const table = await createTable(store.engine, { f: { compression: 'NONE' } });
    const text = 'the same words over and over again, '.repeat(20);
    for (let i = 0; i < 200; i++) await table.put(put(`r${i}`, text));
    await store.engine.admin.flush('t');
    const bytes = (): number => store.engine.stats().tables[0]!.regions[0]!.families[0]!.fileBytes;
    const plain = bytes();
    for (const compression of ['GZ', 'SNAPPY', 'LZ4', 'ZSTD', 'BROTLI', 'LZO'] as const) {
      await store.engine.admin.modifyTable(
        tableDescriptor('t', {
          f: { compression, dataBlockEncoding: 'FAST_DIFF', bloomFilter: 'ROWCOL', versions: 2 },
        }),
      );
      await store.engine.admin.majorCompact('t');
      expect(bytes()).toBeLessThan(plain / 4);
      expect(await readValue(table, 'r7')).toBe(text);
    }
    await store.reopen();
    expect(await readValue(store.engine.table('t'), 'r7')).toBe(text);
    await store.engine.close();
  });

  test('files whose every cell has expired are dropped unread', async () => {
    const store = await memoryStore();
    const table = await createTable(store.engine, { f: { ttl: 10 } });
    await table.put(put('old', 'x'));
    await store.engine.admin.flush('t');
    store.now += 60_000;
    await table.put(put('new', 'y'));
    await store.engine.admin.flush('t');
    await store.engine.admin.compact('t');
    expect(store.events.some((event) => event.kind === 'filesExpired' && event.files.length === 1)).toBe(
      true,
    );
    expect(await contents(table)).toEqual(['new f:q=y']);
    await store.engine.close();
  });

  test('a family that is dropped is gone, and one of its name made anew is empty', async () => {
    const store = await memoryStore();
    const table = await createTable(store.engine, { f: {}, g: {} });
    await table.put(put('r', 'f'));
    await table.put(put('r', 'g', 'g'));
    await store.engine.admin.modifyTable(tableDescriptor('t', { f: {} }));
    await expect(table.get(new Get('r').addFamily('g'))).rejects.toMatchObject({
      code: 'ERR_NO_SUCH_FAMILY',
    });
    await store.engine.admin.modifyTable(tableDescriptor('t', { f: {}, g: {} }));
    expect(await contents(table)).toEqual(['r f:q=f']);
    await store.reopen();
    expect(await contents(store.engine.table('t'))).toEqual(['r f:q=f']);
    await store.engine.close();
  });

  test('bulk-loaded cells are there at once, win over what was before and lose to what comes after', async () => {
    const store = await memoryStore();
    const table = await createTable(store.engine, { f: {} }, {}, [Buffer.from('m')]);
    await table.put(put('a', 'before', 'f', 'q', 5));
    const cells = (await import('../../../src/table/index.js')).Cell;
    const cell = (row: string, value: string) =>
      new cells(Buffer.from(row), 'f', Buffer.from('q'), 5, 4, Buffer.from(value));
    const loaded = await store.engine.bulkLoad('t', [
      cell('a', 'loaded'),
      cell('b', 'loaded'),
      cell('x', 'loaded'),
    ]);
    expect(loaded).toMatchObject({ cells: 3, files: 2 });
    await table.put(put('b', 'after', 'f', 'q', 5));
    const expected = ['a f:q=loaded', 'b f:q=after', 'x f:q=loaded'];
    expect(await contents(table)).toEqual(expected);
    await store.reopen();
    expect(await contents(store.engine.table('t'))).toEqual(expected);
    await store.engine.admin.majorCompact('t');
    expect(await contents(store.engine.table('t'))).toEqual(expected);
    await expect(store.engine.bulkLoad('t', [cell('b', '1'), cell('a', '2')])).rejects.toMatchObject({
      code: 'ERR_INVALID_ARGUMENT',
    });
    expect(await contents(store.engine.table('t'))).toEqual(expected);
    await store.engine.close();
  });

  test('a checkpoint is a store of its own, as it was, while writes go on', async () => {
    const store = await memoryStore();
    const table = await createTable(store.engine);
    await table.put(put('a', '1'));
    await store.engine.admin.flush('t');
    await table.put(put('b', '2'));
    await store.engine.checkpoint('/copy');
    await table.put(put('c', '3'));
    await store.engine.admin.majorCompact('t');
    await expect(store.engine.checkpoint('/copy')).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
    const copy = await openEmbedded('/copy', { fileSystem: store.fileSystem });
    expect(await contents(copy.table('t'))).toEqual(['a f:q=1', 'b f:q=2']);
    await copy.verify();
    await copy.close();
    expect((await contents(table)).length).toBe(3);
    await store.engine.close();
  });

  test('the log is cut when its writes are in files', async () => {
    const store = await memoryStore({ walSegmentSize: 4096 });
    const table = await createTable(store.engine);
    for (let i = 0; i < 200; i++) await table.put(put(`r${i}`, 'v'.repeat(50)));
    expect(store.engine.stats().walSegments).toBeGreaterThan(3);
    await store.engine.admin.flush('t');
    // The active one, and the next where it is ready.
    expect(store.engine.stats().walSegments).toBeLessThanOrEqual(2);
    await store.reopen();
    expect((await contents(store.engine.table('t'))).length).toBe(200);
    await store.engine.close();
  });

  test('writers wait instead of filling the memory', async () => {
    const store = await memoryStore({ automatic: true, memstoreFlushSize: 8192, memstoreLimit: 16_384 });
    const table = await createTable(store.engine);
    const rows = scaled(800, 2000, 2000);
    const writes: Promise<void>[] = [];
    let peak = 0;
    for (let i = 0; i < rows; i++) {
      writes.push(table.put(put(`r${i}`, 'v'.repeat(100))));
      if (i % 50 === 49) {
        await Promise.all(writes.splice(0));
        peak = Math.max(peak, store.engine.stats().memstoreBytes);
      }
    }
    expect(peak).toBeLessThan(40_000);
    expect(store.events.some((event) => event.kind === 'stall')).toBe(true);
    expect((await contents(table)).length).toBe(rows);
    await store.engine.close();
  });

  test('the same on the real disk, with workers', async () => {
    await withFolder(async (folder) => {
      const path = `${folder}/db`;
      let engine = await openEmbedded(path, { memstoreFlushSize: 100_000 });
      const table = await createTable(engine, { f: { compression: 'LZ4' } });
      for (let i = 0; i < 40; i++) {
        await table.putAll(
          Array.from({ length: 100 }, (_, j) => put(`r${i}-${j}`, `value ${j} `.repeat(10))),
        );
      }
      await engine.quiet();
      expect(engine.stats().tables[0]!.regions[0]!.families[0]!.files).toBeGreaterThan(0);
      await expect(openEmbedded(path)).rejects.toMatchObject({ code: 'ERR_LOCKED' });
      await engine.close();
      engine = await openEmbedded(path);
      expect((await contents(engine.table('t'))).length).toBe(4000);
      await engine.verify();
      await engine.close();
    });
  });

  test('a closed store says so', async () => {
    const store = await memoryStore();
    const table = await createTable(store.engine);
    await table.put(put('a', '1'));
    const scanner = table.scan(new Scan());
    await store.engine.close();
    await store.engine.close();
    await expect(table.get(new Get('a'))).rejects.toMatchObject({ code: 'ERR_CLOSED' });
    await expect(table.put(put('a', '2'))).rejects.toMatchObject({ code: 'ERR_CLOSED' });
    await expect(scanner.next()).rejects.toMatchObject({ code: 'ERR_CLOSED' });
  });

  test('wrong requests fail with their own errors and change nothing', async () => {
    const store = await memoryStore();
    const { admin } = store.engine;
    const table = await createTable(store.engine);
    const codeOf = async (action: Promise<unknown>): Promise<string> =>
      action.then(
        () => 'no error',
        (error: RowanError) => error.code,
      );
    expect(await codeOf(store.engine.table('nope').get(new Get('r')))).toBe('ERR_TABLE_NOT_FOUND');
    expect(await codeOf(table.put(put('r', 'x', 'nope')))).toBe('ERR_NO_SUCH_FAMILY');
    expect(await codeOf(table.put(new Put('r')))).toBe('ERR_INVALID_ARGUMENT');
    expect(await codeOf(table.put(new Put('r').addColumn('f', 'q', new Uint8Array(11 << 20))))).toBe(
      'ERR_INVALID_ARGUMENT',
    );
    await table.put(put('r', 'text'));
    expect(await codeOf(table.increment(new Increment('r').addColumn('f', 'q', 1)))).toBe(
      'ERR_INVALID_ARGUMENT',
    );
    expect(await codeOf(admin.createTable(tableDescriptor('t', { f: {} })))).toBe('ERR_TABLE_EXISTS');
    expect(await codeOf(admin.createTable(tableDescriptor('x:t', { f: {} })))).toBe(
      'ERR_NAMESPACE_NOT_FOUND',
    );
    expect(await codeOf(admin.deleteTable('t'))).toBe('ERR_TABLE_ENABLED');
    await admin.disableTable('t');
    expect(await codeOf(table.get(new Get('r')))).toBe('ERR_TABLE_DISABLED');
    await admin.truncateTable('t');
    expect(await contents(table)).toEqual([]);
    await admin.disableTable('t');
    await admin.deleteTable('t');
    expect(await admin.tableExists('t')).toBe(false);
    await store.engine.close();
  });
});

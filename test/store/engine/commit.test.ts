/** Changes that are decided on in the turn in which they are ordered. */

import { describe, expect, test } from 'vitest';
import type { EmbeddedEngine } from '../../../src/store/engine.js';
import {
  Delete,
  Get,
  Increment,
  Put,
  RowMutations,
  type SyncTable,
  tableDescriptor,
} from '../../../src/table/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { FaultFileSystem } from '../fs/fault-fs.js';
import { contents, createTable, memoryStore, put } from './support.js';

describe('commit', () => {
  test('what is read stays true until it is written', async () => {
    const { engine } = await memoryStore();
    const table = (await createTable(engine)) as SyncTable;
    const add = (): Promise<unknown> =>
      table.commit!((read) => {
        const length = read(new Get('r')).getValue('f', 'q')?.length ?? 0;
        return [[{ table: 't', change: put('r', 'x'.repeat(length + 1)) }]];
      });
    await Promise.all(Array.from({ length: 100 }, add));
    expect(table.getSync(new Get('r')).getValue('f', 'q')).toHaveLength(100);
    await engine.close();
  });

  test('groups over several tables are whole or not there, and outlive the process together', async () => {
    const store = await memoryStore();
    await createTable(store.engine);
    await store.engine.admin.createTable(tableDescriptor('u', { f: {} }));
    const table = store.engine.table('t') as SyncTable;
    const outcomes = await table.commit!(() => [
      [
        { table: 't', change: put('a', '1') },
        { table: 'u', change: put('a', '2') },
      ],
      [
        { table: 'u', change: put('b', '3') },
        { table: 't', change: put('b', '4', 'nowhere') },
      ],
      [{ table: 't', change: new Increment('c').addColumn('f', 'n', 7) }],
    ]);
    expect(outcomes.map(({ ok }) => ok)).toEqual([true, false, true]);
    expect(outcomes[1]).toMatchObject({ error: { code: 'ERR_NO_SUCH_FAMILY' } });
    expect(outcomes[2]).toMatchObject({ ok: true, results: [{ cells: [{ family: 'f' }] }] });
    await store.reopen();
    expect(await contents(store.engine.table('t'))).toHaveLength(2);
    expect(await contents(store.engine.table('u'))).toEqual(['a f:q=2']);
    await store.engine.close();
  });

  test('what decide throws is thrown, and nothing is written', async () => {
    const { engine } = await memoryStore();
    const table = (await createTable(engine)) as SyncTable;
    const refused = table.commit!(() => {
      throw new Error('no');
    });
    await expect(refused).rejects.toThrow('no');
    expect(await table.commit!(() => [])).toEqual([]);
    expect(await contents(table)).toEqual([]);
    await engine.close();
  });

  test('a change that reads a row which another one changes is refused; the same row of another table is not', async () => {
    const { engine } = await memoryStore();
    const table = (await createTable(engine)) as SyncTable;
    await engine.admin.createTable(tableDescriptor('u', { f: {} }));
    const increment = new Increment('r').addColumn('f', 'n', 1);
    await expect(
      table.commit!(() => [[{ table: 't', change: put('r', '1') }], [{ table: 't', change: increment }]]),
    ).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
    expect(await contents(table)).toEqual([]);
    const both = new RowMutations('r').add(
      new Put('r').addColumn('f', 'q', 'x'),
      new Delete('r').addColumns('f', 'z'),
    );
    const outcomes = await table.commit!(() => [
      [{ table: 't', change: both }],
      [{ table: 'u', change: increment }],
    ]);
    expect(outcomes.every(({ ok }) => ok)).toBe(true);
    await engine.close();
  });
});

/** The 64th write of a store looks at how full memory is. */
const WRITES_BEFORE = 63;

describe('a write whose own turn flushes its memstore, and that the log refuses', () => {
  const value = 'v'.repeat(200);
  const ways: readonly [string, (table: SyncTable, engine: EmbeddedEngine) => Promise<unknown>][] = [
    ['a put that fills the memstore', (table) => table.put(put('refused', value))],
    ['an increment', (table) => table.increment(new Increment('refused').addColumn('f', 'n', 1))],
    [
      'an atomic batch of three rows',
      (table) =>
        table.batch([put('refused1', value), put('refused2', value), put('refused3', value)], {
          atomic: true,
        }),
    ],
    [
      'a step that fills the memstore',
      (table) => table.atomic!((step) => void step.apply({ table: 't', change: put('refused', value) })),
    ],
    [
      'a step in whose function a flush is asked for',
      async (table, engine) => {
        let flushed: Promise<void> | undefined;
        const written = table.atomic!((step) => {
          step.apply({ table: 't', change: put('refused1', value) });
          flushed = engine.admin.flush('t');
          step.apply({ table: 't', change: put('refused2', value) });
        });
        await Promise.allSettled([written, flushed]);
        return written;
      },
    ],
  ];

  test.each(ways)('is in no file, in the open store or the next: %s', async (_, write) => {
    const fileSystem = new FaultFileSystem(new MemoryFileSystem());
    const store = await memoryStore({
      fileSystem,
      automatic: true,
      memstoreFlushSize: 4096,
      background: 'inline',
    });
    const table = (await createTable(store.engine)) as SyncTable;
    for (let i = 0; i < WRITES_BEFORE; i++) await table.put(put(`r${i + 10}`, value));
    fileSystem.inject({ calls: ['write'], path: /wal$/, errno: 'ENOSPC' });
    await expect(write(table, store.engine)).rejects.toMatchObject({ code: 'ERR_IO', retryable: true });
    await store.engine.quiet();
    expect(fileSystem.failures).toBe(1);
    expect(await contents(table)).toHaveLength(WRITES_BEFORE);
    await store.engine.admin.flush('t');
    await store.reopen();
    expect(await contents(store.engine.table('t'))).toHaveLength(WRITES_BEFORE);
    await store.engine.close();
  });
});

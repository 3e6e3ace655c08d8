/** Clients that wait for nothing but writes without a sync let the rest of the program have its turns. */

import { expect, it } from 'vitest';
import { openEmbedded } from '../../../src/store/engine.js';
import { Put, tableDescriptor } from '../../../src/table/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';

it('puts that are awaited one after the other let timers run, segments change and memory be flushed', async () => {
  const files = new MemoryFileSystem();
  const engine = await openEmbedded('/db', {
    fileSystem: files,
    background: 'inline',
    walSegmentSize: 64 * 1024,
    memstoreFlushSize: 64 * 1024,
  });
  await engine.admin.createTable(tableDescriptor('t', { d: {} }));
  const table = engine.table('t');
  let turns = 0;
  let going = true;
  const turn = (): void => {
    turns++;
    if (going) setImmediate(turn);
  };
  setImmediate(turn);
  const value = 'v'.repeat(300);
  const client = async (id: number): Promise<void> => {
    for (let n = 0; n < 1500; n++) {
      await table.put(new Put(`${id}-${n}`).addColumn('d', 'q', value).setDurability('ASYNC_WAL'));
    }
  };
  await Promise.all([1, 2, 3, 4].map(client));
  going = false;
  // 1,500 rounds of the four, of which 64 fit into a turn.
  expect(turns).toBeGreaterThanOrEqual(20);
  const longest = Math.max(
    ...files
      .readdir('/db')
      .filter((name) => name.endsWith('.wal'))
      .map((name) => files.contents(`/db/${name}`).length),
  );
  expect(longest).toBeLessThan(1 << 20);
  await engine.close();
});

/** Checkpoints keep their hands off what is not theirs. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { openEmbedded } from '../../../src/store/engine.js';
import { contents, createTable, memoryStore, put } from '../engine/support.js';

test('a folder in the way of a checkpoint is left as it is', async () => {
  const store = await memoryStore();
  const table = await createTable(store.engine);
  await table.put(put('a', '1'));
  const other = await openEmbedded('/copy.partial', { fileSystem: store.fileSystem });
  await other.close();
  const before = store.fileSystem.readdir('/copy.partial');
  await expect(store.engine.checkpoint('/copy')).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
  expect(store.fileSystem.readdir('/copy.partial')).toEqual(before);
  store.fileSystem.mkdir('/mine.partial');
  store.fileSystem.place('/mine.partial/letter.txt', Buffer.from('dear'));
  await expect(store.engine.checkpoint('/mine')).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
  expect(store.fileSystem.readdir('/mine.partial')).toEqual(['letter.txt']);
  await store.engine.close();
});

test.each([
  ['linked', true],
  ['copied', false],
])(
  'what an interrupted checkpoint left is taken away by the next, and two at once do not meet (%s)',
  async (_, hasLinks) => {
    const store = await memoryStore();
    const table = await createTable(store.engine);
    await table.put(put('a', '1'));
    await store.engine.admin.flush('t');
    // The power goes after each operation of the checkpoint.
    const disks: (typeof store.fileSystem)[] = [];
    let watching = false;
    const fresh = store.fileSystem.crash(
      { keepUnsynced: 1, random: Math.random },
      {
        onOperation: () => {
          if (watching) disks.push(fresh.crash({ keepUnsynced: 1, random: Math.random }));
        },
      },
    );
    await store.engine.close();
    if (!hasLinks) fresh.link = () => false;
    const engine = await openEmbedded('/db', { fileSystem: fresh, automatic: false });
    watching = true;
    await engine.checkpoint('/copy');
    watching = false;
    await engine.close();
    expect(disks.length).toBeGreaterThan(5);
    for (const disk of disks) {
      if (!hasLinks) disk.link = () => false;
      const again = await openEmbedded('/db', { fileSystem: disk, automatic: false });
      if (!disk.exists('/copy')) {
        const outcomes = await Promise.allSettled([again.checkpoint('/copy'), again.checkpoint('/copy')]);
        expect(outcomes.filter((each) => each.status === 'fulfilled').length).toBe(1);
      }
      await again.close();
      const copy = await openEmbedded('/copy', { fileSystem: disk, automatic: false });
      expect(await contents(copy.table('t'))).toEqual(['a f:q=1']);
      await copy.close();
      expect(disk.exists('/copy.partial')).toBe(false);
    }
  },
);

test('on another disk the files are copied as they were, a piece a turn, though the store removes them', async () => {
  const store = await memoryStore();
  const { engine, fileSystem } = store;
  fileSystem.link = () => false;
  const table = await createTable(engine);
  const value = (n: number): string => String.fromCharCode(97 + n).repeat(1 << 20);
  for (let n = 0; n < 4; n++) await table.put(put(`row${n}`, value(n)));
  await engine.admin.flush('t');
  await table.put(put('in the log', '1'));
  const files = (): string[] => fileSystem.readdir('/db').filter((name) => name.endsWith('.sst'));
  const [file] = files();
  let ended = false;
  const checkpoint = engine.checkpoint('/copy').then(() => (ended = true));
  while (!ended && !fileSystem.exists('/copy.partial/CURRENT')) await nextTurn();
  await table.put(put('later', '1'));
  await engine.admin.disableTable('t');
  await engine.admin.deleteTable('t');
  expect([ended, files().includes(file!)]).toEqual([false, false]);
  await checkpoint;
  await engine.close();
  const copy = await openEmbedded('/copy', { fileSystem, automatic: false });
  await copy.verify();
  const found = await contents(copy.table('t'));
  expect(found.map((text) => [text.slice(0, 11), text.length])).toEqual([
    ['in the log ', 16],
    ...[0, 1, 2, 3].map((n) => [`row${n} f:q=${value(n).slice(0, 2)}`, 9 + (1 << 20)]),
  ]);
  await copy.close();
});

test('the room of the log behind its records is not copied', async () => {
  const room = 1 << 20;
  const { engine, fileSystem } = await memoryStore({ automatic: true, walPreparedSize: room });
  const table = await createTable(engine);
  const logOf = (folder: string): number => {
    const logs = fileSystem.readdir(folder).filter((name) => name.endsWith('.wal'));
    const handles = logs.map((name) => fileSystem.openRead(`${folder}/${name}`));
    for (const handle of handles) handle.close();
    return Math.max(...handles.map(({ size }) => size));
  };
  let rows = 0;
  while (logOf('/db') < room) {
    await table.put(put(`row${String(rows++).padStart(4, '0')}`, 'x'));
    await nextTurn();
    expect(rows).toBeLessThan(1000);
  }
  await table.put(put('zlast', 'x'));
  await engine.checkpoint('/copy');
  await engine.close();
  expect(logOf('/copy')).toBeLessThan(room / 4);
  const copy = await openEmbedded('/copy', { fileSystem, automatic: false });
  expect(await contents(copy.table('t'))).toHaveLength(rows + 1);
  await copy.close();
});

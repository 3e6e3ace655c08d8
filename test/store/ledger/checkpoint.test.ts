/** Checkpoints keep their hands off what is not theirs. */

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

test('what an interrupted checkpoint left is taken away by the next, and two at once do not meet', async () => {
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
  const engine = await openEmbedded('/db', { fileSystem: fresh, automatic: false });
  watching = true;
  await engine.checkpoint('/copy');
  watching = false;
  await engine.close();
  expect(disks.length).toBeGreaterThan(5);
  for (const disk of disks) {
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
});

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openEmbedded } from '../../src/store/engine.js';
import { Get, Put, tableDescriptor } from '../../src/table/index.js';
import { run } from './run.js';

test('a store is restored to a moment, and its archive pruned with the backups', async () => {
  const root = await mkdtemp(join(tmpdir(), 'rowan-archive-cli-'));
  const [store, archive, backups, copy] = ['store', 'archive', 'backups', 'copy'].map((name) =>
    join(root, name),
  ) as [string, string, string, string];
  const engine = await openEmbedded(store, { background: 'inline', logArchive: archive });
  await engine.admin.createTable(tableDescriptor('t', { f: {} }));
  const put = async (row: string): Promise<number> => {
    await engine.table('t').put(new Put(row).addColumn('f', 'q', 'v'));
    return engine.commits.last;
  };
  await engine.backup(backups);
  const first = await put('a');
  await put('b');
  await engine.close();
  const restored = await run('store', 'restore', backups, copy, '--log', archive, '--to', String(first));
  expect(restored).toMatchObject({ code: 0, err: '' });
  expect(restored.out).toContain(`1 records of the log\tup to write ${first} of `);
  {
    await using copied = await openEmbedded(copy, { background: 'inline' });
    expect((await copied.table('t').get(new Get('a'))).isEmpty).toBe(false);
    expect((await copied.table('t').get(new Get('b'))).isEmpty).toBe(true);
  }
  const refused = await run('store', 'restore', backups, `${copy}2`, '--log', archive, '--to', 'noon');
  expect(refused.err).toContain('--to with --log takes a time');
  // A command that opens the store archives what it writes.
  expect((await run('store', 'backup', store, backups)).code).toBe(0);
  expect((await run('store', 'backups', backups, '--keep', '1', '--log', archive)).out).toMatch(/^000002\t/);
  expect((await run('store', 'restore', backups, `${copy}3`, '--log', archive)).code).toBe(0);
  await rm(root, { recursive: true });
});

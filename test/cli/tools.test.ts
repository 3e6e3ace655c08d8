import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { openEmbedded } from '../../src/store/engine.js';
import { Put, tableDescriptor } from '../../src/table/index.js';
import { run } from './run.js';

test('a table goes from store to store by export, import, copy and verify', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'rowan-tools-'));
  const [one, two, files] = ['one', 'two', 'files'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const engine = await openEmbedded(one);
  await engine.admin.createTable(tableDescriptor('t', { f: { versions: 3 } }), [Buffer.from('m')]);
  const puts = Array.from({ length: 100 }, (_, i) =>
    new Put(`${i % 2 ? 'a' : 'z'}${i}`).addColumn('f', 'q', `v${i}`),
  );
  await engine.table('t').putAll(puts);
  await engine.close();

  expect(await run('count', one, 't')).toEqual({ code: 0, out: 'rows\t100\n', err: '' });
  expect(JSON.parse((await run('cells', one, 't', '--json')).out)).toMatchObject({
    counters: { cells: 100, 'family:f rows': 100 },
  });
  expect(await run('export', one, 't', files)).toMatchObject({ code: 0, out: 'cells\t100\nrows\t100\n' });
  expect(await run('import', two, files)).toMatchObject({ code: 1 });
  expect(await run('import', two, files, '--create')).toMatchObject({
    code: 0,
    out: 'cells\t100\nrows\t100\n',
  });
  expect(await run('copy', two, 't', one, 'again', '--create')).toMatchObject({ code: 0 });
  expect(await run('verify', one, 't', one, 'again')).toMatchObject({
    code: 0,
    out: 'equal\t100\nrows\t100\n',
  });

  const other = await openEmbedded(two);
  await other.table('t').put(new Put('a1').addColumn('f', 'q', 'changed'));
  await other.table('t').put(new Put('b').addColumn('f', 'q', 'new'));
  await other.close();
  const found = await run('verify', one, 't', two, 't');
  expect(found).toMatchObject({ code: 1, out: 'different\t1\nequal\t99\nextra\t1\nrows\t100\n' });
  expect(found.err).toContain('different\ta1\nextra\tb\n');
  const hashes = join(folder, 'hashes');
  expect(await run('hash', one, 't', hashes, '--chunk-bytes', '100')).toMatchObject({ code: 0 });
  expect(await run('verify', one, 't', two, 't', '--hashes', hashes)).toMatchObject({ code: 1 });
  expect(await run('sync', one, 't', two, 't', '--dry-run')).toMatchObject({ code: 1 });
  const half = await run('sync', one, 't', two, 't', '--hashes', hashes, '--no-deletes');
  expect(half).toMatchObject({ code: 1, out: expect.stringContaining('repaired\t0\n') as string });
  expect(half.err).toContain('2 rows still differ');
  expect(await run('sync', one, 't', two, 't', '--hashes', hashes)).toMatchObject({
    code: 0,
    out: expect.stringContaining('repaired\t2\n') as string,
  });
  expect(await run('verify', one, 't', two, 't')).toMatchObject({ code: 0, out: 'equal\t100\nrows\t100\n' });

  for (const args of [
    ['count', join(folder, 'nope'), 't'],
    ['count', one, 'nope'],
    ['count', one, 't', '--rate', 'fast'],
    ['export', one, 't', files, '--families', 'zz'],
    ['import', one, folder],
    ['copy', one, 't', one, 't'],
    ['count', 'hbase:', 't'],
  ]) {
    const { code, err } = await run(...args);
    expect([args, code]).toEqual([args, 1]);
    expect(err).toMatch(/^rowan: ERR_\w+: /);
  }
  await rm(folder, { recursive: true });
});

test('entities are made up as they are wished, and not where the wish can never be right', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'rowan-synth-'));
  const module = fileURLToPath(new URL('../../build/test/cli/fixtures/job.js', import.meta.url));
  const made = await run('synth', folder, module, 'Visit', '--rows', '60', '--values', 'page=3', '--json');
  expect(made).toMatchObject({ code: 0, err: '' });
  expect(JSON.parse(made.out)).toMatchObject({ counters: { entities: 60 } });
  expect(await run('count', folder, 'job_visits')).toMatchObject({ out: 'rows\t60\n' });
  const cells = JSON.parse((await run('cells', folder, 'job_visits', '--json')).out) as { counters: object };
  expect(cells.counters).toMatchObject({ 'column:d:p cells': 60 });
  expect(await run('synth', folder, module, 'Visit', '--rows', '60', '--values', 'page')).toMatchObject({
    code: 1,
    err: expect.stringContaining('property=number') as string,
  });
  expect(await run('synth', folder, module, 'Visit')).toMatchObject({ code: 2 });
  await rm(folder, { recursive: true });
});

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
  expect(await run('verify', one, 't', two, 't', '--repair')).toMatchObject({ code: 0 });
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

import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { run } from './run.js';

test('text is loaded as files, goes to HBase as sequence files and comes back as either', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'rowan-bulkload-'));
  const at = (name: string): string => join(folder, name);
  const lines = Array.from({ length: 50 }, (_, i) => `row${(i * 37) % 50}\tvalue ${i}`);
  await writeFile(at('lines.tsv'), `${lines.join('\n')}\na\tb\tc\n`);
  const sorting = ['--folder', at('sorting'), '--no-progress'];
  const text = ['--format', 'tsv', '--columns', 'HBASE_ROW_KEY,d:v', '--timestamp', '5'];
  expect(await run('bulkload', at('one'), 't', at('lines.tsv'), ...sorting, ...text)).toMatchObject({
    code: 1,
  });
  const loaded = await run(
    'bulkload',
    at('one'),
    't',
    at('lines.tsv'),
    ...sorting,
    ...text,
    '--create',
    '--log-bad-lines',
  );
  expect(loaded).toMatchObject({ code: 0, out: expect.stringContaining('lines\t51\n') as string });
  expect(loaded.out).toContain('bad lines\t1\n');
  expect(loaded.out).toContain('cells\t50\n');
  expect(loaded.err).toContain('lines.tsv\t');
  expect(await readdir(at('sorting'))).toEqual([]);

  expect(await run('export', at('one'), 't', at('seq'), '--format', 'hbase')).toMatchObject({ code: 0 });
  expect(await run('export', at('one'), 't', at('rowan'))).toMatchObject({ code: 0 });
  expect(await run('bulkload', at('one'), 't', at('seq'), ...sorting)).toMatchObject({ code: 2 });
  expect(await run('import', at('two'), at('rowan'), 'a', '--create')).toMatchObject({ code: 0 });
  for (const [format, files] of [
    ['rowan', 'rowan'],
    ['hbase', 'seq'],
  ] as const) {
    expect(await run('bulkload', at('two'), 'a', at(files), ...sorting, '--format', format)).toMatchObject({
      code: 0,
    });
    expect(await run('verify', at('one'), 't', at('two'), 'a', '--raw')).toMatchObject({ code: 0 });
  }
  expect(await run('import', at('two'), at('seq'), 'a', '--format', 'hbase')).toMatchObject({
    code: 0,
    out: 'cells\t50\nrows\t50\n',
  });
  expect((await run('import', at('two'), at('seq'), '--format', 'hbase')).err).toContain('name it');
  await rm(folder, { recursive: true });
});

import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
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

test('entities are loaded as files, unless a put of them does more than write cells', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'rowan-bulkload-'));
  const at = (name: string): string => join(folder, name);
  const fixture = (name: string): string =>
    fileURLToPath(new URL(`../../build/test/cli/fixtures/${name}.js`, import.meta.url));
  const notes = Array.from({ length: 30 }, (_, i) => `{"id":"n${(i * 7) % 30}","text":"note ${i}"}\n`);
  await writeFile(at('notes.ndjson'), `${notes.join('')}{"id":5}\n`);
  const load = (place: string, table: string, file: string, ...more: string[]): ReturnType<typeof run> =>
    run(
      'bulkload',
      at(place),
      table,
      at(file),
      '--folder',
      at('sorting'),
      '--no-progress',
      '--create',
      ...more,
    );
  const note = ['--entities', fixture('entities'), '--entity', 'Note'];
  const loaded = await load('db', 'notes', 'notes.ndjson', '--format', 'ndjson', ...note, '--log-bad-lines');
  expect(loaded).toMatchObject({ code: 0, err: expect.stringContaining('notes.ndjson\t') as string });
  expect(loaded.out).toContain('entities\t30\n');
  expect(loaded.out).toContain('bad lines\t1\n');
  const entities = [fixture('entities'), 'Note'];
  for (const format of ['parquet', 'csv']) {
    expect(
      await run('entities', 'export', at('db'), ...entities, at(format), '--format', format, '--no-progress'),
    ).toMatchObject({ code: 0 });
    expect(await load(`from-${format}`, 'notes', format, '--format', format, ...note)).toMatchObject({
      code: 0,
    });
    expect(
      await run(
        'entities',
        'export',
        at(`from-${format}`),
        ...entities,
        at(`${format}-again`),
        '--no-progress',
      ),
    ).toMatchObject({
      code: 0,
    });
    const again = (await readFile(at(`${format}-again/part-00000.ndjson`), 'utf8')).trim().split('\n');
    expect(again.map((line) => JSON.parse(line) as unknown)).toEqual(
      notes.map((line) => JSON.parse(line) as { id: string }).sort((a, b) => (a.id < b.id ? -1 : 1)),
    );
  }
  expect((await load('db', 'other', 'notes.ndjson', '--format', 'ndjson', ...note)).err).toContain(
    'in table "notes"',
  );
  expect((await load('db', 'notes', 'notes.ndjson', '--format', 'ndjson', '--entity', 'Note')).err).toContain(
    'need both',
  );
  const indexed = ['--entities', fixture('indexed'), '--entity', 'Thing'];
  expect(
    (await load('things', 'shop:things', 'notes.ndjson', '--format', 'ndjson', ...indexed)).err,
  ).toContain('rowan entities import');
  await rm(folder, { recursive: true });
});

import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { defineEntity, defineTable } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import { open } from '../../src/database.js';
import { part } from '../../src/key/index.js';
import { type EmbeddedEngine, openEmbedded } from '../../src/store/engine.js';
import { backupTables } from '../../src/tools/backup.js';
import { run } from './run.js';

test('text is imported, backed up at one moment, and restored elsewhere', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'rowan-backup-cli-'));
  const [data, copy, backups, file] = ['data', 'copy', 'backups', 'a.csv'].map((name) =>
    join(folder, name),
  ) as [string, string, string, string];
  await writeFile(file, 'r1,1\nr2,2\nr3,3,4\n');
  const imported = await run(
    'importtsv',
    data,
    't',
    file,
    '--columns',
    'HBASE_ROW_KEY,f:q',
    '--separator',
    ',',
    '--create',
    '--log-bad-lines',
  );
  expect(imported).toEqual({
    code: 0,
    out: 'bad lines\t1\ncells\t2\nlines\t3\n',
    err: `${file}\t10\tExcessive columns\n`,
  });
  expect((await run('count', data, 't', '--from', '1', '--to', '2')).out).toBe('rows\t0\n');
  expect(await run('backup', data, backups)).toEqual({
    code: 0,
    out: 'backup\t0001-full\nrows\t2\ncells\t2\n',
    err: '',
  });
  expect(
    JSON.parse((await run('backup', data, backups, '--incremental', '--tables', 't', '--json')).out),
  ).toMatchObject({
    backup: { name: '0002-incremental' },
  });
  expect((await run('backups', backups)).out).toMatch(/^0001-full\t\S+Z\tt\n0002-incremental\t\S+Z\tt\n$/);
  expect((await run('restore', copy, backups)).code).toBe(0);
  expect((await run('verify', data, 't', copy, 't')).out).toBe('equal\t2\nrows\t2\n');
  expect((await run('restore', copy, backups)).err).toContain('Table "t" has rows');
  expect((await run('importtsv', data, 't', file)).code).toBe(2);
  // What cannot be restored makes no store.
  const nowhere = join(folder, 'nowhere');
  expect((await run('restore', nowhere, data)).err).toMatch(
    /data has no backup of tables.*Give a folder that/,
  );
  expect((await run('backup', data, copy)).err).toMatch(/copy has no backup of tables, and is not empty \("/);
  expect((await run('restore', nowhere, backups, '--to', '0009-full')).err).toContain(
    'no complete backup 0009-full',
  );
  expect((await run('restore', nowhere, backups, '--tables', 'u')).err).toContain('has no table "u"');
  // Nothing of the checkpoint is left.
  expect((await readdir(folder)).sort()).toEqual(['a.csv', 'backups', 'copy', 'data']);
  await rm(folder, { recursive: true });
});

test('a backup removes the checkpoint that a killed one left beside the store, and nothing else', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'rowan-left-behind-'));
  const [data, backups, beside] = [
    join(folder, 'data'),
    join(folder, 'backups'),
    join(folder, 'data.backup'),
  ];
  const Row = defineEntity({
    name: 'Row',
    table: defineTable({ name: 'rows', families: { d: {} } }),
    key: [part('id')],
    columns: (c) => ({ a: c.column('d:a', text) }),
  });
  const db = await open({ path: data, entities: [Row] });
  await db.repository(Row).put({ id: '1', a: 'x' });
  await mkdir(beside);
  await db.engine.checkpoint(join(beside, 'store'));
  await db.close();
  expect((await run('backup', data, backups)).code).toBe(0);
  expect((await readdir(folder)).sort()).toEqual(['backups', 'data']);
  await mkdir(beside);
  await writeFile(join(beside, 'mine.txt'), '');
  expect(await run('backup', data, backups)).toMatchObject({
    code: 1,
    err: expect.stringContaining(
      `"${beside}", but that name is in use by something else ("mine.txt" in it). Move it away.`,
    ),
  });
  expect((await readdir(folder)).sort()).toEqual(['backups', 'data', 'data.backup']);
  await rm(folder, { recursive: true });
});

test('an interrupted backup begins anew, so that all tables are of the moment of the repeat', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'rowan-interrupted-'));
  const [data, copy, backups] = ['data', 'copy', 'backups'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const rowsOf = (name: string) =>
    defineEntity({
      name,
      table: defineTable({ name, families: { d: {} } }),
      key: [part('id')],
      columns: (c) => ({ a: c.column('d:a', text) }),
    });
  const [First, Second] = [rowsOf('first'), rowsOf('second')];
  const db = await open({ path: data, entities: [First, Second] });
  const put = (id: string): Promise<unknown> =>
    Promise.all([First, Second].map((Rows) => db.repository(Rows).put({ id, a: 'x' })));
  await put('1');
  const checkpoint = join(folder, 'checkpoint');
  await (db.engine as EmbeddedEngine).checkpoint(checkpoint);
  const source = await openEmbedded(checkpoint, { automatic: false });
  // The first table is done when it is broken off.
  const broken: EmbeddedEngine = Object.create(source, {
    table: {
      value: (name: string) => {
        if (name === 'second') throw new Error('killed');
        return source.table(name);
      },
    },
  });
  await expect(backupTables(db.engine, backups, { readFrom: broken })).rejects.toThrow('killed');
  await source.close();
  await put('2');
  await db.close();
  expect((await run('backup', data, backups)).out).toMatch(/^backup\t0001-full\nrows\t4\n/m);
  expect((await run('restore', copy, backups)).code).toBe(0);
  for (const name of ['first', 'second'])
    expect((await run('verify', data, name, copy, name)).out).toBe('equal\t2\nrows\t2\n');
  await rm(folder, { recursive: true });
});

test('a restore says which tables it leaves out', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'rowan-left-out-'));
  const [data, copy, whole, backups] = ['data', 'copy', 'whole', 'backups'].map((name) =>
    join(folder, name),
  ) as [string, string, string, string];
  const Told = defineEntity({
    name: 'Told',
    table: defineTable({ name: 'told', families: { d: {} } }),
    key: [part('id')],
    changes: { keep: 3_600_000 },
    columns: (c) => ({ a: c.column('d:a', text) }),
  });
  const db = await open({ path: data, entities: [Told] });
  await db.repository(Told).put({ id: '1', a: 'x' });
  await db.close();
  expect((await run('backup', data, backups)).code).toBe(0);
  const restored = await run('restore', copy, backups);
  expect(restored).toMatchObject({ code: 0, out: expect.stringMatching(/\nleft out\trowan_changes\n$/) });
  const named = await run('restore', whole, backups, '--tables', 'told,rowan_changes', '--json');
  expect(JSON.parse(named.out)).toEqual({ backup: expect.anything(), rows: 2, cells: expect.any(Number) });
  await rm(folder, { recursive: true });
});

test('entities go out and in as lines of JSON', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'rowan-entities-cli-'));
  const module = fileURLToPath(new URL('../../build/test/cli/fixtures/logs.js', import.meta.url));
  const [data, copy, files, lines] = ['data', 'copy', 'files', 'a.ndjson'].map((name) =>
    join(folder, name),
  ) as [string, string, string, string];
  await writeFile(lines, '{"n":1}\n{"n":7}\n{"n":-1}\n');
  const imported = await run('entities', 'import', data, module, 'Rising', lines, '--skip-bad-lines');
  expect(imported).toMatchObject({ code: 0, out: 'bad lines\t1\nentities\t2\n' });
  expect(imported.err).toContain(`${lines}\t16\t`);
  expect((await run('entities', 'export', data, module, 'Rising', files)).out).toBe('entities\t2\n');
  expect((await run('entities', 'import', copy, module, 'Rising', files, '--json')).out).toContain(
    '"entities":2',
  );
  expect((await run('count', copy, 'rising')).out).toBe('rows\t2\n');
  // The names say the format, of a folder those in it.
  const [csv, plain] = [join(folder, 'rising.csv'), join(folder, 'plain')];
  expect((await run('entities', 'export', data, module, 'Rising', csv)).out).toBe('entities\t2\n');
  expect((await readdir(csv)).every((name) => name.endsWith('.csv'))).toBe(true);
  await rename(csv, plain);
  expect((await run('entities', 'import', copy, module, 'Rising', plain)).out).toBe('entities\t2\n');
  await writeFile(csv, 'n\n3\n4\nx\n');
  const bad = await run('entities', 'import', copy, module, 'Rising', csv);
  expect(bad.err).toContain('Correct it, or skip bad lines (skipBadLines: true; --skip-bad-lines).');
  await writeFile(csv, 'n\n3\n4\n55\n');
  const again = ['entities', 'import', copy, module, 'Rising', csv] as const;
  expect((await run(...again)).err).toContain('with restart: true (the commands: --restart), which discards');
  expect((await run(...again, '--restart')).out).toBe('entities\t3\n');
  expect((await run('entities', 'export', data, module, 'Nothing', files)).err).toContain(
    'has no entity "Nothing"',
  );
  await rm(folder, { recursive: true });
});

test('an export has the entities that meet conditions, and says what can be asked', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'rowan-export-where-'));
  const module = fileURLToPath(new URL('../../build/test/cli/fixtures/entities.js', import.meta.url));
  const [data, files, lines] = ['data', 'files', 'notes.ndjson'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const notes = ['a=1', 'b, c', 'b+d', 'e'].map((text, i) => `${JSON.stringify({ id: `n${i}`, text })}\n`);
  await writeFile(lines, notes.join(''));
  expect((await run('entities', 'import', data, module, 'Note', lines)).code).toBe(0);
  const exported = async (...conditions: string[]): Promise<unknown> => {
    const where = conditions.flatMap((condition) => ['--where', condition]);
    const { err, code } = await run(
      'entities',
      'export',
      data,
      module,
      'Note',
      files,
      ...where,
      '--no-progress',
    );
    if (code !== 0) return err;
    const found = await readFile(join(files, 'part-00000.ndjson'), 'utf8');
    return [...found.matchAll(/"id":"(\w+)"/g)].map(([, id]) => id);
  };
  expect(await exported()).toEqual(['n0', 'n1', 'n2', 'n3']);
  expect(await exported('text=a=1')).toEqual(['n0']);
  expect(await exported('text=b, c', 'text=b+d')).toEqual(['n1', 'n2']);
  expect(await exported('text[startsWith]=b', 'id[gte]=n2')).toEqual(['n2']);
  expect(await exported('txt=b')).toContain('"txt" is neither a single-valued column nor a key part');
  expect(await exported('limit=1')).toContain('"limit" is reserved');
  for (const wrong of ['text', '=b', '[eq]=b'])
    expect(await exported(wrong)).toContain('give a property of Note');
  expect(await exported('text[like]=b')).toMatch(/the allowed operators of text are eq, ne/);
  await rm(folder, { recursive: true });
});

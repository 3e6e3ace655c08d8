/** Commands on a store that is open elsewhere. */

import { mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { runCli } from '../../src/cli/program.js';
import { openEmbedded } from '../../src/store/engine.js';
import { Put, tableDescriptor } from '../../src/table/index.js';
import { ask, enter } from '../studio/client.js';
import { run } from './run.js';

test('commands that read use a store in use, say at which moment, and write nothing', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rowan-in-use-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const db = join(folder, 'db');
  await using writer = await openEmbedded(db, { background: 'inline', automatic: false });
  await writer.admin.createTable(tableDescriptor('t', { f: {} }));
  const rows = Array.from({ length: 30 }, (_, i) => new Put(`r${i}`).addColumn('f', 'q', 'v'));
  await writer.table('t').putAll(rows);
  const names = readdirSync(db);
  const used = new RegExp(
    `In use by process ${process.pid}; read as it was at \\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z\\.`,
  );

  expect(await run('count', db, 't', '--no-progress')).toMatchObject({
    code: 0,
    err: expect.stringMatching(used),
  });
  const exported = await run('export', db, 't', join(folder, 'out'), '--no-progress');
  expect(exported).toMatchObject({ code: 0, err: expect.stringMatching(used) });
  const compared = await run('verify', db, 't', db, 't', '--no-progress');
  expect(compared).toMatchObject({ code: 0, err: expect.stringMatching(used) });
  const script = join(folder, 'script.rb');
  writeFileSync(script, "count 't'\nput 't', 'x', 'f:q', 'v'\n");
  const shell = await run('shell', db, script);
  expect(shell.out).toContain('30 row(s)');
  expect(shell.out).toContain('opened with readOnly');
  expect(shell.err).toMatch(/read only, followed from/);
  for (const command of ['stats', 'verify']) {
    const looked = await run('store', command, db);
    expect(looked).toMatchObject({ code: 0, out: expect.stringMatching(used) });
  }
  const { moment, tables } = JSON.parse((await run('store', 'stats', db, '--json')).out);
  expect([moment.opener, tables[0].regions[0].families[0].memstoreCells]).toEqual([process.pid, 30]);
  const imported = await run('import', db, join(folder, 'out'), '--no-progress');
  expect(imported).toMatchObject({
    code: 1,
    err: expect.stringContaining(`is in use by process ${process.pid} on `),
  });
  expect(readdirSync(db)).toEqual(names);
});

test('the studio shows a store that another process writes, unless it is to write itself', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rowan-in-use-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const db = join(folder, 'db');
  const module = fileURLToPath(new URL('../../build/test/cli/fixtures/entities.js', import.meta.url));
  await (await openEmbedded(db)).close();
  expect((await run('schema', 'apply', module, db)).code).toBe(0);
  await using writer = await openEmbedded(db, { background: 'inline', automatic: false });
  await writer
    .table('notes')
    .put(new Put('r1').addColumn('n', '_', Uint8Array.of(1)).addColumn('n', 't', 'seen'));
  for (const entities of [[module], []]) {
    let told = '';
    let tell: (address: string) => void = () => undefined;
    const address = new Promise<string>((resolve) => {
      tell = resolve;
    });
    const ended = runCli(['studio', db, ...entities], {
      write: (line) => tell(/open (\S+)/.exec(line)?.[1] ?? line),
      writeError: (line) => {
        told += line;
      },
    });
    const url = await Promise.race([address, ended.then((code) => `ended with ${code}: ${told}`)]);
    expect(url).toMatch(/^http:/);
    expect(told).toMatch(new RegExp(`^In use by process ${process.pid}; read only, followed from `));
    const studio = { url, port: Number(new URL(url).port) };
    const cookie = await enter(studio);
    for (const route of [
      'catalog',
      'health',
      'sizes',
      'counters',
      'regions?table=notes',
      'table?table=notes',
      'schema',
    ]) {
      const { status, text } = await ask(studio, `/api/${route}`, { cookie });
      expect(`${route} ${status === 200 ? '' : text}`).toBe(`${route} `);
      if (route.startsWith('table')) expect(text).toContain('"printed":"r1"');
    }
    process.emit('SIGTERM', 'SIGTERM');
    expect([await ended, told.split('\n').length]).toEqual([0, 2]);
  }
  await writer.close();
  // Nothing has the store open: a program that begins later can write it.
  let shown: (line: string) => void = () => undefined;
  const showing = new Promise<string>((resolve) => {
    shown = resolve;
  });
  const said: string[] = [];
  const alone = runCli(['studio', db, module], { write: shown, writeError: (line) => said.push(line) });
  const studio = { url: /open (\S+)/.exec(await showing)![1]!, port: 0 };
  studio.port = Number(new URL(studio.url).port);
  await using later = await openEmbedded(db, { background: 'inline', automatic: false });
  await later
    .table('notes')
    .put(new Put('r2').addColumn('n', '_', Uint8Array.of(1)).addColumn('n', 't', 'later'));
  const cookie = await enter(studio);
  await expect
    .poll(async () => (await ask(studio, '/api/table?table=notes', { cookie })).text, { timeout: 60_000 })
    .toContain('"printed":"r2"');
  process.emit('SIGTERM', 'SIGTERM');
  expect([await alone, said]).toEqual([0, []]);
  const refused = await run('studio', db, module, '--write');
  expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('needs it for itself') });
});

test('commands that read use a store that they may not write', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rowan-in-use-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const db = join(folder, 'db');
  {
    await using writer = await openEmbedded(db, { background: 'inline', automatic: false });
    await writer.admin.createTable(tableDescriptor('t', { f: {} }));
    await writer.table('t').put(new Put('r').addColumn('f', 'q', 'v'));
  }
  // A file that not even root may write, in place of a store of another user or on a read-only disk.
  rmSync(join(db, 'LOCK'));
  symlinkSync('/sys/kernel/notes', join(db, 'LOCK'));
  const counted = await run('count', db, 't', '--no-progress');
  expect(counted).toMatchObject({
    code: 0,
    out: 'rows\t1\n',
    err: expect.stringMatching(/^read as it was at /),
  });
  const script = join(folder, 'script.rb');
  writeFileSync(script, "put 't', 'x', 'f:q', 'v'\n");
  expect((await run('shell', db, script)).out).toContain('opened with readOnly');
  const imported = await run('import', db, join(folder, 'out'), '--no-progress');
  expect(imported).toMatchObject({ code: 1, err: expect.stringContaining('LOCK" (E') });
});

test('schemas, migrations and entities of a store in use can be read, and not changed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rowan-in-use-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const db = join(folder, 'db');
  const dir = join(folder, 'migrations');
  const module = fileURLToPath(new URL('../../build/test/cli/fixtures/entities.js', import.meta.url));
  expect((await run('migrate', 'dev', module, db, '--dir', dir)).code).toBe(0);
  await using writer = await openEmbedded(db, { background: 'inline', automatic: false });
  const names = readdirSync(db);
  const used = `In use by process ${process.pid}; read as it was at `;

  const reading = [
    ['schema', 'diff', module, db],
    ['schema', 'plan', module, db],
    ['schema', 'apply', '--dry-run', module, db],
    ['schema', 'history', db],
    ['migrate', 'status', module, db, '--dir', dir],
    ['introspect', db, 'notes'],
    ['entities', 'export', db, module, 'Customer', join(folder, 'out'), '--no-progress'],
  ];
  for (const line of reading)
    expect(await run(...line), line.join(' ')).toMatchObject({ code: 0, err: expect.stringContaining(used) });
  expect((await run('migrate', 'status', module, db, '--dir', dir)).out).toContain('is up to date');

  const changing = [
    ['schema', 'apply', module, db],
    ['migrate', 'deploy', module, db, '--dir', dir],
    ['migrate', 'undo', module, db, '--dir', dir],
    ['entities', 'import', db, module, 'Customer', join(folder, 'out'), '--no-progress'],
  ];
  for (const line of changing)
    expect(await run(...line), line.join(' ')).toMatchObject({
      code: 1,
      err: expect.stringMatching(
        /^rowan: ERR_LOCKED: The store in .* is in use by process \d+ on .*, and this command needs it for itself\./,
      ),
    });
  expect(readdirSync(db)).toEqual(names);
  expect((await writer.admin.listTables()).length).toBeGreaterThan(0);
});

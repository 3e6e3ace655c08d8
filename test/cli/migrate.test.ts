/** `rowan migrate dev|status|deploy|undo`, and `rowan schema check` of a folder of migrations. */

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ControlTable } from '../../src/ddl/index.js';
import { openAdmin } from '../../src/index.js';
import { openEmbedded } from '../../src/store/engine.js';
import { run } from './run.js';

const MODULE = fileURLToPath(new URL('../../build/test/cli/fixtures/entities.js', import.meta.url));
let folder: string;
let dir: string;
let store: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowan-migrate-'));
  dir = join(folder, 'migrations');
  store = join(folder, 'store');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const migrate = (command: string, place: string, ...flags: string[]) =>
  run('migrate', command, MODULE, place, '--dir', dir, ...flags);

test('dev makes and deploys a migration, deploy brings another store to it, status tells both', async () => {
  const made = await migrate('dev', store, '--name', 'first tables');
  expect(made).toMatchObject({ code: 0, err: '' });
  const [name] = readdirSync(dir) as [string];
  expect(name).toMatch(/^\d{14}_first_tables$/);
  expect(made.out).toContain('+ create-table:shop:crm  [online]\n');
  expect(made.out).toContain(`done create-table:shop:crm\n`);
  expect(made.out).toContain(`deployed ${name}\n`);
  const again = await migrate('dev', store);
  expect(again).toMatchObject({
    code: 0,
    out: 'The declarations are those of the last migration.\nNo migration is pending.\n',
  });
  const status = await migrate('status', store);
  expect(status.code).toBe(0);
  expect(status.out).toMatch(
    new RegExp(`^${name} {2}applied {2}\\S+Z {2}\\S+@\\S+\nThe database is up to date.\n$`),
  );

  const production = join(folder, 'production');
  expect(await migrate('deploy', production)).toMatchObject({
    code: 1,
    err: expect.stringContaining('Check the path, or begin a new store with --create.'),
  });
  expect(existsSync(production)).toBe(false);
  const begun = join(folder, 'begun');
  expect((await migrate('deploy', begun, '--create')).out).toContain(`deployed ${name}\n`);
  await (await openAdmin({ path: production })).close();
  const pending = await migrate('status', production);
  expect(pending).toMatchObject({ code: 1, out: `${name}  pending\n` });
  expect(JSON.parse((await migrate('deploy', production, '--json')).out)).toMatchObject({
    applied: [name],
    done: ['create-namespace:shop', 'create-table:notes', 'create-table:shop:crm'],
    status: { upToDate: true, drift: [] },
  });
  expect((await migrate('deploy', production)).out).toBe('No migration is pending.\n');
  expect((await run('schema', 'history', production)).out).toContain(`  of ${name}  by `);
});

test('drift ends status and deploy with exit code 1', async () => {
  await migrate('dev', store);
  {
    await using admin = await openAdmin({ path: store });
    const notes = await admin.admin.getDescriptor('notes');
    const families = notes.families.map((family) => ({ ...family, versions: 4 }));
    await admin.admin.modifyTable({ ...notes, families });
  }
  const status = await migrate('status', store);
  expect(status.code).toBe(1);
  expect(status.out).toContain('drift versions:notes/n  ');
  expect(status.out).not.toContain('up to date');
  expect(await migrate('deploy', store)).toMatchObject({ code: 1 });
  const told = JSON.parse((await migrate('status', store, '--json')).out);
  expect(told).toMatchObject({
    upToDate: false,
    drift: ['versions:notes/n', 'compact:notes/n'].slice(0, told.drift.length),
  });
});

test('schema check holds the declarations against the last migration', async () => {
  const empty = await run('schema', 'check', MODULE, folder);
  expect([empty.code, empty.err]).toEqual([
    1,
    expect.stringContaining('has no migration. Make one with rowan migrate dev'),
  ]);
  await migrate('dev', store, '--create-only');
  expect(existsSync(join(store, 'MANIFEST'))).toBe(false);
  const [name] = readdirSync(dir) as [string];
  expect(await run('schema', 'check', MODULE, dir)).toEqual({
    code: 0,
    out: `The declarations are those of the last migration, ${name}. No table was read.\n`,
    err: '',
  });
  const file = join(dir, name, 'schema.json');
  writeFileSync(file, readFileSync(file, 'utf8').replace('"compression": "SNAPPY"', '"compression": "GZ"'));
  const changed = await run('schema', 'check', MODULE, dir);
  expect(changed.code).toBe(1);
  expect(changed.err).toContain('make a migration with rowan migrate dev');
  const snapshot = await run('schema', 'check', MODULE, dir, '--snapshot');
  expect([snapshot.code, snapshot.err]).toEqual([1, expect.stringContaining('is a folder of migrations')]);
});

test('a migration tells of declarations: dev compares no table, and no row is known', async () => {
  const made = await migrate('dev', store, '--create-only');
  expect(made.out).toContain('+ create-namespace:shop  [online]\n    The namespace is newly declared.\n');
  expect(made.out).toContain('+ create-table:notes  [online]\n    The table is newly declared.\n');
  expect(made.out).not.toContain('does not exist');
});

test('a folder of migrations that does not exist is named: nothing would be deployed from it', async () => {
  await migrate('dev', store);
  const absent = join(folder, 'migratoins');
  for (const command of ['status', 'deploy', 'undo']) {
    const refused = await run('migrate', command, MODULE, store, '--dir', absent);
    expect([command, refused.code, refused.out]).toEqual([command, 1, '']);
    expect(refused.err).toContain(
      `ERR_INVALID_ARGUMENT: The folder of migrations ${absent} does not exist. Give the folder of your migrations (--dir), or make the first one with rowan migrate dev.`,
    );
  }
  mkdirSync(absent);
  const empty = await run('migrate', 'deploy', MODULE, store, '--dir', absent);
  expect([empty.code, empty.err]).toEqual([1, expect.stringContaining('but the folder does not have it')]);
  const other = join(folder, 'other');
  await (await openAdmin({ path: other })).close();
  const none = await run('migrate', 'deploy', MODULE, other, '--dir', absent);
  expect([none.code, none.out]).toEqual([1, expect.stringContaining(`There is no migration in ${absent}.`)]);
});

test('status says what to do about a migration that was changed, or whose process was killed', async () => {
  await migrate('dev', store);
  const [name] = readdirSync(dir) as [string];
  const plan = join(dir, name, 'plan.json');
  const text = readFileSync(plan, 'utf8');
  writeFileSync(plan, text.replace('"allow": []', '"allow": ["meaning"]'));
  expect((await migrate('status', store)).out).toMatch(
    / {2}changed {2}.*\nFiles are not those that were deployed\. Restore them from the repository\.\n/,
  );
  writeFileSync(plan, text);
  {
    const engine = await openEmbedded(store);
    const control = new ControlTable(engine.table('rowan_schema'));
    const [kept] = await control.migrations<object>();
    await control.change(kept!.row, kept, { ...kept!.value, state: 'running' });
    await engine.close();
  }
  const status = await migrate('status', store);
  expect(status.code).toBe(1);
  expect(status.out).toMatch(
    / {2}unfinished {2}.*\nA process ended while it deployed a migration\. rowan migrate deploy continues it\.\n/,
  );
  expect(status.out).not.toContain('Restore them');
  expect((await migrate('deploy', store)).code).toBe(0);
  expect((await migrate('status', store)).out).toContain('The database is up to date.');
});

test('status says what to do where files are missing', async () => {
  await migrate('dev', store);
  const [name] = readdirSync(dir) as [string];
  rmSync(join(dir, name), { recursive: true });
  const status = await migrate('status', store);
  expect(status.code).toBe(1);
  expect(status.out).toMatch(
    / {2}missing {2}.*\nFiles are not those that were deployed\. Restore them from the repository\.\n/,
  );
});

test('undo says what it did and what stays', async () => {
  expect((await migrate('undo', store)).code).toBe(1);
  await migrate('dev', store);
  const undone = await migrate('undo', store);
  expect(undone.out).toMatch(/^kept create-table:shop:crm: the table stays.*undone \d{14}_/s);
  expect((await migrate('undo', store)).out).toBe('No migration is deployed.\n');
  expect((await migrate('status', store)).out).toMatch(/ {2}pending\n$/);
});

test('dev and undo change a server only with --yes', async () => {
  for (const command of ['dev', 'undo']) {
    const refused = await migrate(command, 'hbase:localhost:1');
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('Add --yes')]);
  }
  expect(existsSync(dir)).toBe(false);
});

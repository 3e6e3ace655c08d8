/** `rowan seed`: the default export of a file fills a store, which `--reset` empties first. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { run } from './run.js';

const MODULE = fileURLToPath(new URL('../../build/test/cli/fixtures/entities.js', import.meta.url));
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowan-seed-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, `import { Note } from ${JSON.stringify(MODULE)};\n${text}`);
  return path;
}

test('a file fills a store; with --reset nothing of before is left', async () => {
  const store = join(folder, 'store');
  const put = (id: string): string =>
    file(
      `${id}.mjs`,
      `export default async (db) => { await db.repository(Note).put({ id: '${id}', text: 'x' }); };`,
    );
  expect(await run('seed', store, MODULE, put('a'))).toEqual({ code: 0, out: 'seeded\n', err: '' });
  expect((await run('seed', store, MODULE, put('b'))).code).toBe(0);
  const count = async (): Promise<string> => (await run('count', store, 'notes', '--no-progress')).out;
  expect(await count()).toMatch(/\b2\b/);
  const reset = await run('seed', store, MODULE, put('c'), '--reset');
  expect(reset).toMatchObject({ code: 0, out: 'emptied notes\nemptied shop:crm\nseeded\n' });
  expect(await count()).toMatch(/\b1\b/);
  expect((await run('seed', join(folder, 'new'), MODULE, put('d'), '--reset')).out).toBe('seeded\n');
});

test('what a seed throws fails the command; a file without a function and a server are refused', async () => {
  const store = join(folder, 'store');
  const failed = await run(
    'seed',
    store,
    MODULE,
    file('f.mjs', "export default () => { throw new Error('no data'); };"),
  );
  expect([failed.code, failed.err]).toEqual([1, expect.stringContaining('no data')]);
  const none = await run('seed', store, MODULE, file('n.mjs', 'export const seed = () => {};'), '--reset');
  expect([none.code, none.err]).toEqual([1, expect.stringContaining('no function as its default export')]);
  const server = await run('seed', 'hbase:localhost:1', MODULE, file('s.mjs', 'export default () => {};'));
  expect([server.code, server.err]).toEqual([1, expect.stringContaining('Add --yes')]);
});

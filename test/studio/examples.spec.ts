/** Every program of `examples/` opens in the studio: its databases are shown before the program closes them. */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Catalog } from '../../src/studio/server/api.js';
import type { Studio } from '../../src/studio/server/server.js';
import { StudioBrowser } from './chromium.js';

const BUILT = resolve(import.meta.dirname, '../../build/examples');
const HOOK = join(import.meta.dirname, 'shown-before-close.mjs');

const RECIPES = (await readdir(join(BUILT, 'cookbook'), { withFileTypes: true }))
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => `cookbook/${name}/main.js`)
  .sort();
const PROGRAMS = [
  'flights/main.js',
  'crm/main.js',
  'indexes/main.js',
  'order-models/main.js 2000',
  ...RECIPES,
];

let folder: string;
let browser: StudioBrowser;
let child: ChildProcess | undefined;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowan-examples-'));
  browser = await StudioBrowser.launch();
});

afterEach(() => {
  child?.kill();
});

afterAll(async () => {
  await browser?.close();
  await rm(folder, { recursive: true, force: true });
});

/** Looks at the tables, the diagram, the schema, and the rows of each table and entity. Returns how many entities there were. */
async function look(studio: Studio): Promise<number> {
  const page = await browser.open(studio, '#/');
  page.setDefaultTimeout(60_000);
  const { tables, entities } = (await page.evaluate(
    "fetch('/api/catalog').then((answer) => answer.json())",
  )) as Catalog;
  const shown = tables
    .filter(({ kind }) => kind !== 'system')
    .map(({ name }) => `#/table/${encodeURIComponent(name)}`);
  const hashes = ['#/', '#/diagram', '#/schema', ...shown, ...entities.map(({ name }) => `#/entity/${name}`)];
  for (const hash of hashes) {
    await page.goto(`http://127.0.0.1:${studio.port}/${hash}`);
    if (/^#\/(table|entity)/.test(hash)) await page.getByText(/^[\d,]+\+? rows? · last page/).waitFor();
    else await page.locator('main h1').waitFor();
    expect(await page.locator('main .problem').allTextContents()).toEqual([]);
  }
  await browser.leave(page);
  return entities.length;
}

describe('examples', () => {
  test.each(PROGRAMS)('%s', async (program) => {
    const [file, ...given] = program.split(' ');
    child = spawn(process.execPath, ['--import', HOOK, join(BUILT, file!), ...given], {
      cwd: folder,
      stdio: ['pipe', 'ignore', 'pipe', 'ipc'],
    });
    const told: string[] = [];
    createInterface({ input: child.stderr! }).on('line', (line) => told.push(line));
    let entities = 0;
    let looking: Promise<void> = Promise.resolve();
    child.on('message', (studio: Studio) => {
      looking = looking
        .then(() => look(studio))
        .then((count) => {
          entities += count;
          child!.send('go on');
        });
      looking.catch(() => child!.kill());
    });
    const status = await new Promise((ended) => child!.once('exit', ended));
    await looking;
    expect([status, status === 0 ? [] : told]).toEqual([0, []]);
    expect(entities).toBeGreaterThan(0);
  });
});

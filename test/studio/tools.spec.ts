/** The tools of the studio in a real browser: files, schema, checks of indexes, saved queries, code to copy. */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { parquetReadObjects } from 'hyparquet';
import type { Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Database } from '../../src/database.js';
import type { SavedQuery } from '../../src/studio/server/api.js';
import { type Studio, startStudio } from '../../src/studio/server/server.js';
import { Delete, Scan } from '../../src/table/index.js';
import { openMemory } from '../../src/testing/index.js';
import { entityHash, expectSound, StudioBrowser } from './chromium.js';
import { HOSTILE } from './entities.js';
import { saved } from './points.js';
import { Buyer, fillShop, Sale } from './shop.js';

let folder: string;
let db: Database;
let studio: Studio;
let browser: StudioBrowser;
let page: Page;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowan-studio-'));
  db = await openMemory({ entities: [Buyer, Sale] });
  await fillShop(db, 90);
  studio = await startStudio(db, { write: true, queries: join(folder, 'queries.json') });
  browser = await StudioBrowser.launch();
});

afterEach(() => browser.leave(page));

afterAll(async () => {
  await browser?.close();
  await studio?.close();
  await db?.close();
  await rm(folder, { recursive: true, force: true });
});

async function visit(hash: string): Promise<void> {
  page = await browser.open(studio, hash);
  page.setDefaultTimeout(60_000);
  await page.locator('h1').waitFor();
}

test('the rows that are shown are saved as NDJSON, CSV, Parquet and a fixture of TypeScript', async () => {
  await visit(entityHash('Sale', { key: { shop: 'main' }, limit: 3 }));
  const file = (name: string): Promise<string> =>
    saved(page, page.locator('nav.exports').getByRole('link', { name, exact: true }));
  const amounts = [88, 86, 84];
  const lines = (await file('NDJSON')).trimEnd().split('\n');
  expect(lines.map((line) => (JSON.parse(line) as Sale).amount)).toEqual(amounts);
  const rows = parse<Record<string, string>>(await file('CSV'), { columns: true });
  expect(rows.map(({ shop, amount }) => [shop, amount])).toEqual(
    amounts.map((each) => ['main', String(each)]),
  );
  const parquet = Buffer.from(await file('Parquet'), 'latin1');
  const read = await parquetReadObjects({ file: new Uint8Array(parquet).buffer });
  expect(read.map(({ amount }) => amount)).toEqual(amounts);
  const fixture = await file('TypeScript');
  expect(fixture).toMatch(/^import \{ Sale \} from/);
  expect([...fixture.matchAll(/amount: (\d+)/g)].map(([, amount]) => Number(amount))).toEqual(amounts);
});

test('the code of a query is copied', async () => {
  await visit(entityHash('Sale', { key: { shop: 'main' }, limit: 3 }));
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.getByText('explain() and TypeScript').click();
  await page.locator('.plan figure.code').first().getByRole('button', { name: 'Copy' }).click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(
    "const rows = await db.repository(Sale)\n  .find({ shop: 'main' })\n  .limit(3)\n  .all();",
  );
});

test('the schema page has the plan, the lint and the statements of the shell', async () => {
  await visit('#/schema');
  const codes = page.locator('figure.code');
  expect(await codes.first().textContent()).toContain('The tables are as declared.');
  const findings = db.schema.lint();
  expect(await page.locator('.findings li').count()).toBe(findings.length);
  expect(findings.length).toBeGreaterThan(0);
  expect(await page.locator('.findings').textContent()).toContain(findings[0]!.code);
  expect(await codes.last().textContent()).toContain("create 'shop:sales'");
});

test('an index is verified and repaired, with its progress', async () => {
  const entries = db.engine.table('shop:people_idx');
  const entry = await entries.scan(new Scan()).next();
  await entries.delete(new Delete(entry!.row));
  await visit('#/');
  const line = page.locator('.health li').filter({ hasText: 'byCity' });
  // Notes every value that the bar has: the check of a small table takes an instant.
  await page.evaluate(`{
    window.bars = [];
    new MutationObserver(() => {
      for (const bar of document.querySelectorAll('progress')) window.bars.push(bar.value);
    }).observe(document.body, { subtree: true, childList: true, attributes: true });
  }`);
  const press = async (name: string, missing: number): Promise<void> => {
    await line.getByRole('button', { name }).click();
    await expect.poll(() => line.getByRole('status').textContent()).toContain(`missing ${missing}`);
  };
  await press('Verify', 1);
  await press('Repair', 1);
  await press('Verify', 0);
  const bars = (await page.evaluate('window.bars')) as number[];
  expect(Math.max(...bars)).toBeGreaterThan(0);
  expect(await db.repository(Buyer).by('byCity').find({}, { fullScan: true }).count()).toBe(20);
  await expectSound(page);
});

test('queries are kept in a file of the project under any name, opened and removed', async () => {
  await visit('#/entity/Sale');
  await page.getByLabel('shop is', { exact: true }).fill('main');
  await page.getByLabel('limit').fill('4');
  await page.getByRole('button', { name: 'Save query' }).click();
  await page.getByLabel('Name of the query').fill(HOSTILE);
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  const link: Locator = page.locator('nav .saved a');
  await expect.poll(() => link.allTextContents()).toEqual([HOSTILE]);
  const kept = JSON.parse(await readFile(join(folder, 'queries.json'), 'utf8')) as SavedQuery[];
  expect(kept).toEqual([{ name: HOSTILE, entity: 'Sale', question: { key: { shop: 'main' }, limit: 4 } }]);
  await page.goto(`http://127.0.0.1:${studio.port}/#/`);
  await link.click();
  await expect.poll(() => page.locator('.grid-row').count()).toBe(4);
  expect(await page.evaluate('window.hacked')).toBeUndefined();
  await page.locator('.saved button').click();
  await expect.poll(() => link.count()).toBe(0);
  expect(await readFile(join(folder, 'queries.json'), 'utf8')).toBe('[]\n');
});

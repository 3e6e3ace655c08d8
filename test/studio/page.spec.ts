import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Database } from '../../src/database.js';
import { type Studio, startStudio } from '../../src/studio/server/server.js';
import { openMemory } from '../../src/testing/index.js';
import { entityHash, expectSound, picture, SIGHTS, type Sight, StudioBrowser } from './chromium.js';
import { Customer, fill, HOSTILE, Order } from './entities.js';
import { SCROLL, type Scrolled } from './scroll.js';

let db: Database;
let studio: Studio;
let browser: StudioBrowser;
let page: Page;

async function open(hash: string, sight?: Sight): Promise<void> {
  page = await browser.open(studio, hash, sight);
}

const columnTexts = (column: number): Promise<string[]> =>
  page.locator(`.grid-row .cell:nth-child(${column})`).allTextContents();

beforeAll(async () => {
  db = await openMemory({ entities: [Customer, Order] });
  await fill(db, 300);
  await db.admin.flush('shop:crm');
  studio = await startStudio(db, { place: 'data' });
  browser = await StudioBrowser.launch();
});

afterEach(() => browser.leave(page));

afterAll(async () => {
  await browser?.close();
  await studio?.close();
  await db?.close();
});

const VIEWS: Readonly<Record<string, string>> = {
  tables: '#/',
  diagram: '#/diagram',
  load: '#/load/Order',
  entity: entityHash('Order', { key: { id: 'c000007', at: { gte: '2026-01-01T00:00:00Z' } } }),
  table: '#/table/shop%3Acrm',
  raw: '#/table/shop%3Acrm?raw=1',
  schema: '#/schema',
};

describe.each(SIGHTS)('$width wide, $scheme', (sight) => {
  test.each(Object.entries(VIEWS))('%s has no fault that axe knows, and fits', async (name, hash) => {
    await open(hash, sight);
    await page.locator('h1').waitFor();
    if (/entity|table|raw/.test(name) && name !== 'tables') await page.locator('.grid-row').first().waitFor();
    if (name === 'entity') await page.locator('.piece').first().waitFor();
    await expectSound(page);
    await picture(page, name, sight);
  });
});

test('the key form shows bytes as one types, greys what cannot be asked, and its question is the address', async () => {
  await open('#/entity/Order');
  await page.locator('.grid-row').first().waitFor();
  await page.locator('.why').first().waitFor();
  expect(await page.locator('.why').first().textContent()).toContain('id before it is not given');
  expect(await page.getByLabel('at is', { exact: true }).isDisabled()).toBe(true);
  // From anywhere to the first field.
  await page.keyboard.press('/');
  await page.keyboard.type('c000007');
  await page.locator('.piece').nth(2).waitFor();
  expect(await page.locator('.piece span').allTextContents()).toEqual([
    'salt(4,over id)',
    'id:text',
    'recordType(2)',
  ]);
  expect(await page.getByLabel('at is', { exact: true }).isDisabled()).toBe(false);
  await page.keyboard.press('Enter');
  await page.waitForURL(/q=/);
  await expect.poll(() => columnTexts(1)).toEqual(['c000007', 'c000007']);
  expect(await columnTexts(3)).toEqual(['15', '14']);
  await page.goBack();
  await expect.poll(async () => (await columnTexts(1)).length).toBeGreaterThan(10);
  await page.goForward();
  await expect.poll(() => columnTexts(1)).toEqual(['c000007', 'c000007']);
});

test('keys move over rows, open one, go back and to the tables', async () => {
  await open('#/entity/Customer');
  await page.locator('.grid-row').first().waitFor();
  const names = await columnTexts(1);
  await page.keyboard.press('j');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.locator('dl.values').waitFor();
  expect(await page.locator('dl.values dd').first().textContent()).toBe(names[2]);
  await page.getByRole('link', { name: 'Order → Order, many' }).waitFor();
  await page.keyboard.press('Escape');
  await page.locator('.grid-row').first().waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('t');
  await page.getByRole('heading', { name: /^Tables/ }).waitFor();
});

test('a row shows its versions, its tombstones and nested values, and leads to others', async () => {
  await open(entityHash('Customer', { key: { id: 'c000001' } }));
  await page.locator('.grid-row').first().click();
  await page.locator('table.cells').waitFor();
  const cells = await page.locator('table.cells').textContent();
  expect(cells).toContain('Another name');
  expect(cells).toContain('Name 1');
  expect(await page.locator('.tree').first().textContent()).toContain('tags');
  await page.getByRole('link', { name: 'Order → Order, many' }).click();
  await expect.poll(() => columnTexts(1)).toEqual(['c000001', 'c000001']);
});

test('hostile content is text, in the list, in its row and as HBase has it; what cannot be decoded hides nothing', async () => {
  for (const hash of [
    entityHash('Customer', { key: { id: HOSTILE } }),
    '#/table/shop%3Acrm?from=n',
    '#/table/shop%3Acrm?from=n&raw=1',
  ]) {
    await open(hash);
    await page.locator('.grid-row').first().click();
    await page.locator('table.cells').waitFor();
    expect(await page.locator('table.cells').textContent()).toContain(HOSTILE);
    expect(await page.evaluate('window.hacked')).toBeUndefined();
    expect(await page.locator('main img, main script').count()).toBe(0);
    await page.context().close();
  }
  await open(entityHash('Order', { key: { id: 'c000003' } }));
  await expect.poll(() => columnTexts(3)).toEqual(['7', '6', '']);
  expect(await page.locator('.grid-row.bad').count()).toBe(1);
});

test('1,000,000 rows are scrolled from the first to the last', async () => {
  await using many = await openMemory({ entities: [Customer, Order] });
  const orders = many.repository(Order);
  for (let i = 0; i < 1_000_000; i += 10_000) {
    await orders.putMany(
      Array.from({ length: 10_000 }, (_, at) =>
        Object.assign(new Order(), {
          id: `c${(i + at) >> 6}`,
          at: new Date((i + at) * 1000),
          amount: i + at,
        }),
      ),
    );
  }
  const small = studio;
  studio = await startStudio(many);
  try {
    await open('#/table/shop%3Acrm');
    await page.locator('.grid-row').first().waitFor();
    const { frames, rows, nodes, heap } = (await page.evaluate(`${SCROLL}(1_000_000)`)) as Scrolled;
    console.log(
      `1,000,000 rows: frames ${JSON.stringify(frames)} ms, heap ${(heap / 2 ** 20).toFixed(1)} MiB, ${nodes} elements`,
    );
    expect(rows).toMatch(/^1,000,000 rows/);
    expect(nodes).toBeLessThan(1000);
    expect(heap).toBeLessThan(150 * 2 ** 20);
    // What was scrolled over comes back.
    await page.evaluate('document.querySelector(".grid").scrollTop = 5000');
    await expect.poll(async () => (await columnTexts(2)).every((text) => text !== '…')).toBe(true);
  } finally {
    await studio.close();
    studio = small;
  }
});

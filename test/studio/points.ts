/** What the studio shows and does (docs/studio.md), in a real browser: cases for every engine. */

import type { Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Database } from '../../src/database.js';
import { type Studio, startStudio } from '../../src/studio/server/server.js';
import { Put } from '../../src/table/index.js';
import { entityHash, StudioBrowser } from './chromium.js';
import { Customer, fill, HOSTILE, Order } from './entities.js';
import { Buyer, fillShop, Sale } from './shop.js';

/** A time before all rows were written. */
const LONG_AGO = Date.UTC(2020, 0, 1);
const SALES = 90;

export const POINT_ENTITIES = [Buyer, Sale, Customer, Order] as const;

/** Cases for tables, the key form, rows, the raw view and regions. `counts`: the engine counts bytes of families and of its cache. */
export function describePoints(open: () => Promise<Database>, counts: boolean): void {
  let db: Database;
  let studio: Studio;
  let browser: StudioBrowser;
  let page: Page;

  beforeAll(async () => {
    db = await open();
    await fillShop(db, SALES);
    await fill(db, 20);
    const { key } = db.repository(Buyer).schema;
    await db.engine
      .table('shop:people')
      .put(new Put(key.encode({ id: 'b19' })).addColumn('d', 'n', 'Buyer of old', LONG_AGO));
    for (const table of ['shop:people', 'shop:sales', 'shop:crm']) await db.admin.flush(table);
    studio = await startStudio(db, { place: 'a place' });
    browser = await StudioBrowser.launch();
  });

  afterEach(() => browser.leave(page));

  afterAll(async () => {
    await browser?.close();
    await studio?.close();
  });

  const visit = async (hash: string): Promise<void> => {
    page = await browser.open(studio, hash);
    page.setDefaultTimeout(60_000);
    await page.locator('h1').waitFor();
  };
  const card = (name: string): Locator => page.getByRole('region', { name, exact: true });
  const facts = (): Promise<string | null> => page.locator('dl.facts').textContent();
  const columnTexts = async (name: string): Promise<string[]> => {
    const heads = await page.locator('.grid-head .cell').allTextContents();
    const at = heads.findIndex((head) => head.startsWith(name));
    return page.locator(`.grid-row .cell:nth-child(${at + 1})`).allTextContents();
  };
  const show = (): Promise<void> => page.getByRole('button', { name: 'Show rows' }).click();
  const rowHash = (id: string, column = ''): string => {
    const row = Buffer.from(db.repository(Buyer).schema.key.encode({ id })).toString('hex');
    return `#/row/shop%3Apeople/${row}?${new URLSearchParams({ column })}`;
  };

  describe('1: tables and entities', () => {
    test('a table has its sizes, regions, families, record types, and the health of what is derived', async () => {
      await visit('#/');
      const sales = card('shop:sales');
      await expect.poll(() => sales.locator('.sizes').textContent()).toMatch(/^4 regions, [1-9].* on disk/);
      const families = (await sales.locator('table').textContent())!;
      expect(families).toContain('x');
      expect(families).toContain('604800 s');
      expect(families).toContain('NONE');
      expect(/[1-9][\d.]* (B|KiB)/.test(families)).toBe(counts);
      await expect
        .poll(() => sales.locator('.health li').allTextContents())
        .toEqual([
          expect.stringMatching(/^active index ref_buyer/),
          expect.stringMatching(/^active summary byShop/),
          expect.stringMatching(/^(active|behind) copies city of Buyer/),
        ]);
      expect(await card('shop:crm').textContent()).toContain('record type 2');
      expect(await card('shop:people').locator('.health li').first().textContent()).toContain('byCity');
    });

    test('the diagram has entities, relations and copies, and is saved as SVG and as Mermaid', async () => {
      await visit('#/diagram');
      expect(await page.locator('#diagram .name').allTextContents()).toEqual([
        'Buyer',
        'Sale',
        'Customer',
        'Order',
      ]);
      const svg = await saved(page, page.getByRole('button', { name: 'Save SVG' }));
      expect(svg).toMatch(/^<svg [^>]*xmlns="http:\/\/www.w3.org\/2000\/svg"/);
      expect(svg).toContain('copies city');
      // A browser draws the file, as a picture that runs nothing.
      const drawn = await page.evaluate(
        `(async () => { const image = new Image(); image.src = URL.createObjectURL(new Blob([${JSON.stringify(svg)}], { type: 'image/svg+xml' })); await image.decode(); return image.naturalWidth; })()`,
      );
      expect(drawn).toBeGreaterThan(300);
      const mermaid = await saved(page, page.getByRole('button', { name: 'Save Mermaid' }));
      expect(mermaid).toMatch(/^erDiagram\n/);
      expect(mermaid).toContain('Sale }o--|| Buyer : "who"');
      expect(mermaid).toContain('Buyer ||..o{ Sale : "copies city"');
      expect(mermaid).toMatch(/ {2}Sale \{\n {4}text shop PK\n/);
    });
  });

  describe('2: the key form', () => {
    test('names bytes, ranges and fan-out while one types, explains, and says what cannot be asked', async () => {
      await visit('#/entity/Sale');
      const at = page.getByLabel('at is', { exact: true });
      await page.locator('.why').waitFor();
      expect(await at.isDisabled()).toBe(true);
      expect(await page.locator('.why').textContent()).toContain('shop before it is not given');
      await expect.poll(facts).toMatch(/ranges4.*fan-out4/);
      await page.keyboard.press('/');
      await page.keyboard.type('main');
      await expect.poll(facts).toMatch(/ranges1.*fan-out1/);
      expect(await at.isDisabled()).toBe(false);
      const pieces = page.locator('.piece');
      expect(await pieces.locator('span').allTextContents()).toEqual(['salt(4,over shop)', 'shop:text']);
      const colors = await styles(pieces, 'backgroundColor');
      expect(new Set(colors).size).toBe(2);
      await pieces.nth(1).hover();
      await expect.poll(() => page.locator('.about').textContent()).toContain('6d61696e');
      // The terminator stands apart.
      expect(await pieces.nth(1).locator('i').textContent()).toBe('\\x00\\x01');
      await page.getByLabel('at: how it is asked for').selectOption('range');
      await page.getByLabel('at from', { exact: true }).fill('2026-01-01T00:10:00Z');
      await page.getByLabel('at to', { exact: true }).fill('2026-01-01T00:20:00Z');
      await expect.poll(() => page.locator('.ranges').textContent()).toContain('main\\x00');
      await page.getByText('explain() and TypeScript').click();
      const codes = page.locator('.plan figure.code');
      await expect.poll(() => codes.nth(1).textContent()).toContain('range on shop:sales for Sale');
      expect(await codes.nth(0).textContent()).toContain('db.repository(Sale)');
      await show();
      // Of each second minute one is of the main shop; the newest comes first.
      await expect.poll(() => columnTexts('amount')).toEqual(['18', '16', '14', '12', '10']);
      await at.or(page.getByLabel('at from', { exact: true })).fill('no date');
      await expect.poll(() => page.locator('.plan .problem').textContent()).toContain('no date');
    });

    test('takes conditions on columns, an order and a limit, and they are in the address', async () => {
      await visit(entityHash('Sale', { key: { shop: 'main' } }));
      await page.getByRole('button', { name: 'Condition on a column' }).click();
      await page.getByLabel('Column', { exact: true }).selectOption('amount');
      await page.getByLabel('Operator').selectOption('gte');
      await page.getByLabel('Value').fill('80');
      await show();
      await expect.poll(() => columnTexts('amount')).toEqual(['88', '86', '84', '82', '80']);
      await page.getByLabel('order').selectOption('reverse');
      await page.getByLabel('limit').fill('2');
      await show();
      await expect.poll(() => columnTexts('amount')).toEqual(['80', '82']);
      const { hash } = new URL(page.url());
      expect(JSON.parse(new URLSearchParams(hash.split('?')[1]).get('q')!)).toEqual({
        key: { shop: 'main' },
        where: [{ property: 'amount', operator: 'gte', value: '80' }],
        reverse: true,
        limit: 2,
      });
      await page.reload();
      await expect.poll(() => columnTexts('amount')).toEqual(['80', '82']);
    });

    test('reads through an index, and as of a time', async () => {
      await visit('#/entity/Buyer');
      await page.getByLabel('through').selectOption('byCity');
      await page.getByLabel('city is', { exact: true }).fill('Lund');
      await show();
      await expect.poll(() => columnTexts('id')).toEqual(['b1', 'b10', 'b13', 'b16', 'b19', 'b4', 'b7']);
      await page.getByRole('button', { name: 'Clear' }).click();
      await page.getByLabel('id is', { exact: true }).fill('b19');
      await show();
      await expect.poll(() => columnTexts('name')).toEqual(['Buyer 19']);
      await page.getByLabel('as of (UTC)').fill('2021-01-01T00:00:00');
      await show();
      await expect.poll(() => columnTexts('name')).toEqual(['Buyer of old']);
    });
  });

  describe('3: rows', () => {
    test('record types of a table stand interleaved in the order of the key, each in its color', async () => {
      await visit('#/table/shop%3Acrm');
      await page.locator('.grid-row').first().waitFor();
      const entities = await columnTexts('entity');
      const pattern = /(Customer,Order,Order,?)+/;
      expect(entities.filter((each) => each !== 'unknown').join(',')).toMatch(pattern);
      const names = page.locator('.grid-row .cell.entity');
      const colors = await styles(names, 'color');
      const both = (await names.allTextContents()).map((name, at) => `${name} ${colors[at]}`);
      expect([new Set(both).size, new Set(colors).size]).toEqual([2, 2]);
    });

    test('a row has types, codecs, times, the time that is left, trees of JSON and of Avro with their types', async () => {
      await visit(
        entityHash('Sale', {
          key: { shop: 'main' },
          where: [{ property: 'note', operator: 'eq', value: 'gift' }],
          limit: 1,
        }),
      );
      await page.locator('.grid-row').first().click();
      const cells = page.locator('table.cells');
      await cells.waitFor();
      expect(await cells.textContent()).toMatch(/x:nnote\d{4}-\d\d-\d\d [\d:.]+(6\.\d|7) d more4gift/);
      const values = (await page.locator('dl.values').textContent())!;
      expect(values).toMatch(/amountint32, 4 bytes, \d{4}/);
      expect(values).toMatch(/weight double/);
      expect(values).toMatch(/items array.*Item.*sku string.*count int/);
      await page.getByRole('link', { name: 'who → Buyer' }).click();
      await expect.poll(() => columnTexts('id')).toHaveLength(1);
      await page.locator('.grid-row').first().click();
      expect(await page.locator('.tree').first().textContent()).toMatch(/tags array/);
      await page.goBack();
      await page.goBack();
      await cells.waitFor();
      expect(await page.locator('h1').textContent()).toContain('Sale');
      await page.goForward();
      await expect.poll(() => columnTexts('id')).toHaveLength(1);
    });

    test('bytes are shown as a picture, as hexadecimal digits and as text', async () => {
      await visit(rowHash('b3', 'd:p'));
      const versions = page.locator('section.versions');
      await versions.locator('img').waitFor();
      const drawn = '[...document.images].every((image) => image.complete && image.naturalWidth === 1)';
      await expect.poll(() => page.evaluate(drawn)).toBe(true);
      await versions.getByRole('button', { name: 'hex' }).click();
      expect(await versions.locator('pre').textContent()).toMatch(/^000000 {2}89 50 4e 47 0d 0a 1a 0a/);
      await versions.getByRole('button', { name: 'text' }).click();
      expect(await versions.locator('pre').textContent()).toContain('PNG');
    });

    test('versions of a cell stand on a line of time with their differences', async () => {
      await visit(rowHash('b1', 'd:n'));
      const versions = page.locator('section.versions');
      await versions.waitFor();
      expect(await versions.locator('.time-line span').count()).toBe(3);
      const items = versions.locator('.version-list li');
      expect(await items.nth(0).locator('del').textContent()).toBe('one');
      expect(await items.nth(0).locator('ins').textContent()).toBe('No 1');
      expect(await items.nth(1).locator('ins').textContent()).toBe('one');
    });

    test('columns are chosen, and made wider', async () => {
      await visit('#/entity/Sale');
      await page.locator('.grid-row').first().waitFor();
      await page.getByText('Columns', { exact: true }).click();
      await page.locator('.column-choice').getByLabel('note').uncheck();
      const heads = page.locator('.grid-head .cell');
      expect((await heads.allTextContents()).some((head) => head.startsWith('note'))).toBe(false);
      const before = (await heads.first().boundingBox())!;
      await page.mouse.move(before.x + before.width - 3, before.y + 10);
      await page.mouse.down();
      await page.mouse.move(before.x + before.width + 57, before.y + 10);
      await page.mouse.up();
      await expect
        .poll(async () => (await heads.first().boundingBox())!.width)
        .toBeCloseTo(before.width + 60, 0);
      const cell = (await page.locator('.grid-row .cell').first().boundingBox())!;
      expect(cell.width).toBeCloseTo(before.width + 60, 0);
    });
  });

  test('4: the raw view has bytes, versions and tombstones beside what is decoded, and lost rows hide none', async () => {
    await visit('#/table/shop%3Acrm?raw=1');
    await page.locator('.grid-row').first().waitFor();
    const cells = (await columnTexts('cells')).join('\n');
    expect(cells).toMatch(/d:n @\d+ = Another name {3}d:n @\d+ = Name 1/);
    expect(cells).toMatch(/Delete(Family|Column)/);
    const rows = await columnTexts('row');
    expect(rows.some((row) => /\\x[0-9A-F]{2}/.test(row))).toBe(true);
    const decoded = await columnTexts('decoded');
    expect(decoded.find((text) => text.includes('Another name'))).toContain('id c000001');
    const bad = page.locator('.grid-row.bad');
    await page.locator('.grid').evaluate((grid) => {
      grid.scrollTop = grid.scrollHeight;
    });
    await expect.poll(() => bad.allTextContents()).toContainEqual(expect.stringContaining('no such row'));
    expect(await page.locator('.grid-row:not(.bad)').count()).toBeGreaterThan(5);
    // Markup in names of columns is text, too.
    await visit('#/table/shop%3Acrm?raw=1&from=no%20such');
    await expect.poll(async () => (await columnTexts('cells')).join('')).toContain(HOSTILE);
    await page.locator('.grid-row').first().click();
    await page.getByRole('button', { name: `d:${HOSTILE}` }).click();
    await page.locator('section.versions').waitFor();
    expect(await page.evaluate('window.hacked')).toBeUndefined();
    expect(await page.locator('main img, main script').count()).toBe(0);
  });

  describe('5: where it lives', () => {
    test('regions are a bar with their split points; a click begins at one', async () => {
      await visit('#/table/shop%3Asales');
      const regions = page.locator('nav.regions button');
      await regions.nth(3).waitFor();
      const codes = await regions.locator('code').allTextContents();
      expect(codes).toEqual(['(start)', '\\x01', '\\x02', '\\x03']);
      expect(await regions.first().getAttribute('title')).toMatch(
        /\d+ files, .* on disk.*\n\d+ reads, \d+ writes/,
      );
      const widths = (await styles(regions, 'flexGrow')).map(Number);
      // HBase tells sizes in whole MiB: those of these regions are the same.
      expect(Math.max(...widths) > Math.min(...widths)).toBe(counts);
      await regions.nth(2).click();
      await page.waitForURL(/from=%5Cx02/);
      await expect.poll(async () => (await columnTexts('row'))[0]).toMatch(/^\\x0[23]/);
    });

    test('the heat map names the hot spot, each region has its files and load, and counters are plotted', async () => {
      await visit('#/load/Sale');
      const heat = card('Rows of Sale');
      await heat.waitFor();
      expect(await heat.textContent()).toContain(`${SALES} rows`);
      expect(await heat.textContent()).toMatch(/a hot spot\. 50 % of them have shop main/);
      const darkest = heat.locator('td[title="shop main: 45 rows"] .heat-cell');
      expect(await styles(darkest, 'opacity')).toEqual(['1']);
      const line = page.getByRole('region', { name: 'Regions of shop:sales' }).locator('tbody tr');
      expect(await line.count()).toBe(4);
      const plots = page.locator('.plots figcaption');
      await expect.poll(() => plots.first().textContent()).toMatch(/Writes a second [\d,.]+$/);
      const names = await plots.allTextContents();
      expect(names.map((name) => name.replace(/ [–\d].*$/, ''))).toEqual([
        'Writes a second',
        'Reads a second',
        'In memory',
        ...(counts ? ['Flushed', 'Compacted', 'Found in the block cache'] : []),
      ]);
      await db.repository(Order).put({ id: 'c000001', at: new Date(7), amount: 7 });
      await db.admin.flush('shop:crm');
      await expect.poll(() => page.locator('.plots canvas').count()).toBe(names.length);
    });
  });
}

/** A property of the style of each element. */
const styles = (elements: Locator, name: string): Promise<string[]> =>
  elements.evaluateAll((all, property) => {
    const { getComputedStyle } = globalThis as unknown as {
      getComputedStyle(element: unknown): Readonly<Record<string, string>>;
    };
    return all.map((each) => getComputedStyle(each)[property]!);
  }, name);

/** The text of the file that a click saves. */
export async function saved(page: Page, link: Locator): Promise<string> {
  const [download] = await Promise.all([page.waitForEvent('download'), link.click()]);
  const chunks: Buffer[] = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('latin1');
}

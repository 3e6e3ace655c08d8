/** What changes while one looks, in a real browser: writes and their way back, the feed, the versions of a cell. */

import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Database } from '../../src/database.js';
import { type Studio, startStudio } from '../../src/studio/server/server.js';
import { openMemory } from '../../src/testing/index.js';
import { entityHash, expectSound, picture, SIGHTS, StudioBrowser } from './chromium.js';
import { Buyer, fillShop, Sale } from './shop.js';

let db: Database;
let studio: Studio;
let browser: StudioBrowser;
let page: Page;

const nameOf = async (id: string): Promise<string | undefined> =>
  (await db.repository(Buyer).get({ id }))?.name;

const rowHash = (id: string, given: Readonly<Record<string, string>> = {}): string => {
  const row = Buffer.from(db.repository(Buyer).schema.key.encode({ id })).toString('hex');
  return `#/row/shop%3Apeople/${row}?${new URLSearchParams(given)}`;
};

const saleRow = (): string =>
  Buffer.from(
    db.repository(Sale).schema.key.encode({ shop: 'main', at: new Date(Date.UTC(2026, 0, 1)) }),
  ).toString('hex');

/** Types what has to be typed, which the page names, and writes. */
async function confirm(): Promise<void> {
  const write = page.getByRole('button', { name: 'Write', exact: true });
  expect(await write.isDisabled()).toBe(true);
  const wanted = await page.locator('.typed kbd').textContent();
  await page.locator('.typed input').fill(`${wanted}x`);
  expect(await write.isDisabled()).toBe(true);
  await page.locator('.typed input').fill(wanted!);
  await write.click();
  await page.locator('.last-write').waitFor();
}

beforeAll(async () => {
  db = await openMemory({ entities: [Buyer, Sale] });
  await fillShop(db, 90);
  studio = await startStudio(db, { write: true, place: 'data' });
  browser = await StudioBrowser.launch();
});

afterEach(() => browser.leave(page));

afterAll(async () => {
  await browser?.close();
  await studio?.close();
  await db?.close();
});

test('a value that is not shown whole cannot be edited, so that its end is not lost', async () => {
  await db.repository(Buyer).update({ id: 'b7' }, { name: 'n'.repeat(70_000) });
  page = await browser.open(studio, rowHash('b7', { edit: '1' }));
  const name = page.getByLabel('name', { exact: false }).first();
  await expect.poll(() => name.isDisabled()).toBe(true);
  expect(await page.locator('label[for=write-name]').textContent()).toContain('not shown whole');
  expect(await page.getByLabel('city', { exact: false }).first().isDisabled()).toBe(false);
  await db.repository(Buyer).update({ id: 'b7' }, { name: 'Short' });
});

test('an edit is previewed with its index entries, made when its name was typed, and taken back', async () => {
  page = await browser.open(studio, rowHash('b3', { edit: '1' }));
  await page.getByLabel('city', { exact: false }).first().fill('Kiruna');
  await page.getByRole('button', { name: 'Preview the edit' }).click();
  const mutations = page.locator('table.mutations');
  await mutations.waitFor();
  expect(await mutations.textContent()).toContain('Kiruna');
  expect(await mutations.textContent()).toContain('shop:people_idx');
  expect(await page.locator('main').textContent()).toContain(
    'These are all mutations of the write. Such a write keeps up to date: entries of the index byCity; ',
  );
  expect((await db.repository(Buyer).get({ id: 'b3' }))?.city).toBe('Uppsala');
  await confirm();
  await expect.poll(async () => (await db.repository(Buyer).get({ id: 'b3' }))?.city).toBe('Kiruna');
  expect(await db.repository(Buyer).by('byCity').find({ city: 'Kiruna' }).count()).toBe(1);
  await page.getByRole('button', { name: 'Undo' }).click();
  await expect.poll(async () => (await db.repository(Buyer).get({ id: 'b3' }))?.city).toBe('Uppsala');
  await expect.poll(() => page.locator('.last-write').textContent()).toContain('taken back');
});

test('an edit is refused when the row has changed since it was previewed, and nothing is written', async () => {
  page = await browser.open(studio, rowHash('b4', { edit: '1' }));
  await page.getByLabel('name', { exact: false }).first().fill('From the page');
  await page.getByRole('button', { name: 'Preview the edit' }).click();
  await page.locator('table.mutations').waitFor();
  await db.repository(Buyer).update({ id: 'b4' }, { name: 'From elsewhere' });
  await page.locator('.typed input').fill((await page.locator('.typed kbd').textContent())!);
  await page.getByRole('button', { name: 'Write', exact: true }).click();
  await page.locator('.problem').waitFor();
  expect(await nameOf('b4')).toBe('From elsewhere');
  // The console names the refused request.
  expect(browser.takeTroubles()).toEqual([expect.stringContaining('422')]);
});

test('an insert leads to its row, and a delete back to the entity', async () => {
  page = await browser.open(studio, '#/insert/Buyer');
  await page.getByLabel('id', { exact: false }).first().fill('new');
  await page.getByLabel('name', { exact: false }).first().fill('A new buyer');
  await page.getByRole('button', { name: 'Preview the insert' }).click();
  await page.locator('table.mutations').waitFor();
  expect(await nameOf('new')).toBeUndefined();
  await confirm();
  await page.locator('dl.values').waitFor();
  expect(await nameOf('new')).toBe('A new buyer');
  await page.getByRole('link', { name: 'Edit or delete' }).click();
  await page.getByRole('button', { name: 'Preview the delete' }).click();
  await page.locator('table.mutations').waitFor();
  await confirm();
  await page.waitForURL(/#\/entity\/Buyer/);
  expect(await nameOf('new')).toBeUndefined();
  await page.getByRole('button', { name: 'Undo' }).click();
  await expect.poll(() => nameOf('new')).toBe('A new buyer');
});

test('without --write no page offers a write', async () => {
  const reading = await startStudio(db);
  try {
    for (const hash of [rowHash('b1'), rowHash('b1', { edit: '1' }), '#/entity/Buyer', '#/insert/Buyer']) {
      page = await browser.open(reading, hash);
      await page.locator('h1, .problem').first().waitFor();
      expect(await page.locator('.confirmed, .write-fields').count()).toBe(0);
      expect(await page.getByRole('link', { name: /^(Insert|Edit)/ }).count()).toBe(0);
      await page.context().close();
    }
  } finally {
    await reading.close();
  }
});

test('the feed shows changes with what was before, pauses, and goes on', async () => {
  page = await browser.open(studio, '#/live/Buyer');
  await expect.poll(() => page.locator('.status').textContent()).toMatch(/^Watching/);
  await expect
    .poll(async () => {
      await db.repository(Buyer).update({ id: 'b5' }, { city: 'Lund' });
      await db.repository(Buyer).update({ id: 'b5' }, { city: 'Visby' });
      return page.locator('ol.live li').count();
    })
    .toBeGreaterThan(1);
  const told = page.locator('ol.live li').first();
  expect(await told.textContent()).toContain('b5');
  expect(await told.locator('del, ins').count()).toBeGreaterThan(0);
  await page.getByRole('button', { name: 'Pause' }).click();
  await expect.poll(() => page.locator('.status').textContent()).toMatch(/^Paused/);
  await page.getByRole('button', { name: 'Clear' }).click();
  await db.repository(Buyer).update({ id: 'b5' }, { city: 'Uppsala' });
  expect(await page.locator('ol.live li').count()).toBe(0);
  await page.getByRole('button', { name: 'Go on' }).click();
  await expect.poll(() => page.locator('.status').textContent()).toMatch(/^Watching/);
});

test('the versions of a cell stand on a line of time, each with its difference', async () => {
  page = await browser.open(studio, rowHash('b1'));
  await page.getByRole('button', { name: 'd:j', exact: true }).first().click();
  const versions = page.locator('section.versions');
  await versions.waitFor();
  await page.waitForURL(/column=d%3Aj/);
  expect(await versions.locator('.time-line span').count()).toBe(2);
  const newest = versions.locator('.version-list li').first();
  expect(await newest.locator('del').allTextContents()).toEqual(['"b"', '1']);
  expect(await newest.locator('ins').allTextContents()).toEqual(['"c"', '7']);
});

test('a value of 10 MB is cut on the page and whole when it is saved', async () => {
  page = await browser.open(studio, rowHash('b2', { column: 'd:large' }));
  const versions = page.locator('section.versions');
  await versions.waitFor();
  const shown = (await versions.locator('pre').textContent())!;
  expect(shown.length).toBeLessThan(100_000);
  expect(shown).toMatch(/…$/);
  expect(await page.locator('main b').filter({ hasText: '<b>' }).count()).toBe(0);
  const [saved] = await Promise.all([
    page.waitForEvent('download'),
    versions.getByRole('link', { name: 'Save' }).click(),
  ]);
  let bytes = 0;
  for await (const chunk of await saved.createReadStream()) bytes += (chunk as Buffer).length;
  expect(bytes).toBe(10_000_000);
});

describe.each(SIGHTS)('$width wide, $scheme', (sight) => {
  /** By name: the address, and what is done before the view is looked at. */
  const VIEWS: Readonly<Record<string, readonly [hash: () => string, act?: () => Promise<unknown>]>> = {
    'a row': [() => rowHash('b1', { column: 'd:j' })],
    'a row with Avro': [() => `#/row/shop%3Asales/${saleRow()}`],
    'a row that is edited': [() => rowHash('b1', { edit: '1' })],
    'a write that is previewed': [
      () => rowHash('b1', { edit: '1' }),
      async () => {
        await page.getByLabel('city', { exact: false }).first().fill('Kiruna');
        await page.getByRole('button', { name: 'Preview the edit' }).click();
        await page.locator('table.mutations').waitFor();
        await page.locator('.typed').scrollIntoViewIfNeeded();
      },
    ],
    'an insert': [() => '#/insert/Sale'],
    'the feed': [
      () => '#/live/Buyer',
      async () => {
        await expect.poll(() => page.locator('.status').textContent()).toMatch(/^Watching/);
        await expect
          .poll(async () => {
            await db.repository(Buyer).update({ id: 'b6' }, { city: 'Lund' });
            await db.repository(Buyer).update({ id: 'b6' }, { city: 'Visby' });
            return page.locator('ol.live li').count();
          })
          .toBeGreaterThan(2);
      },
    ],
    'rows with pictures': [() => entityHash('Buyer', {})],
    'the heat map': [
      () => '#/load/Sale',
      async () => {
        await page.locator('table.heat').waitFor();
        await expect.poll(() => page.locator('.plots figcaption').nth(2).textContent()).not.toMatch(/–$/);
      },
    ],
    'health and checks': [
      () => '#/',
      async () => {
        await page.getByRole('button', { name: 'Verify' }).first().click();
        await expect.poll(() => page.locator('.check').first().textContent()).toContain('missing 0');
      },
    ],
    'the choice of columns': [
      () => entityHash('Sale', {}),
      () => page.getByText('Columns', { exact: true }).click(),
    ],
    'the keys': [() => '#/', () => page.keyboard.press('?')],
  };

  test.each(Object.entries(VIEWS))('%s has no fault that axe knows, and fits', async (name, [hash, act]) => {
    page = await browser.open(studio, hash(), sight);
    await page.locator('h1').waitFor();
    await page.locator('dl.values, .write-fields, .status, .grid-row, .card').first().waitFor();
    await act?.();
    await expectSound(page);
    await picture(page, name, sight);
  });
});

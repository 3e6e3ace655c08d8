/**
 * `npm run bench:studio [-- --rows N] [--rounds N] [--json FILE] [--merge FILE]`: the studio's page in Chromium over a table of a million rows. The first
 * view of a table and of an entity, from the click to the first frame that has rows, with goal 300 ms. Then a scroll from the first row to
 * the last: frames, with goal 50 ms of 95 in 100, and the heap of the page behind it, with goal 150 MiB. Lower is better. Ends with
 * status 1 when a goal is missed.
 */

import { chromium, type Page } from 'playwright-core';
import { startStudio } from '../../../src/studio/server/server.js';
import { openMemory } from '../../../src/testing/index.js';
import { Customer, Order } from '../../studio/entities.js';
import { SCROLL, type Scrolled } from '../../studio/scroll.js';
import { median, report, toRow } from '../harness.js';

const ROWS = Number(optionOf('--rows') ?? 1_000_000);
const ROUNDS = Number(optionOf('--rounds') ?? 20);

function optionOf(name: string): string | undefined {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
}

/** One figure beside its goal. */
interface Figure {
  readonly row: string;
  readonly unit: string;
  readonly value: number;
  readonly goal: number;
}

/**
 * Runs in the page: clicks a link of the navigation, and waits for the frame that shows rows of the view. The time is from the click to
 * behind that frame: the task of a message runs when it was drawn.
 */
const FIRST_VIEW = `(async (text) => {
  const link = [...document.querySelectorAll('nav a')].find((each) => each.textContent === text);
  const began = performance.now();
  link.click();
  for (;;) {
    await new Promise(requestAnimationFrame);
    const title = document.querySelector('h1')?.firstChild?.textContent;
    if (title === text && document.querySelector('.grid-row .cell:not(.null)') !== null) break;
  }
  await new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = resolve;
    port2.postMessage(0);
  });
  return performance.now() - began;
})`;

const BACK = `(async () => {
  location.hash = '#/';
  do await new Promise(requestAnimationFrame); while (document.querySelector('.grid') !== null);
})()`;

async function firstViews(page: Page, name: string): Promise<number[]> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    times.push((await page.evaluate(`${FIRST_VIEW}(${JSON.stringify(name)})`)) as number);
    await page.evaluate(BACK);
  }
  return times;
}

async function main(): Promise<void> {
  await using db = await openMemory({ entities: [Customer, Order] });
  const orders = db.repository(Order);
  for (let i = 0; i < ROWS; i += 10_000)
    await orders.putMany(
      Array.from({ length: Math.min(10_000, ROWS - i) }, (_, at) =>
        Object.assign(new Order(), {
          id: `c${(i + at) >> 6}`,
          at: new Date((i + at) * 1000),
          amount: i + at,
        }),
      ),
    );
  await db.admin.flush('shop:crm');
  await using studio = await startStudio(db);
  const browser = await chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--enable-precise-memory-info', '--js-flags=--expose-gc'],
  });
  const figures: Figure[] = [];
  try {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    const page = await context.newPage();
    await page.goto(studio.url);
    await page.locator('nav a.table').first().waitFor();
    for (const name of ['shop:crm', 'Order']) {
      const [first, ...others] = await firstViews(page, name);
      const what = name === 'Order' ? 'an entity' : 'a table';
      figures.push({ row: `first view of ${what}, the first time`, unit: 'ms', value: first!, goal: 300 });
      figures.push({ row: `first view of ${what}, median`, unit: 'ms', value: median(others), goal: 300 });
      figures.push({
        row: `first view of ${what}, slowest`,
        unit: 'ms',
        value: Math.max(...others),
        goal: 300,
      });
    }
    await page.goto(`http://127.0.0.1:${studio.port}/#/table/shop%3Acrm`);
    await page.locator('.grid-row').first().waitFor();
    const scrolled = (await page.evaluate(`${SCROLL}(${ROWS})`)) as Scrolled;
    const { frames, heap } = scrolled;
    figures.push({ row: `scroll of ${ROWS} rows, frame p95`, unit: 'ms', value: frames.p95, goal: 50 });
    figures.push({ row: 'heap of the page behind it', unit: 'MiB', value: heap / 2 ** 20, goal: 150 });
    console.log(`frames ${JSON.stringify(frames)}, ${scrolled.nodes} elements, ${scrolled.rows}`);
  } finally {
    await browser.close();
  }
  for (const { row, unit, value, goal } of figures)
    console.log(
      `${value <= goal ? 'ok    ' : 'MISSED'} ${row}: ${value.toFixed(1)} ${unit} (goal ${goal}, ratio ${(value / goal).toFixed(2)})`,
    );
  report(figures.map(({ row, unit, value, goal }) => toRow(row, unit, { rowan: value, goal })));
  process.exitCode = figures.every(({ value, goal }) => value <= goal) ? 0 : 1;
}

await main();

/**
 * The built site (site/dist) in Chromium: no page is wider than the window, every diagram is drawn in light and dark, search
 * finds pages, hovers show types, the reference has every entry, and nothing is asked of another host.
 * ROWAN_SCREENSHOTS=folder keeps pictures of some pages.
 */

import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { extname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { filesBelow } from '../proof/files-below.js';

/** What is used of playwright-core, which the site's own folder has. */
interface Page {
  goto(url: string): Promise<unknown>;
  evaluate<T>(script: string): Promise<T>;
  waitForFunction(script: string): Promise<unknown>;
  screenshot(options: { path: string }): Promise<unknown>;
  on(event: 'pageerror', listener: (error: Error) => void): void;
  on(event: 'console', listener: (message: { type(): string; text(): string }) => void): void;
  on(event: 'request', listener: (request: { url(): string }) => void): void;
  click(selector: string): Promise<void>;
  fill(selector: string, text: string): Promise<void>;
  hover(selector: string): Promise<void>;
  waitForSelector(selector: string): Promise<unknown>;
  textContent(selector: string): Promise<string | null>;
  selectOption(selector: string, label: { label: string }): Promise<unknown>;
  waitForURL(url: string): Promise<void>;
  setViewportSize(size: { width: number; height: number }): Promise<void>;
  emulateMedia(options: { colorScheme: 'light' | 'dark' }): Promise<void>;
  route(
    url: string,
    handler: (route: { fulfill(answer: { json: unknown }): unknown }) => unknown,
  ): Promise<void>;
  close(): Promise<void>;
}
interface Browser {
  newPage(options: {
    viewport: { width: number; height: number };
    colorScheme: 'light' | 'dark';
  }): Promise<Page>;
  close(): Promise<void>;
}
interface Playwright {
  chromium: { launch(options: { executablePath: string; args: string[] }): Promise<Browser> };
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const DIST = join(ROOT, 'site/dist');
const HTML = filesBelow(DIST).filter(
  (name) => name.endsWith('.html') && name !== '404.html' && !/^v\d/.test(name),
);
const PAGES = HTML.filter((name) => !name.startsWith('reference/'));
const REFERENCE = HTML.filter((name) => name.startsWith('reference/'));
const WIDTHS = [1280, 390] as const;
const HEIGHT = 900;
const SHOWN = ['index.html', 'keys.html', 'cookbook/08-orders.html'];
const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  exports: Record<string, string | { types?: string }>;
};
/** The pages of the reference that stand for an entry of the package. */
const ENTRIES = Object.entries(exports).flatMap(([path, target]) =>
  typeof target === 'object' && target.types !== undefined
    ? [`reference/modules/rowan-orm${path.slice(1).replaceAll('/', '_')}.html`]
    : [],
);
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
};

let server: Server;
let browser: Browser;
let address: string;

beforeAll(async () => {
  server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url!, 'http://localhost').pathname);
    readFile(join(DIST, path.endsWith('/') ? `${path}index.html` : path)).then(
      (bytes) => response.setHeader('content-type', TYPES[extname(path)] ?? 'text/html').end(bytes),
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { chromium } = createRequire(join(ROOT, 'site/package.json'))('playwright-core') as Playwright;
  const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find(existsSync);
  if (executablePath === undefined) throw new Error('No Chromium: run test/browser/install-chromium.sh.');
  browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
});

afterAll(async () => {
  await browser.close();
  server.close();
});

/** A page that notes its errors, and what it asks of other hosts. */
async function openPage(width: number, colorScheme: 'light' | 'dark' = 'light') {
  const page = await browser.newPage({ viewport: { width, height: HEIGHT }, colorScheme });
  const wrong: string[] = [];
  page.on('pageerror', (error) => wrong.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.text().startsWith('Error:')) wrong.push(message.text());
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(address) && !request.url().startsWith('data:')) wrong.push(request.url());
  });
  return { page, wrong };
}

/** Whether every diagram is drawn; one that Mermaid cannot parse never is. */
const DRAWN = "[...document.querySelectorAll('.diagram')].every((one) => one.querySelector('svg'))";

/** The elements that reach beyond the window: a table or block that scrolls by itself does not. */
const TOO_WIDE = `(() => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return [];
  return [...document.querySelectorAll('.vp-doc *, .container-main *')]
    .filter((element) => element.getBoundingClientRect().right > width + 1)
    .slice(0, 3)
    .map((element) => element.tagName + ' ' + element.textContent.slice(0, 60));
})()`;

/** A page, a word on it, and what its type says: of a program, of a page that goes on with another, of a recipe. */
const HOVERS = [
  ['getting-started.html', 'tasks', 'Repository<typeof Task>'],
  ['queries.html', 'findOne', 'Promise<Order | null>'],
  ['cookbook/08-orders.html', 'collection', 'readonly [typeof Customer, typeof Order]'],
] as const;

/** What is wrong with pages. Each is loaded once and looked at in every width and scheme, since loading takes longest. */
async function faultsOf(names: readonly string[], look: (page: Page) => Promise<string>): Promise<string[]> {
  const { page, wrong } = await openPage(WIDTHS[0]);
  for (const name of names) {
    await page.goto(`${address}/${name}`);
    await page.waitForFunction(DRAWN).catch((error: Error) => wrong.push(`${name}: ${error.message}`));
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: HEIGHT });
      for (const colorScheme of ['dark', 'light'] as const) {
        await page.emulateMedia({ colorScheme });
        const fault = await look(page);
        if (fault !== '') wrong.push(`${name}, ${width} pixels, ${colorScheme}: ${fault}`);
      }
    }
  }
  return wrong;
}

it('no page is wider than the window, and every diagram is drawn', async () => {
  const wrong = await faultsOf(PAGES, async (page) => {
    const wide = await page.evaluate<string[]>(TOO_WIDE);
    const failed = await page.evaluate<number>("document.querySelectorAll('.diagram .error-icon').length");
    return wide.length > 0 || failed > 0 ? `${failed} diagrams failed; too wide: ${wide.join('; ')}` : '';
  });
  expect(wrong).toEqual([]);
});

it('pages of the reference are not wider either', async () => {
  const some = REFERENCE.filter((_, index) => index % 20 === 0);
  const names = [...ENTRIES, ...some, 'reference/classes/rowan-orm.Repository.html'];
  const wrong = await faultsOf(names, async (page) => (await page.evaluate<string[]>(TOO_WIDE)).join('; '));
  expect(wrong).toEqual([]);
});

describe.each(WIDTHS)('at %i pixels', (width) => {
  it('a hover shows a type that fits into the window', async () => {
    const { page, wrong } = await openPage(width, width === 390 ? 'dark' : 'light');
    for (const [name, word, type] of HOVERS) {
      await page.goto(`${address}/${name}`);
      const token = `.twoslash-hover:has-text("${word}")`;
      await page.waitForSelector(token);
      await page.hover(token);
      const popup = '.v-popper__popper--shown .twoslash-popup-code';
      await page.waitForSelector(popup);
      expect(await page.textContent(popup)).toContain(type);
      expect(await page.evaluate<string[]>(TOO_WIDE)).toEqual([]);
    }
    expect(wrong).toEqual([]);
  });

  it.each(['light', 'dark'] as const)('pages are shown in %s', async (scheme) => {
    const { page, wrong } = await openPage(width, scheme);
    for (const name of SHOWN) {
      await page.goto(`${address}/${name}`);
      await page.waitForFunction(DRAWN);
      const isDark = await page.evaluate<boolean>("document.documentElement.classList.contains('dark')");
      expect(isDark).toBe(scheme === 'dark');
      const folder = process.env['ROWAN_SCREENSHOTS'];
      if (folder !== undefined) {
        const path = join(folder, `${name.replaceAll('/', '-')}-${width}-${scheme}.png`);
        await page.screenshot({ path });
      }
    }
    expect(wrong).toEqual([]);
  });
});

it('search finds a page by its words', async () => {
  const { page, wrong } = await openPage(1280);
  await page.goto(`${address}/index.html`);
  await page.click('.DocSearch-Button');
  await page.fill('.VPLocalSearchBox input', 'unread counts');
  await page.waitForFunction("document.querySelector('.VPLocalSearchBox .result')?.getAttribute('href')");
  const found = await page.evaluate<string[]>(
    "[...document.querySelectorAll('.VPLocalSearchBox .result')].map((one) => one.getAttribute('href'))",
  );
  expect(found.some((link) => link.includes('23-unread'))).toBe(true);
  expect(wrong).toEqual([]);
});

it('the reference has a page for each entry, docstrings, and no link that leads nowhere', () => {
  expect(ENTRIES.filter((name) => !REFERENCE.includes(name))).toEqual([]);
  const repository = readFileSync(join(DIST, 'reference/classes/rowan-orm.Repository.html'), 'utf8');
  expect(repository).toContain('Every write changes one row atomically.');
  const known = new Set(HTML);
  const wrong = REFERENCE.flatMap((name) =>
    [...readFileSync(join(DIST, name), 'utf8').matchAll(/<a [^>]*href="(?!https?:|#|\/)([^"#]+)/g)]
      .map(([, href]) => posix.join(posix.dirname(name), href!))
      .filter((target) => !known.has(target))
      .map((target) => `${name} -> ${target}`),
  );
  expect(wrong).toEqual([]);
});

it('links to the entries lead into the reference', async () => {
  const { page, wrong } = await openPage(1280);
  await page.goto(`${address}/index.html`);
  await page.click('.vp-doc a[href$="rowan-orm_table.html"]');
  await page.waitForURL(`${address}/reference/modules/rowan-orm_table.html`);
  expect(wrong).toEqual([]);
});

it('the list of versions has releases that are newer than the site', async () => {
  const { page, wrong } = await openPage(1280);
  await page.route('**/versions.json', (route) => route.fulfill({ json: ['9.1.0', '9.0.0'] }));
  await page.route('**/v9.0.0/', (route) => route.fulfill({ json: {} }));
  await page.goto(`${address}/keys.html`);
  await page.waitForFunction("document.querySelectorAll('.VPNavBar .versions option').length === 3");
  expect(await page.textContent('.VPNavBar .versions option')).toMatch(/^\d+\.\d+\.\d+, unreleased$/);
  await page.selectOption('.VPNavBar .versions', { label: '9.0.0' });
  await page.waitForURL(`${address}/v9.0.0/`);
  expect(wrong).toEqual([]);
});

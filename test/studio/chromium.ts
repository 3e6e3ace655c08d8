/** Pages of the studio in a real Chromium. What goes wrong in one (errors, requests elsewhere) is noted, and fails its test. */

import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';
import type { Studio } from '../../src/studio/server/server.js';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export interface Sight {
  readonly width: number;
  readonly scheme: 'light' | 'dark';
}

/** What views are looked at. */
export const SIGHTS: readonly Sight[] = [
  { width: 1280, scheme: 'light' },
  { width: 1280, scheme: 'dark' },
  { width: 390, scheme: 'light' },
  { width: 390, scheme: 'dark' },
];

/** Where `ROWAN_PICTURES=write` puts what the views look like. */
const PICTURES = join(import.meta.dirname, 'pictures');

/** Renews the picture of a view, if that is asked for. */
export async function picture(page: Page, view: string, { width, scheme }: Sight): Promise<void> {
  if (process.env['ROWAN_PICTURES'] !== 'write') return;
  mkdirSync(PICTURES, { recursive: true });
  await page.screenshot({ path: join(PICTURES, `${view.replaceAll(' ', '-')}-${width}-${scheme}.png`) });
}

export class StudioBrowser {
  private readonly troubles: string[] = [];

  private constructor(private readonly browser: Browser) {}

  static async launch(): Promise<StudioBrowser> {
    return new StudioBrowser(
      await chromium.launch({
        executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
        args: ['--no-sandbox', '--enable-precise-memory-info', '--js-flags=--expose-gc'],
      }),
    );
  }

  /** A page of its own at this view, let in by the token. */
  async open(
    studio: Studio,
    hash: string,
    { width, scheme }: Sight = { width: 1280, scheme: 'light' },
  ): Promise<Page> {
    const context = await this.browser.newContext({ viewport: { width, height: 800 }, colorScheme: scheme });
    const page = await context.newPage();
    page.on('pageerror', ({ message }) => this.troubles.push(message));
    page.on('console', (message) => message.type() === 'error' && this.troubles.push(message.text()));
    page.on('request', (sent) => {
      if (!sent.url().startsWith(`http://127.0.0.1:${studio.port}/`) && !/^(data|blob):/.test(sent.url()))
        this.troubles.push(sent.url());
    });
    await page.goto(studio.url);
    await page.goto(`http://127.0.0.1:${studio.port}/${hash}`);
    return page;
  }

  /** What went wrong since the last call, which a test expects. */
  takeTroubles(): readonly string[] {
    return this.troubles.splice(0);
  }

  /** Closes a page. Nothing may have gone wrong in it. */
  async leave(page: Page): Promise<void> {
    await page.context().close();
    expect(this.troubles.splice(0)).toEqual([]);
  }

  close(): Promise<void> {
    return this.browser.close();
  }
}

/** No fault that axe knows, and nothing wider than the window. */
export async function expectSound(page: Page): Promise<void> {
  await page.evaluate(AXE);
  const found = await page.evaluate(
    'axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + nodes[0].html))',
  );
  expect(found).toEqual([]);
  expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
}

export const entityHash = (entity: string, question: object): string =>
  `#/entity/${entity}?q=${encodeURIComponent(JSON.stringify(question))}`;

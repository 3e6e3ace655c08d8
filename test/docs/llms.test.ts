/**
 * What the site gives to programs that read: a list of the pages, which has every page of docs/, and whole texts, which have each
 * page once. They are made with the site, so they are as the pages are. A page that fails here is not in docs/README.md.
 */

import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { textsOf } from '../../site/llms.js';
import { filesBelow } from '../proof/files-below.js';

const DOCS = fileURLToPath(new URL('../../docs', import.meta.url));
const PAGES = filesBelow(DOCS).filter((name) => name.endsWith('.md'));
const texts = textsOf(DOCS);

it('begins as such lists do, and says of each page what it is about', () => {
  const text = texts.get('llms.txt')!;
  expect(text).toMatch(/^# Rowan\n\n> .+\n/);
  expect(text).toContain('- [Keys](keys.md): Which bytes form the key, and which queries does it answer?');
  expect(text.match(/^- \[.*\]\(.*\): (?:undefined|)$/gm)).toBeNull();
});

it('lists every page', () => {
  const listed = [...texts.get('llms.txt')!.matchAll(/^- .*?\]\((.*?)\)/gm)].map(([, page]) => page!);
  expect([...new Set(listed), 'README.md'].sort()).toEqual(PAGES.sort());
});

it.each(PAGES)('the whole text has %s once', (page) => {
  expect(texts.get('llms-full.txt')!.split(`<!-- docs/${page} -->`)).toHaveLength(2);
});

it('the cookbook is one page with every recipe', () => {
  const recipes = PAGES.filter((page) => page.startsWith('cookbook/'));
  const shown = [...texts.get('cookbook.md')!.matchAll(/^<!-- docs\/(.*) -->$/gm)].map(([, page]) => page!);
  expect(shown.sort()).toEqual(recipes.sort());
});

/** The pages as texts for language models: a list of them (llmstxt.org), all of them as one text, and the cookbook as one page. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { contentsOf, type Part } from './.vitepress/contents.js';

/** Texts by the names of their files. */
export function textsOf(docs: string): ReadonlyMap<string, string> {
  const parts = contentsOf(docs);
  const pages = parts.flatMap(({ items }) =>
    items.flatMap((group) => group.items.map(({ link }) => fileOf(link))),
  );
  const recipes = pages.filter((page) => /^cookbook\/\d/.test(page));
  return new Map([
    ['llms.txt', list(docs, parts)],
    ['llms-full.txt', joined(docs, ['README.md', ...new Set(pages)])],
    ['cookbook.md', joined(docs, ['cookbook/README.md', ...recipes])],
  ]);
}

const fileOf = (link: string): string => `${link.slice(1)}${link.endsWith('/') ? 'README' : ''}.md`;

function list(docs: string, parts: readonly Part[]): string {
  const first = readFileSync(join(docs, 'README.md'), 'utf8');
  const engines = /^## The two engines\n([\s\S]*?)(?=^## )/m.exec(first)![1]!;
  const sections = parts.flatMap(({ text: part, items }) =>
    items.map(
      ({ text, items: pages }) =>
        `## ${part}: ${text}\n\n${pages.map((page) => `- [${page.text}](${fileOf(page.link)}): ${page.about}\n`).join('')}`,
    ),
  );
  const about =
    '> Typed object mapper of TypeScript for the HBase data model: an embedded store and Apache HBase.';
  return [`# Rowan\n\n${about}\n${engines}`, ...sections].join('\n');
}

function joined(docs: string, pages: readonly string[]): string {
  return pages
    .map((page) => `<!-- docs/${page} -->\n\n${readFileSync(join(docs, page), 'utf8').trim()}\n`)
    .join('\n');
}

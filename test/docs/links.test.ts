/** Links between the pages lead somewhere, and files that the pages of the code name are there. */

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { filesBelow } from '../proof/files-below.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  ...filesBelow(join(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md') && !name.startsWith('api/'))
    .map((name) => `docs/${name}`),
];

const textOf = (page: string): string => readFileSync(join(ROOT, page), 'utf8');

/** Without blocks of code, whose lines may look like headings and links. */
const proseOf = (page: string): string => textOf(page).replace(/^```[\s\S]*?^```$/gm, '');

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(page: string): Set<string> {
  const headings = [...proseOf(page).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading]) => heading!);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .replace(/\s/g, '-'),
    ),
  );
}

describe.each(PAGES)('%s', (page) => {
  test('has no link that leads nowhere', () => {
    const dead: string[] = [];
    for (const [, link] of proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(link!)) continue;
      const [path = '', anchor] = link!.split('#');
      const target = path === '' ? page : join(dirname(page), path);
      const isThere = existsSync(join(ROOT, target));
      const isFound =
        anchor === undefined || !target.endsWith('.md') || (isThere && anchorsOf(target).has(anchor));
      if (!isThere || !isFound) dead.push(link!);
    }
    expect(dead).toEqual([]);
  });
});

const FOLDERS = ['src', 'test', 'decorators', 'docs', 'packaging', 'examples'];

/** Every file and folder, with and without its ending, as `/src/store/wal/wal` and `/src/store/wal/wal.ts`. */
const PATHS = FOLDERS.flatMap((folder) => [
  `/${folder}`,
  ...filesBelow(join(ROOT, folder)).flatMap((file) => {
    const above = file.split('/').slice(0, -1);
    const folders = above.map((_, i) => `/${folder}/${above.slice(0, i + 1).join('/')}`);
    return [`/${folder}/${file}`, `/${folder}/${file.replace(/\.ts$/, '')}`, ...folders];
  }),
]);

/** Pages that name a file by the end of its path, too. */
const OF_THE_CODE = ['docs/architecture.md', 'docs/storage.md', 'docs/glossary.md', 'CONTRIBUTING.md'];

test.each(PAGES)('%s names files and folders that are there', (page) => {
  const pattern = OF_THE_CODE.includes(page)
    ? /`([\w.-]+(?:\/[\w.*-]+)*\/?)`/g
    : new RegExp(`\`((?:${FOLDERS.join('|')})/[\\w./*-]+)\``, 'g');
  const named = [...proseOf(page).matchAll(pattern)]
    .map(([, path]) => path!.replace(/\/(?:\*[\w.]*)?$/, ''))
    .filter((path) => /\/|\.ts$/.test(path) && !/\bNAME\b|^(?:\.|build\/|dist\/|site\/dist\b)/.test(path));
  const missing = named.filter(
    (name) => !existsSync(join(ROOT, name)) && !PATHS.some((path) => path.endsWith(`/${name}`)),
  );
  expect(missing).toEqual([]);
});

/** The package holds what its pages and declarations point at, or says that it is in the repository. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** What `npm publish` would send. */
const [{ files }] = JSON.parse(
  execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }),
) as [{ files: readonly { readonly path: string }[] }];
const packed = new Set(files.map(({ path }) => path));
const pages = [...packed].filter((path) => path.endsWith('.md'));
const declarations = [...packed].filter((path) => path.endsWith('.d.ts'));

const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** A file, a folder or a script that only the repository has. */
const OUTSIDE =
  /(?<![\w./-])(?:(?:src|test|decorators|examples|site|packaging|\.ci)\/[\w*]|CONTRIBUTING\.md|npm run [a-z])[\w./:*-]*/g;
const SAYS_SO = /\b(?:in|of) (?:the|this) repository\b/i;

/** What a page points at though the package lacks it, without a word of that in its beginning or in the paragraph. */
function astray(page: string): string[] {
  const text = textOf(page);
  if (SAYS_SO.test(text.split(/^## /m)[0]!)) return [];
  // A block of code belongs to the paragraph before it.
  const paragraphs = text.replace(/\n\n+```/g, '\n```').split(/\n\n+/);
  return paragraphs
    .filter((paragraph) => !SAYS_SO.test(paragraph))
    .flatMap((paragraph) => paragraph.match(OUTSIDE) ?? []);
}

test.each(pages)('%s says of what the package lacks that it is in the repository', (page) => {
  expect(astray(page)).toEqual([]);
});

test.each(pages)('%s links to files of the package only', (page) => {
  const prose = textOf(page).replace(/^```[\s\S]*?^```$/gm, '');
  const links = [...prose.matchAll(/\]\(([^)\s#]+)(?:#[^)\s]*)?\)/g)].map(([, link]) => link!);
  const own = links.filter((link) => !/^[a-z]+:/.test(link)).map((link) => join(dirname(page), link));
  expect(own.filter((path) => !packed.has(path))).toEqual([]);
});

test.each(declarations)('%s names no file of the repository', (path) => {
  expect(textOf(path).match(OUTSIDE) ?? []).toEqual([]);
});

test('has at most 61 files besides docs', () => {
  const others = [...packed].filter((path) => !path.startsWith('docs/'));
  expect(others.length).toBeLessThanOrEqual(61);
});

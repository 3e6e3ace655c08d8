/** What the pages name of the interface is in it, by the listings of docs/api (which test/api holds to the declarations). */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { filesBelow } from '../proof/files-below.js';

const DOCS = fileURLToPath(new URL('../../docs', import.meta.url));
const textOf = (page: string): string => readFileSync(join(DOCS, page), 'utf8');

const files = filesBelow(DOCS).filter((name) => name.endsWith('.md'));
const listing = files.filter((name) => name.startsWith('api/')).map(textOf);
const decorators = new Set(
  listing.flatMap((text) => [...text.matchAll(/^function ([A-Z]\w*)/gm)].map(([, name]) => name!)),
);
const words = new Set(listing.flatMap((text) => text.match(/\w+/g) ?? []));

/** Decorators of class-transformer, which entities may have. */
const OF_OTHERS = ['Exclude', 'Expose', 'Transform', 'Type'];

/** The second column of the table in which names of other mappers are in the first. */
const here = [...textOf('migrating.md').matchAll(/^\| .*? \| (.*) \|$/gm)]
  .map(([, cell]) => cell!)
  .join('\n');

it('decorators', () => {
  const pages = files.filter((name) => !name.startsWith('api/') && name !== 'migrating.md').map(textOf);
  const named = [...pages, here].flatMap((text) =>
    [...text.matchAll(/`@([A-Z]\w+)/g)].map(([, name]) => name!),
  );
  const missing = named.filter((name) => !decorators.has(name) && !OF_OTHERS.includes(name));
  expect(decorators.size).toBeGreaterThan(30);
  expect(missing).toEqual([]);
});

it('what migrating.md calls', () => {
  const spans = [...here.matchAll(/`([^`]+)`/g)].map(([, span]) => span!);
  const called = spans.flatMap((span) => [
    ...[...span.matchAll(/(\w+)\(/g)].map(([, name]) => name!),
    ...(/^\w+$/.test(span) ? [span] : []),
  ]);
  expect(called.length).toBeGreaterThan(20);
  expect(called.filter((name) => !words.has(name))).toEqual([]);
});

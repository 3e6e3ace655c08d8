/**
 * What comments and tests cite by number exists: the rules of docs/semantics.md, the promises of docs/durability.md, and the
 * invariants of src.
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { filesBelow } from './proof/files-below.js';
import { SUITES } from './proof/suites.js';

const root = fileURLToPath(new URL('..', import.meta.url));

function sources(folder: string): [string, string][] {
  return filesBelow(join(root, folder))
    .filter((name) => name.endsWith('.ts'))
    .map((name) => [join(folder, name), readFileSync(join(root, folder, name), 'utf8')]);
}

/** The numbers that `pattern` finds in its first group, each with the files it stands in. */
function found(files: readonly [string, string][], pattern: RegExp): Map<string, string[]> {
  const all = new Map<string, string[]>();
  for (const [file, text] of files) {
    for (const [, name] of text.matchAll(pattern)) all.set(name!, [...(all.get(name!) ?? []), file]);
  }
  return all;
}

test('docs/semantics.md lists the rules R1 to R88, each once and in order', () => {
  const page = readFileSync(join(root, 'docs/semantics.md'), 'utf8');
  const listed = [...page.matchAll(/^\* \*\*R(\d+)\*\* \S/gm)].map(([, number]) => Number(number));
  expect(listed).toEqual(Array.from({ length: 88 }, (_, index) => index + 1));
});

test('every rule that src and test cite is one of them', () => {
  // Cases of one rule are told apart by a letter.
  const cited = found([...sources('src'), ...sources('test')], /\bR(\d+)[a-z]?\b/g);
  expect(cited.size).toBeGreaterThan(80);
  const unknown = [...cited].filter(([number]) => Number(number) < 1 || Number(number) > 88);
  expect(unknown).toEqual([]);
});

test('docs/durability.md lists the promises P1 to P10, and no other is cited', () => {
  const page = readFileSync(join(root, 'docs/durability.md'), 'utf8');
  const listed = [...page.matchAll(/^\| P(\d+) \| [^`\s]/gm)].map(([, number]) => Number(number));
  expect(listed).toEqual(Array.from({ length: 10 }, (_, index) => index + 1));
  const pages = readdirSync(join(root, 'docs'), { encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name): [string, string] => [name, readFileSync(join(root, 'docs', name), 'utf8')]);
  const files = [
    ...pages,
    ...sources('src'),
    ...sources('test/crash'),
    ...sources('test/store'),
    ...sources('test/proof'),
  ];
  const cited = found(files, /\bP(\d+)\b/g);
  expect([...cited.keys()].filter((number) => Number(number) < 1 || Number(number) > 10)).toEqual([]);
  // A span names both its ends, and the second is behind the first.
  for (const [, first, last] of files.flatMap(([, text]) => [...text.matchAll(/\bP(\d+)-P(\d+)\b/g)]))
    expect(Number(last)).toBeGreaterThan(Number(first));
  for (const { promises, file } of SUITES) {
    // A suite holds promises of docs/durability.md, or what another page promises.
    expect(promises).toMatch(/^(P\d+(-P\d+)?(, P\d+(-P\d+)?)*|docs\/[a-z-]+\.md)$/);
    expect(existsSync(join(root, file)), file).toBe(true);
  }
});

test('every numbered invariant of src is stated once, asserted where it is stated, and no other is cited', () => {
  const files = sources('src');
  const stated = found(files, /^ \* ([A-Z]\d+)\. /gm);
  const asserted = found(files, /\binvariant\([^;]*,\s*'([^']+)',?\s*\);/g);
  expect([...stated.keys()]).toContain('C1');
  expect([...stated].filter(([, where]) => where.length > 1)).toEqual([]);
  for (const [name, where] of asserted) expect(stated.get(name), name).toEqual([...new Set(where)]);
  for (const name of stated.keys()) expect(asserted.has(name), `${name} is asserted`).toBe(true);
  // A letter and a number in parentheses, as a comment cites them.
  const cited = found(files, /^\s*(?:\/\/|\/?\*).*\(([A-QS-Z]\d+)\)/gm);
  expect([...cited].filter(([name]) => !stated.has(name))).toEqual([]);
});

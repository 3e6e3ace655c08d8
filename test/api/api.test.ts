/** The public interface changes on purpose: docs/api/ lists it, and every change shows there. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { declarations } from '../types/declarations.js';
import { entries, type Report, ROOT, reportPath, reports } from './report.js';

let made: readonly Report[];

beforeAll(() => {
  made = reports();
});

it.each(entries().map((entry, index) => [entry.name, entry, index] as const))(
  'the listing of %s is that of its declaration files',
  (_name, entry, index) => {
    const kept = readFileSync(reportPath(entry), 'utf8');
    // When this is meant: npm run api, look at the difference, commit it.
    expect(kept).toBe(made[index]!.text);
  },
);

it('no entry exports by star: each name stands there on purpose', () => {
  for (const { source } of entries()) {
    expect(readFileSync(join(ROOT, source), 'utf8')).not.toMatch(/export \*/);
  }
});

it('no name is exported by two entries with two meanings', () => {
  const meanings = new Map<string, Set<string>>();
  for (const { names, text } of made) {
    for (const name of names) {
      const line = new RegExp(`^.*\\b(class|function|const|interface|type) ${name}\\b.*$`, 'm').exec(
        text,
      )?.[0];
      if (line !== undefined) meanings.set(name, (meanings.get(name) ?? new Set()).add(line));
    }
  }
  const doubled = [...meanings].filter(([, lines]) => lines.size > 1).map(([name]) => name);
  // The decorator of rowan-orm and the interface of the engines: the word of HBase, and of everyone, for both.
  expect(doubled).toEqual(['Table']);
});

it('no declaration file names a package whose types are installed for development only', () => {
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    readonly devDependencies: Readonly<Record<string, string>>;
  };
  const typed = Object.keys(manifest.devDependencies)
    .filter((name) => name.startsWith('@types/') && name !== '@types/node')
    .map((name) => name.slice('@types/'.length));
  expect(typed).toContain('murmurhash3js');
  const named = new RegExp(`(?:from|import)\\s*\\(?\\s*['"](?:${typed.join('|')})['"/]`);
  const folder = declarations();
  const files = ['src', 'decorators'].flatMap((part) =>
    readdirSync(join(folder, part), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.d.ts'))
      .map((name) => join(folder, part, name)),
  );
  expect(files.filter((file) => named.test(readFileSync(file, 'utf8')))).toEqual([]);
});

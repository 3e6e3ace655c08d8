/** Every block of TypeScript on the pages compiles in its program, against the declarations of the built package. */

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT, STRICT, tsc, write } from '../types/compiler.js';
import { blocksOfPage, programOf } from './programs.js';

const pages = readdirSync(join(ROOT, 'docs')).flatMap((name) =>
  name.endsWith('.md') ? [name.replace(/\.md$/, '')] : [],
);

it('every block compiles', async () => {
  const files = pages.flatMap((page) =>
    blocksOfPage(page).flatMap((block, index) => {
      const program = programOf(page, block);
      if (program === undefined) return [];
      const folder = `programs/${page}-${index + 1}`;
      const parts = `${program.before}${program.shown}${program.after}export {};\n`.split(
        /^\/\/ @filename: (.*)\n/m,
      );
      return [['index.ts', parts[0]!], ...pairs(parts.slice(1))].map(([name, code]) =>
        write(`${folder}/${name}`, code!),
      );
    }),
  );
  expect(files.length).toBeGreaterThan(80);
  const { output } = await tsc(
    ...STRICT,
    '--experimentalDecorators',
    'true',
    '--noUncheckedIndexedAccess',
    '--exactOptionalPropertyTypes',
    ...new Set(files),
  );
  expect(output).toBe('');
});

const pairs = (list: readonly string[]): (readonly [string, string])[] =>
  list.flatMap((name, i) => (i % 2 === 0 ? [[name, list[i + 1]!] as const] : []));

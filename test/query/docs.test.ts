import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import * as rowan from '../../src/index.js';
import { declared, ROOT, STRICT, tsc, write } from '../types/compiler.js';

/** What the page's examples take as given. */
const GIVEN = `
declare const january: Date, february: Date;
declare const key: KeyOf<typeof Order>, other: KeyOf<typeof Order>;
declare const one: Order, two: Order;
declare const request: { readonly cursor?: string };
declare const path: string, entities: readonly (typeof Order)[];
const query = orders.find({ customerId: 'c1' });
`;

function blocksOf(page: string): string[] {
  const text = readFileSync(join(ROOT, `docs/${page}.md`), 'utf8');
  return [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code!);
}

it('the examples of docs/queries.md and the pages beside it compile', async () => {
  const blocks = ['queries', 'pages', 'collections', 'figures', 'writes'].flatMap(blocksOf);
  expect(blocks.length).toBeGreaterThan(8);
  // Every example but the first stands in a block of its own, for some declare the same names.
  const code = [blocks[0], GIVEN, ...blocks.slice(1).map((block) => `{\n${block}\n}`)].join('\n');
  const used = Object.keys(rowan).filter(
    (name) => new RegExp(`\\b${name}\\b`).test(code) && !new RegExp(`(class|const) ${name}\\b`).test(code),
  );
  const file = write(
    'docs-queries.ts',
    declared(`import { ${used.join(', ')}, type KeyOf } from '../../../src/index.js';\n${code}`),
  );
  const { output } = await tsc(...STRICT, '--experimentalDecorators', 'true', file);
  expect(output).toBe('');
});

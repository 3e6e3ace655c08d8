/** Holds the table of designs in docs/key-designs.md to what the code does. */

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { toStringBinary } from '../../src/bytes/index.js';
import * as key from '../../src/key/index.js';

const lines = readFileSync('docs/key-designs.md', 'utf8').split('\n');
const first = lines.indexOf('| design | elements | values | row |');
const table = lines.slice(first + 2, lines.indexOf('', first));
const designs = table.map((line) => {
  const [, design, elements, values, row] = line.split(/ ?\| /);
  return [design, code(elements), code(values), code(row?.replace(/ \|$/, ''))] as const;
});

function code(cell: string | undefined): string {
  const match = /^`(.*)`$/.exec(cell ?? '');
  if (match === null) throw new Error(`Not a cell of code: ${cell}`);
  return match[1]!;
}

/** Evaluates an example with everything that the key module exports. */
function evaluate<T>(expression: string): T {
  const scope: Record<string, unknown> = { ...key };
  return new Function(...Object.keys(scope), `return ${expression}`)(...Object.values(scope)) as T;
}

it('has designs to hold', () => expect(designs.length).toBeGreaterThan(15));

it.each(designs)('%s', (design, elements, values, row) => {
  const type = /record type (\d+)/.exec(design ?? '')?.[1];
  const layout = key.compileKeyLayout(
    evaluate<key.KeyElement[]>(`[${elements}]`),
    () => undefined,
    type === undefined ? undefined : Number(type),
  );
  const given = evaluate<Record<string, unknown>>(`(${values})`);
  const bytes = layout.encode(given);
  expect(toStringBinary(bytes)).toBe(row);
  const whole = layout.parts.filter(({ recoverable }) => recoverable);
  expect(layout.decode(bytes)).toEqual(Object.fromEntries(whole.map(({ name }) => [name, given[name]])));
});

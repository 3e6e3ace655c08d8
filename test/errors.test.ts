/** Holds docs/errors.md to the codes of src/errors.ts: each has a heading, and each error's `url` names it. */

import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import { ConflictError, RowanError, type SchemaError } from '../src/index.js';
import { ConnectionError } from '../src/public/hbase.js';
import { Problems } from '../src/schema/problems.js';

const source = readFileSync('src/errors.ts', 'utf8');
const union = /export type ErrorCode =([\s\S]*?);/.exec(source)![1]!;
const codes = [...union.matchAll(/'(ERR_[A-Z_]+)'/g)].map(([, code]) => code!);

const page = readFileSync('docs/errors.md', 'utf8');
const sections = new Map(
  [...page.matchAll(/^## (ERR_\w+)\n([\s\S]*?)(?=^## |(?![\s\S]))/gm)].map(([, code, text]) => [
    code!,
    text!,
  ]),
);

it('finds the codes', () => expect(codes.length).toBeGreaterThan(25));

it.each(codes)('%s has a heading that says what happened, why, and what to do', (code) => {
  const advice = `docs/errors.md has no "## ${code}" with the three paragraphs **What happened.** **Why.** **What to do.** Add it beside the others.`;
  const text = sections.get(code) ?? '';
  for (const paragraph of ['What happened', 'Why', 'What to do']) {
    expect(new RegExp(`^\\*\\*${paragraph}\\.\\*\\* \\S`, 'm').test(text), advice).toBe(true);
  }
});

it('no heading is of a code that is not there', () => {
  const gone = [...sections.keys()].filter((code) => !codes.includes(code));
  expect(gone, 'Take these headings out of docs/errors.md, or mend their names.').toEqual([]);
});

it('every error names its heading', () => {
  for (const code of codes) {
    const { url } = new RowanError(code as RowanError['code'], 'x');
    expect(url).toMatch(/\/docs\/errors\.md#err_[a-z_]+$/);
    expect(url.split('#')[1]!.toUpperCase()).toBe(code);
  }
  expect(new ConflictError('x').url).toMatch(/#err_conflict$/);
  expect(new ConnectionError('x').url).toMatch(/#err_connection$/);
});

it('an uncaught schema error prints each problem once, and programs read them', () => {
  const problems = new Problems();
  problems.add('Order', 'total', 'It has no codec.', 'Give one.');
  problems.add('Order', undefined, 'It has no key.', 'Declare one.');
  let error: SchemaError | undefined;
  try {
    problems.throwIfAny();
  } catch (thrown) {
    error = thrown as SchemaError;
  }
  const sentences = ['Order.total: It has no codec. Give one.', 'Order: It has no key. Declare one.'];
  expect(error).toMatchObject({
    problems: sentences,
    details: { problems: [{ property: 'total' }, { rule: 'It has no key.' }] },
  });
  const printed = inspect(error);
  expect(printed).toMatch(/^SchemaError: The schema has 2 problems:\n- Order\.total: It has no codec/);
  for (const rule of ['It has no codec.', 'It has no key.']) expect(printed.split(rule)).toHaveLength(2);
  expect(printed).toContain("code: 'ERR_SCHEMA'");
  expect(printed).toContain('errors.test');
});

/** The scripts that the shells of HBase and of Rowan answer alike, on Bigtable: what differs has a reason. */

import { afterAll, beforeAll, expect, it } from 'vitest';
import { goldenOf, rowanSteps, scriptOf } from '../shell/golden.js';
import { connectShared } from './connect.js';

/** Reasons, and the statements of which each is one. */
const REASONS: readonly (readonly [why: string, statement: RegExp])[] = [
  ['tablets are sampled, and split keys are not kept', /get_splits|list_regions|^alter|^split /],
  ['deletes leave no markers, and nothing deleted is kept', /RAW|get 'sm_k'.*TIMERANGE/],
  ['cells have no time to live of their own', /TTL =>/],
  ['what such a cell would have shown', /^(scan|count) 'sh_d'/],
  ['a filter that is through with a row is not through with the scan', /ColumnCountGetFilter/],
  ['families of a flush, which has no effect, are not looked at', /^flush 'sh_r', 'nof'/],
  ['the error has other words', /^incr 'sh_d', 'r1', 'f:a'|^put 'sh_o3'/],
];

let zone: string | undefined;
beforeAll(() => {
  zone = process.env['TZ'];
  process.env['TZ'] = 'UTC';
});
afterAll(() => {
  if (zone === undefined) delete process.env['TZ'];
  else process.env['TZ'] = zone;
});

it.each([
  ['tables', 160],
  ['rows', 330],
  ['forms', 130],
] as const)('%s.rb is answered as on HBase, but for what Bigtable has not', async (name, least) => {
  const engine = await connectShared();
  const golden = goldenOf(name);
  const steps = await rowanSteps(engine, scriptOf(name));
  expect(steps.map(({ statement }) => statement)).toEqual(golden.map(({ statement }) => statement));
  const different = golden.filter(({ output }, at) => steps[at]!.output !== output);
  const unexplained = different.filter(({ statement }) => !REASONS.some(([, one]) => one.test(statement)));
  expect(unexplained).toEqual([]);
  expect(golden.length - different.length).toBeGreaterThanOrEqual(least);
  await engine.close();
});

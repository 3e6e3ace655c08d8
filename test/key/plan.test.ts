import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toHex } from '../../src/bytes/index.js';
import {
  compileKeyLayout,
  date,
  hash,
  type KeyLayout,
  part,
  recordType,
  reverse,
  reverseTimestamp,
  salt,
  text,
  timeBucket,
  uint8,
} from '../../src/key/index.js';
import { scaled } from '../proof/scale.js';
import { checkPlans } from './brute-force.js';
import { compile, DAY, testLayouts } from './test-layouts.js';

describe('plans hold exactly the rows that are meant, in the order that they say', () => {
  it.each(Object.entries(testLayouts))('%s', (_name, layout) => checkPlans(layout));

  it.each(Object.entries(testLayouts))(
    '%s: decode gives the parts back',
    (_name, { elements, recordType, parts }) => {
      const layout = compile(elements, recordType);
      const entity = fc.record(Object.fromEntries(parts.map((one) => [one.name, one.values])));
      fc.assert(
        fc.property(entity, (values) => {
          const row = layout.encode(values);
          expect(layout.matches(row)).toBe(true);
          const decoded = layout.decode(row);
          const kept = layout.parts.filter(({ recoverable }) => recoverable).map(({ name }) => name);
          expect(layout.parts.map(({ name }) => [name, decoded[name]])).toEqual(
            layout.parts.map(({ name }) => [name, kept.includes(name) ? values[name] : undefined]),
          );
        }),
        { numRuns: scaled(15, 100, 1000) },
      );
    },
  );
});

const eq = (value: unknown) => ({ kind: 'eq', value }) as const;
const hexRanges = (layout: KeyLayout, conditions: Parameters<KeyLayout['plan']>[0]) =>
  layout.plan(conditions).ranges.map(({ start, stop }) => [toHex(start), stop && toHex(stop)]);

describe('the shape of plans', () => {
  const salted = compile([salt(16), part('t', text), part('n', uint8)]);

  it('makes one point of a whole key, with its one salt', () => {
    const plan = salted.plan({ t: eq('a'), n: eq(1) });
    expect(plan).toMatchObject({ kind: 'point', fanOut: 1, order: 'sequence', check: undefined });
    expect(plan.ranges[0]?.start).toEqual(salted.encode({ t: 'a', n: 1 }));
  });

  it('calls a plan without conditions full, on plain keys and behind a record type only when nothing narrows it', () => {
    const plain = compile([part('t', text), part('n', uint8)]);
    expect(plain.plan({})).toMatchObject({ kind: 'full', check: undefined });
    expect(plain.plan({ t: eq('a') }).kind).toBe('range');
    expect(compile([recordType(), part('t', text)], 7).plan({}).kind).toBe('range');
  });

  it('asks every salt for a prefix, and one salt when the parts it is over are given', () => {
    expect(salted.plan({ t: eq('a') })).toMatchObject({
      kind: 'ranges',
      fanOut: 16,
      order: 'merge',
      mergeOffset: 1,
    });
    const over = compile([salt(16, ['t']), part('t', text), part('n', uint8)]);
    expect(over.plan({ t: eq('a') })).toMatchObject({ kind: 'range', fanOut: 1, order: 'sequence' });
    const many = over.plan({ t: { kind: 'in', values: ['a', 'b', 'c', 'a'] } });
    expect(many).toMatchObject({ kind: 'ranges', fanOut: 1, order: 'merge', mergeOffset: 1 });
    expect(many.ranges).toHaveLength(3);
  });

  it('calls a scan of everything full, however many salts it asks', () => {
    expect(salted.plan({})).toMatchObject({ kind: 'full', fanOut: 16, order: 'merge' });
    expect(salted.plan({}).ranges.at(-1)?.stop).toEqual(Uint8Array.of(16));
    expect(compile([part('t', text)]).plan({}).ranges).toEqual([
      { start: new Uint8Array(0), stop: undefined },
    ]);
    expect(
      compile([salt(256), part('t', text)])
        .plan({})
        .ranges.at(-1)?.stop,
    ).toBeUndefined();
  });

  it('asks for one whole key under every salt that is drawn at random', () => {
    let draws = 0;
    const layout = compileKeyLayout(
      [salt(['a-', 'b-', 'c-', 'd-'], { assign: 'random' }), part('t', text)],
      () => undefined,
      undefined,
      { random: () => [0, 0.3, 0.99][draws++ % 3]! },
    );
    expect(layout.deterministic).toBe(false);
    const rows = [1, 2, 3].map(() => Buffer.from(layout.encode({ t: 'foo0001' })).toString());
    expect(rows).toEqual(['a-foo0001', 'b-foo0001', 'd-foo0001']);
    const plan = layout.plan({ t: eq('foo0001') });
    expect(plan).toMatchObject({ kind: 'points', fanOut: 4, order: 'merge', mergeOffset: 2 });
    expect(layout.decode(plan.ranges[3]!.start)).toEqual({ t: 'foo0001' });
  });

  it('keeps a prefix from matching longer siblings', () => {
    const layout = compile([part('t', text), part('n', uint8)]);
    expect(hexRanges(layout, { t: eq('f34') })).toEqual([['6633340001', '6633340002']]);
    expect(layout.plan({ t: eq('f34') }).ranges[0]!.stop).toBeDefined();
  });

  it('has the bytes of ranges', () => {
    const layout = compile([part('t', text), part('n', uint8)]);
    const range = (lower: unknown, inclusive: boolean, upper: unknown, last: boolean) =>
      ({
        kind: 'range',
        lower: { value: lower, inclusive },
        upper: { value: upper, inclusive: last },
      }) as const;
    expect(hexRanges(layout, { t: eq('a'), n: range(1, true, 3, false) })).toEqual([
      ['61000101', '61000103'],
    ]);
    expect(hexRanges(layout, { t: eq('a'), n: range(1, false, 3, true) })).toEqual([
      ['6100010100', '6100010300'],
    ]);
    expect(hexRanges(layout, { t: range('a', false, 'b', true) })).toEqual([['610002', '620002']]);
    expect(hexRanges(layout, { t: { kind: 'startsWith', value: 'a\0' } })).toEqual([['6100ff', '6101']]);
    expect(hexRanges(layout, { t: range('b', true, 'a', true) })).toEqual([]);
  });

  it('says which parts only a time bucket was asked for', () => {
    const layout = compile([part('m', text), timeBucket('at', '1h', { unit: 's' })]);
    const range = (from: number, to: number) =>
      ({
        kind: 'range',
        lower: { value: new Date(from), inclusive: true },
        upper: { value: new Date(to), inclusive: false },
      }) as const;
    expect(layout.plan({ m: eq('cpu'), at: range(0, 7_200_000) })).toMatchObject({ inexactParts: [] });
    expect(layout.plan({ m: eq('cpu'), at: range(1, 7_200_000) })).toMatchObject({ inexactParts: ['at'] });
    expect(hexRanges(layout, { m: eq('cpu'), at: range(1, 7_200_000) })).toEqual([
      ['637075000100000000', '637075000100000e11'],
    ]);
    expect(layout.bucketStart(layout.encode({ m: 'cpu', at: new Date(7_200_001) }), 'at', 3_600_000)).toBe(
      7_200_000,
    );
  });

  it('cuts a bounded time into its buckets, in sequence where they rise with the time', () => {
    const days = {
      kind: 'range',
      lower: { value: new Date(0), inclusive: true },
      upper: { value: new Date(3 * DAY), inclusive: false },
    } as const;
    const rising = compile([timeBucket('at', '1d'), part('h', text), part('at', date)]);
    const plan = rising.plan({ h: eq('a'), at: days });
    expect(plan).toMatchObject({
      kind: 'ranges',
      order: 'sequence',
      fanOut: 1,
      check: undefined,
      inexactParts: [],
    });
    expect(plan.ranges).toHaveLength(3);
    const falling = compile([timeBucket('at', '1d'), part('h', text), reverseTimestamp('at')]);
    expect(falling.plan({ h: eq('a'), at: days })).toMatchObject({ order: 'merge', mergeOffset: 8 });
    const open = { ...days, upper: undefined };
    expect(rising.plan({ h: eq('a'), at: open })).toMatchObject({ kind: 'range', order: 'none', fanOut: 1 });
  });

  it('gives no order to lists of what is kept reversed or as a digest', () => {
    const lists = { n: { kind: 'in', values: [1, 2] }, t: { kind: 'in', values: ['ab', 'ba'] } } as const;
    expect(compile([part('n', uint8), reverse('t')]).plan(lists).order).toBe('none');
    expect(compile([part('n', uint8), hash(part('t', text))]).plan(lists).order).toBe('none');
    expect(compile([part('n', uint8), part('t', text)]).plan(lists).order).toBe('sequence');
    // Lists under one salt come in sequence, under several they are merged, wherever the salt stands.
    const many = { ...lists, n: { kind: 'in', values: [0, 1, 2, 3, 4, 5, 6, 7] } } as const;
    expect(compile([salt(4, ['n']), part('n', uint8), part('t', text)]).plan(many).order).toBe('merge');
    expect(compile([salt(1, ['n']), part('n', uint8), part('t', text)]).plan(many).order).toBe('sequence');
    expect(compile([part('n', uint8), salt(4, ['t']), part('t', text)]).plan(lists).order).toBe('merge');
  });

  it('lets the engine drop other record types where they stand at a fixed place', () => {
    const layout = compile([part('n', uint8), recordType()], 3);
    expect(
      layout.plan({ n: { kind: 'range', lower: { value: 2, inclusive: true } } }).residual,
    ).toMatchObject({
      kind: 'row',
      operator: 'EQUAL',
      comparator: { kind: 'binaryComponent', offset: 1, value: Uint8Array.of(3) },
    });
  });
});

describe('conditions that cannot be', () => {
  const layout = compile([part('a', text), hash(part('h', text)), part('n', uint8)]);
  it.each([
    ['an unknown part', { x: eq(1) }, /no key part "x". Its parts are a, h, n/],
    ['a hole', { a: eq('a'), n: eq(1) }, /"n" needs a condition on "h"/],
    [
      'a part after a range',
      { a: { kind: 'startsWith', value: 'x' }, h: eq('x') },
      /"h" follows a range on "a"/,
    ],
    ['undefined', { a: eq(undefined) }, /"a" is undefined/],
    ['null in a list', { a: { kind: 'in', values: ['x', null] } }, /"a" is null/],
    [
      'an undefined bound',
      { a: { kind: 'range', lower: { value: undefined, inclusive: true } } },
      /"a"\.gte is undefined/,
    ],
    ['a wrong type', { a: eq(1) }, /"a": text cannot hold 1: it must be a string/],
    ['half a surrogate pair', { a: { kind: 'startsWith', value: '\ud800' } }, /lone surrogate/],
    ['a range on a digest', { a: eq('a'), h: { kind: 'startsWith', value: 'x' } }, /only as a digest/],
    ['a number that is too large', { a: eq('a'), h: eq('h'), n: eq(256) }, /"n": uint8 cannot hold 256/],
    [
      'startsWith on a number',
      { a: eq('a'), h: eq('h'), n: { kind: 'startsWith', value: 1 } },
      /does not support startsWith/,
    ],
    [
      'too many combinations',
      { a: { kind: 'in', values: Array(300).fill('a') }, h: { kind: 'in', values: Array(300).fill('a') } },
      /more than 65536 ranges/,
    ],
  ] as const)('%s', (_name, conditions, message) => {
    expect(() => layout.plan(conditions as never)).toThrowError(
      expect.objectContaining({ code: 'ERR_KEY', message: expect.stringMatching(message) }),
    );
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareBytes, toHex } from '../../src/bytes/index.js';
import {
  boolean,
  bucket,
  bytes,
  compileKeyLayout,
  date,
  decimal,
  desc,
  enumeration,
  fixedString,
  float64,
  hash,
  int8,
  int32,
  int64,
  type KeyElement,
  type KeyLayout,
  literal,
  part,
  recordType,
  reverse,
  reverseDigits,
  reverseDomain,
  reverseTimestamp,
  salt,
  string,
  textNumber,
  timeBucket,
  uint8,
  uint32,
  uuid,
} from '../../src/key/index.js';
import { checkPlans, type TestLayout, type TestPart } from './brute-force.js';

const ALL = ['eq', 'in', 'range', 'startsWith', 'endsWith'] as const;
const ORDERED = ['eq', 'in', 'range'] as const;
const EXACT = ['eq', 'in'] as const;

const textCompare = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
const scalarCompare = <T extends number | bigint>(a: T, b: T) => (a < b ? -1 : a > b ? 1 : 0);

const words = fc.string({
  unit: fc.constantFrom('\0', '\x01', 'a', 'b', '\u00ff', '\ue000', '\u{1f600}'),
  maxLength: 3,
});
const text = (name: string, direction: 1 | -1 = 1): TestPart => ({
  name,
  values: words,
  compare: textCompare,
  direction,
  asks: ALL,
});
const number = (name: string, values: readonly number[], direction: 1 | -1 = 1): TestPart => ({
  name,
  values: fc.constantFrom(...values),
  compare: scalarCompare,
  direction,
  asks: ORDERED,
});
const DAY = 86_400_000;
const times = [-1, 0, 1, DAY - 1, DAY, DAY + 1, 3 * DAY, -DAY, 8.64e15, -8.64e15].map((ms) => new Date(ms));
const time = (name: string, direction: 1 | -1 = 1): TestPart => ({
  name,
  values: fc.constantFrom(...times),
  compare: (a: Date, b: Date) => a.getTime() - b.getTime(),
  direction,
  asks: ORDERED,
});
const binary: TestPart = {
  name: 'b',
  values: fc.array(fc.constantFrom(0, 1, 0xfe, 0xff), { maxLength: 3 }).map((list) => Uint8Array.from(list)),
  compare: compareBytes,
  direction: 1,
  asks: ['eq', 'in', 'range', 'startsWith'],
};

const compile = (elements: readonly KeyElement[], type?: number): KeyLayout =>
  compileKeyLayout(elements, () => undefined, type);

const customer = compile([salt(4, ['c']), part('c', string), recordType()], 1);
const orderElements = [
  salt(4, ['c']),
  part('c', string),
  recordType(),
  reverseTimestamp('at'),
  part('n', desc(uint8)),
] as const;
const customers = ['', 'a', 'ab', 'a\0', 'b'].map((c) => customer.encode({ c }));
const orders = ['', 'a', 'ab', 'b'].map((c) =>
  compile(orderElements, 2).encode({ c, at: new Date(0), n: 1 }),
);

const layouts: Readonly<Record<string, TestLayout>> = {
  'text and a number behind a salt': {
    layout: compile([salt(16), part('t', string), part('n', uint32)]),
    parts: [text('t'), number('n', [0, 1, 255, 256, 0xffffffff])],
  },
  'descending text before a number': {
    layout: compile([part('t', desc(string)), part('n', int32)]),
    parts: [text('t', -1), number('n', [-(2 ** 31), -1, 0, 1, 2 ** 31 - 1])],
  },
  'text at the end, ascending': {
    layout: compile([part('n', uint8), literal('x'), part('t', string)]),
    parts: [number('n', [0, 1, 254, 255]), text('t')],
  },
  'text at the end, descending': {
    layout: compile([part('n', desc(uint8)), part('t', desc(string))]),
    parts: [number('n', [0, 1, 254, 255], -1), text('t', -1)],
  },
  'byte strings': {
    layout: compile([part('b', bytes), part('n', int8)]),
    parts: [binary, number('n', [-128, -1, 0, 127])],
  },
  'byte strings at the end': {
    layout: compile([part('n', uint8), part('b', bytes)]),
    parts: [number('n', [0, 255]), binary],
  },
  'orders among customers': {
    layout: compile(orderElements, 2),
    parts: [text('c'), time('at', -1), number('n', [0, 1, 255], -1)],
    strangers: customers,
  },
  'customers among orders': { layout: customer, parts: [text('c')], strangers: orders },
  'record type at a fixed place behind the part': {
    layout: compile([part('n', uint8), recordType(), part('t', string)], 7),
    parts: [number('n', [0, 7, 255]), text('t')],
    strangers: [Uint8Array.of(7, 8, 97), Uint8Array.of(0, 6, 97), Uint8Array.of(255, 8)],
  },
  'a kept digest': {
    layout: compile([hash(part('t', string), { bytes: 1, keep: true }), part('n', uint8)]),
    parts: [text('t'), number('n', [0, 1, 255])],
  },
  'a digest alone': {
    layout: compile([hash(part('t', string)), part('n', uint8)]),
    parts: [{ ...text('t'), asks: EXACT }, number('n', [0, 1, 255])],
  },
  'a digest of two parts before them': {
    layout: compile([hash(['t', 'n'], { algorithm: 'murmur3' }), part('t', string), part('n', uint8)]),
    parts: [text('t'), number('n', [0, 1, 255])],
  },
  'a digest behind a time bucket': {
    layout: compile([timeBucket('at', '1d'), hash(part('t', string)), part('at', date)]),
    parts: [{ ...text('t'), asks: EXACT }, time('at')],
  },
  'buckets of a time': {
    layout: compile([bucket('at', 5), part('at', date), part('h', string)]),
    parts: [time('at'), text('h')],
  },
  'buckets of a descending number': {
    layout: compile([bucket('n', 3), part('n', desc(int64)), part('h', string)]),
    parts: [
      {
        name: 'n',
        values: fc.constantFrom(-4n, -1n, 0n, 1n, 5n, 2n ** 63n - 1n, -(2n ** 63n)),
        compare: scalarCompare,
        direction: -1,
        asks: ORDERED,
      },
      text('h'),
    ],
  },
  'time buckets before host and time': {
    layout: compile([timeBucket('at', '1d'), part('h', string), part('at', date)]),
    parts: [text('h'), time('at')],
  },
  'salted time buckets, the time descending': {
    layout: compile([salt(3, ['h']), timeBucket('at', '1d'), part('h', string), reverseTimestamp('at')]),
    parts: [text('h'), time('at', -1)],
  },
  'rising time buckets of a descending time': {
    layout: compile([timeBucket('at', '1d'), part('h', uint8), reverseTimestamp('at')]),
    parts: [number('h', [7]), { ...time('at', -1), asks: ['range'] }],
  },
  'a digest between two numbers': {
    layout: compile([part('n', uint8), hash(part('t', string)), part('m', uint8)]),
    parts: [number('n', [0, 255]), { ...text('t'), asks: EXACT }, number('m', [0, 255])],
  },
  'reversed text between two numbers': {
    layout: compile([part('n', uint8), reverse('t'), part('m', uint8)]),
    parts: [number('n', [0, 255]), { ...text('t'), asks: EXACT }, number('m', [0, 255])],
  },
  'descending time buckets with the time behind them': {
    layout: compile([desc(timeBucket('at', '1d')), reverseTimestamp('at'), part('h', string)]),
    parts: [time('at', -1), text('h')],
  },
  'a time bucket alone': {
    layout: compile([part('m', string), timeBucket('at', '1d'), part('n', uint8)]),
    parts: [text('m'), { ...time('at'), image: (ms: number) => Math.floor(ms / DAY) }, number('n', [0, 255])],
    ordered: false,
  },
  'reversed text': {
    layout: compile([reverse('t'), part('n', uint8)]),
    parts: [text('t'), number('n', [0, 255])],
  },
  'reversed domains': {
    layout: compile([reverseDomain('t'), part('n', uint8)]),
    parts: [
      {
        ...text('t'),
        values: fc.constantFrom('www.a.org', 'a.org', 'xa.org', 'org', '.org', 'a..org', '', 'b.com'),
      },
      number('n', [0, 255]),
    ],
  },
  'reversed digits': {
    layout: compile([reverseDigits('d', 4, 'string'), part('n', uint8)]),
    parts: [
      { ...text('d'), values: fc.constantFrom('0000', '0001', '1000', '1234', '4321', '9999', '0010') },
      number('n', [0, 255]),
    ],
  },
  'reversed digits of numbers': {
    layout: compile([reverseDigits('n', 4), part('t', string)]),
    parts: [number('n', [0, 1, 10, 12, 120, 9999]), text('t')],
  },
  'reversed timestamps as text': {
    layout: compile([part('u', string), reverseTimestamp('at', { as: 'number', text: true })]),
    parts: [text('u'), number('at', [0, 1, 10, 1_700_000_000_000], -1)],
  },
  "Phoenix's salt": {
    layout: compile([salt(4, { algorithm: 'phoenix' }), part('t', string), part('n', uint8)]),
    parts: [text('t'), number('n', [0, 255])],
  },
  'a salt in the middle': {
    layout: compile([part('n', uint8), salt(4, ['t']), part('t', string), part('m', uint8)]),
    parts: [number('n', [0, 3, 255]), text('t'), number('m', [0, 255])],
  },
  'salts as prefixes over one part': {
    layout: compile([salt(['b-', 'a-', 'c-'], ['t']), part('t', string), part('n', uint8)]),
    parts: [text('t'), number('n', [0, 255])],
  },
  'a salt over separate parts': {
    layout: compile([salt(5, ['t', 'm']), part('t', string), part('n', uint8), part('m', uint8)]),
    parts: [text('t'), number('n', [0, 255]), number('m', [0, 1, 2])],
  },
  'fixed text and digits': {
    layout: compile([part('f', fixedString(3)), part('n', textNumber(4))]),
    parts: [
      { ...text('f'), values: fc.constantFrom('', 'a', 'a b', 'ab', 'b', '~~~') },
      number('n', [0, 9, 10, 9999]),
    ],
  },
  'decimals, truth values and doubles': {
    layout: compile([part('d', desc(decimal(1))), part('y', boolean), part('f', float64)]),
    parts: [
      {
        name: 'd',
        values: fc.constantFrom('0.0', '-0.1', '0.1', '25.5', '25.6', '-25.6', '6553.6', '-1000000.0'),
        compare: (a: string, b: string) => Number(a) - Number(b),
        direction: -1,
        asks: ORDERED,
      },
      {
        name: 'y',
        values: fc.boolean(),
        compare: (a: boolean, b: boolean) => Number(a) - Number(b),
        direction: 1,
        asks: ORDERED,
      },
      number('f', [Number.NEGATIVE_INFINITY, -1.5, 0, 1e-300, 1.5, Number.POSITIVE_INFINITY]),
    ],
  },
  'enumerations and uuids': {
    layout: compile([salt(256, ['e']), part('e', enumeration({ open: 1, shut: 255 })), part('u', uuid)]),
    parts: [
      {
        name: 'e',
        values: fc.constantFrom('open', 'shut'),
        compare: (a: string, b: string) => (a === b ? 0 : a === 'open' ? -1 : 1),
        direction: 1,
        asks: ORDERED,
      },
      {
        ...text('u'),
        values: fc.constantFrom(
          '00000000-0000-0000-0000-000000000000',
          'ffffffff-ffff-ffff-ffff-ffffffffffff',
          '12345678-1234-4234-8234-123456789abc',
        ),
        asks: ORDERED,
      },
    ],
  },
};

describe('plans hold exactly the rows that are meant, in the order that they say', () => {
  it.each(Object.entries(layouts))('%s', (_name, layout) => checkPlans(layout));

  it.each(Object.entries(layouts))('%s: decode gives the parts back', (_name, { layout, parts }) => {
    const entity = fc.record(Object.fromEntries(parts.map((one) => [one.name, one.values])));
    fc.assert(
      fc.property(entity, (values) => {
        const row = layout.encode(values);
        expect(layout.matches(row)).toBe(true);
        const decoded = layout.decode(row);
        for (const { name, recoverable } of layout.parts) {
          expect(decoded[name]).toEqual(recoverable ? values[name] : undefined);
        }
      }),
    );
  });
});

const eq = (value: unknown) => ({ kind: 'eq', value }) as const;
const hexRanges = (layout: KeyLayout, conditions: Parameters<KeyLayout['plan']>[0]) =>
  layout.plan(conditions).ranges.map(({ start, stop }) => [toHex(start), stop && toHex(stop)]);

describe('the shape of plans', () => {
  const salted = compile([salt(16), part('t', string), part('n', uint8)]);

  it('makes one point of a whole key, with its one salt', () => {
    const plan = salted.plan({ t: eq('a'), n: eq(1) });
    expect(plan).toMatchObject({ kind: 'point', fanOut: 1, order: 'sequence', check: undefined });
    expect(plan.ranges[0]?.start).toEqual(salted.encode({ t: 'a', n: 1 }));
  });

  it('asks every salt for a prefix, and one salt when the parts it is over are given', () => {
    expect(salted.plan({ t: eq('a') })).toMatchObject({
      kind: 'ranges',
      fanOut: 16,
      order: 'merge',
      mergeOffset: 1,
    });
    const over = compile([salt(16, ['t']), part('t', string), part('n', uint8)]);
    expect(over.plan({ t: eq('a') })).toMatchObject({ kind: 'range', fanOut: 1, order: 'sequence' });
    const many = over.plan({ t: { kind: 'in', values: ['a', 'b', 'c', 'a'] } });
    expect(many).toMatchObject({ kind: 'ranges', fanOut: 1, order: 'merge', mergeOffset: 1 });
    expect(many.ranges).toHaveLength(3);
  });

  it('calls a scan of everything full, however many salts it asks', () => {
    expect(salted.plan({})).toMatchObject({ kind: 'full', fanOut: 16, order: 'merge' });
    expect(salted.plan({}).ranges.at(-1)?.stop).toEqual(Uint8Array.of(16));
    expect(compile([part('t', string)]).plan({}).ranges).toEqual([
      { start: new Uint8Array(0), stop: undefined },
    ]);
    expect(
      compile([salt(256), part('t', string)])
        .plan({})
        .ranges.at(-1)?.stop,
    ).toBeUndefined();
  });

  it('asks for one whole key under every salt that is drawn at random', () => {
    let draws = 0;
    const layout = compileKeyLayout(
      [salt(['a-', 'b-', 'c-', 'd-'], { assign: 'random' }), part('t', string)],
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
    const layout = compile([part('t', string), part('n', uint8)]);
    expect(hexRanges(layout, { t: eq('f34') })).toEqual([['6633340001', '6633340002']]);
    expect(layout.plan({ t: eq('f34') }).ranges[0]!.stop).toBeDefined();
  });

  it('has the bytes of ranges', () => {
    const layout = compile([part('t', string), part('n', uint8)]);
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
    const layout = compile([part('m', string), timeBucket('at', '1h', { unit: 's' })]);
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
    expect(layout.bucketStart(layout.encode({ m: 'cpu', at: new Date(7_200_001) }))).toBe(7_200_000);
  });

  it('cuts a bounded time into its buckets, in sequence where they rise with the time', () => {
    const days = {
      kind: 'range',
      lower: { value: new Date(0), inclusive: true },
      upper: { value: new Date(3 * DAY), inclusive: false },
    } as const;
    const rising = compile([timeBucket('at', '1d'), part('h', string), part('at', date)]);
    const plan = rising.plan({ h: eq('a'), at: days });
    expect(plan).toMatchObject({
      kind: 'ranges',
      order: 'sequence',
      fanOut: 1,
      check: undefined,
      inexactParts: [],
    });
    expect(plan.ranges).toHaveLength(3);
    const falling = compile([timeBucket('at', '1d'), part('h', string), reverseTimestamp('at')]);
    expect(falling.plan({ h: eq('a'), at: days })).toMatchObject({ order: 'merge', mergeOffset: 8 });
    const open = { ...days, upper: undefined };
    expect(rising.plan({ h: eq('a'), at: open })).toMatchObject({ kind: 'range', order: 'none', fanOut: 1 });
  });

  it('gives no order to lists of what is kept reversed or as a digest', () => {
    const lists = { n: { kind: 'in', values: [1, 2] }, t: { kind: 'in', values: ['ab', 'ba'] } } as const;
    expect(compile([part('n', uint8), reverse('t')]).plan(lists).order).toBe('none');
    expect(compile([part('n', uint8), hash(part('t', string))]).plan(lists).order).toBe('none');
    expect(compile([part('n', uint8), part('t', string)]).plan(lists).order).toBe('sequence');
    // Lists under one salt come in sequence, under several they are merged; a salt behind a list leaves no order.
    const many = { ...lists, n: { kind: 'in', values: [0, 1, 2, 3, 4, 5, 6, 7] } } as const;
    expect(compile([salt(4, ['n']), part('n', uint8), part('t', string)]).plan(many).order).toBe('merge');
    expect(compile([salt(1, ['n']), part('n', uint8), part('t', string)]).plan(many).order).toBe('sequence');
    expect(compile([part('n', uint8), salt(4, ['t']), part('t', string)]).plan(lists).order).toBe('none');
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
  const layout = compile([part('a', string), hash(part('h', string)), part('n', uint8)]);
  it.each([
    ['an unknown part', { x: eq(1) }, /"x" is no part of the row key. Its parts are a, h, n/],
    ['a hole', { a: eq('a'), n: eq(1) }, /"n" cannot be searched without "h"/],
    [
      'a part after a range',
      { a: { kind: 'startsWith', value: 'x' }, h: eq('x') },
      /"h" stands after a range on "a"/,
    ],
    ['undefined', { a: eq(undefined) }, /"a" is undefined/],
    ['null in a list', { a: { kind: 'in', values: ['x', null] } }, /"a" is null/],
    [
      'an undefined bound',
      { a: { kind: 'range', lower: { value: undefined, inclusive: true } } },
      /"a" is undefined/,
    ],
    ['a wrong type', { a: eq(1) }, /"a": string cannot hold 1: it must be a text/],
    ['half a surrogate pair', { a: { kind: 'startsWith', value: '\ud800' } }, /half of a surrogate pair/],
    ['a range on a digest', { a: eq('a'), h: { kind: 'startsWith', value: 'x' } }, /digest only/],
    ['a number that is too large', { a: eq('a'), h: eq('h'), n: eq(256) }, /"n": uint8 cannot hold 256/],
    [
      'startsWith on a number',
      { a: eq('a'), h: eq('h'), n: { kind: 'startsWith', value: 1 } },
      /knows no startsWith/,
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

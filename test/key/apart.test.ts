import fc from 'fast-check';
import { expect, it } from 'vitest';
import { compareBytes } from '../../src/bytes/index.js';
import { transformed } from '../../src/codec/index.js';
import {
  bigint,
  bucket,
  bytes,
  checkRowsBetween,
  compileKeyLayout,
  desc,
  fixedString,
  hash,
  type KeyConditions,
  type KeyDictionary,
  type KeyElement,
  type KeyLayout,
  literal,
  part,
  raw,
  recordType,
  reverseTimestamp,
  salt,
  substitute,
  text,
  uint8,
  uint32,
} from '../../src/key/index.js';
import { scaled } from '../proof/scale.js';

const compile = (elements: readonly KeyElement[], type: number) =>
  compileKeyLayout(elements, () => undefined, type);

const apart: readonly (readonly [string, readonly KeyElement[], readonly KeyElement[]])[] = [
  ['the type first', [recordType(), part('a', text)], [recordType(), part('b', uint32), part('c', text)]],
  [
    'behind the same codecs',
    [salt(4), part('a', text), recordType()],
    [salt(8, ['b']), part('b', bytes), recordType(), reverseTimestamp('at')],
  ],
  [
    'behind as many bytes',
    [part('a', uint32), recordType()],
    [part('b', fixedString(4)), recordType(), part('c', text)],
  ],
  ['last', [part('a', text), recordType()], [part('b', uint32), part('c', text), recordType()]],
  ['by length', [part('a', uint8), recordType()], [recordType(), part('b', uint32)]],
];
it.each(apart)('tells layouts apart: the record type %s', (_, a, b) => {
  expect(compile(a, 1).isApartFrom(compile(b, 2))).toBe(true);
  expect(compile(b, 2).isApartFrom(compile(a, 1))).toBe(true);
});

const confused: readonly (readonly [string, readonly KeyElement[], readonly KeyElement[]])[] = [
  [
    'first, or behind a text',
    [recordType(), part('a', text)],
    [part('b', text), recordType(), part('c', text)],
  ],
  [
    'first, or behind a byte',
    [recordType(), part('a', text)],
    [part('b', uint8), recordType(), part('c', text)],
  ],
  [
    'behind texts of either order',
    [part('a', text), recordType(), part('c', text)],
    [part('b', desc(text)), recordType()],
  ],
];
it.each(confused)('does not take for apart what is not: %s', (_, a, b) => {
  expect(compile(a, 1).isApartFrom(compile(b, 2))).toBe(false);
  expect(compile(b, 2).isApartFrom(compile(a, 1))).toBe(false);
});

it('keeps the checks of rows in layouts that dictionaries are bound to, and in those of transformed codecs', () => {
  const halved = transformed(uint8, { to: (n: number) => n / 2, from: (n: number) => n * 2 });
  const withIds = compile([salt(3), recordType(), substitute('group', 'groups', { bytes: 1 })], 1);
  const withHalves = compile([salt(3), recordType(), part('group', halved)], 1);
  const other = compile([recordType(), part('shelf', uint8)], 2);
  const row = other.encode({ shelf: 1 });
  for (const layout of [withIds, withHalves]) {
    expect(checkRowsBetween(layout, other)).toBe(true);
    const bound = layout.bind(() => ({ name: 'groups' }) as KeyDictionary);
    for (const each of [layout, bound]) expect(each.plan({}).check?.(row)).toBe(false);
  }
});

type Values = Readonly<Record<string, unknown>>;

/** Queries by leading parts of rows of one layout find no row of the other. */
function findNone(
  layout: KeyLayout,
  rows: readonly Values[],
  other: KeyLayout,
  others: readonly Values[],
): void {
  for (const values of [{}, ...rows]) {
    for (let parts = 0; parts <= layout.parts.length; parts++) {
      const leading = layout.parts.slice(0, parts).filter(({ name }) => name in values);
      const conditions = leading.map(({ name }) => [name, { kind: 'eq', value: values[name] }] as const);
      const { ranges, check } = layout.plan(Object.fromEntries(conditions) as KeyConditions);
      for (const each of others) {
        const row = other.encode(each);
        const isIn = ranges.some(
          ({ start, stop }) =>
            compareBytes(start, row) <= 0 && (stop === undefined || compareBytes(row, stop) < 0),
        );
        if (isIn) expect(check?.(row)).toBe(false);
      }
    }
  }
}

it('never finds a row of both where it says that there is none', () => {
  const words = fc.string({ unit: fc.constantFrom('\0', '\x01', '\x02', 'a'), maxLength: 3 });
  const kinds: readonly (readonly [(name: string) => KeyElement, fc.Arbitrary<unknown>])[] = [
    [(name) => part(name, text), words],
    [(name) => part(name, desc(text)), words],
    [(name) => part(name, uint8), fc.constantFrom(0, 1, 2, 255)],
    [(name) => part(name, uint32), fc.constantFrom(0, 1, 2, 0x01000102)],
    [(name) => part(name, bigint), fc.constantFrom(0n, 1n, -1n, 70_000n)],
  ];
  const keys = fc
    .array(fc.nat(kinds.length - 1), { minLength: 1, maxLength: 3 })
    .chain((chosen) =>
      fc.record({
        elements: fc.constant(chosen.map((kind, i) => kinds[kind]![0](`p${i}`))),
        at: fc.nat(chosen.length),
        literal: fc.boolean(),
        rows: fc.array(
          fc
            .tuple(...chosen.map((kind) => kinds[kind]![1]))
            .map((values) => Object.fromEntries(values.map((value, i) => [`p${i}`, value]))),
          { minLength: 8, maxLength: 8 },
        ),
      }),
    )
    .map(({ elements, at, literal: fixed, rows }) => ({
      elements: [
        ...elements.slice(0, at),
        recordType(),
        ...elements.slice(at),
        ...(fixed ? [literal(Uint8Array.of(0, 1))] : []),
      ],
      rows,
    }));
  let found = 0;
  let between = 0;
  fc.assert(
    fc.property(keys, keys, (one, other) => {
      const a = compile(one.elements, 1);
      const b = compile(other.elements, 2);
      const said = a.isApartFrom(b);
      expect(b.isApartFrom(a)).toBe(said);
      if (!said) return;
      found++;
      for (const row of one.rows) expect(b.matches(a.encode(row))).toBe(false);
      for (const row of other.rows) expect(a.matches(b.encode(row))).toBe(false);
      if (checkRowsBetween(a, b)) between++;
      findNone(a, one.rows, b, other.rows);
      findNone(b, other.rows, a, one.rows);
    }),
    { numRuns: scaled(100, 1000, 20000) },
  );
  expect(found).toBeGreaterThan(20);
  expect(between).toBeGreaterThan(5);
});

it('orders by a bucket unless its part has one value', () => {
  const layout = compileKeyLayout([bucket('n', 8), part('n', uint32), part('at', text)], () => undefined);
  const count = (...fixed: readonly string[]) =>
    layout.orderingElements((name) => fixed.includes(name)).length;
  expect([count(), count('at'), count('n'), count('n', 'at')]).toEqual([3, 2, 1, 0]);
});

it('has keys in the same order where two layouts say that the same elements differ', () => {
  const words = fc.string({ unit: fc.constantFrom('\0', '\x01', '!', 'a'), maxLength: 3 });
  const kinds: readonly (readonly [(name: string) => KeyElement, fc.Arbitrary<unknown>])[] = [
    [(name) => part(name, text), words],
    [(name) => part(name, desc(text)), words],
    [(name) => desc(part(name, text)), words],
    [(name) => part(name, raw.joined('#')), words],
    [(name) => part(name, bigint), fc.constantFrom(0n, 1n, -1n, 70_000n)],
    [(name) => reverseTimestamp(name), fc.constantFrom(new Date(0), new Date(1), new Date(-1))],
    [(name) => hash(part(name, text), { bytes: 2, keep: true }), words],
  ];
  const names = ['p0', 'p1', 'p2', 'p3'];
  const drawn = fc.tuple(...names.map(() => fc.nat(kinds.length - 1))).chain((chosen) =>
    fc.record({
      elements: fc.constant(chosen.map((kind, i) => kinds[kind]![0](names[i]!))),
      orders: fc.tuple(
        fc.shuffledSubarray(names, { minLength: 4 }),
        fc.shuffledSubarray(names, { minLength: 4 }),
      ),
      salts: fc.tuple(fc.subarray(names, { maxLength: 2 }), fc.subarray(names, { maxLength: 1 })),
      ones: fc.subarray(names, { minLength: 2 }),
      rows: fc.array(fc.tuple(...chosen.map((kind) => kinds[kind]![1])), { minLength: 6, maxLength: 6 }),
    }),
  );
  let found = 0;
  fc.assert(
    fc.property(drawn, ({ elements, orders, salts, ones, rows }) => {
      const [a, b] = orders.map((order, i) =>
        compileKeyLayout(
          [
            ...(salts[i]!.length > 0 ? [salt(4, salts[i]!)] : []),
            ...order.map((name) => elements[names.indexOf(name)]!),
          ],
          () => undefined,
        ),
      ) as [KeyLayout, KeyLayout];
      const isOne = (name: string) => ones.includes(name);
      if (a.orderingElements(isOne).join(' ') !== b.orderingElements(isOne).join(' ')) return;
      found++;
      const values = rows.map((row) =>
        Object.fromEntries(names.map((name, i) => [name, isOne(name) ? rows[0]![i] : row[i]] as const)),
      );
      for (const one of values) {
        for (const other of values) {
          const signs = [a, b].map((layout) =>
            Math.sign(compareBytes(layout.encode(one), layout.encode(other))),
          );
          expect(signs[0]).toBe(signs[1]);
        }
      }
    }),
    { numRuns: scaled(1000, 10_000, 100_000), seed: 5 },
  );
  expect(found).toBeGreaterThan(100);
});

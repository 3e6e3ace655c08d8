import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  bigint,
  bytes,
  compileKeyLayout,
  desc,
  fixedString,
  type KeyElement,
  literal,
  part,
  recordType,
  reverseTimestamp,
  salt,
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
    }),
    { numRuns: scaled(100, 1000, 20000) },
  );
  expect(found).toBeGreaterThan(20);
});

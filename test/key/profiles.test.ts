import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromHex, toHex } from '../../src/bytes/index.js';
import { phoenixSalt } from '../../src/key/digest.js';
import {
  compileKeyLayout,
  desc,
  fixedBytes,
  fixedString,
  hash,
  type KeyElement,
  kiji,
  part,
  phoenix,
  raw,
  type ScalarCodec,
  salt,
  uint8,
} from '../../src/key/index.js';
import { scaled } from '../proof/scale.js';
import { checkPlans, type TestPart } from './brute-force.js';

const compile = (elements: readonly KeyElement[]) => compileKeyLayout(elements, () => undefined);

/** Computed in Java: `Bytes.toBytes`, and the expressions of Phoenix's PDouble and PFloat. */
const vectors: readonly (readonly [ScalarCodec<never>, unknown, string])[] = [
  [raw.int16, -2, 'fffe'],
  [raw.int32, -2147483648, '80000000'],
  [raw.int32, 258, '00000102'],
  [raw.int64, -2n, 'fffffffffffffffe'],
  [raw.int53, -2, 'fffffffffffffffe'],
  [raw.date, new Date(258), '0000000000000102'],
  [raw.boolean, true, 'ff'],
  [raw.boolean, false, '00'],
  [raw.float64, -1.5, 'bff8000000000000'],
  [raw.float32, 1.5, '3fc00000'],
  [raw.float64, Number.NaN, '7ff8000000000000'],
  [raw.float64, -0, '8000000000000000'],
  [raw.string, 'é', 'c3a9'],
  [phoenix.tinyint, -1, '7f'],
  [phoenix.smallint, 1, '8001'],
  [phoenix.integer, -2147483648, '00000000'],
  [phoenix.bigint, 1n, '8000000000000001'],
  [phoenix.unsignedTinyint, 127, '7f'],
  [phoenix.unsignedInt, 258, '00000102'],
  [phoenix.unsignedLong, 258n, '0000000000000102'],
  [phoenix.double, 0, '8000000000000001'],
  [phoenix.double, 1.5, 'bff8000000000001'],
  [phoenix.double, -1.5, '4008000000000000'],
  [phoenix.double, Number.MAX_VALUE, 'fff0000000000000'],
  [phoenix.double, Number.NEGATIVE_INFINITY, '0010000000000000'],
  [phoenix.double, Number.MIN_VALUE, '8000000000000002'],
  [phoenix.double, -Number.MIN_VALUE, '7fffffffffffffff'],
  [phoenix.float, 1.5, 'bfc00001'],
  [phoenix.float, -1.5, '40400000'],
  [phoenix.boolean, true, '01'],
  [phoenix.char(4), 'ab', '61622020'],
  [phoenix.binary(3), Uint8Array.of(1), '010000'],
  [phoenix.date, new Date(-1), '7fffffffffffffff'],
  [phoenix.timestamp, new Date(1), '800000000000000100000000'],
  [phoenix.unsignedDate, new Date(258), '0000000000000102'],
  [kiji.int, -1, '7fffffff'],
  [kiji.long, 1n, '8000000000000001'],
] as unknown as readonly (readonly [ScalarCodec<never>, unknown, string])[];

it.each(vectors.map(([codec, value, hex]) => [codec.name, value, hex, codec] as const))(
  '%s keeps %s as %s',
  (_name, value, hex, codec) => {
    expect(toHex(codec.encode(value as never))).toBe(hex);
    expect(codec.decode(fromHex(hex))).toEqual(value);
  },
);

it.each([
  [phoenix.unsignedInt, -1],
  [phoenix.unsignedLong, 2n ** 63n],
  [phoenix.unsignedDate, new Date(-1)],
  [phoenix.double, Number.NaN],
  [raw.int16, 32768],
  [raw.float32, 0.1],
] as unknown as [ScalarCodec<never>, unknown][])('%o refuses %s', (codec, value) => {
  expect(() => codec.encode(value as never)).toThrowError(expect.objectContaining({ code: 'ERR_CODEC' }));
});

it('says that a timestamp of Phoenix has nanoseconds rather than drop them', () => {
  expect(() => phoenix.timestamp.decode(fromHex('800000000000000100000001'))).toThrowError(/nanoseconds/);
});

describe('whole keys', () => {
  /** `Math.abs(Arrays.hashCode(bytes) % n)` in Java. */
  it.each([
    ['a', 0, 28],
    ['foo0001', 6, 10],
    ['foo0002', 7, 11],
    ['\u00e9t\u00e9', 13, 49],
    ['zzzzzzzzzz', 1, 1],
  ])("have Phoenix's salt: %s", (text, of16, of100) => {
    const bytes = Buffer.from(text);
    expect(phoenixSalt(bytes, 0, bytes.length, 16)).toBe(of16);
    expect(phoenixSalt(bytes, 0, bytes.length, 100)).toBe(of100);
    const layout = compile([salt(16, { algorithm: 'phoenix' }), part('t', phoenix.varchar)]);
    expect(toHex(layout.encode({ t: text }))).toBe(toHex(Uint8Array.of(of16, ...bytes)));
  });

  it("are Phoenix's: separators between, none at the end but of a descending text", () => {
    const table = compile([
      part('a', phoenix.varchar),
      part('b', phoenix.integer),
      part('c', phoenix.varchar),
    ]);
    expect(toHex(table.encode({ a: 'x', b: 1, c: 'y' }))).toBe('78008000000179');
    expect(table.decode(fromHex('78008000000179'))).toEqual({ a: 'x', b: 1, c: 'y' });
    const descending = compile([part('a', desc(phoenix.varchar)), part('c', desc(phoenix.varchar))]);
    expect(toHex(descending.encode({ a: 'x', c: 'y' }))).toBe('87ff86ff');
    expect(() => table.encode({ a: 'x\0', b: 1, c: 'y' })).toThrowError(/without NUL/);
    expect(() => table.encode({ a: 'x', b: 1, c: 'y\0' })).toThrowError(/without NUL/);
  });

  it("are Kiji's: md5 of the leading components without their ends, cut; every text ended", () => {
    const layout = compile([
      hash(['a', 'b'], { bytes: 2 }),
      part('a', kiji.string),
      part('b', kiji.long),
      part('c', kiji.string),
    ]);
    const digest = createHash('md5').update('Olga').update(fromHex('800000000000000c')).digest('hex');
    const hex = `${digest.slice(0, 4)}4f6c676100800000000000000c6400`;
    expect(toHex(layout.encode({ a: 'Olga', b: 12n, c: 'd' }))).toBe(hex);
    expect(layout.decode(fromHex(hex))).toEqual({ a: 'Olga', b: 12n, c: 'd' });
  });

  it('are joined by a separator, as in foo#bar', () => {
    const layout = compile([part('a', raw.joined('#')), part('b', raw.string)]);
    expect(Buffer.from(layout.encode({ a: 'foo', b: 'b#r' })).toString()).toBe('foo#b#r');
    expect(layout.decode(Buffer.from('foo#b#r'))).toEqual({ a: 'foo', b: 'b#r' });
    expect(() => layout.encode({ a: 'f#', b: '' })).toThrowError(/"a".*without "#"/);
    expect(layout.plan({ a: { kind: 'startsWith', value: 'f' } }).ranges).toHaveLength(1);
  });

  it('refuse a text without an end before the last part', () => {
    expect(() => compile([part('a', raw.string), part('n', uint8)])).toThrowError(/has no terminator/);
    expect(() => compile([part('a', desc(raw.string))])).toThrowError(/has no terminator/);
  });
});

const ORDERED = ['eq', 'in', 'range'] as const;
const scalarCompare = <T extends number | bigint>(a: T, b: T) => (a < b ? -1 : a > b ? 1 : 0);
const textCompare = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
const scalars = (name: string, values: readonly unknown[], direction: 1 | -1 = 1): TestPart => ({
  name,
  values: fc.constantFrom(...values),
  compare: scalarCompare as (a: never, b: never) => number,
  direction,
  asks: ORDERED,
});
const texts = (name: string, alphabet: readonly string[], direction: 1 | -1 = 1): TestPart => ({
  name,
  values: fc.string({ unit: fc.constantFrom(...alphabet), maxLength: 3 }),
  compare: textCompare,
  direction,
  asks: ['eq', 'in', 'range', 'startsWith', 'endsWith'],
});
const small = scalars('n', [0, 1, 255]);
const signed = [-(2 ** 31), -2, -1, 0, 1, 2 ** 31 - 1];
const plain = ['a', 'b', '\x01', '\u{1f600}'];

describe('plans hold exactly the rows that are meant', () => {
  it.each([
    ['raw.int32', [part('v', raw.int32), part('n', uint8)], [scalars('v', signed), small]],
    ['desc(raw.int32)', [part('v', desc(raw.int32)), part('n', uint8)], [scalars('v', signed, -1), small]],
    [
      'raw.int64 behind a salt',
      [salt(3), part('n', uint8), part('v', raw.int64)],
      [small, scalars('v', [-(2n ** 63n), -1n, 0n, 1n, 2n ** 63n - 1n])],
    ],
    [
      'raw.float64',
      [part('v', raw.float64), part('n', uint8)],
      [scalars('v', [-2.5, -1, 0, 0.5, 1e300]), small],
    ],
    [
      'raw.date',
      [part('v', raw.date)],
      [
        {
          ...scalars(
            'v',
            [-5, -1, 0, 1, 8.64e15].map((ms) => new Date(ms)),
          ),
          compare: (a: Date, b: Date) => a.getTime() - b.getTime(),
        } as TestPart,
      ],
    ],
    ['raw.joined', [part('t', raw.joined('#')), part('n', uint8)], [texts('t', ['a', 'b', '!', '$']), small]],
    [
      'raw.joined at the end, with a separator above letters',
      [part('n', uint8), part('t', raw.joined('|'))],
      [small, texts('t', ['a', 'b', '~'])],
    ],
    [
      'desc(raw.joined)',
      [part('t', desc(raw.joined('#'))), part('n', uint8)],
      [texts('t', ['a', '!', '$'], -1), small],
    ],
    ['raw.string', [part('n', uint8), part('t', raw.string)], [small, texts('t', [...plain, '\0'])]],
    ['phoenix.varchar', [part('t', phoenix.varchar), part('n', uint8)], [texts('t', plain), small]],
    [
      'desc(phoenix.varchar)',
      [part('t', desc(phoenix.varchar)), part('n', uint8)],
      [texts('t', plain, -1), small],
    ],
    [
      'desc(phoenix.varchar) at the end',
      [part('n', uint8), part('t', desc(phoenix.varchar))],
      [small, texts('t', plain, -1)],
    ],
    [
      'kiji.string',
      [hash('t', { bytes: 1 }), part('t', kiji.string), part('n', uint8)],
      [texts('t', plain), small],
    ],
    ['phoenix.double', [part('v', desc(phoenix.double))], [scalars('v', [-2.5, -1, 0, 0.5, 1e300], -1)]],
  ] as readonly (readonly [string, readonly KeyElement[], readonly TestPart[]])[])(
    '%s',
    (_name, elements, parts) => {
      checkPlans({ elements, parts });
    },
  );
});

describe('what a codec decodes it encodes to the same bytes', () => {
  const codecs = [
    ...[phoenix.tinyint, phoenix.smallint, phoenix.integer, phoenix.bigint],
    ...[phoenix.unsignedTinyint, phoenix.unsignedSmallint, phoenix.unsignedInt, phoenix.unsignedLong],
    ...[phoenix.char(3), phoenix.binary(3), phoenix.date, phoenix.timestamp, phoenix.unsignedDate],
    ...[raw.int16, raw.int32, raw.int64, raw.int53, raw.date, raw.boolean, raw.float64, raw.float32],
    ...[uint8, fixedBytes(3), fixedBytes(3, 0x20), fixedBytes(2, 0xff), fixedString(3, 'a'), kiji.int],
  ] as readonly ScalarCodec<unknown>[];

  it.each(codecs.map((codec) => [codec.name, codec] as const))('%s', (_, codec) => {
    const length = codec.fixedLength!;
    const edges = fc.constantFrom(0, 1, 0x1f, 0x20, 0x7f, 0x80, 0xff);
    const bytes = fc.array(fc.oneof(edges, fc.nat(255)), { minLength: length, maxLength: length });
    fc.assert(
      fc.property(bytes, (given) => {
        const stored = Uint8Array.from(given);
        let value: unknown;
        try {
          value = codec.decode(stored);
        } catch (error) {
          expect(error).toMatchObject({ code: 'ERR_CODEC' });
          return;
        }
        // All of them are one number here.
        if (!Number.isNaN(value)) expect(toHex(codec.encode(value))).toBe(toHex(stored));
      }),
      { numRuns: scaled(150, 2000, 2000) },
    );
  });

  it('refuses what is greater, of an earlier time or below the padding', () => {
    expect(() => phoenix.unsignedInt.decode(fromHex('ffffffff'))).toThrow(/the maximum is 2147483647/);
    expect(() => phoenix.unsignedLong.decode(fromHex('ffffffffffffffff'))).toThrow(
      /maximum is 9223372036854775807n/,
    );
    expect(() => phoenix.unsignedDate.decode(fromHex('ffffffffffffffff'))).toThrow(/before 1970/);
    expect(() => fixedBytes(3, 0x20).decode(fromHex('410141'))).toThrow(/below the padding 32/);
  });
});

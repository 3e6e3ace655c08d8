import fc from 'fast-check';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { compareBytes, fromHex, toHex } from '../../src/bytes/index.js';
import { withoutGenerating } from '../../src/codegen/generated.js';
import type { BaseCodec } from '../../src/key/codecs/index.js';
import { asciiReader } from '../../src/key/codecs/text.js';
import {
  bigint,
  boolean,
  bytes,
  cidr,
  cidrRange,
  compileKeyLayout,
  date,
  decimal,
  desc,
  enumeration,
  fixedBytes,
  fixedString,
  float32,
  float64,
  int8,
  int16,
  int32,
  int53,
  int64,
  ipv4,
  ipv6,
  type KeyCodec,
  KeyWriter,
  ksuid,
  numericEnum,
  part,
  type ScalarCodec,
  text,
  textNumber,
  uint8,
  uint16,
  uint32,
  uint64,
  ulid,
  uuid,
} from '../../src/key/index.js';
import { codePoint } from '../proof/texts.js';

enum Priority {
  Low = 1,
  High = 200,
}

const bytesOf = (count: number) => fc.uint8Array({ minLength: count, maxLength: count });
/** Addresses with runs of zeros, which are written in short. */
const sparseAddress = fc
  .array(fc.constantFrom(0, 0, 0, 1, 0xffff), { minLength: 8, maxLength: 8 })
  .map((groups) => Uint8Array.of(...groups.flatMap((group) => [group >> 8, group & 0xff])));

function compareParts(a: readonly (number | string)[], b: readonly (number | string)[]): number {
  for (let i = 0; i < a.length; i++) if (Number(a[i]) !== Number(b[i])) return Number(a[i]) - Number(b[i]);
  return 0;
}

/** The groups of an address by Node's own parser. */
function groupsOf(address: string): number[] {
  const [head = '', tail] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split('::');
  const parse = (text: string): number[] =>
    text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
  const [before, behind] = [parse(head), parse(tail ?? '')];
  return [...before, ...new Array<number>(8 - before.length - behind.length).fill(0), ...behind];
}

/** Text with NUL, characters on both sides of the surrogates, and astral ones. */
const texts = fc.string({
  unit: fc.oneof(
    fc.constantFrom('\0', '\x01', 'a', 'b', '\xff', '\ud7ff', '\ue000', '\uffff', '\u{1f600}', '\u{10ffff}'),
    codePoint,
  ),
  maxLength: 8,
});
const byteString = fc.oneof(
  fc.uint8Array({ maxLength: 8 }),
  fc.array(fc.constantFrom(0, 1, 0xfe, 0xff), { maxLength: 6 }).map((list) => Uint8Array.from(list)),
);
const codePoints = (value: string) => Array.from(value, (character) => character.codePointAt(0)!);
const numbers = (a: number, b: number) => a - b;
const bigs = (a: bigint, b: bigint) => (a < b ? -1 : a > b ? 1 : 0);

function lexical(a: readonly number[], b: readonly number[]): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) if (a[i] !== b[i]) return a[i]! - b[i]!;
  return a.length - b.length;
}

interface Case<T> {
  readonly codec: ScalarCodec<T>;
  readonly values: fc.Arbitrary<T>;
  readonly compare: (a: T, b: T) => number;
}

const textCompare = (a: string, b: string) => lexical(codePoints(a), codePoints(b));
const edgy = (min: number, max: number) =>
  fc.oneof(fc.integer({ min, max }), fc.constantFrom(min, max, min + 1, max - 1, 0, 1));
const decimalText = fc
  .tuple(fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }), fc.boolean())
  .map(([n, small]) => {
    const unscaled = small ? n % 1000n : n;
    const digits = (unscaled < 0n ? -unscaled : unscaled).toString().padStart(3, '0');
    return `${unscaled < 0n ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`;
  });
const unscaled = (value: string) => BigInt(value.replace('.', ''));

const cases: readonly Case<never>[] = [
  { codec: text, values: texts, compare: textCompare },
  { codec: int8, values: edgy(-128, 127), compare: numbers },
  { codec: int16, values: edgy(-32768, 32767), compare: numbers },
  { codec: int32, values: edgy(-(2 ** 31), 2 ** 31 - 1), compare: numbers },
  { codec: uint8, values: edgy(0, 255), compare: numbers },
  { codec: uint16, values: edgy(0, 65535), compare: numbers },
  { codec: uint32, values: edgy(0, 2 ** 32 - 1), compare: numbers },
  { codec: int53, values: edgy(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER), compare: numbers },
  {
    codec: int64,
    values: fc.oneof(
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      fc.constantFrom(-(2n ** 63n), 2n ** 63n - 1n, -1n, 0n, 2n ** 32n, -(2n ** 32n)),
    ),
    compare: bigs,
  },
  {
    codec: uint64,
    values: fc.oneof(
      fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
      fc.constantFrom(0n, 2n ** 64n - 1n, 2n ** 63n),
    ),
    compare: bigs,
  },
  { codec: float64, values: fc.double({ noNaN: true }).map((n) => n + 0 || 0), compare: compareNumbers },
  { codec: float32, values: fc.float({ noNaN: true }).map((n) => n + 0 || 0), compare: compareNumbers },
  {
    codec: decimal(2),
    values: decimalText,
    compare: (a: string, b: string) => bigs(unscaled(a), unscaled(b)),
  },
  { codec: bigint, values: fc.bigInt({ min: -(2n ** 200n), max: 2n ** 200n }), compare: bigs },
  {
    codec: date,
    values: fc.date({ noInvalidDate: true }),
    compare: (a: Date, b: Date) => a.getTime() - b.getTime(),
  },
  { codec: uuid, values: fc.uuid(), compare: textCompare },
  { codec: ulid, values: fc.ulid(), compare: textCompare },
  { codec: ksuid, values: bytesOf(20).map((value) => ksuid.decode(value)), compare: textCompare },
  {
    codec: ipv4,
    values: fc.ipV4(),
    compare: (a: string, b: string) => compareParts(a.split('.'), b.split('.')),
  },
  {
    codec: ipv6,
    values: fc.oneof(bytesOf(16), sparseAddress).map((value) => ipv6.decode(value)),
    compare: (a: string, b: string) => compareParts(groupsOf(a), groupsOf(b)),
  },
  {
    codec: cidr,
    values: fc.tuple(fc.nat(255), fc.integer({ min: 8, max: 32 })).map(([n, bits]) => `${n}.0.0.0/${bits}`),
    compare: (a: string, b: string) => compareParts(a.split(/[./]/), b.split(/[./]/)),
  },
  {
    codec: numericEnum(Priority),
    values: fc.constantFrom(Priority.Low, Priority.High),
    compare: (a: number, b: number) => a - b,
  },
  { codec: bytes, values: byteString, compare: compareBytes },
  { codec: boolean, values: fc.boolean(), compare: (a: boolean, b: boolean) => Number(a) - Number(b) },
  {
    codec: enumeration({ open: 3, shipped: 7, lost: 250 }),
    values: fc.constantFrom('open', 'shipped', 'lost'),
    compare: (a: string, b: string) => ORDER.indexOf(a) - ORDER.indexOf(b),
  },
  {
    codec: fixedString(12),
    values: fc.string({ unit: fc.constantFrom('a', 'b', ' ', 'é'), maxLength: 5 }).map((s) => s.trimEnd()),
    compare: textCompare,
  },
  { codec: fixedBytes(4), values: fc.uint8Array({ minLength: 4, maxLength: 4 }), compare: compareBytes },
  {
    codec: fixedBytes(4, 0),
    values: fc.uint8Array({ maxLength: 4 }).filter((b) => b.at(-1) !== 0),
    compare: compareBytes,
  },
  { codec: textNumber(16), values: fc.maxSafeNat(), compare: numbers },
  { codec: textNumber(25, 'bigint'), values: fc.bigInt({ min: 0n, max: 10n ** 25n - 1n }), compare: bigs },
] as unknown as readonly Case<never>[];

const ORDER = ['open', 'shipped', 'lost'];

function compareNumbers(a: number, b: number): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

describe.each(cases.map((one) => [one.codec.name, one] as const))(
  '%s',
  (_name, { codec, values, compare }) => {
    it('gives every value back', () => {
      const descending = desc(codec);
      fc.assert(
        fc.property(values, (value) => {
          expect(codec.decode(codec.encode(value))).toEqual(value);
          expect(descending.decode(descending.encode(value))).toEqual(value);
        }),
      );
    });

    it('has the bytes of a fixed length where it says so', () => {
      if (codec.fixedLength === undefined) return;
      fc.assert(fc.property(values, (value) => codec.encode(value).length === codec.fixedLength));
    });

    it.each([
      ['last', false],
      ['followed by another part', true],
    ])('orders bytes as values, ascending and descending, %s', (_where, followed) => {
      for (const direction of [1, -1]) {
        const own: KeyCodec<never> = direction === 1 ? codec : desc(codec);
        const layout = compileKeyLayout(
          followed
            ? [part('id', uint8), part('value', own), part('next', uint8)]
            : [part('id', uint8), part('value', own)],
          () => undefined,
        );
        fc.assert(
          fc.property(values, values, fc.nat(255), fc.nat(255), (a, b, nextA, nextB) => {
            const order = compareBytes(
              layout.encode({ id: 1, value: a, next: nextA }),
              layout.encode({ id: 1, value: b, next: nextB }),
            );
            const expected = direction * compare(a, b) || (followed ? nextA - nextB : 0);
            expect(Math.sign(order)).toBe(Math.sign(expected) + 0);
          }),
        );
      }
    });

    it('refuses what it cannot hold', () => {
      for (const wrong of [undefined, null, {}, [], Number.NaN, Symbol('x'), new Date(Number.NaN), () => 1]) {
        expect(() => codec.encode(wrong as never)).toThrowError(
          expect.objectContaining({ code: 'ERR_CODEC' }),
        );
      }
    });
  },
);

const golden: readonly (readonly [ScalarCodec<never>, unknown, string])[] = [
  [int8, -1, '7f'],
  [int16, 258, '8102'],
  [int32, -2147483648, '00000000'],
  [int32, 1, '80000001'],
  [uint32, 4294967295, 'ffffffff'],
  [int53, -1, '7fffffffffffffff'],
  [int64, -2n, '7ffffffffffffffe'],
  [uint64, 1n, '0000000000000001'],
  [float64, 1, 'bff0000000000000'],
  [float64, -1, '400fffffffffffff'],
  [float64, -0, '8000000000000000'],
  [float32, -0, '80000000'],
  [date, new Date(0), '8000000000000000'],
  [date, new Date(-1), '7fffffffffffffff'],
  [text, 'é😀', 'c3a9f09f9880'],
  [boolean, true, '01'],
  [uuid, '00112233-4455-6677-8899-aabbccddeeff', '00112233445566778899aabbccddeeff'],
  [ulid, '7ZZZZZZZZZZZZZZZZZZZZZZZZZ', 'ff'.repeat(16)],
  [ulid, '00000000000000000000000001', `${'00'.repeat(15)}01`],
  [ksuid, '0ujtsYcgvSTl8PAuAdqWYSMnLOv', '0669f7efb5a1cd34b5f99d1154fb6853345c9735'],
  [ksuid, 'aWgEPTl1tmebfsQzFP4bxwgy80V', 'ff'.repeat(20)],
  [ipv4, '192.0.2.255', 'c00002ff'],
  [ipv6, '2001:db8::1:0:0:1', '20010db8000000000001000000000001'],
  [ipv6, '2001:db8:0:1:1:1:1:1', '20010db8000000010001000100010001'],
  [ipv6, '::', '00'.repeat(16)],
  [ipv6, '::ffff:192.0.2.1', '00000000000000000000ffffc0000201'],
  [cidr, '10.0.0.0/8', '00000000000000000000ffff0a00000068'],
  [cidr, '2001:db8::/32', '20010db800000000000000000000000020'],
  [cidr, '::/0', '00'.repeat(17)],
  [numericEnum({ a: 1, b: 2 }), 2, '02'],
  [numericEnum({ a: 1, b: 300 }), 1, '0001'],
  [decimal(2), '0', '80'],
  [decimal(2), '1', '8164'],
  [decimal(2), '-1.00', '7e9b'],
  [bigint, 256n, '820100'],
  [enumeration({ a: 300 }, { bytes: 2 }), 'a', '012c'],
  [fixedString(4), 'ab', '61622020'],
  [fixedString(3, '\0'), 'a', '610000'],
  [textNumber(6), 42, '303030303432'],
] as unknown as readonly (readonly [ScalarCodec<never>, unknown, string])[];

it.each(golden.map(([codec, value, hex]) => [codec.name, value, hex, codec] as const))(
  '%s keeps %s as %s',
  (_name, value, hex, codec) => {
    expect(toHex(codec.encode(value as never))).toBe(hex);
    expect(codec.decode(fromHex(hex))).toEqual(
      Object.is(value, -0) ? 0 : codec.name === 'decimal(2)' ? expect.stringMatching(/\.\d\d$/) : value,
    );
  },
);

const refused: readonly (readonly [ScalarCodec<never>, unknown])[] = [
  [int8, 128],
  [int32, 1.5],
  [int32, '1'],
  [uint32, -1],
  [uint32, 4294967296],
  [uint32, 1n],
  [int53, 2 ** 53],
  [int64, 1],
  [int64, 2n ** 63n],
  [uint64, -1n],
  [float32, 0.1],
  [text, 'a\ud800'],
  [text, '\udc00b'],
  [text, '\ud800\ud800'],
  [date, 0],
  [uuid, '00112233-4455-6677-8899-AABBCCDDEEFF'],
  [uuid, '00112233445566778899aabbccddeeff'],
  [ulid, '8ZZZZZZZZZZZZZZZZZZZZZZZZZ'],
  [ulid, '0000000000000000000000000u'],
  [ksuid, 'aWgEPTl1tmebfsQzFP4bxwgy80W'],
  [ksuid, '0ujtsYcgvSTl8PAuAdqWYSMnLO'],
  [ipv4, '192.0.2.01'],
  [ipv4, '192.0.2.256'],
  [ipv4, '192.0.2'],
  [ipv4, 3221225985],
  [ipv6, '2001:DB8::1'],
  [ipv6, '2001:0db8::1'],
  [ipv6, '2001:db8:0:0::1'],
  [ipv6, '1:2:3:4:5:6:7::8:9'],
  [ipv6, '2001:db8::1::2'],
  [ipv6, '::ffff:c000:201'],
  [ipv6, 'fe80::1%eth0'],
  [cidr, '10.0.0.1/8'],
  [cidr, '10.0.0.0/33'],
  [cidr, '10.0.0.0'],
  [cidr, '::ffff:10.0.0.0/104'],
  [numericEnum({ a: 1 }), 2],
  [numericEnum({ a: 1 }), 'a'],
  [decimal(2), '1.234'],
  [decimal(2), '1e3'],
  [decimal(2), 1],
  [decimal(2), '.5'],
  [fixedString(2), 'abc'],
  [fixedString(4), 'ab '],
  [fixedString(4), 'a\t'],
  [fixedString(2), 'éé'],
  [fixedBytes(2), Uint8Array.of(1)],
  [fixedBytes(2), Uint8Array.of(1, 2, 3)],
  [fixedBytes(2, 0), Uint8Array.of(1, 0)],
  [textNumber(2), 100],
  [textNumber(2), -1],
  [enumeration({ a: 1 }), 'b'],
  [bytes, 'text'],
  [boolean, 1],
] as unknown as readonly (readonly [ScalarCodec<never>, unknown])[];

it.each(refused.map(([codec, value]) => [codec.name, value, codec] as const))(
  '%s refuses %s',
  (_name, value, codec) => {
    expect(() => codec.encode(value as never)).toThrowError(expect.objectContaining({ code: 'ERR_CODEC' }));
  },
);

it.each([
  ['boolean', boolean, '02'],
  ['int32', int32, '000000'],
  ['string', text, 'c3'],
  ['string with an overlong form', text, 'c080'],
  ['string with an encoded surrogate', text, 'eda080'],
  ['float64', float64, 'ffffffffffffffff'],
  ['date', date, 'ffffffffffffffff'],
  ['int53', int53, 'ffffffffffffffff'],
  ['bigint with leading zeros', bigint, '820001'],
  ['bigint with a wrong length', bigint, '8201'],
  ['textNumber', textNumber(2), '3a30'],
  ['enumeration', enumeration({ a: 1 }), '02'],
] as const)('%s refuses bytes that it did not write', (_name, codec, hex) => {
  expect(() => (codec as ScalarCodec<unknown>).decode(fromHex(hex))).toThrowError(
    expect.objectContaining({ code: 'ERR_CODEC' }),
  );
});

it('keeps a byte order mark and never folds or trims text', () => {
  for (const value of [
    '\ufeffa',
    ' A ',
    'a\r\n',
    '\u00e9',
    'e\u0301',
    'x'.repeat(100),
    '\ufeff'.repeat(20),
  ]) {
    expect(text.decode(text.encode(value))).toBe(value);
  }
});

it('takes desc back when it is said twice', () => {
  expect(desc(desc(uint8))).toBe(uint8);
  expect(desc(uint8).name).toBe('desc(uint8)');
});

it('grows a writer as needed', () => {
  const out = new KeyWriter(1);
  out.append(new Uint8Array(100).fill(0));
  out.escape(0);
  expect(out.copy().length).toBe(200);
});

it('gives the addresses of a network as a condition', () => {
  expect(cidrRange('192.0.2.0/24')).toEqual({ gte: '192.0.2.0', lte: '192.0.2.255' });
  expect(cidrRange('10.128.0.0/9')).toEqual({ gte: '10.128.0.0', lte: '10.255.255.255' });
  expect(cidrRange('192.0.2.1/32')).toEqual({ gte: '192.0.2.1', lte: '192.0.2.1' });
  expect(cidrRange('0.0.0.0/0')).toEqual({ gte: '0.0.0.0', lte: '255.255.255.255' });
  expect(cidrRange('2001:db8::/33')).toEqual({
    gte: '2001:db8::',
    lte: '2001:db8:7fff:ffff:ffff:ffff:ffff:ffff',
  });
  for (const wrong of ['10.0.0.1/8', '10.0.0.0', '', 8]) {
    expect(() => cidrRange(wrong as string)).toThrowError(expect.objectContaining({ code: 'ERR_CODEC' }));
  }
});

it('takes enums of TypeScript', () => {
  const priority: ScalarCodec<Priority> = numericEnum(Priority);
  expect(priority.decode(priority.encode(Priority.High))).toBe(Priority.High);
  expectTypeOf(numericEnum({ low: 1, high: 2 })).toEqualTypeOf<ScalarCodec<1 | 2>>();
  expect(numericEnum(Priority).name).toBe('numericEnum(1,200)');
  expect(numericEnum({ low: 1 }, { bytes: 2 }).name).toBe('numericEnum(1;2)');
  expect(() => numericEnum({ low: -1 })).toThrow(/"low" must be a whole number from 0 to 65535/);
  expect(() => numericEnum({ open: 'open' })).toThrow(/enumeration\(\{ \[Status\.Open\]: 1 \}\)/);
  expect(() => numericEnum({ a: 300 }, { bytes: 1 })).toThrow(/bytes must be 2, not 1/);
  enum Status {
    Open = 'open',
    Done = 'done',
  }
  const status: ScalarCodec<Status> = enumeration({ [Status.Open]: 1, [Status.Done]: 2 });
  expect(status.decode(status.encode(Status.Done))).toBe(Status.Done);
});

it('reads ASCII of every length by one call, with generated code and without', () => {
  const readers = [asciiReader(), withoutGenerating(asciiReader)];
  expect(readers[0]).not.toBe(readers[1]);
  for (let length = 0; length <= 24; length++) {
    const wanted = Array.from({ length }, (_, i) => String.fromCharCode((i * 37 + length) & 0x7f)).join('');
    const bytes = Buffer.from(`<${wanted}>`, 'latin1');
    for (const read of readers) expect(read(bytes, 1, 1 + length)).toBe(wanted);
  }
});

it('texts of any length are their UTF-8, or refused for half of a surrogate pair', () => {
  const unit = fc.oneof(
    { weight: 40, arbitrary: fc.constantFrom('a', 'z') },
    { weight: 2, arbitrary: fc.constantFrom('ü', '\u20ac', '\u{1f600}', '\0') },
    { weight: 1, arbitrary: fc.constantFrom('\ud800', '\udc00') },
  );
  const units = fc.array(unit, { maxLength: 90, size: 'max' });
  fc.assert(
    fc.property(units, (given) => {
      const value = given.join('');
      if (/\p{Surrogate}/u.test(value)) expect(() => text.encode(value)).toThrow(/lone surrogate/);
      else expect(toHex(text.encode(value))).toBe(Buffer.from(value).toString('hex'));
    }),
    { numRuns: 200, examples: [[[...'a'.repeat(40), '\ud800']], [[...'a'.repeat(40)]]] },
  );
});

it('bytes of any length are the text of their UTF-8, or refused', () => {
  const part: fc.Arbitrary<string | readonly number[]> = fc.oneof(
    { weight: 40, arbitrary: fc.constantFrom('a', 'z') },
    { weight: 2, arbitrary: fc.constantFrom('ü', '\u20ac', '\u{1f600}', '\0', '\ufffd', '\ufeff') },
    {
      weight: 1,
      arbitrary: fc.constantFrom([0x80], [0xc3], [0xff], [0xf0, 0x9f], [0xed, 0xa0, 0x80], [0xc0, 0xaf]),
    },
  );
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const known = (bytes: Uint8Array): string | undefined => {
    try {
      return decoder.decode(bytes);
    } catch {
      return undefined;
    }
  };
  fc.assert(
    fc.property(fc.array(part, { maxLength: 90, size: 'max' }), (parts) => {
      const bytes = new Uint8Array(Buffer.concat(parts.map((each) => Buffer.from(each as string))));
      const wanted = known(bytes);
      if (wanted === undefined) expect(() => text.decode(bytes)).toThrow(/not well-formed UTF-8/);
      else expect(text.decode(bytes)).toBe(wanted);
    }),
    { numRuns: 300, examples: [[['\ufeff', ...'a'.repeat(40), '\ufffd']], [[...'a'.repeat(40), [0xff]]]] },
  );
});

it('encoded values keep their bytes while others are encoded', () => {
  const lengths = [...Array.from({ length: 300 }, (_, i) => 60 + ((i * 37) % 1100))];
  const values = lengths.map((length, i) => String.fromCharCode(97 + (i % 26)).repeat(length));
  const encoded = values.map((value) => text.encode(value));
  expect(encoded.map((each) => Buffer.from(each).toString())).toEqual(values);
});

it('bytes between the first and the last of a codec are what it writes of the value that it reads', () => {
  const codecs = cases
    .map(({ codec }) => codec as unknown as BaseCodec<unknown>)
    .filter(({ copied }) => copied !== undefined);
  expect(codecs.map(({ name }) => name).sort()).toEqual(
    [
      'boolean',
      'date',
      'int16',
      'int32',
      'int53',
      'int64',
      'int8',
      'uint16',
      'uint32',
      'uint64',
      'uint8',
    ].sort(),
  );
  for (const codec of codecs) {
    const { first, last } = codec.copied!;
    const isBetween = (bytes: Uint8Array): boolean =>
      compareBytes(bytes, first) >= 0 && compareBytes(bytes, last) <= 0;
    const near = fc
      .tuple(fc.constantFrom(first, last), fc.integer({ min: -2, max: 2 }))
      .map(([end, by]) => Uint8Array.from(end, (byte, i) => (i === end.length - 1 ? byte + by : byte)));
    fc.assert(
      fc.property(fc.oneof(bytesOf(codec.fixedLength!), near), (bytes) => {
        if (isBetween(bytes)) expect(toHex(codec.encode(codec.decode(bytes)))).toBe(toHex(bytes));
        else expect(() => codec.decode(bytes)).toThrow();
      }),
    );
  }
});

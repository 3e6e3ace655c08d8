import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromHex, toHex } from '../../src/bytes/index.js';
import {
  boolean,
  bytes,
  counter,
  date,
  float,
  float64,
  inferValueCodec,
  int64,
  json,
  rawDecimal,
  text,
  type ValueCodec,
} from '../../src/codec/index.js';
import { int32, raw } from '../../src/key/index.js';
import { anyText, codePoint } from '../proof/texts.js';

const codecError = (message: RegExp) =>
  expect.objectContaining({ code: 'ERR_CODEC', message: expect.stringMatching(message) });

describe('text', () => {
  it('is UTF-8 of anything well-formed, the empty text included', () => {
    fc.assert(
      fc.property(anyText, (value) => {
        const encoded = text.encode(value);
        expect(toHex(encoded)).toBe(Buffer.from(value).toString('hex'));
        expect(text.decode(encoded)).toBe(value);
      }),
    );
  });

  it('refuses a lone surrogate and malformed bytes', () => {
    expect(() => text.encode('\ud800')).toThrowError(codecError(/lone surrogate/));
    expect(() => text.decode(Uint8Array.of(0xff))).toThrowError(codecError(/UTF-8/));
  });
});

describe('numbers', () => {
  it('are doubles that order as numbers, with infinities and without NaN', () => {
    expect(float64.ordered).toBe(true);
    for (const value of [Number.MAX_VALUE, Number.MIN_VALUE, Number.NEGATIVE_INFINITY, 0.1]) {
      expect(float64.decode(float64.encode(value))).toBe(value);
    }
    expect(() => float64.encode(Number.NaN)).toThrowError(codecError(/other than NaN/));
  });

  it('may be rounded to 32 bits', () => {
    expect(float.decode(float.encode(0.1))).toBe(Math.fround(0.1));
    expect(float.decode(float.encode(-1e-60))).toBe(0);
    expect(float.decode(float.encode(1e300))).toBe(Number.POSITIVE_INFINITY);
  });

  it('count as HBase counts', () => {
    expect(toHex(counter.encode(-2n))).toBe('fffffffffffffffe');
    expect(counter.decode(fromHex('0000000000000102'))).toBe(258n);
    expect(counter.ordered).toBe(false);
    expect(() => counter.encode(2n ** 63n)).toThrowError(codecError(/a bigint from/));
    expect(() => counter.decode(fromHex('01'))).toThrowError(codecError(/8 bytes, not 1/));
  });

  /** Computed in Java: scale, then `unscaledValue().toByteArray()`. */
  it.each([
    ['0', '0000000000'],
    ['12.50', '0000000204e2'],
    ['-0.01', '00000002ff'],
    ['128', '000000000080'],
    ['-128', '0000000080'],
    ['-129', '00000000ff7f'],
    ['123456789012345678901234567890.123', '0000000306163e665beb7ca6a2e1a64244cb'],
  ])('are BigDecimals of HBase: %s', (value, hex) => {
    expect(toHex(rawDecimal.encode(value))).toBe(hex);
    expect(rawDecimal.decode(fromHex(hex))).toBe(value);
  });

  it('reads a BigDecimal of negative scale as a whole number', () => {
    expect(rawDecimal.decode(fromHex('fffffffe0c'))).toBe('1200');
    expect(() => rawDecimal.decode(fromHex('00000000'))).toThrowError(codecError(/4 bytes of scale/));
    expect(() => rawDecimal.decode(fromHex('7fffffff01'))).toThrowError(codecError(/Damaged/));
    expect(() => rawDecimal.encode('1e3')).toThrowError(codecError(/string of digits/));
  });
});

describe('bytes', () => {
  it('share no memory with what was given or stored', () => {
    const given = Uint8Array.of(1, 2);
    const encoded = bytes.encode(given);
    given[0] = 9;
    expect(encoded[0]).toBe(1);
    const decoded = bytes.decode(encoded);
    encoded[0] = 9;
    expect(decoded[0]).toBe(1);
    expect(bytes.decode(bytes.encode(new Uint8Array(0)))).toEqual(new Uint8Array(0));
  });
});

describe('json', () => {
  it('gives back what JSON holds', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: codePoint }), (value) => {
        // Refused, as a case of its own says.
        fc.pre(!JSON.stringify(value).includes('"__proto__"'));
        const codec = json<unknown>();
        expect(codec.decode(codec.encode(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it.each([
    ['undefined', undefined],
    ['a function', () => 1],
    ['NaN inside', { a: [1, { b: Number.NaN }] }],
    ['an infinity', Number.POSITIVE_INFINITY],
    ['a hole of an array', [1, undefined]],
    ['a function inside', { a: () => 1 }],
    ['a bigint', { a: 1n }],
    ['a Map', { a: new Map([[1, 2]]) }],
    ['a Set', new Set()],
    ['bytes', { a: Uint8Array.of(1) }],
    ['a Buffer', { a: Buffer.of(1) }],
    ['an invalid Date', { a: new Date(Number.NaN) }],
  ])('refuses %s, which JSON would lose', (_name, value) => {
    expect(() => json<unknown>().encode(value)).toThrowError(codecError(/./));
  });

  it('refuses a circle, and leaves undefined properties out as JSON does', () => {
    const circle: Record<string, unknown> = {};
    circle['self'] = circle;
    expect(() => json<unknown>().encode(circle)).toThrowError(codecError(/circular/));
    expect(Buffer.from(json<unknown>().encode({ a: undefined, b: 1 })).toString()).toBe('{"b":1}');
  });

  it('refuses bytes that are no JSON', () => {
    expect(() => json().decode(Buffer.from('{'))).toThrowError(codecError(/not a valid json/));
    expect(() => json().decode(Uint8Array.of(0xff))).toThrowError(codecError(/UTF-8/));
  });
});

it('takes codecs from emitted types', () => {
  const types = [String, Number, Boolean, Date, BigInt, Uint8Array, Buffer, Object, undefined];
  expect(types.map((type) => inferValueCodec(type))).toEqual([
    text,
    float64,
    boolean,
    date,
    int64,
    bytes,
    bytes,
    undefined,
    undefined,
  ]);
});

it('says of each codec whether its bytes are in order', () => {
  const codecs: readonly ValueCodec<never>[] = [
    text,
    float64,
    float,
    int64,
    int32,
    date,
    boolean,
    bytes,
  ] as never;
  expect(codecs.every(({ ordered }) => ordered)).toBe(true);
  const others: readonly ValueCodec<never>[] = [
    counter,
    json(),
    rawDecimal,
    raw.int32,
    raw.int64,
    raw.float64,
    raw.date,
  ] as never;
  expect(others.some(({ ordered }) => ordered)).toBe(false);
});

import { expect, it } from 'vitest';
import { avroCodec, json, rawDecimal } from '../../src/codec/index.js';

const header = (codec: { encode(value: never): Uint8Array }, value: unknown): Uint8Array =>
  codec.encode(value as never).subarray(0, 10);

/** Zigzag, as Avro writes longs. */
function long(value: bigint): number[] {
  const bytes: number[] = [];
  let rest = (value << 1n) ^ (value >> 63n);
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return [...bytes, Number(rest)];
}

const RECORD = { type: 'record', name: 'R', fields: [] } as const;

it('refuses Avro that announces more than it holds', () => {
  for (const items of ['null', 'long', RECORD] as const) {
    const codec = avroCodec({ type: 'array', items });
    const bytes = Uint8Array.from([...header(codec, []), ...long(2n ** 31n), 0]);
    expect(() => codec.decode(bytes)).toThrow(/Damaged Avro value/);
    const sized = Uint8Array.from([...header(codec, []), ...long(-(2n ** 31n)), ...long(5n), 0]);
    expect(() => codec.decode(sized)).toThrow(/Damaged Avro value/);
  }
  const text = avroCodec({ type: 'map', values: 'string' });
  const announced = [...header(text, {}), ...long(1n), ...long(2n ** 40n), 97];
  expect(() => text.decode(Uint8Array.from(announced))).toThrow(/announces .* bytes/);
  expect(text.decode(text.encode({ a: 'x' }))).toEqual({ a: 'x' });
  const nulls = avroCodec({ type: 'array', items: 'null' });
  expect(nulls.decode(nulls.encode([null, null]))).toEqual([null, null]);
});

it('bounds how deep values of a type that holds itself go', () => {
  const codec = avroCodec({
    type: 'record',
    name: 'Node',
    fields: [{ name: 'next', type: ['null', 'Node'] }],
  } as never);
  const deep = Uint8Array.from([...header(codec, { next: null }), ...Array<number>(100_000).fill(2), 0]);
  expect(() => codec.decode(deep)).toThrow(/levels deep/);
});

it('bounds decimals by their precision', () => {
  const codec = avroCodec({ type: 'bytes', logicalType: 'decimal', precision: 9, scale: 2 });
  expect(codec.decode(codec.encode('1234567.89'))).toBe('1234567.89');
  const large = Uint8Array.from([
    ...header(codec, '0.00'),
    ...long(1_000_000n),
    ...Array<number>(1_000_000).fill(1),
  ]);
  expect(() => codec.decode(large)).toThrow(/at most/);
  expect(() => rawDecimal.decode(new Uint8Array(1_000_000))).toThrow(/not a valid raw.decimal/);
});

it('reads back every scale of raw.decimal that it takes', () => {
  expect(() => rawDecimal.encode(`0.${'1'.repeat(20_000)}`)).toThrow(/cannot hold/);
  const finest = `0.${'1'.repeat(9999)}`;
  expect(rawDecimal.decode(rawDecimal.encode(finest))).toBe(finest);
});

it('refuses keys and texts of Avro that would come back as others', () => {
  const map = avroCodec({ type: 'map', values: 'long' });
  expect(() => map.encode(JSON.parse('{"__proto__": 1}') as never)).toThrow(/__proto__/);
  const forged = [...header(map, {}), ...long(1n), ...long(9n), ...Buffer.from('__proto__'), 2, 0];
  expect(() => map.decode(Uint8Array.from(forged))).toThrow(/__proto__/);
  expect(() => map.encode({ '\ud800': 1, '\udfff': 2 } as never)).toThrow(/lone surrogate/);
  expect(() => avroCodec('string').encode('\ud800' as never)).toThrow(/lone surrogate/);
});

it('refuses values that JSON would change', () => {
  const codec = json<unknown>();
  for (const value of [new Map(), new Set([1]), Uint8Array.of(1), Number.NaN, Object(1), /a/, () => 1]) {
    expect(() => codec.encode({ value }), String(value)).toThrow(/json/);
  }
  expect(() => codec.encode(JSON.parse('{"__proto__": {"a": 1}}'))).toThrow(/__proto__/);
});

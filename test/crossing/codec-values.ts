/** Every codec of single values, and values of it in ascending order. */

import { rawDecimal } from '../../src/codec/index.js';
import * as rowan from '../../src/index.js';
import { type KeyCodec, raw } from '../../src/key/index.js';

enum Priority {
  Low = 0,
  Middle = 7,
  High = 300,
}

/** A value object of the program. */
interface Boxed {
  readonly n: number;
}

const boxes = { to: ({ n }: Boxed): number => n, from: (n: number): Boxed => ({ n }) };
const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);
const times = [-8.64e15, -1, 0, 1, 1.7e12, 8.64e15].map((time) => new Date(time));
const longs = [-(2n ** 63n), -1n, 0n, 1n, 2n ** 53n + 1n, 2n ** 63n - 1n];
const doubles = [Number.NEGATIVE_INFINITY, -1.5, -5e-324, 0, 0.1, 1.5, 1e308, Number.POSITIVE_INFINITY];
const floats = [Number.NEGATIVE_INFINITY, -1.5, 0, 0.25, 2 ** 100, Number.POSITIVE_INFINITY];

type Codec = KeyCodec<unknown>;

export interface Case {
  readonly codec: Codec;
  /** In ascending order. */
  readonly values: readonly unknown[];
  /** Bytes are in another order, so indexes and keys are too. */
  readonly disordered?: boolean;
  /** No key holds it, and its index has no ranges. */
  readonly columnsOnly?: boolean;
}

/** By the name of the codec. */
export const CASES = new Map<string, Case>();
const add = (codec: unknown, values: readonly unknown[], more: Partial<Case> = {}): void =>
  void CASES.set((codec as { name: string }).name, { codec: codec as Codec, values, ...more });

add(rowan.text, ['', '\0', '\0\x01', 'a', 'a\0', 'ab', 'b', '\u00e9', '\uffff', '\u{10000}']);
add(rowan.bytes, [bytes(), bytes(0), bytes(0, 0), bytes(0, 255), bytes(1), bytes(255), bytes(255, 0)]);
add(rowan.fixedBytes(2), [bytes(0, 0), bytes(0, 1), bytes(255, 0), bytes(255, 255)]);
add(rowan.fixedString(3), ['', 'a', 'ab', 'abc', 'b', 'zzz']);
add(rowan.int8, [-128, -1, 0, 1, 127]);
add(rowan.int16, [-32768, -1, 0, 1, 32767]);
add(rowan.int32, [-2147483648, -1, 0, 1, 2147483647]);
add(rowan.uint8, [0, 1, 127, 128, 255]);
add(rowan.uint16, [0, 1, 255, 256, 65535]);
add(rowan.uint32, [0, 1, 65536, 2147483648, 4294967295]);
add(rowan.int53, [Number.MIN_SAFE_INTEGER, -4294967297, -1, 0, 4294967296, Number.MAX_SAFE_INTEGER]);
add(rowan.int64, longs);
add(rowan.uint64, [0n, 1n, 2n ** 63n, 2n ** 64n - 1n]);
add(rowan.float64, doubles);
add(rowan.float32, floats);
add(rowan.float, floats);
add(rowan.decimal(2), [
  '-100000000000000000000.00',
  '-12.50',
  '-0.01',
  '0.00',
  '9.99',
  '10.00',
  '123456789012.34',
]);
add(rowan.bigint, [-(2n ** 200n), -256n, -1n, 0n, 255n, 256n, 2n ** 200n]);
add(rowan.boolean, [false, true]);
add(rowan.date, times);
add(rowan.uuid, [
  '00000000-0000-0000-0000-000000000000',
  '00000000-0000-4000-8000-000000000001',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
]);
add(rowan.ulid, ['00000000000000000000000000', '01ARZ3NDEKTSV4RRFFQ69G5FAV', '7ZZZZZZZZZZZZZZZZZZZZZZZZZ']);
add(rowan.ksuid, [
  '000000000000000000000000000',
  '0ujtsYcgvSTl8PAuAdqWYSMnLOv',
  'aWgEPTl1tmebfsQzFP4bxwgy80V',
]);
add(rowan.ipv4, ['0.0.0.0', '9.255.0.1', '10.0.0.0', '192.0.2.1', '255.255.255.255']);
add(rowan.ipv6, ['::', '::1', '::ffff:192.0.2.1', '2001:db8::1', 'fe80::1']);
add(rowan.cidr, ['0.0.0.0/0', '10.0.0.0/8', '10.0.0.0/16', '10.0.0.0/32', '11.0.0.0/8', '2001:db8::/32']);
add(rowan.enumeration({ z: 1, a: 2, m: 300 }, { bytes: 2 }), ['z', 'a', 'm']);
add(rowan.numericEnum(Priority), [Priority.Low, Priority.Middle, Priority.High]);
add(rowan.geohash(5), ['00000', 'bcdef', 'u0m4x', 'zzzzz']);
add(rowan.textNumber(6), [0, 1, 9, 10, 999999]);
add(rowan.textNumber(20, 'bigint'), [0n, 1n, 10n, 10n ** 19n]);
for (const [name, { codec, values }] of [...CASES])
  CASES.set(`desc(${name})`, { codec: rowan.desc(codec), values });
CASES.set('transformed(int32)', {
  codec: rowan.transformed(rowan.int32, boxes) as Codec,
  values: [-3, 0, 1, 500].map(boxes.from),
});
CASES.set('transformed(raw.int32)', {
  codec: rowan.transformed(raw.int32, boxes) as Codec,
  values: [-3, 0, 1, 500].map(boxes.from),
  disordered: true,
});
add(raw.int16, [-32768, -1, 0, 1, 32767], { disordered: true });
add(raw.int32, [-2147483648, -1, 0, 1, 2147483647], { disordered: true });
add(raw.int64, longs, { disordered: true });
add(raw.int53, [Number.MIN_SAFE_INTEGER, -1, 0, 1, Number.MAX_SAFE_INTEGER], { disordered: true });
add(raw.date, times, { disordered: true });
add(raw.float32, floats, { disordered: true });
add(raw.float64, doubles, { disordered: true });
add(raw.boolean, [false, true]);
add(raw.joined('#'), ['', 'a', 'a!', 'ab', 'b'], { disordered: true });
add(rowan.counter, longs, { disordered: true });
add(rawDecimal, ['-12.5', '-0.01', '0', '0.01', '9.99', '10.1', '123456789012345678901234.5'], {
  disordered: true,
  columnsOnly: true,
});

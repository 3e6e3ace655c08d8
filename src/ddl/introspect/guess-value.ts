/** Which codec values that nobody has told about may be of: each guess with the share of them that agree. */

import { boolean, date, float32, float64, int32, int64, json, text, uuid } from '../../codec/index.js';
import { raw } from '../../key/index.js';
import type { Source } from './codec-source.js';

/** What values are taken for. */
export interface ValueGuess extends Source {
  /** Of the values that look like it, 0 to 1. */
  readonly share: number;
  /** What else was seen; undefined: nothing. */
  readonly note?: string | undefined;
}

interface ValueCodecLike {
  readonly fixedLength?: number | undefined;
  decode(bytes: Uint8Array): unknown;
}

interface Candidate extends Source {
  readonly codec: ValueCodecLike;
  /** Whether bytes look like what programs store this way: any eight bytes are a number. */
  readonly likely: (bytes: Uint8Array) => boolean;
}

/** Values fewer of which agree are taken for bytes. */
export const LEAST_SHARE = 0.8;

const EARLIEST = Date.UTC(1975, 0);
const LATEST = Date.UTC(2100, 0);
/** Integers of four bytes above it are as likely anything else. */
const LARGE_INT32 = 100_000_000;

function candidate(
  name: string,
  codec: ValueCodecLike,
  fits: (bytes: Uint8Array, value: unknown) => boolean,
): Candidate {
  const { fixedLength } = codec;
  const likely = (bytes: Uint8Array): boolean => {
    if (fixedLength !== undefined && bytes.length !== fixedLength) return false;
    try {
      return fits(bytes, codec.decode(bytes));
    } catch {
      // Bytes that a codec refuses are not of it.
      return false;
    }
  };
  return { text: name === 'json' ? 'json()' : name, uses: [name.split('.')[0]!], codec, likely };
}

const isTime = (value: unknown): boolean => {
  const time = (value as Date).getTime();
  return time >= EARLIEST && time <= LATEST;
};
const isSafe = (value: unknown): boolean => Number.isSafeInteger(Number(value as bigint));
const isUsual = (value: unknown): boolean => {
  const size = Math.abs(value as number);
  return size === 0 || (size > 1e-9 && size < 1e15);
};
const isSmall = (value: unknown): boolean => Math.abs(value as number) <= LARGE_INT32;

/** Printable UTF-8: no control character but tabs and ends of lines. */
export function isPrintable(bytes: Uint8Array): boolean {
  for (const byte of bytes)
    if ((byte < 0x20 && byte !== 9 && byte !== 10 && byte !== 13) || byte === 0x7f) return false;
  return true;
}

/** RFC 9562: a version of 1 to 8, and the variant. */
export function isUuid(bytes: Uint8Array): boolean {
  const version = bytes[6]! >>> 4;
  return bytes.length === 16 && version >= 1 && version <= 8 && bytes[8]! >>> 6 === 2;
}

/** In the order in which they are asked: of those that agree alike the first is taken. */
const CANDIDATES: readonly Candidate[] = [
  candidate('json', json(), (bytes) => bytes[0] === 0x7b || bytes[0] === 0x5b),
  candidate('text', text, (bytes) => isPrintable(bytes)),
  candidate('uuid', uuid, (bytes) => isUuid(bytes)),
  candidate('raw.boolean', raw.boolean, (bytes) => bytes[0] === 0xff || bytes[0] === 0),
  candidate('boolean', boolean, () => true),
  candidate('raw.date', raw.date, (_, value) => isTime(value)),
  candidate('date', date, (_, value) => isTime(value)),
  candidate('raw.int64', raw.int64, (_, value) => isSafe(value)),
  candidate('int64', int64, (_, value) => isSafe(value)),
  candidate('raw.float64', raw.float64, (_, value) => isUsual(value)),
  candidate('float64', float64, (_, value) => isUsual(value)),
  candidate('raw.int32', raw.int32, (_, value) => isSmall(value)),
  candidate('int32', int32, (_, value) => isSmall(value)),
  candidate('raw.float32', raw.float32, (_, value) => isUsual(value)),
  candidate('float32', float32, (_, value) => isUsual(value)),
  candidate('raw.int16', raw.int16, () => true),
];

/** What begins bytes that name an Avro schema, and where the name is. */
const AVRO_MARKS: readonly (readonly [(bytes: Uint8Array) => boolean, string])[] = [
  [
    (bytes) => bytes.length >= 10 && bytes[0] === 0xc3 && bytes[1] === 0x01,
    'Avro in its single-object encoding (C3 01 and the fingerprint of its schema): give avroCodec its schema',
  ],
  [
    (bytes) => bytes.length >= 4 && Buffer.from(bytes.subarray(0, 4)).toString('latin1') === 'Obj\x01',
    'Avro container files, which hold their schema',
  ],
];

/** The codec that most of the values agree with. */
export function guessValue(values: readonly Uint8Array[]): ValueGuess {
  if (values.length === 0) return { text: 'bytes', uses: ['bytes'], share: 1 };
  let best: ValueGuess | undefined;
  for (const { text: name, uses, likely } of CANDIDATES) {
    const share = shareOf(values, likely);
    if (share < LEAST_SHARE || share < (best?.share ?? 0)) continue;
    if (share > (best?.share ?? 0) || isTurned(best!.text, name, values)) best = { text: name, uses, share };
  }
  return best ?? { text: 'bytes', uses: ['bytes'], share: 1, note: whatBytes(values) };
}

/** Numbers of either order look alike but for their sign: most that programs keep are not negative. */
function isTurned(raw: string, sortable: string, values: readonly Uint8Array[]): boolean {
  if (raw !== `raw.${sortable}` || !sortable.startsWith('float')) return false;
  return shareOf(values, (value) => value[0]! >= 0x80) > 0.5;
}

function whatBytes(values: readonly Uint8Array[]): string | undefined {
  for (const [begins, what] of AVRO_MARKS) if (shareOf(values, begins) >= LEAST_SHARE) return what;
  const { length } = values[0]!;
  return length > 0 && values.every((value) => value.length === length)
    ? `always ${length} bytes`
    : undefined;
}

export function shareOf<T>(of: readonly T[], holds: (each: T) => boolean): number {
  return of.length === 0 ? 1 : of.filter(holds).length / of.length;
}

/** "98.7 %" */
export function percent(share: number): string {
  return `${Math.floor(share * 1000) / 10} %`;
}

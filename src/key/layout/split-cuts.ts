/** Divides a space of bytes, digits or texts into equal shares. */

import { compareBytes, concatBytes, fromLatin1 } from '../../bytes/index.js';
import { KeyWriter } from '../codecs/base.js';
import type { SplitOptions } from '../types.js';

/** The length in bytes of split keys from HBase's `UniformSplit` and its string splits. */
export const UNIFORM_BYTES = 8;

/** Equal steps over all byte strings of 8 bytes, as HBase's `UniformSplit`, or of `width` bytes if that is less. */
export function uniformSplits(width: number, regions: number): Uint8Array[] {
  const bytes = Math.min(width, UNIFORM_BYTES);
  return cuts(0n, 256n ** BigInt(bytes), regions).map((value) => bigBytes(value, 256, bytes));
}

/** Equal steps over numbers of `width` digits, as HBase's `HexStringSplit` and `DecimalStringSplit` (8 digits) do. */
export function textSplits(radix: number, width: number, regions: number): Uint8Array[] {
  const digits = Math.min(width, UNIFORM_BYTES);
  return cuts(0n, BigInt(radix) ** BigInt(digits), regions).map((value) =>
    fromLatin1(value.toString(radix).padStart(digits, '0')),
  );
}

/** Alphabets in which keys are written. Split keys between two values of one alphabet use it too. */
const ALPHABETS: readonly string[] = [
  '0123456789',
  '0123456789abcdef',
  '0123456789ABCDEF',
  'abcdefghijklmnopqrstuvwxyz',
  'ABCDEFGHIJKLMNOPQRSTUVWXYZ',
  '0123456789abcdefghijklmnopqrstuvwxyz',
  '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz',
];

/** Text split keys have at least this many digits; fewer would leave room for few cuts. */
const MIN_DIGITS = 4;

/** Equal steps between the first and the last value, if both are given. */
export function betweenSplits(
  prefix: Uint8Array,
  regions: number,
  { between }: SplitOptions,
  write: (value: unknown, out: KeyWriter) => void,
): Uint8Array[] {
  if (between === undefined) return [];
  const [first, last] = between;
  if (typeof first === 'string' && typeof last === 'string') {
    const alphabet = ALPHABETS.find((letters) => [...first, ...last].every((one) => letters.includes(one)));
    if (alphabet !== undefined && first + last !== '') {
      return alphabetSplits(alphabet, first, last, regions).map((key) =>
        concatBytes(prefix, fromLatin1(key)),
      );
    }
  }
  const [a, b] = [first, last].map((value) => {
    const out = new KeyWriter();
    write(value, out);
    return out.copy();
  }) as [Uint8Array, Uint8Array];
  const [low, high] = compareBytes(a, b) <= 0 ? [a, b] : [b, a];
  const width = Math.max(low.length, high.length);
  return cuts(bigOf(low, 256, width), bigOf(high, 256, width), regions).map((value) =>
    concatBytes(prefix, bigBytes(value, 256, width)),
  );
}

function alphabetSplits(alphabet: string, first: string, last: string, regions: number): string[] {
  const [low, high] = first <= last ? [first, last] : [last, first];
  const width = Math.max(low.length, high.length, MIN_DIGITS);
  const radix = alphabet.length;
  const digits = (text: string, fill: number): number[] =>
    Array.from({ length: width }, (_, i) => (i < text.length ? alphabet.indexOf(text[i]!) : fill));
  // The last value includes all texts that begin with it.
  const from = bigOf(digits(low, 0), radix, width);
  const to = bigOf(digits(high, radix - 1), radix, width) + 1n;
  return cuts(from, to, regions).map((value) =>
    [...bigBytes(value, radix, width)].map((digit) => alphabet[digit]!).join(''),
  );
}

function bigOf(digits: ArrayLike<number>, radix: number, width: number): bigint {
  let value = 0n;
  for (let i = 0; i < width; i++) value = value * BigInt(radix) + BigInt(digits[i] ?? 0);
  return value;
}

function bigBytes(value: bigint, radix: number, width: number): Uint8Array {
  const out = new Uint8Array(width);
  let rest = value;
  for (let i = width - 1; i >= 0; i--, rest /= BigInt(radix)) out[i] = Number(rest % BigInt(radix));
  return out;
}

/** Values that divide [first, last) into `regions` equal shares; fewer if there are not enough values. */
function cuts(first: bigint, last: bigint, regions: number): bigint[] {
  const span = last - first;
  const count = span < BigInt(regions) ? Number(span) : regions;
  const step = count === 0 ? 0n : span / BigInt(count);
  const values: bigint[] = [];
  for (let i = 1n; i < BigInt(count); i++) values.push(first + step * i);
  return values;
}

/** Rows of the sample that divide it into equal shares. */
export function quantiles(samples: readonly Uint8Array[], regions: number): Uint8Array[] {
  const sorted = [...samples].sort(compareBytes);
  const keys: Uint8Array[] = [];
  for (let i = 1; i < regions; i++) {
    const key = sorted[Math.floor((i * sorted.length) / regions)];
    const before = keys.at(-1) ?? sorted[0];
    if (key !== undefined && before !== undefined && compareBytes(before, key) < 0) keys.push(key);
  }
  return keys;
}

import { compareBytes, concatBytes, keyAfter, prefixEnd } from '../../bytes/index.js';
import type { BaseCodec, ValueRange } from '../codecs/base.js';
import { KeyWriter } from '../codecs/index.js';
import type { KeyRange } from '../types.js';
import { queryError, type SpanCondition } from './conditions.js';

/** A part that the key holds whole, as ranges and plans see its step. */
export interface KeyField {
  readonly name: string;
  readonly codec: BaseCodec<unknown>;
  /** Whether every bit, framing included, is inverted. */
  readonly inverted: boolean;
  /** Whether larger values have smaller bytes. */
  readonly reversed: boolean;
  /** Whether it is the last step of the layout. */
  readonly last: boolean;

  /** Appends `value` with its framing. @throws KeyError naming the part. */
  write(value: unknown, out: KeyWriter): void;

  /** The bytes of `value` here. @throws KeyError. */
  bytesOf(value: unknown): Uint8Array;

  /**
   * Appends the common leading bytes of all values that start (`suffix`: end) with `value`.
   * @returns whether all keys with these bytes have such values; undefined if the codec has no such prefixes.
   */
  writePrefix(value: unknown, suffix: boolean, out: KeyWriter): boolean | undefined;
}

// — The byte ranges of a range condition on one part, relative to a prefix.

/** A range relative to a prefix: the bytes that follow the prefix. */
export interface RelativeRange {
  /** Start of the range; undefined for the prefix itself. */
  readonly start: Uint8Array | undefined;
  readonly startAt: Edge;
  /** End of the range; undefined for the end of the prefix. */
  readonly stop: Uint8Array | undefined;
  readonly stopAt: Edge;
}

/** A position: before the bytes, after the row with exactly these bytes, or after all rows that begin with them. */
type Edge = 'before' | 'behindRow' | 'behindPrefix';

export interface FieldRanges {
  readonly ranges: readonly RelativeRange[];
  /** Whether every row of the ranges satisfies the condition. */
  readonly exact: boolean;
  /** Whether the ranges, in the given order, hold the rows in the order of the part. */
  readonly ordered: boolean;
  /** Whether the ranges exclude anything. */
  readonly narrow: boolean;
}

export const EVERYTHING: RelativeRange = Object.freeze({
  start: undefined,
  startAt: 'before',
  stop: undefined,
  stopAt: 'before',
});
const INEXACT: FieldRanges = { ranges: [EVERYTHING], exact: false, ordered: false, narrow: false };
const scratch = new KeyWriter();

/**
 * Computes the byte ranges.
 * @throws KeyError on a bad value, or a condition that the part's type does not support.
 */
export function fieldRanges(field: KeyField, condition: SpanCondition): FieldRanges {
  if (condition.kind === 'range')
    return boundedRanges(field, { lower: condition.lower, upper: condition.upper });
  const suffix = condition.kind === 'endsWith';
  scratch.length = 0;
  const exact = field.writePrefix(condition.value, suffix, scratch);
  if (exact === undefined) {
    if (
      suffix &&
      typeof condition.value === 'string' &&
      field.codec.writePrefix('', new KeyWriter(8)) !== undefined
    ) {
      return { ...INEXACT, ordered: field.codec.ordered };
    }
    throw queryError(
      field.name,
      `(${field.codec.name}) does not support ${condition.kind}. Use a range or equality`,
    );
  }
  if (scratch.length === 0)
    return exact ? { ...INEXACT, exact } : { ...INEXACT, ordered: field.codec.ordered };
  const prefix = scratch.copy();
  const range = { start: prefix, startAt: 'before', stop: prefix, stopAt: 'behindPrefix' } as const;
  return { ranges: [range], exact, ordered: field.codec.ordered, narrow: true };
}

function boundedRanges(field: KeyField, range: ValueRange): FieldRanges {
  if (field.codec.ordered) {
    return { ranges: [boundedRange(field, range)], exact: true, ordered: true, narrow: true };
  }
  // The codec checks the bounds even if they do not narrow the bytes.
  if (range.lower !== undefined) field.bytesOf(range.lower.value);
  if (range.upper !== undefined) field.bytesOf(range.upper.value);
  const pieces = field.codec.pieces(range);
  if (pieces === undefined)
    return field.codec.framing === 'separated' ? separatedRange(field, range) : INEXACT;
  const ranges = pieces.map((piece) => boundedRange(field, piece));
  return { ranges, exact: true, ordered: pieces.length < 2, narrow: true };
}

/**
 * Text with a separator is not in byte order (`a#` follows `a!#`). Still, no text of the range precedes the bare bytes
 * of the lower bound, or follows those of the upper one up to its first byte below the separator.
 */
function separatedRange(field: KeyField, { lower, upper }: ValueRange): FieldRanges {
  if (field.inverted) return INEXACT;
  const { separator } = field.codec;
  const last = upper && field.codec.encode(upper.value);
  const low = last?.findIndex((byte) => byte < separator) ?? -1;
  const stop = low < 0 ? last : last?.subarray(0, low);
  const range: RelativeRange = {
    start: lower && field.codec.encode(lower.value),
    startAt: 'before',
    stop: stop?.length === 0 ? undefined : stop,
    stopAt: 'behindPrefix',
  };
  return { ...INEXACT, ranges: [range], narrow: range.start !== undefined || range.stop !== undefined };
}

function boundedRange(field: KeyField, { lower, upper }: ValueRange): RelativeRange {
  const [first, last] = field.reversed ? [upper, lower] : [lower, upper];
  // No bytes follow the last part; any other part is followed by all keys that begin with its bytes.
  const behind = field.last ? 'behindRow' : 'behindPrefix';
  return {
    start: first && field.bytesOf(first.value),
    startAt: first === undefined || first.inclusive ? 'before' : behind,
    stop: last && field.bytesOf(last.value),
    stopAt: last?.inclusive ? behind : 'before',
  };
}

/** The rows of a relative range after `prefix`; undefined if there are none. */
export function absoluteRange(prefix: Uint8Array, range: RelativeRange): KeyRange | undefined {
  const start = range.start === undefined ? prefix : edge(concatBytes(prefix, range.start), range.startAt);
  if (start === undefined) return undefined;
  const stop =
    range.stop === undefined ? prefixEnd(prefix) : edge(concatBytes(prefix, range.stop), range.stopAt);
  if (stop !== undefined && compareBytes(start, stop) >= 0) return undefined;
  return { start, stop };
}

function edge(bytes: Uint8Array, at: Edge): Uint8Array | undefined {
  if (at === 'before') return bytes;
  return at === 'behindRow' ? keyAfter(bytes) : prefixEnd(bytes);
}

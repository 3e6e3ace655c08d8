import { SchemaError } from '../../errors.js';
import { describe, isCallable, isInstance, isRecord } from '../../table/checks.js';
import { descendingElement, part } from '../declare.js';
import type { PartElement, TimeBucketElement } from '../elements.js';
import {
  BaseCodec,
  badBytes,
  badValue,
  type Framing,
  type KeyCodec,
  type KeyWriter,
  type ScalarCodec,
  type ValueRange,
  wrongLength,
} from './base.js';
import { readSafe, SIGN, signedPieces, writeSafe } from './integers.js';
import { TransformedCodec } from './transformed.js';

/** Descending order for any codec: it inverts every bit. */

/** Inverts the bytes that `inner` writes. In a key, the layout also inverts escapes and terminators. */
class DescendingCodec<T> extends BaseCodec<T> {
  readonly name: string;
  readonly fixedLength: number | undefined;
  override readonly framing: Framing;
  override readonly separator: number;
  override readonly endsLast: boolean;
  override readonly ordered: boolean;
  override readonly descending = true;
  override readonly uniform: 'bytes' | 'digits' | undefined;
  override readonly valueType: 'bigint' | 'date' | 'bytes' | undefined;

  constructor(readonly inner: BaseCodec<T>) {
    super();
    this.name = `desc(${inner.name})`;
    this.fixedLength = inner.fixedLength;
    this.framing = inner.framing;
    this.separator = inner.separator;
    this.endsLast = inner.endsLast;
    this.ordered = inner.ordered;
    this.uniform = inner.uniform;
    this.valueType = inner.valueType;
  }

  write(value: T, out: KeyWriter): void {
    const start = out.length;
    this.inner.write(value, out);
    out.invert(start);
  }

  read(bytes: Uint8Array, start: number, end: number): T {
    const inverted = new Uint8Array(end - start);
    for (let i = start; i < end; i++) inverted[i - start] = ~bytes[i]!;
    return this.inner.read(inverted, 0, inverted.length);
  }

  override alike(value: T): readonly T[] {
    return this.inner.alike(value);
  }

  override get order(): BaseCodec<T> {
    return this.inner.order;
  }

  override get uninverted(): BaseCodec<T> {
    return this.inner;
  }

  override pieces(range: ValueRange): readonly ValueRange[] | undefined {
    return this.inner.pieces(range);
  }
}

/** Returns the codec itself if it is one of Rowan's. @throws SchemaError when it is not. */
export function baseCodec<T>(codec: KeyCodec<T>): BaseCodec<T> {
  if (isInstance(codec, BaseCodec)) return codec as BaseCodec<T>;
  const name = isRecord(codec) ? Reflect.get(codec, 'name') : undefined;
  const shown = typeof name === 'string' ? `"${name}"` : describe(codec);
  throw new SchemaError(
    isForeignCodec(codec)
      ? `${shown} is a codec of another copy of rowan-orm. A program can have one copy: \`npm ls rowan-orm\` lists them, \`npm dedupe\` removes the second, ` +
          'and a bundle must leave the package out or contain all that imports it.'
      : `${shown} is not a key codec. Use one of Rowan's (text, int32, date, ...).`,
  );
}

/** Whether it is a codec of the same kind whose class was loaded from other files. */
function isForeignCodec(codec: unknown): boolean {
  if (!isRecord(codec)) return false;
  return (['write', 'read', 'alike'] satisfies (keyof BaseCodec<never>)[]).every((method) =>
    isCallable(Reflect.get(codec, method)),
  );
}

function isElement(
  what: KeyCodec<unknown> | PartElement | TimeBucketElement,
): what is PartElement | TimeBucketElement {
  return isRecord(what) && 'kind' in what;
}

/**
 * Descending order of a part (`desc(part('at', date))`, or `desc('at')` for one without a codec), of a time bucket, or of
 * a codec. Applied twice it is ascending again.
 */
export function desc<E extends PartElement | TimeBucketElement>(element: E): E;
export function desc<T>(codec: KeyCodec<T>): ScalarCodec<T>;
export function desc<const Name extends string>(
  name: Name,
): PartElement<Name, string, { [P in Name]: string }, true>;
export function desc(
  what: string | KeyCodec<unknown> | PartElement | TimeBucketElement,
): ScalarCodec<unknown> | PartElement | TimeBucketElement {
  if (typeof what === 'string') return descendingElement(part(what));
  if (isElement(what)) return descendingElement(what);
  const codec = baseCodec(what);
  if (codec instanceof TransformedCodec) {
    return new TransformedCodec(baseCodec(desc(codec.inner)), codec.conversion);
  }
  return codec.uninverted === codec ? new DescendingCodec(codec) : codec.uninverted;
}

/** Milliseconds of a valid Date. */
export function timeOf(value: unknown, codec: string): number {
  const ms = value instanceof Date ? value.getTime() : Number.NaN;
  if (Number.isNaN(ms)) throw badValue(codec, value, 'a valid Date');
  return ms;
}

/** The largest distance from 1970 that a Date can have, in ms. */
export const MAX_DATE = 8.64e15;

/** A Date as 8 bytes of two's complement ms, the first one XOR `flip`. */
export class DateCodec extends BaseCodec<Date> {
  readonly fixedLength = 8;
  override readonly ordered: boolean;
  override readonly valueType = 'date';

  constructor(
    readonly name: string,
    private readonly flip: number,
  ) {
    super();
    this.ordered = flip !== 0;
  }

  override get copied(): { readonly first: Uint8Array; readonly last: Uint8Array } | undefined {
    if (!this.ordered) return undefined;
    return { first: this.encode(new Date(-MAX_DATE)), last: this.encode(new Date(MAX_DATE)) };
  }

  write(value: Date, out: KeyWriter): void {
    writeSafe(timeOf(value, this.name), this.flip, out);
  }

  read(bytes: Uint8Array, start: number, end: number): Date {
    if (end - start !== 8) throw wrongLength(this, bytes, start, end);
    const ms = readSafe(bytes, start, this.flip);
    if (Math.abs(ms) > MAX_DATE)
      throw badBytes(this.name, bytes, start, end, 'it is out of the range of a Date');
    return new Date(ms);
  }

  override get order(): BaseCodec<Date> {
    return date as BaseCodec<Date>;
  }

  override pieces(range: ValueRange): readonly ValueRange[] | undefined {
    if (this.ordered) return undefined;
    const bound = (end: ValueRange['lower']) =>
      end && { value: timeOf(end.value, this.name), inclusive: end.inclusive };
    const asDate = (end: ValueRange['lower']) =>
      end && { value: new Date(end.value as number), inclusive: end.inclusive };
    const numbers = { lower: bound(range.lower), upper: bound(range.upper) };
    return signedPieces(numbers, -MAX_DATE, 0, -1, MAX_DATE).map((piece) => ({
      lower: asDate(piece.lower),
      upper: asDate(piece.upper),
    }));
  }
}

/** A Date, to the millisecond, before and after 1970. */
export const date: ScalarCodec<Date> = new DateCodec('date', SIGN);

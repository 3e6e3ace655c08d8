/**
 * Codecs of value objects. They store what another codec stores, so the stored values alone decide on bytes, order,
 * equality, filters and texts. Whatever compares, prints or exports values asks this module for their stored form.
 */

import { RowanError } from '../../errors.js';
import { describe, isInstance } from '../../table/checks.js';
import { BaseCodec, badValue, type Framing, type KeyWriter } from './base.js';

/** How values of a type of the program's are stored, as values of another codec. */
export interface Transform<T, S> {
  /** Returns what is stored for a value. It must be pure, and equal values must give equal stored values. */
  readonly to: (value: T) => S;
  /** Returns the value of what was stored. */
  readonly from: (stored: S) => T;
  /** The class of the values: instances of others are refused. Default: all that `to` accepts. */
  readonly type?: { readonly prototype: T };
}

/** A codec, as far as a transform needs it. */
interface InnerCodec {
  readonly name: string;
}

/** Converts between the values of a transformed codec and what it stores. */
export class Conversion {
  constructor(
    private readonly codec: string,
    private readonly transform: Transform<unknown, unknown>,
  ) {}

  /** @throws RowanError `ERR_CODEC` when the transform does not accept the value. */
  toStored(value: unknown): unknown {
    const type = this.transform.type as (abstract new (...args: never[]) => object) | undefined;
    if (type !== undefined && !isInstance(value, type)) {
      throw badValue(
        this.codec,
        value,
        `an object of ${type.name}, of which the transform stores another form`,
      );
    }
    return this.converted('to', this.transform.to, value);
  }

  /** @throws RowanError `ERR_CODEC` when the transform does not accept what was stored. */
  fromStored(stored: unknown): unknown {
    return this.converted('from', this.transform.from, stored);
  }

  /** The conversion of values of which `outer` makes the values of this one. */
  behind(outer: Transform<unknown, unknown>): Transform<unknown, unknown> {
    return {
      ...outer,
      to: (value) => this.toStored(outer.to(value)),
      from: (stored) => outer.from(this.fromStored(stored)),
    };
  }

  private converted(name: 'to' | 'from', convert: (value: unknown) => unknown, value: unknown): unknown {
    let result: unknown;
    try {
      result = convert(value);
    } catch (cause) {
      throw this.refusal(
        name,
        value,
        `threw: ${cause instanceof Error ? cause.message : String(cause)}`,
        cause,
      );
    }
    if (result !== undefined && result !== null) return result;
    throw this.refusal(name, value, `returned ${result}. Absent values are null in the property itself`);
  }

  private refusal(name: string, value: unknown, why: string, cause?: unknown): RowanError {
    return new RowanError(
      'ERR_CODEC',
      `${this.codec} cannot hold ${describe(value)}: \`${name}\` of its transform ${why}.`,
      { ...(cause === undefined ? {} : { cause }), details: { codec: this.codec, value } },
    );
  }
}

/** A transformed codec of columns and keys. Layouts of keys encode the stored values by `inner` alone. */
export class TransformedCodec extends BaseCodec<unknown> {
  readonly name: string;
  readonly fixedLength: number | undefined;
  override readonly framing: Framing;
  override readonly separator: number;
  override readonly endsLast: boolean;
  override readonly ordered: boolean;
  override readonly descending: boolean;
  override readonly hasRanges: boolean;
  override readonly uniform: 'bytes' | 'digits' | undefined;

  constructor(
    readonly inner: BaseCodec<unknown>,
    readonly conversion: Conversion,
  ) {
    super();
    this.name = inner.name;
    this.fixedLength = inner.fixedLength;
    this.framing = inner.framing;
    this.separator = inner.separator;
    this.endsLast = inner.endsLast;
    this.ordered = inner.ordered;
    this.descending = inner.descending;
    this.hasRanges = inner.hasRanges;
    this.uniform = inner.uniform;
  }

  write(value: unknown, out: KeyWriter): void {
    this.inner.write(this.conversion.toStored(value), out);
  }

  read(bytes: Uint8Array, start: number, end: number): unknown {
    return this.conversion.fromStored(this.inner.read(bytes, start, end));
  }

  override get order(): BaseCodec<unknown> {
    const { order } = this.inner;
    return order === this.inner ? this : new TransformedCodec(order, this.conversion);
  }

  /** Converts first: a transform may itself use codecs, which share a buffer. */
  override encode(value: unknown): Uint8Array {
    return this.inner.encode(this.conversion.toStored(value));
  }
}

interface Transformed<C> {
  readonly inner: C;
  readonly conversion: Conversion;
}

function transformedOf<C extends InnerCodec>(codec: C): Transformed<C> | undefined {
  const { conversion } = codec as Partial<Transformed<C>>;
  // Most codecs have none, and `instanceof` would cost queries more than the rest of this.
  if (conversion === undefined) return undefined;
  return conversion instanceof Conversion ? (codec as unknown as Transformed<C>) : undefined;
}

/** The conversion of a codec of value objects; undefined for other codecs, which store their values themselves. */
export function conversionOf(codec: InnerCodec): Conversion | undefined {
  return transformedOf(codec)?.conversion;
}

/** The codec of the stored values. The codec itself if it is not transformed. */
export function storedCodec<C extends InnerCodec>(codec: C): C {
  return transformedOf(codec)?.inner ?? codec;
}

/** The type of all values that a codec stores, where it is one that JSON lacks. */
export function storedType(codec: InnerCodec): BaseCodec<unknown>['valueType'] {
  const stored = storedCodec(codec);
  return stored instanceof BaseCodec ? stored.valueType : undefined;
}

/** The stored form of a value. @throws RowanError `ERR_CODEC` when the codec's transform does not accept it. */
export function storedValue(codec: InnerCodec, value: unknown): unknown {
  const conversion = conversionOf(codec);
  return conversion === undefined ? value : conversion.toStored(value);
}

/** The value that was stored in this form. @throws RowanError `ERR_CODEC` as {@link storedValue}. */
export function valueOfStored(codec: InnerCodec, stored: unknown): unknown {
  const conversion = conversionOf(codec);
  return conversion === undefined ? stored : conversion.fromStored(stored);
}

/** Whether the codec's transform makes a value of this stored form. */
export function isStoredForm(codec: InnerCodec, stored: unknown): boolean {
  try {
    valueOfStored(codec, stored);
    return true;
  } catch {
    return false;
  }
}

/** Whether the stored forms are midnights alone, as those of days are. */
export function isOfDays(codec: InnerCodec): boolean {
  return isStoredForm(codec, new Date(0)) && !isStoredForm(codec, new Date(1));
}

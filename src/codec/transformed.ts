/** `transformed`: stores the value objects of a program by one of Rowan's codecs. */

import { SchemaError } from '../errors.js';
import { BaseCodec, type ScalarCodec } from '../key/codecs/base.js';
import {
  Conversion,
  conversionOf,
  storedCodec,
  type Transform,
  TransformedCodec,
} from '../key/codecs/transformed.js';

export type { Transform } from '../key/codecs/transformed.js';

import { describe, isCallable, isRecord } from '../table/checks.js';
import { AvroCodec } from './avro/index.js';
import type { ValueCodec } from './scalars.js';

/** A transformed codec of columns alone. */
class TransformedValueCodec implements ValueCodec<unknown> {
  readonly name: string;
  readonly ordered: boolean;

  constructor(
    readonly inner: ValueCodec<unknown>,
    readonly conversion: Conversion,
  ) {
    this.name = inner.name;
    this.ordered = inner.ordered;
  }

  encode(value: unknown): Uint8Array {
    return this.inner.encode(this.conversion.toStored(value));
  }

  decode(bytes: Uint8Array): unknown {
    return this.conversion.fromStored(this.inner.decode(bytes));
  }
}

/**
 * A codec of value objects: it stores what `to` makes of a value by `codec`, and reads values by `from`. Bytes, order,
 * equality and the codec's name are those of `codec`, so ranges compare what is stored. The result is a codec of key
 * parts if `codec` is one.
 *
 * @example
 * ```ts
 * const money = transformed(int64, { to: (money: Money) => money.cents, from: (cents) => new Money(cents) });
 * ```
 * @throws SchemaError when `codec` is no codec or an Avro codec, or `to` or `from` is no function.
 */
export function transformed<T, S>(codec: ScalarCodec<S>, transform: Transform<T, S>): ScalarCodec<T>;
export function transformed<T, S>(codec: ValueCodec<S>, transform: Transform<T, S>): ValueCodec<T>;
export function transformed(
  codec: ValueCodec<unknown>,
  given: unknown,
): ScalarCodec<unknown> | ValueCodec<unknown> {
  const transform = checked(codec, given);
  const outer = conversionOf(codec)?.behind(transform) ?? transform;
  const inner = storedCodec(codec);
  const conversion = new Conversion(inner.name, outer);
  return inner instanceof BaseCodec
    ? new TransformedCodec(inner, conversion)
    : new TransformedValueCodec(inner, conversion);
}

function checked(codec: unknown, transform: unknown): Transform<unknown, unknown> {
  if (!isRecord(codec) || typeof codec['encode'] !== 'function' || typeof codec['decode'] !== 'function') {
    throw new SchemaError(
      `transformed(): ${describe(codec)} is no codec. Give one, such as text, int64 or date.`,
    );
  }
  if (codec instanceof AvroCodec) {
    throw new SchemaError(
      'transformed() takes no Avro codec, whose values depend on schemas. Give its records a class: avroCodec(type, { classes }).',
    );
  }
  if (!isRecord(transform) || !isCallable(transform['to']) || !isCallable(transform['from'])) {
    throw new SchemaError(
      `transformed(): the transform is ${describe(transform)}. Give { to: (value) => stored, from: (stored) => value }.`,
    );
  }
  return transform as unknown as Transform<unknown, unknown>;
}

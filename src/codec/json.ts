/** JSON columns. */

import { RowanError } from '../errors.js';
import { badBytes, badValue } from '../key/codecs/base.js';
import { readUtf8 } from '../key/codecs/text.js';
import type { ValueCodec } from './scalars.js';

/** What JSON holds and gives back unchanged. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue | undefined };

class JsonCodec<T> implements ValueCodec<T> {
  readonly name = 'json';
  readonly ordered = false;

  encode(value: T): Uint8Array {
    let json: string | undefined;
    try {
      json = JSON.stringify(value, refuseLosses);
    } catch (cause) {
      if (cause instanceof RowanError) throw cause;
      throw new RowanError('ERR_CODEC', `json cannot hold the value: ${(cause as Error).message}.`, {
        cause,
      });
    }
    if (json === undefined)
      throw badValue(this.name, value, 'an object, array, text, number, boolean or null');
    return encoder.encode(json);
  }

  decode(bytes: Uint8Array): T {
    const json = readUtf8(bytes, 0, bytes.length, this.name);
    try {
      return JSON.parse(json) as T;
    } catch (cause) {
      throw badBytes(this.name, bytes, 0, bytes.length, `${(cause as Error).message}`);
    }
  }
}

const encoder = new TextEncoder();

/** What JSON would leave out, write as null or as something else without a word is an error here. */
function refuseLosses(this: unknown, key: string, value: unknown): unknown {
  const where = key === '' ? 'json' : `json at "${key}"`;
  // `value` has been through toJSON; a Buffer or an invalid Date shows only in what it was before.
  const given = (this as Record<string, unknown>)[key];
  if (typeof value === 'number' && !Number.isFinite(value)) throw badValue(where, value, 'a finite number');
  if (typeof value === 'function' || typeof value === 'symbol')
    throw badValue(where, value, 'a value of JSON');
  if (value === undefined && Array.isArray(this))
    throw badValue(where, value, 'a value: arrays have no holes');
  if (value === null && given !== null) throw badValue(where, given, 'a valid Date');
  if (isLost(given)) throw badValue(where, given, 'an object, array, text, number, boolean or null');
  if (key === '__proto__')
    throw badValue('json', given, 'without a key "__proto__", which objects cannot hold');
  return value;
}

/** Objects that JSON writes as `{}`, or as the value that they wrap. */
export function isLost(value: unknown): boolean {
  return (
    value instanceof Map ||
    value instanceof Set ||
    value instanceof WeakMap ||
    value instanceof WeakSet ||
    value instanceof RegExp ||
    value instanceof Promise ||
    value instanceof Number ||
    value instanceof String ||
    value instanceof Boolean ||
    ArrayBuffer.isView(value) ||
    value instanceof ArrayBuffer
  );
}

/** Any value of JSON, as `JSON.stringify` writes it. Give it a type where the shape is known: `json<Settings>()`. */
export function json<T = JsonValue>(): ValueCodec<T> {
  return new JsonCodec<T>();
}

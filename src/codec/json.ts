/** JSON columns. */

import { RowanError } from '../errors.js';
import { badBytes, badValue } from '../key/codecs/base.js';
import { readUtf8 } from '../key/codecs/text.js';
import type { ValueCodec } from './scalars.js';

/** Values that JSON stores without loss. */
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
      throw badValue(this.name, value, 'an object, array, string, number, boolean or null');
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

/** Throws on values that JSON would silently omit, store as null, or change. */
function refuseLosses(this: unknown, key: string, value: unknown): unknown {
  const where = key === '' ? 'json' : `json at "${key}"`;
  // `value` is the result of toJSON; a Buffer or an invalid Date is visible only before that.
  const given = (this as Record<string, unknown>)[key];
  if (typeof value === 'number' && !Number.isFinite(value)) throw badValue(where, value, 'a finite number');
  if (typeof value === 'function' || typeof value === 'symbol') throw badValue(where, value, 'a JSON value');
  if (value === undefined && Array.isArray(this)) throw badValue(where, value, 'an array without holes');
  if (value === null && given !== null) throw badValue(where, given, 'a valid Date');
  if (isLost(given)) throw badValue(where, given, 'an object, array, string, number, boolean or null');
  if (key === '__proto__') throw badValue('json', given, 'an object without the key "__proto__"');
  return value;
}

/** Whether JSON writes the object as `{}`, or as the primitive value that it wraps. */
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

/** Any JSON value, as `JSON.stringify` writes it. Give it a type if the shape is known: `json<Settings>()`. */
export function json<T = JsonValue>(): ValueCodec<T> {
  return new JsonCodec<T>();
}

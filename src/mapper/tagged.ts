/**
 * Values of any depth as JSON. Values that JSON lacks become objects with one property: `$date`, `$bigint`, `$bytes`,
 * `$number`, `$map`. Objects that look like these are wrapped in `$object`. Of objects of a program's classes these are the properties;
 * within the value, what `toJSON` returns, if they have it.
 */

import type { JsonValue } from '../codec/index.js';
import { InvalidArgumentError } from '../errors.js';
import { describe } from '../table/checks.js';

type PlainObject = Record<string, JsonValue>;

/**
 * `signed`: -0 is tagged, too; otherwise it is 0, as in all JSON.
 * @throws InvalidArgumentError for a function, a symbol, or an object of a class that shows nothing of its value, such as a Set.
 */
export function toTagged(value: unknown, signed = false): JsonValue {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') {
    if (signed && Object.is(value, -0)) return { $number: '-0' };
    return Number.isFinite(value) ? value : { $number: String(value) };
  }
  if (typeof value === 'bigint') return { $bigint: String(value) };
  if (value instanceof Date) return { $date: value.toISOString() };
  if (value instanceof Uint8Array) return { $bytes: Buffer.from(value).toString('base64') };
  if (value instanceof Map)
    return {
      $map: [...value].map(([key, inner]) => [innerTagged(key, signed), innerTagged(inner, signed)]),
    };
  if (Array.isArray(value)) return value.map((inner) => innerTagged(inner, signed));
  if (typeof value === 'object') {
    const plain: PlainObject = {};
    const entries = Object.entries(value);
    if (entries.length === 0 && isOfClass(value)) throw showsNothing(value);
    for (const [name, inner] of entries) if (inner !== undefined) plain[name] = innerTagged(inner, signed);
    return tagOf(plain) === undefined ? plain : { $object: plain };
  }
  throw new InvalidArgumentError(`A ${typeof value} cannot be converted to JSON.`);
}

function innerTagged(value: unknown, signed: boolean): JsonValue {
  return toTagged(plainValue(value), signed);
}

/** Of a value object what its `toJSON` returns (Temporal's a text), as JSON has it. Other values as they are. */
export function plainValue(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Date || value instanceof Uint8Array)
    return value;
  const { toJSON } = value as { toJSON?: unknown };
  return typeof toJSON === 'function' ? (toJSON.call(value) as unknown) : value;
}

function isOfClass(value: object): boolean {
  const prototype = Object.getPrototypeOf(value) as unknown;
  return prototype !== null && prototype !== Object.prototype;
}

function showsNothing(value: object): InvalidArgumentError {
  return new InvalidArgumentError(
    `${describe(value)} has no properties and no toJSON, so its value would be lost. Convert it to a value that JSON has, or give its class a toJSON.`,
  );
}

export function fromTagged(value: JsonValue): unknown {
  if (Array.isArray(value)) return value.map(fromTagged);
  if (typeof value !== 'object' || value === null) return value;
  const plain = value as PlainObject;
  const tag = tagOf(plain);
  if (tag === undefined) return fromObject(plain);
  const inner = plain[tag] as string;
  switch (tag) {
    case '$number':
      return Number(inner);
    case '$bigint':
      return BigInt(inner);
    case '$date':
      return new Date(inner);
    case '$bytes':
      return new Uint8Array(Buffer.from(inner, 'base64'));
    case '$map':
      return new Map(
        (plain[tag] as [JsonValue, JsonValue][]).map(([k, v]) => [fromTagged(k), fromTagged(v)]),
      );
    default:
      return fromObject(plain[tag] as PlainObject);
  }
}

/** Like {@link fromTagged}, of what `JSON.parse` has made: whatever is not tagged stays in place. */
export function fromParsed(value: JsonValue): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items = value as unknown[];
    for (let at = 0; at < items.length; at++) items[at] = fromParsed(items[at] as JsonValue);
    return value;
  }
  const plain = value as PlainObject;
  if (tagOf(plain) !== undefined) return fromTagged(plain);
  for (const name of Object.keys(plain)) {
    const inner = plain[name]!;
    const found = fromParsed(inner);
    // Defined, because a property of JSON may be called "__proto__".
    if (found !== inner)
      Object.defineProperty(plain, name, {
        value: found,
        configurable: true,
        enumerable: true,
        writable: true,
      });
  }
  return plain;
}

const TAGS: ReadonlySet<string> = new Set(['$number', '$bigint', '$date', '$bytes', '$map', '$object']);

function tagOf(plain: PlainObject): string | undefined {
  const names = Object.keys(plain);
  return names.length === 1 && TAGS.has(names[0]!) ? names[0] : undefined;
}

function fromObject(plain: PlainObject): Record<string, unknown> {
  return Object.fromEntries(Object.entries(plain).map(([name, inner]) => [name, fromTagged(inner)]));
}

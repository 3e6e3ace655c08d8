/**
 * Validates the lengths and counts in a value's bytes before avsc reads them, since avsc trusts them: 15 bytes that
 * announce "an array of 2^31 items" would keep it busy for a minute or exhaust the memory.
 */

import type avsc from 'avsc';
import { avroLibrary } from './avsc.js';

/** How many items without bytes (nulls, empty records) one value may have; their size does not limit their number. */
const MAX_EMPTY_ITEMS = 65_536;
/** The largest nesting depth of recursive types. */
const MAX_DEPTH = 256;

class Cursor {
  at = 0;
  depth = 0;
  emptyItems = 0;

  constructor(readonly bytes: Uint8Array) {}

  get left(): number {
    return this.bytes.length - this.at;
  }

  skip(count: number): void {
    if (count < 0 || count > this.left) {
      throw new Error(`it announces ${count} bytes at byte ${this.at}, where ${this.left} are left`);
    }
    this.at += count;
  }

  /** A zigzag number. Above 2^53 it is not exact, but then also above any valid length or count. */
  long(): number {
    let value = 0;
    let scale = 1;
    for (let i = 0; i < 10; i++) {
      const byte = this.bytes[this.at++];
      if (byte === undefined) throw new Error('it ends within a number');
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value % 2 === 1 ? -(value + 1) / 2 : value / 2;
      scale *= 128;
    }
    throw new Error(`the number at byte ${this.at - 10} is longer than 10 bytes`);
  }
}

type Check = (cursor: Cursor) => void;

/** Validates `values` values of the type (default one); throws an Error that says what is wrong. */
export type BoundsCheck = (bytes: Uint8Array, values?: number) => void;

/** Creates the check of a type's values; undefined for types whose bytes contain no counts. */
export function boundsCheck(type: avsc.Type): BoundsCheck | undefined {
  const checks = new Map<avsc.Type, Check>();
  const check = checkOf(type, checks);
  if (!hasCounts(type, new Set())) return undefined;
  return (bytes, values = 1) => {
    const cursor = new Cursor(bytes);
    for (let value = 0; value < values; value++) check(cursor);
    if (cursor.left > 0) throw new Error(`${cursor.left} bytes follow it`);
  };
}

function under(type: avsc.Type): avsc.Type {
  return type instanceof avroLibrary().builtins.LogicalType ? type.underlyingType : type;
}

function partsOf(type: avsc.Type): readonly avsc.Type[] {
  const plain = under(type);
  const types = avroLibrary().builtins;
  if (plain instanceof types.ArrayType) return [plain.itemsType];
  if (plain instanceof types.MapType) return [plain.valuesType];
  if (plain instanceof types.RecordType) return plain.fields.map((field) => field.type);
  return isUnion(plain) ? plain.types : [];
}

function isUnion(type: avsc.Type): type is avsc.types.UnwrappedUnionType {
  return type.typeName.startsWith('union');
}

function hasCounts(type: avsc.Type, seen: Set<avsc.Type>): boolean {
  if (seen.has(type)) return true;
  seen.add(type);
  const { typeName } = under(type);
  if (typeName === 'array' || typeName === 'map') return true;
  const found = partsOf(type).some((part) => hasCounts(part, seen));
  seen.delete(type);
  return found;
}

function checkOf(type: avsc.Type, checks: Map<avsc.Type, Check>): Check {
  const known = checks.get(type);
  if (known !== undefined) return known;
  let made: Check | undefined;
  // Recursive types refer to their own check before it is complete.
  checks.set(type, (cursor) => made!(cursor));
  made = makeCheck(under(type), checks);
  return checks.get(type)!;
}

function makeCheck(type: avsc.Type, checks: Map<avsc.Type, Check>): Check {
  const types = avroLibrary().builtins;
  if (type instanceof types.ArrayType) return blocks(checkOf(type.itemsType, checks));
  if (type instanceof types.MapType) {
    const value = checkOf(type.valuesType, checks);
    return blocks((cursor) => {
      lookAtKey(cursor);
      value(cursor);
    });
  }
  if (type instanceof types.RecordType) {
    const fields = type.fields.map((field) => checkOf(field.type, checks));
    return nested((cursor) => {
      for (const field of fields) field(cursor);
    });
  }
  if (type instanceof types.FixedType) {
    const { size } = type;
    return (cursor) => cursor.skip(size);
  }
  if (isUnion(type)) {
    const branches = type.types.map((branch) => checkOf(branch, checks));
    return nested((cursor) => {
      const index = cursor.long();
      const branch = branches[index];
      if (branch === undefined)
        throw new Error(`it announces branch ${index} of a union of ${branches.length}`);
      branch(cursor);
    });
  }
  switch (type.typeName) {
    case 'null':
      return () => undefined;
    case 'boolean':
      return (cursor) => cursor.skip(1);
    case 'float':
      return (cursor) => cursor.skip(4);
    case 'double':
      return (cursor) => cursor.skip(8);
    case 'bytes':
    case 'string':
      return (cursor) => cursor.skip(cursor.long());
    default:
      return (cursor) => {
        cursor.long();
      };
  }
}

function nested(check: Check): Check {
  return (cursor) => {
    if (++cursor.depth > MAX_DEPTH) throw new Error(`it is more than ${MAX_DEPTH} levels deep`);
    check(cursor);
    cursor.depth--;
  };
}

function blocks(item: Check): Check {
  return nested((cursor) => {
    for (let count = cursor.long(); count !== 0; count = cursor.long()) {
      if (count < 0) {
        count = -count;
        const size = cursor.long();
        if (size > cursor.left)
          throw new Error(`it announces ${size} bytes of items, but ${cursor.left} are left`);
      }
      checkItems(cursor, count, item);
    }
  });
}

function checkItems(cursor: Cursor, count: number, item: Check): void {
  for (let i = 0; i < count; i++) {
    const before = cursor.at;
    item(cursor);
    if (cursor.at === before && ++cursor.emptyItems > MAX_EMPTY_ITEMS) {
      throw new Error(`it announces more than ${MAX_EMPTY_ITEMS} items that take no bytes`);
    }
  }
}

const PROTOTYPE = Buffer.from('__proto__');

function lookAtKey(cursor: Cursor): void {
  const length = cursor.long();
  const start = cursor.at;
  cursor.skip(length);
  if (length === PROTOTYPE.length && PROTOTYPE.equals(cursor.bytes.subarray(start, cursor.at))) {
    throw new Error('a map has the key "__proto__", which is not allowed');
  }
}

/**
 * Why strings or keys in a value would not be read back unchanged; undefined if they would. Lone surrogates have no
 * UTF-8, and a key `__proto__` would set the prototype of the decoded object.
 */
export function lossIn(value: unknown, depth = 0): string | undefined {
  if (typeof value === 'string') {
    return LONE_SURROGATE.test(value) ? 'a string has a lone surrogate, which UTF-8 cannot store' : undefined;
  }
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value) || value instanceof Date) {
    return undefined;
  }
  if (depth > MAX_DEPTH) return `it is more than ${MAX_DEPTH} levels deep`;
  for (const key of Object.keys(value)) {
    if (key === '__proto__') return 'it has the key "__proto__", which is not allowed';
    if (LONE_SURROGATE.test(key)) return 'a key has a lone surrogate, which UTF-8 cannot store';
    const loss = lossIn((value as Readonly<Record<string, unknown>>)[key], depth + 1);
    if (loss !== undefined) return loss;
  }
  return undefined;
}

const LONE_SURROGATE = /[\ud800-\udfff]/u;

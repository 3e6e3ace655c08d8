/**
 * Loads the part of avsc that Rowan uses, with the first schema. avsc's main module generates code while it loads, so
 * where code generation is forbidden even programs without Avro columns would fail to load it.
 */

import * as nodeModule from 'node:module';
import type avsc from 'avsc';
import { isNamed } from '../../table/checks.js';

interface AvroLibrary {
  readonly Type: typeof avsc.Type;
  readonly builtins: typeof avsc.types;
}

let library: AvroLibrary | undefined;

export function avroLibrary(): AvroLibrary {
  // Codecs are created synchronously and cannot await an import. The published package bundles the library
  // (packaging/).
  if (library === undefined) {
    library = nodeModule.createRequire(import.meta.url)('avsc/lib/types.js') as AvroLibrary;
    correctLongs(library.builtins.LongType.prototype as unknown as LongMethods);
    correctObjects(library.builtins);
  }
  return library;
}

/** The bytes that avsc reads and writes, and its place in them. */
interface Tap {
  readonly buf: Uint8Array;
  pos: number;
}

interface LongMethods {
  _read(tap: Tap): number;
  _write(tap: Tap, value: number): void;
}

/** From here on the zigzag form of a negative number is not exact. */
const EXACT_ZIGZAG = 2 ** 52;
/** The greatest long that avsc takes as a number. */
const LARGEST_LONG = Number.MAX_SAFE_INTEGER - 1;

/** avsc loses the sign of longs below -2^52, in both directions: those are read and written here. */
function correctLongs(methods: LongMethods): void {
  const { _read: read, _write: write } = methods;
  methods._read = function (this: unknown, tap) {
    const from = tap.pos;
    const value = read.call(this, tap);
    return value < EXACT_ZIGZAG && value > -EXACT_ZIGZAG ? value : longAt(tap.buf, from);
  };
  methods._write = function (this: unknown, tap, value) {
    if (value < -EXACT_ZIGZAG && value >= -LARGEST_LONG && Number.isInteger(value)) writeNegative(tap, value);
    else write.call(this, tap, value);
  };
}

function longAt(bytes: Uint8Array, from: number): number {
  const isNegative = (bytes[from]! & 1) === 1;
  let half = (bytes[from]! & 0x7f) >>> 1;
  for (let at = from, scale = 64; bytes[at]! >= 0x80; scale *= 128) half += (bytes[++at]! & 0x7f) * scale;
  const value = isNegative ? -half - 1 : half;
  if (Math.abs(value) > LARGEST_LONG) throw new Error('potential precision loss');
  return value;
}

function writeNegative(tap: Tap, value: number): void {
  const half = -value - 1;
  let byte = (half % 64) * 2 + 1;
  for (let rest = Math.floor(half / 64); rest > 0; rest = Math.floor(rest / 128)) {
    tap.buf[tap.pos++] = byte | 0x80;
    byte = rest % 128;
  }
  tap.buf[tap.pos++] = byte;
}

interface ObjectMethods {
  _check(
    value: unknown,
    flags: unknown,
    hook: ((value: unknown, type: unknown) => void) | undefined,
    path: unknown,
  ): boolean;
  _checkFields(value: object): boolean;
}

interface UnionMethods {
  readonly _dynamicBranches: unknown;
  _getIndex(value: unknown): number | undefined;
  _getBranchIndex(value: unknown, index: undefined): number | undefined;
}

/**
 * avsc takes every object for a map or a record: a Date, a Map or a promise would be stored as one without entries, bytes as one of
 * numbers, and in a union of such a type and bytes or times these could not be stored. They are values of other types, or of none.
 */
function correctObjects({ MapType, RecordType, UnwrappedUnionType }: typeof avsc.types): void {
  const map = MapType.prototype as unknown as ObjectMethods;
  const { _check: check } = map;
  map._check = function (this: unknown, value, flags, hook, path) {
    if (hasEntries(value)) return check.call(this, value, flags, hook, path);
    hook?.(value, this);
    return false;
  };
  const record = RecordType.prototype as unknown as ObjectMethods;
  const { _checkFields: checkFields } = record;
  record._checkFields = function (this: unknown, value) {
    return hasEntries(value) && checkFields.call(this, value);
  };
  const union = UnwrappedUnionType.prototype as unknown as UnionMethods;
  const { _getIndex: getIndex } = union;
  union._getIndex = function (this: UnionMethods, value) {
    const isOther =
      typeof value === 'object' && value !== null && !Array.isArray(value) && !hasEntries(value);
    // avsc tells its own Buffers.
    if (!isOther || Buffer.isBuffer(value)) return getIndex.call(this, value);
    return this._dynamicBranches ? this._getBranchIndex(value, undefined) : undefined;
  };
}

function hasEntries(value: unknown): boolean {
  return isNamed(value) && !ArrayBuffer.isView(value);
}

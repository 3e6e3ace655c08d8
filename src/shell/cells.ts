/** How cells are printed. */

import { toHex, toStringBinary } from '../bytes/index.js';
import { type Cell, CellType } from '../table/index.js';
import { CommandError } from './command-error.js';

const BYTES_CLASS = 'org.apache.hadoop.hbase.util.Bytes';
const MAX_DATE = 8.64e15;

const DELETE_NAMES: Readonly<Partial<Record<CellType, string>>> = {
  [CellType.Delete]: 'Delete',
  [CellType.DeleteColumn]: 'DeleteColumn',
  [CellType.DeleteFamily]: 'DeleteFamily',
  [CellType.DeleteFamilyVersion]: 'DeleteFamilyVersion',
};

/** How bytes are made text: by name, those of Java's `Bytes` that take nothing else. */
const CONVERTERS: Readonly<Record<string, (bytes: Uint8Array) => string>> = {
  toStringBinary,
  toString: (bytes: Uint8Array) => Buffer.from(bytes).toString('utf8'),
  toHex,
  toLong: (bytes) => String(Buffer.from(need(bytes, 8)).readBigInt64BE()),
  toInt: (bytes) => String(Buffer.from(need(bytes, 4)).readInt32BE()),
  toShort: (bytes) => String(Buffer.from(need(bytes, 2)).readInt16BE()),
  toDouble: (bytes) => floatText(Buffer.from(need(bytes, 8)).readDoubleBE()),
  toFloat: (bytes) => floatText(Buffer.from(need(bytes, 4)).readFloatBE()),
  toBoolean: (bytes) => {
    if (bytes.length !== 1) throw new CommandError(`Array has wrong size: ${bytes.length}`);
    return String(bytes[0] !== 0);
  },
};

export type Converter = (bytes: Uint8Array) => string;

export const plainConverter: Converter = toStringBinary;

/**
 * The converter of a name, `toLong` or `c(org.apache.hadoop.hbase.util.Bytes).toLong`.
 * @throws CommandError for one that is not known: classes of Java's are not loaded.
 */
export function converterOf(name: string, className: string = BYTES_CLASS): Converter {
  const [, ofClass, method] = /^c\((.+)\)\.(.+)$/.exec(name) ?? [undefined, className, name];
  const converter =
    ofClass === BYTES_CLASS && Object.hasOwn(CONVERTERS, method!) ? CONVERTERS[method!] : undefined;
  if (converter !== undefined) return converter;
  throw new CommandError(`undefined method \`${method}' for class \`${ofClass}'`);
}

/** What stands behind a column: `timestamp=…, value=…`, or the type of a delete marker. */
export function cellText(cell: Cell, converter: Converter, maxLength: number | undefined): string {
  const deleted = DELETE_NAMES[cell.type];
  const what = deleted === undefined ? `value=${converter(cell.value)}` : `type=${deleted}`;
  const text = `timestamp=${timestampText(cell.timestamp)}, ${what}`;
  return maxLength === undefined ? text : text.slice(0, maxLength);
}

/** As Java's `LocalDateTime` has it, in this process's time zone: seconds and milliseconds only where they are not 0. */
export function timestampText(timestamp: number): string {
  if (timestamp > MAX_DATE) return String(timestamp);
  const date = new Date(timestamp);
  const two = (value: number): string => String(value).padStart(2, '0');
  const year = date.getFullYear();
  const day = `${year > 9999 ? '+' : ''}${String(year).padStart(4, '0')}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  const minutes = `${day}T${two(date.getHours())}:${two(date.getMinutes())}`;
  const milliseconds = date.getMilliseconds();
  if (milliseconds === 0 && date.getSeconds() === 0) return minutes;
  const seconds = `${minutes}:${two(date.getSeconds())}`;
  return milliseconds === 0 ? seconds : `${seconds}.${String(milliseconds).padStart(3, '0')}`;
}

function need(bytes: Uint8Array, length: number): Uint8Array {
  if (bytes.length >= length) return bytes.subarray(0, length);
  throw new CommandError(`offset (0) + length (${length}) exceed the capacity of the array: ${bytes.length}`);
}

function floatText(value: number): string {
  return Number.isInteger(value) ? value.toFixed(1) : String(value);
}

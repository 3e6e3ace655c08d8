import { toHex, toStringBinary } from '../bytes/index.js';
import { type Cell, CellType } from '../table/index.js';
import { CommandError } from './options.js';
import { toBinary, toText } from './ruby/index.js';

/** Prints rows in the layout of the HBase shell. Without a terminal, columns are only separated by a blank. */
export class Formatter {
  private rows = 0;

  constructor(
    private readonly write: (text: string) => void,
    private readonly width: () => number,
  ) {}

  line(text: string): void {
    this.write(`${text}\n`);
  }

  /** Prints column titles and resets the row count. */
  header(...titles: readonly string[]): void {
    if (titles.length > 0) this.print(titles, false);
    this.rows = 0;
  }

  row(...cells: readonly string[]): void {
    this.print(cells, true);
    this.rows++;
  }

  footer(rows: number = this.rows): void {
    this.line(`${rows} row(s)`);
  }

  private print(cells: readonly string[], inset: boolean): void {
    const width = this.width();
    if (cells.length === 1) {
      for (const part of split(cells[0]!, width)) this.line(part);
      return;
    }
    const first = Math.floor(width / 4);
    const second = width === 0 ? 0 : width - first - 2;
    const left = split(cells[0]!, first);
    const right = split(cells[1]!, second);
    for (let i = 0; i < Math.max(left.length, right.length); i++) {
      const start = (left[i] ?? '').padEnd(first);
      this.line(`${inset ? ' ' : ''}${start}${inset ? '' : ' '} ${(right[i] ?? '').padEnd(second)}`);
    }
  }
}

function split(text: string, width: number): string[] {
  if (width === 0) return [text];
  const parts: string[] = [];
  for (let at = 0; at < text.length; at += width) parts.push(text.slice(at, at + width));
  return parts;
}

// — Formats cells.

const BYTES_CLASS = 'org.apache.hadoop.hbase.util.Bytes';
const MAX_DATE = 8.64e15;

const DELETE_NAMES: Readonly<Partial<Record<CellType, string>>> = {
  [CellType.Delete]: 'Delete',
  [CellType.DeleteColumn]: 'DeleteColumn',
  [CellType.DeleteFamily]: 'DeleteFamily',
  [CellType.DeleteFamilyVersion]: 'DeleteFamilyVersion',
};

/** Conversions of bytes to text by name: the methods of Java's `Bytes` with one argument. */
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
 * The converter with a name, `toLong` or `c(org.apache.hadoop.hbase.util.Bytes).toLong`.
 * @throws CommandError for an unknown one: Java classes cannot be loaded.
 */
export function converterOf(name: string, className: string = BYTES_CLASS): Converter {
  const [, ofClass, method] = /^c\((.+)\)\.(.+)$/.exec(name) ?? [undefined, className, name];
  const converter =
    ofClass === BYTES_CLASS && Object.hasOwn(CONVERTERS, method!) ? CONVERTERS[method!] : undefined;
  if (converter !== undefined) return converter;
  throw new CommandError(`undefined method \`${method}' for class \`${ofClass}'`);
}

/** The text after a column: `timestamp=…, value=…`, or the type of a delete marker. */
export function cellText(cell: Cell, converter: Converter, maxLength: number | undefined): string {
  const deleted = DELETE_NAMES[cell.type];
  const what = deleted === undefined ? `value=${converter(cell.value)}` : `type=${deleted}`;
  const text = `timestamp=${timestampText(cell.timestamp)}, ${what}`;
  return maxLength === undefined ? text : text.slice(0, maxLength);
}

/** Like Java's `LocalDateTime`, in this process's time zone: seconds and milliseconds only if not 0. */
function timestampText(timestamp: number): string {
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

/** Parses `family[:qualifier[:converter]]`, a byte string. */
interface ColumnSpec {
  readonly family: string;
  /** Undefined for the whole family. */
  readonly qualifier: Uint8Array | undefined;
}

/**
 * Parses columns and remembers their converters. As in the HBase shell, text after a second colon is always a
 * converter, never part of the qualifier.
 */
export class Columns {
  private readonly converters = new Map<string, string>();

  parse(column: string): ColumnSpec {
    const [family, ...rest] = splitOnce(column);
    const [qualifier, converter] = rest.length === 0 ? [] : splitOnce(rest[0]!);
    if (converter !== undefined) this.converters.set(`${family}:${qualifier}`, toText(converter));
    return {
      family: toText(family!),
      qualifier: qualifier === undefined ? undefined : toBinary(qualifier),
    };
  }

  /** The converter of a column, or the default. */
  converterOf(family: string, qualifier: Uint8Array, otherwise: Converter): Converter {
    if (this.converters.size === 0) return otherwise;
    const key = `${Buffer.from(family, 'utf8').toString('latin1')}:${Buffer.from(qualifier).toString('latin1')}`;
    const name = this.converters.get(key);
    return name === undefined ? otherwise : converterOf(name);
  }
}

function splitOnce(text: string): string[] {
  const colon = text.indexOf(':');
  return colon < 0 ? [text] : [text.slice(0, colon), text.slice(colon + 1)];
}

/**
 * Java's `Bytes.toBytesBinary`, by which HBase reads split keys: `\xHH` with upper-case digits is a byte; any other
 * backslash is dropped.
 */
export function bytesOfBinary(text: string): Uint8Array {
  const out: number[] = [];
  for (let i = 0; i < text.length; i++) {
    const hex = /^\\x([0-9A-F]{2})/.exec(text.slice(i, i + 4));
    if (hex !== null) {
      out.push(Number.parseInt(hex[1]!, 16));
      i += 3;
    } else if (text[i] !== '\\' || text[i + 1] !== 'x') out.push(text.charCodeAt(i));
  }
  return Uint8Array.from(out);
}

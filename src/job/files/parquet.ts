/** Parquet by the packages hyparquet and hyparquet-writer, which users install if they read or write such files. */

import { type FileHandle, open } from 'node:fs/promises';
import * as zlib from 'node:zlib';
import type { AsyncBuffer, Compressors, FileMetaData } from 'hyparquet';
import type { BasicType } from 'hyparquet-writer';
import { CorruptionError, InvalidArgumentError, UnsupportedError } from '../../errors.js';
import { plainValue, toTagged } from '../../mapper/tagged.js';
import { describe } from '../../table/checks.js';

/** The type of a column's values. Null and undefined are allowed in each. */
export type ParquetType =
  | 'text'
  | 'boolean'
  | 'int32'
  | 'int64'
  | 'float32'
  | 'float64'
  | 'timestamp'
  | 'bytes'
  | 'json';

interface TypeRule {
  readonly type: BasicType;
  readonly what: string;
  /** Converts the value for the package; undefined if it is invalid. */
  take(value: unknown): unknown;
}

const SMALLEST_INT64 = -(2n ** 63n);
const LARGEST_INT64 = 2n ** 63n - 1n;

function int64(value: unknown): bigint | undefined {
  if (typeof value === 'bigint') return value >= SMALLEST_INT64 && value <= LARGEST_INT64 ? value : undefined;
  return Number.isSafeInteger(value) ? BigInt(value as number) : undefined;
}

const RULES: Readonly<Record<ParquetType, TypeRule>> = {
  text: {
    type: 'STRING',
    what: 'a string',
    take: (value) => (typeof value === 'string' ? value : undefined),
  },
  boolean: {
    type: 'BOOLEAN',
    what: 'true or false',
    take: (value) => (typeof value === 'boolean' ? value : undefined),
  },
  int32: {
    type: 'INT32',
    what: 'a whole number of 32 bits',
    take: (value) => (typeof value === 'number' && value === (value | 0) ? value : undefined),
  },
  int64: { type: 'INT64', what: 'a whole number of 64 bits', take: int64 },
  float32: {
    type: 'FLOAT',
    what: 'a number',
    take: (value) => (typeof value === 'number' ? value : undefined),
  },
  float64: {
    type: 'DOUBLE',
    what: 'a number',
    take: (value) => (typeof value === 'number' ? value : undefined),
  },
  timestamp: {
    type: 'TIMESTAMP',
    what: 'a Date',
    take: (value) => (value instanceof Date && !Number.isNaN(value.getTime()) ? value : undefined),
  },
  bytes: {
    type: 'BYTE_ARRAY',
    what: 'bytes',
    take: (value) => (value instanceof Uint8Array ? value : undefined),
  },
  json: { type: 'JSON', what: 'a JSON value', take: (value) => toTagged(value) },
};

/** A column of a file to write. */
export interface ParquetColumn extends TypeRule {
  readonly name: string;
}

/**
 * Checks columns.
 * @throws InvalidArgumentError when there are none, or one has an unknown type.
 */
export function parquetColumns(columns: Readonly<Record<string, ParquetType>>): ParquetColumn[] {
  const found = Object.entries(columns ?? {}).map(([name, type]) => {
    if (Object.hasOwn(RULES, type)) return { name, ...RULES[type] };
    throw new InvalidArgumentError(
      `Column "${name}" of Parquet files has the unknown type ${describe(type)}. Types are: ${Object.keys(RULES).join(', ')}.`,
    );
  });
  if (found.length > 0) return found;
  throw new InvalidArgumentError('Parquet files need columns: names of properties, and their types.');
}

/** Converts an item's value of a column; null if absent. @throws InvalidArgumentError when it has another type. */
export function parquetValue(column: ParquetColumn, item: unknown): unknown {
  const value = plainValue((item as Readonly<Record<string, unknown>> | null | undefined)?.[column.name]);
  if (value === undefined || value === null) return null;
  const taken = column.take(value);
  if (taken !== undefined) return taken;
  throw new InvalidArgumentError(
    `Column "${column.name}" of Parquet files takes ${column.what}, not ${describe(value)}.`,
  );
}

/**
 * Loads the reader.
 * @throws UnsupportedError when the package is not installed.
 */
export function loadReader(): Promise<typeof import('hyparquet')> {
  return import('hyparquet').catch(missing('hyparquet'));
}

/**
 * Loads the writer.
 * @throws UnsupportedError when the package is not installed.
 */
export function loadWriter(): Promise<typeof import('hyparquet-writer')> {
  return import('hyparquet-writer').catch(missing('hyparquet-writer'));
}

function missing(name: string): (cause: unknown) => never {
  return (cause) => {
    throw new UnsupportedError(
      `Parquet files need the package "${name}", which could not be loaded. Install it (npm install ${name}).`,
      { cause, details: { package: name } },
    );
  };
}

/** Limit of a page's announced size. */
const LARGEST_PAGE = 256 << 20;
/** Limit of the footer's announced size. */
const LARGEST_FOOTER = 64 << 20;

type Unpack = (input: Uint8Array, length: number) => Uint8Array;

function bounded(unpack: Unpack): Unpack {
  return (input, length) => {
    if (length <= LARGEST_PAGE) return unpack(input, length);
    throw new CorruptionError(`a page announces an uncompressed size of ${length} bytes`);
  };
}

interface NodeZstd {
  zstdDecompressSync?(data: Uint8Array, options: object): Uint8Array;
}

/** The compressions that this Node version supports; LZ4 is not among them. */
export function unpackers({ snappyUncompress }: typeof import('hyparquet')): Compressors {
  const atMost = (length: number): { maxOutputLength: number } => ({ maxOutputLength: Math.max(1, length) });
  const { zstdDecompressSync } = zlib as NodeZstd;
  return {
    SNAPPY: bounded((input, length) => {
      const output = new Uint8Array(length);
      snappyUncompress(input, output);
      return output;
    }),
    GZIP: bounded((input, length) => zlib.gunzipSync(input, atMost(length))),
    BROTLI: bounded((input, length) => zlib.brotliDecompressSync(input, atMost(length))),
    ...(zstdDecompressSync === undefined
      ? {}
      : { ZSTD: bounded((input, length) => zstdDecompressSync(input, atMost(length))) }),
  };
}

/** An open file for the package, and its parsed footer. */
export interface OpenParquet {
  readonly handle: FileHandle;
  readonly buffer: AsyncBuffer;
  readonly metadata: FileMetaData;
}

/**
 * Opens a file.
 * @throws CorruptionError naming the file when it is not Parquet.
 */
export async function openParquet(path: string): Promise<OpenParquet> {
  const { parquetMetadataAsync } = await loadReader();
  const handle = await open(path, 'r');
  try {
    const buffer = await bufferOf(handle);
    const metadata = await naming(path, async () => {
      if (buffer.byteLength < 12) throw new CorruptionError('it is too short');
      const tail = new DataView(await buffer.slice(buffer.byteLength - 8, buffer.byteLength));
      const length = tail.getUint32(0, true);
      if (length > LARGEST_FOOTER || length > buffer.byteLength - 12) {
        throw new CorruptionError(`its footer announces ${length} bytes`);
      }
      return parquetMetadataAsync(buffer);
    });
    return { handle, buffer, metadata };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function bufferOf(handle: FileHandle): Promise<AsyncBuffer> {
  const { size } = await handle.stat();
  return {
    byteLength: size,
    async slice(from, to = size) {
      const [start, end] = [from, to].map((at) => Math.min(size, Math.max(0, at < 0 ? size + at : at)));
      const bytes = new Uint8Array(Math.max(0, end! - start!));
      for (let at = 0; at < bytes.length; ) {
        const { bytesRead } = await handle.read(bytes, at, bytes.length - at, start! + at);
        if (bytesRead === 0) throw new CorruptionError('it ends too early');
        at += bytesRead;
      }
      return bytes.buffer;
    },
  };
}

/** Runs `read` and adds the file name to errors of the package. */
export async function naming<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    throw new CorruptionError(
      `${path} cannot be read as Parquet: ${(cause as Error).message}. Copy the file again.`,
      {
        cause,
        details: { file: path },
      },
    );
  }
}

/**
 * Sinks that write files, one for each split. When a split is resumed, its file is truncated to the checkpoint, so that
 * each item is written exactly once.
 */

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { AvroSchema, JsonValue } from '../../codec/index.js';
import { InvalidArgumentError } from '../../errors.js';
import { SYNC_BYTES as SEQUENCE_MARK_BYTES, SequenceWriter } from '../../hadoop/sequence/sequence-file.js';
import { plainValue, toTagged } from '../../mapper/tagged.js';
import type { Result } from '../../table/index.js';
import { ContainerWriter, SYNC_BYTES } from '../files/avro-files.js';
import { checkSeparator, csvLine } from '../files/line-files.js';
import { PartFile, partName } from '../files/part-file.js';
import type { SplitContext } from '../types.js';
import type { Sink, SinkWriter } from './sink.js';

/**
 * Writes each item as a line of JSON into `part-<split>.ndjson` of the folder, which is created if missing. Values that
 * JSON lacks are written as `{"$date": …}`, `{"$bigint": …}`, `{"$bytes": …}`.
 */
export function ndjsonFiles(folder: string): Sink<unknown> {
  return fileSink(`ndjson ${folder}`, folder, 'ndjson', () => ({
    header: () => Buffer.alloc(0),
    items: (items) => Buffer.from(items.map((item) => `${JSON.stringify(toTagged(item))}\n`).join('')),
  }));
}

export interface CsvOptions {
  /** The properties to write, in the order of the columns. */
  readonly columns: readonly string[];
  /** The separator, one character. Default `,`. */
  readonly separator?: string;
  /** Whether each file begins with the column names. Default true. */
  readonly header?: boolean;
}

/**
 * Writes each item as a CSV record (RFC 4180, with line feeds) into `part-<split>.csv` of the folder. Null and
 * undefined are empty fields, Dates ISO strings, bytes base64, value objects what their `toJSON` returns, other objects and lists JSON.
 * @throws InvalidArgumentError without columns, or for an invalid separator.
 */
export function csvFiles(folder: string, options: CsvOptions): Sink<object> {
  const { columns, header = true } = options;
  const separator = checkSeparator(options.separator ?? ',');
  if (!Array.isArray(columns) || columns.length === 0) {
    throw new InvalidArgumentError('CSV files need columns: the names of the properties to write.');
  }
  const about = JSON.stringify([columns, separator, header]);
  return fileSink(`csv ${folder} ${about}`, folder, 'csv', () => ({
    header: () => Buffer.from(header ? `${csvLine(columns, separator)}\n` : ''),
    items: (items) =>
      Buffer.from(
        items
          .map((item) => {
            const values = item as Readonly<Record<string, unknown>>;
            return `${csvLine(
              columns.map((column) => csvText(values[column])),
              separator,
            )}\n`;
          })
          .join(''),
      ),
  }));
}

function csvText(given: unknown): string {
  const value = plainValue(given);
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value;
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (typeof value === 'object') return JSON.stringify(toTagged(value));
  return String(value as number | bigint | boolean);
}

/**
 * Writes items as values of a schema into `part-<split>.avro` of the folder: Avro container files with deflated blocks.
 * Values are as in Avro columns.
 * @throws SchemaError when the schema is invalid.
 */
export function avroFiles<T = unknown>(folder: string, schema: AvroSchema): Sink<T> {
  const about = JSON.stringify(schema);
  return fileSink(`avro ${folder} ${about}`, folder, 'avro', (context) => {
    const writer = new ContainerWriter(schema, markOf(context, SYNC_BYTES, about));
    return { header: () => writer.header(), items: (items) => writer.block(items) };
  });
}

/**
 * Writes rows and their cells into `part-<split>.seq` of the folder: deflated sequence files that HBase's Import reads.
 */
export function sequenceFiles(folder: string): Sink<Result> {
  return fileSink(`sequence files ${folder}`, folder, 'seq', (context) => {
    const writer = new SequenceWriter(markOf(context, SEQUENCE_MARK_BYTES));
    return { header: () => writer.header(), items: (rows) => writer.blocks(rows as readonly Result[]) };
  });
}

/** The sync marker of a split's file: the same at each attempt, so that a resumed file keeps its marker. */
function markOf({ job, run, split }: SplitContext, bytes: number, about = ''): Uint8Array {
  return createHash('sha256')
    .update(JSON.stringify([job, run, split, about]))
    .digest()
    .subarray(0, bytes);
}

/** The format of a sink's files. */
interface FileFormat {
  header(): Buffer;
  items(items: readonly unknown[]): Buffer | Promise<Buffer>;
}

function fileSink<T>(
  signature: string,
  folder: string,
  extension: string,
  formatOf: (context: SplitContext) => FileFormat,
): Sink<T> {
  return {
    signature,
    filesOnly: true,
    async open(context) {
      const { split, resumed } = context;
      const format = formatOf(context);
      const file = await PartFile.open(
        join(folder, partName(split, extension)),
        resumed as number | undefined,
      );
      const writer = new FileWriter(file, format);
      try {
        await writer.begin();
      } catch (error) {
        await file.close();
        throw error;
      }
      return writer;
    },
  };
}

class FileWriter implements SinkWriter<unknown> {
  constructor(
    private readonly file: PartFile,
    private readonly format: FileFormat,
  ) {}

  async begin(): Promise<void> {
    if (this.file.bytes === 0) await this.file.append(this.format.header());
  }

  async write(items: readonly unknown[]): Promise<void> {
    await this.file.append(await this.format.items(items));
  }

  async commit(): Promise<JsonValue> {
    await this.file.sync();
    return this.file.bytes;
  }

  close(): Promise<void> {
    return this.file.close();
  }
}

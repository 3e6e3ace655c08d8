/** Files as sinks: one for each split, cut back to the checkpoint when a split is begun again, so that each item stands there once. */

import { createHash } from 'node:crypto';
import { type FileHandle, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { AvroSchema, JsonValue } from '../../codec/index.js';
import { InvalidArgumentError } from '../../errors.js';
import { SYNC_BYTES as SEQUENCE_MARK_BYTES, SequenceWriter } from '../../hadoop/sequence/index.js';
import { toTagged } from '../../mapper/tagged.js';
import type { Result } from '../../table/index.js';
import { ContainerWriter, SYNC_BYTES } from '../files/avro-files.js';
import { checkSeparator, csvLine } from '../files/line-files.js';
import { openPart } from '../files/place.js';
import type { SplitContext } from '../types.js';
import type { Sink, SinkWriter } from './sink.js';

/**
 * Writes each item as a line of JSON into `part-<split>.ndjson` of the folder, which is made when it is not there. What JSON
 * has no word for is written as `{"$date": …}`, `{"$bigint": …}`, `{"$bytes": …}`.
 */
export function ndjsonFiles(folder: string): Sink<unknown> {
  return fileSink(`ndjson ${folder}`, folder, 'ndjson', () => ({
    header: () => Buffer.alloc(0),
    items: (items) => Buffer.from(items.map((item) => `${JSON.stringify(toTagged(item))}\n`).join('')),
  }));
}

export interface CsvOptions {
  /** Properties of the items, which are the columns, in their order. */
  readonly columns: readonly string[];
  /** One character between fields. Default `,`. */
  readonly separator?: string;
  /** Whether each file begins with the names of the columns. Default true. */
  readonly header?: boolean;
}

/**
 * Writes each item as a record of CSV (RFC 4180, lines ending with a line feed) into `part-<split>.csv` of the folder. Null and undefined are
 * empty fields, Dates ISO texts, bytes base64, objects and lists JSON.
 * @throws InvalidArgumentError without columns, for a separator that is none.
 */
export function csvFiles(folder: string, options: CsvOptions): Sink<object> {
  const { columns, header = true } = options;
  const separator = checkSeparator(options.separator ?? ',');
  if (!Array.isArray(columns) || columns.length === 0) {
    throw new InvalidArgumentError('Files of CSV need columns: the names of the properties that they hold.');
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

function csvText(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value;
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (typeof value === 'object') return JSON.stringify(toTagged(value));
  return String(value as number | bigint | boolean);
}

/**
 * Writes items as values of a schema into `part-<split>.avro` of the folder: Avro container files with deflated blocks.
 * Values are as those of Avro columns.
 * @throws SchemaError when it is no Avro schema.
 */
export function avroFiles<T = unknown>(folder: string, schema: AvroSchema): Sink<T> {
  const about = JSON.stringify(schema);
  return fileSink(`avro ${folder} ${about}`, folder, 'avro', (context) => {
    const writer = new ContainerWriter(schema, markOf(context, SYNC_BYTES, about));
    return { header: () => writer.header(), items: (items) => writer.block(items) };
  });
}

/**
 * Writes rows with their cells into `part-<split>.seq` of the folder: sequence files that HBase's Import reads, in blocks packed by
 * deflate.
 */
export function sequenceFiles(folder: string): Sink<Result> {
  return fileSink(`sequence files ${folder}`, folder, 'seq', (context) => {
    const writer = new SequenceWriter(markOf(context, SEQUENCE_MARK_BYTES));
    return { header: () => writer.header(), items: (rows) => writer.blocks(rows as readonly Result[]) };
  });
}

/** The same at each attempt at a split, so that a file that is gone on with keeps its marker. */
function markOf({ job, run, split }: SplitContext, bytes: number, about = ''): Uint8Array {
  return createHash('sha256')
    .update(JSON.stringify([job, run, split, about]))
    .digest()
    .subarray(0, bytes);
}

/** What the bytes of one file are. */
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
    async open(context) {
      const { split, resumed } = context;
      const format = formatOf(context);
      await mkdir(folder, { recursive: true });
      const written = resumed as number | undefined;
      const file = await openPart(join(folder, partName(split, extension)), written);
      const writer = new FileWriter(file, format, written ?? 0);
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

/** The file of a split. */
export function partName(split: number, extension: string): string {
  return `part-${String(split).padStart(5, '0')}.${extension}`;
}

class FileWriter implements SinkWriter<unknown> {
  constructor(
    private readonly file: FileHandle,
    private readonly format: FileFormat,
    private offset: number,
  ) {}

  async begin(): Promise<void> {
    if (this.offset === 0) await this.append(this.format.header());
  }

  async write(items: readonly unknown[]): Promise<void> {
    await this.append(await this.format.items(items));
  }

  async commit(): Promise<JsonValue> {
    await this.file.datasync();
    return this.offset;
  }

  close(): Promise<void> {
    return this.file.close();
  }

  private async append(bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      const { bytesWritten } = await this.file.write(bytes, at, bytes.length - at, this.offset);
      at += bytesWritten;
      this.offset += bytesWritten;
    }
  }
}

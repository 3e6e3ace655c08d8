/** A sink that writes Parquet files. A file is complete at each checkpoint, and is continued after it. */

import { join } from 'node:path';
import type { RowGroup, SchemaElement } from 'hyparquet';
import type { JsonValue } from '../../codec/index.js';
import {
  loadWriter,
  openParquet,
  type ParquetColumn,
  type ParquetType,
  parquetColumns,
  parquetValue,
} from '../files/parquet.js';
import { PartFile, partName } from '../files/part-file.js';
import type { Sink, SinkWriter } from './sink.js';

/** A row group is written after this many rows, if no checkpoint comes before. */
const GROUP_ROWS = 50_000;
const MARK_BYTES = 4;

/**
 * Writes each item as a row into `part-<split>.parquet` of the folder. Columns are properties of the items; missing
 * ones are null. Compression is Snappy; each checkpoint ends a row group. Requires the package hyparquet-writer.
 * @throws InvalidArgumentError without columns, or for an unknown type; while the job runs, naming the column, for a
 * value of another type.
 */
export function parquetFiles(folder: string, columns: Readonly<Record<string, ParquetType>>): Sink<object> {
  const known = parquetColumns(columns);
  return {
    signature: `parquet ${folder} ${JSON.stringify(columns)}`,
    filesOnly: true,
    async open({ split, resumed }) {
      const file = await PartFile.open(
        join(folder, partName(split, 'parquet')),
        resumed as number | undefined,
      );
      try {
        return await ParquetWriter.begin(file, known);
      } catch (error) {
        await file.close();
        throw error;
      }
    },
  };
}

class ParquetWriter implements SinkWriter<object> {
  private values: unknown[][] = [];
  private rows = 0;
  /** Whether the file's footer does not cover everything written yet. */
  private open = true;

  private constructor(
    private readonly file: PartFile,
    private readonly columns: readonly ParquetColumn[],
    private readonly writer: typeof import('hyparquet-writer'),
    private readonly schema: SchemaElement[],
    private readonly groups: RowGroup[],
  ) {
    this.forget();
  }

  static async begin(file: PartFile, columns: readonly ParquetColumn[]): Promise<ParquetWriter> {
    const writer = await loadWriter();
    const columnData = columns.map(({ name, type }) => ({ name, type, data: [], nullable: true }));
    const schema = writer.schemaFromColumnData({ columnData });
    if (file.bytes > 0) {
      const { metadata, handle } = await openParquet(file.path);
      await handle.close();
      const begun = new ParquetWriter(file, columns, writer, schema, metadata.row_groups);
      begun.open = false;
      return begun;
    }
    const begun = new ParquetWriter(file, columns, writer, schema, []);
    await file.append(Buffer.from('PAR1'));
    return begun;
  }

  async write(items: readonly object[]): Promise<void> {
    for (const item of items) {
      const values = this.columns.map((column) => parquetValue(column, item));
      for (const [at, value] of values.entries()) this.values[at]!.push(value);
      if (++this.rows >= GROUP_ROWS) await this.endGroup();
    }
  }

  async commit(): Promise<JsonValue> {
    if (this.rows > 0) await this.endGroup();
    if (this.open) await this.end();
    await this.file.sync();
    return this.file.bytes;
  }

  close(): Promise<void> {
    return this.file.close();
  }

  private async endGroup(): Promise<void> {
    const { bytes, writer } = this.writerHere();
    const columnData = this.columns.map(({ name, type }, at) => ({
      name,
      type,
      data: this.values[at]!,
      nullable: true,
      offsetIndex: false,
    }));
    await writer.write({ columnData, rowGroupSize: this.rows });
    this.groups.push(...writer.row_groups);
    this.forget();
    this.open = true;
    await this.file.append(bytes.getBytes().subarray(MARK_BYTES));
  }

  /** Writes a footer of all groups. A later continuation follows it, and ends with another footer. */
  private async end(): Promise<void> {
    const { bytes, writer } = this.writerHere();
    writer.row_groups = this.groups;
    writer.num_rows = this.groups.reduce((sum, { num_rows }) => sum + num_rows, 0n);
    await writer.finish();
    await this.file.append(bytes.getBytes().subarray(MARK_BYTES));
    this.open = false;
  }

  /** A writer with the file's offsets; the magic bytes at the start are not written again. */
  private writerHere(): {
    readonly bytes: InstanceType<typeof import('hyparquet-writer')['ByteWriter']>;
    readonly writer: InstanceType<typeof import('hyparquet-writer')['ParquetWriter']>;
  } {
    const bytes = new this.writer.ByteWriter();
    bytes.offset = this.file.bytes - MARK_BYTES;
    return {
      bytes,
      writer: new this.writer.ParquetWriter({ writer: bytes, schema: this.schema, createdBy: 'rowan-orm' }),
    };
  }

  private forget(): void {
    this.values = this.columns.map(() => []);
    this.rows = 0;
  }
}

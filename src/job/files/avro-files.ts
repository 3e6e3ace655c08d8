/** The values of Avro container files as rows of a table, so that a job reads them as any other. */

import { open } from 'node:fs/promises';
import { type AvroSchema, AvroValues } from '../../codec/avro/index.js';
import { CorruptionError, RowanError } from '../../errors.js';
import { Result, type ResultScanner, type Scan } from '../../table/index.js';
import type { JobReadable, RowRange } from '../types.js';
import {
  type ContainerHeader,
  readBlockCounts,
  readHeader,
  SYNC_BYTES,
  unpackBlock,
} from './avro-container.js';
import { FileScanner } from './file-scanner.js';
import { fileSize, placeOfRow, rangesOfFiles, rowOfPlace } from './place.js';

const FIRST_READ = 64 << 10;
/** A header is no longer than this. */
const LARGEST_HEADER = 16 << 20;
/** Bytes that the two counts of a block may take. */
const COUNTS = 20;

/** A row that is one value of a file: the place of its block and its number in it (4 bytes). */
export class AvroRow extends Result {
  constructor(
    row: Uint8Array,
    readonly item: unknown,
    bytes: Uint8Array,
  ) {
    super(row, [{ row, family: 'f', qualifier: row, timestamp: 0, type: 4, value: bytes }]);
  }
}

/** Each file is one split. */
export class AvroFiles implements JobReadable {
  readonly name = 'values of Avro files';
  readonly ranges: readonly RowRange[];

  private constructor(
    private readonly paths: readonly string[],
    private readonly headers: readonly ContainerHeader[],
  ) {
    this.ranges = rangesOfFiles(paths.length);
  }

  /** @throws InvalidArgumentError, CorruptionError, UnsupportedError for a file that cannot be read. */
  static async open(paths: readonly string[]): Promise<AvroFiles> {
    return new AvroFiles(paths, await Promise.all(paths.map(headerOf)));
  }

  get schemas(): readonly AvroSchema[] {
    return this.headers.map(({ schema }) => schema);
  }

  scan(scan: Scan): ResultScanner {
    const { startRow } = scan;
    const { file, offset } = placeOfRow(startRow);
    const header = this.headers[file]!;
    const done =
      startRow.length > 12 ? Buffer.from(startRow).readUInt32BE(12) + (scan.includeStartRow ? 0 : 1) : 0;
    return new AvroScanner(this.paths[file]!, file, header, Math.max(offset, header.end), done);
  }
}

async function headerOf(path: string): Promise<ContainerHeader> {
  const size = await fileSize(path);
  const handle = await open(path, 'r');
  try {
    for (let wanted = FIRST_READ; ; wanted *= 4) {
      const bytes = Buffer.alloc(Math.min(wanted, size));
      const { bytesRead } = await handle.read(bytes, 0, bytes.length, 0);
      const header = readHeader(bytes.subarray(0, bytesRead));
      if (header !== undefined) return header;
      if (wanted >= Math.min(size, LARGEST_HEADER)) throw new CorruptionError('its header has no end');
    }
  } catch (error) {
    throw damaged(path, 0, error);
  } finally {
    await handle.close();
  }
}

function damaged(path: string, offset: number, cause: unknown): unknown {
  if (cause instanceof RowanError && !(cause instanceof CorruptionError)) return cause;
  return new CorruptionError(`${path} cannot be read at byte ${offset}: ${(cause as Error).message}.`, {
    cause,
    details: { file: path, offset },
  });
}

class AvroScanner extends FileScanner {
  private readonly values: AvroValues;
  private data: Buffer = Buffer.alloc(0);
  private at = 0;
  private left = 0;
  private index = 0;
  /** Where the block that is being read begins, and the one behind it. */
  private block: number;
  private behind: number;

  constructor(
    path: string,
    private readonly file: number,
    private readonly header: ContainerHeader,
    offset: number,
    /** Values of the first block that are done. */
    private done: number,
  ) {
    super(path);
    this.values = new AvroValues(header.schema);
    this.block = offset;
    this.behind = offset;
  }

  async next(): Promise<Result | undefined> {
    if (this.ended) return undefined;
    if (this.handle === undefined) await this.openFile();
    try {
      for (;;) {
        while (this.left === 0) if (!(await this.nextBlock())) return this.finish();
        const { value, end } = this.values.read(this.data, this.at);
        const bytes = this.data.subarray(this.at, end);
        this.at = end;
        this.left--;
        if (this.index++ >= this.done) return this.rowOf(value, bytes);
      }
    } catch (error) {
      throw damaged(this.path, this.block, error);
    }
  }

  private rowOf(value: unknown, bytes: Uint8Array): AvroRow {
    const row = Buffer.alloc(16);
    row.set(rowOfPlace({ file: this.file, offset: this.block }));
    row.writeUInt32BE(this.index - 1, 12);
    return new AvroRow(row, value, bytes);
  }

  private async nextBlock(): Promise<boolean> {
    if (this.behind !== this.block) this.done = 0;
    this.block = this.behind;
    this.index = 0;
    const head = await this.readAt(this.block, COUNTS);
    if (head.length === 0) return false;
    const counts = readBlockCounts(head);
    if (counts === undefined) throw new CorruptionError('it ends within a block');
    const body = await this.readAt(this.block + counts.at, counts.length + SYNC_BYTES);
    if (body.length < counts.length + SYNC_BYTES) throw new CorruptionError('it ends within a block');
    if (Buffer.compare(body.subarray(counts.length), this.header.sync) !== 0) {
      throw new CorruptionError('a block does not end with the marker of the file');
    }
    this.data = await unpackBlock(body.subarray(0, counts.length), this.header.codec);
    this.values.check(this.data, counts.values);
    this.at = 0;
    this.left = counts.values;
    this.behind = this.block + counts.at + counts.length + SYNC_BYTES;
    return true;
  }

  private async readAt(offset: number, length: number): Promise<Buffer> {
    const bytes = Buffer.alloc(length);
    const { bytesRead } = await this.handle!.read(bytes, 0, length, offset);
    return bytes.subarray(0, bytesRead);
  }
}

import { open } from 'node:fs/promises';
import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import { AvroCodec, type AvroSchema, AvroValues } from '../../codec/avro/index.js';
import { CorruptionError, InvalidArgumentError, RowanError, UnsupportedError } from '../../errors.js';
import { Result, type ResultScanner, type Scan } from '../../table/index.js';
import type { JobReadable, RowRange } from '../types.js';
import { FileScanner, fileSize, positionOfRow, rangesOfFiles, rowOfPosition } from './file-position.js';

// — Avro object container files (Avro specification, "Object Container Files"):
//
//     header  "Obj" 01 | map of avro.schema and avro.codec | sync marker (16)
//     block   number of values (long) | bytes of the data (long) | data, by the codec | sync marker (16)
//
// Numbers are zigzag varints. The supported codecs are `null` and `deflate`.

const MAGIC = Buffer.from('Obj\x01', 'latin1');
export const SYNC_BYTES = 16;
/** The largest size of a block's data, compressed or not. */
const LARGEST_BLOCK = 256 << 20;
/** The 10 bytes of single-object encoding before each value. */
const SINGLE_OBJECT_HEADER = 10;

const deflate = promisify(deflateRaw);
const inflate = promisify(inflateRaw);

interface ContainerHeader {
  readonly schema: AvroSchema;
  readonly codec: 'null' | 'deflate';
  readonly sync: Uint8Array;
  /** Offset of the first block. */
  readonly end: number;
}

/** Writes a container file with deflated blocks. */
export class ContainerWriter {
  private readonly codec: AvroCodec<unknown>;

  /**
   * Creates a writer.
   * @throws SchemaError when the schema is invalid.
   */
  constructor(
    private readonly schema: AvroSchema,
    private readonly sync: Uint8Array,
  ) {
    this.codec = new AvroCodec(schema);
  }

  header(): Buffer {
    const meta: readonly (readonly [string, string])[] = [
      ['avro.codec', 'deflate'],
      ['avro.schema', JSON.stringify(this.schema)],
    ];
    const entries = meta.flatMap(([name, value]) => [
      lengthAnd(Buffer.from(name)),
      lengthAnd(Buffer.from(value)),
    ]);
    return Buffer.concat([MAGIC, long(meta.length), ...entries, long(0), this.sync]);
  }

  /**
   * Encodes a block.
   * @throws RowanError `ERR_CODEC` for a value that does not fit the schema.
   */
  async block(values: readonly unknown[]): Promise<Buffer> {
    const data = await deflate(
      Buffer.concat(values.map((value) => this.codec.encode(value).subarray(SINGLE_OBJECT_HEADER))),
    );
    return Buffer.concat([long(values.length), long(data.length), data, this.sync]);
  }
}

/** Parses the header. Undefined: the bytes end within it. @throws CorruptionError, UnsupportedError. */
function readHeader(bytes: Uint8Array): ContainerHeader | undefined {
  if (!MAGIC.equals(bytes.subarray(0, Math.min(MAGIC.length, bytes.length)))) {
    if (bytes.length < MAGIC.length) return undefined;
    throw new CorruptionError('it does not begin with the magic bytes of an Avro container file');
  }
  const cursor = new LongReader(bytes, MAGIC.length);
  const meta = new Map<string, string>();
  for (let count = cursor.long(); count !== 0; count = cursor.long()) {
    if (count === undefined) return undefined;
    // A negative count is followed by the size of the entries in bytes.
    if (count < 0) cursor.long();
    for (let entry = Math.abs(count); entry > 0; entry--) {
      const name = cursor.text();
      const value = name === undefined ? undefined : cursor.text();
      if (name === undefined || value === undefined) return undefined;
      meta.set(name, value);
    }
  }
  const end = cursor.at + SYNC_BYTES;
  if (end > bytes.length) return undefined;
  const codec = meta.get('avro.codec') ?? 'null';
  if (codec !== 'null' && codec !== 'deflate') {
    throw new UnsupportedError(
      `Avro files with the codec "${codec}" are not supported: write them with "deflate" or "null".`,
    );
  }
  return { schema: schemaOf(meta.get('avro.schema')), codec, sync: bytes.slice(cursor.at, end), end };
}

function schemaOf(text: string | undefined): AvroSchema {
  try {
    return JSON.parse(text ?? '') as AvroSchema;
  } catch {
    throw new CorruptionError('its header has no schema');
  }
}

/** Parses the counts before a block's data; undefined: the bytes end within them. @throws CorruptionError. */
function readBlockCounts(
  bytes: Uint8Array,
): { readonly values: number; readonly length: number; readonly at: number } | undefined {
  const cursor = new LongReader(bytes, 0);
  const values = cursor.long();
  const length = values === undefined ? undefined : cursor.long();
  if (values === undefined || length === undefined) return undefined;
  if (values < 0 || length < 0 || length > LARGEST_BLOCK) {
    throw new CorruptionError(`a block announces ${values} values in ${length} bytes`);
  }
  return { values, length, at: cursor.at };
}

/** Decompresses the values of a block. @throws CorruptionError. */
async function unpackBlock(data: Uint8Array, codec: ContainerHeader['codec']): Promise<Buffer> {
  if (codec === 'null') return Buffer.from(data.buffer, data.byteOffset, data.length);
  try {
    return await inflate(data, { maxOutputLength: LARGEST_BLOCK });
  } catch (cause) {
    throw new CorruptionError(`a block cannot be decompressed: ${(cause as Error).message}`, { cause });
  }
}

class LongReader {
  constructor(
    private readonly bytes: Uint8Array,
    public at: number,
  ) {}

  /** Undefined at the end of the bytes. */
  long(): number | undefined {
    let value = 0;
    let scale = 1;
    for (let i = 0; i < 10; i++) {
      const byte = this.bytes[this.at++];
      if (byte === undefined) return undefined;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value % 2 === 1 ? -(value + 1) / 2 : value / 2;
      scale *= 128;
    }
    throw new CorruptionError('a number is too long');
  }

  text(): string | undefined {
    const length = this.long();
    if (length === undefined || this.at + length > this.bytes.length) return undefined;
    if (length < 0) throw new CorruptionError('a string in the header has a negative length');
    const text = Buffer.from(this.bytes.buffer, this.bytes.byteOffset + this.at, length).toString();
    this.at += length;
    return text;
  }
}

function lengthAnd(bytes: Uint8Array): Buffer {
  return Buffer.concat([long(bytes.length), bytes]);
}

function long(value: number): Buffer {
  if (!Number.isSafeInteger(value) || value < 0) throw new InvalidArgumentError(`${value} is not a length.`);
  const bytes: number[] = [];
  let rest = value * 2;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  bytes.push(rest);
  return Buffer.from(bytes);
}

// — Presents the values of Avro container files as rows of a table, so that a job reads them like any other source.

const FIRST_READ = 64 << 10;
/** The largest header, in bytes. */
const LARGEST_HEADER = 16 << 20;
/** The largest size of a block's two counts, in bytes. */
const COUNTS = 20;

/** A row that holds one value of a file: the offset of its block and its index in it (4 bytes). */
export class AvroRow extends Result {
  constructor(
    row: Uint8Array,
    readonly item: unknown,
    bytes: Uint8Array,
  ) {
    super(row, [{ row, family: 'f', qualifier: row, timestamp: 0, type: 4, value: bytes }]);
  }
}

/** Avro files as a source; each file is one split. */
export class AvroFiles implements JobReadable {
  readonly name = 'values of Avro files';
  readonly ranges: readonly RowRange[];

  private constructor(
    private readonly paths: readonly string[],
    private readonly headers: readonly ContainerHeader[],
  ) {
    this.ranges = rangesOfFiles(paths.length);
  }

  /**
   * Opens the files.
   * @throws InvalidArgumentError, CorruptionError, UnsupportedError for a file that cannot be read.
   */
  static async open(paths: readonly string[]): Promise<AvroFiles> {
    return new AvroFiles(paths, await Promise.all(paths.map(headerOf)));
  }

  get schemas(): readonly AvroSchema[] {
    return this.headers.map(({ schema }) => schema);
  }

  scan(scan: Scan): ResultScanner {
    const { startRow } = scan;
    const { file, offset } = positionOfRow(startRow);
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
      if (wanted >= Math.min(size, LARGEST_HEADER))
        throw new CorruptionError('its header is incomplete or too large');
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
  /** The offset of the present block, and of the next one. */
  private block: number;
  private nextOffset: number;

  constructor(
    path: string,
    private readonly file: number,
    private readonly header: ContainerHeader,
    offset: number,
    /** How many values of the first block are already done. */
    private done: number,
  ) {
    super(path);
    this.values = new AvroValues(header.schema);
    this.block = offset;
    this.nextOffset = offset;
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
    row.set(rowOfPosition({ file: this.file, offset: this.block }));
    row.writeUInt32BE(this.index - 1, 12);
    return new AvroRow(row, value, bytes);
  }

  private async nextBlock(): Promise<boolean> {
    if (this.nextOffset !== this.block) this.done = 0;
    this.block = this.nextOffset;
    this.index = 0;
    const head = await this.readAt(this.block, COUNTS);
    if (head.length === 0) return false;
    const counts = readBlockCounts(head);
    if (counts === undefined) throw new CorruptionError('it ends within a block');
    const body = await this.readAt(this.block + counts.at, counts.length + SYNC_BYTES);
    if (body.length < counts.length + SYNC_BYTES) throw new CorruptionError('it ends within a block');
    if (Buffer.compare(body.subarray(counts.length), this.header.sync) !== 0) {
      throw new CorruptionError('a block does not end with the sync marker of the file');
    }
    this.data = await unpackBlock(body.subarray(0, counts.length), this.header.codec);
    this.values.check(this.data, counts.values);
    this.at = 0;
    this.left = counts.values;
    this.nextOffset = this.block + counts.at + counts.length + SYNC_BYTES;
    return true;
  }

  private async readAt(offset: number, length: number): Promise<Buffer> {
    const bytes = Buffer.alloc(length);
    const { bytesRead } = await this.handle!.read(bytes, 0, length, offset);
    return bytes.subarray(0, bytesRead);
  }
}

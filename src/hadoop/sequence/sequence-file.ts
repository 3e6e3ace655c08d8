import { type FileHandle, open } from 'node:fs/promises';
import { promisify } from 'node:util';
import { deflate, gunzip, gzip, inflate } from 'node:zlib';
import { CorruptionError, UnsupportedError } from '../../errors.js';
import { type Cell, CellWithTtl, Result } from '../../table/index.js';
import { ByteBuilder, ByteParser, cellOf, naming, readAt, vintLength, writeTtlTag } from '../writable.js';

// — Sequence files of Hadoop, version 6, as written by HBase's Export: rows by their keys (docs/bulk-load.md). FROZEN.
//
//     header   "SEQ" 06 | class of keys | class of values | compressed (1) | in blocks (1) | [codec's class] | metadata: pairs (4), strings | sync (16)
//     record   length (4) | length of the key (4) | key | value, compressed if so declared
//     block    -1 (4) | sync (16) | records, vint | lengths of keys | keys | lengths of values | values; each: size, vint | compressed bytes
//
// Some records are preceded by -1 (4) | sync (16). A key is a length (4) and bytes; a value is a length and the message `Result`;
// classes and strings are a length (vint) and UTF-8. Numbers are big-endian.

const MAGIC = Buffer.from('SEQ\u0006', 'latin1');
export const SYNC_BYTES = 16;
const KEY_CLASS = 'org.apache.hadoop.hbase.io.ImmutableBytesWritable';
const VALUE_CLASS = 'org.apache.hadoop.hbase.client.Result';

/** The largest decompressed size of a block or record. */
const LARGEST_UNPACKED = 256 << 20;

type Unpack = (bytes: Uint8Array, options: { maxOutputLength: number }) => Promise<Buffer>;
type Pack = (bytes: Uint8Array, options: { level: number }) => Promise<Buffer>;

/** The supported codecs, by their classes. */
const CODECS: Readonly<Record<string, { readonly pack: Pack; readonly unpack: Unpack }>> = {
  'org.apache.hadoop.io.compress.DefaultCodec': { pack: promisify(deflate), unpack: promisify(inflate) },
  'org.apache.hadoop.io.compress.DeflateCodec': { pack: promisify(deflate), unpack: promisify(inflate) },
  'org.apache.hadoop.io.compress.GzipCodec': { pack: promisify(gzip), unpack: promisify(gunzip) },
};
const CODEC_CLASSES: readonly string[] = Object.keys(CODECS);
/** Files are written with deflate, Hadoop's default. */
const WRITTEN_CODEC = CODEC_CLASSES[0]!;

function pack(bytes: Uint8Array): Promise<Buffer> {
  return CODECS[WRITTEN_CODEC]!.pack(bytes, { level: 1 });
}

/** @throws CorruptionError when it is not the codec's output, or larger than {@link LARGEST_UNPACKED}. */
async function unpack(codec: string, bytes: Uint8Array): Promise<Buffer> {
  try {
    return await CODECS[codec]!.unpack(bytes, { maxOutputLength: LARGEST_UNPACKED });
  } catch (cause) {
    throw new CorruptionError(`it cannot be decompressed (${(cause as Error).message})`, { cause });
  }
}

/** A block ends when its rows have this many bytes. */
const BLOCK_BYTES = 1 << 20;
const ESCAPE = -1;

/**
 * Writes a sequence file: blocks compressed by deflate. `sync` marks the beginnings of its blocks: 16 bytes that occur
 * nowhere else in it.
 */
export class SequenceWriter {
  private readonly records = new RecordBuilder();

  constructor(private readonly sync: Uint8Array) {
    if (sync.length !== SYNC_BYTES) throw new RangeError(`a mark has ${SYNC_BYTES} bytes`);
  }

  header(): Buffer {
    const text = (value: string): Buffer => Buffer.from(value);
    return new ByteBuilder()
      .bytes(MAGIC)
      .vbytes(text(KEY_CLASS))
      .vbytes(text(VALUE_CLASS))
      .byte(1)
      .byte(1)
      .vbytes(text(WRITTEN_CODEC))
      .int(0)
      .bytes(this.sync)
      .copy();
  }

  /** Complete blocks of these rows, in order. */
  async blocks(rows: readonly Result[]): Promise<Buffer> {
    const blocks: Buffer[] = [];
    for (const [at, row] of rows.entries()) {
      this.records.add(row);
      if (this.records.size >= BLOCK_BYTES || at === rows.length - 1) blocks.push(await this.takeBlock());
    }
    return Buffer.concat(blocks);
  }

  private async takeBlock(): Promise<Buffer> {
    const { records, keyLengths, keys, valueLengths, values } = this.records;
    const parts = await Promise.all(
      [keyLengths, keys, valueLengths, values].map((each) => pack(each.view())),
    );
    const block = new ByteBuilder(256).int(ESCAPE).bytes(this.sync).vint(records);
    for (const part of parts) block.vbytes(part);
    this.records.clear();
    return block.copy();
  }
}

const KIND = 'a sequence file';
/** The largest header. */
const LARGEST_HEAD = 1 << 20;
/** Bytes per read, unless the file is shorter. */
const CHUNK = 1 << 20;
/** Approximate number of rows of a part. */
const ROWS_OF_PART = 1000;
const LONGEST_VINT = 9;

/** The rows of a block, or of consecutive records. */
interface SequencePart {
  readonly offset: number;
  /** The offset of the next part. */
  readonly next: number;
  readonly rows: readonly Result[];
}

interface Head {
  readonly codec: string | undefined;
  readonly inBlocks: boolean;
  readonly sync: Buffer;
  readonly end: number;
}

/** Reads sequence files of rows in independent parts. Lengths are checked against the size of the file before they are used. */
export class SequenceReader {
  private buffer: Buffer = Buffer.alloc(0);
  private base = 0;

  private constructor(
    readonly path: string,
    private readonly handle: FileHandle,
    private readonly size: number,
    private readonly head: Head,
  ) {}

  /**
   * @throws CorruptionError naming the file when it is not a sequence file of version 6; UnsupportedError when it has other content
   * than rows of HBase, or is compressed by an unsupported codec.
   */
  static async open(path: string): Promise<SequenceReader> {
    const handle = await open(path, 'r');
    try {
      const { size } = await handle.stat();
      const bytes = await readAt(handle, 0, Math.min(size, LARGEST_HEAD));
      const head = await naming({ path, offset: 0, kind: KIND }, async () => parseHead(bytes));
      return new SequenceReader(path, handle, size, head);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /**
   * The part at `offset`; undefined at the end. `offset` is 0, or `next` of a part.
   * @throws CorruptionError naming file and byte.
   */
  part(offset: number): Promise<SequencePart | undefined> {
    const at = Math.max(offset, this.head.end);
    if (at >= this.size) return Promise.resolve(undefined);
    return naming({ path: this.path, offset: at, kind: KIND }, () =>
      this.head.inBlocks ? this.block(at) : this.records(at),
    );
  }

  close(): Promise<void> {
    return this.handle.close();
  }

  private async block(offset: number): Promise<SequencePart> {
    let at = await this.pastMark(offset);
    const count = await this.vint(at);
    at = count.end;
    const parts: ByteParser[] = [];
    for (let i = 0; i < 4; i++) {
      const length = await this.vint(at);
      const packed = await this.bytes(length.end, length.value);
      parts.push(new ByteParser(await unpack(this.head.codec!, packed)));
      at = length.end + length.value;
    }
    const [keyLengths, keys, valueLengths, values] = parts as [
      ByteParser,
      ByteParser,
      ByteParser,
      ByteParser,
    ];
    const rows: Result[] = [];
    // The length of each record has at least one byte, which limits their number.
    if (count.value > keyLengths.left)
      throw new CorruptionError('a block has fewer records than its header says');
    for (let record = 0; record < count.value; record++) {
      rows.push(resultOf(keys.take(keyLengths.vint()), values.take(valueLengths.vint())));
    }
    if (keys.left + values.left > 0) throw new CorruptionError('a block has bytes after its records');
    return { offset, next: at, rows };
  }

  private async records(offset: number): Promise<SequencePart> {
    let at = offset;
    const rows: Result[] = [];
    const begin = at;
    while (at < this.size && rows.length < ROWS_OF_PART && at - begin < CHUNK) {
      const length = (await this.bytes(at, 4)).readInt32BE(0);
      if (length === ESCAPE) {
        at = await this.pastMark(at);
        continue;
      }
      const keyLength = (await this.bytes(at + 4, 4)).readInt32BE(0);
      if (keyLength < 0 || keyLength > length) throw new CorruptionError('a key is longer than its record');
      const record = await this.bytes(at + 8, length);
      const value = record.subarray(keyLength);
      const { codec } = this.head;
      rows.push(
        resultOf(record.subarray(0, keyLength), codec === undefined ? value : await unpack(codec, value)),
      );
      at += 8 + length;
    }
    return { offset, next: at, rows };
  }

  private async pastMark(offset: number): Promise<number> {
    const mark = await this.bytes(offset, 4 + SYNC_BYTES);
    if (mark.readInt32BE(0) === ESCAPE && mark.subarray(4).equals(this.head.sync))
      return offset + 4 + SYNC_BYTES;
    throw new CorruptionError('there is no sync marker before a block or record');
  }

  private async vint(at: number): Promise<{ readonly value: number; readonly end: number }> {
    const bytes = await this.bytes(at, Math.min(LONGEST_VINT, this.size - at));
    const length = bytes.length === 0 ? 1 : vintLength(bytes[0]!);
    return { value: new ByteParser(bytes).vint(), end: at + length };
  }

  /** @throws CorruptionError when the file has fewer bytes, before anything is allocated. */
  private async bytes(at: number, length: number): Promise<Buffer> {
    if (!(length >= 0) || at + length > this.size) {
      throw new CorruptionError(`there are not ${length} bytes at byte ${at} of ${this.size}`);
    }
    if (at < this.base || at + length > this.base + this.buffer.length) {
      this.buffer = await readAt(this.handle, at, Math.min(Math.max(length, CHUNK), this.size - at));
      this.base = at;
    }
    return this.buffer.subarray(at - this.base, at - this.base + length);
  }
}

function parseHead(bytes: Buffer): Head {
  const parser = new ByteParser(bytes);
  if (!parser.take(MAGIC.length).equals(MAGIC))
    throw new CorruptionError('it is not a sequence file of version 6');
  const [keys, values] = [parser.vbytes().toString(), parser.vbytes().toString()];
  if (keys !== KEY_CLASS || values !== VALUE_CLASS) {
    throw new UnsupportedError(
      `it contains ${values.slice(0, 100)} by ${keys.slice(0, 100)}, but only rows of HBase (${VALUE_CLASS} by ${KEY_CLASS}) can be read. ` +
        "Name files of HBase's Export.",
    );
  }
  const [compressed, inBlocks] = [parser.byte() !== 0, parser.byte() !== 0];
  const codec = compressed ? parser.vbytes().toString() : undefined;
  if (codec !== undefined && !CODEC_CLASSES.includes(codec)) {
    throw new UnsupportedError(
      `it is compressed by ${codec.slice(0, 100)}, which is not supported. Export it without, or with -D ` +
        `mapreduce.output.fileoutputformat.compress.codec=${CODEC_CLASSES[0]!}.`,
    );
  }
  if (inBlocks && !compressed) throw new CorruptionError('it has blocks that are not compressed');
  // Each pair has at least two bytes.
  const pairs = parser.int();
  if (pairs < 0 || pairs > parser.left / 2)
    throw new CorruptionError('its metadata has more pairs than there are bytes');
  for (let i = 0; i < 2 * pairs; i++) parser.vbytes();
  const sync = Buffer.from(parser.take(SYNC_BYTES));
  return { codec, inBlocks, sync, end: parser.at };
}

// — The message `Result` of HBase's `Client.proto` with its cells, and its key.

/** Fields of `Result`: its cells, and two that say that the cells are elsewhere or incomplete. */
const CELL = 1;
const CELLS_ELSEWHERE = 2;
/** Fields of `Cell`. */
const Field = { row: 1, family: 2, qualifier: 3, timestamp: 4, type: 5, value: 6, tags: 7 } as const;

/** Builds records: keys, values and their lengths. */
class RecordBuilder {
  readonly keys = new ByteBuilder(4096);
  readonly keyLengths = new ByteBuilder();
  readonly values = new ByteBuilder(65536);
  readonly valueLengths = new ByteBuilder();
  private readonly message = new ByteBuilder(4096);
  private readonly cell = new ByteBuilder();
  private readonly tag = new ByteBuilder();
  private readonly families = new Map<string, Uint8Array>();
  records = 0;

  /** Bytes added so far. */
  get size(): number {
    return this.keys.length + this.values.length;
  }

  clear(): void {
    for (const each of [this.keys, this.keyLengths, this.values, this.valueLengths]) each.clear();
    this.records = 0;
  }

  add({ row, cells }: Result): void {
    this.keys.int(row.length).bytes(row);
    this.keyLengths.vint(row.length + 4);
    this.message.clear();
    for (const cell of cells) this.message.bytesField(CELL, this.cellMessage(row, cell));
    const before = this.values.length;
    this.values.varint(this.message.length).bytes(this.message.view());
    this.valueLengths.vint(this.values.length - before);
    this.records++;
  }

  private cellMessage(row: Uint8Array, cell: Cell): Buffer {
    const message = this.cell;
    message.clear();
    message.bytesField(Field.row, row).bytesField(Field.family, this.familyBytes(cell.family));
    message.bytesField(Field.qualifier, cell.qualifier);
    message.numberField(Field.timestamp, cell.timestamp).numberField(Field.type, cell.type);
    message.bytesField(Field.value, cell.value);
    if (cell instanceof CellWithTtl) {
      this.tag.clear();
      writeTtlTag(this.tag, cell.ttl);
      message.bytesField(Field.tags, this.tag.view());
    }
    return message.view();
  }

  private familyBytes(family: string): Uint8Array {
    let bytes = this.families.get(family);
    if (bytes === undefined) {
      bytes = Buffer.from(family);
      this.families.set(family, bytes);
    }
    return bytes;
  }
}

/** The row of a record. @throws CorruptionError when key or value is malformed. */
function resultOf(key: Buffer, value: Buffer): Result {
  const keyParser = new ByteParser(key);
  const row = keyParser.take(keyParser.int());
  const framed = new ByteParser(value);
  const length = framed.varint();
  if (keyParser.left > 0 || length !== framed.left)
    throw new CorruptionError('a record is not a row and its cells');
  const message = new ByteParser(framed.take(length));
  const cells: Cell[] = [];
  for (let field = message.field(); field !== undefined; field = message.field()) {
    if (field.number === CELLS_ELSEWHERE && field.value !== 0)
      throw new CorruptionError('cells of a row are missing');
    if (field.number === CELL && typeof field.value !== 'number') cells.push(cellOfMessage(field.value));
  }
  for (const cell of cells) {
    if (!row.equals(cell.row)) throw new CorruptionError('a cell has another row than its key');
  }
  return new Result(row, cells);
}

const NOTHING = Buffer.alloc(0);

function cellOfMessage(bytes: Buffer): Cell {
  const message = new ByteParser(bytes);
  const found = new Map<number, number | Buffer>();
  for (let field = message.field(); field !== undefined; field = message.field())
    found.set(field.number, field.value);
  const part = (number: number): Buffer => {
    const value = found.get(number) ?? NOTHING;
    if (typeof value === 'number') throw new CorruptionError('a cell has a number instead of bytes');
    return value;
  };
  const number = (field: number): number => {
    const value = found.get(field) ?? 0;
    if (typeof value !== 'number') throw new CorruptionError('a cell has bytes instead of a number');
    return value;
  };
  return cellOf({
    row: part(Field.row),
    family: part(Field.family).toString(),
    qualifier: part(Field.qualifier),
    timestamp: number(Field.timestamp),
    type: number(Field.type),
    value: part(Field.value),
    tags: part(Field.tags),
  });
}

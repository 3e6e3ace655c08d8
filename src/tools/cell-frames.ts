import { join } from 'node:path';
import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import { crc32, EMPTY_BYTES, VarintReader, writeVarint } from '../bytes/index.js';
import { CorruptionError } from '../errors.js';
import { type CellFileFormat, CellFiles, type PartRow } from '../job/files/cell-files.js';
import { FileScanner, positionOfRow, rangesOfFiles, rowOfPosition } from '../job/files/file-position.js';
import type { JobReadable, RowRange, SplitContext } from '../job/types.js';
import { Cell, CellType, CellWithTtl, Result, type ResultScanner, type Scan } from '../table/index.js';
import type { ExportedFile } from './manifest.js';

// — Reads rows of cells from files of any format, for import and bulkload.

export interface CellSource {
  /** Part of the job's signature. */
  readonly signature: string;
  readonly table: JobReadable;
  readonly ranges: readonly RowRange[];
  /** Returns the rows that one row of the source stands for. */
  rows(row: Result, context: SplitContext): readonly Result[] | Promise<readonly Result[]>;
}

/** Sequence files of HBase's Export, or HFiles. @throws as `CellFiles.open`. */
export async function cellFilesSource(paths: readonly string[], format: CellFileFormat): Promise<CellSource> {
  const files = await CellFiles.open(paths, format);
  return {
    signature: `${format} ${JSON.stringify(paths)} of ${files.identity}`,
    table: files,
    ranges: files.ranges,
    rows: (row) => (row as PartRow).rows,
  };
}

// — The files that `rowan export` writes (docs/tools.md):
//
//     head    "ROWAN-CELLS" 00 | version (4) = 1
//     frame   bytes of the payload (4) | crc32 of the payload (4) | payload, deflated
//     end     00 00 00 00 | crc32 of the next 8 bytes (4) | number of rows (8)
//
// Numbers are big-endian. A payload inflates to rows: length varint | row | cells varint, and for each cell: length
// varint | family | length varint | qualifier | timestamp varint | type (1) | length varint | value, and, if the type
// has the bit 40 (hex), the time to live as a varint of milliseconds. FROZEN.

const deflate = promisify(deflateRaw) as (bytes: Uint8Array, options: { level: number }) => Promise<Buffer>;
const inflate = promisify(inflateRaw) as (
  bytes: Uint8Array,
  options: { maxOutputLength: number },
) => Promise<Buffer>;

export const HEAD = Buffer.from('ROWAN-CELLS\0\0\0\0\u0001', 'latin1');
const FRAME_HEAD_BYTES = 8;
const END_BYTES = 16;
/** The approximate largest size of a frame. Much larger ones are refused as damaged. */
export const FRAME_BYTES = 1 << 20;
const LARGEST_FRAME = 1 << 30;

const TYPES: ReadonlySet<number> = new Set(Object.values(CellType));
const VARINT_BYTES = 8;
/** The type bit of cells with a time to live of their own. */
const LIVES = 0x40;

/** Builds the payloads of frames, one at a time. */
export class FrameBuilder {
  private buffer = Buffer.alloc(FRAME_BYTES * 2);
  private readonly families = new Map<string, Uint8Array>();
  length = 0;

  add({ row, cells }: Result): void {
    this.bytes(row);
    this.number(cells.length);
    for (const cell of cells) {
      const { family, qualifier, timestamp, value } = cell;
      const ttl = cell instanceof CellWithTtl ? cell.ttl : undefined;
      this.bytes(this.familyBytes(family));
      this.bytes(qualifier);
      this.number(timestamp);
      this.reserve(1);
      this.buffer[this.length++] = ttl === undefined ? cell.type : cell.type | LIVES;
      this.bytes(value);
      if (ttl !== undefined) this.number(ttl);
    }
  }

  /** The payload since the last frame; valid until more is added. */
  payload(): Buffer {
    return this.buffer.subarray(0, this.length);
  }

  clear(): void {
    this.length = 0;
  }

  /** Returns the frame of everything added since the last one. */
  async take(): Promise<Buffer> {
    const payload = await deflate(this.payload(), { level: 1 });
    this.clear();
    const frame = Buffer.alloc(FRAME_HEAD_BYTES + payload.length);
    frame.writeUInt32BE(payload.length, 0);
    frame.writeUInt32BE(crc32(payload, 0, payload.length) >>> 0, 4);
    frame.set(payload, FRAME_HEAD_BYTES);
    return frame;
  }

  private familyBytes(family: string): Uint8Array {
    const known = this.families.get(family);
    if (known !== undefined) return known;
    const bytes = Buffer.from(family);
    this.families.set(family, bytes);
    return bytes;
  }

  private number(value: number): void {
    this.reserve(VARINT_BYTES);
    this.length = writeVarint(this.buffer, this.length, value);
  }

  private bytes(bytes: Uint8Array): void {
    this.number(bytes.length);
    this.reserve(bytes.length);
    this.buffer.set(bytes, this.length);
    this.length += bytes.length;
  }

  private reserve(bytes: number): void {
    if (this.length + bytes <= this.buffer.length) return;
    const larger = Buffer.alloc(Math.max(2 * this.buffer.length, this.length + bytes));
    larger.set(this.buffer.subarray(0, this.length));
    this.buffer = larger;
  }
}

/** The end of a file with this many rows. */
export function endOfFile(rows: number): Buffer {
  const end = Buffer.alloc(END_BYTES);
  end.writeBigUInt64BE(BigInt(rows), 8);
  end.writeUInt32BE(crc32(end, 8, 8) >>> 0, 4);
  return end;
}

/** Decodes the rows of a payload. @throws CorruptionError naming file and offset when it is damaged. */
async function rowsOfFrame(payload: Uint8Array, file: string, offset: number): Promise<Result[]> {
  const damaged = (why: string, cause?: unknown): CorruptionError =>
    new CorruptionError(`${file} is damaged at byte ${offset}: ${why}. Export the table again.`, {
      cause,
      details: { file, offset },
    });
  let bytes: Buffer;
  try {
    bytes = await inflate(payload, { maxOutputLength: LARGEST_FRAME });
  } catch (error) {
    throw damaged('a frame cannot be inflated', error);
  }
  try {
    return new RowDecoder(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length)).rows();
  } catch (error) {
    throw damaged((error as Error).message, error);
  }
}

/** How many cells of the row before are compared for an equal qualifier. */
const MAX_KNOWN = 256;

/**
 * Decodes the rows of one payload. Most cells have the family of the cell before, and the qualifier of the same cell in
 * the row before.
 */
class RowDecoder {
  private readonly reader = new VarintReader();
  private familyBytes: Uint8Array = EMPTY_BYTES;
  private family = '';
  private readonly qualifiers: Uint8Array[] = [];

  constructor(private readonly bytes: Uint8Array) {
    this.reader.reset(bytes, 0, bytes.length);
  }

  rows(): Result[] {
    const rows: Result[] = [];
    while (this.reader.position < this.bytes.length) rows.push(this.row());
    return rows;
  }

  private row(): Result {
    const { reader, bytes } = this;
    const row = this.take();
    const count = reader.read();
    // Each cell has at least five bytes.
    if (count > (bytes.length - reader.position) / 5) {
      throw new CorruptionError('a row announces more cells than fit into its frame');
    }
    const cells: Cell[] = [];
    for (let i = 0; i < count; i++) {
      const family = this.takeFamily();
      const qualifier = this.takeQualifier(i);
      const timestamp = reader.read();
      const type = bytes[reader.position++];
      if (type === undefined || !TYPES.has(type & ~LIVES))
        throw new CorruptionError(`${type} is not a cell type`);
      const kind = (type & ~LIVES) as CellType;
      const value = this.take();
      cells.push(
        (type & LIVES) === 0
          ? new Cell(row, family, qualifier, timestamp, kind, value)
          : new CellWithTtl(row, family, qualifier, timestamp, kind, value, reader.read()),
      );
    }
    return new Result(row, cells);
  }

  private takeFamily(): string {
    const length = this.lengthHere();
    const start = this.reader.position;
    if (!this.isHere(this.familyBytes, start, length)) {
      this.familyBytes = this.bytes.subarray(start, start + length);
      this.family = Buffer.from(this.bytes.buffer, this.bytes.byteOffset + start, length).toString();
    }
    this.reader.position = start + length;
    return this.family;
  }

  private takeQualifier(at: number): Uint8Array {
    const length = this.lengthHere();
    const start = this.reader.position;
    this.reader.position = start + length;
    const known = this.qualifiers[at];
    if (known !== undefined && this.isHere(known, start, length)) return known;
    const qualifier = this.bytes.subarray(start, start + length);
    if (at < MAX_KNOWN) this.qualifiers[at] = qualifier;
    return qualifier;
  }

  private take(): Uint8Array {
    const length = this.lengthHere();
    const start = this.reader.position;
    this.reader.position = start + length;
    return this.bytes.subarray(start, start + length);
  }

  private lengthHere(): number {
    const length = this.reader.read();
    if (length > this.bytes.length - this.reader.position) {
      throw new CorruptionError('a length extends beyond its frame');
    }
    return length;
  }

  private isHere(known: Uint8Array, start: number, length: number): boolean {
    if (known.length !== length) return false;
    for (let i = 0; i < length; i++) if (known[i] !== this.bytes[start + i]) return false;
    return true;
  }
}

// — Presents files of `exportTable` as rows of a table, so that a job reads them like any other source.

/**
 * The cells of a folder with these files; each is one split. `identity` distinguishes this export from others in the
 * same folder.
 */
export function framesSource(folder: string, files: readonly ExportedFile[], identity: string): CellSource {
  return {
    signature: `${folder} (${identity})`,
    table: new FrameTable(folder, files),
    ranges: rangesOfFiles(files.length),
    rows({ row, cells }) {
      const { file, offset } = positionOfRow(row);
      return rowsOfFrame(cells[0]!.value, files[file]!.name, offset);
    },
  };
}

/** Presents the frames of exported files as rows of a table, so that a job reads them like any other source. */
class FrameTable implements JobReadable {
  readonly name = 'exported files';

  constructor(
    private readonly folder: string,
    private readonly files: readonly ExportedFile[],
  ) {}

  scan(scan: Scan): ResultScanner {
    const { file, offset } = positionOfRow(scan.startRow);
    const found = this.files[file]!;
    return new FrameScanner(join(this.folder, found.name), file, found, offset, scan.includeStartRow);
  }
}

class FrameScanner extends FileScanner {
  constructor(
    path: string,
    private readonly file: number,
    private readonly expected: ExportedFile,
    private offset: number,
    private readonly inclusive: boolean,
  ) {
    super(path);
  }

  async next(): Promise<Result | undefined> {
    if (this.ended) return undefined;
    if (this.handle === undefined) await this.begin();
    const at = this.offset;
    const head = await this.read(at, FRAME_HEAD_BYTES);
    const length = head.readUInt32BE(0);
    if (length === 0) {
      const end = await this.read(at, END_BYTES);
      if (!end.equals(endOfFile(this.expected.rows)) || at + END_BYTES !== this.expected.bytes)
        throw this.damaged(at);
      return this.finish();
    }
    if (length > LARGEST_FRAME || at + length > this.expected.bytes) throw this.damaged(at);
    const payload = await this.read(at + FRAME_HEAD_BYTES, length);
    if (crc32(payload, 0, length) >>> 0 !== head.readUInt32BE(4)) throw this.damaged(at);
    this.offset = at + FRAME_HEAD_BYTES + length;
    const row = rowOfPosition({ file: this.file, offset: at });
    return new Result(row, [{ row, family: 'f', qualifier: row, timestamp: 0, type: 4, value: payload }]);
  }

  private async begin(): Promise<void> {
    await this.openFile();
    if (this.offset === 0) {
      const head = await this.read(0, HEAD.length);
      if (!head.equals(HEAD)) throw this.damaged(0);
      this.offset = HEAD.length;
    } else if (!this.inclusive) {
      // The frame at the offset is already done.
      this.offset += FRAME_HEAD_BYTES + (await this.read(this.offset, FRAME_HEAD_BYTES)).readUInt32BE(0);
    }
  }

  private async read(at: number, length: number): Promise<Buffer> {
    const bytes = Buffer.alloc(length);
    for (let from = 0; from < length; ) {
      const { bytesRead } = await this.handle!.read(bytes, from, length - from, at + from);
      if (bytesRead === 0) throw this.damaged(at);
      from += bytesRead;
    }
    return bytes;
  }

  private damaged(offset: number): CorruptionError {
    return new CorruptionError(
      `${this.path} is damaged at byte ${offset}: its bytes are not what was exported. Copy the file again, or export the table again.`,
      { details: { file: this.path, offset } },
    );
  }
}

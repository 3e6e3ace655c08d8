import { parse } from 'csv-parse/sync';
import { InvalidArgumentError } from '../../errors.js';
import { describe } from '../../table/checks.js';
import { Result, type ResultScanner, type Scan } from '../../table/index.js';
import type { JobReadable, RowRange } from '../types.js';
import { FileScanner, fileSize, firstBytes, positionOfRow, rowOfPosition } from './file-position.js';

const CHUNK = 1 << 20;
const PIECE_BYTES = 32 << 20;
const NEWLINE = 0x0a;
const QUOTE = 0x22;
/** The longest line, in bytes. */
const LONGEST_LINE = 64 << 20;

/** What files begin with that hold text, but not as lines: in hex, and what is to be done with them. */
const UNREADABLE: ReadonlyMap<string, string> = new Map([
  ['1f8b08', 'is compressed by gzip: expand it first, as with gunzip'],
  ['28b52ffd', 'is compressed by Zstandard: expand it first, as with zstd -d'],
  ['504b0304', 'is a zip archive or a spreadsheet: expand it, or save it as text, first'],
  ['fffe', 'is UTF-16: convert it first, as with iconv -f UTF-16 -t UTF-8'],
  ['feff', 'is UTF-16: convert it first, as with iconv -f UTF-16 -t UTF-8'],
]);

/**
 * Presents the lines of text files as rows of a table, so that a job reads them like any other source. Each line is a
 * row whose only cell has the line, without its terminator, as its value. A split of a file begins at the first line
 * that begins in it and ends with the last such line. `quoted`: a newline between double quotes is part of its line, as
 * in CSV; each file is then one split, since quoting cannot be determined from the middle of a file.
 */
export class LineFiles implements JobReadable {
  readonly name = 'lines of files';

  private constructor(
    private readonly paths: readonly string[],
    readonly ranges: readonly RowRange[],
    private readonly quoted: boolean,
  ) {}

  /**
   * Opens the files. `pieceBytes`: the approximate size of a split; default 32 MiB. `bytes`: lines may have any bytes,
   * also those with which files of other kinds begin.
   * @throws InvalidArgumentError for a file that cannot be read, or is none of lines: compressed, or UTF-16.
   */
  static async open(
    paths: readonly string[],
    {
      pieceBytes = PIECE_BYTES,
      quoted = false,
      bytes = false,
    }: { readonly pieceBytes?: number; readonly quoted?: boolean; readonly bytes?: boolean } = {},
  ): Promise<LineFiles> {
    const piece = quoted ? Number.POSITIVE_INFINITY : pieceBytes;
    const ranges: RowRange[] = [];
    for (const [file, path] of paths.entries()) {
      const size = await fileSize(path);
      if (!bytes || path.endsWith('.gz')) await checkBeginning(path);
      for (let offset = 0; offset < Math.max(size, 1); offset += piece) {
        const last = offset + piece >= size;
        const stop = last ? { file: file + 1, offset: 0 } : { file, offset: offset + piece };
        ranges.push({ start: rowOfPosition({ file, offset }), stop: rowOfPosition(stop) });
      }
    }
    return new LineFiles(paths, ranges, quoted);
  }

  scan(scan: Scan): ResultScanner {
    const { file, offset } = positionOfRow(scan.startRow);
    const stop = positionOfRow(scan.stopRow);
    const end = stop.file > file ? Number.POSITIVE_INFINITY : stop.offset;
    return new LineScanner(this.paths[file]!, file, offset, end, scan.includeStartRow, this.quoted);
  }
}

/** Lines are views of the read buffer, which is never reused. */
class LineScanner extends FileScanner {
  private buffer = Buffer.alloc(0);
  /** The buffer's offset in the file. */
  private base: number;
  /** The next line's offset in the buffer. */
  private at = 0;
  /** The position up to which the end of that line was searched for, and whether it is between quotes. */
  private searched = 0;
  private within = false;
  private atEnd = false;

  constructor(
    path: string,
    private readonly file: number,
    private readonly offset: number,
    private readonly end: number,
    private readonly inclusive: boolean,
    private readonly quoted: boolean,
  ) {
    super(path);
    this.base = offset;
  }

  async next(): Promise<Result | undefined> {
    if (this.ended) return undefined;
    if (this.handle === undefined) await this.begin();
    const begin = this.base + this.at;
    if (begin >= this.end) return this.finish();
    const newline = await this.lineEnd();
    if (this.atEnd && this.at >= this.buffer.length) return this.finish();
    return this.lineTo(newline);
  }

  /** Waits only when more must be read, not for each line. */
  override async nextBatch(count: number): Promise<Result[]> {
    const rows: Result[] = [];
    while (rows.length < count) {
      const row = this.lineInBuffer() ?? (await this.next());
      if (row === undefined) break;
      rows.push(row);
    }
    return rows;
  }

  /** The next line, if it is completely in the buffer. */
  private lineInBuffer(): Result | undefined {
    if (this.ended || this.handle === undefined || this.base + this.at >= this.end) return undefined;
    const newline = this.endInBuffer();
    return newline === undefined ? undefined : this.lineTo(newline);
  }

  private lineTo(newline: number): Result {
    const { buffer, at } = this;
    const row = rowOfPosition({ file: this.file, offset: this.base + at });
    const length = withoutReturn(buffer, at, newline) - at;
    const value = new Uint8Array(buffer.buffer, buffer.byteOffset + at, length);
    this.moveTo(newline + 1);
    return new Result(row, [{ row, family: 'f', qualifier: row, timestamp: 0, type: 4, value }]);
  }

  private moveTo(at: number): void {
    this.at = at;
    this.searched = at;
    this.within = false;
  }

  /** Moves to the first line that begins at or after the offset; to the next one if the line there is already done. */
  private async begin(): Promise<void> {
    await this.openFile();
    if (this.inclusive && this.offset === 0) return;
    // A line begins at the offset if the byte before it ends a line.
    if (this.inclusive) this.base = this.offset - 1;
    this.moveTo((await this.lineEnd()) + 1);
  }

  /** The end of the line that begins at `at`: its newline, or the end of the file. */
  private async lineEnd(): Promise<number> {
    for (;;) {
      const newline = this.endInBuffer();
      if (newline !== undefined) return newline;
      if (this.atEnd) return this.buffer.length;
      if (this.buffer.length - this.at > LONGEST_LINE) {
        throw new InvalidArgumentError(
          `The line at byte ${this.base + this.at} of ${this.path} is longer than ${LONGEST_LINE} bytes: is it a text file?`,
        );
      }
      await this.readMore();
    }
  }

  /** The newline of the line that begins at `at`; undefined if it is not in the buffer. */
  private endInBuffer(): number | undefined {
    const { buffer } = this;
    for (;;) {
      const from = this.searched;
      const found = buffer.indexOf(NEWLINE, from);
      const seen = found >= 0 ? found : buffer.length;
      if (this.quoted && hasOddQuotes(buffer, from, seen)) this.within = !this.within;
      this.searched = found >= 0 ? found + 1 : seen;
      if (found < 0) return undefined;
      if (!this.within) return found;
    }
  }

  private async readMore(): Promise<void> {
    const kept = this.buffer.subarray(this.at);
    const next = Buffer.allocUnsafeSlow(kept.length + Math.max(CHUNK, kept.length));
    next.set(kept);
    const room = next.length - kept.length;
    const { bytesRead } = await this.handle!.read(next, kept.length, room, this.base + this.buffer.length);
    this.base += this.at;
    this.searched -= this.at;
    this.at = 0;
    this.buffer = next.subarray(0, kept.length + bytesRead);
    this.atEnd = bytesRead === 0;
  }
}

async function checkBeginning(path: string): Promise<void> {
  const found = (await firstBytes(path, 4)).toString('hex');
  for (const [beginning, what] of UNREADABLE)
    if (found.startsWith(beginning)) throw new InvalidArgumentError(`${path} ${what}.`);
}

function hasOddQuotes(bytes: Buffer, start: number, end: number): boolean {
  let odd = false;
  for (let at = start; at < end; at++) if (bytes[at] === QUOTE) odd = !odd;
  return odd;
}

function withoutReturn(bytes: Buffer, start: number, end: number): number {
  return end > start && bytes[end - 1] === 0x0d ? end - 1 : end;
}

// — CSV records (RFC 4180): separated fields, in double quotes if they contain a separator, a quote or a line end.

/**
 * Checks a separator.
 * @throws InvalidArgumentError unless it is one character other than a quote or a line end.
 */
export function checkSeparator(separator: string): string {
  if (typeof separator === 'string' && separator.length === 1 && !/["\r\n]/.test(separator)) return separator;
  throw new InvalidArgumentError(`The separator of CSV must be one character, not ${describe(separator)}.`);
}

/** Formats a record as a line, without a line end. */
export function csvLine(fields: readonly string[], separator: string): string {
  // Distinguishes a record with one empty field from an empty line.
  if (fields.length === 1 && fields[0] === '') return '""';
  return fields
    .map((field) =>
      field.includes(separator) || /["\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field,
    )
    .join(separator);
}

/** Parses the fields of one record; an empty line has none. @throws InvalidArgumentError on invalid CSV. */
export function csvFields(line: string, separator: string): string[] {
  if (line !== '' && !line.includes('"')) return line.split(separator);
  const plain = wellQuotedFields(line, separator);
  if (plain !== undefined) return plain;
  try {
    const records = parse(line, { delimiter: separator, relax_column_count: true, record_delimiter: '\n' });
    return records[0] ?? [];
  } catch (cause) {
    throw new InvalidArgumentError(`Not a valid CSV record: ${(cause as Error).message}.`, { cause });
  }
}

/**
 * The fields of a record in which each quoted field is quoted as a whole; undefined for others, which the library parses or refuses. A call of
 * the library takes 100 us a record, this 1 us.
 */
function wellQuotedFields(line: string, separator: string): string[] | undefined {
  const fields: string[] = [];
  for (let at = 0; ; at++) {
    if (line.charCodeAt(at) === QUOTE) {
      let end = line.indexOf('"', at + 1);
      while (end >= 0 && line.charCodeAt(end + 1) === QUOTE) end = line.indexOf('"', end + 2);
      if (end < 0) return undefined;
      fields.push(line.slice(at + 1, end).replaceAll('""', '"'));
      at = end + 1;
    } else {
      const next = line.indexOf(separator, at);
      const field = line.slice(at, next < 0 ? line.length : next);
      if (/["\n]/.test(field)) return undefined;
      fields.push(field);
      at += field.length;
    }
    if (at === line.length) return fields;
    if (line[at] !== separator) return undefined;
  }
}

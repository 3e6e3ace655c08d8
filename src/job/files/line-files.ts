import { parse } from 'csv-parse/sync';
import { InvalidArgumentError } from '../../errors.js';
import { describe } from '../../table/checks.js';
import { Result, type ResultScanner, type Scan } from '../../table/index.js';
import type { JobReadable, RowRange } from '../types.js';
import { FileScanner, fileSize, placeOfRow, rowOfPlace } from './place.js';

/** The lines of text files as rows of a table, so that a job reads them as any other. */

const CHUNK = 1 << 20;
const PIECE_BYTES = 32 << 20;
const NEWLINE = 0x0a;
const QUOTE = 0x22;
/** A line is no longer than this. */
const LONGEST_LINE = 64 << 20;

/**
 * Each line is a row, whose only cell has the line, without its end, as its value. A piece of a file begins at the first
 * line that begins in it and ends with the last such line. `quoted`: a newline between double quotes is part of its line, as
 * in CSV; each file is one piece then, for nobody can tell from its middle what is between quotes.
 */
export class LineFiles implements JobReadable {
  readonly name = 'lines of files';

  private constructor(
    private readonly paths: readonly string[],
    readonly ranges: readonly RowRange[],
    private readonly quoted: boolean,
  ) {}

  /**
   * `pieceBytes`: about how much of a file is one split; default 32 MiB.
   * @throws InvalidArgumentError for a file that cannot be read.
   */
  static async open(
    paths: readonly string[],
    {
      pieceBytes = PIECE_BYTES,
      quoted = false,
    }: { readonly pieceBytes?: number; readonly quoted?: boolean } = {},
  ): Promise<LineFiles> {
    const piece = quoted ? Number.POSITIVE_INFINITY : pieceBytes;
    const ranges: RowRange[] = [];
    for (const [file, path] of paths.entries()) {
      const size = await fileSize(path);
      for (let offset = 0; offset < Math.max(size, 1); offset += piece) {
        const last = offset + piece >= size;
        const stop = last ? { file: file + 1, offset: 0 } : { file, offset: offset + piece };
        ranges.push({ start: rowOfPlace({ file, offset }), stop: rowOfPlace(stop) });
      }
    }
    return new LineFiles(paths, ranges, quoted);
  }

  scan(scan: Scan): ResultScanner {
    const { file, offset } = placeOfRow(scan.startRow);
    const stop = placeOfRow(scan.stopRow);
    const end = stop.file > file ? Number.POSITIVE_INFINITY : stop.offset;
    return new LineScanner(this.paths[file]!, file, offset, end, scan.includeStartRow, this.quoted);
  }
}

/** Lines are views of what was read; nothing is ever read into the same memory again. */
class LineScanner extends FileScanner {
  private buffer = Buffer.alloc(0);
  /** Where the buffer begins in the file. */
  private base: number;
  /** Where the next line begins in the buffer. */
  private at = 0;
  /** Up to where the end of that line was looked for, and whether that is between quotes. */
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

  /** Waits only where more has to be read, not for each line. */
  override async nextBatch(count: number): Promise<Result[]> {
    const rows: Result[] = [];
    while (rows.length < count) {
      const row = this.lineInBuffer() ?? (await this.next());
      if (row === undefined) break;
      rows.push(row);
    }
    return rows;
  }

  /** The next line, if all of it is in the buffer. */
  private lineInBuffer(): Result | undefined {
    if (this.ended || this.handle === undefined || this.base + this.at >= this.end) return undefined;
    const newline = this.endInBuffer();
    return newline === undefined ? undefined : this.lineTo(newline);
  }

  private lineTo(newline: number): Result {
    const { buffer, at } = this;
    const row = rowOfPlace({ file: this.file, offset: this.base + at });
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

  /** Goes to the first line that begins at the offset or behind it; behind it when the line there is done. */
  private async begin(): Promise<void> {
    await this.openFile();
    if (this.inclusive && this.offset === 0) return;
    // A line begins at the offset when the byte before it is the end of one.
    if (this.inclusive) this.base = this.offset - 1;
    this.moveTo((await this.lineEnd()) + 1);
  }

  /** Where the line that begins at `at` ends: at its newline, or at the end of the file. */
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

  /** The newline of the line that begins at `at`; undefined when it is not in the buffer. */
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

function hasOddQuotes(bytes: Buffer, start: number, end: number): boolean {
  let odd = false;
  for (let at = start; at < end; at++) if (bytes[at] === QUOTE) odd = !odd;
  return odd;
}

function withoutReturn(bytes: Buffer, start: number, end: number): number {
  return end > start && bytes[end - 1] === 0x0d ? end - 1 : end;
}

/** Records of CSV (RFC 4180): fields between separators, in double quotes where they hold one, a quote or an end of a line. */

/** @throws InvalidArgumentError for what is no separator: one character, no quote and no end of a line. */
export function checkSeparator(separator: string): string {
  if (typeof separator === 'string' && separator.length === 1 && !/["\r\n]/.test(separator)) return separator;
  throw new InvalidArgumentError(`The separator of CSV is one character, not ${describe(separator)}.`);
}

/** A record as a line, without its end. */
export function csvLine(fields: readonly string[], separator: string): string {
  // Nobody could tell a record of one empty field from an empty line.
  if (fields.length === 1 && fields[0] === '') return '""';
  return fields
    .map((field) =>
      field.includes(separator) || /["\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field,
    )
    .join(separator);
}

/** The fields of one record; none of an empty line. @throws InvalidArgumentError when it is no CSV. */
export function csvFields(line: string, separator: string): string[] {
  // Most records have no quotes, and are many.
  if (line !== '' && !line.includes('"')) return line.split(separator);
  try {
    const records = parse(line, { delimiter: separator, relax_column_count: true, record_delimiter: '\n' });
    return records[0] ?? [];
  } catch (cause) {
    throw new InvalidArgumentError(`It is no record of CSV: ${(cause as Error).message}.`, { cause });
  }
}

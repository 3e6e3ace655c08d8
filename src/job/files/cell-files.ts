/**
 * Presents files of rows and cells (sequence files, HFiles) as a table, so that a job reads them like any other source.
 */

import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { equalBytes } from '../../bytes/index.js';
import { InvalidArgumentError } from '../../errors.js';
import { HFileReader } from '../../hadoop/hfile/index.js';
import { SequenceReader } from '../../hadoop/sequence/sequence-file.js';
import { type Cell, Result, type ResultScanner, type Scan } from '../../table/index.js';
import type { JobReadable, RowRange } from '../types.js';
import {
  FileScanner,
  fileSize,
  filesIdentity,
  positionOfRow,
  rangesOfFiles,
  rowOfPosition,
} from './file-position.js';

/** `hbase`: sequence files written by HBase's Export; `hfile`: HFiles. */
export type CellFileFormat = 'hbase' | 'hfile';

/** Rows stored together in a file. */
interface FilePart {
  readonly offset: number;
  readonly next: number;
  readonly rows: readonly Result[];
}

/** A file that is read part by part: the part at `offset`, which is 0 or `next` of another part. */
interface PartReader {
  part(offset: number): Promise<FilePart | undefined>;
  close(): Promise<void>;
}

/** A row that represents a part of a file: its offset, and the rows in it. */
export class PartRow extends Result {
  constructor(
    place: Uint8Array,
    readonly rows: readonly Result[],
  ) {
    super(
      place,
      rows.flatMap(({ cells }) => cells),
    );
  }
}

/** Cell files as a source; each file is one split. */
export class CellFiles implements JobReadable {
  readonly name = 'files of cells';
  readonly ranges: readonly RowRange[];

  private constructor(
    readonly paths: readonly string[],
    private readonly format: CellFileFormat,
    /** The result of `filesIdentity`. */
    readonly identity: string,
  ) {
    this.ranges = rangesOfFiles(paths.length);
  }

  /**
   * Opens files, and all files in folders and their subfolders, except names that begin with `_` or `.`, like Hadoop.
   * @throws InvalidArgumentError when there is none; CorruptionError, UnsupportedError for one that cannot be read.
   */
  static async open(given: readonly string[], format: CellFileFormat): Promise<CellFiles> {
    const paths = (await Promise.all(given.map(filesIn))).flat();
    if (paths.length === 0)
      throw new InvalidArgumentError(`There is no file to read in ${given.join(', ')}.`);
    for (const path of paths) await (await openFile(path, format)).close();
    return new CellFiles(paths, format, await filesIdentity(paths));
  }

  scan(scan: Scan): ResultScanner {
    const { file, offset } = positionOfRow(scan.startRow);
    return new PartScanner(this.paths[file]!, this.format, file, offset, scan.includeStartRow);
  }
}

async function filesIn(path: string): Promise<string[]> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() !== true) {
    await fileSize(path);
    return [path];
  }
  const names = (await readdir(path)).filter((name) => !/^[_.]/.test(name)).sort();
  return (await Promise.all(names.map((name) => filesIn(join(path, name))))).flat();
}

async function openFile(path: string, format: CellFileFormat): Promise<PartReader> {
  if (format === 'hbase') return SequenceReader.open(path);
  const reader = await HFileReader.open(path);
  return {
    async part(offset) {
      const block = await reader.block(offset);
      return block && { offset: block.offset, next: block.next, rows: rowsOf(block.cells) };
    },
    close: () => reader.close(),
  };
}

/** Groups sorted cells into rows. */
export function rowsOf(cells: readonly Cell[]): Result[] {
  const rows: Result[] = [];
  let own: Cell[] = [];
  for (const cell of cells) {
    if (own.length > 0 && !equalBytes(own[0]!.row, cell.row)) {
      rows.push(new Result(own[0]!.row, own));
      own = [];
    }
    own.push(cell);
  }
  if (own.length > 0) rows.push(new Result(own[0]!.row, own));
  return rows;
}

class PartScanner extends FileScanner {
  private reader: PartReader | undefined;

  constructor(
    path: string,
    private readonly format: CellFileFormat,
    private readonly file: number,
    private offset: number,
    private readonly inclusive: boolean,
  ) {
    super(path);
  }

  async next(): Promise<Result | undefined> {
    if (this.ended) return undefined;
    if (this.reader === undefined) {
      this.reader = await openFile(this.path, this.format);
      // The part that begins there is already done.
      if (!this.inclusive) this.offset = (await this.reader.part(this.offset))?.next ?? this.offset;
    }
    const part = await this.reader.part(this.offset);
    if (part === undefined) return this.finish();
    this.offset = part.next;
    return new PartRow(rowOfPosition({ file: this.file, offset: part.offset }), part.rows);
  }

  override async close(): Promise<void> {
    await super.close();
    const { reader } = this;
    this.reader = undefined;
    await reader?.close();
  }
}

import { type FileHandle, open, readdir, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { compareSlices } from '../../bytes/index.js';
import type { JsonValue } from '../../codec/index.js';
import { atFile } from '../../errors.js';
import { makeFolder } from '../../folders.js';
import { compareInRow, HFileReader, HFileWriter, mergedCells } from '../../hadoop/hfile/index.js';
import { Cell, type CellStream, type CellType, CellWithTtl, listOf, type Result } from '../../table/index.js';

const ROW_HEAD = 8;
const CELL_HEAD = 36;
const FIRST_BYTES = 64 << 10;

/**
 * Rows of cells waiting to be sorted, as bytes of one buffer, so that they are one object to the garbage collector.
 *
 *     row:   length (4) | cells (4) | row | cell*
 *     cell:  family (4) | type (8) | timestamp (8) | ttl (8) | qualifier length (4) | value length (4) | qualifier |
 *     value
 *
 * A family is stored as its index in the order in which families first occurred; ttl is NaN for a cell without one.
 * Numbers are little-endian; type, timestamp and ttl are doubles. The final writer of the cells validates them.
 */
class RowArena {
  /** Number of bytes in use. */
  size = 0;
  private bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);
  /** Offsets of the rows. */
  private starts: number[] = [];
  private readonly families: string[] = [];

  add({ row, cells }: Result): void {
    let needed = ROW_HEAD + row.length;
    for (const { qualifier, value } of cells) needed += CELL_HEAD + qualifier.length + value.length;
    this.makeRoom(needed);
    const { bytes } = this;
    this.starts.push(this.size);
    let at = bytes.writeUInt32LE(row.length, this.size);
    at = bytes.writeUInt32LE(cells.length, at);
    bytes.set(row, at);
    at += row.length;
    for (const cell of cells) {
      const { family, qualifier, timestamp, type, value } = cell;
      at = bytes.writeUInt32LE(this.familyNumber(family), at);
      at = bytes.writeDoubleLE(type, at);
      at = bytes.writeDoubleLE(timestamp, at);
      at = bytes.writeDoubleLE(cell instanceof CellWithTtl ? cell.ttl : Number.NaN, at);
      at = bytes.writeUInt32LE(qualifier.length, at);
      at = bytes.writeUInt32LE(value.length, at);
      bytes.set(qualifier, at);
      at += qualifier.length;
      bytes.set(value, at);
      at += value.length;
    }
    this.size = at;
  }

  /** Removes all rows. Cells returned earlier become invalid. */
  clear(): void {
    this.size = 0;
    this.starts = [];
  }

  /** Yields the cells of each row in order. Of several cells at the same place, the last one added is returned. */
  *rows(): Generator<readonly Cell[]> {
    const order = this.starts.sort((a, b) => this.compareRows(a, b));
    for (let at = 0; at < order.length; ) {
      const first = order[at]!;
      const cells = this.cellsOf(first);
      // The sort is stable, so later cells follow earlier ones.
      while (++at < order.length && this.compareRows(first, order[at]!) === 0) {
        cells.push(...this.cellsOf(order[at]!));
      }
      yield lastOfEachPlace(cells.sort(compareInRow));
    }
  }

  private makeRoom(needed: number): void {
    const { bytes, size } = this;
    if (size + needed <= bytes.length) return;
    this.bytes = Buffer.allocUnsafeSlow(Math.max(2 * bytes.length, size + needed));
    this.bytes.set(bytes.subarray(0, size));
  }

  private familyNumber(family: string): number {
    const known = this.families.indexOf(family);
    return known >= 0 ? known : this.families.push(family) - 1;
  }

  private compareRows(a: number, b: number): number {
    const { bytes } = this;
    const first = bytes.readUInt32LE(a);
    const second = bytes.readUInt32LE(b);
    return compareSlices(bytes, a + ROW_HEAD, first, bytes, b + ROW_HEAD, second);
  }

  private cellsOf(start: number): Cell[] {
    const { bytes } = this;
    const cells: Cell[] = [];
    let at = start + ROW_HEAD;
    const row = this.view(at, bytes.readUInt32LE(start));
    at += row.length;
    for (let left = bytes.readUInt32LE(start + 4); left > 0; left--) {
      const family = this.families[bytes.readUInt32LE(at)]!;
      const type = bytes.readDoubleLE(at + 4) as CellType;
      const timestamp = bytes.readDoubleLE(at + 12);
      const ttl = bytes.readDoubleLE(at + 20);
      const qualifier = this.view(at + CELL_HEAD, bytes.readUInt32LE(at + 28));
      const value = this.view(at + CELL_HEAD + qualifier.length, bytes.readUInt32LE(at + 32));
      at += CELL_HEAD + qualifier.length + value.length;
      cells.push(
        Number.isNaN(ttl)
          ? new Cell(row, family, qualifier, timestamp, type, value)
          : new CellWithTtl(row, family, qualifier, timestamp, type, value, ttl),
      );
    }
    return cells;
  }

  private view(at: number, length: number): Uint8Array {
    return new Uint8Array(this.bytes.buffer, this.bytes.byteOffset + at, length);
  }
}

function lastOfEachPlace(cells: Cell[]): readonly Cell[] {
  let kept = 0;
  for (let at = 0; at < cells.length; at++) {
    const cell = cells[at]!;
    if (kept > 0 && compareInRow(cells[kept - 1]!, cell) === 0) kept--;
    cells[kept++] = cell;
  }
  cells.length = kept;
  return cells;
}

// — Sorts more cells than fit into memory: sorted runs in files (HFiles, one for each family) are merged at the end.

/** How many bytes of cells one split sorts in memory. */
const RUN_BYTES = 32 << 20;
/** How many files are merged at a time. */
const MAX_MERGED = 64;

/** The data that a split stores with its checkpoint: its files, in the order in which they were written. */
export interface RunState {
  readonly files: readonly string[];
  readonly [name: string]: JsonValue;
}

/** Sorts the cells of one split into runs. */
export class CellRuns {
  private readonly rows = new RowArena();

  private constructor(
    private readonly folder: string,
    private readonly prefix: string,
    private files: readonly string[],
    private readonly runBytes: number,
  ) {}

  /** Resumes after the files of a checkpoint. Files that an earlier attempt wrote after it are removed. */
  static async open(
    folder: string,
    split: number,
    resumed: RunState | undefined,
    runBytes = RUN_BYTES,
  ): Promise<CellRuns> {
    makeFolder(folder);
    const prefix = `run-${String(split).padStart(5, '0')}-`;
    const files = resumed?.files ?? [];
    for (const name of await readdir(folder)) {
      if (name.startsWith(prefix) && !files.includes(name)) await rm(join(folder, name), { force: true });
    }
    return new CellRuns(folder, prefix, files, runBytes);
  }

  async add(rows: readonly Result[]): Promise<void> {
    for (const row of rows) {
      this.rows.add(row);
      if (this.rows.size >= this.runBytes) await this.spill();
    }
  }

  async commit(): Promise<RunState> {
    await this.spill();
    return { files: this.files };
  }

  /** Writes the cells in memory in order, each family to a file of its own. */
  private async spill(): Promise<void> {
    const files = new Map<string, RunFile>();
    try {
      for (const cells of this.rows.rows()) {
        for (const cell of cells) {
          let file = files.get(cell.family);
          if (file === undefined) {
            const number = this.files.length + files.size;
            const name = `${this.prefix}${String(number).padStart(6, '0')}`;
            file = await RunFile.create(join(this.folder, name), cell.family);
            files.set(cell.family, file);
          }
          file.add(cell);
          if (file.full) await file.drain();
        }
      }
      for (const file of files.values()) await file.finish();
    } finally {
      for (const file of files.values()) await file.close();
    }
    this.rows.clear();
    this.files = [...this.files, ...[...files.values()].map(({ path }) => basename(path))];
  }
}

/** A run being written: sorted cells of one family. */
class RunFile {
  private constructor(
    readonly path: string,
    private readonly handle: FileHandle,
    private readonly writer: HFileWriter,
  ) {}

  static async create(path: string, family: string): Promise<RunFile> {
    const handle = await atFile(path, () => open(path, 'w'));
    const output = { append: (bytes: Uint8Array) => atFile(path, () => handle.writeFile(bytes)) };
    return new RunFile(path, handle, new HFileWriter(output, { family, bloom: false }));
  }

  /** Whether `drain` must be awaited before the next cell. */
  get full(): boolean {
    return this.writer.full;
  }

  add(cell: Cell): void {
    this.writer.add(cell);
  }

  drain(): Promise<void> {
    return this.writer.drain();
  }

  async finish(): Promise<void> {
    await this.writer.finish();
    await atFile(this.path, () => this.handle.datasync());
  }

  close(): Promise<void> {
    return this.handle.close();
  }
}

async function writeRun(path: string, family: string, cells: CellStream): Promise<void> {
  const file = await RunFile.create(path, family);
  try {
    for await (const item of cells) {
      for (const cell of listOf(item)) {
        file.add(cell);
        if (file.full) await file.drain();
      }
    }
    await file.finish();
  } finally {
    await file.close();
  }
}

/**
 * Yields the cells of all runs in order, in lists. Of several cells at one place, the one of the last run wins; runs
 * are given in their order. Too many runs are first merged into fewer.
 * @throws CorruptionError for a file that differs from what was written.
 */
export async function* mergedRuns(
  folder: string,
  runs: readonly string[],
  maxOpen = MAX_MERGED,
): AsyncGenerator<readonly Cell[], void> {
  let open = runs;
  for (let round = 0; open.length > maxOpen; round++) open = await mergeSome(folder, open, round, maxOpen);
  yield* mergedCells(open.map((name) => join(folder, name)));
}

/** Merges runs, separately for each family. */
async function mergeSome(
  folder: string,
  runs: readonly string[],
  round: number,
  maxOpen: number,
): Promise<readonly string[]> {
  const byFamily = new Map<string, string[]>();
  for (const name of runs) {
    const family = await familyOf(join(folder, name));
    const own = byFamily.get(family);
    if (own === undefined) byFamily.set(family, [name]);
    else own.push(name);
  }
  // With as many families as files there is nothing to merge.
  if (byFamily.size === runs.length) return runs;
  const merged: string[] = [];
  for (const [family, own] of byFamily) {
    for (let at = 0; at < own.length; at += maxOpen) {
      const name = `merged-${round}-${String(merged.length).padStart(6, '0')}`;
      await writeRun(
        join(folder, name),
        family,
        mergedCells(own.slice(at, at + maxOpen).map((each) => join(folder, each))),
      );
      merged.push(name);
    }
  }
  return merged;
}

async function familyOf(path: string): Promise<string> {
  const reader = await HFileReader.open(path);
  try {
    return (await reader.block(0))!.cells[0]!.family;
  } finally {
    await reader.close();
  }
}

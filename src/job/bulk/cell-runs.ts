/** Sorts more cells than fit into memory: sorted runs in files (HFiles, one of each family), merged afterwards. */

import { type FileHandle, mkdir, open, readdir, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { compareBytes } from '../../bytes/index.js';
import type { JsonValue } from '../../codec/index.js';
import { HFileReader, HFileWriter } from '../../hadoop/hfile/index.js';
import { type Cell, type CellStream, listOf, type Result } from '../../table/index.js';
import { compareInRow, RowArena } from './row-arena.js';

/** Bytes of cells of one split that are sorted in memory. */
const RUN_BYTES = 32 << 20;
/** Cells that are given on together. */
const LIST = 1024;
/** Files that are merged at once. */
export const MOST_MERGED = 64;

/** What a split keeps with its checkpoint: its files, in the order in which they were written. */
export interface RunState {
  readonly files: readonly string[];
  readonly [name: string]: JsonValue;
}

/** By row, family, qualifier, newest first, the higher type first. */
function comparePlaces(a: Cell, b: Cell): number {
  return compareBytes(a.row, b.row) || compareInRow(a, b);
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

  /** Goes on after the files of a checkpoint; what an earlier attempt wrote behind it is removed. */
  static async open(
    folder: string,
    split: number,
    resumed: RunState | undefined,
    runBytes = RUN_BYTES,
  ): Promise<CellRuns> {
    await mkdir(folder, { recursive: true });
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

  /** Writes what is in memory in its order, each family to a file of its own. */
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

/** A run that is written: sorted cells of one family. */
class RunFile {
  private constructor(
    readonly path: string,
    private readonly handle: FileHandle,
    private readonly writer: HFileWriter,
  ) {}

  static async create(path: string, family: string): Promise<RunFile> {
    const handle = await open(path, 'w');
    const output = { append: (bytes: Uint8Array) => handle.writeFile(bytes) };
    return new RunFile(path, handle, new HFileWriter(output, { family, bloom: false }));
  }

  /** Whether `drain` is to be waited for before the next cell. */
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
    await this.handle.datasync();
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
 * The cells of all runs in order, in lists, of each place that of the last run. Runs are given in their order. Many are merged into fewer first.
 * @throws CorruptionError for a file that is not what was written.
 */
export async function* mergedRuns(
  folder: string,
  runs: readonly string[],
  most = MOST_MERGED,
): AsyncGenerator<readonly Cell[], void> {
  let open = runs;
  for (let round = 0; open.length > most; round++) open = await mergeSome(folder, open, round, most);
  yield* merge(open.map((name) => join(folder, name)));
}

/** Runs of several families become runs of one each. */
async function mergeSome(
  folder: string,
  runs: readonly string[],
  round: number,
  most: number,
): Promise<readonly string[]> {
  const byFamily = new Map<string, string[]>();
  for (const name of runs) {
    const family = await familyOf(join(folder, name));
    const own = byFamily.get(family);
    if (own === undefined) byFamily.set(family, [name]);
    else own.push(name);
  }
  // As many families as files: there is nothing to be merged.
  if (byFamily.size === runs.length) return runs;
  const merged: string[] = [];
  for (const [family, own] of byFamily) {
    for (let at = 0; at < own.length; at += most) {
      const name = `merged-${round}-${String(merged.length).padStart(6, '0')}`;
      await writeRun(
        join(folder, name),
        family,
        merge(own.slice(at, at + most).map((each) => join(folder, each))),
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

/** A run that is read, at its next cell. */
class OpenRun {
  cell: Cell;
  private cells: readonly Cell[];
  private at = 0;
  private next: number;

  private constructor(
    private readonly reader: HFileReader,
    /** Of the same place the cell of the greater rank is right. */
    readonly rank: number,
    first: { readonly cells: readonly Cell[]; readonly next: number },
  ) {
    this.cells = first.cells;
    this.next = first.next;
    this.cell = first.cells[0]!;
  }

  static async open(path: string, rank: number): Promise<OpenRun> {
    const reader = await HFileReader.open(path);
    return new OpenRun(reader, rank, (await reader.block(0))!);
  }

  /** Goes to the next cell of the block that is read; false: `load` the next. */
  step(): boolean {
    if (++this.at >= this.cells.length) return false;
    this.cell = this.cells[this.at]!;
    return true;
  }

  /** False at the end. */
  async load(): Promise<boolean> {
    const block = await this.reader.block(this.next);
    if (block === undefined) return false;
    this.cells = block.cells;
    this.next = block.next;
    this.at = 0;
    this.cell = block.cells[0]!;
    return true;
  }

  close(): Promise<void> {
    return this.reader.close();
  }
}

function isBefore(a: OpenRun, b: OpenRun): boolean {
  return (comparePlaces(a.cell, b.cell) || b.rank - a.rank) < 0;
}

async function* merge(paths: readonly string[]): AsyncGenerator<readonly Cell[], void> {
  const opened: OpenRun[] = [];
  try {
    for (const [rank, path] of paths.entries()) opened.push(await OpenRun.open(path, rank));
    const heap = [...opened].sort((a, b) => (isBefore(a, b) ? -1 : 1));
    let last: Cell | undefined;
    let list: Cell[] = [];
    while (heap.length > 0) {
      const run = heap[0]!;
      if (last === undefined || comparePlaces(last, run.cell) !== 0) {
        last = run.cell;
        list.push(last);
        if (list.length === LIST) {
          yield list;
          list = [];
        }
      }
      if (!run.step() && !(await run.load())) {
        const end = heap.pop()!;
        if (heap.length > 0) heap[0] = end;
      }
      sink(heap);
    }
    yield list;
  } finally {
    await Promise.all(opened.map((run) => run.close()));
  }
}

/** Puts the first of a heap, which has changed, where it belongs. */
function sink(heap: OpenRun[]): void {
  const first = heap[0];
  if (first === undefined) return;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
    if (!isBefore(heap[child]!, first)) break;
    heap[at] = heap[child]!;
    at = child;
  }
  heap[at] = first;
}

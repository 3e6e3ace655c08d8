import { compareBytes } from '../../bytes/index.js';
import type { Cell } from '../../table/index.js';
import { type HFileBlock, HFileReader } from './reader.js';

/** Merges HFiles. */

/** How many cells are passed on together. */
const LIST = 1024;

/** Orders by family, qualifier, newest first, then higher type first. */
export function compareInRow(a: Cell, b: Cell): number {
  if (a.family !== b.family) return a.family < b.family ? -1 : 1;
  return compareBytes(a.qualifier, b.qualifier) || b.timestamp - a.timestamp || b.type - a.type;
}

/** Orders by row, then as {@link compareInRow}. */
function comparePlaces(a: Cell, b: Cell): number {
  return compareBytes(a.row, b.row) || compareInRow(a, b);
}

/** A file being read, positioned at its next cell. */
class OpenFile {
  cell: Cell;
  private cells: readonly Cell[];
  private at = 0;
  private next: number;

  private constructor(
    private readonly reader: HFileReader,
    /** Of several cells at one place, the one with the highest rank wins. */
    readonly rank: number,
    first: { readonly cells: readonly Cell[]; readonly next: number },
  ) {
    this.cells = first.cells;
    this.next = first.next;
    this.cell = first.cells[0]!;
  }

  /** Undefined: the file has no cells. */
  static async open(path: string, rank: number): Promise<OpenFile | undefined> {
    const reader = await HFileReader.open(path);
    let first: HFileBlock | undefined;
    try {
      first = await reader.block(0);
    } finally {
      if (first === undefined) await reader.close();
    }
    return first && new OpenFile(reader, rank, first);
  }

  /** Moves to the next cell in the loaded block; false: `load` the next block. */
  step(): boolean {
    if (++this.at >= this.cells.length) return false;
    this.cell = this.cells[this.at]!;
    return true;
  }

  /** Loads the next block; false at the end. */
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

function isBefore(a: OpenFile, b: OpenFile): boolean {
  return (comparePlaces(a.cell, b.cell) || b.rank - a.rank) < 0;
}

/**
 * Yields the cells of HFiles in order, in lists. Of several cells at one place, the one of the last file wins.
 * @throws CorruptionError for a file that is damaged or no HFile, RowanError `ERR_IO` for one that cannot be read.
 */
export async function* mergedCells(paths: readonly string[]): AsyncGenerator<readonly Cell[], void> {
  const opened: OpenFile[] = [];
  try {
    for (const [rank, path] of paths.entries()) {
      const file = await OpenFile.open(path, rank);
      if (file !== undefined) opened.push(file);
    }
    const heap = [...opened].sort((a, b) => (isBefore(a, b) ? -1 : 1));
    let last: Cell | undefined;
    let list: Cell[] = [];
    while (heap.length > 0) {
      const file = heap[0]!;
      if (last === undefined || comparePlaces(last, file.cell) !== 0) {
        last = file.cell;
        list.push(last);
        if (list.length === LIST) {
          yield list;
          list = [];
        }
      }
      if (!file.step() && !(await file.load())) {
        const end = heap.pop()!;
        if (heap.length > 0) heap[0] = end;
      }
      sink(heap);
    }
    yield list;
  } finally {
    await Promise.all(opened.map((file) => file.close()));
  }
}

/** Restores the heap order after its first element has changed. */
function sink(heap: OpenFile[]): void {
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

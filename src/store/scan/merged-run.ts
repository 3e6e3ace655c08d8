import { compareSlices, EMPTY_BYTES } from '../../bytes/index.js';
import type { RawRow } from '../../table/index.js';
import {
  isColumn,
  MAX_OLDER,
  NewestPut,
  type PlainRow,
  type RunFamily,
  type SourceVisitor,
} from './newest-put.js';

/**
 * Reads a row that several memstores and files have from the encoded bytes of its cells, like {@link RowRun} one that a single source
 * has: no cursor is moved from cell to cell, and cells of different sources are compared by their column's place among the known ones
 * and their timestamp. A row with markers, other columns, or equal timestamps in two sources is left to {@link PlainRow}.
 */
export class MergedRun implements SourceVisitor {
  /** Decides which cells are visible. Its read point is set before rows are read. */
  readonly rule = new NewestPut();
  private columns: readonly Uint8Array[] = [];
  /** Of each known column, the newest put so far: its timestamp, -1 for none, and its value. */
  private readonly timestamps: number[] = [];
  private readonly sources: Uint8Array[] = [];
  private readonly starts: number[] = [];
  private readonly lengths: number[] = [];
  /** The index after the last column of the source so far. */
  private place = 0;
  private older = 0;

  /**
   * Adds the visible cells of the row, at whose first cells the cursors of `row` are, to `raw`, and moves the cursors past it. False:
   * the row cannot be read this way; `raw` is unchanged, and some cursors have moved.
   */
  read(row: PlainRow, raw: RawRow, { name, known, oldestUnexpired }: RunFamily): boolean {
    const { timestamps, rule } = this;
    const { columns, given } = known;
    this.columns = columns;
    rule.begin(oldestUnexpired);
    for (let i = 0; i < columns.length; i++) timestamps[i] = -1;
    this.older = 0;
    const visited = row.visitEach(this);
    for (let i = 0; i < columns.length; i++) {
      const timestamp = timestamps[i]!;
      if (timestamp < 0) continue;
      if (visited && rule.showsPut(timestamp))
        raw.note(name, given[i]!, timestamp, this.sources[i]!, this.starts[i]!, this.lengths[i]!);
      this.sources[i] = EMPTY_BYTES;
    }
    return visited;
  }

  enter(): void {
    this.place = 0;
  }

  get readPoint(): number {
    return this.rule.readPoint;
  }

  visit(bytes: Uint8Array, at: number, length: number, timestamp: number, valueLength: number): boolean {
    const { columns, timestamps } = this;
    let { place } = this;
    for (; place < columns.length; place++) {
      const column = columns[place]!;
      if (!isColumn(bytes, at, length, column)) {
        if (compareSlices(bytes, at, length, column, 0, column.length) > 0) continue;
        break;
      }
      this.place = place + 1;
      const newest = timestamps[place]!;
      // Which of them was written last is in their sequence numbers.
      if (timestamp === newest) return false;
      if (timestamp < newest) return true;
      timestamps[place] = timestamp;
      this.sources[place] = bytes;
      this.starts[place] = at + length;
      this.lengths[place] = valueLength;
      return true;
    }
    return (
      this.place > 0 && isColumn(bytes, at, length, columns[this.place - 1]!) && ++this.older <= MAX_OLDER
    );
  }
}

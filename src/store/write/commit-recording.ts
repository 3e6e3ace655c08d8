/** What a step of writes changes of recorded tables: the rows as they were, and at its end as it leaves them. */

import { equalBytes, toLatin1 } from '../../bytes/index.js';
import {
  type CommitRecorder,
  type CommittedRow,
  Get,
  type Result,
  type TableChange,
} from '../../table/index.js';
import type { TableState } from '../table-state.js';
import type { SettledDurability } from './commit-queue.js';
import type { RowReader } from './row-operations.js';

interface Touched {
  readonly state: TableState;
  readonly row: Uint8Array;
  readonly before: Result;
}

export class CommitRecording {
  private readonly touched = new Map<string, Touched>();
  private readonly told = new Set<CommitRecorder>();

  constructor(private readonly rowReader: (state: TableState, row: Uint8Array) => RowReader) {}

  /** Called before each change of a row. What is taken back later leaves the row as it was noted. */
  note(state: TableState, row: Uint8Array, recorders: readonly CommitRecorder[]): void {
    const key = `${state.id} ${toLatin1(row)}`;
    if (this.touched.has(key) || !recorders.some((recorder) => recorder.wants(state.name, row))) return;
    for (const recorder of recorders) this.told.add(recorder);
    this.touched.set(key, { state, row: row.slice(), before: this.read(state, row) });
  }

  /** What the recorders add. */
  *finish(number: number, durability: SettledDurability): Generator<TableChange> {
    const rows: CommittedRow[] = [];
    for (const { state, row, before } of this.touched.values()) {
      const after = this.read(state, row);
      if (!isSame(before, after)) rows.push({ table: state.name, row, before, after });
    }
    if (rows.length === 0) return;
    for (const recorder of this.told) {
      const wanted = rows.filter(({ table, row }) => recorder.wants(table, row));
      if (wanted.length > 0) yield* recorder.record({ number, durability, rows: wanted });
    }
  }

  /** The step can be read. */
  committed(): void {
    for (const recorder of this.told) recorder.committed();
  }

  private read(state: TableState, row: Uint8Array): Result {
    return this.rowReader(state, row).read(new Get(row));
  }
}

/** Whether both have the same columns and values, whenever they were written. */
function isSame(a: Result, b: Result): boolean {
  return (
    a.cells.length === b.cells.length &&
    a.cells.every((cell, i) => {
      const other = b.cells[i]!;
      return (
        cell.family === other.family &&
        equalBytes(cell.qualifier, other.qualifier) &&
        equalBytes(cell.value, other.value)
      );
    })
  );
}

/** What the changes of one step write beside their own rows: the later of them are to see it. */

import { toLatin1 } from '../bytes/index.js';
import { Cell, CellType, type Get, Result, type RowMutation, type RowRead } from '../table/index.js';
import type { FollowUp } from './executor.js';

/** A change asks for a row that an earlier one of its step writes, and that one may yet be refused. */
export class Postponed extends Error {}

export class FollowUps {
  private readonly byRow = new Map<string, FollowUp>();
  /** Not in the map yet: most steps never ask. */
  private added: FollowUp[] = [];

  private constructor(private readonly known: boolean) {}

  /** Of changes that stand each for itself. */
  static postponing(): FollowUps {
    return new FollowUps(false);
  }

  /** Of changes that all take effect or none. */
  static telling(): FollowUps {
    return new FollowUps(true);
  }

  add(followUps: readonly FollowUp[]): void {
    for (const followUp of followUps) this.added.push(followUp);
  }

  /** @throws Postponed when what the row holds is not certain yet. */
  read(get: Get, table: string, read: RowRead): Result {
    const written = this.rows().get(nameOf(table, get.row));
    if (written === undefined) return read(get, table);
    if (!this.known) throw new Postponed();
    return resultOf(written.mutation);
  }

  /** What is written of each row in the end. */
  last(): FollowUp[] {
    return [...this.rows().values()];
  }

  private rows(): Map<string, FollowUp> {
    for (const followUp of this.added) {
      this.byRow.set(nameOf(followUp.table, followUp.mutation.row), followUp);
    }
    this.added = [];
    return this.byRow;
  }
}

function resultOf(mutation: RowMutation): Result {
  if (mutation.kind !== 'put') return Result.EMPTY;
  const cells = mutation.cells.map(
    ({ family, qualifier, timestamp, value }) =>
      new Cell(mutation.row, family, qualifier, timestamp, CellType.Put, value),
  );
  return new Result(mutation.row, cells);
}

function nameOf(table: string, row: Uint8Array): string {
  return `${table} ${toLatin1(row)}`;
}

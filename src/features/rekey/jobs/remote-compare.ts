import type { JobRunOptions } from '../../../job/types.js';
import { Get, type Result, type Table } from '../../../table/index.js';
import { areSame, differencesOf, everyVersion, type RowDifferences } from './compare.js';
import { pass, type RekeyTarget, rowsAlone, runPasses } from './passes.js';
import { rawRow, writeCopies } from './remote-copy.js';
import { RowMapping } from './row-mapping.js';

/** The most attempts to read a row that is being written. Its latest cells are left to the next pass. */
const MAX_ATTEMPTS = 8;
/** Rows that are copied or read again in one batch. */
const TOGETHER = 32;

type Difference = 'missing' | 'different' | 'extra';

/** A row of the old layout. */
type OldRow = Pick<Result, 'row' | 'cells'>;

/**
 * Compares the rows of both layouts on engines whose atomic step is one row, while the old table may be written. A
 * row that differs is copied once more: a cell with a timestamp of its own may lie before the span that the last pass
 * copied.
 */
export class RemoteComparison {
  private readonly backward: RowMapping;
  private readonly olds: Table;
  private readonly news: Table;

  constructor(private readonly target: RekeyTarget) {
    const { engine, from, to } = target;
    this.backward = new RowMapping(to, from);
    this.olds = engine.table(from.table.descriptor.name);
    this.news = engine.table(to.table.descriptor.name);
  }

  /** Compares every row in both directions. @returns the differences that remain after copying again. */
  async all(run: JobRunOptions): Promise<RowDifferences> {
    const { target, backward } = this;
    const phases = [
      pass(target.from, everyVersion, (context) => ({
        rows: async (rows) => {
          const own = rows.filter(({ row }) => target.dualWrites.forward.matches(row));
          context.count('rows', own.length);
          for (const what of await this.off(own)) context.count(what);
        },
      })),
      pass(target.to, rowsAlone, (context) => ({
        rows: async (rows) => {
          const own = rows.map(({ row }) => row).filter((row) => backward.matches(row));
          for (const what of await this.strays(own)) context.count(what);
        },
      })),
    ];
    const { counters } = await runPasses(target, 'verify', 'verify', phases, { ...run, restart: true });
    return differencesOf(counters);
  }

  /** The differences of these rows that remain after copying again. */
  async now(rows: readonly Uint8Array[]): Promise<readonly Difference[]> {
    return rows.length === 0 ? [] : this.off(await this.read(rows));
  }

  private async off(rows: readonly OldRow[]): Promise<readonly Difference[]> {
    return this.recheck((await this.differences(rows)).map(({ row }) => row));
  }

  private async recheck(suspects: readonly Uint8Array[]): Promise<readonly Difference[]> {
    const found: Difference[] = [];
    for (let at = 0; at < suspects.length; at += TOGETHER) {
      const looking = suspects.slice(at, at + TOGETHER).map((row) => this.copyAndCompare(row));
      for (const what of await Promise.all(looking)) if (what !== undefined) found.push(what);
    }
    return found;
  }

  /**
   * Copies the row once more. It counts as different if it still differs and has not been written meanwhile. That is
   * decided by its stored cells: nothing else shows that a row was written and deleted again.
   */
  private async copyAndCompare(row: Uint8Array): Promise<Difference | undefined> {
    for (let look = 0; look < MAX_ATTEMPTS; look++) {
      const copied = await rawRow(this.target, row);
      await writeCopies(this.target, [copied], undefined);
      const [difference] = await this.differences(await this.read([row]));
      if (difference === undefined) return undefined;
      const after = await rawRow(this.target, row);
      if (areSame(copied.cells, after.cells)) return difference.what;
    }
    return undefined;
  }

  private async differences(
    rows: readonly OldRow[],
  ): Promise<readonly { readonly row: Uint8Array; readonly what: Difference }[]> {
    const { forward } = this.target.dualWrites;
    const there = rows.map(({ row }) => forward.rowOf(row)!);
    const copies = await this.news.getAll(there.map((row) => new Get(row).readAllVersions()));
    return rows.flatMap(({ row, cells }, i) => {
      const copy = copies[i]!.cells;
      if (areSame(forward.cellsOf(row, there[i]!, cells), copy)) return [];
      const what = copy.length === 0 ? 'missing' : cells.length === 0 ? 'extra' : 'different';
      return [{ row, what } as const];
    });
  }

  /** Rows of the new layout that the old one lacks, although its deletes were copied. */
  private async strays(rows: readonly Uint8Array[]): Promise<readonly Difference[]> {
    const theirs = rows.map((row) => this.backward.rowOf(row)!);
    const found = await this.olds.getAll(theirs.map((row) => new Get(row).setCheckExistenceOnly(true)));
    return this.recheck(theirs.filter((_, i) => found[i]!.row.length === 0));
  }

  private async read(rows: readonly Uint8Array[]): Promise<readonly OldRow[]> {
    const found = await this.olds.getAll(rows.map((row) => new Get(row).readAllVersions()));
    return found.map(({ cells }, i) => ({ row: rows[i]!, cells }));
  }
}

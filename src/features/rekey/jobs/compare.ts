/** Compares every row of both layouts. */

import { compareBytes, equalBytes } from '../../../bytes/index.js';
import type { JobRunOptions, SplitContext } from '../../../job/types.js';
import { OwnCells } from '../../../schema/own-cells.js';
import type { EntitySchema } from '../../../schema/types.js';
import { type Cell, Get, type Result, type RowRead, Scan, type StepTable } from '../../../table/index.js';
import { inShortSteps, PassWork, pass, type RekeyTarget, rowsAlone, runPasses, tableOf } from './passes.js';
import { RowMapping } from './row-mapping.js';

/** The differences between the layouts, in rows. */
export interface RekeyDifferences {
  readonly rows: number;
  /** Rows that the new layout lacks. */
  readonly missing: number;
  /** Rows that only the new layout has. */
  readonly extra: number;
  /** Rows whose cells or timestamps differ. */
  readonly different: number;
  /** Rows that lack a column of the new key. */
  readonly unkeyed: number;
  /** Entries of the new layout's indexes that are missing or have no row. */
  readonly entries: number;
}

/** The differences in rows. Entries are compared by index jobs. */
export type RowDifferences = Omit<RekeyDifferences, 'entries'>;

/** The kind of difference that a row is. */
type Found = 'missing' | 'extra' | 'different' | 'unkeyed' | undefined;

export const everyVersion = (): Scan => new Scan().readAllVersions().setCacheBlocks(false);

/** Compares every row of both layouts, each pair in one step. */
export async function compareLayouts(target: RekeyTarget, run: JobRunOptions = {}): Promise<RowDifferences> {
  const { from, to } = target;
  const { forward } = target.dualWrites;
  const back = new RowMapping(to, from);
  const phases = [
    pass(from, everyVersion, (context) => new CompareWork(tableOf(target, from), forward, context)),
    pass(
      to,
      // The cells of a row are not needed where its key alone gives the other row.
      back.needed.length === 0 ? rowsAlone : everyVersion,
      (context) => new ExtraWork(tableOf(target, to), back, context),
    ),
  ];
  const { counters } = await runPasses(target, 'verify', 'verify', phases, {
    ...inShortSteps(run),
    restart: true,
  });
  return differencesOf(counters);
}

/** Whether the actual cells (second) are the expected ones (first). */
type IsRight = (cells: readonly Cell[], there: readonly Cell[]) => boolean;

/** The versions that a family keeps. */
type VersionsOf = (family: string) => number;

/** Rows of the old layout that the new one lacks (`missing`), or of which it lacks cells (`different`). */
export async function lostRows(target: RekeyTarget, run: JobRunOptions = {}): Promise<RowDifferences> {
  const { from, to, dualWrites } = target;
  const versions = new Map(to.table.descriptor.families.map((family) => [family.name, family.versions]));
  const isThere: IsRight = (cells, there) => hasAll(cells, there, (family) => versions.get(family) ?? 1);
  const looking = pass(
    from,
    everyVersion,
    // A part that the new layout stores as a column is equal in all rows of its key, and has other timestamps there.
    (context) => new CompareWork(tableOf(target, from), dualWrites.forward, context, isThere, false),
  );
  const { counters } = await runPasses(target, 'lost', 'lost', [looking], {
    ...inShortSteps(run),
    restart: true,
  });
  return differencesOf(counters);
}

export function differencesOf(counters: Readonly<Record<string, number>>): RowDifferences {
  const count = (what: string): number => counters[what] ?? 0;
  return {
    rows: count('rows'),
    missing: count('missing'),
    extra: count('extra'),
    different: count('different'),
    unkeyed: count('unkeyed'),
  };
}

/**
 * Tells rows that are only the rest of an expired entity. Its marker is gone, and older cells without an end show again in columns
 * whose delete markers a flush has dropped behind newer puts (R44). That depends on the files, so the layouts may differ in it.
 */
function restsOf(schema: EntitySchema): (cells: readonly Cell[]) => boolean {
  const { marker, timeToLive } = schema;
  if (marker === undefined || !timeToLive.lifelong) return () => false;
  const own = new OwnCells(schema);
  const isMarker = ({ family, qualifier }: Cell): boolean =>
    family === marker.family && equalBytes(qualifier, marker.qualifier);
  return (cells) => cells.every((cell) => !isMarker(cell) && own.has(cell.family, cell.qualifier));
}

/** Checks that each row of the old layout has its copy. */
class CompareWork extends PassWork {
  private readonly isRest: (cells: readonly Cell[]) => boolean;

  constructor(
    private readonly table: StepTable,
    private readonly mapping: RowMapping,
    private readonly context: SplitContext,
    private readonly isRight: IsRight = areSame,
    private readonly withParts = true,
  ) {
    super();
    this.isRest = restsOf(mapping.source);
  }

  protected async batch(rows: readonly Result[]): Promise<void> {
    const own = rows.filter(({ row }) => this.mapping.matches(row));
    const found = await this.table.atomic(({ read }) => own.map((row) => this.compare(row, read)));
    this.context.count('rows', own.length);
    for (const what of found) if (what !== undefined) this.context.count(what);
  }

  private compare(scanned: Result, read: RowRead): Found {
    // Rows that were equal in the scan are equal. Others may have been written since, and are read again.
    if (this.held(scanned, read) === undefined) return undefined;
    return this.held(read(new Get(scanned.row).readAllVersions()), read);
  }

  private held(now: Result, read: RowRead): Found {
    if (now.isEmpty || this.isRest(now.cells)) return undefined;
    const { mapping } = this;
    const { row, cells } = now;
    const other = mapping.rowOf(row, ({ family, qualifier }) => now.getValue(family, qualifier));
    if (other === undefined) return 'unkeyed';
    const there = read(new Get(other).readAllVersions(), mapping.target.table.descriptor.name);
    if (there.isEmpty) return 'missing';
    const wanted = mapping.cellsOf(row, other, cells, this.withParts);
    return this.isRight(wanted, there.cells) ? undefined : 'different';
  }
}

/** Checks that each row of the new layout has its source. */
class ExtraWork extends PassWork {
  private readonly isRest: (cells: readonly Cell[]) => boolean;

  constructor(
    private readonly table: StepTable,
    private readonly mapping: RowMapping,
    private readonly context: SplitContext,
  ) {
    super();
    this.isRest = restsOf(mapping.source);
  }

  protected async batch(rows: readonly Result[]): Promise<void> {
    const own = rows.filter(({ row }) => this.mapping.matches(row));
    const extra = await this.table.atomic(({ read }) =>
      own.filter(({ row }) => this.isExtra(row, read) && !this.isRest(read(new Get(row)).cells)),
    );
    if (extra.length > 0) this.context.count('extra', extra.length);
  }

  private isExtra(row: Uint8Array, read: RowRead): boolean {
    const { mapping } = this;
    // Reading a row's newest cells is a fast path; a mere existence check is none.
    const exists = (of: Uint8Array, table?: string): boolean => !read(new Get(of), table).isEmpty;
    if (mapping.needed.length === 0) {
      const other = mapping.rowOf(row)!;
      // Both rows may have been deleted since the scan.
      return !exists(other, mapping.target.table.descriptor.name) && exists(row);
    }
    const now = read(new Get(row));
    if (now.isEmpty) return false;
    const other = mapping.rowOf(row, ({ family, qualifier }) => now.getValue(family, qualifier));
    return other === undefined || !exists(other, mapping.target.table.descriptor.name);
  }
}

/** Mostly the cells are in order already. */
export function areSame(a: readonly Cell[], b: readonly Cell[]): boolean {
  if (a.length !== b.length) return false;
  return areAlike(a, b) || areAlike([...a].sort(compareCells), b);
}

/** Whether every cell exists, or the family's number of versions of its column are newer. */
function hasAll(cells: readonly Cell[], there: readonly Cell[], versionsOf: VersionsOf): boolean {
  if (areSame(cells, there)) return true;
  const others = [...there].sort(compareCells);
  let column = 0;
  return [...cells].sort(compareCells).every((cell) => {
    while (column < others.length && compareColumns(others[column]!, cell) < 0) column++;
    const versions = versionsOf(cell.family);
    for (let at = column; at < others.length; at++) {
      const other = others[at]!;
      if (compareColumns(other, cell) !== 0 || other.timestamp < cell.timestamp) return false;
      if (other.timestamp === cell.timestamp) return equalBytes(other.value, cell.value);
      if (at - column + 1 >= versions) return true;
    }
    return false;
  });
}

function areAlike(a: readonly Cell[], b: readonly Cell[]): boolean {
  return a.every((cell, i) => compareCells(cell, b[i]!) === 0 && equalBytes(cell.value, b[i]!.value));
}

function compareCells(a: Cell, b: Cell): number {
  return compareColumns(a, b) || b.timestamp - a.timestamp;
}

function compareColumns(a: Cell, b: Cell): number {
  if (a.family !== b.family) return Buffer.compare(Buffer.from(a.family), Buffer.from(b.family));
  return compareBytes(a.qualifier, b.qualifier);
}

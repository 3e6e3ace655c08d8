/** Copies cells between tables, of one engine or of two (HBase CopyTable). */

import { ensureTable } from '../ddl/index.js';
import { InvalidArgumentError } from '../errors.js';
import { copyOf, mutationsOf } from '../job/row-cells.js';
import { checkSelection, runPass, scanOf, type ToolOptions } from '../job/table-pass.js';
import type { JobOutcome } from '../job/types.js';
import {
  type BatchAction,
  Cell,
  CellWithTtl,
  canonicalTableName,
  type Engine,
  Put,
  type Result,
  type RowMutation,
  type RowMutations,
  type Table,
  tableDescriptor,
} from '../table/index.js';

export interface CopyOptions extends ToolOptions {
  /** Maps family names of the source to those of the target; default: the same names. */
  readonly familyNames?: Readonly<Record<string, string>>;
  /** Whether to create a missing target with the source's families and regions. Default false. */
  readonly create?: boolean;
}

/** A table on an engine. */
export interface TableOf {
  readonly engine: Engine;
  readonly table: string;
}

/** Identifies a table in signatures, so that a job is not resumed with another one. */
export function placeOf({ engine, table }: TableOf): string {
  return [engine.name, ...(engine.place === undefined ? [] : [engine.place]), canonicalTableName(table)].join(
    ' ',
  );
}

/**
 * Copies every version and delete marker with its timestamp. Repeating a copy changes nothing. The state of the job is
 * stored on the source's engine. Counters: `rows`, `cells`.
 * @throws RowanError `ERR_TABLE_NOT_FOUND`; InvalidArgumentError when source and target are the same table, or for a family that
 *   one of them does not have; before the job is recorded.
 */
export async function copyTable(
  source: TableOf,
  target: TableOf,
  options: CopyOptions = {},
): Promise<JobOutcome> {
  if (
    source.engine === target.engine &&
    canonicalTableName(source.table) === canonicalTableName(target.table)
  ) {
    throw new InvalidArgumentError(
      `Table "${source.table}" cannot be copied to itself. Name another target.`,
    );
  }
  const renamed = new Map(Object.entries(options.familyNames ?? {}));
  await checkSelection(source.engine, source.table, options);
  await checkSelection(source.engine, source.table, { families: [...renamed.keys()] });
  if (options.create === true) await makeLike(source, target, options);
  await checkSelection(target.engine, target.table, { families: [...renamed.values()] });
  const into = target.engine.table(target.table);
  return runPass(source.engine, options, {
    tool: 'copy',
    table: source.table,
    about: [target.table],
    does: `to ${placeOf(target)} ${JSON.stringify([...renamed])}`,
    scan: () => scanOf(options, true),
    open: (context) => ({
      async rows(rows) {
        await writeRows(into, rows, renamed);
        context.count('rows', rows.length);
        for (const { cells } of rows) context.count('cells', cells.length);
      },
    }),
  });
}

async function makeLike(source: TableOf, target: TableOf, options: CopyOptions): Promise<void> {
  const descriptor = await source.engine.admin.getDescriptor(source.table);
  const regions = await source.engine.admin.getRegions(source.table);
  const { name: _, families, ...rest } = descriptor;
  const wanted = families
    .filter(({ name }) => options.families?.includes(name) ?? true)
    .map((family) => ({ ...family, name: options.familyNames?.[family.name] ?? family.name }));
  await ensureTable(
    target.engine.admin,
    tableDescriptor(target.table, wanted, rest),
    regions.slice(1).map(({ startKey }) => startKey),
  );
}

/**
 * Writes rows unchanged, under the new names of their families. On the embedded engine each row is written atomically.
 * On HBase, a row's delete markers follow its puts: a region server executes the separate mutations of a request
 * together, but atomic changes of rows one after the other, with a WAL sync for each. All cells have explicit
 * timestamps, and a marker is never older than a put that it hides, as tables with `NEW_VERSION_BEHAVIOR` require.
 * @throws the first failure.
 */
export async function writeRows(
  into: Table,
  rows: readonly Result[],
  renamed: ReadonlyMap<string, string> = new Map(),
): Promise<void> {
  const changesOf = 'getSync' in into ? asOneChange : mutationsOf;
  const puts: Put[] = [];
  const others: BatchAction[] = [];
  for (const { row, cells } of rows) {
    const named =
      renamed.size === 0
        ? cells
        : cells.map((cell) => ofFamily(cell, renamed.get(cell.family) ?? cell.family));
    for (const change of changesOf(row, named)) {
      if (change instanceof Put) puts.push(change);
      else others.push(change);
    }
  }
  if (puts.length > 0) await into.putAll(puts);
  if (others.length === 0) return;
  for (const outcome of await into.batch(others)) if (!outcome.ok) throw outcome.error;
}

function asOneChange(row: Uint8Array, cells: readonly Cell[]): readonly (RowMutation | RowMutations)[] {
  const change = copyOf(row, cells);
  return change === undefined ? [] : [change];
}

function ofFamily(cell: Cell, family: string): Cell {
  const { row, qualifier, timestamp, type, value } = cell;
  return cell instanceof CellWithTtl
    ? new CellWithTtl(row, family, qualifier, timestamp, type, value, cell.ttl)
    : new Cell(row, family, qualifier, timestamp, type, value);
}

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
  /** Names of families in the target, by those in the source; default: the same. */
  readonly familyNames?: Readonly<Record<string, string>>;
  /** Makes the target with the source's families and regions when it is not there. Default false. */
  readonly create?: boolean;
}

/** One of two tables. */
export interface TableOf {
  readonly engine: Engine;
  readonly table: string;
}

/** A table for signatures: what was begun with another one is not gone on with. */
export function placeOf({ engine, table }: TableOf): string {
  return [engine.name, ...(engine.place === undefined ? [] : [engine.place]), canonicalTableName(table)].join(
    ' ',
  );
}

/**
 * Copies every version and delete marker with its timestamp; a copy of a copy is the same. The job's state is kept by the source's
 * engine. Counters: `rows`, `cells`.
 * @throws RowanError `ERR_TABLE_NOT_FOUND`; InvalidArgumentError when a table is to be copied onto itself.
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
      `Table "${source.table}" is to be copied onto itself. Name another target.`,
    );
  }
  await checkSelection(source.engine, source.table, options);
  if (options.create === true) await makeLike(source, target, options);
  await target.engine.admin.getDescriptor(target.table);
  const renamed = new Map(Object.entries(options.familyNames ?? {}));
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
 * Writes rows as they are, under the new names of their families. On the embedded engine each row changes as one. On HBase its delete
 * markers follow its puts: a server writes at once what a request brings of a region, but one after the other, with a wait for the log
 * each, rows that are to change as one. All have times of their own, and a marker is never older than a put that it is to hide, which
 * tables with `NEW_VERSION_BEHAVIOR` ask for.
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

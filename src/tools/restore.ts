/** Restores tables from the backups that `backup.ts` writes. */

import { join } from 'node:path';
import { schemaTableDescriptor } from '../codec/avro/schema-store.js';
import { ControlTable, controlTableDescriptor } from '../ddl/index.js';
import { InvalidArgumentError } from '../errors.js';
import { TABLES_OF_COMMITS, tablesMadeOf } from '../features/tables.js';
import { forgetFinished, JobStore, jobTableDescriptor } from '../job/job-store.js';
import { toolJobName } from '../job/table-pass.js';
import type { JobRunOptions } from '../job/types.js';
import { dictionaryTableDescriptor } from '../key/dictionary/dictionary.js';
import { canonicalTableName, type Engine, Scan } from '../table/index.js';
import {
  type BackupEntry,
  type BackupOutcome,
  folderOf,
  isWhole,
  type KeyChangeRecord,
  listBackups,
} from './backup.js';
import { importTable } from './import.js';
import { readExportManifest } from './manifest.js';

export interface RestoreOptions {
  /** The name of the backup whose state is restored; default: the last one. */
  readonly to?: string;
  /** Default: every table of the backup; into an embedded store all but the log of change feeds, `rowan_changes`. */
  readonly tables?: readonly string[];
  /** How the import jobs run. */
  readonly run?: JobRunOptions;
}

/**
 * Restores the tables of a backup into an engine: each from the last backup up to it that has the table in full, then from the incremental ones since. Missing tables
 * are created; tables with rows are refused. A call that was interrupted is continued by the next one: it skips the tables that are complete.
 * @throws InvalidArgumentError when the folder has no such backup, or a table has rows.
 */
export async function restoreTables(
  engine: Engine,
  folder: string,
  options: RestoreOptions = {},
): Promise<BackupOutcome> {
  const plan = await planRestore(folder, options);
  const { chain } = plan;
  const backup = chain.at(-1)!;
  const elsewhere = engine.commits === undefined || options.tables !== undefined ? [] : TABLES_OF_COMMITS;
  const leftOut = plan.tables.filter((table) => elsewhere.includes(table));
  const tables = plan.tables
    .filter((table) => !elsewhere.includes(table))
    .sort((a, b) => Number(isReadFor(b)) - Number(isReadFor(a)));
  const chainOf = (table: string): readonly BackupEntry[] =>
    chain.slice(chain.findLastIndex((entry) => isWhole(entry, table)));
  const jobsOf = (table: string): readonly string[] =>
    chainOf(table).map(({ name }) => restoreJob(backup, name, table));
  const begun = await begunTables(engine, tables, jobsOf);
  for (const table of tables) {
    if (begun.has(table)) continue;
    if (await hasRows(engine, table)) throw notEmpty(table);
    await requireKnown(engine, table, join(folder, chainOf(table)[0]!.name, folderOf(table)), tables);
  }
  // Otherwise changes of restored rows would be older than the rows.
  engine.advanceClock?.(backup.begun);
  let rows = 0;
  let cells = 0;
  for (const table of tables) {
    const restart = await restartOf(engine, table, begun.get(table));
    for (const { name } of chainOf(table)) {
      const { counters } = await importTable(engine, join(folder, name, folderOf(table)), {
        table,
        create: true,
        name: restoreJob(backup, name, table),
        run: { restart, ...options.run },
      });
      rows += counters['rows'] ?? 0;
      cells += counters['cells'] ?? 0;
    }
  }
  if (elsewhere.length > 0 && tables.includes(controlTableDescriptor().name)) await forgetPositions(engine);
  await forgetFinished(engine, tables.flatMap(jobsOf));
  return { backup, rows, cells, ...(leftOut.length > 0 && { leftOut }) };
}

/** Whether rows of other tables cannot be read without its rows: it is restored before them. */
function isReadFor(table: string): boolean {
  return table === dictionaryTableDescriptor().name || table === schemaTableDescriptor().name;
}

/** Removes positions of change feeds from the records of changes of keys: they name commits of the other store. */
async function forgetPositions(engine: Engine): Promise<void> {
  const control = new ControlTable(engine.table(controlTableDescriptor().name));
  for (const before of await control.rekeys<KeyChangeRecord>()) {
    const { feedsFrom: _, feedsUntil: __, ...value } = before.value;
    await control.change(before.row, before, value);
  }
}

/**
 * The backups that a restore reads, oldest first, and its tables.
 * @throws InvalidArgumentError when the folder has no such backup, or the backup no such table.
 */
export async function planRestore(
  folder: string,
  { to, tables }: RestoreOptions,
): Promise<{ readonly chain: readonly BackupEntry[]; readonly tables: readonly string[] }> {
  const chain = await chainTo(folder, to);
  const backup = chain.at(-1)!;
  const wanted = tables?.map(canonicalTableName) ?? backup.tables;
  const absent = wanted.find((table) => !backup.tables.includes(table));
  if (absent === undefined) return { chain, tables: wanted };
  throw new InvalidArgumentError(
    `The backup ${backup.name} has no table "${absent}". It has: ${backup.tables.join(', ')}.`,
  );
}

/** The last full backup before the requested one, and all backups after it. */
async function chainTo(folder: string, wanted: string | undefined): Promise<readonly BackupEntry[]> {
  const backups = await listBackups(folder);
  const last = wanted === undefined ? backups.length - 1 : backups.findIndex(({ name }) => name === wanted);
  if (last < 0) {
    throw new InvalidArgumentError(
      `${folder} has no complete backup ${wanted ?? ''}. It has: ${backups.map(({ name }) => name).join(', ') || 'none'}.`,
    );
  }
  const upTo = backups.slice(0, last + 1);
  return upTo.slice(upTo.findLastIndex(({ kind }) => kind === 'full'));
}

/**
 * The name of the job that imports one part of a restore. The distinguishing part comes first, since long names are
 * cut.
 */
function restoreJob({ name, begun }: BackupEntry, part: string, table: string): string {
  return toolJobName('restore', name, String(begun), part, table);
}

/**
 * The tables that an interrupted restore has begun, and how many rows their jobs have imported. Empty where there was none, or where the
 * tables are complete: their jobs are forgotten at the end, but the process may have died before that.
 */
async function begunTables(
  engine: Engine,
  tables: readonly string[],
  jobsOf: (table: string) => readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const begun = new Map<string, number>();
  const jobs = jobTableDescriptor().name;
  if (!(await engine.admin.tableExists(jobs))) return begun;
  let isComplete = true;
  for (const table of tables) {
    for (const name of jobsOf(table)) {
      const store = new JobStore(engine.table(jobs), name);
      const header = (await store.header())?.value;
      isComplete &&= header?.state === 'done';
      if (header === undefined) continue;
      store.run = header.run;
      const splits = [...(await store.splits(0)).values()];
      const rows = splits.reduce((sum, { value }) => sum + value.rows, 0);
      begun.set(table, (begun.get(table) ?? 0) + rows);
    }
  }
  return isComplete ? new Map() : begun;
}

/**
 * Whether the jobs of a table begin anew. @param imported rows that they have imported so far: where the table is empty now, it was dropped or
 * truncated since. Undefined: none was begun.
 */
async function restartOf(
  engine: Engine,
  table: string,
  imported: number | undefined,
): Promise<boolean | 'done'> {
  if (imported === undefined) return 'done';
  return imported > 0 && !(await hasRows(engine, table));
}

/** Whether a table exists and has rows, which would be mixed with those of a backup. */
async function hasRows(engine: Engine, table: string): Promise<boolean> {
  if (!(await engine.admin.tableExists(table))) return false;
  const scanner = engine.table(table).scan(new Scan().setLimit(1).setRaw(true));
  try {
    return (await scanner.next()) !== undefined;
  } finally {
    await scanner.close();
  }
}

function notEmpty(table: string): InvalidArgumentError {
  return new InvalidArgumentError(
    `Table "${table}" has rows, but a backup can only be restored into empty tables. Drop or truncate it first.`,
  );
}

/**
 * Refuses tables that a program has made whose indexes and summaries the backup lacks, or has not built: they would be in use, without the restored
 * rows.
 */
async function requireKnown(
  { admin }: Engine,
  table: string,
  exported: string,
  restored: readonly string[],
): Promise<void> {
  for (const name of tablesMadeOf(table))
    if (!restored.includes(name) && (await admin.tableExists(name))) throw lacksRows(name);
  if (!(await admin.tableExists(table))) return;
  const { metadata } = await admin.getDescriptor(table);
  const before = (await readExportManifest(exported)).table as {
    readonly metadata?: Readonly<Record<string, string>>;
  };
  for (const [name, text] of Object.entries(metadata))
    if (isActive(text) && !isActive(before.metadata?.[name])) throw lacksRows(table);
}

/** Whether metadata tell of something that is complete, such as an index. */
function isActive(text: string | undefined): boolean {
  return text !== undefined && /"state":"active"/.test(text);
}

function lacksRows(table: string): InvalidArgumentError {
  return new InvalidArgumentError(
    `Table "${table}" is in use for what the backup does not have: queries by it would lack the restored rows. Drop the table first; ` +
      'the next opening makes it anew.',
  );
}

/** Backups of whole tables in a folder: full ones, and incremental ones since the previous backup. */

import { createHash } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  ControlTable,
  controlTableDescriptor,
  type RecordStamp,
  readStamp,
  stampTexts,
} from '../ddl/index.js';
import { atFile, InvalidArgumentError, RowanError } from '../errors.js';
import { forgetFinished, jobTableDescriptor } from '../job/job-store.js';
import { type CellSelection, toolJobName } from '../job/table-pass.js';
import type { Counters, JobRunOptions } from '../job/types.js';
import { canonicalTableName, type Engine, type TableChanges } from '../table/index.js';
import { exportCells } from './export.js';
import { strangerIn } from './manifest.js';

/** The file that lists the backups of a folder. */
const BACKUP_FILE = 'backup.json';

/** Incremental backups of clusters overlap by this much, so that clock differences between servers lose no cells. */
const OVERLAP_MS = 60_000;

export interface BackupEntry {
  /** Also the name of its folder. */
  readonly name: string;
  readonly kind: 'full' | 'incremental';
  /** The lowest timestamp of its cells, in ms, but of those that were written since the commit of the last backup; 0 for a full backup. */
  readonly from: number;
  /** When it started. The next incremental backup continues from here. */
  readonly begun: number;
  readonly tables: readonly string[];
  /** Tables that an incremental backup has in full: cells may have been written or removed at earlier timestamps since the last backup. */
  readonly whole?: readonly string[];
  /** The last commit that all of its tables have, of an engine that numbers commits. The next incremental backup has every later one. */
  readonly commit?: number;
  /** By table of an incremental backup, the newest timestamp of delete markers that it has dropped. Later puts up to it tell of losses. */
  readonly markersUntil?: Readonly<Record<string, number>>;
  /** By table, a digest that the next backup compares; null while its rows are being rewritten. Missing in backups of earlier releases. */
  readonly layouts?: Readonly<Record<string, string | null>>;
  /** False while it is being written, and if it was interrupted. */
  readonly complete: boolean;
}

interface BackupManifest {
  readonly format: 'rowan-backup';
  readonly version: 1;
  readonly backups: readonly BackupEntry[];
}

export interface BackupOptions {
  /** Default: every table except Rowan's own job tables. */
  readonly tables?: readonly string[];
  /** Whether to copy only what was written since the last backup of the folder. Default false. */
  readonly incremental?: boolean;
  /**
   * The engine that cells are read from: with a checkpoint, opened with `automatic: false`, all tables are consistent with each other. Default:
   * the engine itself, whose tables are read one after the other while they are being written.
   */
  readonly readFrom?: Engine;
  /** How the export jobs run. */
  readonly run?: JobRunOptions;
}

/** The result of a backup or a restore. */
export interface BackupOutcome {
  readonly backup: BackupEntry;
  /** Tables of the backup that a restore has left out, because their rows mean nothing in another store. Undefined: none. */
  readonly leftOut?: readonly string[];
  readonly rows: number;
  readonly cells: number;
}

/**
 * Adds a backup to a folder, or finishes an interrupted one. An incremental backup of an embedded store has every cell and delete marker of
 * the commits since the previous backup, whatever their timestamps; of a cluster those with a timestamp since the previous backup
 * started, minus one minute. It has tables in full that such cells do not tell: truncated, restored from a snapshot, altered, with rows whose
 * columns moved, or whose version or keys changed; on the embedded engine also those that have dropped delete markers which no backup has,
 * or what a restore would show, or hide, otherwise than the table. Of a cluster, cells written with an older, explicit timestamp, and deletions whose marker a
 * major compaction has already dropped, appear only in the next full backup.
 * @throws InvalidArgumentError when there is no full backup to continue from, or the folder has other files; RowanError `ERR_TABLE_NOT_FOUND`,
 * and `ERR_SECURITY` when all tables are asked for, and the user may not see all.
 */
export async function backupTables(
  engine: Engine,
  folder: string,
  options: BackupOptions = {},
): Promise<BackupOutcome> {
  const source = options.readFrom ?? engine;
  const before = (await readBackups(folder)) ?? (await requireOwn(folder));
  const unfinished = before.at(-1)?.complete === false ? before.at(-1) : undefined;
  const done = unfinished === undefined ? before : before.slice(0, -1);
  const last = done.at(-1);
  let entry = unfinished ?? (await nextEntry(source, done, options));
  await writeBackups(folder, [...done, entry]);
  let rows = 0;
  let cells = 0;
  for (const table of entry.tables) {
    const add = async (restart: boolean): Promise<Counters> => {
      const isPart = !isWhole(entry, table);
      const { counters } = await exportCells(
        source,
        table,
        join(folder, entry.name, folderOf(table)),
        {
          name: backupJob(entry, table),
          ...(isPart && newCells(entry, last!)),
          run: { ...options.run, ...(restart && { restart }) },
        },
        isPart ? entry.markersUntil?.[table] : undefined,
      );
      return counters;
    };
    let counters = await add(false);
    if (!isWhole(entry, table)) {
      // What was dropped while the table was read, or since an interrupted backup began, is missing in what was read.
      const now = await marksOf(source, [table]);
      const until = now.markersUntil[table];
      const hidesMore = until !== undefined && until !== entry.markersUntil?.[table];
      if ((counters['earlyPuts'] ?? 0) > 0 || hidesMore || wholeOf([table], now, last).length > 0) {
        entry = {
          ...entry,
          whole: [...(entry.whole ?? []), table],
          layouts: { ...entry.layouts, ...now.layouts },
        };
        await writeBackups(folder, [...done, entry]);
        counters = await add(true);
      }
    }
    rows += counters['rows'] ?? 0;
    cells += counters['cells'] ?? 0;
  }
  const backup = { ...entry, complete: true };
  await writeBackups(folder, [...done, backup]);
  // Otherwise each backup would leave rows for each region.
  await forgetFinished(
    source,
    entry.tables.map((table) => backupJob(entry, table)),
  );
  return { backup, rows, cells };
}

/** The name of the job that exports one table. Backups of other folders have other ones: an unfinished one does not keep them out. */
function backupJob({ name, begun }: BackupEntry, table: string): string {
  return toolJobName('backup', name, String(begun), table);
}

/** The cells of an incremental backup of a table. */
function newCells({ from }: BackupEntry, { commit }: BackupEntry): CellSelection {
  return {
    timeRange: { from, to: Number.MAX_SAFE_INTEGER },
    ...(commit === undefined ? {} : { writtenAfter: commit }),
  };
}

/** Refuses a folder with other files, such as a store or an export. @returns no backups. */
async function requireOwn(folder: string): Promise<readonly BackupEntry[]> {
  const stranger = await strangerIn(folder, (name) => name.startsWith(BACKUP_FILE));
  if (stranger === undefined) return [];
  throw new InvalidArgumentError(
    `${folder} has no backup of tables, and is not empty ("${stranger}" in it). Give an empty or a new folder.`,
  );
}

async function nextEntry(
  source: Engine,
  done: readonly BackupEntry[],
  options: BackupOptions,
): Promise<BackupEntry> {
  const begun = source.now();
  const last = done.at(-1);
  const incremental = options.incremental === true;
  if (incremental && last === undefined) {
    throw new InvalidArgumentError('The folder has no backup to continue from. Make a full one first.');
  }
  const tables = options.tables?.map(canonicalTableName) ?? (await allTables(source));
  for (const table of tables) await source.admin.getDescriptor(table);
  const number = String(done.length + 1).padStart(4, '0');
  const marks = await marksOf(source, tables);
  const whole = wholeOf(tables, marks, last);
  return {
    name: `${number}-${incremental ? 'incremental' : 'full'}`,
    kind: incremental ? 'incremental' : 'full',
    from: incremental ? Math.max(0, last!.begun - (marks.commit === undefined ? OVERLAP_MS : 0)) : 0,
    begun,
    tables,
    ...(incremental && whole.length > 0 && { whole }),
    ...(incremental && marks.commit !== undefined && { markersUntil: marks.markersUntil }),
    ...(marks.commit !== undefined && { commit: marks.commit }),
    layouts: marks.layouts,
    complete: false,
  };
}

/** Every table but that of jobs. @throws RowanError `ERR_SECURITY` when the user may not see all: they would be missing unnoticed. */
async function allTables({ admin }: Engine): Promise<string[]> {
  const own = jobTableDescriptor().name;
  const hidden = ((await admin.hiddenTables?.()) ?? []).filter((name) => name !== own);
  if (hidden.length > 0) {
    throw new RowanError(
      'ERR_SECURITY',
      `A backup of all tables would lack ${hidden.map((name) => `"${name}"`).join(', ')}, whose descriptors this user may not see. Name the tables to back up (tables, or --tables), or let an administrator grant CREATE or ADMIN on these.`,
      { details: { tables: hidden } },
    );
  }
  return (await admin.listTables()).map(({ name }) => name).filter((name) => name !== own);
}

/** What the next backup compares. */
interface TableMarks {
  readonly layouts: Readonly<Record<string, string | null>>;
  readonly commit: number | undefined;
  /** By table, the last commit that deleted single versions, or wrote a marker that was dropped; missing where the engine does not tell. */
  readonly lastDeletes: Readonly<Record<string, number>>;
  /** By table, the newest timestamp of dropped markers, likewise. */
  readonly markersUntil: Readonly<Record<string, number>>;
}

async function marksOf(source: Engine, tables: readonly string[]): Promise<TableMarks> {
  const changes = new Map<string, TableChanges>();
  for (const table of tables) {
    const found = await source.admin.changesOf?.(table);
    if (found !== undefined) changes.set(table, found);
  }
  // A store that is read beside its writer does not tell what it has dropped.
  const isUnknown = source.commits !== undefined && source.admin.changesOf === undefined;
  const commits = [...changes.values()].map(({ lastCommit }) => lastCommit);
  return {
    layouts: isUnknown
      ? Object.fromEntries(tables.map((table) => [table, null]))
      : await layoutsOf(source, tables, changes),
    commit: commits.length === 0 ? undefined : Math.min(...commits),
    lastDeletes: Object.fromEntries(
      [...changes].map(([table, { lastVersionDelete, lastDroppedMarker }]) => [
        table,
        Math.max(lastVersionDelete, lastDroppedMarker),
      ]),
    ),
    markersUntil: Object.fromEntries(
      [...changes].map(([table, { droppedMarkersUntil }]) => [table, droppedMarkersUntil]),
    ),
  };
}

/** The tables that cannot be continued from the last backup with what was written since. */
function wholeOf(
  tables: readonly string[],
  { layouts, commit, lastDeletes }: TableMarks,
  last: BackupEntry | undefined,
): string[] {
  const before = last?.layouts ?? {};
  // Commits of a store that was restored to an earlier moment have numbers that others had.
  const isOther =
    (commit ?? -1) < (last?.commit ?? -1) || (commit !== undefined && last?.commit === undefined);
  return tables.filter(
    (table) =>
      isOther ||
      layouts[table] === null ||
      layouts[table] !== before[table] ||
      (lastDeletes[table] ?? 0) > (last?.commit ?? 0),
  );
}

/** The part of a record of a change of keys that matters here. */
export interface KeyChangeRecord {
  readonly from: string;
  readonly to: string;
  /** The tables of both entities; undefined in records of earlier releases. */
  readonly tables?: readonly string[];
  readonly state: string;
  /** Positions of change feeds. */
  readonly feedsFrom?: string;
  readonly feedsUntil?: string;
}

/**
 * Digests that differ after everything that changes a table at other timestamps than those of the change: upgrades and moves of
 * columns keep the timestamps of cells, as copies of a change of keys do; a table that is emptied or restored has other regions. Null while rows
 * are being rewritten. So does one whose families keep other cells than before, and one that has dropped what a restore would show.
 */
async function layoutsOf(
  engine: Engine,
  tables: readonly string[],
  changed: ReadonlyMap<string, TableChanges>,
): Promise<Record<string, string | null>> {
  const { admin } = engine;
  const control = controlTableDescriptor().name;
  const changes = (await admin.tableExists(control))
    ? (await new ControlTable(engine.table(control)).rekeys<KeyChangeRecord>()).map(({ value }) => value)
    : [];
  const layouts: Record<string, string | null> = {};
  for (const table of tables) {
    const { families, metadata } = await admin.getDescriptor(table);
    const stamps = stampTexts(metadata).map(([, text]) => readStamp(text));
    const known = stamps.filter((stamp) => typeof stamp !== 'string');
    const own = changes.filter(
      ({ from, to, tables: both }) =>
        (both === undefined || both.includes(table)) &&
        known.some(({ entity }) => entity === from || entity === to),
    );
    const isBeingChanged = own.some(({ state }) => state !== 'done' && state !== 'aborted');
    const [first] = await admin.getRegions(table);
    const { lastLoss } = changed.get(table) ?? {};
    const layout = [families, Object.entries(metadata).sort(), own, first?.name, lastLoss];
    layouts[table] =
      isBeingChanged || known.some(isBeingRewritten)
        ? null
        : createHash('sha256').update(JSON.stringify(layout)).digest('hex').slice(0, 16);
  }
  return layouts;
}

/** Whether there may be rows of an earlier version, or values of a property at its former place. */
function isBeingRewritten({ version, oldest, columns }: RecordStamp): boolean {
  const properties = columns.flatMap(({ property }) => property ?? []);
  return oldest < version || new Set(properties).size < properties.length;
}

/** Whether the backup has all cells of the table. */
export function isWhole({ kind, whole }: BackupEntry, table: string): boolean {
  return kind === 'full' || whole?.includes(table) === true;
}

/** The complete backups of a folder, oldest first. @throws InvalidArgumentError when there is none. */
export async function listBackups(folder: string): Promise<readonly BackupEntry[]> {
  const backups = await readBackups(folder);
  if (backups !== undefined) return backups.filter(({ complete }) => complete);
  throw new InvalidArgumentError(
    `${folder} has no backup of tables: it does not contain ${BACKUP_FILE}. Give a folder that \`rowan backup\` wrote; ` +
      'backups of `rowan store backup` are restored by `rowan store restore`.',
  );
}

/** The folder name for a table. */
export function folderOf(table: string): string {
  return encodeURIComponent(table);
}

async function readBackups(folder: string): Promise<readonly BackupEntry[] | undefined> {
  const path = join(folder, BACKUP_FILE);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new InvalidArgumentError(`${path} cannot be read: ${(cause as Error).message}.`, { cause });
  }
  try {
    const { format, version, backups } = JSON.parse(text) as BackupManifest;
    if (format === 'rowan-backup' && version === 1 && backups.every(isEntry)) return backups;
  } catch (cause) {
    throw new InvalidArgumentError(`${path} is not a list of backups: ${(cause as Error).message}.`, {
      cause,
    });
  }
  throw new InvalidArgumentError(`${path} is not a list of backups, or was written by a newer version.`);
}

/** Whether the entry is valid. A name that leads out of the folder is not. */
function isEntry(entry: BackupEntry): boolean {
  return (
    /^\d{4,}-(?:full|incremental)$/.test(entry.name) &&
    Number.isSafeInteger(entry.begun) &&
    Number.isSafeInteger(entry.from) &&
    (entry.commit === undefined || Number.isSafeInteger(entry.commit)) &&
    Array.isArray(entry.tables) &&
    entry.tables.every((table) => typeof table === 'string') &&
    (entry.whole === undefined || Array.isArray(entry.whole))
  );
}

async function writeBackups(folder: string, backups: readonly BackupEntry[]): Promise<void> {
  const manifest: BackupManifest = { format: 'rowan-backup', version: 1, backups };
  const path = join(folder, BACKUP_FILE);
  await atFile(path, async () => {
    await writeFile(`${path}.partial`, `${JSON.stringify(manifest, undefined, 2)}\n`, { flush: true });
    await rename(`${path}.partial`, path);
  });
}

/**
 * Backups of a whole embedded store in a folder, online and incremental. Each is a checkpoint, taken while reads and writes go on,
 * whose files are stored under the SHA-256 of their contents: what an earlier backup holds is not copied again. docs/formats.md has
 * the layout of the folder.
 */

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { InvalidArgumentError, RowanError, UnsupportedError } from '../errors.js';
import { makeFolder } from '../folders.js';
import { checkOptions, describe } from '../table/checks.js';
import {
  type BackupList,
  checkFolder,
  checkMark,
  damaged,
  FILES,
  inFolder,
  LISTS,
  placeOf,
  readLists,
  type StoreBackup,
  type StoredFile,
  summaryOf,
} from './backup-folder.js';
import { type CheckpointMoment, checkpoint } from './checkpoint.js';
import { diskOf } from './encryption/encrypted-file-system.js';
import type { EncryptionOptions } from './encryption/keys.js';
import { COPY_BYTES, copyFile, sizeOf, syncFolder, writeWhole } from './fs/copies.js';
import { NodeFileSystem, parseStoreFileName } from './fs/index.js';
import type { StoreCore } from './store-core.js';

export type { StoreBackup } from './backup-folder.js';

/** Options of {@link backupStore}. */
export interface StoreBackupOptions {
  /** Ends the backup with `ERR_ABORTED`, also within a file; files that were copied stay for the next one. */
  readonly signal?: AbortSignal;
  /** Called after each file, and after each 64 MiB of one, with bytes that were copied or found. */
  readonly onProgress?: (progress: { readonly bytes: number; readonly total: number }) => void;
}

/** Bytes of a file between two reports of progress. */
const REPORTED_BYTES = 64 << 20;

/** Follows the bytes of a backup or restore, and ends it where it was aborted. */
class CopyProgress {
  bytes = 0;
  private reported = 0;

  constructor(
    private readonly what: string,
    private readonly total: number,
    private readonly options: StoreBackupOptions,
  ) {}

  /** @throws RowanError `ERR_ABORTED`. */
  check(): void {
    const { signal } = this.options;
    if (signal?.aborted === true)
      throw new RowanError('ERR_ABORTED', `The ${this.what} was aborted.`, { cause: signal.reason });
  }

  /** Counts bytes of a file. @throws RowanError `ERR_ABORTED`. */
  add(bytes: number): void {
    this.check();
    this.bytes += bytes;
    if (this.bytes - this.reported >= REPORTED_BYTES) this.report();
  }

  report(): void {
    this.reported = this.bytes;
    this.options.onProgress?.({ bytes: this.bytes, total: this.total });
  }
}

/** Stores whose backup is being made. */
const busy = new WeakSet<StoreCore>();

/**
 * Adds a backup of the store to a folder, which is created if it is missing. Reads and writes go on meanwhile. It has every write
 * acknowledged before the call (but those with `SKIP_WAL` that are in no file). While it is made, a checkpoint `STORE.backup` stands
 * beside the store; one that a killed process left is removed first.
 * @throws InvalidArgumentError when the folder holds something else; RowanError `ERR_BUSY` when this store's backup is being made,
 *   `ERR_LOCKED` when another process works in the folder, `ERR_ABORTED`, `ERR_IO`. Nothing is listed then.
 */
export async function backupStore(
  core: StoreCore,
  folder: string,
  options: StoreBackupOptions = {},
): Promise<StoreBackup> {
  checkOptions('backup', options, { signal: true, onProgress: true });
  checkFolder('backup', folder);
  if (!(diskOf(core.environment.fileSystem) instanceof NodeFileSystem)) {
    throw new UnsupportedError(
      'A store on a file system of its own (`fileSystem`) has no backups. Copy its checkpoint.',
    );
  }
  if (busy.has(core)) {
    throw new RowanError('ERR_BUSY', 'A backup of this store is being made. Wait for its end.', {
      retryable: true,
    });
  }
  busy.add(core);
  try {
    return await inFolder(folder, true, () => addBackup(core, folder, options));
  } finally {
    busy.delete(core);
  }
}

async function addBackup(core: StoreCore, folder: string, options: StoreBackupOptions): Promise<StoreBackup> {
  const earlier = await readLists(folder);
  const known = new Map(earlier.at(-1)?.stored.map((file) => [file.name, file]));
  const time = Date.now();
  return withCheckpoint(core, async (source, moment) => {
    const names = (await readdir(source)).filter((name) => parseStoreFileName(name)?.kind !== 'lock').sort();
    const sizes = await Promise.all(names.map(async (name) => (await stat(join(source, name))).size));
    const total = sizes.reduce((sum, size) => sum + size, 0);
    const progress = new CopyProgress('backup', total, options);
    const stored: StoredFile[] = [];
    let added = 0;
    for (const name of names) {
      progress.check();
      const { file, isNew } = await storeFile(join(source, name), known.get(name), folder, progress);
      stored.push(file);
      if (isNew) added += file.bytes;
      progress.report();
    }
    await syncFolder(join(folder, FILES));
    const last = earlier.at(-1)?.name ?? '0';
    const list: BackupList = {
      name: String(Number(last) + 1).padStart(6, '0'),
      time,
      bytes: progress.bytes,
      added,
      files: stored.length,
      stored,
      moment,
    };
    await writeWhole(join(folder, LISTS, `${list.name}.json`), `${JSON.stringify(list)}\n`);
    return summaryOf(list);
  });
}

/**
 * Runs `use` with a checkpoint of the store in the folder `STORE.backup` beside it, where files can be linked, and removes it afterwards. One that
 * a killed process left is removed first.
 * @throws InvalidArgumentError when the folder holds something else; what `use` and checkpoints throw.
 */
export async function withCheckpoint<T>(
  core: StoreCore,
  use: (source: string, moment: CheckpointMoment) => Promise<T>,
): Promise<T> {
  const beside = `${resolve(core.environment.directory)}.backup`;
  await removeCheckpoint(beside);
  await mkdir(beside);
  try {
    const source = join(beside, 'store');
    return await use(source, await checkpoint(core, source));
  } finally {
    await removeCheckpoint(beside);
  }
}

/** Puts a file into the folder, unless it is there. */
async function storeFile(
  path: string,
  known: StoredFile | undefined,
  folder: string,
  progress: CopyProgress,
): Promise<{ readonly file: StoredFile; readonly isNew: boolean }> {
  const found = await stat(path, { bigint: true });
  const source = { inode: String(found.ino), modified: String(found.mtimeNs) };
  const isSame =
    known !== undefined &&
    known.bytes === Number(found.size) &&
    known.source.inode === source.inode &&
    known.source.modified === source.modified;
  if (isSame && (await sizeOf(placeOf(folder, known.sha256))) === known.bytes) {
    progress.bytes += known.bytes;
    return { file: known, isNew: false };
  }
  const partial = join(folder, FILES, 'partial');
  const { sha256, bytes } = await copyHashed(path, partial, progress).catch(async (error: unknown) => {
    await rm(partial, { force: true });
    throw error;
  });
  const file = { name: basename(path), bytes, sha256, source };
  const place = placeOf(folder, sha256);
  const isNew = (await sizeOf(place)) !== bytes;
  if (isNew) await rename(partial, place);
  else await rm(partial);
  return { file, isNew };
}

async function copyHashed(
  from: string,
  to: string,
  progress: CopyProgress,
): Promise<{ readonly sha256: string; readonly bytes: number }> {
  const digest = createHash('sha256');
  const bytes = await copyFile(from, to, (chunk) => {
    digest.update(chunk);
    progress.add(chunk.length);
  });
  return { sha256: digest.digest('hex'), bytes };
}

/**
 * The complete backups of a folder, oldest first.
 * @throws InvalidArgumentError when the folder holds no backups of stores.
 */
export async function storeBackups(folder: string): Promise<readonly StoreBackup[]> {
  checkFolder('storeBackups', folder);
  await checkMark(folder);
  return (await readLists(folder)).map(summaryOf);
}

/** Options of {@link restoreStore}. */
export interface StoreRestoreOptions {
  /** Ends the restore with `ERR_ABORTED` while the backup is copied; there is no `target` then. */
  readonly signal?: AbortSignal;
  /** Called after each file of the backup, and after each 64 MiB of one. */
  readonly onProgress?: (progress: { readonly bytes: number; readonly total: number }) => void;
  /**
   * The name of a backup, or a moment: then the last backup begun before or at it. Default: the last one. With `log`: a moment, or the
   * sequence number of a write (`engine.commits.last`); every write up to it is restored. Default: the end of the log.
   */
  readonly to?: string | number | Date;
  /** The folder of the store's log archive (option `logArchive`): what came after the backup is taken from there. */
  readonly log?: string;
  /** The keys of an encrypted store; needed with `log` only. */
  readonly encryption?: EncryptionOptions;
}

/** The result of a restore. */
export interface RestoredStore extends StoreBackup {
  /** With `log`: the last write that the store has, and how many records of the log were applied. */
  readonly log?: {
    readonly seq: number;
    /** When that write was made, ms; undefined when nothing came after the backup. */
    readonly time: number | undefined;
    readonly records: number;
  };
}

/**
 * Makes a store of a backup in `target`, a folder that must not exist. Every byte is checked. The store is made in `target.partial`
 * and renamed when it is complete. With `log` the store has every write that was made up to `to`, and no later one.
 * @throws InvalidArgumentError when the folder has no such backup, or `target` exists; CorruptionError when a file of the backup or a
 *   segment of the log is missing or has other contents; RowanError `ERR_LOCKED`, `ERR_ENCRYPTION`, `ERR_ABORTED`, `ERR_IO`. Then there is no
 *   `target`.
 */
export async function restoreStore(
  folder: string,
  target: string,
  options: StoreRestoreOptions = {},
): Promise<RestoredStore> {
  checkOptions('restoreStore', options, {
    to: true,
    log: true,
    encryption: true,
    signal: true,
    onProgress: true,
  });
  checkFolder('restoreStore', folder);
  checkFolder('restoreStore', target);
  return inFolder(folder, false, async () => {
    const { to, log, encryption } = options;
    const lists = await readLists(folder);
    const list = log === undefined ? choose(lists, folder, to) : before(lists, folder, to);
    if ((await sizeOf(target)) !== undefined) {
      throw new InvalidArgumentError(
        `"${target}" exists already. Give the path of a folder that does not exist yet.`,
      );
    }
    const partial = `${target}.partial`;
    await rm(partial, { recursive: true, force: true });
    makeFolder(partial);
    const progress = new CopyProgress('restore', list.bytes, options);
    try {
      for (const file of list.stored) {
        progress.check();
        const place = placeOf(folder, file.sha256);
        if ((await sizeOf(place)) === undefined) throw damaged(list, file, 'is missing');
        const { sha256 } = await copyHashed(place, join(partial, file.name), progress);
        if (sha256 !== file.sha256) throw damaged(list, file, 'has other contents than were stored');
        progress.report();
      }
      await syncFolder(partial);
      const applied = log === undefined ? undefined : await applyLog(partial, log, to, encryption);
      await rename(partial, target);
      await syncFolder(dirname(resolve(target)));
      return { ...summaryOf(list), ...(applied === undefined ? {} : { log: applied }) };
    } catch (error) {
      await rm(partial, { recursive: true, force: true });
      throw error;
    }
  });
}

async function applyLog(
  partial: string,
  log: string,
  to: string | number | Date | undefined,
  encryption: EncryptionOptions | undefined,
): Promise<NonNullable<RestoredStore['log']>> {
  const { replayArchive } = await import('./archive/replay-archive.js');
  const until = to instanceof Date ? { time: to.getTime() } : typeof to === 'number' ? { seq: to } : {};
  return replayArchive(resolve(partial), log, until, encryption);
}

/** The last backup that has nothing of what came after a moment or write. */
function before(
  lists: readonly BackupList[],
  folder: string,
  to: string | number | Date | undefined,
): BackupList {
  const isTime = to instanceof Date;
  const limit = isTime ? to.getTime() : to;
  if (limit !== undefined && !(Number.isSafeInteger(limit) && (limit as number) >= 0)) {
    throw new InvalidArgumentError(
      `restoreStore: with \`log\`, \`to\` is a Date or the sequence number of a write, not ${describe(to)}.`,
    );
  }
  const isBefore = ({ moment }: BackupList): boolean =>
    moment !== undefined && (limit === undefined || (isTime ? moment.time : moment.seq) <= (limit as number));
  const found = lists.findLast(isBefore);
  if (found !== undefined) return found;
  const all = lists.map(({ name, moment }) =>
    moment === undefined
      ? `${name} (of an earlier version, without its place in the log)`
      : `${name} (write ${moment.seq}, ${new Date(moment.time).toISOString()})`,
  );
  throw new InvalidArgumentError(
    `${folder} has no backup to begin with${limit === undefined ? '' : ` before ${isTime ? to.toISOString() : `write ${limit}`}`}. ` +
      `It has: ${all.join(', ') || 'none'}.`,
  );
}

function choose(
  lists: readonly BackupList[],
  folder: string,
  to: string | number | Date | undefined,
): BackupList {
  const isTime = to instanceof Date;
  if (to !== undefined && typeof to !== 'string' && (!isTime || Number.isNaN(to.getTime()))) {
    throw new InvalidArgumentError(
      `restoreStore: \`to\` is the name of a backup or a Date${typeof to === 'number' ? ' (a number needs `log`)' : ''}, not ${describe(to)}.`,
    );
  }
  const found = isTime
    ? lists.findLast(({ time }) => time <= to.getTime())
    : to === undefined
      ? lists.at(-1)
      : lists.find(({ name }) => name === to);
  if (found !== undefined) return found;
  const wanted = isTime ? ` of ${to.toISOString()} or before` : to === undefined ? '' : ` "${to}"`;
  const all = lists.map(({ name, time }) => `${name} (${new Date(time).toISOString()})`).join(', ');
  throw new InvalidArgumentError(`${folder} has no backup${wanted}. It has: ${all || 'none'}.`);
}

/**
 * Reads every file of every backup of a folder and checks its contents.
 * @returns the number of files and bytes read; a file that several backups share is read once.
 * @throws CorruptionError for the first file that is missing or has other contents, with the backup's name.
 */
export async function verifyStoreBackups(
  folder: string,
): Promise<{ readonly files: number; readonly bytes: number }> {
  checkFolder('verifyStoreBackups', folder);
  return inFolder(folder, false, async () => {
    const read = new Set<string>();
    let bytes = 0;
    for (const list of await readLists(folder)) {
      for (const file of list.stored) {
        if (read.has(file.sha256)) continue;
        read.add(file.sha256);
        const place = placeOf(folder, file.sha256);
        if ((await sizeOf(place)) === undefined) throw damaged(list, file, 'is missing');
        const digest = createHash('sha256');
        const chunks = createReadStream(place, { highWaterMark: COPY_BYTES }) as AsyncIterable<Buffer>;
        for await (const chunk of chunks) digest.update(chunk);
        if (digest.digest('hex') !== file.sha256)
          throw damaged(list, file, 'has other contents than were stored');
        bytes += file.bytes;
      }
    }
    return { files: read.size, bytes };
  });
}

/**
 * Removes all but the last `keep` backups of a folder, and the files that only they used.
 * @param options `keep`: the number of backups that stay, 1 or more. `log`: the folder of the store's log archive; what came before the
 *   last removed backup is removed from it, too.
 * @returns the removed backups, oldest first.
 */
export async function pruneStoreBackups(
  folder: string,
  options: { readonly keep: number; readonly log?: string },
): Promise<readonly StoreBackup[]> {
  checkOptions('pruneStoreBackups', options, { keep: true, log: true });
  checkFolder('pruneStoreBackups', folder);
  const { keep, log } = options;
  if (!Number.isSafeInteger(keep) || keep < 1) {
    throw new InvalidArgumentError(
      `pruneStoreBackups: \`keep\` is the number of backups that stay, 1 or more, not ${describe(keep)}.`,
    );
  }
  return inFolder(folder, false, async () => {
    const lists = await readLists(folder);
    const removed = lists.slice(0, -keep);
    // The lists first: a list whose files are gone would be a backup that cannot be restored.
    for (const { name } of removed) await rm(join(folder, LISTS, `${name}.json`));
    await syncFolder(join(folder, LISTS));
    const used = new Set(lists.slice(-keep).flatMap(({ stored }) => stored.map(({ sha256 }) => sha256)));
    for (const name of await readdir(join(folder, FILES)))
      if (!used.has(name)) await rm(join(folder, FILES, name));
    const moment = removed.at(-1)?.moment;
    if (log !== undefined && moment !== undefined) {
      const { pruneArchive } = await import('./archive/log-archive.js');
      await pruneArchive(log, moment.seq);
    }
    return removed.map(summaryOf);
  });
}

/** Removes a checkpoint that was made for a backup, and nothing else. */
async function removeCheckpoint(beside: string): Promise<void> {
  const names = await readdir(beside).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (names === undefined) return;
  const stranger = names.find((name) => name !== 'store' && name !== 'store.partial');
  if (stranger !== undefined) {
    throw new InvalidArgumentError(
      `A backup makes its checkpoint in "${beside}", but that name is in use by something else ("${stranger}" in it). Move it away.`,
    );
  }
  await rm(beside, { recursive: true });
}

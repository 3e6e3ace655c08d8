/** A folder of backups of stores: its lists, its files, and who may work in it. docs/formats.md has its layout. */

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CorruptionError, fileError, InvalidArgumentError, RowanError, UnsupportedError } from '../errors.js';
import { makeFolder } from '../folders.js';
import { describe } from '../table/checks.js';
import type { CheckpointMoment } from './checkpoint.js';
import { NEW_DISK, writeWhole } from './fs/copies.js';
import { type DirectoryLock, NodeFileSystem, parseStoreFileName } from './fs/index.js';

/** Says that a folder holds backups, and in which format. */
const MARK = 'ROWAN-BACKUPS';
const FORMAT = 'rowan-store-backups 1\n';
export const LISTS = 'backups';
export const FILES = 'files';

/** A file of a store as a backup has it. */
export interface StoredFile {
  readonly name: string;
  readonly bytes: number;
  /** Of its contents, in hex; also its name in the folder. */
  readonly sha256: string;
  /** The file that was read: it does not change, so a later backup that finds the same one does not read it again. */
  readonly source: { readonly inode: string; readonly modified: string };
}

/** A complete backup of a store. */
export interface StoreBackup {
  /** "000001", "000002", … */
  readonly name: string;
  /** When it was begun, ms: it has every write that was acknowledged before. */
  readonly time: number;
  /** The bytes of the store's files. */
  readonly bytes: number;
  /** The bytes that no earlier backup of the folder had. */
  readonly added: number;
  readonly files: number;
}

/** A backup with its files, as its list in the folder names them. */
export interface BackupList extends StoreBackup {
  readonly stored: readonly StoredFile[];
  /** The moment of the backup; a log archive has the later writes. Earlier versions did not record it. */
  readonly moment?: CheckpointMoment;
}

/** Runs `work` as the only one that works in the folder. */
export async function inFolder<T>(folder: string, mayCreate: boolean, work: () => Promise<T>): Promise<T> {
  let lock: DirectoryLock;
  try {
    if (mayCreate) await create(folder);
    await checkMark(folder);
    lock = await new NodeFileSystem().lock(folder);
  } catch (error) {
    if (!(error instanceof RowanError) || error.code !== 'ERR_LOCKED') throw fileError(error, folder);
    throw new RowanError(
      'ERR_LOCKED',
      `Another process works in the folder of backups "${folder}". Wait for its end.`,
      {
        cause: error,
        retryable: true,
        details: { file: folder },
      },
    );
  }
  try {
    return await work();
  } catch (error) {
    throw fileError(error, folder);
  } finally {
    await lock.release();
  }
}

/** Makes an empty or missing folder one of backups. */
async function create(folder: string): Promise<void> {
  makeFolder(folder);
  const names = await readdir(folder);
  if (names.includes(MARK)) return;
  const stranger = names.find((name) => ![LISTS, FILES, `${MARK}.partial`, NEW_DISK].includes(name));
  if (stranger !== undefined) {
    throw new InvalidArgumentError(
      `"${folder}" holds no backups of stores, and is not empty ("${stranger}" in it). Give an empty or a new folder.`,
    );
  }
  makeFolder(join(folder, LISTS));
  makeFolder(join(folder, FILES));
  await writeWhole(join(folder, MARK), FORMAT);
}

/** @throws InvalidArgumentError when the folder holds no backups; UnsupportedError when they are of another format. */
export async function checkMark(folder: string): Promise<void> {
  let text: string;
  try {
    text = await readFile(join(folder, MARK), 'utf8');
  } catch (cause) {
    throw new InvalidArgumentError(
      `"${folder}" holds no backups of stores: it has no file ${MARK}. Backups of \`rowan backup\` are restored by \`rowan restore\`.`,
      { cause },
    );
  }
  if (text === FORMAT) return;
  throw new UnsupportedError(
    `"${folder}" holds backups of another format (${describe(text.trim())}). Use the version of Rowan that made them.`,
  );
}

/** The backups of a folder, oldest first. @throws CorruptionError naming a damaged list. */
export async function readLists(folder: string): Promise<readonly BackupList[]> {
  const names = (await readdir(join(folder, LISTS))).filter((name) => /^\d{6,}\.json$/.test(name));
  names.sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10));
  return Promise.all(
    names.map(async (name) => {
      const path = join(folder, LISTS, name);
      try {
        return checkedList(JSON.parse(await readFile(path, 'utf8')));
      } catch (cause) {
        throw new CorruptionError(
          `"${path}" is no list of a backup. Remove it; the other backups are not touched.`,
          {
            cause,
            details: { file: path, offset: 0 },
          },
        );
      }
    }),
  );
}

/** @throws TypeError on what no backup wrote: names and digests become paths. */
function checkedList(value: unknown): BackupList {
  const list = value as BackupList;
  const isFile = ({ name, sha256, bytes, source }: StoredFile): boolean =>
    parseStoreFileName(name) !== undefined &&
    /^[0-9a-f]{64}$/.test(sha256) &&
    Number.isSafeInteger(bytes) &&
    typeof source.inode === 'string';
  if (!/^\d{6,}$/.test(list.name) || !Number.isSafeInteger(list.time) || !list.stored.every(isFile))
    throw new TypeError('Fields are missing or have other types.');
  return list;
}

export function summaryOf({ name, time, bytes, added, files }: BackupList): StoreBackup {
  return { name, time, bytes, added, files };
}

/** The path of a file by the digest of its contents. */
export function placeOf(folder: string, sha256: string): string {
  return join(folder, FILES, sha256);
}

export function damaged({ name }: BackupList, file: StoredFile, what: string): CorruptionError {
  return new CorruptionError(
    `The backup ${name} is damaged: its file ${file.name} (${FILES}/${file.sha256}) ${what}. Restore another backup.`,
    { details: { file: file.sha256, offset: 0 } },
  );
}

/** @throws InvalidArgumentError when the argument of `call` is no path. */
export function checkFolder(call: string, folder: string): void {
  if (typeof folder !== 'string' || folder === '' || folder.includes('\0'))
    throw new InvalidArgumentError(`${call} takes the path of a folder, not ${describe(folder)}.`);
}

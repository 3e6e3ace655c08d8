/**
 * CURRENT: three lines of ASCII that name the store's MANIFEST.
 *
 *     rowan 1                   the version of the store's format
 *     MANIFEST-000005 1234      the file, and how many of its bytes are known to be on the disk
 *     9ae0daaf                  the crc-32 of the first two lines, line ends included
 */

import { crc32, toBytes } from '../../bytes/index.js';
import { CorruptionError, RowanError } from '../../errors.js';
import { ON_DAMAGE } from '../encoding/data-block.js';
import {
  CURRENT_FILE,
  CURRENT_TEMPORARY_FILE,
  type FileSystem,
  joinPath,
  manifestFileName,
} from '../fs/index.js';

/** The version of the store's format as a whole. */
const STORE_FORMAT_VERSION = 1;

interface Current {
  /** The number of the MANIFEST. */
  readonly manifest: number;
  /** Bytes of it that were synced when CURRENT was written. */
  readonly length: number;
}

/** The content of CURRENT. */
export function formatCurrent(current: Current): string {
  const lines = `rowan ${STORE_FORMAT_VERSION}\n${manifestFileName(current.manifest)} ${current.length}\n`;
  return `${lines}${crcOf(lines)}\n`;
}

/**
 * @throws CorruptionError when it is damaged; RowanError `ERR_FORMAT_VERSION` when a newer release wrote it;
 *   `ERR_NOT_A_STORE` when it is another program's.
 */
export function parseCurrent(content: string, path: string): Current {
  // LevelDB, RocksDB and others derived from it have a CURRENT of this one line.
  if (/^MANIFEST-\d+\n?$/.test(content)) {
    throw new RowanError(
      'ERR_NOT_A_STORE',
      `The file "${path}" was written by LevelDB or RocksDB: the folder is not a store of Rowan. Give another path.`,
      { details: { file: path } },
    );
  }
  const match = /^(rowan (\d+)\n([\s\S]*\n))([0-9a-f]{8})\n$/.exec(content);
  if (match === null || crcOf(match[1]!) !== match[4]) throw damaged(path);
  const version = Number(match[2]);
  if (version !== STORE_FORMAT_VERSION) {
    throw new RowanError(
      'ERR_FORMAT_VERSION',
      `The store has format version ${version}; this release of Rowan reads version ${STORE_FORMAT_VERSION}. ` +
        'Open it with the release that wrote it, or a newer one.',
      { details: { file: path, version } },
    );
  }
  const line = /^MANIFEST-(\d{6,16}) (\d{1,15})\n$/.exec(match[3]!);
  if (line === null) throw damaged(path);
  return { manifest: Number(line[1]), length: Number(line[2]) };
}

export function readCurrent(files: FileSystem, directory: string): Current {
  const path = joinPath(directory, CURRENT_FILE);
  const file = files.openRead(path);
  try {
    if (file.size > 4096) throw damaged(path);
    const bytes = new Uint8Array(file.size);
    file.read(bytes, 0, bytes.length, 0);
    return parseCurrent(Buffer.from(bytes).toString('latin1'), path);
  } finally {
    file.close();
  }
}

/** Writes a temporary file with the new contents and syncs it. If this fails, nothing has changed. */
export function prepareCurrent(files: FileSystem, directory: string, current: Current): void {
  const path = joinPath(directory, CURRENT_TEMPORARY_FILE);
  if (files.exists(path)) files.unlink(path);
  const file = files.create(path);
  try {
    const bytes = toBytes(formatCurrent(current));
    file.write(bytes, 0, bytes.length);
    file.sync();
  } finally {
    file.close();
  }
}

/** Replaces CURRENT by the temporary file. If this fails, either version may be found after a restart. */
export function switchCurrent(files: FileSystem, directory: string): void {
  files.rename(joinPath(directory, CURRENT_TEMPORARY_FILE), joinPath(directory, CURRENT_FILE));
  files.syncDirectory(directory);
}

function crcOf(text: string): string {
  const bytes = Buffer.from(text, 'latin1');
  return crc32(bytes, 0, bytes.length).toString(16).padStart(8, '0');
}

function damaged(path: string): CorruptionError {
  return new CorruptionError(
    `The file "${path}", which names the store's MANIFEST, is damaged. Nothing was changed.${ON_DAMAGE}`,
    { details: { file: path, offset: 0 } },
  );
}

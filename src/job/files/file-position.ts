import { createHash } from 'node:crypto';
import { type FileHandle, open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { InvalidArgumentError } from '../../errors.js';
import type { Result, ResultScanner } from '../../table/index.js';
import type { RowRange } from '../types.js';
import { UNFINISHED_EXPORT } from './part-file.js';

// — Positions in files as rows of a table, so that a job's splits and checkpoints can refer to them.

/** A position: the index of the file among the job's files, and the byte offset. */
interface FilePosition {
  readonly file: number;
  readonly offset: number;
}

/** A position as a row: the file index (4 bytes), the offset (8 bytes). */
export function rowOfPosition({ file, offset }: FilePosition): Uint8Array {
  // Created for each line, so it uses no bigint and no pooled Buffer.
  const row = new Uint8Array(12);
  writeUint32(row, 0, file);
  writeUint32(row, 4, Math.floor(offset / 2 ** 32));
  writeUint32(row, 8, offset % 2 ** 32);
  return row;
}

function writeUint32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 24;
  bytes[at + 1] = value >>> 16;
  bytes[at + 2] = value >>> 8;
  bytes[at + 3] = value;
}

/** The position encoded in a row or in its first bytes. */
export function positionOfRow(row: Uint8Array): FilePosition {
  return { file: uint32At(row, 0), offset: uint32At(row, 4) * 2 ** 32 + uint32At(row, 8) };
}

function uint32At(bytes: Uint8Array, at: number): number {
  return ((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>> 0;
}

/** One range for each of `count` files. */
export function rangesOfFiles(count: number): RowRange[] {
  return Array.from({ length: count }, (_, file) => ({
    start: rowOfPosition({ file, offset: 0 }),
    stop: rowOfPosition({ file: file + 1, offset: 0 }),
  }));
}

/**
 * The size of a file.
 * @throws InvalidArgumentError for a path that is not a readable file.
 */
export async function fileSize(path: string): Promise<number> {
  try {
    const found = await stat(path);
    if (found.isFile()) return found.size;
  } catch (cause) {
    throw unreadable(path, cause);
  }
  throw new InvalidArgumentError(`${path} is not a file. Name the files themselves.`);
}

/** The first bytes of a file, fewer where it is shorter. @throws InvalidArgumentError for a file that cannot be read. */
export async function firstBytes(path: string, count: number): Promise<Buffer> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(path, 'r');
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(count), 0, count, 0);
    return buffer.subarray(0, bytesRead);
  } catch (cause) {
    throw unreadable(path, cause);
  } finally {
    await handle?.close();
  }
}

function unreadable(path: string, cause: unknown): InvalidArgumentError {
  return new InvalidArgumentError(
    `${path} cannot be read: ${(cause as Error).message}. Give the path of a file that you may read.`,
    { cause },
  );
}

/**
 * Identifies the files by their names and present sizes, so that a job is not resumed with changed files, in which its
 * positions would be wrong.
 * @throws InvalidArgumentError as {@link fileSize}.
 */
export async function filesIdentity(paths: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  let bytes = 0;
  for (const path of paths) {
    const size = await fileSize(path);
    hash.update(JSON.stringify([path, size]));
    bytes += size;
  }
  const files = paths.length === 1 ? '1 file' : `${paths.length} files`;
  return `${files} of ${bytes} bytes (${hash.digest('hex').slice(0, 16)})`;
}

const IDENTITY = /(\d+ files? of \d+ bytes) \([0-9a-f]{16}\)/;

/** The identity of the files before and now, if two signatures differ only in the files that are read. */
export function otherFiles(
  before: string,
  now: string,
): { readonly before: string; readonly now: string } | undefined {
  const [first, second] = [IDENTITY.exec(before), IDENTITY.exec(now)];
  if (first === null || second === null) return undefined;
  if (before.replace(first[0], '') !== now.replace(second[0], '')) return undefined;
  return { before: first[1]!, now: second[1]! };
}

/**
 * Expands paths: folders into the files that a sink with this extension wrote there, in order; files stay as they are.
 * @throws InvalidArgumentError when there is none, and for a folder whose export has not ended.
 */
export async function filesAt(paths: readonly string[], extension: string): Promise<string[]> {
  const found = await Promise.all(paths.map((path) => filesOf(path, extension)));
  const files = found.flat();
  if (files.length > 0) return files;
  throw new InvalidArgumentError(
    `No file to read: name .${extension} files, or a folder that contains some.`,
  );
}

async function filesOf(path: string, extension: string): Promise<string[]> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() !== true) return [path];
  const all = await readdir(path);
  if (all.includes(UNFINISHED_EXPORT)) {
    throw new InvalidArgumentError(
      `${path} has an export that has not ended (its file ${UNFINISHED_EXPORT} says so): items are missing. Repeat the export, or name the ` +
        'files to read what they have.',
    );
  }
  const names = all.filter((name) => name.startsWith('part-') && name.endsWith(`.${extension}`));
  return names.sort().map((name) => join(path, name));
}

/** Reads a file as the rows of a table. */
export abstract class FileScanner implements ResultScanner {
  protected handle: FileHandle | undefined;
  protected ended = false;

  constructor(protected readonly path: string) {}

  abstract next(): Promise<Result | undefined>;

  protected async openFile(): Promise<void> {
    this.handle = await open(this.path, 'r');
  }

  /** Ends the scan. */
  protected finish(): undefined {
    this.ended = true;
    return undefined;
  }

  async nextBatch(count: number): Promise<Result[]> {
    const rows: Result[] = [];
    while (rows.length < count) {
      const row = await this.next();
      if (row === undefined) break;
      rows.push(row);
    }
    return rows;
  }

  async close(): Promise<void> {
    this.ended = true;
    const { handle } = this;
    this.handle = undefined;
    await handle?.close();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Result, void> {
    try {
      for (let row = await this.next(); row !== undefined; row = await this.next()) yield row;
    } finally {
      await this.close();
    }
  }
}

import { createHash } from 'node:crypto';
import { type FileHandle, open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { CorruptionError, InvalidArgumentError } from '../../errors.js';
import type { Result, ResultScanner } from '../../table/index.js';
import type { RowRange } from '../types.js';

/** Places in files as rows of a table, so that a job's splits and checkpoints say where in its files it stands. */

/** Where something begins: the number of the file among those of the job, and the byte. */
export interface FilePlace {
  readonly file: number;
  readonly offset: number;
}

/** A place as a row: the number of the file (4 bytes), the offset (8 bytes). */
export function rowOfPlace({ file, offset }: FilePlace): Uint8Array {
  // Made for each line: bytes on the heap and no bigint.
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

/** The place that a row is, or begins with. */
export function placeOfRow(row: Uint8Array): FilePlace {
  const bytes = Buffer.from(row.buffer, row.byteOffset, row.length);
  return { file: bytes.readUInt32BE(0), offset: Number(bytes.readBigUInt64BE(4)) };
}

/** Each of so many files as one range. */
export function rangesOfFiles(count: number): RowRange[] {
  return Array.from({ length: count }, (_, file) => ({
    start: rowOfPlace({ file, offset: 0 }),
    stop: rowOfPlace({ file: file + 1, offset: 0 }),
  }));
}

/** @throws InvalidArgumentError for what is no file that can be read. */
export async function fileSize(path: string): Promise<number> {
  try {
    const found = await stat(path);
    if (found.isFile()) return found.size;
  } catch (cause) {
    throw new InvalidArgumentError(`${path} cannot be read: ${(cause as Error).message}.`, { cause });
  }
  throw new InvalidArgumentError(`${path} is no file. Name the files themselves.`);
}

/**
 * A text that only these files, with the sizes that they have now, make: a job whose places are in other files is not gone on with.
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

/** What the files were and are, where two signatures differ in nothing but the identity of the files that are read. */
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
 * The files that paths name: those that a sink of this extension wrote into a folder, in their order, and files as they are.
 * @throws InvalidArgumentError when there is none.
 */
export async function filesAt(paths: readonly string[], extension: string): Promise<string[]> {
  const found = await Promise.all(paths.map((path) => filesOf(path, extension)));
  const files = found.flat();
  if (files.length > 0) return files;
  throw new InvalidArgumentError(`There is no file to read: name .${extension} files, or a folder of them.`);
}

async function filesOf(path: string, extension: string): Promise<string[]> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() !== true) return [path];
  const names = (await readdir(path)).filter(
    (name) => name.startsWith('part-') && name.endsWith(`.${extension}`),
  );
  return names.sort().map((name) => join(path, name));
}

/** The file that a split of a job writes, and goes on with at its checkpoint. */

/**
 * Opens the file to be written from its beginning, or, `resumed` being the bytes that it had at the checkpoint, from there: what an
 * attempt wrote behind it is cut away.
 * @throws CorruptionError when it is gone or has fewer bytes than that: what is missing would be a hole.
 */
export async function openPart(path: string, resumed: number | undefined): Promise<FileHandle> {
  if (resumed === undefined) return open(path, 'w+');
  let file: FileHandle;
  try {
    file = await open(path, 'r+');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause;
    throw changed(path, 'it is not there', resumed, cause);
  }
  try {
    const { size } = await file.stat();
    if (size < resumed) throw changed(path, `it has ${size}`, resumed);
    await file.truncate(resumed);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

function changed(path: string, found: string, resumed: number, cause?: unknown): CorruptionError {
  return new CorruptionError(
    `${path} had ${resumed} bytes when its job was checkpointed, and ${found}: it was removed or cut since. Put it back, or begin ` +
      'the job anew ({ restart: true }, --restart).',
    { cause, details: { file: path, offset: resumed } },
  );
}

/** Reads a file as the rows of a table, one after the other. */

export abstract class FileScanner implements ResultScanner {
  protected handle: FileHandle | undefined;
  protected ended = false;

  constructor(protected readonly path: string) {}

  abstract next(): Promise<Result | undefined>;

  protected async openFile(): Promise<void> {
    this.handle = await open(this.path, 'r');
  }

  /** There are no more rows. */
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

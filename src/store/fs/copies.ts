/** Files beside stores, on the real disk only: backups and archives copy files and write whole ones that survive a loss of power. */

import { createReadStream } from 'node:fs';
import { type FileHandle, open, rename, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Bytes that are read at a time. */
export const COPY_BYTES = 1 << 20;

/** The folder that a new ext4 file system has. */
export const NEW_DISK = 'lost+found';

/** Copies a file, over any of that name, and syncs the copy; `onChunk` receives its bytes. @returns their number. */
export async function copyFile(from: string, to: string, onChunk: (chunk: Buffer) => void): Promise<number> {
  let bytes = 0;
  const target = await open(to, 'w');
  try {
    for await (const chunk of createReadStream(from, {
      highWaterMark: COPY_BYTES,
    }) as AsyncIterable<Buffer>) {
      onChunk(chunk);
      await writeAll(target, chunk, chunk.length, bytes);
      bytes += chunk.length;
    }
    await target.sync();
  } finally {
    await target.close();
  }
  return bytes;
}

/** Writes the first `length` bytes: a disk that is nearly full takes a part of them, without an error. */
export async function writeAll(
  file: FileHandle,
  bytes: Uint8Array,
  length: number,
  position: number,
): Promise<void> {
  for (let at = 0; at < length; )
    at += (await file.write(bytes, at, length - at, position + at)).bytesWritten;
}

/** The size of a file or folder; undefined where there is none. */
export async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Writes a file that is whole or not there, also after a loss of power. */
export async function writeWhole(path: string, text: string): Promise<void> {
  const partial = `${path}.partial`;
  const file = await open(partial, 'w');
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(partial, path);
  await syncFolder(dirname(path));
}

/** Makes the names in a folder survive a loss of power. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

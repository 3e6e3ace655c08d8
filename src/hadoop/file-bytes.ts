/** Bytes of files, and what is wrong with them said with the file and the byte. */

import type { FileHandle } from 'node:fs/promises';
import { CorruptionError, UnsupportedError } from '../errors.js';

/** @throws CorruptionError when the file ends before. */
export async function readAt(handle: FileHandle, offset: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  for (let from = 0; from < length; ) {
    const { bytesRead } = await handle.read(bytes, from, length - from, offset + from);
    if (bytesRead === 0) throw new CorruptionError('it ends too early');
    from += bytesRead;
  }
  return bytes;
}

/** A place in a file of some kind. */
export interface PlaceRead {
  readonly path: string;
  readonly offset: number;
  /** "an HFile". */
  readonly kind: string;
}

/** Runs `read`, whose CorruptionErrors and UnsupportedErrors say why, and are said anew with the place. */
export async function naming<T>({ path, offset, kind }: PlaceRead, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    if (cause instanceof UnsupportedError) throw new UnsupportedError(`${path}: ${cause.message}`, { cause });
    if (!(cause instanceof CorruptionError)) throw cause;
    throw new CorruptionError(
      `${path} cannot be read as ${kind} at byte ${offset}: ${cause.message}. Copy the file again.`,
      { cause, details: { file: path, offset } },
    );
  }
}

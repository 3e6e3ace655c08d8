/** How folders are made on the real disk. */

import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { errnoOf, ioError, RowanError } from './errors.js';

/**
 * Makes a folder and its missing parents, as Node's `mkdir` with `recursive` does. Node's call never returns where a folder that
 * exists answers "no such file" to new names, as /proc does.
 *
 * @returns the first folder that it made, nearest to the root; undefined when there was nothing to make.
 * @throws RowanError `ERR_IO`, which names the folder that could not be made.
 */
export function makeFolder(path: string): string | undefined {
  const folder = resolve(path);
  const failure = tryToMake(folder);
  if (failure === undefined) return folder;
  if (isFolder(folder)) return undefined;
  const parent = dirname(folder);
  if (errnoOf(failure) !== 'ENOENT' || parent === folder) throw refused(folder, failure);
  if (isFolder(parent)) throw takesNone(folder, parent, failure);
  const first = makeFolder(parent);
  const second = tryToMake(folder);
  if (second !== undefined && !isFolder(folder)) throw refused(folder, second);
  return first ?? folder;
}

/** The error of one attempt; undefined when the folder is made. */
function tryToMake(folder: string): unknown {
  try {
    mkdirSync(folder);
    return undefined;
  } catch (error) {
    return error;
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

function refused(folder: string, cause: unknown): RowanError {
  return ioError('make the folder', folder, errnoOf(cause), cause);
}

function takesNone(folder: string, parent: string, cause: unknown): RowanError {
  return new RowanError(
    'ERR_IO',
    `Could not make the folder "${folder}" (ENOENT). "${parent}" exists, but its file system takes no new folders: choose another path.`,
    { cause, details: { file: folder, call: 'make the folder', errno: 'ENOENT' } },
  );
}

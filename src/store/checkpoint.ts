/** An openable copy of a store at one moment, made of hard links while writes go on. */

import { InvalidArgumentError } from '../errors.js';
import { joinPath, parentPath, sortedFileName, walFileName } from './fs/index.js';
import { liveFiles, Manifest, snapshotEdits } from './manifest/index.js';
import type { StoreCore } from './store-core.js';

const COPY_BYTES = 1 << 20;

/**
 * Makes a store in `target`, a folder that is not there yet, with every write acknowledged so far, but for those of
 * `SKIP_WAL` that are in no file. Sorted files and
 * closed log segments are linked (copied where the disk has no links), the open segment is copied.
 * @throws InvalidArgumentError when `target` exists; RowanError `ERR_IO`: then `target` is not there.
 */
export async function checkpoint(core: StoreCore, target: string): Promise<void> {
  const { fileSystem, directory } = core;
  if (fileSystem.exists(target)) {
    throw new InvalidArgumentError(
      `"${target}" exists already. Give the path of a folder that is to be made.`,
    );
  }
  await core.commits.settle();
  const partial = `${target}.partial`;
  removeFolder(core, partial);
  const manifest = Manifest.open(fileSystem, partial);
  try {
    // No await from here on: the files that the state names stay until it is done.
    core.wal.flushToOs();
    const state = core.manifest.state;
    for (const { number } of liveFiles(state).values()) {
      const name = sortedFileName(number);
      fileSystem.link(joinPath(directory, name), joinPath(partial, name));
    }
    for (const { number, closed } of state.walSegments.values()) {
      const name = walFileName(number);
      if (closed) fileSystem.link(joinPath(directory, name), joinPath(partial, name));
      else copyFile(core, joinPath(directory, name), joinPath(partial, name));
    }
    manifest.log(snapshotEdits(state));
    manifest.close();
    fileSystem.syncDirectory(partial);
    fileSystem.rename(partial, target);
    fileSystem.syncDirectory(parentPath(target));
  } catch (error) {
    manifest.abandon();
    removeFolder(core, partial);
    throw error;
  }
}

function copyFile({ fileSystem }: StoreCore, from: string, to: string): void {
  const source = fileSystem.openRead(from);
  try {
    const copy = fileSystem.create(to);
    try {
      const buffer = new Uint8Array(COPY_BYTES);
      for (let at = 0; at < source.size; ) {
        const read = source.read(buffer, 0, COPY_BYTES, at);
        if (read === 0) break;
        copy.write(buffer, 0, read);
        at += read;
      }
      copy.sync();
    } finally {
      copy.close();
    }
  } finally {
    source.close();
  }
}

/** What an earlier, interrupted checkpoint has left. */
function removeFolder({ fileSystem }: StoreCore, folder: string): void {
  if (!fileSystem.exists(folder)) return;
  for (const name of fileSystem.readdir(folder)) fileSystem.unlink(joinPath(folder, name));
  fileSystem.rmdir(folder);
}

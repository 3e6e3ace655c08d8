/**
 * A look into a store that changes nothing and needs no lock, so that it can be had beside the process that has the
 * store open: what is there at one moment, the log included.
 */

import { CorruptionError, RowanError } from '../errors.js';
import { FileHandleCache } from './cache/index.js';
import { StoreEnvironment } from './environment.js';
import { errnoOf, type FileSystem, NodeFileSystem } from './fs/index.js';
import { inspectDirectory } from './manifest/index.js';
import { storeSettings } from './options.js';
import { noStore, type ReadStore, readStore } from './recovery.js';
import { type StoreStats, storeStats } from './stats.js';
import { type VerifyReport, verifyStore } from './verify.js';

/** How often a look is begun again when files were replaced under it. */
const TRIES = 5;

export class StoreView {
  private constructor(
    private readonly read: ReadStore,
    private readonly release: () => void,
  ) {}

  /**
   * @throws RowanError `ERR_NOT_A_STORE` when there is none: nothing is made; CorruptionError naming file and offset.
   */
  static async open(directory: string, files: FileSystem = new NodeFileSystem()): Promise<StoreView> {
    const path = files.absolute?.(directory) ?? directory;
    if (inspectDirectory(files, path) === 'new') throw noStore(path);
    return again(() => StoreView.openOnce(path, files));
  }

  /** Reads a store whole, as {@link verifyStore} does. */
  static async verify(directory: string, files?: FileSystem): Promise<VerifyReport> {
    return again(async () => {
      const view = await StoreView.open(directory, files);
      try {
        const { tables } = view.read;
        return await verifyStore({ catalog: { tables: () => tables }, checkOpen: () => {} });
      } finally {
        view.close();
      }
    });
  }

  private static async openOnce(path: string, files: FileSystem): Promise<StoreView> {
    const fileSystem = files.hold?.(path) ?? files;
    const settings = storeSettings({ fileSystem, background: 'inline', automatic: false });
    const handles = new FileHandleCache(fileSystem, settings.maxOpenFiles);
    const release = (): void => {
      handles.closeAll();
      fileSystem.letGo?.();
    };
    try {
      return new StoreView(
        await readStore(new StoreEnvironment(path, fileSystem, settings), handles),
        release,
      );
    } catch (error) {
      release();
      throw error;
    }
  }

  stats(): StoreStats {
    const { tables, found, cache, lastSeq, rowClock, log } = this.read;
    const openLogBytes = log.closed?.length ?? 0;
    return storeStats({
      tables,
      state: found.state,
      openLogBytes,
      cache,
      lastSeq,
      rowClock,
      openScanners: 0,
    });
  }

  close(): void {
    this.release();
  }
}

/** A process that has the store open replaces its files at any time; what is wrong for good is so every time. */
async function again<T>(look: () => Promise<T>): Promise<T> {
  for (let left = TRIES; ; left--) {
    try {
      return await look();
    } catch (error) {
      const gone = error instanceof RowanError && errnoOf(error) === 'ENOENT';
      if (left === 0 || !(gone || error instanceof CorruptionError)) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

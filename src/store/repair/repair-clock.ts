/**
 * Repairs the clock of a store that has assigned timestamps in the future, because the machine's clock was wrong. A store's clock never
 * goes back by itself (`RowClock`), and the log and the MANIFEST keep it across openings.
 */

import { CorruptionError } from '../../errors.js';
import { FileHandleCache } from '../cache.js';
import { loadKeys, withEncryption } from '../encryption/encrypted-file-system.js';
import type { EncryptionOptions } from '../encryption/keys.js';
import { StoreEnvironment } from '../environment.js';
import { type FileSystem, NodeFileSystem } from '../fs/index.js';
import { type Edit, Manifest } from '../manifest/index.js';
import { storeSettings } from '../options.js';
import { openStore, readStore } from '../recovery.js';

/** Times are in milliseconds since 1970. */
interface ClockRepairReport {
  /** The lowest timestamp that the next write would have got. */
  readonly before: number;
  /** The lowest timestamp that the next write gets now. */
  readonly after: number;
  /** Tables with cells that have later timestamps, and the latest of each. */
  readonly tables: readonly { readonly table: string; readonly latest: number }[];
}

/**
 * Sets the clock of the store in `directory` back to `now`. Cells keep their timestamps. All memstores are flushed first, because the
 * log records the clock, too.
 * @param now default: the machine's time
 * @throws RowanError `ERR_LOCKED`, `ERR_NOT_A_STORE`; CorruptionError when the store is damaged: repair it first.
 */
export async function repairStoreClock(
  directory: string,
  fileSystem: FileSystem = new NodeFileSystem(),
  now: number = Date.now(),
  encryption?: EncryptionOptions,
): Promise<ClockRepairReport> {
  const options = {
    fileSystem,
    background: 'inline',
    automatic: false,
    createIfMissing: false,
    ...(encryption && { encryption }),
  } as const;
  const core = await openStore(directory, options);
  try {
    // Includes disabled tables.
    for (const state of core.catalog.tables()) {
      for (const region of state.regions) {
        for (const store of region.stores) await core.maintenance.flush({ state, region, store });
      }
    }
  } finally {
    await core.close();
  }
  const path = fileSystem.absolute?.(directory) ?? directory;
  const lock = await fileSystem.lock(path);
  const opened = withEncryption(fileSystem, encryption);
  const environment = new StoreEnvironment(path, opened, storeSettings(options));
  const files = new FileHandleCache(opened, environment.settings.maxOpenFiles);
  try {
    await loadKeys(opened, path);
    const { found, tables, rowClock, lastSeq } = await readStore(environment, files);
    const times = tables.map(({ name, regions }) => {
      const stores = regions.flatMap((region) => region.stores.map(({ version }) => version));
      if (stores.some(({ active }) => active.size > 0)) {
        throw new CorruptionError(
          `The log of the store in "${path}" has writes of the table "${name}" that are in no file, although all were flushed. ` +
            'Another process has opened it meanwhile: close it there and try again.',
        );
      }
      const read = stores.flatMap((version) => version.files.map(({ reader }) => reader.meta.maxTimestamp));
      return { table: name, latest: read.reduce((a, b) => Math.max(a, b), 0) };
    });
    const before = rowClock.highest;
    const after = Math.min(before, now);
    if (after < before) {
      const { state } = found;
      const edits: Edit[] = [...state.walSegments.keys()].map((number) => ({ type: 'walRemove', number }));
      const reset = { ...found, state: { ...state, clock: after } };
      Manifest.begin(opened, path, reset, [{ type: 'counters', lastSeq }, ...edits]).close();
    }
    return { before, after, tables: times.filter(({ latest }) => latest > after) };
  } finally {
    files.closeAll();
    await lock.release();
  }
}

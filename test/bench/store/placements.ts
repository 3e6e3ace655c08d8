/** Where the rows are when they are read. */

import { join } from 'node:path';
import type { BenchStore, Change, FileSettings, StoreSettings } from './bench-store.js';
import { shuffled, valueAt } from './data.js';
import type { KeyKind } from './key-kinds.js';
import { LevelStore, LmdbStore, RocksStore } from './peer-stores.js';
import { RowanStore } from './rowan-store.js';

/**
 * `memstore`: all in memory, nothing in files. `one`: one compacted file, all of it in the cache. `several`: four files
 * and some in memory, every tenth row overwritten and every fortieth deleted behind the file that has it. `large`: one
 * file, many times the cache. Beside these, for sizes that are compared, `decade`: one file, all of it in the cache.
 */
export const PLACEMENTS = ['memstore', 'one', 'several', 'large'] as const;
export type Placement = (typeof PLACEMENTS)[number];

const CACHE_MIB: Readonly<Record<Placement | 'decade', number>> = {
  memstore: 256,
  one: 256,
  several: 256,
  large: 128,
  decade: 3072,
};

/** As a family has them unless it says otherwise. */
export const PLAIN_FILES: FileSettings = { compression: 'NONE', blockBytes: 65_536 };

const MiB = 2 ** 20;
const BATCH = 1000;
const PARTS = 4;
/** Rows that are written behind the last file. */
const IN_MEMORY = 1 / 50;
const ROW_BYTES = 130;

export const OPENERS = {
  rowan: RowanStore.open,
  'classic-level': LevelStore.open,
  lmdb: LmdbStore.open,
  'rocksdb-native': RocksStore.open,
} as const;
export type StoreName = keyof typeof OPENERS;
export const STORES = Object.keys(OPENERS) as readonly StoreName[];

/** Stores with the same rows in them. */
export interface Loaded {
  readonly stores: readonly BenchStore[];
  readonly keyOf: KeyKind;
  /** Rows that there are, by their indexes. */
  readonly present: Uint32Array;
  /** Indexes of wide rows: 0 to this number. */
  readonly wideRows: number;
  close(): Promise<void>;
}

export async function load(
  directory: string,
  placement: Placement | 'decade',
  rows: number,
  keyOf: KeyKind,
  files: FileSettings,
  names: readonly StoreName[],
): Promise<Loaded> {
  const settings: StoreSettings = {
    cacheBytes: CACHE_MIB[placement] * MiB,
    memoryBytes:
      placement === 'memstore'
        ? 1024 * MiB
        : placement === 'several'
          ? Math.ceil((rows * ROW_BYTES) / 5)
          : 64 * MiB,
    sync: false,
    // Smaller ones are in files when the placement says so, at every store that can be told.
    automatic: placement === 'large' || placement === 'decade',
    ...files,
  };
  const stores = await openStores(directory, settings, names);
  const order = shuffled(rows, 3);
  const wideRows = placement === 'large' || placement === 'decade' ? 0 : Math.ceil(rows / 10);
  const present =
    placement === 'several' ? await fillParts(stores, order, keyOf) : await fill(stores, order, keyOf);
  await inBatches(shuffled(wideRows, 4), (part) =>
    eachStore(stores, (store) => store.writeWide(puts(part, keyOf, 100))),
  );
  if (placement !== 'memstore' && placement !== 'several')
    await eachStore(stores, (store) => store.compact());
  return { stores, keyOf, present, wideRows, close: () => eachStore(stores, (store) => store.close()) };
}

/** Stores that acknowledge what the disk has, with nothing in them. */
export function openSynced(directory: string, names: readonly StoreName[]): Promise<BenchStore[]> {
  const settings: StoreSettings = {
    cacheBytes: 128 * MiB,
    memoryBytes: 64 * MiB,
    sync: true,
    automatic: true,
    ...PLAIN_FILES,
  };
  return openStores(
    directory,
    settings,
    // The binding of RocksDB syncs nothing when it is asked to.
    names.filter((name) => name !== 'rocksdb-native'),
  );
}

export async function openStores(
  directory: string,
  settings: StoreSettings,
  names: readonly StoreName[],
): Promise<BenchStore[]> {
  const stores: BenchStore[] = [];
  for (const name of names) stores.push(await OPENERS[name](join(directory, name), settings));
  return stores;
}

export async function fill(
  stores: readonly BenchStore[],
  order: Uint32Array,
  keyOf: KeyKind,
): Promise<Uint32Array> {
  await inBatches(order, (part) => eachStore(stores, (store) => store.write(puts(part, keyOf, 0))));
  return order;
}

async function fillParts(
  stores: readonly BenchStore[],
  order: Uint32Array,
  keyOf: KeyKind,
): Promise<Uint32Array> {
  const inFiles = order.length - Math.ceil(order.length * IN_MEMORY);
  const present = new Set<number>(order);
  for (let part = 0; part < PARTS; part++) {
    const start = Math.floor((inFiles * part) / PARTS);
    const fresh = order.subarray(start, Math.floor((inFiles * (part + 1)) / PARTS));
    await inBatches(fresh, (some) => eachStore(stores, (store) => store.write(puts(some, keyOf, part))));
    const older = order.subarray(0, start);
    const again = older.filter((_, i) => i % 10 === part);
    await inBatches(again, (some) => eachStore(stores, (store) => store.write(puts(some, keyOf, part + 10))));
    const gone = older.filter((_, i) => i % 40 === 10 + part);
    await inBatches(gone, (some) => eachStore(stores, (store) => store.write(deletes(some, keyOf))));
    for (const index of gone) present.delete(index);
    await eachStore(stores, (store) => store.flush());
  }
  await inBatches(order.subarray(inFiles), (some) =>
    eachStore(stores, (store) => store.write(puts(some, keyOf, 9))),
  );
  return Uint32Array.from(present);
}

function puts(indexes: Uint32Array, keyOf: KeyKind, generation: number): Change[] {
  return Array.from(indexes, (index) => ({ key: keyOf(index), value: valueAt(index + generation) }));
}

function deletes(indexes: Uint32Array, keyOf: KeyKind): Change[] {
  return Array.from(indexes, (index) => ({ key: keyOf(index), value: undefined }));
}

async function inBatches(indexes: Uint32Array, action: (part: Uint32Array) => Promise<void>): Promise<void> {
  for (let at = 0; at < indexes.length; at += BATCH) await action(indexes.subarray(at, at + BATCH));
}

export async function eachStore(
  stores: readonly BenchStore[],
  action: (store: BenchStore) => Promise<void>,
): Promise<void> {
  for (const store of stores) await action(store);
}

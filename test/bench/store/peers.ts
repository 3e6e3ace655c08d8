/** The stores that the bench compares with, behind the few calls it makes. Installed in this folder by `bench:store`. */

import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** The project's folder, whether this runs from the sources or from `build`. */
export const projectRoot = fileURLToPath(import.meta.url).replace(
  /[\\/](build[\\/])?test[\\/]bench[\\/].*$/,
  '',
);

const require = createRequire(pathToFileURL(join(projectRoot, 'test/bench/store/package.json')));

export function peerVersion(name: string): string {
  const file = join(projectRoot, 'test/bench/store/node_modules', name, 'package.json');
  return (require(file) as { version: string }).version;
}

export interface LevelPeer {
  open(): Promise<void>;
  close(): Promise<void>;
  get(key: Uint8Array): Promise<Uint8Array | undefined>;
  getMany(keys: readonly Uint8Array[]): Promise<(Uint8Array | undefined)[]>;
  getSync(key: Uint8Array): Uint8Array | undefined;
  put(key: Uint8Array, value: Uint8Array, options?: { sync?: boolean }): Promise<void>;
  batch(
    operations: readonly (
      | { type: 'put'; key: Uint8Array; value: Uint8Array }
      | { type: 'del'; key: Uint8Array }
    )[],
    options?: { sync?: boolean },
  ): Promise<void>;
  compactRange(start: Uint8Array, end: Uint8Array): Promise<void>;
  iterator(options?: object): {
    nextv(size: number): Promise<[Uint8Array, Uint8Array][]>;
    close(): Promise<void>;
  };
}

/** What LevelDB is given: bytes of its cache, bytes after which it writes a file. */
interface LevelMemory {
  readonly cacheSize: number;
  readonly writeBufferSize: number;
}

export function openLevel(path: string, memory: LevelMemory): LevelPeer {
  const { ClassicLevel } = require('classic-level') as {
    ClassicLevel: new (path: string, options: object) => LevelPeer;
  };
  return new ClassicLevel(path, {
    keyEncoding: 'buffer',
    valueEncoding: 'buffer',
    compression: false,
    ...memory,
  });
}

export interface LmdbPeer {
  put(key: Uint8Array, value: Uint8Array): Promise<boolean>;
  /** On the disk when it returns, unless the store was opened with `noSync`. */
  putSync(key: Uint8Array, value: Uint8Array): boolean;
  remove(key: Uint8Array): Promise<boolean>;
  getBinary(key: Uint8Array): Uint8Array | undefined;
  getMany(keys: readonly Uint8Array[]): Promise<(Uint8Array | undefined)[]>;
  getRange(options?: object): Iterable<{ key: Uint8Array; value: Uint8Array }>;
  transaction<T>(action: () => T): Promise<T>;
  transactionSync<T>(action: () => T): T;
  flushed: Promise<boolean>;
  close(): Promise<void>;
}

/** `noSync` writes without waiting for the disk. */
export function openLmdb(path: string, noSync: boolean): LmdbPeer {
  const { open } = require('lmdb') as { open: (options: object) => LmdbPeer };
  return open({ path, keyEncoding: 'binary', encoding: 'binary', noSync, compression: false });
}

interface RocksBatch {
  tryPut(key: Uint8Array, value: Uint8Array): void;
  tryDelete(key: Uint8Array): void;
  get(key: Uint8Array): Promise<Uint8Array | null>;
  flush(): Promise<void>;
  tryFlush(): void;
}

export interface RocksPeer {
  ready(): Promise<void>;
  close(): Promise<void>;
  get(key: Uint8Array): Promise<Uint8Array | null>;
  put(key: Uint8Array, value: Uint8Array): Promise<void>;
  read(options?: object): RocksBatch;
  write(options?: object): RocksBatch;
  flush(): Promise<void>;
  compactRange(): Promise<void>;
  iterator(range: object, options?: object): AsyncIterable<{ key: Uint8Array; value: Uint8Array }>;
}

export function openRocks(path: string): RocksPeer {
  const Rocks = require('rocksdb-native') as new (path: string, options?: object) => RocksPeer;
  return new Rocks(path);
}

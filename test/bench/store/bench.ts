/**
 * `npm run bench:store`: the embedded engine against classic-level, lmdb and rocksdb-native. One process, one folder,
 * the same keys and values, the same value given back (a copy that is the caller's), the same durability: "os" rows are
 * acknowledged when the operating system has them, "fsync" rows when the disk has. Each row counts the time of the processor
 * beside the clock's: figures of a busy machine are to be taken by that, but for what waits for the disk.
 *
 * Kinds of keys x placements of the rows x operations. `--quick` for a look of two minutes; `--keys composite,uuid`,
 * `--place one,several`, `--ops get,miss`, `--stores rowan,lmdb` for single ones; `--compression NONE,LZ4,ZSTD`;
 * `--block-bytes N` (default 65536, of Rowan's blocks); `--rows N` (default 200000),
 * `--large-rows N` (default 10000000, of the placement larger than the cache, and the most rows of "growth"), `--rounds N`
 * (default 5), `--json FILE`, `--merge FILE` to make one record of several runs. Operations of whole stores take as long as
 * all others together: "open-closed" (`--megabytes N`, default 1024) and "open-killed", how long a store takes to open;
 * "short-lives", reads of a store that many short lives of a program have written (`--lives N`, default 300); and "growth", reads of one file in the cache with 10^5, 10^6 and 10^7 rows.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type BenchRow, report, rowLine } from '../harness.js';
import type { FileSettings } from './bench-store.js';
import { KEY_KINDS, type KeyKindName } from './key-kinds.js';
import { measure, rated } from './measure.js';
import { afterShortLives, openingClosed, openingKilled } from './opening.js';
import { OPERATIONS, type OperationName, operationOf, SYNCED, syncedPuts, WHOLE } from './operations.js';
import { benchOptions } from './options.js';
import { peerVersion, projectRoot } from './peers.js';
import { load, openSynced, PLAIN_FILES, type Placement } from './placements.js';

const options = benchOptions(process.argv.slice(2));

/** Rows in the log of a store that was killed: some 70 MB. */
const KILLED_ROWS = 500_000;

const TITLES: Readonly<Record<Placement, string>> = {
  memstore: 'memstore',
  one: 'one file',
  several: 'several files',
  large: 'larger than the cache',
};

async function inFolder<T>(action: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(projectRoot, '.rowan-bench-'));
  try {
    return await action(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** In what files are not as those of most families. */
function said({ compression, blockBytes }: FileSettings): string[] {
  return [
    ...(compression === PLAIN_FILES.compression ? [] : [compression]),
    ...(blockBytes === PLAIN_FILES.blockBytes ? [] : [`blocks of ${blockBytes} bytes`]),
  ];
}

async function placed(
  folder: string,
  kind: KeyKindName,
  placement: Placement,
  files: FileSettings,
): Promise<BenchRow[]> {
  const rows = placement === 'large' ? options.largeRows : options.rows;
  const loaded = await load(folder, placement, rows, KEY_KINDS[kind], files, options.stores);
  const label = [kind, TITLES[placement], ...said(files)].join(', ');
  console.log(`${label}: ${rows} rows are loaded`);
  const measured: BenchRow[] = [];
  try {
    for (const name of OPERATIONS) {
      if (!options.operations.includes(name)) continue;
      const operation = operationOf(name, loaded);
      if (!operation) continue;
      const row = await measure(operation, label, options.rounds);
      console.log(rowLine(row));
      measured.push(row);
    }
  } finally {
    await loaded.close();
  }
  return measured;
}

async function synced(folder: string, kind: KeyKindName): Promise<BenchRow[]> {
  const stores = await openSynced(folder, options.stores);
  const keys = Array.from({ length: 20_000 }, (_, index) => KEY_KINDS[kind](index));
  const measured: BenchRow[] = [];
  const lanes = { 'synced-put': [1, 2000, 2000], 'synced-100': [100, 40_000, 4000] } as const;
  for (const name of SYNCED) {
    if (!options.operations.includes(name)) continue;
    const [inFlight, count, levelCount] = lanes[name];
    // The first thousands of puts are made by code that is not compiled yet.
    for (const store of stores) await syncedPuts(store, keys, levelCount, inFlight);
    const contestants = Object.fromEntries(
      stores.map((store) => [
        store.name,
        () => syncedPuts(store, keys, store.name === 'classic-level' ? levelCount : count, inFlight),
      ]),
    );
    const title = inFlight === 1 ? 'single put, fsync' : `${inFlight} concurrent puts, fsync`;
    const row = await rated(`${title}, ${kind}`, 'rows/s', contestants, options.rounds);
    console.log(rowLine(row));
    measured.push(row);
  }
  for (const store of stores) await store.close();
  return measured;
}

async function whole(folder: string, kind: KeyKindName, name: OperationName): Promise<BenchRow[]> {
  const { stores, rounds } = options;
  const keyOf = KEY_KINDS[kind];
  if (name === 'open-closed')
    return [await openingClosed(folder, kind, keyOf, options.megabytes, rounds, stores)];
  if (name === 'open-killed') return [await openingKilled(folder, kind, keyOf, KILLED_ROWS, rounds, stores)];
  if (name === 'short-lives')
    return [await afterShortLives(folder, kind, keyOf, options.lives, rounds, stores)];
  const measured: BenchRow[] = [];
  for (let rows = options.largeRows / 100; rows <= options.largeRows; rows *= 10) {
    const loaded = await load(join(folder, String(rows)), 'decade', rows, keyOf, PLAIN_FILES, stores);
    console.log(`${kind}: ${rows} rows are loaded`);
    for (const read of ['get', 'range'] as const) {
      const row = await measure(operationOf(read, loaded)!, `${kind}, one file of ${rows} rows`, rounds);
      console.log(rowLine(row));
      measured.push(row);
    }
    await loaded.close();
  }
  return measured;
}

const isOne = (names: readonly OperationName[], name: OperationName): boolean => names.includes(name);

for (const name of ['classic-level', 'lmdb', 'rocksdb-native']) console.log(`${name} ${peerVersion(name)}`);
const rows: BenchRow[] = [];
const operations = options.operations.filter((name) => !isOne(SYNCED, name) && !isOne(WHOLE, name));
for (const kind of options.kinds) {
  for (const placement of options.placements) {
    if (operations.length === 0) break;
    for (const compression of options.compressions) {
      const files = { compression, blockBytes: options.blockBytes };
      rows.push(...(await inFolder((folder) => placed(folder, kind, placement, files))));
    }
  }
  if (options.operations.some((name) => isOne(SYNCED, name)))
    rows.push(...(await inFolder((folder) => synced(folder, kind))));
  for (const name of options.operations)
    if (isOne(WHOLE, name)) rows.push(...(await inFolder((folder) => whole(folder, kind, name))));
}
report(rows);

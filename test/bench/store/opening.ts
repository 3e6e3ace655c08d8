/**
 * How long a store takes to open, and its first read: after a clean close, and after its process was killed with all rows
 * in the log. What a killed process leaves is made by a copy of the folder of an open store.
 */

import { cpSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { BenchRow } from '../harness.js';
import { median, toRow } from '../harness.js';
import type { BenchStore, StoreSettings } from './bench-store.js';
import { shuffled } from './data.js';
import type { KeyKind } from './key-kinds.js';
import { rated } from './measure.js';
import { eachStore, fill, OPENERS, openStores, PLAIN_FILES, type StoreName } from './placements.js';

const MiB = 2 ** 20;
/** About a mebibyte: a row of the bench with what stores keep beside it. */
const ROWS_OF_MIB = 6500;

const SETTINGS: StoreSettings = {
  cacheBytes: 128 * MiB,
  memoryBytes: 64 * MiB,
  sync: false,
  automatic: true,
  ...PLAIN_FILES,
};

/** Milliseconds from the call that opens a store to the answer of the first read. */
async function opened(name: StoreName, path: string, settings: StoreSettings, key: Buffer): Promise<number> {
  const start = performance.now();
  const store: BenchStore = await OPENERS[name](path, settings);
  const value = await store.getAwaited(key);
  const took = performance.now() - start;
  if (value?.length !== 100) throw new Error(`${name} was opened without its rows.`);
  await store.close();
  return took;
}

/** Opens a second, of each store, with `megabytes` of rows in files. */
export async function openingClosed(
  folder: string,
  label: string,
  keyOf: KeyKind,
  megabytes: number,
  rounds: number,
  names: readonly StoreName[],
): Promise<BenchRow> {
  const rows = megabytes * ROWS_OF_MIB;
  const stores = await openStores(folder, SETTINGS, names);
  await fill(stores, shuffled(rows, 3), keyOf);
  await eachStore(stores, (store) => store.compact());
  await eachStore(stores, (store) => store.close());
  console.log(`${label}: ${rows} rows are loaded`);
  const figures: Record<string, number> = {};
  for (const name of names) {
    const times: number[] = [];
    for (let round = 0; round < rounds; round++)
      times.push(await opened(name, join(folder, name), SETTINGS, keyOf(round)));
    const size = Math.round(folderBytes(join(folder, name)) / 1e6);
    console.log(`${name}, ${label}: ${median(times).toFixed(1)} ms to open ${size} MB that were closed`);
    figures[name] = 1000 / median(times);
  }
  return toRow(`open and first read after a clean close, ${megabytes} MB, ${label}`, 'opens/s', figures);
}

/** Rows of 100 bytes that a short life writes: some 2 MB. */
const ROWS_OF_LIFE = 13_000;
const GETS = 20_000;

/** Gets from a store that a program has opened, written some 2 MB to and closed, `lives` times. */
export async function afterShortLives(
  folder: string,
  label: string,
  keyOf: KeyKind,
  lives: number,
  rounds: number,
  names: readonly StoreName[],
): Promise<BenchRow> {
  const order = shuffled(lives * ROWS_OF_LIFE, 3);
  for (let life = 0; life < lives; life++) {
    const stores = await openStores(folder, SETTINGS, names);
    await fill(stores, order.subarray(life * ROWS_OF_LIFE, (life + 1) * ROWS_OF_LIFE), keyOf);
    await eachStore(stores, (store) => store.close());
  }
  console.log(`${label}: ${lives} lives have written ${order.length} rows`);
  const stores = await openStores(folder, SETTINGS, names);
  const wanted = shuffled(order.length, 5).subarray(0, GETS);
  const contestants = Object.fromEntries(
    stores.map((store) => [
      store.name,
      async (): Promise<number> => {
        for (const index of wanted) await store.getAwaited(keyOf(index));
        return wanted.length;
      },
    ]),
  );
  const row = await rated(`get after ${lives} short lives, ${label}`, 'gets/s', contestants, rounds);
  await eachStore(stores, (store) => store.close());
  return row;
}

/** Megabytes of log for each second of CPU, of the stores that have one: half of the time goes into reading and writing them. */
export async function openingKilled(
  folder: string,
  label: string,
  keyOf: KeyKind,
  rows: number,
  rounds: number,
  names: readonly StoreName[],
): Promise<BenchRow> {
  const logging = names.filter((name) => name === 'rowan' || name === 'classic-level');
  const settings = { ...SETTINGS, automatic: false, memoryBytes: 1024 * MiB };
  const stores = await openStores(folder, settings, logging);
  await fill(stores, shuffled(rows, 3), keyOf);
  const figures: Record<string, number> = {};
  for (const name of logging) {
    const times: number[] = [];
    const cpu: number[] = [];
    const bytes = logBytes(join(folder, name));
    for (let round = 0; round < rounds; round++) {
      const copy = join(folder, `${name}-${round}`);
      cpSync(join(folder, name), copy, {
        recursive: true,
        filter: (path) => !/[\\/](LOCK|.*\.sock.*)$/.test(path),
      });
      const before = process.cpuUsage();
      const took = await opened(name, copy, settings, keyOf(round));
      const { user, system } = process.cpuUsage(before);
      cpu.push((user + system) / 1000);
      times.push(took);
    }
    const each = (list: readonly number[]): string => ((median(list) / bytes) * 1e8).toFixed(0);
    console.log(
      `${name}, ${label}: ${(bytes / 1e6).toFixed(0)} MB of log with ${rows} rows, ` +
        `${each(times)} ms and ${each(cpu)} ms of CPU for each 100 MB`,
    );
    figures[name] = bytes / 1000 / median(cpu);
  }
  await eachStore(stores, (store) => store.close());
  return toRow(`open after a kill, ${rows} rows in the log, by CPU, ${label}`, 'MB/s', figures);
}

function folderBytes(folder: string): number {
  return readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}

/** Bytes of log, without the zeros of room that was prepared. */
function logBytes(folder: string): number {
  let sum = 0;
  for (const name of readdirSync(folder)) {
    if (!/[.](wal|log)$/.test(name)) continue;
    const bytes = readFileSync(join(folder, name));
    let end = bytes.length;
    while (end > 0 && bytes[end - 1] === 0) end--;
    sum += end;
  }
  return sum;
}

/**
 * `npm run bench:store`: the embedded engine against classic-level, lmdb and rocksdb-native. One process, one folder,
 * the same keys and values, the same value given back (a copy that is the caller's), the same durability: "os" rows are
 * acknowledged when the operating system has them, "fsync" rows when the disk has.
 *
 * `--rows N` (default 1000000, then 100000), `--rounds N` (default 5), `--json FILE`.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type EmbeddedEngine, openEmbedded } from '../../../src/store/engine.js';
import { Get, Put, Scan, type SyncTable, tableDescriptor } from '../../../src/table/index.js';
import { type BenchRow, compare, report, toRow } from '../harness.js';
import { keyOf, makeValues, shuffled } from './data.js';
import {
  type LevelPeer,
  type LmdbPeer,
  openLevel,
  openLmdb,
  openRocks,
  peerVersion,
  projectRoot,
  type RocksPeer,
} from './peers.js';

const FAMILY = 'f';
const QUALIFIER = Buffer.from('v');

interface Stores {
  readonly rowan: EmbeddedEngine;
  readonly table: SyncTable;
  readonly level: LevelPeer;
  readonly lmdb: LmdbPeer;
  readonly rocks: RocksPeer;
}

/** Every store, with the same `count` rows in it, loaded in a random order and compacted. */
async function load(directory: string, keys: readonly Buffer[], values: readonly Buffer[]): Promise<Stores> {
  const rowan = await openEmbedded(join(directory, 'rowan'), {
    durability: 'ASYNC_WAL',
    blockCacheSize: 256 << 20,
  });
  await rowan.admin.createTable(tableDescriptor('bench', { [FAMILY]: {} }));
  const table = rowan.table('bench');
  const level = openLevel(join(directory, 'level'));
  await level.open();
  const lmdb = openLmdb(join(directory, 'lmdb'), true);
  const rocks = openRocks(join(directory, 'rocks'));
  await rocks.ready();
  const order = shuffled(keys.length, 3);
  for (let start = 0; start < order.length; start += 1000) {
    const part = order.subarray(start, start + 1000);
    await table.putAll([...part].map((i) => new Put(keys[i]!).addColumn(FAMILY, QUALIFIER, values[i]!)));
    await level.batch([...part].map((i) => ({ type: 'put', key: keys[i]!, value: values[i]! })));
    await lmdb.transaction(() => {
      for (const i of part) void lmdb.put(keys[i]!, values[i]!);
    });
    const batch = rocks.write({ autoDestroy: true });
    for (const i of part) batch.tryPut(keys[i]!, values[i]!);
    await batch.flush();
  }
  await rowan.admin.majorCompact('bench');
  await level.compactRange(keys[0]!, keys[keys.length - 1]!);
  await rocks.flush();
  await rocks.compactRange();
  return { rowan, table, level, lmdb, rocks };
}

function check(value: Uint8Array | null | undefined): number {
  if (value?.length !== 100) throw new Error(`A read gave ${value?.length} bytes instead of 100.`);
  return value[0]!;
}

async function reads(
  stores: Stores,
  keys: readonly Buffer[],
  rounds: number,
  label: string,
): Promise<BenchRow[]> {
  const { table, level, lmdb, rocks } = stores;
  const random = shuffled(keys.length, 5).subarray(0, 200_000);
  const some = random.subarray(0, 20_000);
  const get = (key: Buffer): Get => new Get(key).addColumn(FAMILY, QUALIFIER);
  const point = await compare(
    {
      rowan: () => {
        for (const i of random) check(table.getSync(get(keys[i]!)).cells[0]!.value);
        return random.length;
      },
      'classic-level getSync': () => {
        for (const i of random) check(level.getSync(keys[i]!));
        return random.length;
      },
      'lmdb getBinary': () => {
        for (const i of random) check(lmdb.getBinary(keys[i]!));
        return random.length;
      },
    },
    rounds,
  );
  const awaited = await compare(
    {
      rowan: async () => {
        for (const i of some) check((await table.get(get(keys[i]!))).cells[0]!.value);
        return some.length;
      },
      'classic-level get': async () => {
        for (const i of some) check(await level.get(keys[i]!));
        return some.length;
      },
      'rocksdb-native get': async () => {
        for (const i of some) check(await rocks.get(keys[i]!));
        return some.length;
      },
    },
    rounds,
  );
  const scan = await compare(
    {
      rowan: () => {
        const scanner = table.scanSync(new Scan());
        let count = 0;
        for (let result = scanner.next(); result; result = scanner.next()) {
          check(result.cells[0]!.value);
          count++;
        }
        return expectCount(count, keys.length);
      },
      'classic-level nextv': async () => {
        const iterator = level.iterator({ highWaterMarkBytes: 1 << 20 });
        let count = 0;
        for (;;) {
          const entries = await iterator.nextv(1000);
          if (entries.length === 0) break;
          for (const [, value] of entries) check(value);
          count += entries.length;
        }
        await iterator.close();
        return expectCount(count, keys.length);
      },
      'lmdb getRange': () => {
        let count = 0;
        for (const { value } of lmdb.getRange({})) {
          check(value);
          count++;
        }
        return expectCount(count, keys.length);
      },
      'rocksdb-native iterator': async () => {
        let count = 0;
        for await (const { value } of rocks.iterator({}, { capacity: 1000 })) {
          check(value);
          count++;
        }
        return expectCount(count, keys.length);
      },
    },
    rounds,
  );
  return [
    toRow(`random point read, sync, ${label}`, 'reads/s', point),
    toRow(`random point read, awaited, ${label}`, 'reads/s', awaited),
    toRow(`full scan, ${label}`, 'rows/s', scan),
  ];
}

function expectCount(count: number, expected: number): number {
  if (count !== expected) throw new Error(`A scan gave ${count} rows instead of ${expected}.`);
  return count;
}

async function writes(
  stores: Stores,
  keys: readonly Buffer[],
  values: readonly Buffer[],
  rounds: number,
): Promise<BenchRow[]> {
  const { table, level, lmdb, rocks } = stores;
  let seed = 11;
  const batches = function* (count: number): Generator<Uint32Array> {
    const order = shuffled(keys.length, seed++);
    for (let start = 0; start + 100 <= count; start += 100) yield order.subarray(start, start + 100);
  };
  const total = Math.min(keys.length, 100_000);
  const figures = await compare(
    {
      rowan: async () => {
        for (const part of batches(total)) {
          const puts: Put[] = [];
          for (const i of part) puts.push(new Put(keys[i]!).addColumn(FAMILY, QUALIFIER, values[i]!));
          await table.putAll(puts);
        }
        return total;
      },
      'classic-level batch': async () => {
        for (const part of batches(total)) {
          const operations: { type: 'put'; key: Buffer; value: Buffer }[] = [];
          for (const i of part) operations.push({ type: 'put', key: keys[i]!, value: values[i]! });
          await level.batch(operations);
        }
        return total;
      },
      'lmdb transactionSync': () => {
        for (const part of batches(total)) {
          lmdb.transactionSync(() => {
            for (const i of part) void lmdb.put(keys[i]!, values[i]!);
          });
        }
        return total;
      },
      'rocksdb-native batch': async () => {
        for (const part of batches(total)) {
          const batch = rocks.write({ autoDestroy: true });
          for (const i of part) batch.tryPut(keys[i]!, values[i]!);
          await batch.flush();
        }
        return total;
      },
    },
    rounds,
  );
  return [toRow('batches of 100 puts, os', 'rows/s', figures)];
}

/** 100 puts in flight, each acknowledged only when the disk has it. */
async function synced(
  directory: string,
  keys: readonly Buffer[],
  values: readonly Buffer[],
  rounds: number,
): Promise<BenchRow[]> {
  const rowan = await openEmbedded(join(directory, 'rowan-fsync'), { durability: 'FSYNC_WAL' });
  await rowan.admin.createTable(tableDescriptor('bench', { [FAMILY]: {} }));
  const table = rowan.table('bench');
  const level = openLevel(join(directory, 'level-fsync'));
  await level.open();
  const lmdb = openLmdb(join(directory, 'lmdb-fsync'), false);
  let next = 0;
  const inFlight = async (
    count: number,
    put: (key: Buffer, value: Buffer) => Promise<unknown>,
  ): Promise<number> => {
    let started = 0;
    const lane = async (): Promise<void> => {
      while (started++ < count) {
        const i = next++ % keys.length;
        await put(keys[i]!, values[i]!);
      }
    };
    await Promise.all(Array.from({ length: 100 }, lane));
    return count;
  };
  const figures = await compare(
    {
      rowan: () =>
        inFlight(20_000, (key, value) => table.put(new Put(key).addColumn(FAMILY, QUALIFIER, value))),
      'classic-level put': () => inFlight(2000, (key, value) => level.put(key, value, { sync: true })),
      'lmdb put': () => inFlight(20_000, (key, value) => lmdb.put(key, value).then(() => lmdb.flushed)),
    },
    rounds,
  );
  await rowan.close();
  await level.close();
  await lmdb.close();
  return [toRow('100 concurrent puts, fsync', 'rows/s', figures)];
}

function option(name: string, fallback: number): number {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? fallback : Number(process.argv[at + 1]);
}

const rounds = option('rounds', 5);
const sizes = process.argv.includes('--rows') ? [option('rows', 0)] : [1_000_000, 100_000];
const rows: BenchRow[] = [];
for (const name of ['classic-level', 'lmdb', 'rocksdb-native']) console.log(`${name} ${peerVersion(name)}`);
for (const size of sizes) {
  const directory = mkdtempSync(join(projectRoot, '.rowan-bench-'));
  try {
    const keys = Array.from({ length: size }, (_, index) => keyOf(index));
    const values = makeValues(size);
    const stores = await load(directory, keys, values);
    const label = `${size / 1000}k rows`;
    rows.push(...(await reads(stores, keys, rounds, label)));
    for (const row of await writes(stores, keys, values, rounds))
      rows.push({ ...row, row: `${row.row}, ${label}` });
    await stores.rowan.close();
    await stores.level.close();
    await stores.lmdb.close();
    await stores.rocks.close();
    if (size === sizes[0]) rows.push(...(await synced(directory, keys, values, rounds)));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
report(rows);

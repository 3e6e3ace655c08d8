/**
 * `npm run bench:cold`: stores much larger than their caches, against classic-level and lmdb. Rows of 100 bytes and of
 * 1 KB; keys drawn anew for every round, evenly or by zipf 0.99: a round never reads the keys that the one before brought
 * into a cache. lmdb has no cache of its own: all of the system's memory is its.
 *
 * `--rows N` (default 1000000, of 100 bytes; of 1 KB a tenth as many), `--cache MB` (default 16), `--rounds N` (default 3),
 * `--keys digits,composite` (default digits), `--sizes 100,1000`, `--stores rowan,lmdb`, `--ops get,zipf,miss,range,scan`,
 * `--compression NONE`, `--json FILE`, `--merge FILE`. The figures of the issue: `--rows 10000000 --cache 128`.
 */

import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { COMPRESSIONS, type Compression } from '../../../src/table/index.js';
import { type BenchRow, report, rowLine } from '../harness.js';
import type { BenchStore } from './bench-store.js';
import { generator, makeValues, shuffled, zipf } from './data.js';
import { ABSENT, KEY_KINDS, type KeyKind, type KeyKindName } from './key-kinds.js';
import { measure } from './measure.js';
import type { Operation, Step } from './operations.js';
import { projectRoot } from './peers.js';
import { eachStore, openStores, PLAIN_FILES, type StoreName } from './placements.js';

const MiB = 2 ** 20;
const BATCH = 1000;
const RANGE = 50;
const GETS = 30_000;
const RANGES = 4000;
/** Reads before the first round: a cache is then as full as it will be. */
const WARM_UP = 200_000;

const { values: given } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    cache: { type: 'string', default: '16' },
    rounds: { type: 'string', default: '3' },
    keys: { type: 'string', default: 'digits' },
    sizes: { type: 'string', default: '100,1000' },
    stores: { type: 'string', default: 'rowan,classic-level,lmdb' },
    ops: { type: 'string', default: 'get,zipf,miss,range,scan' },
    compression: { type: 'string', default: 'NONE' },
    'block-bytes': { type: 'string', default: String(PLAIN_FILES.blockBytes) },
    json: { type: 'string' },
    merge: { type: 'string' },
  },
});

const rounds = Number(given.rounds);
const compression = COMPRESSIONS.find((name) => name === given.compression) as Compression;

/** Keys for one store after another, each of which goes through all of them. */
interface Draw {
  readonly keys: readonly Buffer[];
  readonly warmUp: readonly Buffer[];
}

/** Values of `bytes` bytes, half of which compress. */
function valuesOf(bytes: number): Buffer[] {
  const parts = Math.ceil(bytes / 100);
  const pieces = makeValues(1024 + parts);
  return Array.from({ length: 1024 }, (_, i) => Buffer.concat(pieces.slice(i, i + parts)).subarray(0, bytes));
}

async function fill(
  stores: readonly BenchStore[],
  rows: number,
  keyOf: KeyKind,
  bytes: number,
): Promise<void> {
  const values = valuesOf(bytes);
  const order = shuffled(rows, 3);
  for (let at = 0; at < rows; at += BATCH) {
    const changes = Array.from(order.subarray(at, at + BATCH), (index) => ({
      key: keyOf(index),
      value: values[index % values.length]!,
    }));
    await eachStore(stores, (store) => store.write(changes));
  }
  await eachStore(stores, (store) => store.compact());
}

function evenly(rows: number, count: number, seed: number): Uint32Array {
  const next = generator(seed);
  return Uint32Array.from({ length: count }, () => next() % rows);
}

/** A warm-up, and keys for every round, of the one that warms up the code and of the one that times single steps. */
function draw(keyOf: KeyKind, indexes: Uint32Array, steps: number): Draw {
  const keys = Array.from(indexes, (index) => keyOf(index));
  const measured = steps * (rounds + 2);
  return { keys: keys.slice(0, measured), warmUp: keys.slice(measured) };
}

function reading(
  title: string,
  stores: readonly BenchStore[],
  steps: number,
  { keys, warmUp }: Draw,
  read: (store: BenchStore, key: Buffer) => number | Promise<number>,
): Operation & { warm(): Promise<void> } {
  const step: Record<string, Step> = {};
  for (const store of stores) {
    let next = 0;
    step[store.name] = () => read(store, keys[next++ % keys.length]!);
  }
  const warm = async (): Promise<void> => {
    for (const store of stores) for (const key of warmUp) await read(store, key);
  };
  return { title, unit: 'reads/s', steps, step, warm };
}

function operationsOf(stores: readonly BenchStore[], rows: number, keyOf: KeyKind, bytes: number) {
  const found = (value: Uint8Array | undefined): number => {
    if (value?.length !== bytes) throw new Error(`A read gave ${value?.length} bytes instead of ${bytes}.`);
    return 1;
  };
  const missed = (value: Uint8Array | undefined): number => {
    if (value !== undefined) throw new Error('A read found what is not there.');
    return 1;
  };
  const of = (count: number): number => count * (rounds + 2);
  const get = (store: BenchStore, key: Buffer): number => found(store.get!(key));
  return {
    get: () => reading('get', stores, GETS, draw(keyOf, evenly(rows, of(GETS) + WARM_UP / 4, 11), GETS), get),
    zipf: () =>
      reading('get by zipf', stores, GETS, draw(keyOf, zipf(rows, of(GETS) + WARM_UP, 12), GETS), get),
    miss: () => {
      const absent = (index: number): Buffer => keyOf(index + ABSENT);
      return reading('miss', stores, GETS, draw(absent, evenly(rows, of(GETS), 13), GETS), (store, key) =>
        missed(store.get!(key)),
      );
    },
    range: () => ({
      ...reading(
        `range of ${RANGE}`,
        stores,
        RANGES,
        draw(keyOf, evenly(rows - RANGE, of(RANGES), 14), RANGES),
        (store, key) => store.range(key, RANGE),
      ),
      unit: 'rows/s',
    }),
    scan: () => ({
      ...reading('full scan', stores, 1, { keys: [Buffer.of(0)], warmUp: [] }, async (store, key) => {
        const count = await store.range(key, Number.POSITIVE_INFINITY);
        if (count !== rows) throw new Error(`${store.name} has ${count} rows instead of ${rows}.`);
        return count;
      }),
      unit: 'rows/s',
    }),
  };
}

function bytesIn(folder: string): number {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}

async function measured(folder: string, kind: KeyKindName, bytes: number): Promise<BenchRow[]> {
  const rows = bytes > 500 ? Math.ceil(Number(given.rows) / 10) : Number(given.rows);
  const names = given.stores.split(',') as StoreName[];
  const stores = await openStores(
    folder,
    {
      cacheBytes: Number(given.cache) * MiB,
      memoryBytes: 64 * MiB,
      sync: false,
      automatic: true,
      compression,
      blockBytes: Number(given['block-bytes']),
    },
    names,
  );
  const keyOf = KEY_KINDS[kind];
  await fill(stores, rows, keyOf, bytes);
  const label = `${rows} rows of ${bytes} bytes, ${kind}, cache ${given.cache} MiB${compression === 'NONE' ? '' : `, ${compression}`}`;
  console.log(label);
  const found: BenchRow[] = [];
  const operations = operationsOf(stores, rows, keyOf, bytes);
  for (const name of given.ops.split(',') as (keyof typeof operations)[]) {
    const operation = operations[name]();
    await operation.warm();
    const row = await measure(operation, label, rounds);
    console.log(rowLine(row));
    found.push(row);
  }
  await eachStore(stores, (store) => store.close());
  const space = Object.fromEntries(
    names.map((name) => [name, (rows * (keyOf(0).length + bytes)) / bytesIn(join(folder, name))]),
  );
  const { rowan, ...peers } = space;
  found.push({ row: `keys and values / space, ${label}`, unit: 'ratio', rowan: rowan ?? Number.NaN, peers });
  return found;
}

const all: BenchRow[] = [];
for (const kind of given.keys.split(',') as KeyKindName[]) {
  for (const bytes of given.sizes.split(',').map(Number)) {
    const folder = mkdtempSync(join(projectRoot, '.rowan-bench-'));
    try {
      all.push(...(await measured(folder, kind, bytes)));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
}
report(all);

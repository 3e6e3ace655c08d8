/**
 * What encryption costs: `npx tsx test/bench/micro/encryption.ts [rows]`. The same work on a plain and on an encrypted store, in turn;
 * processor time of this process in µs for each row or get, the best of seven rounds. Values have 100 bytes that are not compressed.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EmbeddedEngine, openEmbedded } from '../../../src/store/engine.js';
import type { EmbeddedOptions } from '../../../src/store/options.js';
import { Get, Put, Scan, tableDescriptor } from '../../../src/table/index.js';

const rows = Number(process.argv[2] ?? 100_000);
const ROUNDS = 7;
const GETS = 5_000;
const KEY = new Uint8Array(32).fill(7);
const KINDS: Readonly<Record<string, EmbeddedOptions>> = {
  plain: {},
  encrypted: { encryption: { keyId: 'k', key: () => KEY } },
};

const rowOf = (n: number): string => `user${String(n).padStart(12, '0')}`;
const value = Buffer.from(Array.from({ length: 100 }, (_, i) => 97 + ((i * 7) % 26)));

async function processorTime(work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

async function putAll(engine: EmbeddedEngine): Promise<void> {
  for (let n = 0; n < rows; n += 100) {
    const puts = Array.from({ length: 100 }, (_, i) => new Put(rowOf(n + i)).addColumn('f', 'q', value));
    await engine.table('t').putAll(puts);
  }
}

async function getSome(engine: EmbeddedEngine): Promise<void> {
  const table = engine.table('t');
  for (let i = 0; i < GETS; i++) {
    const result = await table.get(new Get(rowOf((i * 7919) % rows)));
    if (result.cells.length !== 1) throw new Error('a row is missing');
  }
}

async function scanAll(engine: EmbeddedEngine): Promise<void> {
  let count = 0;
  for await (const _ of engine.table('t').scan(new Scan())) count++;
  if (count !== rows) throw new Error(`${count} rows`);
}

const best = new Map<string, number>();
function note(what: string, micros: number): void {
  best.set(what, Math.min(best.get(what) ?? Number.POSITIVE_INFINITY, micros));
}

for (let round = 0; round < ROUNDS; round++) {
  for (const [kind, options] of Object.entries(KINDS)) {
    const path = join(mkdtempSync(join(tmpdir(), 'rowan-encryption-')), 'store');
    const store = { ...options, background: 'inline', automatic: false } as const;
    const made = await openEmbedded(path, store);
    await made.admin.createTable(tableDescriptor('t', { f: {} }));
    note(`put ${kind}`, (await processorTime(() => putAll(made))) / rows);
    note(`flush ${kind}`, (await processorTime(() => made.admin.flush('t'))) / rows);
    await made.close();
    // Indexes and filters have room, data blocks hardly any.
    const cold = await openEmbedded(path, { ...store, blockCacheSize: 1 << 20 });
    note(`get cold ${kind}`, (await processorTime(() => getSome(cold))) / GETS);
    note(`scan cold ${kind}`, (await processorTime(() => scanAll(cold))) / rows);
    await cold.close();
    const warm = await openEmbedded(path, store);
    await scanAll(warm);
    await getSome(warm);
    note(`get cached ${kind}`, (await processorTime(() => getSome(warm))) / GETS);
    await warm.close();
    rmSync(join(path, '..'), { recursive: true });
  }
}

for (const what of ['put', 'flush', 'get cold', 'get cached', 'scan cold']) {
  const [plain, encrypted] = ['plain', 'encrypted'].map((kind) => best.get(`${what} ${kind}`)!);
  console.log(
    `${what}: plain ${plain!.toFixed(2)} µs, encrypted ${encrypted!.toFixed(2)} µs, ratio ${(encrypted! / plain!).toFixed(2)}`,
  );
}

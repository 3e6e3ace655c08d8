/**
 * Four ways of keeping orders (HBase's case study "Customer/Order"), loaded with the same orders and asked the same
 * questions: what each needs on disk, and how long it takes. `npm run example:orders -- 100000`.
 */

import { deepStrictEqual } from 'node:assert';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import Table from 'cli-table3';
import { openBlob } from './blob.js';
import { makeOrders, type OrderData } from './data.js';
import { openDenormalized } from './denormalized.js';
import type { OrderId, OrderModel } from './model.js';
import { openNormalized } from './normalized.js';
import { openRecordTypes } from './record-types.js';

const count = Number(process.argv[2] ?? 100_000);
const ORDERS_AT_ONCE = 1000;
const ASKED = Math.min(2000, count);
const folder = '.rowan/order-models';

const models: Readonly<Record<string, (path: string) => Promise<OrderModel>>> = {
  normalized: openNormalized,
  'record-types': openRecordTypes,
  denormalized: openDenormalized,
  blob: openBlob,
};

const orders = [...makeOrders(count)];
const asked = Array.from({ length: ASKED }, (_, i) => orders[(i * 7919) % count]!);
const idOf = ({ customerId, orderNo }: OrderData): OrderId => ({ customerId, orderNo });
const results = new Table({
  head: ['', 'load, orders/s', 'MB', 'read, µs', 'status list, µs', 'move, µs', 'sold by product, s'],
});
let sold: ReadonlyMap<string, number> | undefined;

await rm(folder, { recursive: true, force: true });
for (const [name, openModel] of Object.entries(models)) {
  const path = join(folder, name);
  let model = await openModel(path);
  const loading = await seconds(() => load(model));
  // Closed and opened again: what is read comes from files.
  await model.close();
  const bytes = await sizeOf(path);
  model = await openModel(path);
  for (const order of asked) deepStrictEqual(await model.read(idOf(order)), order);
  const reading = await seconds(async () => {
    for (const order of asked) await model.read(idOf(order));
  });
  const listing = await seconds(async () => {
    for (const { customerId } of asked) await model.statuses(customerId);
  });
  let pieces: ReadonlyMap<string, number> = new Map();
  const adding = await seconds(async () => {
    pieces = await model.sold();
  });
  sold ??= pieces;
  deepStrictEqual(sorted(pieces), sorted(sold));
  const moving = await seconds(async () => {
    for (const order of asked) await model.move(idOf(order), 1, 'Elsewhere 1');
  });
  deepStrictEqual((await model.read(idOf(asked[0]!)))?.locations[0]?.line1, 'Elsewhere 1');
  results.push([
    model.name,
    Math.round(count / loading),
    (bytes / 1e6).toFixed(1),
    each(reading),
    each(listing),
    each(moving),
    adding.toFixed(2),
  ]);
  await model.close();
}
console.log(results.toString());

async function load(model: OrderModel): Promise<void> {
  for (let at = 0; at < orders.length; at += ORDERS_AT_ONCE) {
    await model.load(orders.slice(at, at + ORDERS_AT_ONCE) as OrderData[]);
  }
}

async function seconds(work: () => Promise<void>): Promise<number> {
  const started = performance.now();
  await work();
  return (performance.now() - started) / 1000;
}

function each(all: number): string {
  return ((all / asked.length) * 1e6).toFixed(0);
}

function sorted(pieces: ReadonlyMap<string, number>): [string, number][] {
  return [...pieces].sort(([a], [b]) => (a < b ? -1 : 1));
}

async function sizeOf(path: string): Promise<number> {
  const files = await readdir(path, { recursive: true });
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(path, file))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

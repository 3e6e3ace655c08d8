/** An order with its customer and its lines, against the relations of mappers on better-sqlite3. */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { open } from '../../../src/index.js';
import { type Measured, secondsOf } from '../harness.js';
import { projectRoot } from '../orm/contestant.js';
import { Customer, LINES, Line, linesFrom, Order, Product } from './entities.js';

const ORDERS = 10;

interface Whole {
  readonly no: number;
  readonly customer: { readonly name: string };
  readonly lines: Iterable<{ readonly lineNo: number; readonly product: string; readonly quantity: number }>;
}

interface Related {
  readonly name: string;
  readonly version: string;
  fill(
    customers: readonly object[],
    orders: readonly object[],
    lines: readonly object[],
  ): void | Promise<void>;
  whole(no: number): unknown;
  close(): void | Promise<void>;
}

/** Seconds of one round of reads, and of warming up before the first: the compilers need more than one round. */
const ROUND = 0.4;
const WARM_UP = 1.5;

/** All contestants, filled with the same orders; each call of one reads them for some time. */
export async function openOrders(
  folder: string,
): Promise<{ readonly contestants: Record<string, Measured>; close(): Promise<void> }> {
  const all = [await openRowan(join(folder, 'reading')), ...(await openPeers(folder))];
  console.log(all.map(({ name, version }) => `${name} ${version}`).join(', '));
  const customers = Array.from({ length: ORDERS }, (_, i) => ({ id: `c${i}`, name: `Customer ${i}` }));
  const orders = customers.map(({ id }, no) => ({ no, customerId: id }));
  const lines = linesFrom(0, 0, ORDERS * LINES);
  const contestants: Record<string, Measured> = {};
  for (const one of all) {
    await one.fill(customers, orders, lines);
    check(one.name, (await one.whole(7)) as Whole);
    contestants[one.name] = timed((call) => one.whole(call % ORDERS));
  }
  return {
    contestants,
    async close() {
      for (const one of all) await one.close();
    },
  };
}

function timed(read: (call: number) => unknown): Measured {
  let calls = 0;
  let lasts = WARM_UP;
  return async () => {
    const first = calls;
    const end = secondsOf('processor') + lasts;
    while (secondsOf('processor') < end) await read(calls++);
    lasts = ROUND;
    return calls - first;
  };
}

async function openRowan(path: string): Promise<Related> {
  // Without the entity that holds copies, so that customers are as plain as the others'.
  const db = await open({ path, entities: [Customer, Line, Order, Product] });
  const orders = db.repository(Order);
  return {
    name: 'rowan',
    version: 'as built here',
    async fill(customers, some, lines) {
      await db.repository(Customer).putMany(customers as Customer[]);
      await orders.putMany(some as Order[]);
      await db.repository(Line).putMany(lines as Line[]);
    },
    whole: (no) => orders.find({ no }).with('customer', 'lines').first(),
    close: () => db.close(),
  };
}

async function openPeers(folder: string): Promise<Related[]> {
  const peers: readonly [file: string, open: string][] = [
    ['drizzle', 'openDrizzleRelated'],
    ['typeorm', 'openTypeOrmRelated'],
    ['mikro-orm', 'openMikroOrmRelated'],
  ];
  const opened: Related[] = [];
  for (const [name, opens] of peers) {
    const file = join(projectRoot, 'test/bench/orm/peers', `${name}-related.mjs`);
    const module = (await import(file)) as Record<string, (folder: string) => Promise<Related>>;
    const own = join(folder, name);
    mkdirSync(own);
    opened.push(await module[opens]!(own));
  }
  return opened;
}

/** All give back the same order. */
function check(name: string, order: Whole): void {
  const shown = [...order.lines]
    .sort((a, b) => a.lineNo - b.lineNo)
    .map(({ lineNo, product, quantity }) => ({ lineNo, product, quantity }));
  const expected = linesFrom(0, 7 * LINES, LINES).map(({ orderNo: _, ...line }) => line);
  if (order.customer.name !== 'Customer 7' || JSON.stringify(shown) !== JSON.stringify(expected)) {
    throw new Error(`${name} gave back another order: ${JSON.stringify(order).slice(0, 300)}`);
  }
}

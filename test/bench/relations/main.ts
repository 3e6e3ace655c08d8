/**
 * `npm run bench:relations`: what relations, groups and copies cost. An order with its customer and its lines against
 * Drizzle's relational queries on better-sqlite3; a group-by against a full scan of the same rows; a change of a source
 * with its copies against the same number of plain writes in one batch. One process, one disk; contestants take turns in
 * every round; the figure is the median.
 *
 * `--rounds N` (default 5), `--rows N` (rows of the group-by, default 1,000,000), `--json FILE`.
 */

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  Column,
  Denormalized,
  Entity,
  int32,
  open,
  part,
  Reference,
  References,
  RowKey,
  text,
  uint32,
} from '../../../src/index.js';
import { type BenchRow, compare, type Measured, report, rowLine, toRow } from '../harness.js';
import { projectRoot } from '../orm/contestant.js';

const families = { d: {} };

@Entity({ table: { name: 'customers', families } })
@RowKey(part('id'))
class Customer {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:n', text) name!: string;
}

@Entity({ table: { name: 'lines', families } })
@RowKey(part('orderNo', uint32), part('lineNo', uint32))
class Line {
  declare static readonly key: ['orderNo', 'lineNo'];
  orderNo!: number;
  lineNo!: number;
  @Column('d:p', text) product!: string;
  @Column('d:q', int32) quantity!: number;
}

@Entity({ table: { name: 'orders', families } })
@RowKey(part('no', uint32))
class Order {
  declare static readonly key: ['no'];
  no!: number;
  @Column('d:c', text) customerId!: string;
  @Reference(() => Customer, { id: 'customerId' }) customer?: Customer | null;
  @References(() => Line, { orderNo: 'no' }) lines?: Line[];
}

@Entity({ table: { name: 'shipments', families } })
@RowKey(part('no', uint32))
@Denormalized(() => Customer, { via: 'customerId', fields: { name: 'name' } })
class Shipment {
  declare static readonly key: ['no'];
  no!: number;
  @Column('d:c', text) customerId?: string | null;
  @Column('d:n', text) name?: string | null;
}

@Entity({ table: { name: 'plain', families } })
@RowKey(part('no', uint32))
class Plain {
  declare static readonly key: ['no'];
  no!: number;
  @Column('d:c', text) customerId?: string | null;
  @Column('d:n', text) name?: string | null;
}

interface Related {
  fill(customers: readonly object[], orders: readonly object[], lines: readonly object[]): void;
  whole(no: number): { readonly lines: readonly unknown[] } | undefined;
  close(): void;
}

const LINES = 1000;
const ORDERS = 10;
const FAN_OUT = 10;
const WRITES = 200;

const rounds = numberOf('--rounds', 5);
const grouped = numberOf('--rows', 1_000_000);
const folder = mkdtempSync(join(projectRoot, '.rowan-bench-relations-'));
try {
  report(await measure());
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function numberOf(option: string, otherwise: number): number {
  const at = process.argv.indexOf(option);
  return at < 0 ? otherwise : Number(process.argv[at + 1]);
}

async function openDrizzle(): Promise<Related> {
  const file = join(projectRoot, 'test/bench/orm/peers/drizzle-related.mjs');
  const module = (await import(file)) as { openDrizzleRelated(folder: string): Promise<Related> };
  const own = join(folder, 'drizzle');
  mkdirSync(own);
  return module.openDrizzleRelated(own);
}

async function measure(): Promise<BenchRow[]> {
  const entities = [Customer, Line, Order, Plain, Shipment];
  const db = await open({ path: join(folder, 'rowan'), entities });
  // Without copies, so that its customers are as plain as Drizzle's.
  const reading = await open({ path: join(folder, 'reading'), entities: [Customer, Line, Order] });
  const drizzle = await openDrizzle();
  const rows: BenchRow[] = [];
  const row = async (title: string, unit: string, measured: Record<string, Measured>): Promise<void> => {
    const figures = toRow(title, unit, await compare(measured, rounds));
    console.log(rowLine(figures));
    rows.push(figures);
  };
  try {
    const customers = Array.from({ length: ORDERS }, (_, i) => ({ id: `c${i}`, name: `Customer ${i}` }));
    const orders = customers.map(({ id }, no) => ({ no, customerId: id }));
    const lines = orders.flatMap(({ no }) =>
      Array.from({ length: LINES }, (_, lineNo) => ({
        orderNo: no,
        lineNo,
        product: `product ${lineNo % 97}`,
        quantity: (lineNo % 9) + 1,
      })),
    );
    await reading.repository(Customer).putMany(customers);
    await reading.repository(Order).putMany(orders);
    await reading.repository(Line).putMany(lines);
    drizzle.fill(customers, orders, lines);
    const each = async (read: (no: number) => unknown): Promise<number> => {
      let count = 0;
      for (let i = 0; i < ORDERS * 5; i++) {
        const found = (await read(i % ORDERS)) as { readonly lines: readonly unknown[] };
        count += found.lines.length / LINES;
      }
      return count;
    };
    const found = reading.repository(Order);
    await row('an order with its customer and 1,000 lines', 'orders/s', {
      rowan: () => each((no) => found.find({ no }).with('customer', 'lines').first()),
      drizzle: () => each((no) => drizzle.whole(no)),
    });

    const shipments = db.repository(Shipment);
    const plain = db.repository(Plain);
    await db.repository(Customer).putMany(customers);
    await shipments.putMany(
      Array.from({ length: ORDERS * FAN_OUT }, (_, no) => ({ no, customerId: `c${no % ORDERS}` })),
    );
    let change = 0;
    await row(`a change of a source with ${FAN_OUT} copies`, 'changes/s', {
      rowan: async () => {
        for (let i = 0; i < WRITES; i++) {
          await db.repository(Customer).put({ id: `c${i % ORDERS}`, name: `Name ${change++}` });
        }
        return WRITES;
      },
      'eleven plain writes in a batch': async () => {
        for (let i = 0; i < WRITES; i++) {
          const name = `Name ${change++}`;
          await plain.putMany(
            Array.from({ length: FAN_OUT + 1 }, (_, at) => ({
              no: (i % ORDERS) * (FAN_OUT + 1) + at,
              customerId: `c${i % ORDERS}`,
              name,
            })),
          );
        }
        return WRITES;
      },
    });

    for (let at = 0; at < grouped; at += 5000) {
      const some = Array.from({ length: Math.min(5000, grouped - at) }, (_, i) => ({
        orderNo: 1000 + Math.floor((at + i) / LINES),
        lineNo: (at + i) % LINES,
        product: `product ${(at + i) % 97}`,
        quantity: ((at + i) % 9) + 1,
      }));
      await db.repository(Line).putMany(some, { durability: 'ASYNC_WAL' });
    }
    await db.admin.flush('lines');
    const all = () => db.repository(Line).find({}, { fullScan: true });
    await row(`a group-by over ${grouped} rows`, 'rows/s', {
      rowan: async () => {
        await all()
          .groupBy('product')
          .aggregate((on) => ({ sum: on.sum('quantity') }));
        return grouped;
      },
      'a scan of them': async () => {
        let count = 0;
        for await (const _ of all()) count++;
        return count;
      },
    });
    return rows;
  } finally {
    drizzle.close();
    await reading.close();
    await db.close();
  }
}

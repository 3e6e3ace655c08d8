/**
 * `tsx test/bench/index/alternatives.ts [--hbase HOST:PORT] [--rows N]`: ways to find orders by their customer, and what
 * each costs: to write, to ask, to keep. On the embedded engine, or on the HBase whose master is named.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Column,
  Counter,
  connect,
  type Database,
  Entity,
  Index,
  int32,
  open,
  part,
  RowKey,
  Summary,
  Table,
  text,
} from '../../../src/index.js';
import { Put } from '../../../src/table/index.js';

const PER_CUSTOMER = 20;
const BATCH = 100;
const rows = Number(optionOf('--rows') ?? 4000);
const master = optionOf('--hbase');

@Table({ name: 'alt_orders', families: { d: {} } })
class Orders {}
@Table({ name: 'alt_indexed', families: { d: {} } })
class IndexedOrders {}
@Table({ name: 'alt_by_customer', families: { d: {} } })
class ByCustomers {}
@Table({ name: 'alt_counts', families: { d: {} } })
class Counts {}

@Entity({ table: Orders })
@RowKey(part('id'))
class Order {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:c', text) customer!: string;
  @Column('d:t', int32) total!: number;
}

@Entity({ table: IndexedOrders })
@RowKey(part('id'))
@Index('byCustomer', [part('customer')])
@Index('covering', [part('customer')], { include: ['total'] })
class IndexedOrder {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byCustomer: ['customer']; covering: ['customer'] };
  id!: string;
  @Column('d:c', text) customer!: string;
  @Column('d:t', int32) total!: number;
}

/** On the embedded engine only. */
@Entity({ table: { name: 'alt_summed', families: { d: {} } } })
@RowKey(part('id'))
@Summary('byCustomer', { by: ['customer'], figures: { orders: 'count', total: { sum: 'total' } } })
class SummedOrder {
  declare static readonly key: ['id'];
  declare static readonly summaries: {
    byCustomer: { by: ['customer']; figures: { orders: 'count'; total: { sum: 'total' } } };
  };
  id!: string;
  @Column('d:c', text) customer!: string;
  @Column('d:t', int32) total!: number;
}

/** The orders once more, under their customer. */
@Entity({ table: ByCustomers })
@RowKey(part('customer'), part('id'))
class OrderOf {
  declare static readonly key: ['customer', 'id'];
  customer!: string;
  id!: string;
  @Column('d:t', int32) total!: number;
}

@Entity({ table: Counts })
@RowKey(part('customer'))
class OrderCount {
  declare static readonly key: ['customer'];
  customer!: string;
  @Counter('d:n') orders?: bigint;
  @Counter('d:t') total?: bigint;
}

function optionOf(name: string): string | undefined {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
}

const orderOf = (i: number) => ({
  id: `o${String(i).padStart(7, '0')}`,
  customer: `c${i % (rows / PER_CUSTOMER)}`,
  total: i % 97,
});
type OrderRow = ReturnType<typeof orderOf>;

async function perSecond(count: number, run: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await run();
  return (count * 1000) / (performance.now() - began);
}

/** Rows a second, written in batches. */
async function writes(write: (list: OrderRow[]) => Promise<unknown>): Promise<number> {
  return perSecond(rows, async () => {
    for (let at = 0; at < rows; at += BATCH) {
      await write(Array.from({ length: BATCH }, (_, i) => orderOf(at + i)));
    }
  });
}

/** Questions a second: the orders of a customer. */
async function reads(ask: (customer: string) => Promise<number>, times: number): Promise<number> {
  const found = await ask('c1');
  if (found !== PER_CUSTOMER) throw new Error(`${found} orders of a customer who has ${PER_CUSTOMER}`);
  return perSecond(times, async () => {
    for (let i = 0; i < times; i++) await ask(`c${(i * 7) % (rows / PER_CUSTOMER)}`);
  });
}

async function measure(db: Database): Promise<void> {
  const orders = db.repository(Order);
  const indexed = db.repository(IndexedOrder);
  const copies = db.repository(OrderOf);
  const counts = db.repository(OrderCount);
  const line = (name: string, written: number | undefined, asked: number): void =>
    console.log(
      `${name.padEnd(34)} ${(written ?? Number.NaN).toFixed(0).padStart(8)} rows/s ${asked.toFixed(0).padStart(8)} questions/s`,
    );
  const asCopies = async (customer: string) => (await copies.find({ customer }).all()).length;
  const size = (list: readonly unknown[]): number => list.length;

  await writes((list) => orders.putMany(list));
  const plain = await writes((list) => orders.putMany(list));
  line(
    'filter query',
    plain,
    await reads(
      async (customer) => size(await orders.find({}, { fullScan: true }).where({ customer }).all()),
      20,
    ),
  );

  const rebuilt = await writes(async (list) => copies.putMany(list));
  line('periodically rebuilt', plain, await reads(asCopies, 400));
  console.log(`  a rebuild writes ${rebuilt.toFixed(0)} rows/s`);

  const dual = await writes((list) =>
    db.batch(
      (batch) => {
        for (const order of list) {
          batch.of(Order).put(order);
          batch.of(OrderOf).put(order);
        }
      },
      { atomic: master === undefined },
    ),
  );
  line('dual-written by db.batch', dual, await reads(asCopies, 400));

  await writes((list) => indexed.putMany(list));
  const kept = await writes((list) =>
    indexed.putMany(list.map((order) => ({ ...order, total: order.total + 1 }))),
  );
  line(
    '@Index, two of them',
    kept,
    await reads(async (customer) => size(await indexed.by('byCustomer').find({ customer }).all()), 400),
  );
  line(
    '@Index, covering',
    kept,
    await reads(
      async (customer) => size(await indexed.by('covering').find({ customer }).select('total').all()),
      400,
    ),
  );

  const counted = await writes(async (list) => {
    await orders.putMany(list);
    await Promise.all(
      list.map(({ customer, total }) => counts.increment({ customer }, { orders: 1n, total: BigInt(total) })),
    );
  });
  line(
    'counters (answer sums alone)',
    counted,
    await perSecond(400, async () => {
      for (let i = 0; i < 400; i++) await counts.get({ customer: `c${i % 10}` });
    }),
  );

  if (master === undefined) {
    const summed = db.repository(SummedOrder);
    await writes((list) => summed.putMany(list));
    const again = await writes((list) =>
      summed.putMany(list.map((order) => ({ ...order, total: order.total + 1 }))),
    );
    const byCustomer = db.summary(SummedOrder, 'byCustomer');
    line(
      '@Summary (answers figures alone)',
      again,
      await perSecond(400, async () => {
        for (let i = 0; i < 400; i++) await byCustomer.get({ customer: `c${i % 10}` });
      }),
    );
  }

  const { mapper } = copies.schema;
  const end = db.engine.observe('alt_orders', {
    after({ change }) {
      if (change.kind !== 'put') return undefined;
      const value = (qualifier: string) =>
        change.cells.find((cell) => Buffer.from(cell.qualifier).toString() === qualifier)!.value;
      const row = mapper.rowOf({
        customer: Buffer.from(value('c')).toString(),
        id: Buffer.from(change.row).toString(),
      });
      return [{ table: 'alt_by_customer', change: new Put(row).addColumn('d', 't', value('t')) }];
    },
  });
  line('observer', await writes((list) => orders.putMany(list)), await reads(asCopies, 400));
  end();
}

const entities = [Order, IndexedOrder, OrderOf, OrderCount];
if (master === undefined) {
  const folder = mkdtempSync(join(tmpdir(), 'rowan-alternatives-'));
  const db = await open({ path: folder, entities: [...entities, SummedOrder] });
  await measure(db).finally(() => db.close());
  rmSync(folder, { recursive: true, force: true });
} else {
  const db = await connect({ masters: [master], entities, tables: 'create' });
  try {
    await measure(db);
  } finally {
    for (const name of ['alt_orders', 'alt_indexed', 'alt_indexed_idx', 'alt_by_customer', 'alt_counts']) {
      await db.admin.disableTable(name);
      await db.admin.deleteTable(name);
    }
    await db.close();
  }
}

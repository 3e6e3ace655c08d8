/** Denormalized: each line item has the place it is shipped to, so that there are two record types and not three. */

import {
  Column,
  date,
  decimal,
  Entity,
  open,
  part,
  recordType,
  rowKey,
  salt,
  Table,
  text,
  uint32,
} from 'rowan-orm';
import type { ItemData, LocationData } from './data.js';
import type { OrderModel } from './model.js';

@Table({ name: 'orders', families: { d: { compression: 'SNAPPY' } } })
class Orders {}

@Entity({ table: Orders, recordType: 1 })
class Order {
  static readonly key = rowKey(
    salt(8, ['customerId']),
    part('customerId', uint32),
    part('orderNo', uint32),
    recordType(),
  );
  customerId!: number;
  orderNo!: number;
  @Column('d:t', date) soldAt!: Date;
  @Column('d:s', text) status!: 'open' | 'shipped';
}

@Entity({ table: Orders, recordType: 2 })
class LineItem {
  static readonly key = rowKey(
    salt(8, ['customerId']),
    part('customerId', uint32),
    part('orderNo', uint32),
    recordType(),
    part('itemNo', uint32),
  );
  customerId!: number;
  orderNo!: number;
  itemNo!: number;
  @Column('d:p', text) product!: string;
  @Column('d:q', uint32) quantity!: number;
  @Column('d:e', decimal(2)) price!: string;
  @Column('d:n', uint32) locationNo!: number;
  @Column('d:l', text) shipToLine1!: string;
  @Column('d:c', text) shipToCity!: string;
  @Column('d:s', text) shipToState!: string;
  @Column('d:z', text) shipToZip!: string;
}

export async function openDenormalized(path: string): Promise<OrderModel> {
  const db = await open({ path, entities: [Order, LineItem] });
  const orders = db.repository(Order);
  const items = db.repository(LineItem);
  return {
    name: 'denormalized',
    async load(batch) {
      await Promise.all([
        orders.putMany(batch.map(({ locations: _, ...order }) => order)),
        items.putMany(
          batch.flatMap(({ customerId, orderNo, locations }) =>
            locations.flatMap(({ locationNo, line1, city, state, zip, items: own }) =>
              own.map((item) => ({
                customerId,
                orderNo,
                ...item,
                locationNo,
                shipToLine1: line1,
                shipToCity: city,
                shipToState: state,
                shipToZip: zip,
              })),
            ),
          ),
        ),
      ]);
    },
    async read(id) {
      const rows = await db.collection([Order, LineItem], id).groups();
      const [order] = rows.of(Order);
      if (order === undefined) return null;
      const { customerId, orderNo, soldAt, status } = order;
      return { customerId, orderNo, soldAt, status, locations: locationsOf(rows.of(LineItem)) };
    },
    async statuses(customerId) {
      return (await orders.find({ customerId }).select('status').all()).map(({ status }) => status);
    },
    /** Every item that goes there has a copy. */
    async move(id, locationNo, line1) {
      await items.find(id).where({ locationNo }).updateAll({ shipToLine1: line1 });
    },
    async sold() {
      const groups = await items
        .find({}, { fullScan: true })
        .groupBy('product')
        .aggregate((on) => ({ pieces: on.sum('quantity') }));
      return new Map(groups.map(({ product, pieces }) => [product, pieces]));
    },
    close: () => db.close(),
  };
}

function locationsOf(items: readonly LineItem[]): LocationData[] {
  const places = new Map<number, LocationData & { readonly items: ItemData[] }>();
  for (const item of items) {
    const { locationNo, itemNo, product, quantity, price } = item;
    let place = places.get(locationNo);
    if (place === undefined) {
      const { shipToLine1: line1, shipToCity: city, shipToState: state, shipToZip: zip } = item;
      place = { locationNo, line1, city, state, zip, items: [] };
      places.set(locationNo, place);
    }
    place.items.push({ itemNo, product, quantity, price });
  }
  return [...places.values()];
}

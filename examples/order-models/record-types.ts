/** One table with record types: an order, its places and its items stand side by side, and one scan reads them all. */

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
import type { LocationData } from './data.js';
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
class ShippingLocation {
  static readonly key = rowKey(
    salt(8, ['customerId']),
    part('customerId', uint32),
    part('orderNo', uint32),
    recordType(),
    part('locationNo', uint32),
  );
  customerId!: number;
  orderNo!: number;
  locationNo!: number;
  @Column('d:l', text) line1!: string;
  @Column('d:c', text) city!: string;
  @Column('d:s', text) state!: string;
  @Column('d:z', text) zip!: string;
}

@Entity({ table: Orders, recordType: 3 })
class LineItem {
  static readonly key = rowKey(
    salt(8, ['customerId']),
    part('customerId', uint32),
    part('orderNo', uint32),
    recordType(),
    part('locationNo', uint32),
    part('itemNo', uint32),
  );
  customerId!: number;
  orderNo!: number;
  locationNo!: number;
  itemNo!: number;
  @Column('d:p', text) product!: string;
  @Column('d:q', uint32) quantity!: number;
  @Column('d:e', decimal(2)) price!: string;
}

export async function openRecordTypes(path: string): Promise<OrderModel> {
  const db = await open({ path, entities: [Order, ShippingLocation, LineItem] });
  const orders = db.repository(Order);
  const locations = db.repository(ShippingLocation);
  const items = db.repository(LineItem);
  return {
    name: 'record types',
    async load(batch) {
      await Promise.all([
        orders.putMany(batch.map(({ locations: _, ...order }) => order)),
        locations.putMany(
          batch.flatMap(({ customerId, orderNo, locations: all }) =>
            all.map(({ items: _, ...location }) => ({ customerId, orderNo, ...location })),
          ),
        ),
        items.putMany(
          batch.flatMap(({ customerId, orderNo, locations: all }) =>
            all.flatMap(({ locationNo, items: own }) =>
              own.map((item) => ({ customerId, orderNo, locationNo, ...item })),
            ),
          ),
        ),
      ]);
    },
    async read(id) {
      const rows = await db.collection([Order, ShippingLocation, LineItem], id).groups();
      const [order] = rows.of(Order);
      if (order === undefined) return null;
      const all = rows.of(LineItem);
      return {
        customerId: order.customerId,
        orderNo: order.orderNo,
        soldAt: order.soldAt,
        status: order.status,
        locations: rows.of(ShippingLocation).map(
          ({ locationNo, line1, city, state, zip }): LocationData => ({
            locationNo,
            line1,
            city,
            state,
            zip,
            items: all
              .filter((item) => item.locationNo === locationNo)
              .map(({ itemNo, product, quantity, price }) => ({ itemNo, product, quantity, price })),
          }),
        ),
      };
    },
    async statuses(customerId) {
      return (await orders.find({ customerId }).select('status').all()).map(({ status }) => status);
    },
    move: (id, locationNo, line1) => locations.update({ ...id, locationNo }, { line1 }),
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

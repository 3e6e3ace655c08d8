/** Completely normalized: three tables, and a relation from an order to what it consists of. */

import {
  Column,
  date,
  decimal,
  Entity,
  open,
  part,
  References,
  type Related,
  rowKey,
  salt,
  text,
  uint32,
} from 'rowan-orm';
import type { ItemData, LocationData, OrderData } from './data.js';
import type { OrderId, OrderModel } from './model.js';

const families = { d: { compression: 'SNAPPY' } } as const;

@Entity({ table: { name: 'orders', families } })
class Order {
  static readonly key = rowKey(salt(8, ['customerId']), part('customerId', uint32), part('orderNo', uint32));
  customerId!: number;
  orderNo!: number;
  @Column('d:t', date) soldAt!: Date;
  @Column('d:s', text) status!: 'open' | 'shipped';
  @References(() => ShippingLocation, { customerId: 'customerId', orderNo: 'orderNo' })
  locations?: Related<ShippingLocation[]>;
  @References(() => LineItem, { customerId: 'customerId', orderNo: 'orderNo' })
  items?: Related<LineItem[]>;
}

@Entity({ table: { name: 'shipping_locations', families } })
class ShippingLocation {
  static readonly key = rowKey(
    salt(8, ['customerId']),
    part('customerId', uint32),
    part('orderNo', uint32),
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

@Entity({ table: { name: 'line_items', families } })
class LineItem {
  static readonly key = rowKey(
    salt(8, ['customerId']),
    part('customerId', uint32),
    part('orderNo', uint32),
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

export async function openNormalized(path: string): Promise<OrderModel> {
  const db = await open({ path, entities: [Order, ShippingLocation, LineItem] });
  const orders = db.repository(Order);
  const locations = db.repository(ShippingLocation);
  const items = db.repository(LineItem);
  return {
    name: 'normalized',
    async load(batch) {
      await Promise.all([
        orders.putMany(batch.map(({ locations: _, ...order }) => order)),
        locations.putMany(batch.flatMap(locationsOf)),
        items.putMany(batch.flatMap(itemsOf)),
      ]);
    },
    async read(id) {
      const order = await orders.find(id).with('locations', 'items').first();
      if (order === null) return null;
      const { customerId, orderNo, soldAt, status } = order;
      return {
        customerId,
        orderNo,
        soldAt,
        status,
        locations: order.locations.map(({ locationNo, line1, city, state, zip }): LocationData => {
          const own = order.items.filter((item) => item.locationNo === locationNo);
          return { locationNo, line1, city, state, zip, items: own.map(plainItem) };
        }),
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

function idOf({ customerId, orderNo }: OrderData): OrderId {
  return { customerId, orderNo };
}

function locationsOf(order: OrderData) {
  return order.locations.map(({ items: _, ...location }) => ({ ...idOf(order), ...location }));
}

function itemsOf(order: OrderData) {
  return order.locations.flatMap(({ locationNo, items }) =>
    items.map((item) => ({ ...idOf(order), locationNo, ...item })),
  );
}

function plainItem({ itemNo, product, quantity, price }: LineItem): ItemData {
  return { itemNo, product, quantity, price };
}

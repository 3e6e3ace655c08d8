/** Object BLOB: what an order consists of is one value of Avro in one cell. */

import {
  Avro,
  AvroField,
  AvroRecord,
  avro,
  Column,
  date,
  Entity,
  open,
  part,
  rowKey,
  salt,
  text,
  uint32,
} from 'rowan-orm';
import type { OrderModel } from './model.js';

@AvroRecord({ name: 'Item', namespace: 'example.orders' })
class Item {
  @AvroField(avro.int) itemNo!: number;
  @AvroField(avro.string) product!: string;
  @AvroField(avro.int) quantity!: number;
  @AvroField(avro.decimal(12, 2)) price!: string;
}

@AvroRecord({ name: 'Location', namespace: 'example.orders' })
class Location {
  @AvroField(avro.int) locationNo!: number;
  @AvroField(avro.string) line1!: string;
  @AvroField(avro.string) city!: string;
  @AvroField(avro.string) state!: string;
  @AvroField(avro.string) zip!: string;
  @AvroField(() => [Item]) items!: Item[];
}

@Entity({
  table: { name: 'orders', families: { d: { compression: 'SNAPPY' }, o: { compression: 'SNAPPY' } } },
})
class Order {
  static readonly key = rowKey(salt(8, ['customerId']), part('customerId', uint32), part('orderNo', uint32));
  customerId!: number;
  orderNo!: number;
  @Column('d:t', date) soldAt!: Date;
  @Column('d:s', text) status!: 'open' | 'shipped';
  /** In a family of its own: who asks for a status reads no order. */
  @Avro('o:l', () => [Location]) locations!: Location[];
}

export async function openBlob(path: string): Promise<OrderModel> {
  const db = await open({ path, entities: [Order] });
  const orders = db.repository(Order);
  return {
    name: 'Avro blob',
    load: (batch) => orders.putMany(batch.map((order) => ({ ...order, locations: copied(order.locations) }))),
    async read(id) {
      const order = await orders.get(id);
      if (order === null) return null;
      const { customerId, orderNo, soldAt, status, locations } = order;
      return {
        customerId,
        orderNo,
        soldAt,
        status,
        locations: locations.map(({ items, ...location }) => ({
          ...location,
          items: items.map((item) => ({ ...item })),
        })),
      };
    },
    async statuses(customerId) {
      return (await orders.find({ customerId }).select('status').all()).map(({ status }) => status);
    },
    /** The whole value is read and written. */
    async move(id, locationNo, line1) {
      const order = await orders.get(id);
      const location = order?.locations.find((one) => one.locationNo === locationNo);
      if (order === null || location === undefined) return;
      location.line1 = line1;
      await orders.update(id, { locations: order.locations });
    },
    async sold() {
      const pieces = new Map<string, number>();
      for await (const { locations } of orders.find({}, { fullScan: true }).select('locations')) {
        for (const { product, quantity } of locations.flatMap(({ items }) => items)) {
          pieces.set(product, (pieces.get(product) ?? 0) + quantity);
        }
      }
      return pieces;
    },
    close: () => db.close(),
  };
}

function copied(locations: readonly { readonly items: readonly object[] }[]): Location[] {
  return locations.map(({ items, ...location }) => ({
    ...location,
    items: items.map((item) => ({ ...item })),
  })) as Location[];
}

/** What `npm run bench:relations` keeps: orders with a customer and lines, shipments with copies, and rows without. */

import {
  Column,
  Denormalized,
  Entity,
  int32,
  part,
  Reference,
  References,
  RowKey,
  text,
  uint32,
} from '../../../src/index.js';

const families = { d: {} };

@Entity({ table: { name: 'customers', families } })
@RowKey(part('id'))
export class Customer {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:n', text) name!: string;
}

@Entity({ table: { name: 'products', families } })
@RowKey(part('name'))
export class Product {
  declare static readonly key: ['name'];
  name!: string;
  @Column('d:p', int32) price!: number;
}

@Entity({ table: { name: 'lines', families } })
@RowKey(part('orderNo', uint32), part('lineNo', uint32))
export class Line {
  declare static readonly key: ['orderNo', 'lineNo'];
  orderNo!: number;
  lineNo!: number;
  @Column('d:p', text) product!: string;
  @Column('d:q', int32) quantity!: number;
  @Reference(() => Product, { name: 'product' }) what?: Product | null;
}

@Entity({ table: { name: 'orders', families } })
@RowKey(part('no', uint32))
export class Order {
  declare static readonly key: ['no'];
  no!: number;
  @Column('d:c', text) customerId!: string;
  @Reference(() => Customer, { id: 'customerId' }) customer?: Customer | null;
  @References(() => Line, { orderNo: 'no' }) lines?: Line[];
}

@Entity({ table: { name: 'shipments', families } })
@RowKey(part('no', uint32))
@Denormalized(() => Customer, { via: 'customerId', fields: { name: 'name' } })
export class Shipment {
  declare static readonly key: ['no'];
  no!: number;
  @Column('d:c', text) customerId?: string | null;
  @Column('d:n', text) name?: string | null;
}

@Entity({ table: { name: 'plain', families } })
@RowKey(part('no', uint32))
export class Plain {
  declare static readonly key: ['no'];
  no!: number;
  @Column('d:c', text) customerId?: string | null;
  @Column('d:n', text) name?: string | null;
}

/** Lines of an order. */
export const LINES = 1000;

/** `count` lines from the `from`th on, of orders from `order` on. */
export function linesFrom(
  order: number,
  from: number,
  count: number,
  productOf: (line: number) => string = (line) => `product ${line % 97}`,
) {
  return Array.from({ length: count }, (_, i) => ({
    orderNo: order + Math.floor((from + i) / LINES),
    lineNo: (from + i) % LINES,
    product: productOf(from + i),
    quantity: ((from + i) % 9) + 1,
  }));
}

/** A single table of two record types, salted by customer, as the tests of queries and repositories use it. */

import {
  Column,
  Entity,
  part,
  RowKey,
  recordType,
  reverseTimestamp,
  salt,
  Table,
} from '../../decorators/index.js';
import { date, decimal, int32, json, text } from '../../src/codec/index.js';
import { uint32 } from '../../src/key/index.js';

@Table({
  name: 'shop:crm',
  families: { d: { compression: 'NONE', versions: 5, keepDeletedCells: 'TRUE' }, p: {} },
  presplit: { regions: 4 },
})
export class Crm {}

@Entity({ table: Crm, recordType: 1 })
@RowKey(salt(16, ['customerId']), part('customerId'), recordType())
export class Customer {
  declare static readonly key: ['customerId'];
  customerId!: string;
  @Column('d:n', text) name!: string;
  @Column('d:e', text) email?: string | null;
  @Column('p:s', json<{ theme: string }>()) settings?: { theme: string } | null;
}

@Entity({ table: Crm, recordType: 2 })
@RowKey(
  salt(16, ['customerId']),
  part('customerId'),
  recordType(),
  reverseTimestamp('placedAt'),
  part('orderNo', uint32),
)
export class Order {
  declare static readonly key: ['customerId', 'placedAt', 'orderNo'];
  customerId!: string;
  placedAt!: Date;
  orderNo!: number;
  @Column('d:s', text) status!: string;
  @Column('d:t', decimal(2)) total!: string;
  @Column('d:q', int32) quantity?: number | null;
  @Column('d:w', date) shippedAt?: Date | null;
  @Column('p:x', json<string[]>()) tags?: string[] | null;
}

/** A key salted over its only part: a range reads every salt. */
@Table({ name: 'events', families: { f: {} } })
export class Events {}

@Entity({ table: Events })
@RowKey(salt(16), part('at', date), part('seq', uint32))
export class Event {
  declare static readonly key: ['at', 'seq'];
  at!: Date;
  seq!: number;
  @Column('f:k', text) kind!: string;
}

export function order(customerId: string, day: number, orderNo: number, rest: Partial<Order> = {}): Order {
  return Object.assign(new Order(), {
    customerId,
    placedAt: new Date(Date.UTC(2026, 0, day)),
    orderNo,
    status: 'open',
    total: '10.00',
    ...rest,
  });
}

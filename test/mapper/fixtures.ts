/** Entities that the tests of schema and mapper share. */

import { expect } from 'vitest';
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
import { bytes, date, decimal, int32, int64, text } from '../../src/codec/index.js';
import { uint32 } from '../../src/key/index.js';
import type { EntityMapper } from '../../src/schema/types.js';
import { Cell, CellType, RawRow, Result, type RowMutation } from '../../src/table/index.js';

@Table({
  name: 'shop:crm',
  families: { d: { compression: 'SNAPPY' }, p: { blockCache: false } },
  presplit: { regions: 4 },
})
export class Crm {}

@Entity({ table: Crm, recordType: 1 })
@RowKey(salt(16), part('customerId'), recordType())
export class Customer {
  declare static readonly key: ['customerId'];
  customerId!: string;
  @Column('d:n', text) name!: string;
  @Column('d:e', text) email?: string | null;
  @Column('p:photo', bytes) photo?: Uint8Array | null;
  @Column('d:a', int32) age?: number;
  constructor() {
    throw new Error('the constructor is never called');
  }
  greet(): string {
    return `Hello ${this.name}`;
  }
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
  @Column('d:s', text) status!: 'open' | 'shipped';
  @Column('d:t', decimal(2)) total!: string;
  @Column('d:w', int64) weight?: bigint | null;
  @Column('d:sh', date) shippedAt?: Date | null;
}

/** The result of a row that took these mutations, the later over the earlier, as an engine would answer it. */
export function resultOf(...mutations: readonly RowMutation[]): Result {
  const cells = new Map<string, Cell>();
  const row = mutations[0]!.row;
  for (const mutation of mutations) {
    if (mutation.kind !== 'put' && mutation.kind !== 'delete') throw new Error(`no ${mutation.kind} here`);
    for (const { family, qualifier, timestamp, type, value } of mutation.cells) {
      const column = `${family}:${Buffer.from(qualifier).toString('latin1')}`;
      if (type === CellType.Put) cells.set(column, new Cell(row, family, qualifier, timestamp, type, value));
      else cells.delete(column);
    }
  }
  const sorted = [...cells].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, cell]) => cell);
  return new Result(row, sorted);
}

/** What the mapper makes of a result, which must be what it makes of the same row without objects. */
export function readBoth<E extends object>(mapper: EntityMapper<E>, result: Result): E | null {
  const raw = new RawRow();
  raw.fill(result);
  const entity = mapper.fromResult(result);
  const fromRaw = mapper.readerOf().readRaw(raw);
  expect(fromRaw).toStrictEqual(entity);
  if (entity !== null) expect(Object.keys(fromRaw!)).toEqual(Object.keys(entity));
  return entity;
}

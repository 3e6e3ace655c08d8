import { describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import {
  defineEntity,
  defineTable,
  hash,
  part,
  recordType,
  reverseTimestamp,
  salt,
  Table,
} from '../../decorators/index.js';
import { date, decimal, enumeration, int32, int64, text, uint32 } from '../../src/codec/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { EntityOf, Input, KeyOf } from '../../src/schema/entity-types.js';
import { Order, resultOf } from '../mapper/fixtures.js';

const crm = defineTable({
  name: 'shop:crm',
  families: { d: { compression: 'SNAPPY' }, p: { blockCache: false } },
  presplit: { regions: 4 },
});

const DefinedOrder = defineEntity({
  name: 'Order',
  table: crm,
  recordType: 2,
  key: [
    salt(16, ['customerId']),
    part('customerId'),
    recordType(),
    reverseTimestamp('placedAt'),
    part('orderNo', uint32),
  ],
  columns: (c) => ({
    status: c.column('d:s', enumeration({ open: 1, shipped: 2 })),
    total: c.column('d:t', decimal(2)),
    note: c.column('p:n', text).optional(),
    lines: c.json<{ sku: string }[]>('d:l').optional(),
    address: c.embedded(
      'd',
      (a) => ({ city: a.column('city', text), zip: a.column('zip', text).optional() }),
      {
        prefix: 'a.',
      },
    ),
    followers: c.columns('p:f.', { value: int32 }),
    views: c.counter('d:v'),
  }),
});
type DefinedOrder = EntityOf<typeof DefinedOrder>;

describe('defineEntity', () => {
  it('infers the entity, its key and what can be put', () => {
    expectTypeOf<KeyOf<typeof DefinedOrder>>().toEqualTypeOf<{
      customerId: string;
      placedAt: Date;
      orderNo: number;
    }>();
    expectTypeOf<DefinedOrder['status']>().toEqualTypeOf<'open' | 'shipped'>();
    expectTypeOf<DefinedOrder['note']>().toEqualTypeOf<string | null | undefined>();
    expectTypeOf<DefinedOrder['address']>().toEqualTypeOf<{ city: string; zip?: string | null }>();
    expectTypeOf<DefinedOrder['followers']>().toEqualTypeOf<Map<string, number | null>>();
    expectTypeOf(DefinedOrder.key).toEqualTypeOf<['customerId', 'placedAt', 'orderNo']>();
    expectTypeOf<DefinedOrder>().toExtend<Input<typeof DefinedOrder>>();
  });

  it('lists the parts of its key at run time', () => {
    expect(DefinedOrder.key).toEqual(['customerId', 'placedAt', 'orderNo']);
    const Hashed = defineEntity({
      name: 'Hashed',
      table: crm,
      key: [hash('b'), hash('a', { bytes: 2 }), part('a')],
      columns: (c) => ({ b: c.column('d:b', text) }),
    });
    expect(Hashed.key).toEqual(['b', 'a']);
    expect(
      compileSchema([Hashed])
        .entity(Hashed)
        .key.parts.map(({ name }) => name),
    ).toEqual(['b', 'a']);
  });

  it('stores what it gives back', () => {
    const { mapper } = compileSchema([DefinedOrder]).entity(DefinedOrder);
    const order = new DefinedOrder({
      customerId: 'c',
      placedAt: new Date(5),
      orderNo: 7,
      status: 'open',
      total: '1.50',
      lines: [{ sku: 's' }],
      address: { city: 'Köln' },
      followers: new Map([['x', 1]]),
      views: 3n,
    });
    const source = order as unknown as Record<string, unknown>;
    const read = mapper.fromResult(resultOf(...mapper.toMutations(source, mapper.rowOf(source))))!;
    expect(read).toBeInstanceOf(DefinedOrder);
    expect(read).toEqual(order);
  });

  it('is the same schema, byte for byte, as the same thing said with decorators', () => {
    const SameOrder = defineEntity({
      name: 'Order',
      table: crm,
      recordType: 2,
      key: [
        salt(16, ['customerId']),
        part('customerId'),
        recordType(),
        reverseTimestamp('placedAt'),
        part('orderNo', uint32),
      ],
      columns: (c) => ({
        status: c.column('d:s', text),
        total: c.column('d:t', decimal(2)),
        weight: c.column('d:w', int64),
        shippedAt: c.column('d:sh', date),
      }),
    });
    const table = compileSchema([SameOrder]).tables[0]!;
    const decorated = compileSchema([Order]).tables[0]!;
    expect(table.signature).toBe(decorated.signature);
    expect(table.descriptor).toEqual(decorated.descriptor);
  });

  it('may be extended by a class with methods, which is then the entity', () => {
    class RichOrder extends DefinedOrder {
      label(): string {
        return `${this.customerId}/${this.orderNo}`;
      }
    }
    const { mapper, name } = compileSchema([RichOrder]).entity(RichOrder);
    const source = { customerId: 'c', placedAt: new Date(5), orderNo: 7, status: 'open' };
    const read = mapper.fromResult(resultOf(...mapper.toMutations(source, mapper.rowOf(source))))!;
    expect(read.label()).toBe('c/7');
    expect(name).toBe('Order');
  });

  it('runs its checks and hooks', () => {
    const seen: string[] = [];
    const Checked = defineEntity({
      name: 'Checked',
      table: crm,
      key: [part('id')],
      columns: (c) => ({ age: c.column('d:a', int32).validate(z.number().min(0)) }),
      validate: z.object({ id: z.string().min(2) }),
      hooks: {
        beforePut(entity) {
          seen.push(`before ${entity.id}`);
        },
        afterLoad: (entity) => void seen.push(`loaded ${entity.age}`),
      },
    });
    const { lifecycle } = compileSchema([Checked]).entity(Checked);
    expect(() => lifecycle.beforeWrite!({ id: 'a', age: -1 }, 'put', 0)).toThrow(/age: .*; id: /s);
    lifecycle.afterLoad!({ id: 'ab', age: 3 });
    expect(seen).toEqual(['before a', 'loaded 3']);
  });

  it('makes defaults of columns, of embedded objects and of parts of the key', () => {
    const Defaulted = defineEntity({
      name: 'Defaulted',
      table: crm,
      key: [part('id')],
      columns: (c) => ({
        state: c.column('d:s', enumeration({ open: 1, done: 2 })).default(() => 'open'),
        at: c.embedded('d', (a) => ({ city: a.column('city', text) })).default(() => ({ city: 'Oslo' })),
        n: c
          .column('d:n', int32)
          .default(() => 7)
          .optional()
          .validate(z.number().max(7)),
      }),
      defaults: { id: () => 'made' },
    });
    const { lifecycle } = compileSchema([Defaulted]).entity(Defaulted);
    const given: Partial<EntityOf<typeof Defaulted>> = {};
    lifecycle.beforeWrite!(given as never, 'put', 0);
    expect(given).toEqual({ id: 'made' });
    lifecycle.beforeWrite!(given as never, 'insert', 0);
    expect(given).toEqual({ id: 'made', state: 'open', at: { city: 'Oslo' }, n: 7 });
  });

  it('refuses defaults of other types, of what is no property, and that are no functions', () => {
    const declare = (defaults: unknown, ofColumn: unknown = () => 'a') =>
      defineEntity({
        name: 'Defaulted',
        table: crm,
        key: [part('id')],
        columns: (c) => ({ a: c.column('d:a', text).default(ofColumn as () => string) }),
        defaults: defaults as { id: () => string },
      });
    expect(() => declare(['id'])).toThrow(
      /defaults must be an object that maps key parts to functions.*not an array/,
    );
    expect(() => declare({ id: 'one' })).toThrow(/default of id must be a function.*not "one"/);
    expect(() => compileSchema([declare({ nope: () => 1 })])).toThrow(
      /Defaulted\.nope: It has a default, but is no column and no part of the key/,
    );
    expect(() => compileSchema([declare({}, 'open')])).toThrow(
      /Defaulted\.a: Its default is "open", and is to be a function/,
    );
    defineEntity({
      name: 'Wrong',
      table: crm,
      key: [part('id', int32)],
      // @ts-expect-error a is a number
      columns: (c) => ({ a: c.column('d:a', int32).default(() => 'text') }),
      // @ts-expect-error id is a number
      defaults: { id: () => 'text' },
    });
  });

  it('refuses what no definition has', () => {
    const misspelt = { name: 'Wrong', table: crm, key: [part('id')], columns: () => ({}), index: {} };
    expect(() => defineEntity(misspelt)).toThrow(
      /^defineEntity\(Wrong\) has no option "index"\. Its options are .*indexes/,
    );
    const unhooked = {
      name: 'Wrong',
      table: crm,
      key: [part('id')],
      columns: () => ({}),
      hooks: { onPut() {} },
    };
    expect(() => defineEntity(unhooked as never)).toThrow(
      /^defineEntity\(Wrong\)\.hooks has no option "onPut"\. Its options are beforePut, /,
    );
  });

  it('refuses families that the table does not have, at compile time and when the schema is compiled', () => {
    const Wrong = defineEntity({
      name: 'Wrong',
      table: crm,
      key: [part('id')],
      // @ts-expect-error the table has the families d and p
      columns: (c) => ({ a: c.column('x:a', text) }),
    });
    expect(() => compileSchema([Wrong])).toThrow(/Wrong\.a: Table "shop:crm" has no family "x"/);
    @Table({ name: 't', families: { z: {} } })
    class AnyTable {}
    const Fine = defineEntity({
      name: 'Fine',
      table: AnyTable,
      key: [part('id')],
      columns: (c) => ({ a: c.column('z:a', text) }),
    });
    expect(compileSchema([Fine]).tables[0]!.descriptor.name).toBe('t');
  });

  it('says what of an index is no element', () => {
    const indexed = (index: unknown): unknown =>
      defineEntity({
        name: 'Wrong',
        table: crm,
        key: [part('id')],
        columns: (c) => ({ n: c.column('d:n', int32) }),
        indexes: { byN: index as never },
      });
    expect(() => indexed({ on: [part('n'), 'id'] })).toThrow(
      `defineEntity(Wrong): the index "byN" must be { on: [part('status')], ...options }, and its on has "id".`,
    );
    expect(() => indexed({ on: 'n' })).toThrow(
      "must be { on: [part('status')], ...options }, not an object.",
    );
    expect(() => indexed({ on: [] })).toThrow('not an object.');
  });

  it('reports a property that is no definition', () => {
    const Wrong = defineEntity({
      name: 'Wrong',
      table: crm,
      key: [part('id')],
      columns: () => ({ a: text as never }),
    });
    expect(() => compileSchema([Wrong])).toThrow(/Wrong: The property "a" is not a column definition/);
  });
});

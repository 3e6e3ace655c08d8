import { describe, expect, it } from 'vitest';
import {
  Avro,
  AvroField,
  AvroRecord,
  defineEntity,
  defineTable,
  Entity,
  part,
  RowKey,
} from '../../decorators/index.js';
import { type AvroCodec, avro } from '../../src/codec/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { EntityMapper } from '../../src/schema/types.js';
import { readBoth, resultOf } from '../mapper/fixtures.js';

const table = defineTable({ name: 't', families: { d: {} } });

@AvroRecord({ name: 'Discount', namespace: 'com.shop' })
class Discount {
  @AvroField(avro.decimal(9, 2)) amount!: string;
  constructor() {
    throw new Error('the constructor is never called');
  }
}

abstract class Priced {
  @AvroField(avro.decimal(9, 2)) price!: string;
}

@AvroRecord({ name: 'LineItem', namespace: 'com.shop', aliases: ['Line'] })
class LineItem extends Priced {
  @AvroField(avro.string, { aliases: ['article'] }) sku!: string;
  @AvroField(() => Discount, { optional: true }) discount!: Discount | null;
  @AvroField(() => [Discount]) discounts!: Discount[];
  label(): string {
    return `${this.sku} for ${this.price}`;
  }
}

@Entity({ table })
@RowKey(part('id'))
class Order {
  declare static readonly key: ['id'];
  id!: string;
  @Avro('d:l', () => [LineItem], { compatibility: 'full' }) lines!: LineItem[];
  @Avro('d:b', () => LineItem) best?: LineItem | null;
}

const discount = (amount: string) => Object.assign(Object.create(Discount.prototype), { amount }) as Discount;
const line = (sku: string) =>
  Object.assign(new LineItem(), {
    sku,
    price: '1.50',
    discount: null,
    discounts: [discount('0.10'), discount('0.20')],
  });

describe('@Avro of a class', () => {
  const orders = compileSchema([Order]).entity(Order);
  const codec = orders.columnsByProperty.get('lines')!.codec as AvroCodec<unknown>;

  it('has the schema that the class and those it extends declare; a record met again is named', () => {
    expect(codec.compatibility).toBe('full');
    expect(codec.schema).toEqual({
      type: 'array',
      items: {
        type: 'record',
        name: 'LineItem',
        namespace: 'com.shop',
        aliases: ['Line'],
        fields: [
          { name: 'price', type: { type: 'bytes', logicalType: 'decimal', precision: 9, scale: 2 } },
          { name: 'sku', type: 'string', aliases: ['article'] },
          {
            name: 'discount',
            type: [
              'null',
              {
                type: 'record',
                name: 'Discount',
                namespace: 'com.shop',
                fields: [
                  { name: 'amount', type: { type: 'bytes', logicalType: 'decimal', precision: 9, scale: 2 } },
                ],
              },
            ],
            default: null,
          },
          { name: 'discounts', type: { type: 'array', items: 'com.shop.Discount' } },
        ],
      },
    });
  });

  it('gives back instances, nested ones too', () => {
    const mapper: EntityMapper = orders.mapper;
    const order = {
      id: 'a',
      lines: [line('x'), { ...line('y'), discount: discount('0.30') }],
      best: line('z'),
    };
    const read = readBoth(orders.mapper, resultOf(...mapper.toMutations(order, mapper.rowOf(order))))!;
    expect(read.lines.map((item) => item.label())).toEqual(['x for 1.50', 'y for 1.50']);
    expect(read.lines[1]!.discount).toBeInstanceOf(Discount);
    expect(read.lines[0]!.discounts[1]).toEqual(discount('0.20'));
    expect(read.best).toBeInstanceOf(LineItem);
  });

  it('works in defineEntity', () => {
    const Defined = defineEntity({
      name: 'Defined',
      table,
      key: [part('id')],
      columns: (c) => ({
        best: c.avro('d:b', () => LineItem),
        lines: c.avro('d:l', () => [LineItem]).optional(),
      }),
    });
    const { mapper } = compileSchema([Defined]).entity(Defined);
    const source = { id: 'a', best: line('x') };
    const read = readBoth(mapper, resultOf(...mapper.toMutations(source, mapper.rowOf(source))))!;
    expect(read.best.label()).toBe('x for 1.50');
  });

  it('reports classes that are no records, have no fields, or share a name', () => {
    class Plain {}
    @AvroRecord({ name: 'Empty' })
    class Empty {}
    @AvroRecord({ name: 'LineItem', namespace: 'com.shop' })
    class Other {
      @AvroField(() => LineItem) line!: LineItem;
    }
    @AvroRecord({ name: 'not a name' })
    class BadName {
      @AvroField(avro.string) a!: string;
    }
    @AvroRecord({ name: 'Misspelt' })
    class Misspelt {
      @AvroField(avro.string, { optinal: true } as never) a?: string;
    }
    @Entity({ table })
    @RowKey(part('id'))
    class Wrong {
      declare static readonly key: ['id'];
      id!: string;
      @Avro('d:a', () => Plain) plain!: Plain;
      @Avro('d:b', () => [Empty]) empty!: Empty[];
      @Avro('d:c', () => Other) other!: Other;
      @Avro('d:d', () => BadName) bad!: BadName;
      @Avro('d:e', () => Misspelt) misspelt!: Misspelt;
    }
    expect(() => compileSchema([Wrong])).toThrow(
      expect.objectContaining({
        problems: [
          'Wrong.plain: The class Plain has no @AvroRecord. Put @AvroRecord({ name }) above it.',
          'Wrong.empty: The class Empty has no fields of Avro. Declare them with @AvroField.',
          'Wrong.other: Two classes are the Avro record "com.shop.LineItem". Give each a name of its own.',
          expect.stringMatching(/^Wrong\.bad: "not a name" is not a valid Avro name/),
          expect.stringMatching(/^Wrong\.misspelt: Misspelt: @AvroField of "a" has no option "optinal"/),
        ],
      }),
    );
  });
});

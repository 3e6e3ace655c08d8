/** The key said once, `static readonly key = rowKey(...)`, is the key of `@RowKey` to the byte. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  Column,
  defineEntity,
  Entity,
  hash,
  part,
  RowKey,
  recordType,
  reverseTimestamp,
  rowKey,
  salt,
} from '../../decorators/index.js';
import { text, uint32 } from '../../src/codec/index.js';
import { compileSchema } from '../../src/mapper/index.js';

const table = { name: 'once', families: { d: {} } };
const elements = [
  salt(16, ['customerId']),
  part('customerId'),
  recordType(),
  reverseTimestamp('placedAt'),
  part('no', uint32),
] as const;

@Entity({ table, recordType: 2, name: 'Order' })
@RowKey(...elements)
class Above {
  declare static readonly key: ['customerId', 'placedAt', 'no'];
  customerId!: string;
  placedAt!: Date;
  no!: number;
  @Column('d:n', text) note?: string;
}

@Entity({ table, recordType: 2, name: 'Order' })
class Once {
  static readonly key = rowKey(...elements);
  customerId!: string;
  placedAt!: Date;
  no!: number;
  @Column('d:n', text) note?: string;
}

const Defined = defineEntity({
  name: 'Order',
  table,
  recordType: 2,
  key: Once.key,
  columns: (c) => ({ note: c.column('d:n', text).optional() }),
});

describe('rowKey()', () => {
  it('gives the bytes and the layout of @RowKey, in classes and with defineEntity', () => {
    const schemas = [Above, Once, Defined].map((target) => compileSchema([target]).entities[0]!);
    expect(new Set(schemas.map(({ key }) => key.signature)).size).toBe(1);
    expect(new Set(schemas.map((schema) => schema.table.signature)).size).toBe(1);
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme' }),
        fc.date({ noInvalidDate: true, min: new Date(0) }),
        fc.nat(),
        (customerId, placedAt, no) => {
          const rows = schemas.map((schema) => schema.mapper.rowOf({ customerId, placedAt, no }));
          expect(rows[1]).toEqual(rows[0]);
          expect(rows[2]).toEqual(rows[0]);
        },
      ),
    );
  });

  it('is the list of the parts, frozen', () => {
    expect([...Once.key]).toEqual(['customerId', 'placedAt', 'no']);
    expect([...rowKey(hash('a'), part('b'), part('a'))]).toEqual(['b', 'a']);
    expect(Once.key.elements).toEqual(elements);
    expect(Object.isFrozen(Once.key) && Object.isFrozen(Once.key.elements)).toBe(true);
    expect(Defined.key).toEqual(['customerId', 'placedAt', 'no']);
  });

  it('is inherited, and replaced by the key of a class that extends another', () => {
    class Base {
      static readonly key: readonly string[] = rowKey(part('id'));
      id!: string;
    }
    @Entity({ table, name: 'A' })
    class Inherited extends Base {
      @Column('d:n', text) note?: string;
    }
    @Entity({ table, name: 'B' })
    class Replaced extends Base {
      static override readonly key = rowKey(part('id'), part('more'));
      more!: string;
      @Column('d:n', text) note?: string;
    }
    const partsOf = (target: typeof Inherited) =>
      compileSchema([target]).entities[0]!.key.parts.map(({ name }) => name);
    expect(partsOf(Inherited)).toEqual(['id']);
    expect(partsOf(Replaced)).toEqual(['id', 'more']);
  });

  it('does not stand beside @RowKey, and takes elements only', () => {
    @Entity({ table, name: 'Both' })
    @RowKey(part('id'))
    class Both {
      static readonly key = rowKey(part('id'));
      id!: string;
      @Column('d:n', text) note?: string;
    }
    expect(() => compileSchema([Both])).toThrow(/Both: The class has @RowKey and a static key of rowKey/);
    expect(() => rowKey(5 as never)).toThrow(/takes names of properties and elements, .*, not 5/);
    expect(() => rowKey(undefined as never)).toThrow(/not undefined/);
    @Entity({ table, name: 'None' })
    class None {
      @Column('d:n', text) note?: string;
    }
    expect(() => compileSchema([None])).toThrow(
      /no row key\. Write in the class: static readonly key = rowKey/,
    );
  });
});

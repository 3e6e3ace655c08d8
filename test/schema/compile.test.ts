import { describe, expect, it } from 'vitest';
import {
  Column,
  Columns,
  defineTable,
  Entity,
  hash,
  part,
  RowKey,
  recordType,
  rowKey,
  salt,
  Table,
  type Versioned,
  Versions,
} from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import { SchemaError } from '../../src/errors.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { EntityClass } from '../../src/schema/types.js';
import { Crm, Customer, Order } from '../mapper/fixtures.js';

const table = defineTable({ name: 't', families: { d: {}, p: {} } });

function problemsOf(...entities: EntityClass[]): readonly string[] {
  try {
    compileSchema(entities);
  } catch (error) {
    if (error instanceof SchemaError) return error.problems;
    throw error;
  }
  return [];
}

describe('a compiled schema', () => {
  const schema = compileSchema([Order, Customer]);

  it('knows its entities and tables, frozen', () => {
    expect(schema.entities.map(({ name }) => name)).toEqual(['Order', 'Customer']);
    expect(schema.tables).toHaveLength(1);
    expect(schema.tables[0]!.entities.map(({ name }) => name)).toEqual(['Customer', 'Order']);
    expect(schema.tables[0]!.descriptor).toMatchObject({
      name: 'shop:crm',
      families: [
        { name: 'd', compression: 'SNAPPY' },
        { name: 'p', blockCache: false },
      ],
    });
    expect(schema.entity(Customer).table).toBe(schema.tables[0]);
    for (const part of [
      schema,
      schema.tables,
      schema.tables[0],
      schema.entity(Order),
      schema.entity(Order).columns,
    ]) {
      expect(Object.isFrozen(part)).toBe(true);
    }
  });

  it('has its columns in the order of cells, with what they were declared as', () => {
    const customer = schema.entity(Customer);
    expect(customer.columns.map(({ property }) => property)).toEqual(['age', 'email', 'name', 'photo']);
    expect(customer.columnsByProperty.get('email')).toMatchObject({
      family: 'd',
      kind: 'column',
      path: ['email'],
    });
    expect(customer.families).toEqual(['d', 'p']);
    expect(customer.marker).toMatchObject({ family: 'd' });
  });

  it('splits new tables as the key layout says', () => {
    expect(schema.tables[0]!.splitKeys.map((key) => [...key])).toEqual([[4], [8], [12]]);
  });

  it('refuses a class that it does not know', () => {
    class Stranger {}
    expect(() => schema.entity(Stranger)).toThrow(
      /Stranger is no entity of this schema.*Known: Order, Customer/,
    );
    expect(schema.has(Stranger)).toBe(false);
  });

  it('has a signature that bytes decide and names do not', () => {
    const variant = (name: string, column: string, codec = text) => {
      @Entity({ table, name })
      @RowKey(part('id'))
      class Variant {
        declare static readonly key: ['id'];
        id!: string;
        @Column(column, codec) value!: string;
      }
      return compileSchema([Variant]).tables[0]!.signature;
    };
    expect(variant('A', 'd:v')).toBe(variant('B', 'd:v'));
    expect(variant('A', 'd:v')).not.toBe(variant('A', 'd:w'));
    expect(variant('A', 'd:v')).not.toBe(variant('A', 'p:v'));
  });
});

describe('inheritance', () => {
  abstract class Base {
    @Column('d:c', text) createdBy!: string;
    @Column('d:n', text) note?: string;
  }
  @Entity({ table })
  @RowKey(part('id'))
  class Derived extends Base {
    declare static readonly key: ['id'];
    id!: string;
    @Column('p:n', text) declare note?: string;
  }

  it('takes the columns of base classes; a property declared again replaces its base’s', () => {
    const { columns } = compileSchema([Derived]).entity(Derived);
    expect(columns.map(({ family, property }) => `${family}.${property}`)).toEqual(['d.createdBy', 'p.note']);
  });

  it('does not take an entity from its base', () => {
    class Further extends Derived {}
    expect(problemsOf(Further)).toEqual([
      expect.stringMatching(/^Further: The class has no @Entity of its own\./),
    ]);
  });
});

describe('wrong declarations', () => {
  it('are all reported at once, each with entity, property, rule and mend', () => {
    @Entity({ table })
    @RowKey(part('id'))
    class Wrong {
      declare static readonly key: ['id'];
      id!: string;
      @Column('x:a', text) unknownFamily!: string;
      @Column('a', text) noFamily!: string;
      @Column('d:b', text) first!: string;
      @Column('d:b', text) second!: string;
      @Column('d:_', text) marker!: string;
    }
    class Undecorated {}
    expect(problemsOf(Wrong, Undecorated)).toEqual([
      'Wrong.unknownFamily: Table "t" has no family "x". Declare it in @Table({ families }), or use one of: d, p.',
      'Wrong.noFamily: The column "a" names no family. Write "family:qualifier".',
      'Wrong.second: The column "d:b" is also that of "first". Give each property a column of its own.',
      expect.stringMatching(/^Wrong\.marker: The column "d:_" is that of the entity's marker cell\. Give/),
      'Undecorated: The class has no @Entity. Put @Entity({ table }) above the class.',
    ]);
    expect(() => compileSchema([Wrong])).toThrow(
      expect.objectContaining({
        message: expect.stringMatching(/^The schema has 4 problems:\n- Wrong\.unknownFamily/),
        details: {
          problems: expect.arrayContaining([
            expect.objectContaining({ entity: 'Wrong', property: 'marker' }),
          ]),
        },
      }),
    );
  });

  it('of row keys', () => {
    @Entity({ table })
    class NoKey {
      @Column('d:a', text) a!: string;
    }
    @Entity({ table, recordType: 300 })
    @RowKey(part('id'), recordType())
    class BadType {
      declare static readonly key: ['id'];
      id!: string;
    }
    @Entity({ table, recordType: 4 })
    @RowKey(salt(4, ['nope'] as string[]), part('id'), recordType())
    class BadSalt {
      declare static readonly key: ['id'];
      id!: string;
    }
    @Entity({ table, recordType: 5 })
    @RowKey(part('id'), recordType())
    class Twice {
      declare static readonly key: ['id'];
      @Column('d:id', text) id!: string;
    }
    @Entity({ table, recordType: 6 })
    @RowKey(hash('id'), recordType())
    class Lost {
      declare static readonly key: ['id'];
      id!: string;
    }
    expect(problemsOf(NoKey)).toEqual([
      expect.stringMatching(
        /^NoKey: The class has no row key\. Write in the class: static readonly key = rowKey/,
      ),
    ]);
    expect(problemsOf(BadType)).toEqual([
      expect.stringMatching(/^BadType: The record type must be .* 0 to 255/),
    ]);
    expect(problemsOf(BadSalt)).toContainEqual(expect.stringMatching(/^BadSalt: salt\(\) is over "nope"/));
    expect(problemsOf(Twice)).toEqual([
      expect.stringMatching(/^Twice\.id: .* key and a column as well\. Remove/),
    ]);
    expect(problemsOf(Lost)).toEqual([expect.stringMatching(/^Lost\.id: .*cannot be read back\. Store it/)]);
  });

  it('of a static key that is not the one of @RowKey', () => {
    class Misordered {
      static readonly key = ['b', 'a'];
      a!: string;
      b!: string;
    }
    Entity({ table })(Misordered);
    const decorate: (target: unknown) => void = RowKey(part('a'), part('b')) as never;
    decorate(Misordered);
    expect(problemsOf(Misordered)).toEqual([
      "Misordered: Its static key lists [b, a], @RowKey has the parts [a, b]. Write: declare static readonly key: ['a', 'b'].",
    ]);
  });

  it('of codecs that cannot be told', () => {
    @Entity({ table })
    @RowKey(part('id'))
    class NoCodec {
      declare static readonly key: ['id'];
      id!: string;
      @Column('d:o') list!: string[];
      @Column('d:u') union?: string | null;
    }
    class NotEmitted {
      declare static readonly key: ['id'];
      id!: string;
    }
    Entity({ table })(NotEmitted);
    RowKey(part('id'))(NotEmitted);
    Column('d:x')(NotEmitted.prototype, 'x');
    expect(problemsOf(NoCodec)).toEqual([
      "NoCodec.list: No codec is given, and there is none for the emitted type Array. Write a codec: @Column('d:o', json()), or use @Json or @Embedded.",
      "NoCodec.union: No codec is given, and of a union (`string | null`) or an interface compilers emit only Object. Write the codec: @Column('d:u', text), or int32, date, bytes, ...; of an object @Json or @Embedded.",
    ]);
    expect(problemsOf(NotEmitted)).toEqual([
      "NotEmitted.x: No codec is given, and the compiler emitted no type to take it from. Write it: @Column('d:x', text), or int32, date, bytes, ...",
    ]);
  });

  it('of codecs that are none', () => {
    @Entity({ table })
    @RowKey(part('id'))
    class NoCodec {
      declare static readonly key: ['id'];
      id!: string;
      @Column('d:a', 'text' as never) a!: string;
      @Columns('d:m.', { key: {} as never, value: text }) m!: Map<string, string>;
      @Versions('d:v', undefined as never) v!: Versioned<string>[];
    }
    expect(problemsOf(NoCodec)).toEqual([
      expect.stringMatching(/^NoCodec\.a: What it gives as its codec is none: "text"\. Give a codec/),
      expect.stringMatching(/^NoCodec\.m: What it gives as its codec is none: an object\./),
      expect.stringMatching(/^NoCodec\.v: What it gives as its codec is none: undefined\./),
    ]);
  });

  it('of several entities in one table', () => {
    @Entity({ table, recordType: 1 })
    @RowKey(part('id'), recordType())
    class One {
      declare static readonly key: ['id'];
      id!: string;
    }
    @Entity({ table, recordType: 1 })
    @RowKey(part('id'), recordType())
    class Same {
      declare static readonly key: ['id'];
      id!: string;
    }
    @Entity({ table })
    @RowKey(part('id'))
    class None {
      declare static readonly key: ['id'];
      id!: string;
    }
    @Entity({ table, recordType: 2, name: 'One' })
    @RowKey(part('id'), recordType())
    class OtherOne {
      declare static readonly key: ['id'];
      id!: string;
    }
    expect(problemsOf(One, Same, None)).toEqual([
      expect.stringMatching(/^Same: Its record type 1 is also that of One in Table "t"\./),
      expect.stringMatching(/^None: Table "t" holds 3 entities, and this one has no record type/),
    ]);
    expect(problemsOf(One, OtherOne)).toEqual([expect.stringMatching(/^One: Two entities have this name\./)]);
  });

  it('of tables', () => {
    @Table({ name: 'bad name', families: { d: { compression: 'ZIP' as never }, 'a:b': {} } })
    class Bad {}
    @Entity({ table: Bad })
    @RowKey(part('id'))
    class InBad {
      declare static readonly key: ['id'];
      id!: string;
      @Column('d:a', int32) a!: number;
    }
    class NoTable {}
    @Entity({ table: NoTable })
    @RowKey(part('id'))
    class Lost {
      declare static readonly key: ['id'];
      id!: string;
    }
    @Entity({ table: undefined as never })
    @RowKey(part('id'))
    class Circular {
      declare static readonly key: ['id'];
      id!: string;
    }
    @Entity({ table: defineTable({ name: 't2', families: { d: {} }, presplit: { splits: ['b', 'a'] } }) })
    @RowKey(part('id'))
    class Split {
      declare static readonly key: ['id'];
      id!: string;
    }
    const problems = problemsOf(InBad, Lost, Circular, Split);
    expect(problems).toEqual([
      expect.stringMatching(/^Lost: The class NoTable that it names as its table has no @Table\./),
      expect.stringMatching(/^Circular: Its table is undefined\..*two modules import each other/),
      expect.stringMatching(/^Table "bad name": Family "d": compression is "ZIP"; write one of NONE/),
      expect.stringMatching(/^Table "bad name": Family "a:b": a family name/),
      expect.stringMatching(/^Table "bad name": "bad name" is not a table name/),
      expect.stringMatching(/^Table "t2": The split key at 1 is empty or does not rise/),
    ]);
  });

  it('of one table declared by two classes', () => {
    @Table({ name: 'shop:crm', families: { d: {} } })
    class Again {}
    @Entity({ table: Again, recordType: 9 })
    @RowKey(part('id'), recordType())
    class Second {
      declare static readonly key: ['id'];
      id!: string;
    }
    expect(problemsOf(Customer, Second)).toEqual([
      expect.stringMatching(/^Second: Table "shop:crm" is declared twice.* Declare it once, with @Table or/),
    ]);
    expect(Crm).toBeDefined();
  });

  it('of decorators in the wrong place', () => {
    class Misplaced {
      declare static readonly key: ['id'];
      id!: string;
      static counter: string;
    }
    Entity({ table })(Misplaced);
    RowKey(part('id'))(Misplaced);
    Column('d:c')(Misplaced, 'counter');
    Column('d:s')(Misplaced.prototype, Symbol('s'));
    Entity({ table })(Misplaced);
    expect(problemsOf(Misplaced)).toEqual([
      'Misplaced: @Column is on the static property "counter". Put it on a plain property.',
      'Misplaced: @Column is on Symbol(s). Give the property a string name.',
      'Misplaced: The class has @Entity 2 times. Leave one.',
    ]);
    const above = RowKey(part('id')) as unknown as PropertyDecorator;
    expect(() => above(Misplaced.prototype, 'id')).toThrow(
      '@RowKey is on the property "id". Put it above the class.',
    );
  });

  it('of options that an entity does not have', () => {
    class Misspelt {
      static readonly key = rowKey('id', recordType());
      id!: string;
    }
    Entity({ table, TTL: 5 } as never)(Misspelt);
    expect(problemsOf(Misspelt)).toEqual([
      expect.stringMatching(/^Misspelt: @Entity has no option "TTL"\. Its options are table, recordType, /),
      expect.stringContaining('Give it one, @Entity({ table, recordType: 1 }), or leave recordType() out.'),
    ]);
  });
});

describe('warnings', () => {
  it('name what is likely to cost', () => {
    const wide = defineTable({ name: 'wide', families: { a: {}, b: {}, c: {}, personal: {} } });
    @Entity({ table: wide })
    @RowKey(part('id'))
    class Wide {
      declare static readonly key: ['id'];
      id!: string;
      @Column('a:averyverylongqualifier', text) long!: string;
    }
    expect(compileSchema([Wide]).warnings).toEqual([
      expect.stringMatching(/^wide: It has 4 families/),
      expect.stringMatching(/^wide\/personal: The family name "personal"/),
      expect.stringMatching(/^Wide\.long: Its qualifier of 22 bytes/),
    ]);
    expect(compileSchema([Customer, Order]).warnings).toEqual([]);
  });
});

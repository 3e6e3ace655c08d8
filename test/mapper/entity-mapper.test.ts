import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Column, Entity, part, RowKey, Table } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import { type EntityMapper, MARKER_VALUE } from '../../src/schema/types.js';
import { Cell, CellType, type Delete, type Put, RawRow, Result } from '../../src/table/index.js';
import { anyText } from '../proof/texts.js';
import { Customer, Order, readBoth, resultOf } from './fixtures.js';

@Table({ name: 'visits', families: { d: {} } })
class Visits {}

@Entity({ table: Visits })
@RowKey(part('who'))
class Visit {
  declare static readonly key: ['who'];
  who!: string;
}

const schema = compileSchema([Customer, Order]);
const customers = schema.entity(Customer);
const orders = schema.entity(Order);

function stored(entity: Readonly<Record<string, unknown>>, mapper: EntityMapper = customers.mapper) {
  return mapper.toMutations(entity, mapper.rowOf(entity), 7);
}

describe('writing', () => {
  it('puts every value and the marker, all with the timestamp, and leaves undefined alone', () => {
    const [put, ...more] = stored({ customerId: 'a', name: 'Ann', email: undefined, age: 3 }) as [Put];
    expect(more).toEqual([]);
    expect(put.kind).toBe('put');
    expect(
      put.cells.map((cell) => [cell.family, Buffer.from(cell.qualifier).toString(), cell.timestamp]),
    ).toEqual([
      ['d', '_', 7],
      ['d', 'a', 7],
      ['d', 'n', 7],
    ]);
    expect(put.cells[0]!.value).toEqual(MARKER_VALUE);
  });

  it('deletes columns that are null, and never one that it puts', () => {
    const [put, del] = stored({ customerId: 'a', name: 'Ann', email: null, photo: null }) as [Put, Delete];
    expect(put.cells.map((cell) => Buffer.from(cell.qualifier).toString())).toEqual(['_', 'n']);
    expect(del.kind).toBe('delete');
    expect(del.cells.map(({ family, type, timestamp }) => [family, type, timestamp])).toEqual([
      ['d', CellType.DeleteColumn, 7],
      ['p', CellType.DeleteColumn, 7],
    ]);
  });

  it('puts the marker alone where an entity has no columns', () => {
    const { mapper } = compileSchema([Visit]).entity(Visit);
    const mutations = stored({ who: 'a' }, mapper);
    expect((mutations[0] as Put).cells.map(({ qualifier }) => Buffer.from(qualifier).toString())).toEqual([
      '_',
    ]);
    expect(readBoth(mapper, resultOf(...mutations))).toEqual(Object.assign(new Visit(), { who: 'a' }));
  });

  it('keeps empty text and empty bytes', () => {
    const mutations = stored({ customerId: 'a', name: '', photo: new Uint8Array(0) });
    expect(readBoth(customers.mapper, resultOf(...mutations))).toMatchObject({
      name: '',
      photo: new Uint8Array(0),
    });
  });

  it('refuses a value that is not of the codec, naming entity, property and column', () => {
    expect(() => stored({ customerId: 'a', name: 'Ann', age: 'old' })).toThrow(
      /Entity "Customer", property "age" \(d:a\)/,
    );
    expect(() => stored({ customerId: 'a', name: 5 })).toThrow(
      expect.objectContaining({
        code: 'ERR_CODEC',
        details: expect.objectContaining({ property: 'name', family: 'd', table: 'shop:crm' }),
      }),
    );
  });

  it('refuses a key part that is undefined, null or of a wrong type', () => {
    for (const customerId of [undefined, null, 5]) {
      expect(() => customers.mapper.rowOf({ customerId })).toThrow(/customerId/);
    }
  });

  it('refuses a property of a plain object that is not declared, but not a field of an instance', () => {
    expect(() => stored({ customerId: 'a', nmae: 'Ann' })).toThrow(
      /no stored property "nmae"\. Declare it with @Column, or leave it out\. Its properties are customerId, .*\bname\b/,
    );
    const instance = Object.assign(Object.create(Customer.prototype), {
      customerId: 'a',
      name: 'b',
      cached: 1,
    });
    expect(stored(instance)).toHaveLength(1);
  });

  it('refuses it in whatever place of whatever object before which others were written', () => {
    const declared = { name: 'Ann', customerId: 'a', age: 3 };
    for (const names of [['customerId', 'name'], ['age', 'name', 'customerId'], Object.keys(declared)]) {
      const right = Object.fromEntries(names.map((name) => [name, declared[name as keyof typeof declared]]));
      for (let place = 0; place <= names.length; place++) {
        stored(right);
        const entries = Object.entries(right);
        const withExtra = (value: unknown) =>
          Object.fromEntries([...entries.slice(0, place), ['extra', value], ...entries.slice(place)]);
        expect(() => stored(withExtra(null))).toThrow(/no stored property "extra"/);
        expect(stored(withExtra(undefined))).toEqual(stored(right));
        expect(() => stored(withExtra(0))).toThrow(/no stored property "extra"/);
      }
    }
  });
});

describe('reading', () => {
  it('makes instances without calling the constructor', () => {
    const ann = readBoth(customers.mapper, resultOf(...stored({ customerId: 'a', name: 'Ann' })))!;
    expect(ann).toBeInstanceOf(Customer);
    expect(ann.greet()).toBe('Hello Ann');
    expect(Object.keys(ann)).toEqual(['customerId', 'name', 'email', 'photo', 'age']);
    expect(ann.email).toBeUndefined();
  });

  it('answers null for an empty result, and an entity for a row of nothing but its marker', () => {
    expect(readBoth(customers.mapper, Result.EMPTY)).toBeNull();
    expect(readBoth(customers.mapper, resultOf(...stored({ customerId: 'a' })))).toMatchObject({
      customerId: 'a',
    });
  });

  it('passes over cells that are not declared, before, between and behind those that are', () => {
    const row = customers.mapper.rowOf({ customerId: 'a' });
    const cell = (family: string, qualifier: string, value: string) =>
      new Cell(row, family, Buffer.from(qualifier), 1, CellType.Put, Buffer.from(value));
    const result = new Result(row, [
      cell('a', 'n', 'other family'),
      cell('d', '', 'empty qualifier'),
      cell('d', '_', ''),
      cell('d', 'm', 'between'),
      cell('d', 'n', 'Ann'),
      cell('d', 'n', 'older version'),
      cell('d', 'na', 'behind'),
      cell('d', 'z', 'last'),
      cell('o', 'n', 'family between'),
      cell('p', 'photo', 'jpeg'),
      cell('p', 'zz', ''),
      cell('q', 'photo', 'family behind'),
    ]);
    const ann = readBoth(customers.mapper, result)!;
    expect({ ...ann }).toEqual({
      customerId: 'a',
      name: 'Ann',
      email: undefined,
      photo: new Uint8Array(Buffer.from('jpeg')),
      age: undefined,
    });
  });

  it('tells which property of which row cannot be decoded', () => {
    const row = customers.mapper.rowOf({ customerId: 'a' });
    const cell = new Cell(row, 'd', Buffer.from('a'), 1, CellType.Put, Buffer.from('x'));
    const raw = new RawRow();
    raw.fill(new Result(row, [cell]));
    expect(() => customers.mapper.readerOf().readRaw(raw)).toThrow(/property "age" \(d:a\)/);
    expect(() => customers.mapper.fromResult(new Result(row, [cell]))).toThrow(
      expect.objectContaining({
        code: 'ERR_CODEC',
        message: expect.stringContaining('property "age" (d:a)'),
        details: expect.objectContaining({ key: { customerId: 'a' }, entity: 'Customer' }),
      }),
    );
  });

  it('sets only the wanted properties of a projection, and the key', () => {
    const result = resultOf(...stored({ customerId: 'a', name: 'Ann', age: 3, email: 'a@b' }));
    const partial = customers.mapper.readerOf(new Set(['age', 'email'])).read(result)!;
    expect(Object.keys(partial)).toEqual(['customerId', 'email', 'age']);
    expect(partial).toMatchObject({ customerId: 'a', age: 3, email: 'a@b' });
    expect(partial).toBeInstanceOf(Customer);
    expect(customers.mapper.readerOf(new Set()).read(Result.EMPTY)).toBeNull();
  });

  it('gives back what was written', () => {
    fc.assert(
      fc.property(
        fc.record({
          customerId: anyText,
          placedAt: fc.date({ noInvalidDate: true }),
          orderNo: fc.nat(),
          status: fc.constantFrom('open', 'shipped'),
          total: fc.tuple(fc.nat(), fc.nat(99)).map(([a, b]) => `${a}.${String(b).padStart(2, '0')}`),
          weight: fc.option(fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n), { nil: undefined }),
          shippedAt: fc.option(fc.date({ noInvalidDate: true }), { nil: undefined }),
        }),
        (order) => {
          const read = readBoth(orders.mapper, resultOf(...stored(order, orders.mapper)));
          expect({ ...read }).toEqual(order);
        },
      ),
    );
  });
});

describe('a table that others write', () => {
  @Table({ name: 'theirs', families: { f: {} } })
  class Theirs {}
  @Entity({ table: Theirs, marker: false })
  @RowKey(part('id'))
  class Row {
    declare static readonly key: ['id'];
    id!: string;
    @Column('f:v', text) value?: string | null;
  }
  const { mapper, marker } = compileSchema([Row]).entity(Row);

  it('writes no marker', () => {
    expect(marker).toBeUndefined();
    expect(stored({ id: 'a', value: 'v' }, mapper)).toMatchObject([
      { kind: 'put', cells: [{ family: 'f' }] },
    ]);
    expect(stored({ id: 'a', value: null }, mapper)).toMatchObject([{ kind: 'delete' }]);
  });

  it('refuses to write nothing', () => {
    expect(() => stored({ id: 'a' }, mapper)).toThrow(/nothing to write/);
  });
});

import { Type } from 'class-transformer';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  Avro,
  Column,
  Columns,
  defineTable,
  Embedded,
  Entity,
  Json,
  Packed,
  part,
  RowKey,
  reverseTimestamp,
  timeBucket,
  type Versioned,
  Versions,
} from '../../decorators/index.js';
import {
  avro,
  avroCodec,
  bigint,
  boolean,
  bytes,
  counter,
  date,
  decimal,
  enumeration,
  float64,
  int64,
  text,
  uint8,
  uint32,
  uuid,
  type ValueCodec,
} from '../../src/codec/index.js';
import { raw } from '../../src/key/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { EntityMapper } from '../../src/schema/types.js';

const table = defineTable({ name: 'plain', families: { d: { versions: 3 } } });

class Address {
  @Column('city', text) city!: string;
  @Column('since', date) since?: Date | null;
}

class LineItem {
  sku!: string;
  @Type(() => Date) at!: Date;
}

/** A codec of the user's own, of values that JSON has no word for. */
const anything: ValueCodec<unknown> = {
  name: 'anything',
  ordered: false,
  encode: () => new Uint8Array(0),
  decode: () => undefined,
};

@Entity({ table })
@RowKey(part('id', int64), reverseTimestamp('at'))
class Everything {
  declare static readonly key: ['id', 'at'];
  id!: bigint;
  at!: Date;
  @Column('d:text', text) text?: string | null;
  @Column('d:double', float64) double?: number;
  @Column('d:boolean', boolean) boolean?: boolean;
  @Column('d:date', date) date?: Date;
  @Column('d:int64', int64) int64?: bigint;
  @Column('d:bigint', bigint) bigint?: bigint;
  @Column('d:counter', counter) counter?: bigint;
  @Column('d:bytes', bytes) bytes?: Uint8Array;
  @Column('d:decimal', decimal(2)) decimal?: string;
  @Column('d:uuid', uuid) uuid?: string;
  @Column('d:enum', enumeration({ open: 1, shipped: 2 })) status?: 'open' | 'shipped';
  @Json('d:json') json?: unknown;
  @Json('d:item', () => LineItem) item?: LineItem;
  @Avro('d:avro', avro.record('R', { at: avro.timestampMillis, n: avro.bigLong, b: avro.bytes }))
  avro?: { at: Date; n: bigint; b: Uint8Array };
  @Column('d:own', anything) own?: unknown;
  @Embedded('d', () => Address, { prefix: 'a.' }) address?: Address | null;
  @Columns('d:m.', { key: date, value: uint32 }) map!: Map<Date, number | null>;
  @Versions('d:v', int64) history!: Versioned<bigint>[];
}

const mapper = compileSchema([Everything]).entity(Everything).mapper;

/** Through a text of JSON and back. */
function through(entity: object): object {
  const plain = mapper.toPlain(entity as Record<string, unknown>);
  return mapper.fromPlain(JSON.parse(JSON.stringify(plain)));
}

const dates = fc.date({ noInvalidDate: true });
const int64s = fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n);
const optional = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined });

describe('toPlain and fromPlain', () => {
  it('lose nothing on the way through JSON', () => {
    const entities = fc.record({
      id: int64s,
      at: dates,
      text: fc.oneof(fc.string(), fc.constantFrom('5', 'Infinity', 'AAAA', '2024-01-01', null)),
      double: optional(fc.double({ noNaN: true }).map((value) => value + 0)),
      boolean: optional(fc.boolean()),
      date: optional(dates),
      int64: optional(int64s),
      bigint: optional(fc.bigInt()),
      counter: optional(int64s),
      bytes: optional(fc.uint8Array()),
      decimal: optional(fc.nat().map((n) => `${n}.25`)),
      uuid: optional(fc.uuid()),
      status: optional(fc.constantFrom('open', 'shipped')),
      json: optional(fc.constantFrom({ a: [1, 'x', null] }, [], 'text', { $date: 'x' })),
      avro: optional(fc.record({ at: dates, n: int64s, b: fc.uint8Array() })),
      own: optional(
        fc.constantFrom({ m: new Map<unknown, unknown>([[1n, new Date(5)]]) }, [Number.NEGATIVE_INFINITY], {
          $date: { $bytes: 'x' },
        }),
      ),
      map: fc.array(fc.tuple(dates, fc.option(fc.nat()))).map((entries) => new Map(entries)),
      history: fc.array(fc.record({ value: int64s, timestamp: fc.nat() })),
    });
    fc.assert(
      fc.property(entities, (entity) => {
        const back = through(entity);
        expect(back).toBeInstanceOf(Everything);
        expect({ ...back }).toEqual(entity);
      }),
    );
  });

  it('tag what its text does not tell: scalars of unions, NaN and -0', () => {
    const bytesOf = (base64: string): Uint8Array => Uint8Array.from(Buffer.from(base64, 'base64'));
    type Scalar = string | number | bigint | Date | Uint8Array;
    const long = { type: 'long', jsType: 'bigint' };
    const union = avroCodec<Scalar>(['string', 'bytes', long]);
    const either = avroCodec<Scalar>(['bytes', long]);
    const number = avroCodec<Scalar>(['string', 'double']);
    const time = avroCodec<Scalar>(['string', { type: 'long', logicalType: 'timestamp-millis' }]);
    @Entity({ table })
    @RowKey(part('at', raw.float64))
    class Unclear {
      declare static readonly key: ['at'];
      at!: number;
      @Column('d:ordered', float64) ordered?: number;
      @Column('d:union', union) union?: Scalar;
      @Column('d:either', either) either?: Scalar;
      @Column('d:time', time) time?: Scalar;
      @Columns('d:m.', { key: raw.float64, value: number }) map!: Map<number, Scalar>;
      @Versions('d:v', union) history!: Versioned<Scalar>[];
    }
    const unclear: EntityMapper = compileSchema([Unclear]).entity(Unclear).mapper;
    const unequal = ['', '5', 'NaN', 'AAAA', '1970-01-01T00:00:00.000Z', 5n, bytesOf('12345678')];
    for (const at of [0, -0, 0.5, Number.NaN, Number.NEGATIVE_INFINITY]) {
      for (const value of unequal) {
        const entity = {
          at,
          ordered: 0,
          union: value,
          either: typeof value === 'string' ? bytesOf(value) : value,
          time: typeof value === 'string' ? value : new Date(0),
          map: new Map([[at, typeof value === 'string' ? value : at]]),
          history: [{ value, timestamp: 1 }],
        };
        const plain = JSON.parse(JSON.stringify(unclear.toPlain(entity))) as Record<string, never>;
        expect({ ...unclear.fromPlain(plain) }).toEqual(entity);
      }
    }
    expect(unclear.toPlain({ at: 0, ordered: -0, union: '5' })).toEqual({ at: 0, ordered: 0, union: '5' });
    expect(unclear.toPlain({ at: -0, union: 5n })).toEqual({
      at: { $number: '-0' },
      union: { $bigint: '5' },
    });
  });

  it('keep -0 within Avro records and arrays, and within JSON it is 0', () => {
    const values = avroCodec<object>({
      type: 'record',
      name: 'Values',
      fields: [
        { name: 'one', type: 'double' },
        { name: 'all', type: { type: 'array', items: 'float' } },
      ],
    });
    @Entity({ table })
    @RowKey(part('id', text))
    class Signed {
      declare static readonly key: ['id'];
      id!: string;
      @Column('d:values', values) values?: object;
      @Json('d:json') json?: unknown;
    }
    const { mapper } = compileSchema([Signed]).entity(Signed);
    const plain = mapper.toPlain({ id: 'x', values: { one: -0, all: [-0, 0] }, json: [-0] });
    expect(plain).toEqual({
      id: 'x',
      values: { one: { $number: '-0' }, all: [{ $number: '-0' }, 0] },
      json: [0],
    });
    const back = mapper.fromPlain(JSON.parse(JSON.stringify(plain)) as never) as Signed;
    expect(back.values).toEqual({ one: -0, all: [-0, 0] });
  });

  it('rebuild nested instances', () => {
    const item = Object.assign(new LineItem(), { sku: 's', at: new Date(5) });
    const address = { city: 'Köln', since: new Date(7) };
    const back = through({ id: 1n, at: new Date(0), item, address }) as Everything;
    expect(back.item).toBeInstanceOf(LineItem);
    expect(back.item).toEqual(item);
    expect(back.address).toBeInstanceOf(Address);
    expect({ ...back.address }).toEqual(address);
    expect((through({ id: 1n, at: new Date(0), address: null }) as Everything).address).toBeNull();
  });

  it('write what a reader of JSON expects', () => {
    const entity = {
      id: 5n,
      at: new Date(0),
      text: null,
      bytes: Uint8Array.of(1, 2),
      double: Number.POSITIVE_INFINITY,
      map: new Map([[new Date(1), 2]]),
      own: [1n],
    };
    expect(mapper.toPlain(entity)).toEqual({
      id: '5',
      at: '1970-01-01T00:00:00.000Z',
      text: null,
      bytes: 'AQI=',
      double: 'Infinity',
      map: [['1970-01-01T00:00:00.001Z', 2]],
      own: [{ $bigint: '1' }],
    });
  });

  it('name the property that is unknown or wrong', () => {
    const key = { id: '5', at: '1970-01-01T00:00:00.000Z' };
    expect(() => mapper.fromPlain({ ...key, nope: 1 })).toThrow(
      /Entity "Everything", property "nope": it is not stored/,
    );
    expect(() => mapper.fromPlain({ ...key, date: 'yesterday' })).toThrow(/property "date"/);
    expect(() => mapper.fromPlain({ ...key, address: { city: 5 } })).toThrow(/property "address\.city"/);
    expect(() => mapper.fromPlain({ ...key, address: 'Köln' })).toThrow(
      /property "address": an object is wanted/,
    );
    expect(() => mapper.toPlain({ ...key, own: Symbol('s') })).toThrow(/property "own"/);
  });

  it('keep the times of packed spans', () => {
    @Entity({ table })
    @RowKey(part('metric'), timeBucket('at', '1h'))
    class Hour {
      declare static readonly key: ['metric', 'at'];
      metric!: string;
      at!: Date;
      @Packed('d:', { part: 'at', value: uint8 }) points!: Map<number, number>;
    }
    const hours: EntityMapper = compileSchema([Hour]).entity(Hour).mapper;
    const hour = { metric: 'cpu', at: new Date(0), points: new Map([[5, 1]]) };
    const back = hours.fromPlain(JSON.parse(JSON.stringify(hours.toPlain(hour))));
    expect({ ...back }).toEqual(hour);
  });
});

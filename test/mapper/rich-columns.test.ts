import 'reflect-metadata';
import { Transform, Type } from 'class-transformer';
import { describe, expect, it } from 'vitest';
import {
  Column,
  Columns,
  Counter,
  CreatedAt,
  defineTable,
  Embedded,
  Entity,
  Json,
  Packed,
  part,
  RowKey,
  Ttl,
  timeBucket,
  Version,
  type Versioned,
  Versions,
} from '../../decorators/index.js';
import { date, decimal, float64, int32, int64, text, uint32 } from '../../src/codec/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { EntityMapper } from '../../src/schema/types.js';
import { Cell, CellType, type Delete, type Put, Result } from '../../src/table/index.js';
import { readBoth, resultOf } from './fixtures.js';

const table = defineTable({ name: 'rich', families: { d: { versions: 3 }, f: {}, t: {} } });

class LineItem {
  sku!: string;
  @Type(() => Date) at!: Date;
  @Transform(({ value }) => BigInt(value), { toClassOnly: true })
  @Transform(({ value }) => String(value), { toPlainOnly: true })
  amount!: bigint;
  get label(): string {
    return `${this.amount} x ${this.sku}`;
  }
}

/** The marker that says that the row is there. */
function alive(row: Uint8Array): Cell {
  return new Cell(row, 'd', Buffer.from('_'), 1, CellType.Put, Uint8Array.of(1));
}

class Geo {
  @Column('lat', float64) lat!: number;
  @Column('lon', float64) lon!: number;
}

class Address {
  @Column('city', text) city!: string;
  @Column('zip', text) zip?: string | null;
  @Embedded(() => Geo, { prefix: 'g.' }) geo?: Geo | null;
  oneLine(): string {
    return `${this.zip} ${this.city}`;
  }
}

@Entity({ table, ttl: 60_000 })
@RowKey(part('id'))
class Shop {
  declare static readonly key: ['id'];
  id!: string;
  @Json('d:tags') tags?: string[];
  @Json('d:best', () => LineItem) best?: LineItem;
  @Json('d:lines', () => [LineItem]) lines?: LineItem[];
  @Embedded('d', () => Address, { prefix: 'a.' }) address?: Address | null;
  @Columns('f:', { value: date }) followers!: Map<string, Date | null>;
  @Columns('t:i.', { key: uint32, value: text }) items!: Map<number, string>;
  @Versions('d:price', decimal(2)) prices!: Versioned<string>[];
  @Counter('d:views') views?: bigint;
  @Version('d:v') version?: number;
  @CreatedAt('d:c') createdAt?: Date;
  @Ttl() expiresIn?: number;
}

const schema = compileSchema([Shop]);
const shops = schema.entity(Shop);
const mapper: EntityMapper = shops.mapper;

function stored(entity: Readonly<Record<string, unknown>>, timestamp?: number) {
  return mapper.toMutations(entity, mapper.rowOf(entity), timestamp);
}

function load(entity: Readonly<Record<string, unknown>>): Shop {
  return readBoth(shops.mapper, resultOf(...stored(entity)))!;
}

describe('@Json', () => {
  it('stores plain values', () => {
    expect(load({ id: 'a', tags: ['x', 'y'] }).tags).toEqual(['x', 'y']);
  });

  it('makes instances, and lists of them, by class-transformer', () => {
    const item = Object.assign(new LineItem(), { sku: 's', at: new Date(5), amount: 3n });
    const shop = load({ id: 'a', best: item, lines: [item, item] });
    expect(shop.best).toBeInstanceOf(LineItem);
    expect(shop.best!.label).toBe('3 x s');
    expect(shop.lines).toHaveLength(2);
    expect(shop.lines![1]).toBeInstanceOf(LineItem);
    expect(shop.lines![1]!.at).toEqual(new Date(5));
  });

  it('refuses a list for an object and an object for a list', () => {
    expect(() => stored({ id: 'a', best: [] })).toThrow(/Shop.*"best".*an object got a list/s);
    expect(() => stored({ id: 'a', lines: { sku: 's' } })).toThrow(/"lines".*a list of objects got object/s);
  });
});

describe('@Embedded', () => {
  it('has its columns in the family, behind the prefix, as deep as it goes', () => {
    expect(
      shops.columns
        .filter(({ path }) => path[0] === 'address')
        .map(({ property, family, qualifier }) => `${property} ${family}:${Buffer.from(qualifier)}`),
    ).toEqual([
      'address.city d:a.city',
      'address.geo.lat d:a.g.lat',
      'address.geo.lon d:a.g.lon',
      'address.zip d:a.zip',
    ]);
    expect(shops.embedded.map(({ property }) => property)).toEqual(['address', 'address.geo']);
  });

  it('makes instances, and none where no column is', () => {
    const shop = load({ id: 'a', address: { city: 'Köln', geo: { lat: 1.5, lon: 2 } } });
    expect(shop.address).toBeInstanceOf(Address);
    expect(shop.address!.oneLine()).toBe('undefined Köln');
    expect(shop.address!.geo).toBeInstanceOf(Geo);
    expect({ ...shop.address!.geo }).toEqual({ lat: 1.5, lon: 2 });
    expect(load({ id: 'a' }).address).toBeUndefined();
    expect(load({ id: 'a', address: { city: 'Köln' } }).address!.geo).toBeUndefined();
  });

  it('leaves undefined alone, and deletes every column of null', () => {
    const [put, ...none] = stored({ id: 'a', address: { city: 'Köln' } }) as [Put];
    expect(put.cells.map(({ qualifier }) => Buffer.from(qualifier).toString())).toEqual(['_', 'a.city']);
    expect(none).toEqual([]);
    const [, whole] = stored({ id: 'a', address: null }) as [Put, Delete];
    expect(whole.cells).toHaveLength(4);
    const [, inner] = stored({ id: 'a', address: { city: 'Köln', geo: null, zip: null } }) as [Put, Delete];
    expect(inner.cells.map(({ qualifier }) => Buffer.from(qualifier).toString())).toEqual([
      'a.g.lat',
      'a.g.lon',
      'a.zip',
    ]);
  });

  it('refuses what is no object', () => {
    expect(() => stored({ id: 'a', address: 'Köln' })).toThrow(
      /"address" holds an embedded object, not "Köln"/,
    );
  });

  it('can be projected whole or by one of its columns', () => {
    const result = resultOf(...stored({ id: 'a', address: { city: 'Köln', zip: '5' }, tags: [] }));
    expect(shops.mapper.readerOf(new Set(['address'])).read(result)).toMatchObject({
      address: { city: 'Köln', zip: '5' },
    });
    const zip = shops.mapper.readerOf(new Set(['address.zip'])).read(result)!;
    expect({ ...zip.address }).toEqual({ zip: '5' });
    expect(Object.keys(zip)).toEqual(['id', 'address']);
  });
});

describe('@Columns', () => {
  it('is a Map, empty when there are no columns', () => {
    expect(load({ id: 'a' }).followers).toEqual(new Map());
    const shop = load({
      id: 'a',
      followers: new Map([
        ['zoe', new Date(2)],
        ['ann', new Date(1)],
        ['', new Date(3)],
      ]),
      items: new Map([
        [256, 'b'],
        [3, 'a'],
      ]),
    });
    expect([...shop.followers.keys()]).toEqual(['', 'ann', 'zoe']);
    expect([...shop.items]).toEqual([
      [3, 'a'],
      [256, 'b'],
    ]);
  });

  it('deletes entries that are null and leaves others alone', () => {
    const [put, del] = stored({
      id: 'a',
      followers: new Map([
        ['ann', null],
        ['bob', new Date(1)],
      ]),
    }) as [Put, Delete];
    expect(put.cells.map(({ qualifier }) => Buffer.from(qualifier).toString())).toEqual(['_', 'bob']);
    expect(del.cells).toMatchObject([{ family: 'f', type: CellType.DeleteColumn }]);
  });

  it('takes the newest version of each column only', () => {
    const row = mapper.rowOf({ id: 'a' });
    const cell = (value: number, timestamp: number) =>
      new Cell(row, 'f', Buffer.from('ann'), timestamp, CellType.Put, date.encode(new Date(value)));
    const shop = readBoth(shops.mapper, new Result(row, [alive(row), cell(2, 20), cell(1, 10)]))!;
    expect(shop.followers).toEqual(new Map([['ann', new Date(2)]]));
  });

  it('refuses null for the whole, and what is no Map', () => {
    expect(() => stored({ id: 'a', followers: null })).toThrow(/set the entries to null one by one/);
    expect(() => stored({ id: 'a', followers: { ann: new Date() } })).toThrow(/is no Map/);
    expect(() => stored({ id: 'a', items: new Map([['x', 'y']]) })).toThrow(/"items".*the key of an entry/s);
  });

  it('cannot take the column of the marker', () => {
    const mine = defineTable({ name: 'm', families: { f: {} } });
    @Entity({ table: mine })
    @RowKey(part('id'))
    class Wide {
      declare static readonly key: ['id'];
      id!: string;
      @Columns('f:', { value: text }) all!: Map<string, string>;
    }
    const wide = compileSchema([Wide]).entity(Wide).mapper as EntityMapper;
    const put = (name: string) =>
      wide.toMutations({ id: 'a', all: new Map([[name, 'x']]) }, wide.rowOf({ id: 'a' }));
    expect(() => put('_')).toThrow(/marker cell/);
    expect(readBoth(wide, resultOf(...put('b')))).toMatchObject({ all: new Map([['b', 'x']]) });
  });
});

describe('@Versions', () => {
  it('reads the kept versions, newest first, and writes each at its timestamp', () => {
    const prices = [{ value: '3.00' }, { value: '2.00', timestamp: 20 }, { value: '1.00', timestamp: 10 }];
    const [put] = stored({ id: 'a', prices }, 99) as [Put];
    const cells = put.cells.filter(({ qualifier }) => Buffer.from(qualifier).toString() === 'price');
    expect(cells.map(({ timestamp }) => timestamp)).toEqual([99, 20, 10]);
    const row = mapper.rowOf({ id: 'a' });
    const found = cells.map(
      (cell) => new Cell(row, 'd', cell.qualifier, cell.timestamp, CellType.Put, cell.value),
    );
    expect(readBoth(shops.mapper, new Result(row, [alive(row), ...found]))!.prices).toEqual([
      { value: '3.00', timestamp: 99 },
      { value: '2.00', timestamp: 20 },
      { value: '1.00', timestamp: 10 },
    ]);
    expect(load({ id: 'a' }).prices).toEqual([]);
  });

  it('deletes all of null, and refuses two versions of one time', () => {
    const [, del] = stored({ id: 'a', prices: null }) as [Put, Delete];
    expect(del.cells).toMatchObject([{ type: CellType.DeleteColumn }]);
    const twice = [
      { value: '1.00', timestamp: 1 },
      { value: '2.00', timestamp: 1 },
    ];
    expect(() => stored({ id: 'a', prices: twice })).toThrow(/two versions have the timestamp 1/);
    expect(() => stored({ id: 'a', prices: '1.00' })).toThrow(/no list of versions/);
  });
});

describe('roles', () => {
  it('are told by the schema', () => {
    expect(shops.versionProperty).toBe('version');
    expect(shops.columnsByProperty.get('views')).toMatchObject({
      kind: 'counter',
      codec: { name: 'counter' },
    });
    expect(load({ id: 'a', views: 5n, version: 2 })).toMatchObject({ views: 5n, version: 2 });
  });

  it('give puts a time to live, the entity’s own before the declared one', () => {
    const ttl = (expiresIn?: number) => (stored({ id: 'a', expiresIn })[0] as Put).ttl;
    expect(ttl()).toBe(60_000);
    expect(ttl(5)).toBe(5);
    expect(() => ttl(-1)).toThrow(/"expiresIn": a time to live/);
    expect(() => ttl(1.5)).toThrow(/"expiresIn"/);
    expect('expiresIn' in load({ id: 'a', expiresIn: 5 })).toBe(false);
  });
});

describe('@Packed', () => {
  @Entity({ table })
  @RowKey(part('metric'), timeBucket('at', '1h', { unit: 's' }))
  class Hour {
    declare static readonly key: ['metric', 'at'];
    metric!: string;
    at!: Date;
    @Packed('t:', { part: 'at', value: float64 }) points!: Map<number, number | null>;
  }
  const hours = compileSchema([Hour]).entity(Hour);
  const hour: EntityMapper = hours.mapper;
  const start = Date.UTC(2024, 0, 1, 5);
  const write = (points: Map<number, unknown>, at = new Date(start + 1234)) => {
    const entity = { metric: 'cpu', at, points };
    return hour.toMutations(entity, hour.rowOf(entity));
  };

  it('keeps the offset from the start of the span in two bytes, as OpenTSDB does', () => {
    const [put] = write(new Map([[start + 61_000, 1.5]])) as [Put];
    expect(put.cells.map(({ qualifier }) => Buffer.from(qualifier).toString('hex'))).toEqual(['003d', '5f']);
  });

  it('gives back the times, and the start of the span as the part', () => {
    const points = new Map([
      [start + 3_599_000, 2],
      [start, 1],
    ]);
    const read = readBoth(hours.mapper, resultOf(...write(points)))!;
    expect(read.at).toEqual(new Date(start));
    expect([...read.points]).toEqual([
      [start, 1],
      [start + 3_599_000, 2],
    ]);
  });

  it('deletes a point that is null, and refuses one outside of the span or between seconds', () => {
    expect(write(new Map([[start, null]]))[1]).toMatchObject({ kind: 'delete' });
    for (const time of [start - 1000, start + 3_600_000, start + 1, Number.NaN, new Date(start)]) {
      expect(() => write(new Map([[time as number, 1]]))).toThrow(
        /no time in ms within the row's span, 2024-01-01T05/,
      );
    }
  });

  it('uses four bytes for long spans', () => {
    @Entity({ table })
    @RowKey(part('metric'), timeBucket('at', '1w'))
    class Week {
      declare static readonly key: ['metric', 'at'];
      metric!: string;
      at!: Date;
      @Packed('t:', { part: 'at', value: int32 }) points!: Map<number, number>;
    }
    const week = compileSchema([Week]).entity(Week);
    expect(week.columns[0]!.qualifierCodec!.name).toBe('uint32');
    const entity = { metric: 'm', at: new Date(start), points: new Map([[start + 86_400_001, 7]]) };
    const read = readBoth(
      week.mapper,
      resultOf(...week.mapper.toMutations(entity, week.mapper.rowOf(entity))),
    );
    expect(read!.points).toEqual(entity.points);
  });
});

describe('wrong declarations', () => {
  it('of embedded objects, Maps and roles are reported', () => {
    class Circle {
      @Embedded(() => Circle) inner?: Circle;
      @Column('d:x', text) x!: string;
    }
    class Empty {}
    @Entity({ table, ttl: 0 })
    @RowKey(part('id'))
    class Wrong {
      declare static readonly key: ['id'];
      id!: string;
      @Embedded('nope', () => Circle) circle?: Circle;
      @Embedded('d', () => Empty) empty?: Empty;
      @Embedded(() => Geo) noFamily?: Geo;
      @Columns('f:a', { value: int64 }) a!: Map<string, bigint>;
      @Column('f:ab', text) ab!: string;
      @Packed('t:', { part: 'at', value: int32 }) packed!: Map<number, number>;
      @Version('d:v1') v1?: number;
      @Version('d:v2') v2?: number;
      @Ttl() t1?: number;
      @Ttl() t2?: number;
    }
    let problems: readonly string[] = [];
    try {
      compileSchema([Wrong]);
    } catch (error) {
      problems = (error as { problems: string[] }).problems;
    }
    expect(problems).toEqual([
      expect.stringMatching(/^Wrong\.circle: Table "rich" has no family "nope"\./),
      expect.stringMatching(/^Wrong\.circle\.inner: Circle is embedded in itself\. Use @Json/),
      expect.stringMatching(/^Wrong\.circle\.x: An embedded object has the family of its @Embedded/),
      expect.stringMatching(/^Wrong\.empty: The class Empty has no columns\./),
      expect.stringMatching(/^Wrong\.noFamily: It names no family\. Write @Embedded\('family'/),
      expect.stringMatching(
        /^Wrong\.packed: @Packed is over the part "at", of which the row key has no timeBucket/,
      ),
      expect.stringMatching(/^Wrong\.ab: The column lies within "f:a"\*, the columns of "a"\./),
      expect.stringMatching(/^Wrong\.v2: It is the second property with @Version/),
      expect.stringMatching(/^Wrong: Its ttl is 0\./),
      expect.stringMatching(/^Wrong\.t2: It is the second property with @Ttl/),
    ]);
  });
});

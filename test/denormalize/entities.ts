import {
  Column,
  Columns,
  copy,
  Denormalized,
  Entity,
  Index,
  part,
  RowKey,
  recordType,
  rowKey,
  salt,
  Ttl,
  UpdatedAt,
  Version,
} from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import { uint32 } from '../../src/key/index.js';

@Entity({ table: { name: 'locations', families: { d: {} } } })
@RowKey(salt(3), part('id'))
export class Location {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:c', text) city?: string | null;
  @Column('d:z', int32) zip?: number | null;
  @Column('d:n', text) note?: string | null;
}

@Entity({ table: { name: 'regions', families: { d: {} } } })
@RowKey(part('land'), part('no', uint32))
export class Region {
  declare static readonly key: ['land', 'no'];
  land!: string;
  no!: number;
  @Column('d:n', text) name!: string;
}

const lines = { name: 'lines', families: { d: {} } };

/** In one table with visits: found by an index of its own, whose entries follow the copies. */
@Entity({ table: lines, recordType: 2 })
@RowKey(recordType(), salt(2), part('order', uint32), part('line', uint32))
@Denormalized(() => Location, { via: 'locationId', fields: { city: 'city', zip: 'zip' }, fanOut: 4 })
@Denormalized(() => Region, { via: { land: 'land', no: 'regionNo' }, fields: { region: 'name' } })
@Index('byCity', [part('city')])
export class Line {
  declare static readonly key: ['order', 'line'];
  declare static readonly indexes: { byCity: ['city'] };
  order!: number;
  line!: number;
  @Column('d:q', int32) quantity?: number | null;
  @Column('d:l', text) locationId?: string | null;
  @Column('d:c', text) city?: string | null;
  @Column('d:z', int32) zip?: number | null;
  @Column('d:y', text) land?: string | null;
  @Column('d:x', uint32) regionNo?: number | null;
  @Column('d:r', text) region?: string | null;
  @Version('d:v', int32) version?: number;
}

/** Found by its key, which begins with the location's; it ends by itself. */
@Entity({ table: lines, recordType: 1, ttl: 60_000 })
@RowKey(recordType(), part('id'), part('at', uint32))
@Denormalized(() => Location, { via: 'id', fields: { town: 'city' }, fanOut: 2 })
export class Visit {
  declare static readonly key: ['id', 'at'];
  id!: string;
  at!: number;
  @Column('d:w', text) who!: string;
  @Column('d:t', text) town?: string | null;
  @UpdatedAt('d:u') changed?: Date;
  @Ttl() life?: number;
}

/** Copies in the entries of Maps, whose keys name the sources: alone, or together with a column. */
@Entity({ table: { name: 'tours', families: { d: {}, s: {} } } })
export class Tour {
  static readonly key = rowKey('id');
  static readonly copies = {
    stops: copy(() => Location, { via: 'stops', fields: { stops: 'city' }, fanOut: 4 }),
    regions: copy(() => Region, { via: { land: 'land', no: 'regions' }, fields: { regions: 'name' } }),
  };
  id!: string;
  @Column('d:y', text) land?: string | null;
  @Column('d:t', text) title?: string | null;
  @Columns('s:', { value: text }) stops?: Map<string, string | null>;
  @Columns('d:r.', { key: uint32, value: text }) regions?: Map<number, string | null>;
}

import { Column, Entity, part, RowKey, recordType } from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';

const HOUR = 3600_000;
const table = { name: 'orders', families: { d: {}, e: {} } };

@Entity({ table, recordType: 1, changes: { keep: HOUR } })
@RowKey(part('shop'), recordType(), part('no'))
export class Order {
  declare static readonly key: ['shop', 'no'];
  shop!: string;
  no!: string;
  @Column('d:s', text) status?: string | null;
  @Column('e:n', int32) count?: number | null;
}

@Entity({ table, recordType: 2, changes: { keep: 2 * HOUR } })
@RowKey(part('shop'), recordType(), part('no'))
export class Line {
  declare static readonly key: ['shop', 'no'];
  shop!: string;
  no!: string;
  @Column('d:s', text) status?: string | null;
}

/** Of a table of its own. */
@Entity({ table: { name: 'parcels', families: { p: {} } }, changes: { keep: HOUR } })
@RowKey(part('shop'), part('no'))
export class Parcel {
  declare static readonly key: ['shop', 'no'];
  shop!: string;
  no!: string;
  @Column('p:s', text) status?: string | null;
}

/** Beside the orders, and nobody watches it. */
@Entity({ table, recordType: 3 })
@RowKey(part('shop'), recordType(), part('no'))
export class Note {
  declare static readonly key: ['shop', 'no'];
  shop!: string;
  no!: string;
  @Column('d:s', text) status?: string | null;
}

export const entities = [Order, Line, Parcel, Note];

import {
  Column,
  DeletedAt,
  Entity,
  part,
  RowKey,
  recordType,
  Summary,
  salt,
  Ttl,
} from '../../decorators/index.js';
import { bigint, boolean, date, decimal, float64, int32, text } from '../../src/codec/index.js';
import { uint32 } from '../../src/key/index.js';

const table = { name: 'orders', families: { d: {} } };

@Entity({ table, recordType: 1 })
@RowKey(recordType(), salt(2), part('shop'), part('no', uint32))
@Summary('byStatus', {
  by: ['shop', 'status'],
  figures: {
    orders: 'count',
    noted: { count: 'note' },
    total: { sum: 'total' },
    mean: { avg: 'total' },
    weight: { sum: 'weight' },
    points: { sum: 'points' },
    first: { min: 'placedAt' },
    last: { max: 'placedAt' },
  },
})
@Summary('urgent', { by: [], figures: { orders: 'count', total: { sum: 'total' } }, where: { urgent: true } })
export class Order {
  declare static readonly key: ['shop', 'no'];
  declare static readonly summaries: {
    byStatus: {
      by: ['shop', 'status'];
      figures: {
        orders: 'count';
        noted: { count: 'note' };
        total: { sum: 'total' };
        mean: { avg: 'total' };
        weight: { sum: 'weight' };
        points: { sum: 'points' };
        first: { min: 'placedAt' };
        last: { max: 'placedAt' };
      };
    };
    urgent: { by: []; figures: { orders: 'count'; total: { sum: 'total' } } };
  };
  shop!: string;
  no!: number;
  @Column('d:s', text) status?: string | null;
  @Column('d:t', decimal(2)) total?: string | null;
  @Column('d:w', float64) weight?: number | null;
  @Column('d:b', bigint) points?: bigint | null;
  @Column('d:n', text) note?: string | null;
  @Column('d:p', date) placedAt?: Date | null;
  @Column('d:u', boolean) urgent?: boolean | null;
  @DeletedAt('d:x') deletedAt?: Date | null;
}

/** Ends by itself, in the table of the orders. */
@Entity({ table, recordType: 2, ttl: 60_000 })
@RowKey(recordType(), part('id'))
@Summary('byKind', {
  by: ['kind'],
  figures: { visits: 'count', size: { sum: 'size' }, most: { max: 'size' } },
})
export class Visit {
  declare static readonly key: ['id'];
  declare static readonly summaries: {
    byKind: { by: ['kind']; figures: { visits: 'count'; size: { sum: 'size' }; most: { max: 'size' } } };
  };
  id!: string;
  @Column('d:k', text) kind?: string | null;
  @Column('d:z', int32) size?: number | null;
  @Ttl() life?: number;
}

export const entities = [Order, Visit];

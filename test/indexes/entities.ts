/** Entities with indexes of every kind, for tests. */

import {
  Column,
  Columns,
  Counter,
  date,
  Entity,
  Index,
  int32,
  Json,
  part,
  RowKey,
  reverseTimestamp,
  salt,
  Table,
  text,
} from '../../src/index.js';

@Table({ name: 'shop:people', families: { d: {}, m: {} } })
export class People {}

@Entity({ table: People })
@RowKey(salt(4), part('id'))
@Index('byStatus', [part('status'), reverseTimestamp('placedAt')], { include: ['total', 'status'] })
@Index('openByTotal', [part('total', int32)], { where: { status: 'open' } })
@Index('byTag', [part('tags')])
@Index('byMember', [part('members')], { each: 'keys' })
@Index('spread', [salt(3), part('status')])
export class Person {
  declare static readonly key: ['id'];
  declare static readonly indexes: {
    byEmail: ['email'];
    byStatus: ['status', 'placedAt'];
    openByTotal: ['total'];
    byTag: ['tags'];
    byMember: ['members'];
    spread: ['status'];
  };
  id!: string;
  @Index('byEmail', { unique: true }) @Column('d:e', text) email?: string | null;
  @Column('d:s', text) status?: string | null;
  @Column('d:p', date) placedAt?: Date | null;
  @Column('d:t', int32) total?: number | null;
  @Json('d:g') tags?: string[] | null;
  @Columns('m:', { key: text, value: text }) members?: Map<string, string | null>;
  @Counter('d:v') views?: bigint;
}

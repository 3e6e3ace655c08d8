/** Tables whose rows are found by more than their keys. Each index here is what one would keep a second table for by hand. */

import {
  Column,
  Columns,
  date,
  Entity,
  Index,
  int32,
  part,
  RowKey,
  recordType,
  reverseTimestamp,
  salt,
  Table,
  text,
} from 'rowan-orm';

@Table({ name: 'music', families: { d: {} } })
class Music {}

/** What a user heard, newest first; the index: who heard a song. */
@Entity({ table: Music })
@RowKey(part('user'), reverseTimestamp('heardAt'), part('song'))
@Index('bySong', [part('song'), reverseTimestamp('heardAt')])
export class Play {
  declare static readonly key: ['user', 'heardAt', 'song'];
  declare static readonly indexes: { bySong: ['song', 'heardAt'] };
  user!: string;
  heardAt!: Date;
  song!: string;
  @Column('d:v', text) device!: string;
}

@Table({ name: 'films', families: { d: {} } })
class Films {}

/** What a user watched. The index begins with the time; its salt keeps writers of now from meeting in one region. */
@Entity({ table: Films })
@RowKey(salt(8, ['user']), part('user'), part('film'))
@Index('byTime', [salt(4), part('watchedAt', date)], { include: ['stars'] })
export class Viewing {
  declare static readonly key: ['user', 'film'];
  declare static readonly indexes: { byTime: ['watchedAt'] };
  user!: string;
  film!: string;
  @Column('d:w', date) watchedAt!: Date;
  @Column('d:s', int32) stars?: number;
}

@Table({ name: 'shops', families: { d: {} } })
class Shops {}

/** Which shop sells which item: asked from the other side too, and by when it came. */
@Entity({ table: Shops })
@RowKey(part('shop'), part('item'))
@Index('byItem', [part('item')], { include: ['price'] })
@Index('newest', [part('shop'), reverseTimestamp('since')])
export class Offer {
  declare static readonly key: ['shop', 'item'];
  declare static readonly indexes: { byItem: ['item']; newest: ['shop', 'since'] };
  shop!: string;
  item!: string;
  @Column('d:p', int32) price!: number;
  @Column('d:s', date) since!: Date;
}

@Table({ name: 'spending', families: { d: {} } })
class Spending {}

/** What users bought, newest first; the indexes: who bought a product, and what is to be looked into. */
@Entity({ table: Spending })
@RowKey(part('user'), reverseTimestamp('at'), part('product'))
@Index('byProduct', [part('product'), reverseTimestamp('at')], { include: ['cents'] })
@Index('large', [part('cents', int32)], { where: { cents: { gte: 90_000 } } })
export class Purchase {
  declare static readonly key: ['user', 'at', 'product'];
  declare static readonly indexes: { byProduct: ['product', 'at']; large: ['cents'] };
  user!: string;
  at!: Date;
  product!: string;
  @Column('d:c', int32) cents!: number;
}

@Table({ name: 'chat', families: { d: {}, m: {} } })
class Chat {}

/** Somebody of a chat service, who signs in by e-mail. */
@Entity({ table: Chat, recordType: 1 })
@RowKey(recordType(), part('id'))
export class Account {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byEmail: ['email'] };
  id!: string;
  @Index('byEmail', { unique: true }) @Column('d:e', text) email!: string;
}

/** A room with its members and what they may do; the index: the rooms of a member. */
@Entity({ table: Chat, recordType: 2 })
@RowKey(recordType(), part('id'))
@Index('byMember', [part('members')], { each: 'keys' })
export class Room {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byMember: ['members'] };
  id!: string;
  @Column('d:n', text) name!: string;
  @Columns('m:', { key: text, value: text }) members!: Map<string, string>;
}

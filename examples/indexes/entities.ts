/** Tables whose rows are found by more than their keys. Each index here is what one would keep a second table for by hand. */

import {
  Column,
  Columns,
  date,
  Entity,
  index,
  int32,
  part,
  recordType,
  reverseTimestamp,
  rowKey,
  salt,
  Table,
  text,
  uniqueIndex,
} from 'rowan-orm';

@Table({ name: 'music', families: { d: {} } })
class Music {}

/** What a user heard, newest first; the index: who heard a song. */
@Entity({ table: Music })
export class Play {
  static readonly key = rowKey('user', reverseTimestamp('heardAt'), 'song');
  static readonly indexes = { bySong: index('song', reverseTimestamp('heardAt')) };
  user!: string;
  heardAt!: Date;
  song!: string;
  @Column('d:v', text) device!: string;
}

@Table({ name: 'films', families: { d: {} } })
class Films {}

/** What a user watched. The index begins with the time; its salt keeps writers of now from meeting in one region. */
@Entity({ table: Films })
export class Viewing {
  static readonly key = rowKey(salt(8, ['user']), 'user', 'film');
  static readonly indexes = { byTime: index(salt(4), part('watchedAt', date), { include: ['stars'] }) };
  user!: string;
  film!: string;
  @Column('d:w', date) watchedAt!: Date;
  @Column('d:s', int32) stars?: number;
}

@Table({ name: 'shops', families: { d: {} } })
class Shops {}

/** Which shop sells which item: asked from the other side too, and by when it came. */
@Entity({ table: Shops })
export class Offer {
  static readonly key = rowKey('shop', 'item');
  static readonly indexes = {
    byItem: index('item', { include: ['price'] }),
    newest: index('shop', reverseTimestamp('since')),
  };
  shop!: string;
  item!: string;
  @Column('d:p', int32) price!: number;
  @Column('d:s', date) since!: Date;
}

@Table({ name: 'spending', families: { d: {} } })
class Spending {}

/** What users bought, newest first; the indexes: who bought a product, and what is to be looked into. */
@Entity({ table: Spending })
export class Purchase {
  static readonly key = rowKey('user', reverseTimestamp('at'), 'product');
  static readonly indexes = {
    byProduct: index('product', reverseTimestamp('at'), { include: ['cents'] }),
    large: index(part('cents', int32), { where: { cents: { gte: 90_000 } } }),
  };
  user!: string;
  at!: Date;
  product!: string;
  @Column('d:c', int32) cents!: number;
}

@Table({ name: 'chat', families: { d: {}, m: {} } })
class Chat {}

/** Somebody of a chat service, who signs in by e-mail. */
@Entity({ table: Chat, recordType: 1 })
export class Account {
  static readonly key = rowKey(recordType(), 'id');
  static readonly indexes = { byEmail: uniqueIndex('email') };
  id!: string;
  @Column('d:e', text) email!: string;
}

/** A room with its members and what they may do; the index: the rooms of a member. */
@Entity({ table: Chat, recordType: 2 })
export class Room {
  static readonly key = rowKey(recordType(), 'id');
  static readonly indexes = { byMember: index('members', { each: 'keys' }) };
  id!: string;
  @Column('d:n', text) name!: string;
  @Columns('m:', { key: text, value: text }) members!: Map<string, string>;
}

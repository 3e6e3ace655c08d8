/** A chat: messages of a room, the newest first, and the number of messages that a member has not read. */

// #region entity
import {
  Column,
  date,
  Entity,
  part,
  recordType,
  reverseTimestamp,
  rowKey,
  salt,
  Table,
  text,
} from 'rowan-orm';
import { openRecipe } from '../recipe.js';

@Table({ name: 'cookbook:chat', families: { d: {} }, presplit: { regions: 4 } })
class Chat {}

@Entity({ table: Chat, recordType: 1 })
class Message {
  static readonly key = rowKey(
    salt(4, ['room']),
    part('room', text),
    recordType(),
    reverseTimestamp('at'),
    part('from', text),
  );
  room!: string;
  at!: Date;
  from!: string;
  @Column('d:t', text) text!: string;
}

/** The time up to which a member has read a room. The key begins with the member, so one scan reads all rooms. */
@Entity({ table: { name: 'cookbook:members', families: { d: {} } } })
class Membership {
  static readonly key = rowKey(part('member', text), part('room', text));
  member!: string;
  room!: string;
  @Column('d:r', date) readUntil?: Date | null;
}
// #endregion

await using recipe = await openRecipe([Message, Membership]);
const messages = recipe.db.repository(Message);
const memberships = recipe.db.repository(Membership);
const at = (minute: number): Date => new Date(Date.UTC(2026, 0, 1, 12, minute));
for (let minute = 0; minute < 12; minute++) {
  await messages.put({
    room: minute % 3 === 0 ? 'cats' : 'dogs',
    at: at(minute),
    from: 'bob',
    text: `message ${minute}`,
  });
}
await memberships.putMany([
  { member: 'ann', room: 'cats', readUntil: at(6) },
  { member: 'ann', room: 'dogs' },
]);

recipe.section('keys');
recipe.key(Message, { room: 'cats', at: at(0), from: 'bob' });
recipe.key(Membership, { member: 'ann', room: 'cats' });

recipe.section('queries');
// #region queries
await recipe.show('The newest two messages of a room', messages.find({ room: 'cats' }).limit(2));
const unread = (room: string, since: Date) => messages.find({ room, at: { gt: since } });
await recipe.show('What ann has not read of the cats', unread('cats', at(6)));
for (const { room, readUntil } of await memberships.find({ member: 'ann' }).all()) {
  // The page shows at most "99+", so the limit bounds the rows that are read.
  const shown = await unread(room, readUntil ?? new Date(0))
    .limit(100)
    .count();
  recipe.print(`> ${room}: ${shown} unread`);
}
await memberships.update({ member: 'ann', room: 'cats' }, { readUntil: at(11) });
recipe.print(`> cats, after reading: ${await unread('cats', at(11)).count()}`);
// #endregion

recipe.section('cost');
await recipe.size('cookbook:chat');
await recipe.size('cookbook:members');

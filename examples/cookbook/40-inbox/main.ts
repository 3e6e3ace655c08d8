/** An inbox: a message is stored once and noted with every member of its talk, who count what they have not read. */

// #region entity
import {
  Column,
  Counter,
  date,
  Entity,
  part,
  recordType,
  reverseTimestamp,
  rowKey,
  Table,
  text,
} from 'rowan-orm';
import { openRecipe } from '../recipe.js';

@Table({ name: 'cookbook:talks', families: { d: {} } })
class Talks {}

@Entity({ table: Talks, recordType: 1 })
class Member {
  static readonly key = rowKey(part('talk', text), recordType(), part('member', text));
  talk!: string;
  member!: string;
  @Column('d:s', date) since!: Date;
}

@Entity({ table: Talks, recordType: 2 })
class Message {
  static readonly key = rowKey(part('talk', text), recordType(), reverseTimestamp('at'), part('from', text));
  talk!: string;
  at!: Date;
  from!: string;
  @Column('d:t', text) text!: string;
}

/** A talk as one of its members sees it. The key begins with the member, so one scan reads the inbox. */
@Entity({ table: { name: 'cookbook:inbox', families: { d: {} } } })
class InboxEntry {
  static readonly key = rowKey(part('member', text), part('talk', text));
  member!: string;
  talk!: string;
  @Column('d:a', date) lastAt?: Date | null;
  @Column('d:l', text) lastText?: string | null;
  @Column('d:r', date) readUntil?: Date | null;
  @Counter('d:u') unread?: bigint;
}
// #endregion

await using recipe = await openRecipe([Member, Message, InboxEntry]);
const members = recipe.db.repository(Member);
const messages = recipe.db.repository(Message);
const inbox = recipe.db.repository(InboxEntry);
const at = (minute: number): Date => new Date(Date.UTC(2026, 0, 1, 12, minute));
await members.putMany(['ann', 'bob', 'eve'].map((member) => ({ talk: 'cats', member, since: at(0) })));
await members.putMany(['ann', 'bob'].map((member) => ({ talk: 'dogs', member, since: at(0) })));

// #region writes
async function send(talk: string, from: string, text: string, at: Date): Promise<void> {
  await messages.insert({ talk, at, from, text });
  const all = await members.find({ talk }).all();
  await Promise.all(
    all.map(({ member }) =>
      inbox.mutate({ member, talk }, (row) => {
        const noted = row.set({ lastAt: at, lastText: text });
        return member === from ? noted : noted.increment({ unread: 1n });
      }),
    ),
  );
}

/** False: another message has come since the entry was read, and nothing was changed. */
async function markRead({ member, talk, lastAt = null, unread }: InboxEntry): Promise<boolean> {
  const asSeen = inbox.check({ member, talk }, { lastAt, unread: unread ?? null });
  return (await asSeen.update({ readUntil: lastAt, unread: 0n })).ok;
}
// #endregion

await send('dogs', 'ann', 'A walk?', at(1));
await send('cats', 'eve', 'Who feeds them?', at(2));
await send('cats', 'ann', 'I do.', at(3));

recipe.section('keys');
recipe.key(Member, { talk: 'cats', member: 'ann' });
recipe.key(Message, { talk: 'cats', at: at(3), from: 'ann' });
recipe.key(InboxEntry, { member: 'bob', talk: 'cats' });

recipe.section('queries');
// #region queries
const talks = inbox.find({ member: 'bob' }).orderBy('lastAt', 'desc').limit(20);
await recipe.show('The talks of bob, the latest first', talks);

const cats = await inbox.getOrThrow({ member: 'bob', talk: 'cats' });
await send('cats', 'eve', 'Thanks!', at(4));
recipe.print(`> Bob has read what he saw, while another came: ${await markRead(cats)}`);
recipe.print(`> He looks again: ${await markRead(await inbox.getOrThrow(cats))}`);
await send('cats', 'eve', 'And on Sunday?', at(5));

// Exact again, whatever a program that ended in `send` has left out.
const { readUntil, unread } = await inbox.getOrThrow(cats);
const since = messages.find({ talk: 'cats', at: { gt: readUntil ?? new Date(0) } });
const others = since.where({ from: { ne: 'bob' } });
recipe.print(`> Unread: ${unread} by the counter, ${await others.count()} by the messages`);
// #endregion

recipe.section('cost');
await recipe.size('cookbook:talks');
await recipe.size('cookbook:inbox');
recipe.print('a message to n members: 1 row, and a change of n rows');

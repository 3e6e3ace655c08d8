/** A ledger of events: appended only, numbered without gaps, each command once; balances from a snapshot and the rest. */

// #region entity
import {
  Column,
  decimal,
  desc,
  Entity,
  part,
  RowanError,
  recordType,
  rowKey,
  Table,
  text,
  uint32,
  uniqueIndex,
} from 'rowan-orm';
import { openRecipe } from '../recipe.js';

@Table({ name: 'cookbook:ledger', families: { d: {} } })
class Ledger {}

/** The balance after some of the events. It makes reads shorter, and can be computed again. */
@Entity({ table: Ledger, recordType: 1 })
class Snapshot {
  static readonly key = rowKey(part('account', text), recordType());
  account!: string;
  @Column('d:n', uint32) events!: number;
  @Column('d:b', decimal(2)) balance!: string;
}

@Entity({ table: Ledger, recordType: 2 })
class Event {
  static readonly key = rowKey(part('account', text), recordType(), desc(part('number', uint32)));
  static readonly indexes = { byCommand: uniqueIndex('account', 'command') };
  account!: string;
  number!: number;
  @Column('d:c', text) command!: string;
  @Column('d:a', decimal(2)) amount!: string;
}
// #endregion

await using recipe = await openRecipe([Snapshot, Event]);
const [snapshots, events] = [recipe.db.repository(Snapshot), recipe.db.repository(Event)];

recipe.section('keys');
recipe.key(Snapshot, { account: 'a7' });
recipe.key(Event, { account: 'a7', number: 1 });

recipe.section('queries');
// #region queries
const cents = (text: string): number => Math.round(Number(text) * 100);

/** The snapshot, and the events behind it: one scan of few rows. */
async function stateOf(account: string): Promise<{ events: number; balance: number }> {
  const snapshot = await snapshots.get({ account });
  const from = snapshot?.events ?? 0;
  const rest = await events.find({ account, number: { gt: from } }).all();
  const balance = rest.reduce((sum, { amount }) => sum + cents(amount), cents(snapshot?.balance ?? '0'));
  return { events: from + rest.length, balance };
}

/** Appends an event under the next number. If another writer took the number, it reads and decides again. */
async function append(account: string, command: string, amount: string): Promise<string> {
  for (;;) {
    const state = await stateOf(account);
    if (state.balance + cents(amount) < 0) return 'refused: overdrawn';
    const event = { account, number: state.events + 1, command, amount };
    try {
      await events.insert(event);
      return `event ${event.number}`;
    } catch (error) {
      if (!(error instanceof RowanError) || error.code !== 'ERR_CONFLICT') throw error;
      const [done] = await events.by('byCommand').find({ account, command }).all();
      if (done !== undefined) return `done before, as event ${done.number}`;
    }
  }
}
recipe.print(`> c1, 100.00: ${await append('a7', 'c1', '100.00')}`);
recipe.print(`> c2, -30.50: ${await append('a7', 'c2', '-30.50')}`);
recipe.print(`> c2 again: ${await append('a7', 'c2', '-30.50')}`);
recipe.print(`> c3, -99.00: ${await append('a7', 'c3', '-99.00')}`);
const four = await Promise.all(['c4', 'c5', 'c6', 'c7'].map((name) => append('a7', name, '-1.00')));
recipe.print(`> four at once: ${four.sort().join(', ')}`);

await recipe.show('The newest two events', events.find({ account: 'a7' }).limit(2).select('amount'));
const { events: number, balance } = await stateOf('a7');
await snapshots.put({ account: 'a7', events: number, balance: (balance / 100).toFixed(2) });
await recipe.show('The snapshot', snapshots.find({ account: 'a7' }));
const total = await events.find({ account: 'a7' }).sum('amount');
recipe.print(`> the sum of all events: ${total}`);
// #endregion

recipe.section('cost');
await recipe.size('cookbook:ledger_idx');

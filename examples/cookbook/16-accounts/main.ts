/** Accounts and their transactions in one table, and an atomic transfer. */

// #region entity
import {
  Column,
  decimal,
  Entity,
  int53,
  part,
  recordType,
  reverseTimestamp,
  rowKey,
  salt,
  Table,
  text,
} from 'rowan-orm';
import { openRecipe } from '../recipe.js';

@Table({ name: 'cookbook:bank', families: { d: {} }, presplit: { regions: 4 } })
class Bank {}

@Entity({ table: Bank, recordType: 1 })
class Account {
  static readonly key = rowKey(salt(4, ['account']), part('account', text), recordType());
  account!: string;
  @Column('d:o', text) owner!: string;
  @Column('d:b', int53) cents!: number;
}

@Entity({ table: Bank, recordType: 2 })
class Booking {
  static readonly key = rowKey(
    salt(4, ['account']),
    part('account', text),
    recordType(),
    reverseTimestamp('at'),
    part('id', text),
  );
  account!: string;
  at!: Date;
  id!: string;
  @Column('d:a', decimal(2)) amount!: string;
}
// #endregion

await using recipe = await openRecipe([Account, Booking]);
const { db } = recipe;
const accounts = db.repository(Account);
const bookings = db.repository(Booking);
await accounts.putMany([
  { account: 'a1', owner: 'Ann', cents: 5000 },
  { account: 'a2', owner: 'Bob', cents: 0 },
]);

const at = new Date('2026-01-05');

recipe.section('keys');
recipe.key(Account, { account: 'a1' });
recipe.key(Booking, { account: 'a1', at, id: 't1' });

// #region transfer
async function transfer(from: string, to: string, cents: number): Promise<void> {
  await db.transaction(async (tx) => {
    const inside = tx.repository(Account);
    const [payer, payee] = [await inside.get({ account: from }), await inside.get({ account: to })];
    if (payer === null || payee === null || payer.cents < cents) throw new Error('This cannot be paid.');
    await inside.update({ account: from }, { cents: payer.cents - cents });
    await inside.update({ account: to }, { cents: payee.cents + cents });
    const amount = (cents / 100).toFixed(2);
    await tx.repository(Booking).put({ account: from, at, id: 't1', amount: `-${amount}` });
    await tx.repository(Booking).put({ account: to, at, id: 't1', amount });
  });
}
// #endregion

if (recipe.onServer) {
  recipe.section('transfer-hbase');
  const outcome = await transfer('a1', 'a2', 2000).catch((error: unknown) => error);
  recipe.print(String((outcome as { code?: string }).code));
  await accounts.check({ account: 'a1' }, { cents: 5000 }).update({ cents: 3000 });
  await accounts.check({ account: 'a2' }, { cents: 0 }).update({ cents: 2000 });
  await bookings.put({ account: 'a1', at, id: 't1', amount: '-20.00' });
  await bookings.put({ account: 'a2', at, id: 't1', amount: '20.00' });
} else {
  recipe.section('transfer-embedded');
  await transfer('a1', 'a2', 2000);
  const outcome = await transfer('a2', 'a1', 9000).catch((error: unknown) => error);
  recipe.print(String(outcome));
}

recipe.section('queries');
// #region queries
await recipe.show('An account with its bookings', db.collection([Account, Booking], { account: 'a1' }));
await recipe.show(
  'The newest bookings of January',
  bookings.find({ account: 'a2', at: { gte: new Date('2026-01-01') } }).limit(10),
);
// #endregion

recipe.section('cost');
const stored = await db.collection([Account, Booking], { account: 'a1' }).all();
recipe.print(`an account with a booking: ${stored.length} rows in one range`);

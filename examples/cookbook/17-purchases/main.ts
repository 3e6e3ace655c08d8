/** Purchases, music and films of a user, the newest first; user ids spread by a digest. */

// #region entity
import {
  Column,
  decimal,
  Entity,
  hash,
  part,
  reverseTimestamp,
  rowKey,
  Table,
  text,
  textNumber,
  uint8,
} from 'rowan-orm';
import { openRecipe } from '../recipe.js';

@Table({ name: 'cookbook:purchases', families: { d: {} } })
class Purchases {}

/** user + (Long.MAX_VALUE - time) + product. */
@Entity({ table: Purchases })
class Purchase {
  static readonly key = rowKey(part('user', text), reverseTimestamp('at'), part('product', text));
  user!: string;
  at!: Date;
  product!: string;
  @Column('d:t', decimal(2)) total!: string;
}

@Table({ name: 'cookbook:viewings', families: { d: {} }, presplit: { regions: 4 } })
class Viewings {}

/** The user id modulo 100, its md5, the first six digits: a prefix that spreads ids that rise. */
@Entity({ table: Viewings })
class Viewing {
  static readonly key = rowKey(
    hash('user', { modulo: 100, bytes: 3, encoding: 'hex' }),
    part('user', textNumber(6)),
    reverseTimestamp('at', { text: true }),
    part('film', text),
  );
  user!: number;
  at!: Date;
  film!: string;
  @Column('d:s', uint8) stars!: number;
}
// #endregion

await using recipe = await openRecipe([Purchase, Viewing]);
const purchases = recipe.db.repository(Purchase);
const viewings = recipe.db.repository(Viewing);
for (const [day, product, total] of [
  [1, 'pen', '2.50'],
  [8, 'ink', '4.00'],
  [20, 'cup', '9.90'],
] as const) {
  await purchases.put({ user: 'u1', at: new Date(Date.UTC(2026, 0, day)), product, total });
  await viewings.put({
    user: 1234,
    at: new Date(Date.UTC(2026, 0, day)),
    film: `film ${day}`,
    stars: 1 + (day % 5),
  });
}

recipe.section('keys');
recipe.key(Purchase, { user: 'u1', at: new Date('2026-01-20'), product: 'cup' });
recipe.key(Viewing, { user: 1234, at: new Date('2026-01-20'), film: 'film 20' });

recipe.section('queries');
// #region queries
await recipe.show('The newest two purchases', purchases.find({ user: 'u1' }).limit(2));
const from8to15 = { gte: new Date('2026-01-08'), lt: new Date('2026-01-15') };
await recipe.show('From January 8 to 14', purchases.find({ user: 'u1', at: from8to15 }));
await recipe.show('The last film of user 1234', viewings.find({ user: 1234 }).limit(1));
recipe.print(`> What user u1 has spent: ${await purchases.find({ user: 'u1' }).sum('total')}`);
// #endregion

recipe.section('cost');
await recipe.size('cookbook:purchases');
await recipe.size('cookbook:viewings');

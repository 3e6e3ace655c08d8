/** Reads that fail quickly, and reads that may be a little out of date. */

// #region entity
import { Column, Entity, int32, part, rowKey, Table, text } from 'rowan-orm';
import { openRecipe } from '../recipe.js';

/** On HBase give such a table `regionReplication: 2` and more: other servers then have copies that lag behind. */
@Table({ name: 'cookbook:prices', families: { d: {} } })
class Prices {}

@Entity({ table: Prices })
class Price {
  static readonly key = rowKey(part('item', text));
  item!: string;
  @Column('d:c', int32) cents!: number;
}
// #endregion

await using recipe = await openRecipe([Price]);
const prices = recipe.db.repository(Price);
await prices.putMany(['cap', 'ink', 'pen'].map((item, i) => ({ item, cents: 100 + i })));

recipe.section('keys');
recipe.key(Price, { item: 'pen' });

recipe.section('queries');
// #region queries
recipe.print('> No call of this page waits longer than five seconds');
const page = prices.reading({ timeout: 5000, consistency: 'TIMELINE' });
recipe.print(await page.get({ item: 'pen' }));
await recipe.show('A list that may be a little old', page.find({ item: { startsWith: 'i' } }));

recipe.print('> The visitor is gone: the read ends');
const gone = AbortSignal.abort();
const code = await prices
  .get({ item: 'pen' }, { signal: gone })
  .catch((error: { code: string }) => error.code);
recipe.print(code);
// #endregion

recipe.section('cost');
await recipe.size('cookbook:prices');

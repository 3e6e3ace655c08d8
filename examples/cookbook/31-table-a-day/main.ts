/** One table for each day. An old day is dropped as a whole. */

// #region entity
import { Column, date, Entity, part, rowKey, Table, text } from 'rowan-orm';
import { openRecipe } from '../recipe.js';

@Table({ name: 'cookbook:clicks', families: { d: { compression: 'GZ' } } })
class Clicks {}

/** The day is in the name of the table, not in the key. */
@Entity({ table: Clicks })
class Click {
  static readonly key = rowKey(part('user', text), part('at', date));
  user!: string;
  at!: Date;
  @Column('d:p', text) page!: string;
}
// #endregion

await using recipe = await openRecipe([Click]);
const { db } = recipe;

recipe.section('keys');
recipe.key(Click, { user: 'ann', at: new Date('2026-01-05T09:00:00Z') });

// #region writes
const tableOf = (day: Date): string =>
  `cookbook:clicks_${day.toISOString().slice(0, 10).replaceAll('-', '_')}`;

/** The table is made with the declared families when it is first named. */
async function click(user: string, at: Date, page: string): Promise<void> {
  const clicks = await db.repositoryIn(Click, tableOf(at));
  await clicks.put({ user, at, page });
}
await click('ann', new Date('2026-01-05T09:00:00Z'), '/');
await click('bob', new Date('2026-01-05T10:00:00Z'), '/');
await click('ann', new Date('2026-01-06T08:00:00Z'), '/shop');
await click('ann', new Date('2026-01-07T11:00:00Z'), '/help');
// #endregion

recipe.section('queries');
// #region queries
const days = [5, 6, 7].map((day) => tableOf(new Date(Date.UTC(2026, 0, day))));
const today = await db.repositoryIn(Click, days[2]!);
await recipe.show('Clicks of ann today', today.find({ user: 'ann' }));

const threeDays = await db.readerIn(Click, days);
recipe.print('> Clicks of ann in three days');
recipe.print(...(await threeDays.find({ user: 'ann' }).all()));

recipe.print('> January 5 is dropped, without delete markers or compaction');
await db.admin.disableTable(days[0]!);
await db.admin.deleteTable(days[0]!);
const left = (await db.admin.listTables()).filter(({ name }) => name.startsWith('cookbook:clicks_'));
recipe.print(
  left
    .map(({ name }) => name)
    .sort()
    .join(', '),
);
// #endregion

recipe.section('cost');
await recipe.size(days[2]!);

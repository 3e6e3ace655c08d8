/** A list of values for each user: a row for each value, a column for each, or pages. */

// #region entity
import { Columns, Entity, fixedString, Json, part, rowKey, Table, text, uint8, uint32 } from 'rowan-orm';
import { openRecipe } from '../recipe.js';

@Table({ name: 'cookbook:list_tall', families: { d: {} } })
class TallTable {}
@Table({ name: 'cookbook:list_wide', families: { d: {} } })
class WideTable {}
@Table({ name: 'cookbook:list_pages', families: { d: {} } })
class PageTable {}

/** <FixedWidthUserName><FixedWidthValueId>: no columns at all. */
@Entity({ table: TallTable, marker: 'd' })
class TallItem {
  static readonly key = rowKey(part('user', fixedString(6)), part('item', uint32));
  user!: string;
  item!: number;
}

/** One row for each user, one column for each item. */
@Entity({ table: WideTable, marker: false })
class WideList {
  static readonly key = rowKey(part('user', fixedString(6)));
  user!: string;
  @Columns('d:', { key: uint32, value: text }) items!: Map<number, string | null>;
}

/** <FixedWidthUserName><FixedWidthPageNum>: a hundred items in one cell. */
@Entity({ table: PageTable })
class ListPage {
  static readonly key = rowKey(part('user', fixedString(6)), part('page', uint8));
  user!: string;
  page!: number;
  @Json('d:i') items!: number[];
}
// #endregion

await using recipe = await openRecipe([TallItem, WideList, ListPage]);
const { db } = recipe;
const [tall, wide, pages] = [db.repository(TallItem), db.repository(WideList), db.repository(ListPage)];

// #region writes
const items = Array.from({ length: 200 }, (_, i) => 1000 + i);
await tall.putMany(items.map((item) => ({ user: 'bob', item })));
await wide.put({ user: 'bob', items: new Map(items.map((item) => [item, ''])) });
await pages.putMany(
  [0, 1].map((page) => ({ user: 'bob', page, items: items.slice(page * 100, (page + 1) * 100) })),
);
// #endregion

recipe.section('keys');
recipe.key(TallItem, { user: 'bob', item: 1000 });
recipe.key(WideList, { user: 'bob' });
recipe.key(ListPage, { user: 'bob', page: 1 });

recipe.section('queries');
// #region queries
const some = { gte: 1050, lt: 1053 };
await recipe.show('Three items of a tall list', tall.find({ user: 'bob', item: some }));
await recipe.show('The same of a wide list', wide.find({ user: 'bob' }).slice('items', some));
recipe.print(`> Is item 1050 in the tall list? ${await tall.exists({ user: 'bob', item: 1050 })}`);
const has = wide.find({ user: 'bob' }).where((w) => w.entry('items', 1050, { exists: true }));
await recipe.show('... in the wide one?', has.slice('items', { gte: 1050, lt: 1051 }));
// #endregion

recipe.section('cost');
for (const name of ['tall', 'wide', 'pages']) await recipe.size(`cookbook:list_${name}`);

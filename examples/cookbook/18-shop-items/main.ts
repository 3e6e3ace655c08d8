/** Many-to-many: shops and items from both sides; categories with the names of their parents and children. */

// #region entity
import { Column, Columns, copy, decimal, Entity, part, rowKey, Table, text } from 'rowan-orm';
import { openRecipe } from '../recipe.js';

@Table({ name: 'cookbook:offers', families: { d: {} } })
class Offers {}
@Table({ name: 'cookbook:sellers', families: { d: {} } })
class Sellers {}

/** The items of a shop. */
@Entity({ table: Offers })
class Offer {
  static readonly key = rowKey(part('shop', text), part('item', text));
  shop!: string;
  item!: string;
  @Column('d:p', decimal(2)) price!: string;
}

/** The shops of an item. */
@Entity({ table: Sellers })
class Seller {
  static readonly key = rowKey(part('item', text), part('shop', text));
  item!: string;
  shop!: string;
  @Column('d:p', decimal(2)) price!: string;
}

@Table({ name: 'cookbook:categories', families: { d: {}, parent: {}, child: {} } })
class Categories {}

/** A tree: the names of parents and children are copied, so that one row draws a menu. */
@Entity({ table: Categories })
class Category {
  static readonly key = rowKey(part('id', text));
  static readonly copies = {
    parents: copy(() => Category, { via: 'parents', fields: { parents: 'name' } }),
    children: copy(() => Category, { via: 'children', fields: { children: 'name' } }),
  };
  id!: string;
  @Column('d:n', text) name!: string;
  @Columns('parent:', { key: text, value: text }) parents!: Map<string, string | null>;
  @Columns('child:', { key: text, value: text }) children!: Map<string, string | null>;
}
// #endregion

await using recipe = await openRecipe([Offer, Seller, Category]);
const { db } = recipe;
const [offers, sellers, categories] = [db.repository(Offer), db.repository(Seller), db.repository(Category)];

// #region writes
async function sell(shop: string, item: string, price: string): Promise<void> {
  const outcomes = await db.batch((batch) => {
    batch.of(Offer).put({ shop, item, price });
    batch.of(Seller).put({ item, shop, price });
  });
  for (const outcome of outcomes) if (!outcome.ok) throw outcome.error;
}
await sell('s1', 'pen', '2.50');
await sell('s1', 'ink', '4.00');
await sell('s2', 'pen', '2.20');

async function addCategory(id: string, name: string, parent?: string): Promise<void> {
  // The values of the entries are the names of the categories that their keys name, whatever is given.
  await categories.put({ id, name, ...(parent !== undefined && { parents: new Map([[parent, '']]) }) });
  if (parent !== undefined) await categories.update({ id: parent }, { children: new Map([[id, '']]) });
}
await addCategory('2', 'beast');
await addCategory('3', 'dog', '2');
await addCategory('4', 'pig', '2');
await categories.update({ id: '2' }, { name: 'animal' });
// #endregion

recipe.section('keys');
recipe.key(Offer, { shop: 's1', item: 'pen' });
recipe.key(Seller, { shop: 's1', item: 'pen' });

recipe.section('queries');
// #region queries
await recipe.show('What does shop s1 sell?', offers.find({ shop: 's1' }));
await recipe.show('Who sells pens?', sellers.find({ item: 'pen' }));
await recipe.show(
  'A category with its menu',
  categories.find({ id: '2' }).select('name', 'parents', 'children'),
);
// #endregion

recipe.section('cost');
for (const name of ['offers', 'sellers']) await recipe.size(`cookbook:${name}`);

/** Changed declarations of a table: the plan, the steps that run at once, and the steps that need permission. */

// #region entity
import { Column, Entity, part, rowKey, Table, text } from 'rowan-orm';
import { openRecipe } from '../recipe.js';

/** The first release of the class. */
@Table({ name: 'cookbook:articles', families: { d: { versions: 5 }, old: {} } })
class ArticlesThen {}

@Entity({ table: ArticlesThen, name: 'Article' })
class ArticleThen {
  static readonly key = rowKey(part('id', text));
  id!: string;
  @Column('d:t', text) title!: string;
}

/** The next release: one new family, one dropped, fewer versions, compression, and a renamed column. */
@Table({ name: 'cookbook:articles', families: { d: { versions: 2, compression: 'GZ' }, b: {} } })
class Articles {}

@Entity({ table: Articles })
class Article {
  static readonly key = rowKey(part('id', text));
  id!: string;
  @Column('d:h', text, { was: ['d:t'] }) title!: string;
  @Column('b:b', text) body?: string | null;
}
// #endregion

await using recipe = await openRecipe([ArticleThen]);
await recipe.db.repository(ArticleThen).put({ id: 'a1', title: 'Tall or wide' });

recipe.section('keys');
recipe.key(ArticleThen, { id: 'a1' });

await recipe.restart([Article]);
const { schema } = recipe.db;

recipe.section('queries');
// #region queries
recipe.print('> Differences from the declarations');
const plan = await schema.plan();
for (const { id, class: how } of plan.steps) recipe.print(`${id}  [${how}]`);

recipe.print('> All steps that lose no data');
const applied = await schema.apply();
recipe.print(`applied ${applied.done.length}, waiting ${applied.held.map(({ id }) => id).join(', ')}`);

recipe.print('> And a step that loses data, allowed by its name');
await schema.apply({ allow: applied.held.map(({ id }) => `data-loss:${id}` as const) });
recipe.print(`left: ${(await schema.plan()).steps.length}`);
await recipe.show('The row, moved', recipe.db.repository(Article).find({ id: 'a1' }));
// #endregion

recipe.section('cost');
await recipe.size('cookbook:articles');

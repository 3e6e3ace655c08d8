/** Tenants in one table: the tenant leads every key, so that each query is bounded by it. */

// #region entity
import { Column, Entity, hash, part, rowKey, Table, text, ulid } from 'rowan-orm';
import { openRecipe } from '../recipe.js';

@Table({ name: 'cookbook:documents', families: { d: {} }, presplit: { regions: 4 } })
class Documents {}

/** Two bytes of the tenant's md5 spread tenants over regions and keep each one whole. */
@Entity({ table: Documents })
class Document {
  static readonly key = rowKey(
    hash('tenant', { bytes: 2, encoding: 'hex' }),
    part('tenant', text),
    part('id', ulid),
  );
  tenant!: string;
  id!: string;
  @Column('d:t', text) title!: string;
}
// #endregion

await using recipe = await openRecipe([Document]);
const documents = recipe.db.repository(Document);
const id = (n: number): string => `01JGFJJZ000000000000000${String(n).padStart(3, '0')}`;
for (const tenant of ['acme', 'zoo']) {
  await documents.putMany([1, 2, 3].map((n) => ({ tenant, id: id(n), title: `${tenant} ${n}` })));
}

recipe.section('keys');
await recipe.rows('cookbook:documents');

recipe.section('queries');
// #region queries
await recipe.show('The documents of a tenant: one range', documents.find({ tenant: 'acme' }).select('title'));
const page = await documents.find({ tenant: 'acme' }).page({ size: 2 });
recipe.print(
  `> A page of two: ${page.items.map(({ title }) => title).join(', ')}; more: ${page.cursor !== undefined}`,
);
recipe.print(`> A tenant leaves: ${await documents.deletePrefix({ tenant: 'zoo' })} rows deleted`);
recipe.print(`> What is left of it: ${await documents.find({ tenant: 'zoo' }).count()}`);
// #endregion

recipe.section('cost');
recipe.print(
  `two tenants in one range each: ${documents.find({ tenant: 'acme' }).explain().ranges.length} range`,
);

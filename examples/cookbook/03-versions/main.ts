/** Several versions of a value, reads of the past, and reads of deleted rows. */

// #region entity
import { Column, decimal, Entity, part, rowKey, Table, text, type Versioned, Versions } from 'rowan-orm';
import { openRecipe } from '../recipe.js';

@Table({ name: 'cookbook:prices', families: { d: { versions: 10, keepDeletedCells: 'TRUE' } } })
class Prices {}

@Entity({ table: Prices })
class Product {
  static readonly key = rowKey(part('sku', text));
  sku!: string;
  @Column('d:n', text) name?: string | null;
  @Versions('d:p', decimal(2)) prices!: Versioned<string>[];
}
// #endregion

await using recipe = await openRecipe([Product]);
const products = recipe.db.repository(Product);

// #region writes
const day = (n: number): number => Date.UTC(2026, 0, n);
const pen = { sku: 'pen' };
await products.put(
  { ...pen, name: 'Pen', prices: [{ value: '1.00', timestamp: day(1) }] },
  { timestamp: day(1) },
);
await products.update(pen, { prices: [{ value: '1.20', timestamp: day(5) }] }, { timestamp: day(5) });
await products.update(pen, { prices: [{ value: '0.90', timestamp: day(9) }] }, { timestamp: day(9) });
await products.delete(pen, { timestamp: day(12) });
// #endregion

recipe.section('keys');
recipe.key(Product, pen);

recipe.section('queries');
// #region queries
await recipe.show('Now', products.find(pen));
await recipe.show('As of January 6', products.find(pen).asOf(new Date(day(6))));
await recipe.show('As of January 11, one day before the delete', products.find(pen).asOf(new Date(day(11))));
recipe.print('> The prices that were set from January 2 to 9');
recipe.print(...(await products.history(pen, 'prices', { from: day(2), to: day(10) })));
// #endregion

recipe.section('cost');
await recipe.size('cookbook:prices', { deleted: true });

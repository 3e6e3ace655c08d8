/** Constraints: types, checks, unique values, references, and stock that never falls below 0. */

// #region entity
import {
  BeforePut,
  BeforeUpdate,
  Column,
  Entity,
  int32,
  Reference,
  type Related,
  rowKey,
  Table,
  text,
  uniqueIndex,
} from 'rowan-orm';
import { openRecipe } from '../recipe.js';

@Table({ name: 'cookbook:sellers_of', families: { d: {} } })
class Sellers {}
@Table({ name: 'cookbook:stock', families: { d: {} } })
class StockTable {}

@Entity({ table: Sellers })
class Seller {
  static readonly key = rowKey('seller');
  static readonly indexes = { byMail: uniqueIndex('mail') };
  seller!: string;
  @Column('d:m', text) mail!: string;
}

@Entity({ table: StockTable })
class Stock {
  static readonly key = rowKey('item');
  item!: string;
  @Column('d:l', int32) left!: number;
  @Column('d:s', text) sellerId!: string;
  @Reference(() => Seller, { seller: 'sellerId' }, { onDelete: 'restrict' })
  seller?: Related<Seller> | null;

  @BeforePut() @BeforeUpdate() check(): void {
    if (this.left < 0) throw new RangeError(`${this.item}: ${this.left} left`);
  }
}
// #endregion

await using recipe = await openRecipe([Seller, Stock]);
const [sellers, stock] = [recipe.db.repository(Seller), recipe.db.repository(Stock)];

recipe.section('keys');
recipe.key(Stock, { item: 'pen' });

recipe.section('queries');
// #region queries
/** The outcome of a write. */
async function outcome(question: string, write: Promise<unknown>): Promise<void> {
  const code = await write.then(
    () => 'written',
    (error: { code?: string; message: string }) => error.code ?? error.message,
  );
  recipe.print(`> ${question}: ${code}`);
}
await outcome('Ann', sellers.put({ seller: 's1', mail: 'ann@example.org' }));
await outcome('Her address again', sellers.put({ seller: 's2', mail: 'ann@example.org' }));
await outcome('Pens of Ann', stock.put({ item: 'pen', left: 2, sellerId: 's1' }));
await outcome('Pens of nobody', stock.put({ item: 'ink', left: 2, sellerId: 's9' }));
await outcome('Fewer than none', stock.put({ item: 'cap', left: -1, sellerId: 's1' }));
await outcome('Ann leaves', sellers.delete({ seller: 's1' }));

/** Takes pens only if there are enough. The check and the write are one step. */
async function sell(item: string, left: number, count: number): Promise<boolean> {
  return (await stock.check({ item }, { left }).update({ left: left - count })).ok;
}
recipe.print(`> Two buyers who both saw 2: ${await sell('pen', 2, 2)}, ${await sell('pen', 2, 1)}`);
await recipe.show('The remaining stock', stock.find({ item: 'pen' }).select('left'));
// #endregion

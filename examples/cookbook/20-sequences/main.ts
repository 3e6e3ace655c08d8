/** Numbers that are assigned once: counters, blocks of numbers, and ids without a counter. */

// #region entity
import { Column, Counter, Entity, part, reverseDigits, rowKey, Table, text } from 'rowan-orm';
import { openRecipe } from '../recipe.js';

@Table({ name: 'cookbook:sequences', families: { c: {} } })
class Sequences {}

@Entity({ table: Sequences })
class Sequence {
  static readonly key = rowKey(part('name', text));
  name!: string;
  @Counter('c:n') next?: bigint;
}

@Table({ name: 'cookbook:invoices', families: { d: {} } })
class Invoices {}

/** Numbers rise, so the key has them reversed. */
@Entity({ table: Invoices })
class Invoice {
  static readonly key = rowKey(reverseDigits('number', 8));
  number!: number;
  @Column('d:c', text) customer!: string;
}
// #endregion

await using recipe = await openRecipe([Sequence, Invoice]);
const sequences = recipe.db.repository(Sequence);
const invoices = recipe.db.repository(Invoice);

// #region writes
/** Reserves the next `count` numbers for the caller. */
async function take(name: string, count: number): Promise<number[]> {
  const { next } = await sequences.increment({ name }, { next: BigInt(count) });
  return Array.from({ length: count }, (_, i) => Number(next) - count + 1 + i);
}

const taken = await Promise.all([take('invoice', 1), take('invoice', 3), take('invoice', 1)]);
for (const number of taken.flat()) await invoices.insert({ number, customer: `c${number}` });
// #endregion

recipe.section('keys');
recipe.key(Sequence, { name: 'invoice' });
recipe.key(Invoice, { number: 17 });

recipe.section('queries');
// #region queries
recipe.print(
  `> Given once each: ${taken
    .flat()
    .sort((a, b) => a - b)
    .join(', ')}`,
);
await recipe.show('The counter', sequences.find({ name: 'invoice' }));
await recipe.show('An invoice by its number', invoices.find({ number: 3 }));
// #endregion

recipe.section('cost');
await recipe.size('cookbook:invoices');

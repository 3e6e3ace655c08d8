/** Who lives in Ulm? The five ways of HBase's reference guide, side by side. */

// #region entity
import { Column, Entity, index, rowKey, summary, Table, text } from 'rowan-orm';
import { openRecipe } from '../recipe.js';

@Table({ name: 'cookbook:people', families: { d: {} } })
class People {}
@Table({ name: 'cookbook:by_city', families: { d: {} } })
class ByCity {}
@Table({ name: 'cookbook:indexed', families: { d: {} } })
class Indexed {}

/** No index. */
@Entity({ table: People })
class Person {
  static readonly key = rowKey('id');
  id!: string;
  @Column('d:n', text) name!: string;
  @Column('d:c', text) city!: string;
}

/** An index table of the application's own. */
@Entity({ table: ByCity })
class PersonInCity {
  static readonly key = rowKey('city', 'id');
  city!: string;
  id!: string;
  @Column('d:n', text) name!: string;
}

/** An index and a summary that every write updates. */
@Entity({ table: Indexed })
class IndexedPerson {
  static readonly key = rowKey('id');
  static readonly indexes = { byCity: index('city', { include: ['name'] }) };
  static readonly summaries = { perCity: summary({ by: ['city'], figures: { people: 'count' } }) };
  id!: string;
  @Column('d:n', text) name!: string;
  @Column('d:c', text) city!: string;
}
// #endregion

await using recipe = await openRecipe([Person, PersonInCity, IndexedPerson]);
const { db } = recipe;
const [people, byCity, indexed] = [
  db.repository(Person),
  db.repository(PersonInCity),
  db.repository(IndexedPerson),
];
const some = [
  { id: 'p1', name: 'Ann', city: 'Ulm' },
  { id: 'p2', name: 'Bob', city: 'Bonn' },
  { id: 'p3', name: 'Eve', city: 'Ulm' },
];
await people.putMany(some);
await indexed.putMany(some);

recipe.section('keys');
recipe.key(Person, { id: 'p1' });
recipe.key(PersonInCity, { city: 'Ulm', id: 'p1' });

recipe.section('queries');
// #region queries
await recipe.show(
  '1. Filter query: the engine looks at every row',
  people.find({}, { fullScan: true }).where({ city: 'Ulm' }),
);

for await (const person of people.find({}, { fullScan: true })) await byCity.put(person); // each night
await people.put({ id: 'p4', name: 'Dan', city: 'Ulm' });
await recipe.show('2. Periodic: built last night, so Dan is missing', byCity.find({ city: 'Ulm' }));

const moved = { id: 'p4', name: 'Dan', city: 'Bonn' };
await people.put(moved);
await byCity.put(moved); // the program must also delete the entry of the former city
recipe.print(`> 3. Dual write: ${await byCity.find({ city: 'Bonn' }).count()} in Bonn`);

recipe.print('> 4. Summary: the number, without the names');
recipe.print(...(await db.summary(IndexedPerson, 'perCity').find({})));

await recipe.show(
  '5. Observer: the declared index',
  indexed.by('byCity').find({ city: 'Ulm' }).select('name'),
);
// #endregion

recipe.section('cost');
for (const name of ['people', 'by_city']) await recipe.size(`cookbook:${name}`);

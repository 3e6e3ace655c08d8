/** A profile that rarely changes beside visits that always do, in families of their own; and a picture beside a text. */

// #region entity
import { bytes, Column, Columns, Entity, int32, part, rowKey, Table, text } from 'rowan-orm';
import { openRecipe } from '../recipe.js';

@Table({
  name: 'cookbook:users',
  families: {
    p: { compression: 'GZ' }, // text: compressed
    i: { compression: 'NONE', blockCache: false }, // pictures: already compressed
    v: { ttl: 90 * 86_400 }, // visits: written often, expire after 90 days
  },
})
class Users {}

@Entity({ table: Users, marker: 'p' })
class User {
  static readonly key = rowKey(part('id', text));
  id!: string;
  @Column('p:n', text) name!: string;
  @Column('p:a', int32) age?: number | null;
  @Column('p:b', text) biography?: string | null;
  @Column('i:p', bytes) picture?: Uint8Array | null;
  @Columns('v:d.', { key: text, value: text }) visits!: Map<string, string | null>;
}
// #endregion

await using recipe = await openRecipe([User]);
const users = recipe.db.repository(User);

// #region writes
await users.put({
  id: 'u1',
  name: 'Ann',
  age: 30,
  biography: 'Reads. '.repeat(40),
  picture: new Uint8Array(2000),
});
for (const day of ['2026-01-01', '2026-01-02', '2026-01-03']) {
  await users.update({ id: 'u1' }, { visits: new Map([[day, '/home']]) }); // does not write the profile's family
}
// #endregion

recipe.section('keys');
recipe.key(User, { id: 'u1' });

recipe.section('queries');
// #region queries
const one = users.find({ id: 'u1' });
await recipe.show('The profile: one family', one.select('name', 'age'));
await recipe.show(
  'The visits of two days: a slice',
  one.slice('visits', { gte: '2026-01-02' }).select('visits'),
);
recipe.print(`> The picture has ${(await one.select('picture').first())?.picture?.length} bytes`);
// #endregion

recipe.section('cost');
await recipe.size('cookbook:users');

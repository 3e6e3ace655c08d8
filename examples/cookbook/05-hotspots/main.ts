/** Rising ids: the regions they go to with each kind of key, and the cost of reading them. */

// #region entity
import {
  Column,
  Entity,
  hash,
  hotspots,
  part,
  reverseDigits,
  rowKey,
  salt,
  text,
  textNumber,
} from 'rowan-orm';
import { openRecipe } from '../recipe.js';

const spread = (name: string) => ({
  name: `cookbook:${name}`,
  families: { d: {} },
  presplit: { regions: 4 },
});

abstract class Named {
  id!: number;
  @Column('d:n', text) name!: string;
}

/** Seven digits as they are. */
@Entity({ table: { name: 'cookbook:plain', families: { d: {} } } })
class Plain extends Named {
  static readonly key = rowKey(part('id', textNumber(7)));
}

/** One byte, computed from the id. */
@Entity({ table: spread('salted') })
class Salted extends Named {
  static readonly key = rowKey(salt(4), part('id', textNumber(7)));
}

/** Four hexadecimal digits of the md5, then the id. */
@Entity({ table: spread('hashed') })
class Hashed extends Named {
  static readonly key = rowKey(hash('id', { bytes: 2, encoding: 'hex' }), part('id', textNumber(7)));
}

/** The last digit first. */
@Entity({ table: spread('reversed') })
class Reversed extends Named {
  static readonly key = rowKey(reverseDigits('id', 7));
}
// #endregion

await using recipe = await openRecipe([Plain, Salted, Hashed, Reversed]);
const { db } = recipe;

recipe.section('keys');
for (const entity of [Plain, Salted, Hashed, Reversed]) {
  recipe.key(entity, { id: 1001 });
  recipe.key(entity, { id: 1002 });
}

recipe.section('hotspots');
const rising = Array.from({ length: 4000 }, (_, i) => ({ id: i }));
const cuts = ['0001000', '0002000', '0003000'].map((digits) => Buffer.from(digits));
for (const entity of [Plain, Salted, Hashed, Reversed]) {
  const { key } = db.schema.entity(entity);
  const { burst, maxOverMean } = hotspots(key, rising, entity === Plain ? cuts : key.splitPoints(4));
  recipe.print(
    `${entity.name.padEnd(8)} busiest region takes ${(burst * 100).toFixed(0)} % at a time, fullest is ${maxOverMean.toFixed(2)} of the mean`,
  );
}

for (const entity of [Plain, Salted, Hashed, Reversed]) {
  await db.repository(entity).putMany([1001, 1002, 1003].map((id) => ({ id, name: `n${id}` })));
}

recipe.section('queries');
// #region queries
const range = { id: { gte: 1001, lt: 1003 } };
await recipe.show('A range of rising ids: one range', db.repository(Plain).find(range));
await recipe.show('The same, salted: a range for each salt, merged', db.repository(Salted).find(range));
await recipe.show('One row is one range, hashed as well', db.repository(Hashed).find({ id: 1002 }));
// #endregion

recipe.section('cost');
await recipe.size('cookbook:plain');
await recipe.size('cookbook:salted');
await recipe.size('cookbook:hashed');

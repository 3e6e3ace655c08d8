/** Who follows whom, from both sides, and who follows back. */

// #region entity
import { Column, date, Entity, part, recordType, rowKey, Table, text } from 'rowan-orm';
import { openRecipe } from '../recipe.js';

@Table({ name: 'cookbook:social', families: { d: {} } })
class Social {}

/** The users that a user follows. */
@Entity({ table: Social, recordType: 1 })
class Follows {
  static readonly key = rowKey(part('user', text), recordType(), part('target', text));
  user!: string;
  target!: string;
  @Column('d:s', date) since!: Date;
}

/** The same relation from the other side: the followers of a user. */
@Entity({ table: Social, recordType: 2 })
class FollowedBy {
  static readonly key = rowKey(part('user', text), recordType(), part('follower', text));
  user!: string;
  follower!: string;
  @Column('d:s', date) since!: Date;
}
// #endregion

await using recipe = await openRecipe([Follows, FollowedBy]);
const { db } = recipe;
const follows = db.repository(Follows);
const followers = db.repository(FollowedBy);

// #region writes
async function follow(user: string, target: string, since: Date): Promise<void> {
  const outcomes = await db.batch((batch) => {
    batch.of(Follows).put({ user, target, since });
    batch.of(FollowedBy).put({ user: target, follower: user, since });
  }); // on the embedded engine { atomic: true } makes it one step
  for (const outcome of outcomes) if (!outcome.ok) throw outcome.error;
}

const since = new Date('2026-01-01');
for (const [user, target] of [
  ['ann', 'bob'],
  ['bob', 'ann'],
  ['ann', 'eve'],
  ['dan', 'ann'],
] as const) {
  await follow(user, target, since);
}
// #endregion

recipe.section('keys');
recipe.key(Follows, { user: 'ann', target: 'bob' });
recipe.key(FollowedBy, { user: 'bob', follower: 'ann' });

recipe.section('queries');
// #region queries
await recipe.show('Whom does ann follow?', follows.find({ user: 'ann' }));
await recipe.show('Who follows ann?', followers.find({ user: 'ann' }));
const targets = (await follows.find({ user: 'ann' }).all()).map(({ target }) => target);
const back = await followers.getMany(targets.map((follower) => ({ user: 'ann', follower })));
recipe.print(`> Who follows ann back? ${targets.filter((_, i) => back[i] !== null).join(', ')}`);
recipe.print(`> How many follow ann? ${await followers.find({ user: 'ann' }).count()}`);
// #endregion

recipe.section('cost');
await recipe.size('cookbook:social');

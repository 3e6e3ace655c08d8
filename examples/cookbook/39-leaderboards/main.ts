/** Leaderboards: the best of a season, the rank of a player, and who stands next to them. */

// #region entity
import { Column, date, desc, Entity, index, int32, part, rowKey, Table } from 'rowan-orm';
import { openRecipe } from '../recipe.js';

@Table({ name: 'cookbook:scores', families: { d: {} } })
class Scores {}

/** The best score of a player in a season. */
@Entity({ table: Scores })
class Score {
  static readonly key = rowKey('season', 'player');
  static readonly indexes = {
    top: index('season', desc(part('score', int32)), { include: ['reachedAt'] }),
  };
  season!: string;
  player!: string;
  @Column('d:s', int32) score!: number;
  @Column('d:a', date) reachedAt!: Date;
}
// #endregion

await using recipe = await openRecipe([Score]);
const scores = recipe.db.repository(Score);

recipe.section('keys');
recipe.key(Score, { season: 's1', player: 'ann' });

recipe.section('writes');
// #region writes
/** Keeps a score if it is the player's best. */
async function report(season: string, player: string, score: number, reachedAt: Date): Promise<boolean> {
  const { created } = await scores.firstOrCreate({ season, player, score, reachedAt });
  if (created) return true;
  const lower = { score: { lt: score } };
  return (await scores.check({ season, player }, lower).update({ score, reachedAt })).ok;
}
// #endregion
const day = (n: number): Date => new Date(Date.UTC(2026, 0, n));
for (const [i, player] of ['ann', 'bob', 'cyd', 'dan', 'eve'].entries())
  await report('s1', player, (i * 37) % 50, day(i + 1));
await report('s2', 'ann', 99, day(8));
recipe.print(
  `> bob reports 40, then 20: ${await report('s1', 'bob', 40, day(6))}, ${await report('s1', 'bob', 20, day(7))}`,
);

recipe.section('queries');
// #region queries
await recipe.show('The best three', scores.by('top').find({ season: 's1' }).select('score').limit(3));

const own = await scores.getOrThrow({ season: 's1', player: 'cyd' });
const better = scores.by('top').find({ season: 's1', score: { gt: own.score } });
recipe.print(`> The rank of cyd: ${(await better.count()) + 1}`);

const above = await better.reverse().limit(1).all();
const below = await scores
  .by('top')
  .find({ season: 's1', score: { lt: own.score } })
  .limit(1)
  .all();
recipe.print(`> Next to cyd: ${above[0]?.player} above, ${below[0]?.player} below`);
recipe.print(`> A season ends: ${await scores.deletePrefix({ season: 's2' })} score deleted`);
// #endregion

recipe.section('cost');
recipe.print('a score: one row and one entry; the best three: 1 range of entries, no row');

/** The patterns of Bigtable's guide to schemas on one data set: measurements of weather balloons, one a minute. */

// #region entity
import {
  Column,
  date,
  Entity,
  float64,
  hotspots,
  Packed,
  part,
  reverseTimestamp,
  rowKey,
  salt,
  timeBucket,
  uint32,
  type Versioned,
  Versions,
} from 'rowan-orm';
import { openRecipe } from '../recipe.js';

const table = (name: string, versions = 1) => ({ name: `cookbook:${name}`, families: { d: { versions } } });

abstract class Measurement {
  balloon!: number;
  at!: Date;
  @Column('d:p', float64) pressure!: number;
}

/** [salt][time][balloon]: in the order of time, over four ranges of keys. */
@Entity({ table: table('bt_salted') })
class Salted extends Measurement {
  static readonly key = rowKey(salt(4), part('at', date), part('balloon', uint32));
}

/** [balloon][reverse time]: tall and narrow, a row for each measurement. */
@Entity({ table: table('bt_tall') })
class Tall extends Measurement {
  static readonly key = rowKey(part('balloon', uint32), reverseTimestamp('at'));
}

/** [balloon][day]: wide, a time bucket with a column for each measurement. */
@Entity({ table: table('bt_wide') })
class Wide {
  static readonly key = rowKey(part('balloon', uint32), timeBucket('day', '1d', { unit: 's' }));
  balloon!: number;
  day!: Date;
  @Packed('d:', { part: 'day', value: float64 }) pressures!: Map<number, number | null>;
}

/** [balloon]: a cell for each measurement, the newest three of which are kept. */
@Entity({ table: table('bt_cells', 3) })
class Latest {
  static readonly key = rowKey(part('balloon', uint32));
  balloon!: number;
  @Versions('d:p', float64) pressures!: Versioned<number>[];
}
// #endregion

/** [time][balloon]: the key that the guide advises against. */
@Entity({ table: table('bt_time') })
class TimeFirst extends Measurement {
  static readonly key = rowKey(part('at', date), part('balloon', uint32));
}

await using recipe = await openRecipe([TimeFirst, Salted, Tall, Wide, Latest]);
const { db } = recipe;
const time = (minute: number): Date => new Date(Date.UTC(2026, 0, 1, 12, minute));
const all = Array.from({ length: 4000 }, (_, i) => ({
  balloon: 3600 + (i % 40),
  at: time(Math.floor(i / 40)),
  pressure: 94_000 + (i % 40) + Math.floor(i / 40),
}));

recipe.section('keys');
const one = { ...all[0]!, day: time(0) };
for (const entity of [TimeFirst, Salted, Tall, Wide, Latest]) recipe.key(entity, one);

recipe.section('hotspots');
for (const entity of [TimeFirst, Salted, Tall]) {
  const { key } = db.schema.entity(entity);
  // As a table that has been split into four of one size.
  const keys = all.map((values) => Buffer.from(key.encode(values))).sort(Buffer.compare);
  const { burst } = hotspots(
    key,
    all,
    [1000, 2000, 3000].map((at) => keys[at]!),
  );
  recipe.print(
    `${entity.name.padEnd(9)} busiest tablet takes ${(burst * 100).toFixed(0)} % of the writes at a time`,
  );
}

const some = all.filter(({ balloon, at }) => balloon < 3602 && at < time(4));
await db.repository(Tall).putMany(some);
for (const { balloon, at, pressure } of some) {
  const timestamp = at.getTime();
  await db.repository(Wide).put({ balloon, day: at, pressures: new Map([[timestamp, pressure]]) });
  await db.repository(Latest).put({ balloon, pressures: [{ value: pressure, timestamp }] }, { timestamp });
}

recipe.section('queries');
// #region queries
const balloon = { balloon: 3601 };
const minutes = { gte: time(1), lt: time(3) };
const tall = db.repository(Tall).find({ ...balloon, at: minutes });
await recipe.show('Two minutes of a balloon, tall: a row each', tall);
await recipe.show('Wide: columns of one row', db.repository(Wide).find({ ...balloon, day: minutes }));
await recipe.show('The newest cells', db.repository(Latest).find(balloon));
// #endregion

recipe.section('cost');
for (const name of ['tall', 'wide', 'cells']) await recipe.size(`cookbook:bt_${name}`);

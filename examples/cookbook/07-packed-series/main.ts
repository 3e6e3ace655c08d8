/** OpenTSDB's layout: a row for each hour of a series, a column for each point. */

// #region entity
import {
  Column,
  date,
  Entity,
  float64,
  Packed,
  part,
  rowKey,
  substitute,
  Table,
  text,
  timeBucket,
} from 'rowan-orm';
import { openRecipe } from '../recipe.js';

@Table({ name: 'cookbook:tsdb', families: { t: { dataBlockEncoding: 'FAST_DIFF' } } })
class Series {}

/** The points of one hour of one series. */
@Entity({ table: Series, marker: false })
class SeriesHour {
  static readonly key = rowKey(
    substitute('metric', 'cookbook.metrics', { bytes: 3 }),
    timeBucket('hour', '1h', { unit: 's' }),
    part('host', text),
  );
  metric!: string;
  hour!: Date;
  host!: string;
  @Packed('t:', { part: 'hour', value: float64 }) points!: Map<number, number | null>;
}

@Table({ name: 'cookbook:points', families: { t: {} } })
class Points {}

/** For comparison: a row for each point. */
@Entity({ table: Points, marker: false })
class Point {
  static readonly key = rowKey(part('metric', text), part('host', text), part('at', date));
  metric!: string;
  host!: string;
  at!: Date;
  @Column('t:v', float64) value!: number;
}
// #endregion

await using recipe = await openRecipe([SeriesHour, Point]);
const hours = recipe.db.repository(SeriesHour);
const points = recipe.db.repository(Point);

// #region writes
const start = Date.UTC(2026, 0, 1, 10);
const MINUTE = 60_000;
for (let minute = 0; minute < 120; minute++) {
  const at = start + minute * MINUTE;
  // Adds one column; existing points remain.
  await hours.put({ metric: 'cpu', host: 'a', hour: new Date(at), points: new Map([[at, minute / 2]]) });
  await points.put({ metric: 'cpu', host: 'a', at: new Date(at), value: minute / 2 });
}
// #endregion

recipe.section('keys');
await recipe.rows('cookbook:tsdb');

recipe.section('queries');
// #region queries
const span = (from: number, to: number) => ({
  gte: new Date(start + from * MINUTE),
  lt: new Date(start + to * MINUTE),
});
await recipe.show('Four minutes across the hour', hours.find({ metric: 'cpu', hour: span(58, 62) }));
await recipe.show(
  'The same from a row for each point',
  points.find({ metric: 'cpu', host: 'a', at: span(58, 62) }).select('value'),
);
recipe.print('> The average of each hour, in one pass over the rows');
for (const { hour, points: values } of await hours.find({ metric: 'cpu' }).all()) {
  const sum = [...values.values()].reduce<number>((total, value) => total + (value ?? 0), 0);
  recipe.print({ hour, points: values.size, average: sum / values.size });
}
// #endregion

recipe.section('cost');
await recipe.size('cookbook:tsdb');
await recipe.size('cookbook:points');

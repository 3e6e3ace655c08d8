/** Readings of sensors, and the alarms that they raise: one alarm for each time that a limit is crossed. */

// #region entity
import {
  Column,
  date,
  desc,
  Entity,
  float64,
  index,
  Packed,
  part,
  recordType,
  reverseTimestamp,
  rowKey,
  Table,
  text,
  timeBucket,
  uint8,
} from 'rowan-orm';
import { openRecipe } from '../recipe.js';

@Table({ name: 'cookbook:sensors', families: { d: {}, p: { ttl: 30 * 86_400 } } })
class Sensors {}

/** One row for each sensor: its limit and its last reading. */
@Entity({ table: Sensors, recordType: 1 })
class Sensor {
  static readonly key = rowKey(part('sensor', text), recordType());
  sensor!: string;
  @Column('d:s', text) site!: string;
  @Column('d:m', float64) limit!: number;
  @Column('d:l', float64) last?: number | null;
  @Column('d:t', date) lastAt?: Date | null;
}

/** The readings of an hour, which expire after a month. */
@Entity({ table: Sensors, recordType: 2, marker: 'p' })
class Hour {
  static readonly key = rowKey(part('sensor', text), recordType(), timeBucket('hour', '1h', { unit: 's' }));
  sensor!: string;
  hour!: Date;
  @Packed('p:', { part: 'hour', value: float64 }) points!: Map<number, number | null>;
}

@Entity({ table: { name: 'cookbook:alarms', families: { d: {} } } })
class Alarm {
  static readonly key = rowKey(part('sensor', text), reverseTimestamp('raisedAt'));
  static readonly indexes = {
    open: index('site', desc(part('severity', uint8)), reverseTimestamp('raisedAt'), {
      where: { state: 'open' },
    }),
  };
  sensor!: string;
  raisedAt!: Date;
  @Column('d:s', text) site!: string;
  @Column('d:v', uint8) severity!: number;
  @Column('d:x', text) state!: 'open' | 'closed';
}
// #endregion

await using recipe = await openRecipe([Sensor, Hour, Alarm]);
const sensors = recipe.db.repository(Sensor);
const hours = recipe.db.repository(Hour);
const alarms = recipe.db.repository(Alarm);
const at = (minute: number): Date => new Date(Date.UTC(2026, 0, 1, 10, minute));
await sensors.put({ sensor: 'boiler', site: 'ulm', limit: 80 });

recipe.section('keys');
recipe.key(Sensor, { sensor: 'boiler' });
recipe.key(Hour, { sensor: 'boiler', hour: at(0) });
recipe.key(Alarm, { sensor: 'boiler', raisedAt: at(0) });

recipe.section('queries');
// #region queries
/** Stores a reading, and raises an alarm if it is the first above the limit. Doing it twice changes nothing more. */
async function record(name: string, time: Date, value: number): Promise<void> {
  await hours.put({ sensor: name, hour: time, points: new Map([[time.getTime(), value]]) });
  const sensor = await sensors.get({ sensor: name });
  if (sensor === null || (sensor.lastAt != null && sensor.lastAt >= time)) return;
  if (value > sensor.limit && (sensor.last ?? 0) <= sensor.limit) {
    const severity = value > sensor.limit * 1.2 ? 2 : 1;
    await alarms.put({ sensor: name, raisedAt: time, site: sensor.site, severity, state: 'open' });
  }
  await sensors
    .check({ sensor: name }, { lastAt: sensor.lastAt ?? null })
    .update({ last: value, lastAt: time });
}
for (const [index, value] of [70, 82, 85, 79, 105].entries()) await record('boiler', at(57 + index), value);
await record('boiler', at(61), 105);

const hour = { gte: at(58), lt: at(61) };
await recipe.show('Three minutes over the end of an hour', hours.find({ sensor: 'boiler', hour }));
const open = alarms.by('open').find({ site: 'ulm' });
await recipe.show('Open alarms of a site, the worst first', open.select('severity'));
const first = { sensor: 'boiler', raisedAt: at(58) };
recipe.print(`> closed: ${(await alarms.check(first, { state: 'open' }).update({ state: 'closed' })).ok}`);
recipe.print(`> still open: ${await open.count()}`);
// #endregion

recipe.section('cost');
await recipe.size('cookbook:sensors');
await recipe.size('cookbook:alarms_idx');

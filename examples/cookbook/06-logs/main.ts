/** Log events of hosts: the keys of HBase's reference guide side by side. */

// #region entity
import {
  bucket,
  Column,
  date,
  Entity,
  part,
  reverseTimestamp,
  rowKey,
  substitute,
  Table,
  text,
} from 'rowan-orm';
import { openRecipe } from '../recipe.js';

@Table({ name: 'cookbook:logs_time', families: { d: {} }, presplit: { regions: 4 } })
class TimeTable {}
@Table({ name: 'cookbook:logs_host', families: { d: {} } })
class HostTable {}
@Table({ name: 'cookbook:logs_ids', families: { d: {} } })
class IdTable {}

/** The properties of an event, with any key. */
abstract class LogEvent {
  host!: string;
  event!: string;
  at!: Date;
  @Column('d:v', text) value!: string;
}

/** [time modulo 4][time][host][event]: all hosts of a time. */
@Entity({ table: TimeTable })
class ByTime extends LogEvent {
  static readonly key = rowKey(bucket('at', 4), part('at', date), part('host', text), part('event', text));
}

/** [host][event][reverse time]: the newest of a host. */
@Entity({ table: HostTable })
class ByHost extends LogEvent {
  static readonly key = rowKey(part('host', text), part('event', text), reverseTimestamp('at'));
}

/** [id of the host][id of the event][reverse time]: the same in a fixed width. */
@Entity({ table: IdTable })
class ById extends LogEvent {
  static readonly key = rowKey(
    substitute('host', 'cookbook.hosts', { bytes: 3 }),
    substitute('event', 'cookbook.events', { bytes: 1 }),
    reverseTimestamp('at'),
  );
}
// #endregion

await using recipe = await openRecipe([ByTime, ByHost, ById]);
const { db } = recipe;
const [byTime, byHost, byId] = [db.repository(ByTime), db.repository(ByHost), db.repository(ById)];

const events = Array.from({ length: 12 }, (_, i) => ({
  host: `web${i % 3}.example.com`,
  event: i % 4 === 0 ? 'error' : 'request',
  at: new Date(Date.UTC(2026, 0, 1, 10, i, 0, i)),
  value: `GET /${i}`,
}));
await byTime.putMany(events);
await byHost.putMany(events);
for (const event of events) await byId.put(event);

recipe.section('keys');
const [first] = events;
recipe.key(ByTime, first!);
recipe.key(ByHost, first!);

recipe.section('queries');
// #region queries
const quarter = { gte: new Date('2026-01-01T10:05:00Z'), lt: new Date('2026-01-01T10:07:00Z') };
await recipe.show('All hosts in two minutes: one range for each bucket', byTime.find({ at: quarter }));
await recipe.show(
  'The newest two requests of a host: one range',
  byHost.find({ host: 'web1.example.com', event: 'request' }).limit(2),
);
await recipe.show('The same by ids', byId.find({ host: 'web1.example.com', event: 'request' }).limit(2));
// #endregion

recipe.section('cost');
for (const table of ['logs_time', 'logs_host', 'logs_ids']) await recipe.size(`cookbook:${table}`);

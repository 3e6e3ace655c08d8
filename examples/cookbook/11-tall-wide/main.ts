/** Events of an account as rows, as versions of a cell, and as columns of a row. */

// #region entity
import {
  Column,
  Columns,
  date,
  Entity,
  part,
  reverseTimestamp,
  rowKey,
  Table,
  text,
  type Versioned,
  Versions,
} from 'rowan-orm';
import { openRecipe } from '../recipe.js';

@Table({ name: 'cookbook:as_rows', families: { d: {} } })
class RowTable {}
@Table({ name: 'cookbook:as_versions', families: { d: { versions: 100 } } })
class VersionTable {}
@Table({ name: 'cookbook:as_columns', families: { d: {} } })
class ColumnTable {}

/** Tall: a row for each event, the newest first. */
@Entity({ table: RowTable })
class EventRow {
  static readonly key = rowKey(part('account', text), reverseTimestamp('at'));
  account!: string;
  at!: Date;
  @Column('d:e', text) event!: string;
}

/** Versions: one row, one column; the time is that of the cell. */
@Entity({ table: VersionTable, marker: false })
class EventVersions {
  static readonly key = rowKey(part('account', text));
  account!: string;
  @Versions('d:e', text) events!: Versioned<string>[];
}

/** Wide: one row, a column for each event. */
@Entity({ table: ColumnTable, marker: false })
class EventColumns {
  static readonly key = rowKey(part('account', text));
  account!: string;
  @Columns('d:', { key: date, value: text }) events!: Map<Date, string | null>;
}
// #endregion

await using recipe = await openRecipe([EventRow, EventVersions, EventColumns]);
const { db } = recipe;
const [rows, versions, columns] = [
  db.repository(EventRow),
  db.repository(EventVersions),
  db.repository(EventColumns),
];

const account = 'a1';
for (let day = 1; day <= 9; day++) {
  const at = new Date(Date.UTC(2026, 0, day));
  const event = day % 2 ? 'login' : 'logout';
  await rows.put({ account, at, event });
  await versions.put({ account, events: [{ value: event, timestamp: at.getTime() }] });
  await columns.put({ account, events: new Map([[at, event]]) });
}

recipe.section('keys');
recipe.key(EventRow, { account, at: new Date('2026-01-09') });
recipe.key(EventVersions, { account });

recipe.section('queries');
// #region queries
const [from, to] = [new Date('2026-01-04'), new Date('2026-01-07')];
await recipe.show(
  'Rows: a range of the key, conditions pushed',
  rows.find({ account, at: { gte: from, lt: to } }).where({ event: 'login' }),
);
await recipe.show(
  'Columns: a slice of the row',
  columns.find({ account }).slice('events', { gte: from, lt: to }),
);
recipe.print('> Versions: a range of times');
recipe.print(...(await versions.history({ account }, 'events', { from: from.getTime(), to: to.getTime() })));
// #endregion

recipe.section('cost');
for (const name of ['rows', 'versions', 'columns']) await recipe.size(`cookbook:as_${name}`);

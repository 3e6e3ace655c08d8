/** Flights from CTU to PEK on a day: three columns as one key, plain and as their md5. */

// #region entity
import { Column, Entity, fixedString, hash, int32, part, rowKey, Table, text, textNumber } from 'rowan-orm';
import { openRecipe } from '../recipe.js';

@Table({ name: 'cookbook:flights', families: { d: {} } })
class PlainTable {}
@Table({ name: 'cookbook:flights_md5', families: { d: {} }, presplit: { regions: 4 } })
class HashedTable {}

/** CTU, PEK, 20190821, number: readable, and ordered by day. */
@Entity({ table: PlainTable })
class Flight {
  static readonly key = rowKey(
    part('from', fixedString(3)),
    part('to', fixedString(3)),
    part('day', textNumber(8)),
    part('number', text),
  );
  from!: string;
  to!: string;
  day!: number;
  number!: string;
  @Column('d:s', int32) seats!: number;
}

/** The md5 of from, to and day, then the number: spread evenly. The three parts are also columns. */
@Entity({ table: HashedTable })
class HashedFlight {
  static readonly key = rowKey(hash(['from', 'to', 'day'], { bytes: 8 }), part('number', text));
  @Column('d:f', fixedString(3)) from!: string;
  @Column('d:t', fixedString(3)) to!: string;
  @Column('d:d', textNumber(8)) day!: number;
  number!: string;
  @Column('d:s', int32) seats!: number;
}
// #endregion

await using recipe = await openRecipe([Flight, HashedFlight]);
const flights = recipe.db.repository(Flight);
const hashed = recipe.db.repository(HashedFlight);
for (const [from, to, day, number, seats] of [
  ['CTU', 'PEK', 20190821, 'CA4101', 180],
  ['CTU', 'PEK', 20190821, 'CA4113', 12],
  ['CTU', 'PEK', 20190822, 'CA4101', 95],
  ['CTU', 'SHA', 20190821, 'MU5401', 7],
] as const) {
  await flights.put({ from, to, day, number, seats });
  await hashed.put({ from, to, day, number, seats });
}

recipe.section('keys');
const flight = { from: 'CTU', to: 'PEK', day: 20190821, number: 'CA4101' };
recipe.key(Flight, flight);
recipe.key(HashedFlight, flight);

recipe.section('queries');
// #region queries
const route = { from: 'CTU', to: 'PEK' };
await recipe.show('A route on a day', flights.find({ ...route, day: 20190821 }));
await recipe.show('The same, by md5', hashed.find({ ...route, day: 20190821 }).select('seats'));
await recipe.show(
  'A route over two days',
  flights.find({ ...route, day: { gte: 20190821, lt: 20190823 } }).where({ seats: { lt: 100 } }),
);
// #endregion

recipe.section('cost');
await recipe.size('cookbook:flights');
await recipe.size('cookbook:flights_md5');

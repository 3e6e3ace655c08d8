/** Sightings of a person or car: entity, action and site in families of their own, so that a list reads no coordinates. */

// #region entity
import { Column, Entity, float64, reverseDigits, reverseTimestamp, rowKey, Table, text } from 'rowan-orm';
import { openRecipe } from '../recipe.js';

@Table({
  name: 'cookbook:sightings',
  families: { e: { compression: 'SNAPPY' }, a: { compression: 'SNAPPY' }, s: {} },
  presplit: { regions: 10 },
})
class Sightings {}

@Entity({ table: Sightings, marker: 'a' })
class Sighting {
  /** The last digits of an identity number differ most. */
  static readonly key = rowKey(reverseDigits('person', 18, 'string'), reverseTimestamp('at'));
  person!: string;
  at!: Date;
  @Column('e:n', text) name!: string;
  @Column('e:p', text) plate?: string | null;
  @Column('a:t', text) action!: string;
  @Column('a:p', text) place!: string;
  @Column('s:lat', float64) latitude!: number;
  @Column('s:lon', float64) longitude!: number;
}
// #endregion

await using recipe = await openRecipe([Sighting]);
const sightings = recipe.db.repository(Sighting);
const person = '110101199003074514';
for (const [hour, action, place] of [
  [8, 'enter', 'north gate'],
  [9, 'park', 'car park 2'],
  [17, 'leave', 'north gate'],
] as const) {
  await sightings.put({
    person,
    at: new Date(Date.UTC(2026, 0, 1, hour)),
    name: 'Wang',
    action,
    place,
    latitude: 39.9 + hour / 1000,
    longitude: 116.4,
  });
}

recipe.section('keys');
recipe.key(Sighting, { person, at: new Date('2026-01-01T08:00:00Z') });

recipe.section('queries');
// #region queries
const list = sightings.find({ person }).select('action', 'place');
await recipe.show('Where was the person, newest first?', list.limit(2));
const day = { gte: new Date('2026-01-01'), lt: new Date('2026-01-02') };
await recipe.show(
  'For the map, one day',
  sightings.find({ person, at: day }).select('latitude', 'longitude'),
);
await recipe.show(
  'At the north gate',
  sightings.find({ person }).where({ place: 'north gate' }).select('action'),
);
// #endregion

recipe.section('cost');
await recipe.size('cookbook:sightings');

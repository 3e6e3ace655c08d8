import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  Column,
  Entity,
  float64,
  geoBoxAround,
  geohash,
  geohashBox,
  geohashCells,
  geohashOf,
  part,
  rowKey,
} from '../../src/index.js';
import { openMemory } from '../../src/testing/index.js';
import { scaled } from '../proof/scale.js';
import { Random } from '../query/model/random.js';

const latitude = fc.double({ min: -90, max: 90, noNaN: true });
const longitude = fc.double({ min: -180, max: 180, noNaN: true });
const digits = fc.integer({ min: 1, max: 12 });
const numRuns = scaled(60, 500, 20_000);

describe('geohashes', () => {
  it('are those of the published examples', () => {
    expect(geohashOf(57.64911, 10.40744, 11)).toBe('u4pruydqqvj');
    expect(geohashOf(42.605, -5.603, 5)).toBe('ezs42');
    expect(geohashOf(-25.382708, -49.265506, 12)).toBe('6gkzwgjzn820');
    expect(geohashOf(90, 180, 3)).toBe('zzz');
    expect(geohashOf(-90, -180, 12)).toBe('000000000000');
  });

  it('have a box that holds the place, within that of each shorter one', () => {
    fc.assert(
      fc.property(latitude, longitude, digits, (lat, lon, n) => {
        const hash = geohashOf(lat, lon, n);
        const { south, west, north, east } = geohashBox(hash);
        // Degrees of less than a double of their sum with 180 holds count as those beside them.
        const tiny = 1e-12;
        expect(south - tiny <= lat && lat <= north + tiny).toBe(true);
        expect(west - tiny <= lon && lon <= east + tiny).toBe(true);
        expect(geohashOf(lat, lon, 12).startsWith(hash)).toBe(true);
        expect(geohash(n).decode(geohash(n).encode(hash))).toBe(hash);
      }),
      { numRuns },
    );
  });

  it('are in the order of their texts, and tell a prefix', () => {
    fc.assert(
      fc.property(latitude, longitude, latitude, longitude, digits, (lat, lon, lat2, lon2, n) => {
        const [a, b] = [geohashOf(lat, lon, n), geohashOf(lat2, lon2, n)];
        const order = Buffer.compare(geohash(n).encode(a), geohash(n).encode(b));
        expect(order).toBe(a < b ? -1 : a > b ? 1 : 0);
      }),
      { numRuns },
    );
  });

  it('refuse what is no geohash, and bytes of none', () => {
    for (const wrong of ['u0m', 'u0m4a', 'U0M4X', 7, ''])
      expect(() => geohash(5).encode(wrong as string)).toThrow('geohash(5) cannot hold');
    expect(() => geohash(5).decode(Uint8Array.of(1, 2, 3, 0x81))).toThrow('behind its last digit');
    expect(() => geohash(5).decode(Uint8Array.of(1, 2, 3))).toThrow('it has 4 bytes, not 3');
    expect(() => geohash(13)).toThrow('from 1 to 12');
    expect(() => geohashBox('a')).toThrow('geohashBox() takes a geohash');
    expect(() => geohashOf(91, 0)).toThrow('latitude is from -90 to 90 degrees');
    expect(() => geohashCells({ south: 1, north: 0, west: 0, east: 1 }, 3)).toThrow('Exchange them');
    expect(() => geohashCells({ south: -90, north: 90, west: -180, east: 180 }, 4)).toThrow(
      'Take fewer digits',
    );
    expect(() => geoBoxAround(0, 0, -1)).toThrow('meters is 0 or more');
  });
});

@Entity({ table: { name: 'places', families: { d: {} } } })
class Place {
  static readonly key = rowKey(part('cell', geohash(4)), 'id');
  cell!: string;
  id!: string;
  @Column('d:y', float64) latitude!: number;
  @Column('d:x', float64) longitude!: number;
}

/** On the date line, on the first meridian, and near the poles. */
const CENTERS = [
  [0, 179.9],
  [0, -179.95],
  [51.5, 0],
  [-45, 10],
  [89.4, 0],
  [-89.3, 120],
] as const;
const RADIUS = 6_371_000;
const radians = (degrees: number): number => (degrees * Math.PI) / 180;
function distance([y, x]: readonly [number, number], place: Place): number {
  const [a, b] = [radians(y), radians(place.latitude)];
  const high = Math.sin((b - a) / 2) ** 2;
  const wide = Math.cos(a) * Math.cos(b) * Math.sin(radians(place.longitude - x) / 2) ** 2;
  return 2 * RADIUS * Math.asin(Math.min(1, Math.sqrt(high + wide)));
}

it('cells around a place find every row within its circle, over the date line and at the poles too', async () => {
  await using db = await openMemory({ entities: [Place] });
  const places = db.repository(Place);
  const random = new Random(7);
  const degrees = (middle: number, most: number) =>
    middle + (most * (2 * random.below(10_000))) / 10_000 - most;
  const rows = CENTERS.flatMap(([y, x], at) =>
    Array.from({ length: 40 }, (_, n) => {
      const latitude = Math.max(-90, Math.min(90, degrees(y, 0.7)));
      const around = Math.abs(y) > 80 ? degrees(0, 180) : degrees(x, 0.9);
      const longitude = around > 180 ? around - 360 : around < -180 ? around + 360 : around;
      return { cell: geohashOf(latitude, longitude, 4), id: `${at} ${n}`, latitude, longitude };
    }),
  );
  await places.putMany(rows);
  const all = await places.find({}, { fullScan: true }).all();
  for (const center of CENTERS) {
    const cells = (n: number) => geohashCells(geoBoxAround(center[0], center[1], 60_000), n);
    const [short, length] = Math.abs(center[0]) > 80 ? [cells(2), 2] : [cells(4), 4];
    const find = (cell: string) => (length === 4 ? { eq: cell } : { startsWith: cell });
    const found: Place[] = [];
    if (length === 4) found.push(...(await places.find({ cell: { in: short } }).all()));
    else
      for (const cell of short)
        found.push(...(await places.find({ cell: find(cell) as { startsWith: string } }).all()));
    const ids = new Set(found.map(({ id }) => id));
    const within = all.filter((place) => distance(center, place) <= 60_000);
    expect(within.length, String(center)).toBeGreaterThan(3);
    expect(
      within.filter(({ id }) => !ids.has(id)).map(({ id }) => id),
      String(center),
    ).toEqual([]);
  }
});

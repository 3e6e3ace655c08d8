/**
 * Random writes of sources and of rows that hold copies, in every way there is, held against plain maps: after each the
 * copies are what the sources are (once the outbox is empty), whatever was flushed, refused, rolled back or lost.
 */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RowanError } from '../../src/errors.js';
import { MemoryFileSystem, openMemory, settableClock } from '../../src/testing/index.js';
import { scaled } from '../proof/scale.js';
import { Line, Location, Region, Tour, Visit } from './entities.js';

const entities = [Location, Region, Line, Visit, Tour];
const place = fc.constantFrom('a', 'b', 'c');
const city = fc.constantFrom('Bern', 'Basel', 'Biel', null);
const order = fc.integer({ min: 0, max: 6 });

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('location' as const), id: place, city }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('close' as const), id: place }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('put' as const, 'replace' as const, 'upsert' as const, 'transaction' as const),
      order,
      id: fc.option(place),
      said: city,
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('move' as const), order, id: fc.option(place) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('remove' as const), order }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('batch' as const), id: place, city, atomic: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('visit' as const), id: place, at: order }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom('put tour' as const, 'mutate tour' as const),
      tour: fc.constantFrom('x', 'y', 'z'),
      stops: fc.array(fc.tuple(place, fc.boolean()), { minLength: 1, maxLength: 3 }),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'flush' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'fail' as const }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

test('copies equal those of a model', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), fc.boolean(), async (steps, together) => {
      const disk = new MemoryFileSystem();
      const clock = settableClock();
      const db = await openMemory({ entities, disk, clock });
      const lines = db.repository(Line);
      const locations = db.repository(Location);
      const cities = new Map<string, string | null>();
      const orders = new Map<number, string | null>();
      const visits = new Set<string>();
      /** The stops of each tour. One without a city ends. */
      const tours = new Map<string, Set<string>>();
      const endStops = (id: string): void => {
        if ((cities.get(id) ?? null) === null) for (const stops of tours.values()) stops.delete(id);
      };
      const run = async (s: Step): Promise<void> => {
        switch (s.do) {
          case 'location':
            await locations.put({ id: s.id, city: s.city });
            cities.set(s.id, s.city);
            return endStops(s.id);
          case 'close':
            await locations.delete({ id: s.id });
            cities.delete(s.id);
            return endStops(s.id);
          case 'put tour':
          case 'mutate tour': {
            const stops = new Map(s.stops.map(([id, isNamed]) => [id, isNamed ? 'said' : null]));
            if (s.do === 'put tour') await db.repository(Tour).put({ id: s.tour, stops });
            else await db.repository(Tour).mutate({ id: s.tour }, (row) => row.set({ stops }));
            const named = tours.get(s.tour) ?? new Set();
            for (const [id, value] of stops) {
              if (value !== null && (cities.get(id) ?? null) !== null) named.add(id);
              else named.delete(id);
            }
            return void tours.set(s.tour, named);
          }
          case 'move':
            if (!orders.has(s.order)) return;
            await lines.update({ order: s.order, line: 0 }, { locationId: s.id });
            return void orders.set(s.order, s.id);
          case 'remove':
            await lines.delete({ order: s.order, line: 0 });
            return void orders.delete(s.order);
          case 'batch': {
            const moved = [...orders.keys()];
            await db.batch(
              (batch) => {
                batch.of(Location).put({ id: s.id, city: s.city });
                for (const no of moved) batch.of(Line).update({ order: no, line: 0 }, { locationId: s.id });
              },
              { atomic: s.atomic },
            );
            cities.set(s.id, s.city);
            for (const no of moved) orders.set(no, s.id);
            return endStops(s.id);
          }
          case 'visit':
            await db.repository(Visit).put({ id: s.id, at: s.at, who: 'w', town: 'said' });
            return void visits.add(`${s.id}${s.at}`);
          case 'flush':
            clock.advance(1);
            return db.admin.flush('lines');
          case 'fail':
            await expect(
              db.transaction(async (tx) => {
                await tx.repository(Location).put({ id: 'a', city: 'nowhere' });
                throw new Error('no');
              }),
            ).rejects.toThrow('no');
            return;
          default: {
            const stored = await lines.get({ order: s.order, line: 0 });
            const given = {
              order: s.order,
              line: 0,
              locationId: s.id,
              city: s.said,
              version: stored?.version,
            };
            const copied = s.said === null ? {} : { city: undefined };
            if (s.do === 'put') await lines.put(given);
            else if (s.do === 'replace') await lines.replace(given);
            else if (s.do === 'upsert') await lines.upsert({ ...given, ...copied }, { locationId: s.id });
            else await db.transaction((tx) => tx.repository(Line).put(given));
            orders.set(s.order, s.id);
          }
        }
      };
      const check = async (): Promise<void> => {
        await db.denormalized(Line).drain();
        for (const [no, id] of orders) {
          const found = await lines.get({ order: no, line: 0 });
          const wanted = (id === null ? undefined : cities.get(id)) ?? undefined;
          expect({ no, city: found?.city }).toEqual({ no, city: wanted });
          if (wanted === undefined) continue;
          const keys = (await lines.by('byCity').find({ city: wanted }).all()).map((one) => one.order);
          expect(keys).toContain(no);
        }
        for (const [id, stops] of tours) {
          const found = await db.repository(Tour).get({ id });
          const wanted = new Map([...stops].sort().map((stop) => [stop, cities.get(stop)]));
          expect([id, found?.stops ?? new Map()]).toEqual([id, wanted]);
        }
        expect(await db.repository(Visit).find({}, { fullScan: true }).count()).toBe(visits.size);
        for (const visit of await db.repository(Visit).find({}, { fullScan: true }).all())
          expect(visit.town).toBe(cities.get(visit.id) ?? undefined);
      };
      try {
        for (const s of steps) {
          await run(s);
          if (!together) await check();
        }
        await check();
        for (const target of [Line, Visit, Tour]) {
          const report = await db.denormalized(target as typeof Line).check();
          expect(report).toMatchObject({ stale: 0, missing: 0, extra: 0, pending: 0 });
        }
      } catch (error) {
        if (error instanceof RowanError) throw new Error(error.stack);
        throw error;
      } finally {
        await db.close();
      }
    }),
    { numRuns: scaled(5, 50, 1500) },
  );
});

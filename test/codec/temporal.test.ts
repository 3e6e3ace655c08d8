/// <reference lib="esnext.temporal" />
import fc from 'fast-check';
import { afterEach, describe, expect, expectTypeOf, it } from 'vitest';
import { compareBytes } from '../../src/bytes/index.js';
import {
  Column,
  date,
  desc,
  Entity,
  int64,
  part,
  rowKey,
  type ScalarCodec,
  type TemporalCodecs,
  temporalCodecs,
  uint32,
} from '../../src/index.js';
import { entities } from '../../src/testing/fast-check.js';
import { factory } from '../../src/testing/index.js';
import { openMemory } from '../../src/testing/open-memory.js';
import { scaled } from '../proof/scale.js';

type TemporalOf = typeof Temporal;

// Its types are those of TypeScript's library.
const polyfill = ((await import('temporal-polyfill' as string)) as { Temporal: TemporalOf }).Temporal;
const codecs = temporalCodecs(polyfill);
const { instant, instantNs, plainDate, plainDateTime, plainTime } = codecs;
const { Instant, PlainDate, PlainDateTime, PlainTime } = polyfill;

const NUM_RUNS = scaled(40, 1000, 10_000);
/** All times of a Date, but for the last days, of which PlainDate knows one more. */
const dates = fc.date({ noInvalidDate: true });
const isoOf = (at: Date): string => at.toISOString().slice(0, -1);
const day = (at: Date): Date => new Date(Math.floor(at.getTime() / 86_400_000) * 86_400_000);

/** The codec has the bytes of the stored codec, gives back what it was given, and keeps the order of the values. */
function holds<V, S>(
  codec: ScalarCodec<V>,
  stored: ScalarCodec<S>,
  values: fc.Arbitrary<S>,
  of: (stored: S) => V,
  compare: (a: V, b: V) => number,
): void {
  fc.assert(
    fc.property(values, values, (a, b) => {
      const bytes = codec.encode(of(a));
      expect(bytes).toEqual(stored.encode(a));
      expect(String(codec.decode(bytes))).toBe(String(of(a)));
      expect(Math.sign(compareBytes(bytes, codec.encode(of(b))))).toBe(compare(of(a), of(b)));
    }),
    { numRuns: NUM_RUNS },
  );
}

@Entity({ table: { name: 'times', families: { d: {} } } })
class Times {
  static readonly key = rowKey(part('day', plainDate));
  day!: Temporal.PlainDate;
  @Column('d:i', instant) at?: Temporal.Instant | null;
  @Column('d:n', instantNs) exact?: Temporal.Instant | null;
  @Column('d:p', plainDateTime) local?: Temporal.PlainDateTime | null;
  @Column('d:t', plainTime) time?: Temporal.PlainTime | null;
}

describe('codecs of Temporal', () => {
  it('have values that factories and arbitraries make', async () => {
    const db = await openMemory({ entities: [Times] });
    const made = await factory(Times, {}, { seed: 1 }).storeMany(db, 20);
    expect(made.every(({ day }) => day instanceof PlainDate)).toBe(true);
    await fc.assert(
      fc.asyncProperty(entities(Times), async (entity) => {
        await db.repository(Times).put(entity);
        expect(String((await db.repository(Times).get(entity))?.day)).toBe(String(entity.day));
      }),
      { numRuns: 20 },
    );
    await db.close();
  });

  it('store instants in milliseconds and nanoseconds', () => {
    const ofDate = (at: Date) => Instant.fromEpochMilliseconds(at.getTime());
    holds(instant, date, dates, ofDate, Instant.compare);
    const nanoseconds = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    holds(instantNs, int64, nanoseconds, (ns) => Instant.fromEpochNanoseconds(ns), Instant.compare);
  });

  it('store days, times of days, and both', () => {
    holds(plainDate, date, dates.map(day), (at) => PlainDate.from(isoOf(at)), PlainDate.compare);
    holds(plainDateTime, date, dates, (at) => PlainDateTime.from(isoOf(at)), PlainDateTime.compare);
    const ofMs = (ms: number) => PlainTime.from(isoOf(new Date(ms)));
    holds(plainTime, uint32, fc.nat(86_399_999), ofMs, PlainTime.compare);
  });

  it('have the types of the Temporal that was given', () => {
    expectTypeOf(instant).toEqualTypeOf<ScalarCodec<Temporal.Instant>>();
    expectTypeOf(plainDate).toEqualTypeOf<ScalarCodec<Temporal.PlainDate>>();
    expectTypeOf(plainTime).toEqualTypeOf<ScalarCodec<Temporal.PlainTime>>();
    expectTypeOf(codecs).toEqualTypeOf<TemporalCodecs<TemporalOf>>();
  });

  it('refuse what they would round, and other calendars and classes', () => {
    const finer = /finer than a millisecond: round\(\{ smallestUnit: 'millisecond' \}\)/;
    expect(() => instant.encode(Instant.fromEpochNanoseconds(1n))).toThrow(finer);
    expect(() => plainTime.encode(PlainTime.from('10:00:00.0001'))).toThrow(finer);
    expect(() => plainDateTime.encode(PlainDateTime.from('2026-01-01T10:00:00.000000001'))).toThrow(finer);
    const ends = Instant.from('2500-01-01T00:00Z');
    expect(() => instantNs.encode(ends)).toThrow(/int64 cannot hold/);
    const other = PlainDate.from('2026-01-01').withCalendar('gregory');
    expect(() => plainDate.encode(other)).toThrow(/its calendar is gregory: give it in ISO 8601/);
    expect(() => plainDate.encode(new Date(0) as never)).toThrow(/must be an object of PlainDate/);
    expect(() => plainDate.decode(date.encode(new Date(1)))).toThrow(/it is no midnight in UTC/);
    expect(() => plainTime.decode(uint32.encode(86_400_000))).toThrow(/a day has fewer milliseconds/);
  });
});

describe('temporalCodecs', () => {
  afterEach(() => Reflect.deleteProperty(globalThis, 'Temporal'));

  it('takes the Temporal of the runtime where none is given', () => {
    Reflect.deleteProperty(globalThis, 'Temporal');
    expect(() => temporalCodecs()).toThrow(/this runtime has no Temporal. Give that of a polyfill/);
    Reflect.set(globalThis, 'Temporal', polyfill);
    expect(temporalCodecs().instant.decode(date.encode(new Date(5))).epochMilliseconds).toBe(5);
    expect(() => temporalCodecs({} as TemporalOf)).toThrow(/takes a Temporal, with Instant, PlainDate/);
  });
});

@Entity({ table: { name: 'visits', families: { d: {} } } })
class Visit {
  static readonly key = rowKey('customer', part('at', desc(instant)));
  customer!: string;
  at!: Temporal.Instant;
  @Column('d:d', plainDate) due?: Temporal.PlainDate | null;
  @Column('d:t', plainTime) opens?: Temporal.PlainTime | null;
}

it('an entity of Temporal is asked by it', async () => {
  await using db = await openMemory({ entities: [Visit] });
  const visits = db.repository(Visit);
  const at = (hour: number) => Instant.from(`2026-01-01T${hour}:00Z`);
  await visits.putMany(
    [10, 11, 12].map((hour) => ({
      customer: 'c',
      at: at(hour),
      due: PlainDate.from(`2026-02-${hour}`),
      opens: PlainTime.from({ hour }),
    })),
  );
  const late = visits.find({ customer: 'c', at: { gte: at(11) } });
  expect((await late.all()).map(({ at: time }) => String(time))).toEqual([
    '2026-01-01T12:00:00Z',
    '2026-01-01T11:00:00Z',
  ]);
  const due = late.where({ due: { lt: PlainDate.from('2026-02-12') }, opens: PlainTime.from('11:00') });
  expect((await due.all()).map(({ due: until }) => String(until))).toEqual(['2026-02-11']);
  expect(String(due.explain())).toContain('due < 2026-02-12T00:00:00.000Z and opens = 39600000');
});

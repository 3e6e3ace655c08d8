/** Codecs of `Temporal`, made by `transformed` of those of Date and numbers. */

import { SchemaError } from '../errors.js';
import type { ScalarCodec } from '../key/codecs/base.js';
import { date, int64, uint32 } from '../key/codecs/index.js';
import { describe, isRecord } from '../table/checks.js';
import { transformed } from './transformed.js';

/** A class of a `Temporal`, as far as its codec needs it. */
interface TemporalClass<V> {
  readonly prototype: V;
  from(text: string): V;
}

interface InstantValue {
  readonly epochMilliseconds: number;
  readonly epochNanoseconds: bigint;
}

interface ClockValue {
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  readonly millisecond: number;
  readonly microsecond: number;
  readonly nanosecond: number;
}

interface CalendarValue {
  readonly calendarId: string;
  toString(): string;
}

/** What codecs need of a `Temporal`: the one of the runtime, or that of a polyfill. */
export interface TemporalNamespace {
  readonly Instant: {
    readonly prototype: InstantValue;
    fromEpochMilliseconds(milliseconds: number): InstantValue;
    fromEpochNanoseconds(nanoseconds: bigint): InstantValue;
  };
  readonly PlainDate: TemporalClass<CalendarValue>;
  readonly PlainTime: TemporalClass<ClockValue>;
  readonly PlainDateTime: TemporalClass<CalendarValue & ClockValue>;
}

/** The codecs of a `Temporal`. All are ordered, and codecs of key parts. */
export interface TemporalCodecs<T extends TemporalNamespace> {
  /** A moment in whole milliseconds; the bytes of `date`. */
  readonly instant: ScalarCodec<T['Instant']['prototype']>;
  /** A moment from 1677 to 2262 in nanoseconds; the bytes of `int64`. */
  readonly instantNs: ScalarCodec<T['Instant']['prototype']>;
  /** A day; the bytes of `date` at its midnight in UTC. */
  readonly plainDate: ScalarCodec<T['PlainDate']['prototype']>;
  /** A day and time in whole milliseconds; the bytes of `date` at that time in UTC. */
  readonly plainDateTime: ScalarCodec<T['PlainDateTime']['prototype']>;
  /** A time of day in whole milliseconds; the bytes of `uint32`. */
  readonly plainTime: ScalarCodec<T['PlainTime']['prototype']>;
}

/** The `Temporal` of the runtime, where its types are known. */
type GlobalTemporal = typeof globalThis extends { readonly Temporal: infer T extends TemporalNamespace }
  ? T
  : TemporalNamespace;

const DAY = 86_400_000;

/**
 * Makes the codecs of `Temporal`: of the runtime's, or of a polyfill's that is given. Values of other calendars than
 * ISO 8601, and of a finer resolution than is stored, are refused: nothing is rounded.
 *
 * @example
 * ```ts
 * import { Temporal } from 'temporal-polyfill';
 * const { instant, plainDate } = temporalCodecs(Temporal);
 * ```
 * @throws SchemaError when the runtime has no `Temporal` and none is given.
 */
export function temporalCodecs<T extends TemporalNamespace = GlobalTemporal>(
  temporal?: T,
): TemporalCodecs<T> {
  const { Instant, PlainDate, PlainDateTime, PlainTime } = checked(
    temporal ?? Reflect.get(globalThis, 'Temporal'),
  );
  return {
    instant: transformed(date, {
      type: Instant,
      to: (at) => {
        refuseFiner(at.epochNanoseconds % 1_000_000n !== 0n, 'instantNs stores nanoseconds');
        return new Date(at.epochMilliseconds);
      },
      from: (at) => Instant.fromEpochMilliseconds(at.getTime()),
    }),
    instantNs: transformed(int64, {
      type: Instant,
      to: (at) => at.epochNanoseconds,
      from: (nanoseconds) => Instant.fromEpochNanoseconds(nanoseconds),
    }),
    plainDate: transformed(date, {
      type: PlainDate,
      to: (day) => new Date(`${isoOf(day)}T00:00Z`),
      from: (at) => {
        if (at.getTime() % DAY !== 0) throw new RangeError('it is no midnight in UTC');
        return PlainDate.from(at.toISOString().slice(0, -'T00:00:00.000Z'.length));
      },
    }),
    plainDateTime: transformed(date, {
      type: PlainDateTime,
      to: (at) => {
        refuseFinerClock(at);
        return new Date(`${isoOf(at)}Z`);
      },
      from: (at) => PlainDateTime.from(at.toISOString().slice(0, -1)),
    }),
    plainTime: transformed(uint32, {
      type: PlainTime,
      to: (time) => {
        refuseFinerClock(time);
        return ((time.hour * 60 + time.minute) * 60 + time.second) * 1000 + time.millisecond;
      },
      from: (ms) => {
        if (ms >= DAY) throw new RangeError('a day has fewer milliseconds');
        return PlainTime.from(new Date(ms).toISOString().slice('1970-01-01T'.length, -1));
      },
    }),
  };
}

function checked(temporal: unknown): TemporalNamespace {
  const names = ['Instant', 'PlainDate', 'PlainDateTime', 'PlainTime'];
  if (isRecord(temporal) && names.every((name) => typeof temporal[name] === 'function')) {
    return temporal as unknown as TemporalNamespace;
  }
  throw new SchemaError(
    temporal === undefined
      ? "temporalCodecs(): this runtime has no Temporal. Give that of a polyfill: import { Temporal } from 'temporal-polyfill'."
      : `temporalCodecs() takes a Temporal, with ${names.join(', ')}, not ${describe(temporal)}.`,
  );
}

function isoOf(value: CalendarValue): string {
  if (value.calendarId === 'iso8601') return value.toString();
  throw new RangeError(`its calendar is ${value.calendarId}: give it in ISO 8601, withCalendar('iso8601')`);
}

function refuseFinerClock({ microsecond, nanosecond }: ClockValue): void {
  refuseFiner(microsecond !== 0 || nanosecond !== 0, 'or store an instantNs');
}

function refuseFiner(isFiner: boolean, other: string): void {
  if (!isFiner) return;
  throw new RangeError(`it is finer than a millisecond: round({ smallestUnit: 'millisecond' }), ${other}`);
}

/** Random questions, asked of the database and of a plain array. */

import type { Random } from './random.js';
import { DAY, type ModelEntity, type ModelProperty, type Values } from './schema.js';

/** What one property is asked, as users write it, and what it means. */
export interface Asked {
  readonly input: unknown;
  readonly meets: (value: unknown) => boolean;
  /** Of a time of packed points: the first and last ms that were asked for. */
  readonly span?: readonly [first: number, last: number];
}

function compare(property: ModelProperty, a: unknown, b: unknown): number {
  return Math.sign(property.compare(a as never, b as never));
}

function range(random: Random, property: ModelProperty): Asked {
  const { values } = property;
  const input: Record<string, unknown> = {};
  const tests: ((value: unknown) => boolean)[] = [];
  const lower = random.pick(values);
  const upper = random.pick(values);
  const sides = random.pick(['lower', 'upper', 'both']);
  if (sides !== 'upper') {
    const open = random.chance(0.5);
    input[open ? 'gt' : 'gte'] = lower;
    tests.push((value) => compare(property, value, lower) > (open ? 0 : -1));
  }
  if (sides !== 'lower') {
    const open = random.chance(0.5);
    input[open ? 'lt' : 'lte'] = upper;
    tests.push((value) => compare(property, value, upper) < (open ? 0 : 1));
  }
  return { input, meets: (value) => tests.every((test) => test(value)) };
}

function oneOf(random: Random, property: ModelProperty): Asked {
  const wanted = random.some(property.values, 3);
  return {
    input: { in: wanted },
    meets: (value) => wanted.some((one) => compare(property, value, one) === 0),
  };
}

function equality(random: Random, property: ModelProperty): Asked {
  const wanted = random.pick(property.values);
  return { input: wanted, meets: (value) => compare(property, value, wanted) === 0 };
}

/** As the same of a day's start: days that the range reaches, the days of the times. */
function overDays({ input }: Asked): Asked {
  if (typeof input !== 'object' || input instanceof Date || input === null || 'in' in input) {
    const days = input instanceof Date ? [input] : (input as { in: readonly Date[] }).in;
    const starts = new Set(days.map(dayOf));
    return { input, meets: (value) => starts.has((value as Date).getTime()) };
  }
  const { gt, gte, lt, lte } = input as Readonly<Record<'gt' | 'gte' | 'lt' | 'lte', Date | undefined>>;
  const first = gte?.getTime() ?? (gt === undefined ? -Infinity : gt.getTime() + 1);
  const last = lte?.getTime() ?? (lt === undefined ? Infinity : lt.getTime() - 1);
  return {
    input,
    meets: (value) => {
      const start = (value as Date).getTime();
      return first <= last && first < start + DAY && last >= start;
    },
    span: [first, last],
  };
}

function dayOf(time: Date): number {
  return Math.floor(time.getTime() / DAY) * DAY;
}

/** Equality or `in` on leading parts, then a range at most. */
export function drawKey(random: Random, parts: ModelEntity['parts']): ReadonlyMap<string, Asked> {
  const key = new Map<string, Asked>();
  const count = random.below(parts.length + 1);
  for (const part of parts.slice(0, count)) {
    const sort = random.below(4);
    if (sort === 3 && part.ranged) {
      const asked = range(random, part);
      key.set(part.name, part.window ? overDays(asked) : asked);
      break;
    }
    const asked = sort === 2 ? oneOf(random, part) : equality(random, part);
    key.set(part.name, part.window ? overDays(asked) : asked);
  }
  return key;
}

/** A condition on one column; absent values fail all but `ne` and null. */
export function drawCondition(random: Random, columns: readonly ModelProperty[]): Asked & { name: string } {
  const column = random.pick(columns);
  const present = (meets: (value: unknown) => boolean) => (value: unknown) =>
    value !== undefined && meets(value);
  const { name } = column;
  switch (random.below(5)) {
    case 0: {
      const { input, meets } = range(random, column);
      return { name, input, meets: present(meets) };
    }
    case 1: {
      const { input, meets } = oneOf(random, column);
      return { name, input, meets: present(meets) };
    }
    case 2:
      return { name, input: null, meets: (value) => value === undefined };
    case 3: {
      const { input, meets } = equality(random, column);
      return { name, input: { ne: input }, meets: (value) => value === undefined || !meets(value) };
    }
    default: {
      const { input, meets } = equality(random, column);
      // Equality is of the stored text: 1.50 is not 1.5, but there is no second spelling among the values.
      return { name, input, meets: present(meets) };
    }
  }
}

export function inputOf(key: ReadonlyMap<string, Asked>): Record<string, unknown> {
  return Object.fromEntries([...key].map(([name, { input }]) => [name, input]));
}

/** A random entity of the model; absent columns are null. */
export function drawValues(random: Random, { parts, columns, window }: ModelEntity): Values {
  const values: Values = {};
  for (const { name, values: from } of parts) values[name] = random.pick(from);
  for (const { name, values: from } of columns) values[name] = random.chance(0.3) ? null : random.pick(from);
  if (window !== undefined) {
    const start = dayOf(values[window] as Date);
    const offsets = random.some([0, 1, DAY / 2, DAY - 1]);
    values['points'] = new Map(offsets.map((offset) => [start + offset, random.below(100)]));
  }
  return values;
}

/** The order of whole keys. */
export function compareKeys(parts: ModelEntity['parts'], a: Values, b: Values): number {
  for (const part of parts) {
    const order = part.direction * compare(part, a[part.name], b[part.name]);
    if (order !== 0) return order;
  }
  return 0;
}

/** The entity as it is stored and read: of a packed one the time is the day's start. */
export function storedValues({ window }: ModelEntity, values: Values, before: Values | undefined): Values {
  const stored = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));
  if (window === undefined) return stored;
  const points = new Map([
    ...((before?.['points'] ?? []) as Map<number, number>),
    ...(values['points'] as Map<number, number>),
  ]);
  return { ...stored, [window]: new Date(dayOf(values[window] as Date)), points };
}

/** The entity with the points that the question is about. */
export function cutValues({ window }: ModelEntity, key: ReadonlyMap<string, Asked>, values: Values): Values {
  const span = window === undefined ? undefined : key.get(window)?.span;
  if (span === undefined) return values;
  const points = [...(values['points'] as Map<number, number>)].filter(
    ([at]) => at >= span[0] && at <= span[1],
  );
  return { ...values, points: new Map(points) };
}

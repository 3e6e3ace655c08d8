/** Random questions, asked of the database and of a plain array. */

import type { Random } from './random.js';
import type { ModelEntity, ModelProperty, Values } from './schema.js';

/** What one property is asked, as users write it, and what it means. */
export interface Asked {
  readonly input: unknown;
  readonly meets: (value: unknown) => boolean;
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

/** Equality or `in` on leading parts, then a range at most. */
export function drawKey(random: Random, parts: ModelEntity['parts']): ReadonlyMap<string, Asked> {
  const key = new Map<string, Asked>();
  const count = random.below(parts.length + 1);
  for (const part of parts.slice(0, count)) {
    const sort = random.below(4);
    if (sort === 3 && part.ranged) {
      key.set(part.name, range(random, part));
      break;
    }
    key.set(part.name, sort === 2 ? oneOf(random, part) : equality(random, part));
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
export function drawValues(random: Random, { parts, columns }: ModelEntity): Values {
  const values: Values = {};
  for (const { name, values: from } of parts) values[name] = random.pick(from);
  for (const { name, values: from } of columns) values[name] = random.chance(0.3) ? null : random.pick(from);
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

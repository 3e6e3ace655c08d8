/** Random entities: every element of keys, at any place, and columns whose order differs from that of their bytes. */

import { defineEntity, defineTable } from '../../../decorators/index.js';
import { decimal, int32, rawDecimal, text, transformed } from '../../../src/codec/index.js';
import {
  bucket,
  date,
  desc,
  enumeration,
  hash,
  int8,
  type KeyElement,
  literal,
  part,
  recordType,
  reverse,
  reverseTimestamp,
  type ScalarCodec,
  salt,
  timeBucket,
  uint8,
} from '../../../src/key/index.js';
import type { EntityClass } from '../../../src/schema/types.js';
import type { Random } from './random.js';

export type Values = Record<string, unknown>;

/** A key part or column as the model knows it. */
export interface ModelProperty {
  readonly name: string;
  readonly values: readonly unknown[];
  readonly compare: (a: never, b: never) => number;
}

export interface ModelEntity {
  readonly target: EntityClass;
  /** In the order of conditions. */
  readonly parts: readonly (ModelProperty & {
    readonly direction: 1 | -1;
    /** Whether a range may be asked. */
    readonly ranged: boolean;
    /** Whether it is the span of time of packed points: its values are starts of days. */
    readonly window?: boolean;
  })[];
  readonly columns: readonly ModelProperty[];
  /** Whether the key holds every part whole, so that rows have the order of parts. */
  readonly whole: boolean;
  /** The part whose days `points` are packed by. */
  readonly window: string | undefined;
}

/** Of the spans that `points` are packed by. */
export const DAY = 86_400_000;
const compareText = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
const compareNumbers = (a: number | bigint, b: number | bigint): number => (a < b ? -1 : a > b ? 1 : 0);
const compareDates = (a: Date, b: Date): number => Math.sign(a.getTime() - b.getTime());
const compareDecimals = (a: string, b: string): number => Math.sign(Number(a) - Number(b));
const STATES = ['open', 'shut', 'gone'] as const;

/** A value object that JSON and comparisons of objects see nothing of. */
class Box<T> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  get value(): T {
    return this.#value;
  }

  toString(): string {
    return String(this.#value instanceof Date ? this.#value.getTime() : this.#value);
  }
}

/** The codec of boxed values. */
function boxed<T>(codec: ScalarCodec<T>): ScalarCodec<Box<T>> {
  return transformed(codec, { type: Box<T>, to: ({ value }) => value, from: (value) => new Box(value) });
}

function inBoxes<T>(
  values: readonly T[],
  compare: (a: T, b: T) => number,
): Pick<ModelProperty, 'values' | 'compare'> {
  return {
    values: values.map((value) => new Box(value)),
    compare: (a: Box<T>, b: Box<T>) => compare(a.value, b.value),
  };
}

const TEXTS = ['', 'a', 'ab', 'a\0', 'b', '\u00ff', '\u{1f600}'];
const TIMES = [0, 1, DAY - 1, DAY, DAY + 1, 2 * DAY, 5 * DAY].map((ms) => new Date(ms));

const COLUMNS: readonly ModelProperty[] = [
  { name: 's', values: ['', 'x', 'xy', 'y', 'é'], compare: compareText },
  { name: 'q', ...inBoxes([-5, 0, 3, 10], compareNumbers) },
  { name: 'v', values: [-1n, 0n, 7n, 2n ** 40n], compare: compareNumbers },
  { name: 'raw', values: ['2', '10', '-3', '1.50', '9.99'], compare: compareDecimals },
  { name: 'down', values: ['2.0', '10.0', '-3.0', '25.5'], compare: compareDecimals },
  {
    name: 'state',
    values: STATES,
    compare: (a: (typeof STATES)[number], b: (typeof STATES)[number]) =>
      STATES.indexOf(a) - STATES.indexOf(b),
  },
];

type PartSort = 'text' | 'number' | 'time';

interface DrawnPart {
  readonly part: ModelEntity['parts'][number];
  readonly element: KeyElement;
  readonly sort: PartSort;
  /** The column that stores what the key cannot give back. */
  readonly stored: boolean;
}

function drawPart(random: Random, name: string, digests: boolean): DrawnPart {
  const sort = random.pick<PartSort>(['text', 'number', 'time']);
  const direction = random.chance(0.3) ? -1 : 1;
  if (sort === 'number') {
    const signed = random.chance(0.5);
    const codec: ScalarCodec<unknown> = signed ? boxed(int8) : uint8;
    const drawn = signed
      ? inBoxes([-128, -1, 0, 1, 127], compareNumbers)
      : { values: [0, 1, 2, 254, 255], compare: compareNumbers };
    return {
      part: { name, ...drawn, direction, ranged: true },
      element: part(name, direction < 0 ? desc(codec) : codec),
      sort,
      stored: false,
    };
  }
  if (sort === 'time') {
    if (digests && random.chance(0.3)) {
      return {
        part: { name, values: TIMES, compare: compareDates, direction: 1, ranged: true, window: true },
        element: timeBucket(name, '1d'),
        sort,
        stored: false,
      };
    }
    if (digests && random.chance(0.3)) {
      return {
        part: { name, values: TIMES, compare: compareDates, direction: 1, ranged: true },
        element: timeBucket(name, '1d'),
        sort,
        stored: true,
      };
    }
    const isBoxed = direction > 0 && name === 'p1';
    const drawn = isBoxed ? inBoxes(TIMES, compareDates) : { values: TIMES, compare: compareDates };
    return {
      part: { name, ...drawn, direction, ranged: true },
      element: direction < 0 ? reverseTimestamp(name) : isBoxed ? part(name, boxed(date)) : part(name, date),
      sort,
      stored: false,
    };
  }
  if (digests && random.chance(0.3)) {
    return {
      part: { name, values: TEXTS, compare: compareText, direction: 1, ranged: false },
      element: hash(name, { bytes: 1 }),
      sort,
      stored: true,
    };
  }
  const turned = random.chance(0.2);
  const isBoxed = !turned && direction < 0;
  const drawnText = isBoxed ? inBoxes(TEXTS, compareText) : { values: TEXTS, compare: compareText };
  return {
    part: { name, ...drawnText, direction: turned ? 1 : direction, ranged: true },
    element: turned ? reverse(name) : isBoxed ? part(name, desc(boxed(text))) : part(name, text),
    sort,
    stored: false,
  };
}

/** Elements that are computed from parts, at random places between them. */
function withDerived(random: Random, drawn: readonly DrawnPart[]): KeyElement[] {
  const elements: KeyElement[] = drawn.map(({ element }) => element);
  const insert = (element: KeyElement): void => {
    elements.splice(random.below(elements.length + 1), 0, element);
  };
  for (const { sort, part: one, stored } of drawn) {
    if (sort === 'number' && random.chance(0.25)) insert(bucket(one.name, 2));
    if (sort === 'time' && random.chance(0.35)) insert(timeBucket(one.name, random.pick(['1d', '2d'])));
    if (sort === 'text' && !stored && random.chance(0.2)) {
      insert(hash(one.name, { bytes: 1, algorithm: 'murmur3' }));
    }
  }
  if (random.chance(0.2)) insert(literal('~'));
  return elements;
}

/** A salt at a place of its own, over any of the parts. */
function withSalt(
  elements: readonly KeyElement[],
  place: number | undefined,
  salts: number,
  over: string,
): KeyElement[] {
  const salted = [...elements];
  if (place !== undefined) salted.splice(place, 0, salt(salts, [over]));
  return salted;
}

/** One to three entities of one table; several have their first part in common. */
export function drawEntities(random: Random): ModelEntity[] {
  const count = random.pick([1, 1, 2, 3]);
  const lead = drawPart(random, 'p0', count === 1);
  // What stands before the record types is laid out alike, but for what a salt is over.
  const head = withDerived(random, [lead]);
  const place = random.chance(0.5) ? random.below(head.length + 1) : undefined;
  const salts = 1 + random.below(3);
  const table = defineTable({ name: 'model', families: { d: {}, e: { versions: 2 }, p: {} } });
  return Array.from({ length: count }, (_, i) => {
    const rest = random.some([1, 2], 2).map((_, n) => drawPart(random, `p${n + 1}`, true));
    // The points of an entity are packed by one time.
    const drawn = [lead, ...rest].filter(
      ({ part: { window } }, n, all) => !window || all.findIndex((one) => one.part.window) === n,
    );
    const kept = drawn.slice(1);
    const window = drawn.find(({ part }) => part.window)?.part.name;
    const over = random.pick(drawn).part.name;
    const tail = withDerived(random, kept);
    const key = [
      ...withSalt(head, place, salts, over),
      ...(count > 1 ? [recordType()] : []),
      ...(random.chance(0.2) ? withSalt(tail, random.below(tail.length + 1), 2, over) : tail),
    ];
    const target = defineEntity({
      name: `Model${i}`,
      table,
      ...(count > 1 ? { recordType: i + 1 } : {}),
      key: key as unknown as readonly [],
      columns: (c) => ({
        s: c.column('d:s', text).optional(),
        q: c.column('e:q', boxed(int32)).optional(),
        v: c.counter('d:v'),
        raw: c.column('d:r', rawDecimal).optional(),
        down: c.column('e:dn', desc(decimal(1))).optional(),
        state: c.column('d:st', desc(enumeration({ open: 1, shut: 2, gone: 9 }))).optional(),
        ...(window === undefined ? {} : { points: c.packed('p:', { part: window, value: int32 }) }),
        ...Object.fromEntries(
          drawn
            .filter(({ stored }) => stored)
            .map(({ part: { name }, sort }) => [
              name,
              c.column(`d:${name}` as 'd:s', (sort === 'time' ? date : text) as typeof text),
            ]),
        ),
      }),
    });
    const order = (target as unknown as { key: readonly string[] }).key;
    const parts = order.map((name) => drawn.find((one) => one.part.name === name)!.part);
    return {
      target: target as unknown as EntityClass,
      parts,
      columns: COLUMNS,
      whole: drawn.every(({ stored }) => !stored),
      window,
    };
  });
}

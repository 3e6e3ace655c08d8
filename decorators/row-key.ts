import { SchemaError } from '../src/errors.js';
import { part } from '../src/key/declare.js';
import type { KeyElement, PartElement } from '../src/key/index.js';
import { describe } from '../src/table/checks.js';
import { classDecorator } from './modes.js';
import type { DeclaredKey, KeyElements, RowKeyDecorator } from './row-key-types.js';

/**
 * Declares the byte layout of the entity's row keys, left to right. The class lists the parts that can be
 * queried, in the same order, as `declare static readonly key: ['a', 'b']`; the compiler checks their names
 * and order and the types of the properties against the layout.
 *
 * Up to eight elements have a signature of their own, whose types the compiler gets without indexing a tuple: that is a seventh less
 * of what a class costs it.
 *
 * @example
 * ```ts
 * @RowKey(salt(16, ['customerId']), part('customerId'), recordType(), reverseTimestamp('placedAt'))
 * class Order {
 *   declare static readonly key: ['customerId', 'placedAt'];
 *   customerId!: string;
 *   placedAt!: Date;
 * }
 * ```
 */
export function RowKey<A extends KeyElement>(a: A): RowKeyDecorator<[A], [...A['parts']], A>;
export function RowKey<A extends KeyElement, B extends KeyElement>(
  a: A,
  b: B,
): RowKeyDecorator<[A, B], [...A['parts'], ...B['parts']], A | B>;
export function RowKey<A extends KeyElement, B extends KeyElement, C extends KeyElement>(
  a: A,
  b: B,
  c: C,
): RowKeyDecorator<[A, B, C], [...A['parts'], ...B['parts'], ...C['parts']], A | B | C>;
export function RowKey<
  A extends KeyElement,
  B extends KeyElement,
  C extends KeyElement,
  D extends KeyElement,
>(
  a: A,
  b: B,
  c: C,
  d: D,
): RowKeyDecorator<[A, B, C, D], [...A['parts'], ...B['parts'], ...C['parts'], ...D['parts']], A | B | C | D>;
export function RowKey<
  A extends KeyElement,
  B extends KeyElement,
  C extends KeyElement,
  D extends KeyElement,
  E extends KeyElement,
>(
  a: A,
  b: B,
  c: C,
  d: D,
  e: E,
): RowKeyDecorator<
  [A, B, C, D, E],
  [...A['parts'], ...B['parts'], ...C['parts'], ...D['parts'], ...E['parts']],
  A | B | C | D | E
>;
export function RowKey<
  A extends KeyElement,
  B extends KeyElement,
  C extends KeyElement,
  D extends KeyElement,
  E extends KeyElement,
  F extends KeyElement,
>(
  a: A,
  b: B,
  c: C,
  d: D,
  e: E,
  f: F,
): RowKeyDecorator<
  [A, B, C, D, E, F],
  [...A['parts'], ...B['parts'], ...C['parts'], ...D['parts'], ...E['parts'], ...F['parts']],
  A | B | C | D | E | F
>;
export function RowKey<
  A extends KeyElement,
  B extends KeyElement,
  C extends KeyElement,
  D extends KeyElement,
  E extends KeyElement,
  F extends KeyElement,
  G extends KeyElement,
>(
  a: A,
  b: B,
  c: C,
  d: D,
  e: E,
  f: F,
  g: G,
): RowKeyDecorator<
  [A, B, C, D, E, F, G],
  [...A['parts'], ...B['parts'], ...C['parts'], ...D['parts'], ...E['parts'], ...F['parts'], ...G['parts']],
  A | B | C | D | E | F | G
>;
export function RowKey<
  A extends KeyElement,
  B extends KeyElement,
  C extends KeyElement,
  D extends KeyElement,
  E extends KeyElement,
  F extends KeyElement,
  G extends KeyElement,
  H extends KeyElement,
>(
  a: A,
  b: B,
  c: C,
  d: D,
  e: E,
  f: F,
  g: G,
  h: H,
): RowKeyDecorator<
  [A, B, C, D, E, F, G, H],
  [
    ...A['parts'],
    ...B['parts'],
    ...C['parts'],
    ...D['parts'],
    ...E['parts'],
    ...F['parts'],
    ...G['parts'],
    ...H['parts'],
  ],
  A | B | C | D | E | F | G | H
>;
export function RowKey<Elements extends readonly KeyElement[]>(
  ...elements: Elements
): RowKeyDecorator<Elements>;
export function RowKey(...elements: readonly KeyElement[]): (target: unknown, context?: unknown) => void {
  return classDecorator('RowKey', (declaration) => {
    const wrong = (elements as readonly unknown[]).find((element) => !isElement(element));
    if (elements.every(isElement)) declaration.rowKeys.push(elements);
    else
      declaration.problems.push(`@RowKey takes elements, part('id') and the like, not ${describe(wrong)}.`);
  });
}

/**
 * Declares the row key in a static of the class: the byte layout left to right, and the names and order of
 * the parts that can be queried. `@Entity` checks the types of the properties against it; `defineEntity`
 * takes it as its `key`. A bare name is short for `part(name)`. The stored bytes are the same as with
 * `@RowKey` and the same elements.
 *
 * @example
 * ```ts
 * @Entity({ table: Crm, recordType: 2 })
 * class Order {
 *   static readonly key = rowKey(salt(16, ['customerId']), part('customerId'), recordType(), reverseTimestamp('placedAt'));
 *   customerId!: string;
 *   placedAt!: Date;
 * }
 * ```
 * @throws SchemaError when an argument is no key element.
 */
export function rowKey<const Given extends readonly ElementOrName[]>(
  ...given: Given
): DeclaredKey<ElementsOf<Given>> {
  const elements = elementsOf('rowKey', given);
  const names = keyNames(elements);
  const random = elements.some((element) => element.kind === 'salt' && element.assign === 'random');
  const drawn = random && { salted: 'random', names: Object.freeze([...names]) };
  return Object.freeze(Object.assign(names, { elements, ...drawn })) as never;
}

/** An element, or the name of a property as short for `part(name)`. */
export type ElementOrName = KeyElement | string;

/** The element types that a list of elements and names stands for. */
export type ElementsOf<Given extends readonly ElementOrName[]> = Given extends readonly KeyElement[]
  ? Given
  : {
        readonly [At in keyof Given]: Given[At] extends string ? Named<Given[At]> : Given[At];
      } extends infer Elements extends readonly KeyElement[]
    ? Elements
    : never;

type Named<Name extends string> = PartElement<Name, string, { [P in Name]: string }, true>;

/** @throws SchemaError when one is neither an element nor a name. */
export function elementsOf(taker: string, given: readonly unknown[]): readonly KeyElement[] {
  return Object.freeze(
    given.map((one) => {
      if (typeof one === 'string') return part(one);
      if (isElement(one)) return one;
      throw new SchemaError(
        `${taker}() takes names of properties and elements, part('id') and the like, not ${describe(one)}.`,
      );
    }),
  );
}

/**
 * The parts in the order of conditions. A digest counts at its position unless another element holds its
 * property whole; among several buckets of one time, the finest counts.
 */
export function keyNames(elements: readonly KeyElement[]): string[] {
  const whole = new Set(
    elements.filter(({ exact }) => exact).flatMap(({ parts }) => parts as readonly string[]),
  );
  return elements.flatMap((element) =>
    (element.parts as readonly string[]).filter(
      (part) => element.exact || (!whole.has(part) && isFinest(element, elements)),
    ),
  );
}

/** Whether there is no finer bucket of the same time; among equally fine ones the first counts. */
function isFinest(element: KeyElement, elements: readonly KeyElement[]): boolean {
  if (element.kind !== 'timeBucket') return true;
  const [name] = element.parts;
  const buckets = elements.filter((other) => other.kind === 'timeBucket' && other.parts[0] === name);
  const minWidth = Math.min(...buckets.map((bucket) => (bucket.kind === 'timeBucket' ? bucket.width : 0)));
  return element === buckets.find((bucket) => bucket.kind === 'timeBucket' && bucket.width === minWidth);
}

/** The elements of a key made by `rowKey`; undefined for any other value. */
export function declaredElements(key: unknown): readonly KeyElement[] | undefined {
  const elements: unknown = (key as Partial<KeyElements> | undefined | null)?.elements;
  return Array.isArray(key) && Array.isArray(elements) && elements.every(isElement) ? elements : undefined;
}

const KINDS: ReadonlySet<unknown> = new Set<KeyElement['kind']>([
  'part',
  'hash',
  'timeBucket',
  'salt',
  'bucket',
  'literal',
  'recordType',
]);

/** Whether the value is a key element: a result of `part(...)`, `salt(...)` and the like. */
export function isElement(value: unknown): value is KeyElement {
  return typeof value === 'object' && value !== null && KINDS.has((value as Partial<KeyElement>).kind);
}

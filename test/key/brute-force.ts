/** Plans held against the plain meaning of conditions: every row of a small table is looked at. */

import fc from 'fast-check';
import { expect } from 'vitest';
import { compareBytes, startsWithBytes, toHex } from '../../src/bytes/index.js';
import {
  compileKeyLayout,
  type KeyConditions,
  type KeyElement,
  type KeyLayout,
  type KeyPlan,
  type PartCondition,
} from '../../src/key/index.js';
import type { Filter } from '../../src/table/index.js';
import { scaled } from '../proof/scale.js';

/** A part as the test knows it: how values are made and compared, without any codec. */
export interface TestPart {
  readonly name: string;
  readonly values: fc.Arbitrary<unknown>;
  readonly compare: (a: never, b: never) => number;
  /** -1 when the key holds it in descending order. */
  readonly direction: 1 | -1;
  /** What may be asked. */
  readonly asks: readonly PartCondition['kind'][];
  /** Of times: those that the key cannot tell apart have the same image. */
  readonly image?: (ms: number) => number;
}

export interface TestLayout {
  readonly elements: readonly KeyElement[];
  readonly recordType?: number;
  readonly parts: readonly TestPart[];
  /** Rows of other entities in the same table. */
  readonly strangers?: readonly Uint8Array[];
  /** Whether rows must come in the order of parts whenever a plan says so (false where the image loses it). */
  readonly ordered?: boolean;
}

export type Entity = Readonly<Record<string, unknown>>;

function condition(part: TestPart, pool: fc.Arbitrary<unknown>): fc.Arbitrary<PartCondition> {
  const bound = fc.record({ value: pool, inclusive: fc.boolean() });
  const kinds: Readonly<Record<PartCondition['kind'], fc.Arbitrary<PartCondition>>> = {
    eq: pool.map((value) => ({ kind: 'eq', value })),
    in: fc.array(pool, { maxLength: 3 }).map((values) => ({ kind: 'in', values })),
    range: fc
      .tuple(fc.option(bound, { nil: undefined }), fc.option(bound, { nil: undefined }))
      .map(([lower, upper]) => ({ kind: 'range', lower, upper })),
    startsWith: fc.tuple(pool, fc.nat(3)).map(([value, length]) => ({
      kind: 'startsWith',
      value:
        typeof value === 'string'
          ? [...value].slice(0, length).join('')
          : (value as Uint8Array).slice(0, length),
    })),
    endsWith: fc.tuple(pool, fc.nat(3)).map(([value, length]) => ({
      kind: 'endsWith',
      value: length === 0 ? '' : [...(value as string)].slice(-length).join(''),
    })),
  };
  return fc.oneof(...part.asks.map((kind) => kinds[kind]));
}

/** Conditions on leading parts: equality or `in`, then at most one other. */
export function conditionsOf(
  parts: readonly TestPart[],
  entities: readonly Entity[],
): fc.Arbitrary<KeyConditions> {
  const pools = parts.map((part) =>
    entities.length === 0
      ? part.values
      : fc.oneof(fc.constantFrom(...entities.map((entity) => entity[part.name])), part.values),
  );
  return fc
    .tuple(...parts.map((part, i) => condition(part, pools[i]!)), fc.nat(parts.length))
    .map((drawn) => {
      const count = drawn.at(-1) as number;
      const conditions: Record<string, PartCondition> = {};
      for (let i = 0; i < count; i++) {
        const one = drawn[i] as PartCondition;
        conditions[parts[i]!.name] = one;
        if (one.kind !== 'eq' && one.kind !== 'in') break;
      }
      return conditions;
    });
}

function meets(part: TestPart, value: unknown, asked: PartCondition): boolean {
  const { image } = part;
  const compare = (a: unknown, b: unknown) =>
    image === undefined
      ? part.compare(a as never, b as never)
      : image((a as Date).getTime()) - image((b as Date).getTime());
  switch (asked.kind) {
    case 'eq':
      return compare(value, asked.value) === 0;
    case 'in':
      return asked.values.some((one) => compare(value, one) === 0);
    case 'startsWith':
      return typeof value === 'string'
        ? value.startsWith(asked.value as string)
        : startsWithBytes(value as Uint8Array, asked.value as Uint8Array);
    case 'endsWith':
      return (value as string).endsWith(asked.value as string);
    case 'range': {
      const { lower, upper } = asked;
      if (part.image !== undefined) return meetsImage(part.image, value as Date, asked);
      const above = lower === undefined ? 1 : part.compare(value as never, lower.value as never);
      const below = upper === undefined ? 1 : part.compare(upper.value as never, value as never);
      return (
        (above > 0 || (above === 0 && lower!.inclusive)) && (below > 0 || (below === 0 && upper!.inclusive))
      );
    }
  }
}

/** Whether any time with the same image as `value` is in the range. */
function meetsImage(
  image: (ms: number) => number,
  value: Date,
  { lower, upper }: Extract<PartCondition, { kind: 'range' }>,
): boolean {
  const own = image(value.getTime());
  const first = lower && (lower.value as Date).getTime() + (lower.inclusive ? 0 : 1);
  const last = upper && (upper.value as Date).getTime() - (upper.inclusive ? 0 : 1);
  if (first !== undefined && last !== undefined && first > last) return false;
  return (first === undefined || own >= image(first)) && (last === undefined || own <= image(last));
}

function inRanges(plan: KeyPlan, row: Uint8Array): number {
  return plan.ranges.findIndex(
    ({ start, stop }) => compareBytes(row, start) >= 0 && (stop === undefined || compareBytes(row, stop) < 0),
  );
}

/** Whether a row filter of the sort that plans make lets the row pass. */
function passes(filter: Filter, row: Uint8Array): boolean {
  if (filter.kind === 'list') return filter.filters.every((one) => passes(one, row));
  if (filter.kind !== 'row' || filter.comparator.kind !== 'binaryComponent') {
    throw new Error(`Not a filter that plans are expected to make: ${filter.kind}`);
  }
  const { value, offset } = filter.comparator;
  return compareBytes(row.subarray(offset, offset + value.length), value) === 0;
}

export function compareEntities(parts: readonly TestPart[], a: Entity, b: Entity): number {
  for (const part of parts) {
    const order = part.direction * part.compare(a[part.name] as never, b[part.name] as never);
    if (order !== 0) return order;
  }
  return 0;
}

/** Checks one layout: each plan finds exactly the rows that are meant, in the order that it says. */
export function checkPlans(test: TestLayout, runs: number = scaled(40, 300, 3000)): void {
  const { parts, strangers = [], ordered = true } = test;
  const layout = compileKeyLayout(test.elements, () => undefined, test.recordType);
  const entity = fc.record(Object.fromEntries(parts.map((part) => [part.name, part.values])));
  const table = fc
    .array(entity, { maxLength: 12 })
    .chain((entities) => fc.tuple(fc.constant(entities), conditionsOf(parts, entities)));
  fc.assert(
    fc.property(table, ([entities, conditions]) => {
      const byRow = new Map(entities.map((one) => [toHex(layout.encode(one)), one]));
      const rows = [...byRow.keys()].map((hex) => Uint8Array.from(Buffer.from(hex, 'hex')));
      const plan = layout.plan(conditions);
      checkShape(plan);
      const accepted = (row: Uint8Array) => inRanges(plan, row) >= 0 && (plan.check?.(row) ?? true);
      const found = rows.filter(accepted).map(toHex).sort();
      const meant = [...byRow]
        .filter(([, one]) => parts.every((part) => meetsIfAsked(part, one, conditions)))
        .map(([hex]) => hex)
        .sort();
      expect(found).toEqual(meant);
      const { residual } = plan;
      if (residual) expect(meant.filter((hex) => !passes(residual, Buffer.from(hex, 'hex')))).toEqual([]);
      expect(strangers.filter(accepted)).toEqual([]);
      if (ordered) checkOrder(layout, plan, parts, byRow, meant);
    }),
    { numRuns: runs },
  );
}

export function meetsIfAsked(part: TestPart, entity: Entity, conditions: KeyConditions): boolean {
  const asked = conditions[part.name];
  return asked === undefined || meets(part, entity[part.name], asked);
}

function checkShape(plan: KeyPlan): void {
  const wrong = plan.ranges.filter(({ start, stop }, i) => {
    const next = plan.ranges[i + 1];
    if (stop === undefined) return next !== undefined;
    return compareBytes(start, stop) >= 0 || (next !== undefined && compareBytes(stop, next.start) > 0);
  });
  expect(wrong).toEqual([]);
  if (plan.kind === 'point' || plan.kind === 'range') expect(plan.ranges).toHaveLength(1);
}

function checkOrder(
  layout: KeyLayout,
  plan: KeyPlan,
  parts: readonly TestPart[],
  byRow: ReadonlyMap<string, Entity>,
  meant: readonly string[],
): void {
  if (plan.order === 'none') return;
  const rows = meant.map((hex) => Uint8Array.from(Buffer.from(hex, 'hex')));
  const logical = (row: Uint8Array) => layout.logicalBytes(row);
  rows.sort((a, b) =>
    plan.order === 'merge'
      ? compareBytes(logical(a), logical(b))
      : inRanges(plan, a) - inRanges(plan, b) || compareBytes(a, b),
  );
  if (plan.order === 'merge' && plan.mergeOffset !== undefined) {
    const from = plan.mergeOffset;
    const shorter = [...rows].sort((a, b) => compareBytes(a.subarray(from), b.subarray(from)));
    expect(shorter.map(toHex)).toEqual(rows.map(toHex));
  }
  if (plan.order === 'merge') {
    const strays = rows.filter(
      (row) => !startsWithBytes(logical(row), plan.leads[inRanges(plan, row)]!.logical),
    );
    expect(strays).toEqual([]);
  }
  const inOrder = rows.map((row) => byRow.get(toHex(row))!);
  expect(inOrder.findIndex((one, i) => i > 0 && compareEntities(parts, inOrder[i - 1]!, one) > 0)).toBe(-1);
}

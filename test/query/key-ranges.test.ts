/** Queries by key on an engine, each held against a look at every entity: what is found, in which order, page by page. */

import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineEntity, defineTable } from '../../decorators/index.js';
import { toHex } from '../../src/bytes/index.js';
import { date, text } from '../../src/codec/index.js';
import type { KeyConditions, PartCondition } from '../../src/key/index.js';
import type { EntityQuery } from '../../src/query/index.js';
import type { KeyedClass } from '../../src/schema/entity-types.js';
import { Put } from '../../src/table/index.js';
import {
  compareEntities,
  conditionsOf,
  type Entity,
  meetsIfAsked,
  type TestLayout,
  type TestPart,
} from '../key/brute-force.js';
import { compile, testLayouts } from '../key/test-layouts.js';
import { scaled } from '../proof/scale.js';
import { onServer, openTestDatabase, type TestDatabase } from './test-database.js';

/** Entities of a table, and how many queries of them are tried. */
const ROWS = 40;
const RUNS = onServer ? 8 : scaled(3, 25, 250);

/** What is stored: the values of the key, and the place in `entities` as a text. */
interface Stored extends Record<string, unknown> {
  readonly place: string;
}

/** A key of `testLayouts` as an entity in a table of its own. */
class DeclaredLayout {
  readonly target: KeyedClass<Stored>;
  /** By row; of two with one key the later. */
  readonly entities: readonly Entity[];

  constructor(
    readonly title: string,
    number: number,
    readonly layout: TestLayout,
  ) {
    const { parts } = layout;
    // What the key holds a digest or a bucket of only is kept in a column.
    const lost = compile(layout.elements, layout.recordType)
      .parts.filter(({ recoverable }) => !recoverable)
      .map(({ name }) => name);
    this.target = defineEntity({
      name: `Layout${number}`,
      table: defineTable({ name: `key_ranges_${number}`, families: { d: {} } }),
      ...(layout.recordType === undefined ? {} : { recordType: layout.recordType }),
      key: layout.elements,
      columns: (c: { column(name: string, codec: unknown): unknown }) => ({
        place: c.column('d:p', text),
        ...Object.fromEntries(lost.map((name) => [name, c.column(`d:${name}`, name === 'at' ? date : text)])),
      }),
    } as never) as never;
    const entity = fc.record(Object.fromEntries(parts.map((part) => [part.name, part.values])));
    this.entities = fc.sample(entity, { numRuns: ROWS, seed: 1 });
  }
}

const declared = Object.entries(testLayouts).map(
  ([title, layout], number) => new DeclaredLayout(title, number, layout),
);

/** Conditions as `find` takes them. */
function queryOf(conditions: KeyConditions): Record<string, unknown> {
  return Object.fromEntries(Object.entries(conditions).map(([name, asked]) => [name, testOf(asked)]));
}

function testOf(asked: PartCondition): unknown {
  switch (asked.kind) {
    case 'eq':
      return asked.value;
    case 'in':
      return { in: asked.values };
    case 'startsWith':
    case 'endsWith':
      return { [asked.kind]: asked.value };
    case 'range': {
      const { lower, upper } = asked;
      return {
        ...(lower ? { [lower.inclusive ? 'gte' : 'gt']: lower.value } : {}),
        ...(upper ? { [upper.inclusive ? 'lte' : 'lt']: upper.value } : {}),
      };
    }
  }
}

/** A condition on a part of which the key has only the bucket goes by the times in the part's column. */
function asStored(part: TestPart, conditions: KeyConditions): TestPart {
  if (conditions[part.name] === undefined) return part;
  const { image: _bucket, ...exact } = part;
  return exact;
}

/** Whether `find` refuses the conditions: a range must have a bound. */
function isBoundless(conditions: KeyConditions): boolean {
  return Object.values(conditions).some(
    (asked) => asked.kind === 'range' && asked.lower === undefined && asked.upper === undefined,
  );
}

describe('queries by key find exactly what is meant, in the order that they say', () => {
  let db: TestDatabase;

  beforeAll(async () => {
    db = await openTestDatabase(declared.map(({ target }) => target));
    await Promise.all(declared.map((one) => fill(one)));
  });
  afterAll(() => db.dispose());

  async function fill({ target, entities, layout }: DeclaredLayout): Promise<void> {
    const { key, table } = db.schema.entity(target);
    const byRow = new Map(
      entities.map((one, place) => [toHex(key.encode(one)), { ...one, place: `${place}` }]),
    );
    await db.repository(target).putMany([...byRow.values()] as never);
    const strangers = (layout.strangers ?? []).map((row) =>
      new Put(row).addColumn('d', '_', Uint8Array.of(1)).addColumn('d', 'p', 'stranger'),
    );
    await db.engine.table(table.descriptor.name).putAll(strangers);
  }

  /** The places of the entities that are stored, for a later one with the same key took the place of an earlier. */
  function storedPlaces({ target, entities }: DeclaredLayout): number[] {
    const { key } = db.schema.entity(target);
    const places = new Map(entities.map((one, place) => [toHex(key.encode(one)), place]));
    return [...places.values()].sort((a, b) => a - b);
  }

  it.each(declared.map((one) => [one.title, one] as const))('%s', async (_title, one) => {
    const { target, layout, entities } = one;
    const { parts } = layout;
    const stored = storedPlaces(one);
    await fc.assert(
      fc.asyncProperty(
        conditionsOf(parts, entities).filter((conditions) => !isBoundless(conditions)),
        fc.integer({ min: 1, max: 9 }),
        async (conditions, size) => {
          const query = db.repository(target).find(queryOf(conditions) as never, { fullScan: true });
          const found = await query.all();
          const places = found.map(({ place }) => Number(place));
          const meant = stored.filter((place) =>
            parts.every((part) => meetsIfAsked(asStored(part, conditions), entities[place]!, conditions)),
          );
          expect([...places].sort((a, b) => a - b)).toEqual(meant);
          checkValues(one, found);
          checkOrder(one, conditions, places);
          await checkSteps(query, found, size);
        },
      ),
      { numRuns: RUNS },
    );
  });

  function checkValues({ target, entities }: DeclaredLayout, found: readonly Stored[]): void {
    const names = db.schema.entity(target).key.parts.map(({ name }) => name);
    expect(found.map((entity) => names.map((name) => entity[name]))).toEqual(
      found.map(({ place }) => names.map((name) => entities[Number(place)]![name])),
    );
  }

  function checkOrder(one: DeclaredLayout, conditions: KeyConditions, places: readonly number[]): void {
    const { layout, entities, target } = one;
    if (layout.ordered === false || db.schema.entity(target).key.plan(conditions).order === 'none') return;
    const inOrder = places.map((place) => entities[place]!);
    const wrong = inOrder.findIndex(
      (one, i) => i > 0 && compareEntities(layout.parts, inOrder[i - 1]!, one) > 0,
    );
    expect(wrong).toBe(-1);
  }

  async function checkSteps(
    query: EntityQuery<KeyedClass<Stored>>,
    found: readonly Stored[],
    size: number,
  ): Promise<void> {
    expect(await query.count()).toBe(found.length);
    expect(await query.limit(size).all()).toEqual(found.slice(0, size));
    expect((await query.reverse().all()).reverse()).toEqual(found);
    const paged: Stored[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await query.page({ size, ...(cursor === undefined ? {} : { cursor }) });
      paged.push(...page.items);
      cursor = page.cursor;
      if (cursor === undefined) break;
    }
    expect(paged).toEqual(found);
  }
});

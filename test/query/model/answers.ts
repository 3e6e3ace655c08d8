/** Questions on random entities, and what a plain array has for answers. */

import { expect } from 'vitest';
import { toHex } from '../../../src/bytes/index.js';
import type { Database } from '../../../src/database.js';
import type { BaseQuery } from '../../../src/query/base-query.js';
import type { KeyedClass } from '../../../src/schema/entity-types.js';
import {
  type Asked,
  compareKeys,
  cutValues,
  drawCondition,
  drawKey,
  drawValues,
  inputOf,
  storedValues,
} from './question.js';
import type { Random } from './random.js';
import type { ModelEntity, Values } from './schema.js';

/** A row of the model: the entity it is of, by place, and its values without absent ones. */
interface ModelRow {
  readonly entity: number;
  readonly values: Values;
}

type Query = BaseQuery<object>;

/** What was asked so far. */
export const tally = { questions: 0, queries: 0 };

/** The last question, for messages. */
let last = '';

async function fill(random: Random, db: Database, entities: readonly ModelEntity[]): Promise<ModelRow[]> {
  const rows = new Map<string, ModelRow>();
  for (const [entity, model] of entities.entries()) {
    const repository = db.repository(model.target as unknown as KeyedClass);
    const count = random.below(25);
    for (let i = 0; i < count; i++) {
      const values = drawValues(random, model);
      // An empty row is no row.
      if (/^p0:(reverse\(text\)|text)$/.test(repository.schema.key.signature) && values['p0'] === '')
        continue;
      const row = toHex(repository.schema.key.encode(values));
      await repository.put(Object.assign(Object.create(model.target.prototype as object), values) as never);
      const place = `${entity} ${row}`;
      rows.set(place, { entity, values: storedValues(model, values, rows.get(place)?.values) });
    }
  }
  return [...rows.values()];
}

const plain = (value: unknown): string =>
  value instanceof Map
    ? [...(value as Map<number, unknown>)].sort(([a], [b]) => a - b).join(';')
    : String(value);

const text = (values: object): string =>
  Object.entries(values)
    .filter(([, value]) => value !== undefined && !(value instanceof Map && value.size === 0))
    .map(([name, value]) => `${name}=${value instanceof Date ? value.getTime() : plain(value)}`)
    .sort()
    .join(' ');

/** Asks in every way, and holds the answers to each other and to the rows that are meant. */
async function checkAnswers(random: Random, query: Query, meant: readonly object[]): Promise<object[]> {
  last = String(query.explain());
  const all = await query.all();
  expect(all.map(text).sort()).toEqual(meant.map(text).sort());
  const texts = all.map(text);
  expect(await query.count()).toBe(meant.length);
  expect(await query.exists()).toBe(meant.length > 0);
  expect((await query.reverse().all()).map(text)).toEqual([...texts].reverse());
  const limit = random.below(meant.length + 2);
  expect((await query.limit(limit).all()).map(text)).toEqual(texts.slice(0, limit));
  const streamed: object[] = [];
  for await (const item of query) streamed.push(item);
  expect(streamed.map(text)).toEqual(texts);
  tally.queries += 6;
  await checkPages(random, query, texts);
  return all;
}

async function checkPages(random: Random, query: Query, texts: readonly string[]): Promise<void> {
  const size = 1 + random.below(texts.length + 1);
  const forward: string[] = [];
  tally.queries++;
  let page = await query.page({ size });
  forward.push(...page.items.map(text));
  while (page.cursor !== undefined) {
    tally.queries++;
    page = await query.page({ size, cursor: page.cursor });
    expect(page.items.length).toBeGreaterThan(0);
    forward.push(...page.items.map(text));
  }
  expect(forward).toEqual(texts);
  const backward = page.items.map(text);
  while (page.backCursor !== undefined) {
    tally.queries++;
    page = await query.page({ size, cursor: page.backCursor, back: true });
    backward.unshift(...page.items.map(text));
  }
  expect(backward).toEqual(texts);
}

function isMeant(key: ReadonlyMap<string, Asked>, values: Values): boolean {
  return [...key].every(([name, asked]) => asked.meets(values[name]));
}

async function askEntity(
  random: Random,
  db: Database,
  model: ModelEntity,
  rows: readonly Values[],
): Promise<void> {
  const key = drawKey(random, model.parts);
  const conditions = Array.from({ length: random.below(3) }, () => drawCondition(random, model.columns));
  const repository = db.repository(model.target as unknown as KeyedClass);
  let query = repository.find(inputOf(key) as never, { fullScan: true });
  for (const { name, input } of conditions) query = query.where({ [name]: input } as never);
  const meant = rows
    .filter((values) => isMeant(key, values) && conditions.every(({ name, meets }) => meets(values[name])))
    .map((values) => cutValues(model, key, values));
  const found = await checkAnswers(random, query as unknown as Query, meant);
  if (model.whole && query.explain().order !== 'none') {
    const inOrder = [...meant].sort((a, b) => compareKeys(model.parts, a, b));
    expect(found.map(text)).toEqual(inOrder.map(text));
  }
  const names = random
    .some(model.columns.map(({ name }) => name))
    .concat('s', model.window !== undefined && random.chance(0.5) ? ['points'] : []);
  const kept = new Set([...names, ...model.parts.map(({ name }) => name)]);
  const selected = await (query.select as (...names: string[]) => typeof query)(...names).all();
  expect(selected.map(text)).toEqual(
    found.map((one) => text(Object.fromEntries(Object.entries(one).filter(([name]) => kept.has(name))))),
  );
  const by = random.pick(model.columns);
  const sorted = await query
    .orderBy(by.name as never, 'desc')
    .limit(5)
    .all();
  const best = meant
    .map((values) => values[by.name])
    .filter((value) => value !== undefined)
    .sort((a, b) => -by.compare(a as never, b as never));
  tally.queries += 2;
  const answered = (sorted as unknown as Values[]).map((values) => values[by.name]);
  expect(answered.filter((value) => value !== undefined && value !== null).map(plain)).toEqual(
    best.slice(0, 5).map(plain),
  );
  for (const values of rows.slice(0, 2)) {
    const item = await repository.get(values as never);
    expect(item && text(item)).toBe(text(values));
    expect(await repository.exists(values as never)).toBe(true);
  }
}

async function askCollection(
  random: Random,
  db: Database,
  entities: readonly ModelEntity[],
  rows: readonly ModelRow[],
): Promise<void> {
  const [lead] = entities[0]!.parts;
  const key = drawKey(random, [lead!]);
  const classes = entities.map(({ target }) => target as unknown as KeyedClass);
  let query = db.collection(classes as never, inputOf(key) as never, {
    fullScan: true,
  }) as unknown as ReturnType<typeof db.collection<readonly [KeyedClass], never>>;
  const asked = random.chance(0.4) ? random.below(entities.length) : undefined;
  const condition = asked === undefined ? undefined : drawCondition(random, entities[asked]!.columns);
  if (condition !== undefined) {
    query = query.where(classes[asked!]!, { [condition.name]: condition.input } as never);
  }
  const meant = rows.filter(
    ({ entity, values }) =>
      isMeant(key, values) && (entity !== asked || condition!.meets(values[condition!.name])),
  );
  const found = await checkAnswers(
    random,
    query as unknown as Query,
    meant.map(({ values }) => values),
  );
  for (const [entity, model] of entities.entries()) {
    const own = found.filter((item) => item instanceof model.target);
    const wanted = meant.filter((row) => row.entity === entity).map(({ values }) => values);
    expect(own.map(text).sort()).toEqual(wanted.map(text).sort());
    if (!model.whole || query.explain().order === 'none') continue;
    wanted.sort((a, b) => compareKeys(model.parts, a, b));
    expect(own.map(text)).toEqual(wanted.map(text));
  }
}

/**
 * Stores random rows of the entities in a database that has none of them, and asks so many questions, each in every way.
 * @param name what is to be repeated when an answer is wrong
 */
export async function askQuestions(
  name: string,
  random: Random,
  db: Database,
  entities: readonly ModelEntity[],
  questions: number,
): Promise<void> {
  try {
    const rows = await fill(random, db, entities);
    for (let i = 0; i < questions; i++) {
      tally.questions++;
      if (entities.length > 1 && random.chance(0.5)) await askCollection(random, db, entities, rows);
      else {
        const entity = random.below(entities.length);
        const own = rows.filter((row) => row.entity === entity).map(({ values }) => values);
        await askEntity(random, db, entities[entity]!, own);
      }
    }
  } catch (error) {
    const keys = entities.map(({ target }) => db.schema.entity(target).key.signature).join(' | ');
    throw new Error(`${name}, keys ${keys}: ${(error as Error).message}\n${last}`, { cause: error });
  }
}

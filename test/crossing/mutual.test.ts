/**
 * Mutual links crossed with other features: random declarations and random programs of writes of either side, on an engine with
 * steps over rows and on one without, held against a Map of links.
 */

import { expect, it } from 'vitest';
import { type ColumnBuilder, defineEntity, defineTable, Reference } from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import type { Database } from '../../src/database.js';
import { RowanError } from '../../src/errors.js';
import { desc, part, recordType, salt, uint8 } from '../../src/key/index.js';
import type { KeyedClass } from '../../src/schema/entity-types.js';
import { record } from '../proof/evidence.js';
import { mayGoOn, scaled } from '../proof/scale.js';
import { bothEngines } from '../proof/stepless.js';
import { Random } from '../query/model/random.js';
import type { Values } from './declare.js';

const PROGRAMS = scaled(2, 20, 3000);
const FIRST = Number(process.env['ROWAN_SEED'] ?? 1);
const STEPS = 12;

const PEOPLE = ['!', 'ann', 'b\0', 'é'];
const FEATURES = [
  'salt',
  'desc',
  'kind',
  'recordType',
  'softDelete',
  'version',
  'stamps',
  'maps',
  'copies',
  'copiedEntries',
  'rules',
  'index',
  'list',
  'eventual',
  'summary',
  'embedded',
] as const;
type Has = (feature: (typeof FEATURES)[number]) => boolean;

const Person = defineEntity({
  name: 'Person',
  table: defineTable({ name: 'people', families: { d: {} } }),
  key: [part('id')],
  columns: (c) => ({ name: c.column('d:n', text).optional() }),
}) as unknown as KeyedClass;

const MAP = { key: text, value: int32 };
const ENTRIES = { key: text, value: text };

function declareLink(has: Has): KeyedClass {
  const codec = has('desc') ? desc(text) : text;
  const link = defineEntity({
    name: 'Link',
    table: defineTable({ name: 'links', families: { d: {}, e: {}, n: {} } }),
    mutual: ['one', 'two'],
    ...(has('recordType') ? { recordType: 1 } : {}),
    key: [
      ...(has('salt') ? [salt(3, ['one'])] : []),
      ...(has('recordType') ? [recordType()] : []),
      part('one', codec),
      ...(has('kind') ? [part('kind', uint8)] : []),
      part('two', codec),
    ] as unknown as readonly [],
    columns: (c: ColumnBuilder<`${'d' | 'e' | 'n'}:${string}`>) => ({
      a: c.column('d:a', text).optional(),
      q: c.column('e:q', int32).optional(),
      ...(has('softDelete') ? { gone: c.deletedAt('d:x') } : {}),
      ...(has('version') ? { version: c.version('d:v') } : {}),
      ...(has('stamps') ? { created: c.createdAt('d:c'), updated: c.updatedAt('e:u') } : {}),
      ...(has('maps') ? { map: c.columns('n:m.', MAP) } : {}),
      ...(has('copiedEntries') ? { names: c.columns('n:k.', ENTRIES) } : {}),
      ...(has('copies') ? { name: c.column('d:k', text).optional() } : {}),
      ...(has('list') ? { tags: c.json<string[]>('d:t').optional() } : {}),
      ...(has('embedded')
        ? { inner: c.embedded('e', (i) => ({ x: i.column('x', text).optional() }), { prefix: 'i.' }) }
        : {}),
    }),
    indexes: {
      ...(has('index') ? { byTwo: { on: [part('two'), part('a')], include: ['q'] } } : {}),
      ...(has('list') ? { byTag: { on: [part('tags')] } } : {}),
      ...(has('eventual') ? { byA: { on: [part('a')], consistency: 'eventual' as const } } : {}),
    },
    ...(has('summary')
      ? { summaries: { of: { by: ['one'], figures: { n: 'count', sum: { sum: 'q' } } } } }
      : {}),
    denormalized: [
      ...(has('copies') ? [{ from: () => Person, via: { id: 'two' }, fields: { name: 'name' } }] : []),
      ...(has('copiedEntries')
        ? [{ from: () => Person, via: { id: 'names' }, fields: { names: 'name' } }]
        : []),
    ],
  } as never) as unknown as KeyedClass;
  if (has('rules')) {
    for (const side of ['one', 'two']) {
      const rule = Reference((() => Person) as never, { id: side } as never, { onDelete: 'cascade' });
      (rule as unknown as PropertyDecorator)(link.prototype as object, `of${side}`);
    }
  }
  return link;
}

interface Write {
  readonly kind: 'put' | 'replace' | 'update' | 'delete' | 'restore';
  readonly key: Values;
  readonly patch: Values;
}

/** Links by their sides, whichever is named first, and the names of people. */
class Links {
  readonly people = new Map<string, string>();
  links = new Map<string, Values>();

  constructor(private readonly has: Has) {}

  of(key: Values): Values | undefined {
    return this.links.get(sides(key));
  }

  /** @returns `ok`, or the code of the error. */
  run({ kind, key, patch }: Write): string {
    const { has } = this;
    const was = this.of(key);
    const isThere = was !== undefined && was['gone'] !== true;
    const version = has('version') ? { version: Number(was?.['version'] ?? 0) + 1 } : {};
    if (kind === 'restore') {
      if (was === undefined) return 'ERR_NOT_FOUND';
      if (!isThere) this.links.set(sides(key), { ...was, ...version, gone: undefined });
    } else if (kind === 'delete') {
      if (!has('softDelete')) this.links.delete(sides(key));
      else if (isThere) this.links.set(sides(key), { ...was, ...version, gone: true });
    } else if (kind === 'update' && !isThere) return 'ERR_NOT_FOUND';
    else if (has('rules') && was === undefined && !this.areKnown(key)) return 'ERR_REFERENCE';
    else {
      const before = kind === 'replace' || was === undefined ? key : was;
      this.links.set(sides(key), { ...merged(before, patch), ...version });
      this.follow();
    }
    return 'ok';
  }

  private areKnown({ one, two }: Values): boolean {
    return this.people.has(one as string) && this.people.has(two as string);
  }

  /** Entries exist as long as their person. */
  follow(): void {
    for (const [link, values] of this.links) {
      const names = [...((values['names'] as Map<string, string> | undefined) ?? [])].flatMap(([id]) => {
        const name = this.people.get(id);
        return name === undefined ? [] : [[id, name] as const];
      });
      this.links.set(link, { ...values, names: new Map(names) });
    }
  }

  deletePerson(id: string): void {
    this.people.delete(id);
    for (const [link, { one, two }] of this.links)
      if (this.has('rules') && (one === id || two === id)) this.links.delete(link);
    this.follow();
  }

  /** The rows of both sides. */
  rows(withDeleted = false): Values[] {
    return [...this.links.values()]
      .filter(({ gone }) => withDeleted || gone !== true)
      .flatMap((link) => (link['one'] === link['two'] ? [link] : [link, mirrored(link)]))
      .map((row) => (this.has('copies') ? { ...row, name: this.people.get(row['two'] as string) } : row));
  }
}

const sides = ({ one, two, kind }: Values): string => JSON.stringify([[one, two].sort(), kind]);
const mirrored = (row: Values): Values => ({ ...row, one: row['two'], two: row['one'] });

function merged(before: Values, patch: Values): Values {
  const after: Values = { ...before };
  for (const [name, value] of Object.entries(patch)) {
    if (!(value instanceof Map)) after[name] = value ?? undefined;
    else {
      const entries = new Map(before[name] as Map<string, unknown> | undefined);
      for (const [key, entry] of value) {
        if (entry === null) entries.delete(key);
        else entries.set(key, entry);
      }
      after[name] = entries;
    }
  }
  return after;
}

const NAMES = ['one', 'two', 'kind', 'a', 'q', 'version', 'map', 'names', 'name', 'tags'];
const shown = (row: Values): string =>
  JSON.stringify([
    ...NAMES.map((name) => (row[name] instanceof Map ? [...row[name]].sort() : row[name])).map((value) =>
      Array.isArray(value) && value.length === 0 ? null : (value ?? null),
    ),
    (row['inner'] as Values | undefined)?.['x'] ?? null,
  ]);
const all = (rows: readonly object[]): string[] => rows.map((row) => shown(row as Values)).sort();

async function runProgram(seed: number): Promise<number> {
  const random = new Random(seed);
  const drawn = new Set(FEATURES.filter(() => random.chance(0.35)));
  // Rows that are deleted along could not be restored with their person.
  if (drawn.has('softDelete')) drawn.delete('rules');
  const has: Has = (feature) => drawn.has(feature);
  const Link = declareLink(has);
  const engine = random.pick(['steps', 'rows alone'] as const);
  const { db, close } = await bothEngines([Person, Link] as never)[engine]();
  const model = new Links(has);
  const log = [`Seed ${seed}, ${engine}: ${[...drawn].join(' ')}`];
  try {
    for (const id of PEOPLE.slice(1)) await namePerson(db, model, id, `${id}!`);
    for (let step = 0; step < STEPS; step++) {
      await takeStep(random, db, Link, model, has, engine === 'steps', log);
      // What a call leaves after its answer is done, and there is nothing to repair.
      const repaired = await db.mutual(Link as never).repair({ settledAfter: 0 });
      expect(repaired).toMatchObject({ stale: 0, missing: 0, repaired: 0 });
      await check(random, db, Link, model, has);
    }
  } catch (error) {
    throw new Error(`${log.join('\n')}\n${(error as Error).message}`, { cause: error });
  } finally {
    await close();
  }
  return log.length - 1;
}

async function namePerson(db: Database, model: Links, id: string, name: string): Promise<void> {
  await db.repository(Person).put({ id, name } as never);
  model.people.set(id, name);
  model.follow();
}

async function takeStep(
  random: Random,
  db: Database,
  Link: KeyedClass,
  model: Links,
  has: Has,
  steps: boolean,
  log: string[],
): Promise<void> {
  const id = random.pick(PEOPLE);
  const sort = random.below(8);
  if (sort === 0) {
    log.push(`delete person ${id}`);
    await db.repository(Person).delete({ id } as never);
    return model.deletePerson(id);
  }
  if (sort === 1) {
    log.push(`name person ${id}`);
    return namePerson(db, model, id, `${id}${log.length}`);
  }
  const writes = Array.from({ length: sort < 6 ? 1 : 1 + random.below(3) }, () => drawWrite(random, has));
  const before = new Map(model.links);
  const repositoryOf = (from: Pick<Database, 'repository'>) => from.repository(Link);
  const run = async (from: Pick<Database, 'repository'>): Promise<void> => {
    // A transaction is run again where another was faster.
    model.links = new Map(before);
    for (const write of writes) {
      // A deleted link is restored, and no other one.
      const link = model.of(write.key);
      if (link !== undefined && (link['gone'] === true) !== (write.kind === 'restore')) continue;
      const version = link?.['version'];
      const meant = model.run(write);
      log.push(`${write.kind} ${shown(write.key)} ${shown(write.patch)}: ${meant}`);
      expect(await perform(write, repositoryOf(from), version)).toBe(meant);
    }
  };
  if (writes.length > 1 && steps) await db.transaction((tx) => run(tx as never));
  else await run(db);
}

function drawWrite(random: Random, has: Has): Write {
  const kind = random.pick(['put', 'put', 'replace', 'update', 'update', 'delete', 'restore'] as const);
  const key = {
    one: random.pick(PEOPLE),
    two: random.pick(PEOPLE),
    ...(has('kind') ? { kind: random.below(2) } : {}),
  };
  const cleared = kind === 'update' && random.chance(0.3);
  const entries = (value: unknown) =>
    new Map(random.some(PEOPLE, 2).map((name) => [name, cleared ? null : value]));
  const patch = {
    a: random.pick(['', 'x', 'y']),
    ...(random.chance(0.5) ? { q: cleared ? null : random.below(5) - 2 } : {}),
    ...(has('maps') ? { map: entries(random.below(9)) } : {}),
    ...(has('copiedEntries') ? { names: entries('any') } : {}),
    ...(has('list') ? { tags: random.some(['s', 't'], 2) } : {}),
    ...(has('embedded') ? { inner: { x: random.pick(['', 'i']) } } : {}),
  };
  return {
    kind: kind === 'restore' && !has('softDelete') ? 'put' : kind,
    key,
    patch: kind === 'delete' || kind === 'restore' ? {} : patch,
  };
}

async function perform(
  { kind, key, patch }: Write,
  links: ReturnType<Database['repository']>,
  version: unknown,
): Promise<string> {
  const entity = { ...key, ...patch, ...(version === undefined ? {} : { version }) } as never;
  try {
    if (kind === 'put') await links.put(entity);
    else if (kind === 'replace') await links.replace(entity);
    else if (kind === 'update') await links.update(key as never, patch as never);
    else if (kind === 'delete') await links.delete(key as never);
    else await links.restore(key as never);
    return 'ok';
  } catch (error) {
    if (error instanceof RowanError) return error.code;
    throw error;
  }
}

async function check(random: Random, db: Database, Link: KeyedClass, model: Links, has: Has): Promise<void> {
  const links = db.repository(Link);
  const rows = model.rows();
  expect(all(await links.find({} as never, { fullScan: true }).all())).toEqual(all(rows));
  const one = random.pick(PEOPLE);
  const by = (index: string, key: Values) =>
    links
      .by(index as never)
      .find(key as never)
      .all();
  if (has('softDelete')) {
    const found = await links.find({} as never, { fullScan: true, withDeleted: true } as never).all();
    expect(all(found)).toEqual(all(model.rows(true)));
  }
  if (has('index')) {
    const entered = rows.filter(({ two, a }) => two === one && a != null);
    expect(all(await by('byTwo', { two: one }))).toEqual(all(entered));
  }
  if (has('list'))
    expect(all(await by('byTag', { tags: 's' }))).toEqual(
      all(rows.filter(({ tags }) => (tags as string[] | undefined)?.includes('s'))),
    );
  if (has('eventual')) {
    await db.index(Link, 'byA' as never).drain();
    expect(all(await by('byA', { a: 'x' }))).toEqual(all(rows.filter(({ a }) => a === 'x')));
  }
  if (has('summary')) {
    const found = (await db.summary(Link, 'of' as never).get({ one } as never)) as Values | undefined;
    const own = rows.filter((row) => row['one'] === one);
    const sum = own.reduce((total, { q }) => total + Number(q ?? 0), 0);
    expect([Number(found?.['n'] ?? 0), Number(found?.['sum'] ?? 0)]).toEqual([own.length, sum]);
  }
  if (has('stamps')) {
    const found = (await links.find({ one } as never, { fullScan: true }).all()) as Values[];
    for (const row of found) {
      const mirror = (await links.get({
        one: row['two'],
        two: row['one'],
        kind: row['kind'],
      } as never)) as Values;
      expect([mirror['created'], mirror['updated']]).toEqual([row['created'], row['updated']]);
    }
  }
}

it('random programs of writes of either side keep both as a Map has them, with what depends on them', async () => {
  let programs = 0;
  let steps = 0;
  for (let seed = FIRST; seed < FIRST + PROGRAMS && (programs === 0 || mayGoOn()); seed++) {
    steps += await runProgram(seed);
    programs++;
  }
  record('mutual', { programs, writes: steps });
});

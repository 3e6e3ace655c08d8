/** What must hold when nobody writes: rows, and all that is made of them. */

import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Database } from '../../../src/database.js';
import { BUCKETS, bucketOf } from '../../../src/features/changes/log-rows.js';
import { canonicalTableName } from '../../../src/table/index.js';
import { PATIENCE } from '../patience.js';
import { COLORS, type Declared, MAILS, type Thing } from './declared.js';

const END = 'end';

/** The rows that are there, deleted ones that are left among them. */
export async function storedThings(db: Database, { thing }: Declared): Promise<Thing[]> {
  const soft = db.schema.entity(thing).deletedProperty !== undefined;
  const query = db
    .repository(thing)
    .find({} as never, { fullScan: true, ...(soft ? { withDeleted: true } : {}) } as never);
  const all = (await query.all()) as unknown as Thing[];
  return all.sort((one, other) => (one.id < other.id ? -1 : 1));
}

/** Does all that programs which have ended have left. */
export async function finish(db: Database, { features, rule, thing }: Declared): Promise<void> {
  const { indexes, summaries } = db.schema.entity(thing);
  if (features.has('copies')) await db.denormalized(thing).drain();
  // Rules alone have nothing to be waited for: their outbox began when the database was opened.
  else if (rule !== undefined && rule !== 'restrict')
    while ((await db.references(thing).check()).dangling > 0) await delay(PATIENCE.interval);
  for (const { name } of summaries) await db.summary(thing, name as never).drain();
  for (const { name } of indexes) {
    const index = db.index(thing, name as never);
    if (index.eventual) await index.drain();
  }
}

const idsOf = (things: readonly { id: string }[]): string =>
  things
    .map(({ id }) => id)
    .sort()
    .join(' ');

/** Every answer is what the rows say. */
export async function expectAnswers(db: Database, declared: Declared): Promise<readonly Thing[]> {
  const { features, thing } = declared;
  const stored = await storedThings(db, declared);
  const living = stored.filter(({ deleted }) => deleted == null);
  const by = async (name: string, key: object): Promise<string> => {
    const found = await db
      .repository(thing)
      .by(name as never)
      .find(key as never)
      .all();
    return idsOf(found as unknown as Thing[]);
  };
  const having = (meets: (one: Thing) => boolean): string => idsOf(living.filter(meets));
  for (const size of [0, 1, 2, 3]) {
    if (features.has('strong'))
      expect(await by('bySize', { size }), `bySize ${size}`).toBe(having((one) => one.size === size));
    if (features.has('partial'))
      expect(await by('redBySize', { size }), `redBySize ${size}`).toBe(
        having((one) => one.size === size && one.color === 'red'),
      );
  }
  if (features.has('unique')) {
    const mails = living.flatMap(({ mail }) => mail ?? []);
    expect(new Set(mails).size, mails.join(' ')).toBe(mails.length);
    for (const mail of MAILS)
      expect(await by('byMail', { mail }), `byMail ${mail}`).toBe(having((one) => one.mail === mail));
  }
  for (const color of COLORS) {
    const own = living.filter((one) => one.color === color);
    if (features.has('eventual')) expect(await by('byColor', { color }), `byColor ${color}`).toBe(idsOf(own));
    if (!features.has('summary')) continue;
    const sizes = own.flatMap(({ size }) => size ?? []);
    const group = (await db.summary(thing, 'byColor' as never).get({ color } as never)) as Figures | null;
    expect(
      {
        color,
        rows: Number(group?.rows ?? 0),
        total: Number(group?.total ?? 0),
        greatest: group?.greatest ?? null,
      },
      `figures of ${color}`,
    ).toEqual({
      color,
      rows: own.length,
      total: sizes.reduce((sum, one) => sum + one, 0),
      greatest: features.has('greatest') && sizes.length > 0 ? Math.max(...sizes) : null,
    });
  }
  const owners = (await db
    .repository(declared.owner)
    .find({} as never, { fullScan: true } as never)
    .all()) as unknown as { id: string; name: string }[];
  const names = new Map(owners.map(({ id, name }) => [id, name]));
  for (const { id, owner, ownerName } of living) {
    if (features.has('copies'))
      expect([id, ownerName ?? undefined]).toEqual([id, owner == null ? undefined : names.get(owner)]);
    // A delete that is refused looks before it, and another program may name the row meanwhile.
    if (declared.rule !== undefined && declared.rule !== 'restrict' && owner != null)
      expect([id, [...names.keys()]]).toEqual([id, expect.arrayContaining([owner])]);
  }
  if (features.has('copies') && features.has('summary'))
    for (const name of new Set(living.flatMap(({ ownerName }) => ownerName ?? []))) {
      const group = (await db
        .summary(thing, 'byName' as never)
        .get({ ownerName: name } as never)) as Figures | null;
      expect(Number(group?.rows ?? 0), `rows of ${name}`).toBe(
        living.filter((one) => one.ownerName === name).length,
      );
    }
  return stored;
}

interface Figures {
  readonly rows: number;
  readonly total: unknown;
  readonly greatest?: number | null;
}

/** What the jobs say that hold rows and what is made of them against each other. `exact`: after repairs. */
export async function expectChecks(db: Database, declared: Declared, exact: boolean): Promise<void> {
  const { features, rule, thing } = declared;
  for (const { name } of db.schema.entity(thing).indexes) {
    const index = db.index(thing, name as never);
    if (exact) await index.repair({ settledAfter: 0 });
    const report = await index.verify();
    expect({ name, ...report }).toMatchObject({
      name,
      missing: 0,
      stale: 0,
      extra: 0,
      ...(exact ? { unverified: 0, pending: 0 } : {}),
    });
  }
  for (const { name } of db.schema.entity(thing).summaries)
    expect({ name, ...(await db.summary(thing, name as never).check()) }).toMatchObject({
      name,
      stale: 0,
      missing: 0,
      extra: 0,
      entries: 0,
    });
  if (features.has('copies'))
    expect(await db.denormalized(thing).check()).toMatchObject({
      stale: 0,
      missing: 0,
      extra: 0,
      pending: 0,
    });
  if (rule !== undefined && rule !== 'restrict')
    expect(await db.references(thing).check()).toMatchObject({ dangling: 0 });
}

/** Rows as a change feed has told them. */
export class Told {
  private readonly things = new Map<string, Thing>();
  private position = 'start';
  private ends = 0;

  /** Reads what was written before. */
  async follow(db: Database, { thing }: Declared, table: string): Promise<readonly Thing[]> {
    const tag = `end${this.ends++}`;
    const repository = db.repository(thing);
    const ends = endIds(db, thing, table);
    await Promise.all(ends.map((id) => repository.upsert({ id, tag } as never, { tag } as never)));
    const isOver = () => ends.every((id) => this.things.get(id)?.tag === tag);
    await using feed = db.watch(thing as never, {} as never, { from: this.position, settledAfter: 0 });
    for await (const { changes } of feed) {
      for (const { key, before, after, operation } of changes as unknown as Change[]) {
        const known = this.things.get(key.id);
        expect({ ...before }, `before of ${key.id}`).toEqual({ ...known });
        expect(operation).toBe(before === undefined ? 'insert' : after === undefined ? 'delete' : 'update');
        if (after === undefined) this.things.delete(key.id);
        else this.things.set(key.id, after);
      }
      if (isOver()) break;
    }
    this.position = feed.position;
    return [...this.things.values()].sort((one, other) => (one.id < other.id ? -1 : 1));
  }
}

interface Change {
  readonly key: { readonly id: string };
  readonly before?: Thing;
  readonly after?: Thing;
  readonly operation: string;
}

/** A key in each bucket of the log: their rows, written last, are told last. */
function endIds(db: Database, thing: Declared['thing'], table: string): string[] {
  const { mapper } = db.repository(thing).schema;
  const found = new Map<number, string>();
  for (let i = 0; found.size < BUCKETS; i++) {
    const id = `${END}${i}`;
    const bucket = bucketOf(canonicalTableName(table), mapper.rowOf({ id } as never));
    if (!found.has(bucket)) found.set(bucket, id);
  }
  return [...found.values()];
}

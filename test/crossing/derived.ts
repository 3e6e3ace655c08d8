/** What is made of rows beside them: indexes of some rows and of lists, summaries, the change feed. */

import { expect } from 'vitest';
import type { Database } from '../../src/database.js';
import type { KeyedClass } from '../../src/schema/entity-types.js';
import { type Feature, upgraded, type Values } from './declare.js';
import { keyText, type Row } from './model.js';

interface Figures {
  rows: number;
  total: number;
  least: number | null;
  greatest: number | null;
}

export class Derived {
  /** Rows as the change feed has told them, by their keys. */
  private readonly told = new Map<string, Values>();
  private position = 'start';

  constructor(
    private readonly features: ReadonlySet<Feature>,
    private readonly shown: (entity: object) => string,
  ) {}

  /** As the feed tells it: the newest version of each column. */
  private image({ past: _, ...values }: Values): string {
    return this.shown(values);
  }

  /** @param all With rows that were deleted and left. */
  async check(db: Database, main: KeyedClass, rows: readonly Row[], all: readonly Row[]): Promise<void> {
    const { features } = this;
    await this.found(db, main, rows);
    if (features.has('summary')) await this.figures(db, main, rows);
    if (features.has('changes')) await this.feed(db, main, all);
  }

  /** What the jobs say that hold rows and what is made of them against each other. */
  async verify(db: Database, main: KeyedClass): Promise<void> {
    const { features } = this;
    for (const { name } of db.schema.entity(main).indexes) {
      const report = await db.index(main, name as never).verify();
      expect({ name, ...report }).toMatchObject({ name, missing: 0, stale: 0, extra: 0 });
    }
    for (const { name } of db.schema.entity(main).summaries) {
      expect(await db.summary(main, name as never).check()).toMatchObject({ stale: 0, missing: 0, extra: 0 });
    }
    if (features.has('copies'))
      expect(await db.denormalized(main).check()).toMatchObject({
        stale: 0,
        missing: 0,
        extra: 0,
        pending: 0,
      });
    if (features.has('rules')) expect(await db.references(main).check()).toMatchObject({ dangling: 0 });
  }

  /** By indexes of lists, of some rows, and by one that is written behind the rows. */
  private async found(db: Database, main: KeyedClass, rows: readonly Row[]): Promise<void> {
    const { features } = this;
    const by = async (name: string, key: Values): Promise<string[]> => {
      const query = db
        .repository(main)
        .by(name as never)
        .find(key as never);
      const found = (await query.all()).map((one) => this.shown(one as object));
      expect(await query.count()).toBe(found.length);
      return found.sort();
    };
    const texts = (meant: (values: Values) => boolean): string[] =>
      rows
        .filter(({ values }) => meant(values))
        .map(({ key, values }) => this.shown({ ...values, ...key }))
        .sort();
    if (features.has('lists')) {
      const having = texts(({ tags }) => (tags as string[] | undefined)?.includes('s') === true);
      expect(await by('byTag', { tags: 's' })).toEqual(having);
    }
    if (features.has('partial')) {
      const open = texts(({ state, q }) => state === 'open' && q !== undefined && Number(q) >= 0);
      expect(await by('openByQ', { q: { gte: 0 } })).toEqual(open);
    }
    if (features.has('computed')) {
      for (const { values } of rows) {
        if (values['said'] === undefined) continue;
        expect(await by('bySaid', { said: values['said'] })).toEqual(
          texts(({ said }) => said === values['said']),
        );
      }
    }
    if (features.has('eventual')) {
      await db.index(main, 'byState' as never).drain();
      expect(await by('byState', { state: 'shut' })).toEqual(texts(({ state }) => state === 'shut'));
    }
  }

  private async figures(db: Database, main: KeyedClass, rows: readonly Row[]): Promise<void> {
    const summary = (name: string) => db.summary(main, name as never);
    for (const state of ['open', 'shut']) {
      const group = await summary('byState').get({ state } as never);
      const having = rows.filter(({ values }) => values['state'] === state);
      expect(group === null ? undefined : plain(group as object)).toEqual(figuresOf(having));
    }
    const x = rows.filter(({ values }) => values['a'] === 'x');
    const ofX = await summary('ofX').get({} as never);
    const sized = x.filter(({ values }) => values['q'] !== undefined).length;
    if (x.length === 0) expect(Number((ofX as Values | null)?.['rows'] ?? 0)).toBe(0);
    else expect(plain(ofX as object)).toEqual({ rows: x.length, sized });
    if (this.features.has('computed')) {
      for (const { values } of rows) {
        if (values['said'] === undefined) continue;
        const group = await summary('bySaid').get({ said: values['said'] } as never);
        const alike = rows.filter((row) => row.values['said'] === values['said']);
        expect(Number((group as Values | null)?.['rows'])).toBe(alike.length);
      }
    }
    if (!this.features.has('copies')) return;
    for (const copy of ['one', 'two', 'three']) {
      const group = await summary('byCopy').get({ copy, state: 'open' } as never);
      const named = rows.filter(({ values }) => values['copy'] === copy && values['state'] === 'open');
      expect(Number((group as Values | null)?.['rows'] ?? 0)).toBe(named.length);
    }
  }

  /** What was told makes the rows that are there, but for those that have ended by themselves. */
  private async feed(db: Database, main: KeyedClass, all: readonly Row[]): Promise<void> {
    await this.follow(db, main);
    for (const { key, values } of all) {
      expect(this.toldOf(keyText(key))).toBe(this.image({ ...values, ...key }));
    }
    if (this.features.has('ttl') || this.features.has('ownTtl')) return;
    expect([...this.told.keys()].sort()).toEqual(all.map(({ key }) => keyText(key)).sort());
  }

  /** Has what was told say what its next version says: images are read by the declarations of who reads. */
  upgrade(): void {
    for (const [key, values] of this.told) {
      const { size } = values;
      if (size !== undefined) this.told.set(key, { ...values, size: upgraded(size as string) });
    }
  }

  private toldOf(key: string): string | undefined {
    const values = this.told.get(key);
    return values && this.image(values);
  }

  /** Reads what was committed before. */
  async follow(db: Database, main: KeyedClass): Promise<void> {
    if (!this.features.has('changes')) return;
    await using now = db.watch(main as never);
    const end = numberOf(now.position);
    await using feed = db.watch(main as never, {} as never, { from: this.position });
    const commits = feed[Symbol.asyncIterator]();
    while (numberOf(feed.position) < end) {
      const next = commits.next().then(({ value }) => value as Commit);
      const commit = await Promise.race([next, passed(() => numberOf(feed.position) >= end)]);
      if (commit === undefined) break;
      for (const { key, before, after } of commit.changes) {
        const name = keyText(key);
        if (before !== undefined) expect(this.toldOf(name)).toBe(this.image(before as Values));
        if (after === undefined) this.told.delete(name);
        else this.told.set(name, after as Values);
      }
    }
    this.position = feed.position;
  }
}

interface Commit {
  readonly changes: readonly { readonly key: Values; readonly before?: object; readonly after?: object }[];
}

export function numberOf(position: string): number {
  return Number.parseInt(Buffer.from(position, 'base64url').toString().split('.')[1]!, 36);
}

export async function passed(test: () => boolean): Promise<undefined> {
  while (!test()) await new Promise((resolve) => setImmediate(resolve));
}

function figuresOf(rows: readonly Row[]): Figures | undefined {
  if (rows.length === 0) return undefined;
  const sizes = rows.flatMap(({ values }) => (values['q'] === undefined ? [] : [Number(values['q'])]));
  return {
    rows: rows.length,
    total: sizes.reduce((sum, one) => sum + one, 0),
    least: sizes.length === 0 ? null : Math.min(...sizes),
    greatest: sizes.length === 0 ? null : Math.max(...sizes),
  };
}

/** The figures of a group, without what the group is named by. */
function plain(group: object): object {
  const { state: _, ...figures } = group as Values;
  return Object.fromEntries(
    Object.entries(figures).map(([name, value]) => [name, typeof value === 'bigint' ? Number(value) : value]),
  );
}

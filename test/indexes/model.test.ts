/**
 * Random entities with random indexes, strong and eventual, under writes of every kind, flushes, compactions, reopenings, and indexes that are
 * added and left out: every by() and where() answers what a full scan filtered in memory does, and verify finds nothing.
 */

import { expect, test } from 'vitest';
import { defineEntity, defineTable } from '../../decorators/index.js';
import { date, int32, text } from '../../src/codec/index.js';
import { type Database, open } from '../../src/database.js';
import {
  bucket,
  desc,
  hash,
  type KeyElement,
  part,
  reverse,
  reverseTimestamp,
  salt,
  timeBucket,
} from '../../src/key/index.js';
import type { Repository } from '../../src/repository/index.js';
import type { KeyedClass } from '../../src/schema/entity-types.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { scaled } from '../proof/scale.js';
import { Random } from '../query/model/random.js';
import { onServer, openTestStore } from '../query/test-database.js';

const ROUNDS = onServer ? scaled(1, 8, 40) : scaled(1, 35, 400);
/** Rounds of one test: a machine fifty times as slow has the time for them, too. */
const TOGETHER = onServer ? 1 : 4;
const STEPS = onServer ? scaled(20, 60, 200) : scaled(40, 200, 300);

const DAY = 86_400_000;
const VALUES: Readonly<Record<string, readonly unknown[]>> = {
  a: ['k1', 'k2', 'k3'],
  b: [1, 2, 3],
  s: ['', 'x', 'xy', 'y\0', 'é'],
  q: [-5, 0, 3, 10],
  d: [0, 1, DAY, DAY + 1, 5 * DAY].map((ms) => new Date(ms)),
  tags: [[], ['x'], ['x', 'y'], ['y', 'z', 'y'], ['zz']],
  members: [
    new Map([['u1', 'm']]),
    new Map([
      ['u1', 'n'],
      ['u2', 'm'],
    ]),
    new Map([['u3', 'm']]),
  ],
};
const COLUMNS = ['s', 'q', 'd', 'tags', 'members'] as const;
const SEVERAL: Readonly<Record<string, readonly unknown[]>> = {
  tags: ['x', 'y', 'z', 'zz', 'none'],
  members: ['u1', 'u2', 'u3', 'm', 'n'],
};

interface DrawnIndex {
  readonly on: readonly KeyElement[];
  readonly unique?: boolean;
  readonly include?: readonly string[];
  readonly where?: Readonly<Record<string, unknown>>;
  readonly each?: 'keys' | 'values';
  readonly consistency?: 'eventual';
}

function drawElement(random: Random, name: string): KeyElement {
  const turn = random.chance(0.4);
  switch (name) {
    case 'q':
    case 'b':
      return part(name, turn ? desc(int32) : int32);
    case 'd':
      return random.chance(0.2) ? timeBucket('d', '1d') : turn ? reverseTimestamp('d') : part('d', date);
    case 's':
      return random.chance(0.2)
        ? hash('s', { bytes: 1 })
        : turn
          ? reverse('s')
          : part('s', random.chance(0.5) ? desc(text) : text);
    default:
      return part(name, turn ? desc(text) : text);
  }
}

function drawIndex(random: Random): DrawnIndex {
  const names = [...new Set(random.some(['s', 'q', 'd', 'a', 'b', 's', 'q', 'tags', 'members'], 2))];
  const parts = names.filter(
    (name, i) => !(name in SEVERAL) || !names.slice(0, i).some((other) => other in SEVERAL),
  );
  if (parts.length === 0) parts.push(random.pick(['s', 'q', 'd']));
  const on = parts.map((name) => drawElement(random, name));
  const lossy = on.some(({ kind }) => kind === 'hash' || kind === 'timeBucket');
  if (random.chance(0.2) && parts[0] === 'q') on.unshift(bucket('q', 2));
  if (random.chance(0.3)) on.unshift(salt(3));
  const several = parts.some((name) => name in SEVERAL);
  return {
    on,
    ...(!several && random.chance(0.25)
      ? { consistency: 'eventual' as const }
      : !lossy && random.chance(0.25)
        ? { unique: true }
        : {}),
    ...(random.chance(0.5) ? { include: random.some(['s', 'q', 'd'], 2) } : {}),
    ...(random.chance(0.3)
      ? { where: random.pick([{ q: { gte: 0 } }, { s: 'x' }, { d: null }, { q: 3, s: { ne: 'x' } }]) }
      : {}),
    ...(parts.includes('members') ? { each: random.pick(['keys', 'values'] as const) } : {}),
  };
}

type Drawn = Readonly<Record<string, DrawnIndex>>;

const table = defineTable({ name: 'model', families: { d: {}, m: { versions: 2 } } });

function entityOf(key: readonly KeyElement[], indexes: Drawn) {
  return defineEntity({
    name: 'Model',
    table,
    key: key as never,
    columns: (c) => ({
      s: c.column('d:s', text).optional(),
      q: c.column('m:q', int32).optional(),
      d: c.column('d:d', date).optional(),
      tags: c.json<string[]>('d:t').optional(),
      members: c.columns('m:x', { key: text, value: text }),
      v: c.counter('d:v'),
    }),
    indexes: indexes as never,
  }) as unknown as KeyedClass;
}

type Row = Record<string, unknown>;
type Repo = Repository<KeyedClass>;

class Round {
  db!: Database;
  repo!: Repo;
  indexes: Drawn = {};
  private readonly key: readonly KeyElement[];
  private readonly disk = new MemoryFileSystem();
  private readonly store = openTestStore();

  constructor(private readonly random: Random) {
    const keys = [part('a'), part('b', int32)];
    this.key = random.pick([
      keys,
      [salt(4), ...keys],
      [hash('a', { keep: true, bytes: 2 }), part('b', desc(int32))],
    ]);
  }

  async start(): Promise<void> {
    this.indexes = this.drawAll();
    await this.open();
  }

  private drawAll(): Drawn {
    const count = 1 + this.random.below(3);
    return Object.fromEntries(Array.from({ length: count }, (_, i) => [`i${i}`, drawIndex(this.random)]));
  }

  private async open(): Promise<void> {
    const target = entityOf(this.key, this.indexes);
    this.db = onServer
      ? await this.store.open(target)
      : await open({
          path: '/model',
          entities: [target],
          fileSystem: this.disk,
          background: 'inline',
          automatic: false,
          flushOnClose: true,
        });
    this.repo = this.db.repository(target);
    for (const name of Object.keys(this.indexes)) {
      const index = this.db.index(target as never, name as never);
      if (index.state === 'active') continue;
      await index.build({ batchRows: 3 }).catch((error: { code?: string }) => {
        // Rows that were written without the index may have values in common.
        if (error.code !== 'ERR_CONFLICT') throw error;
      });
    }
  }

  async end(): Promise<void> {
    await this.db.close();
    await this.store.dispose();
  }

  async reopen(change: boolean): Promise<void> {
    await this.db.close();
    if (change) {
      const kept = Object.entries(this.indexes).filter(() => this.random.chance(0.6));
      this.indexes = { ...Object.fromEntries(kept), [`n${this.random.below(1000)}`]: drawIndex(this.random) };
    }
    await this.open();
  }

  /**
   * What is in memory goes along: a put of an old time that a delete hides would else come to light when the delete is
   * dropped, in HBase too, and nobody has written it.
   */
  async compact(): Promise<void> {
    await this.db.admin.flush('model');
    await this.db.admin.majorCompact('model');
  }

  private drawKey(): Row {
    return { a: this.random.pick(VALUES['a']!), b: this.random.pick(VALUES['b']!) };
  }

  private drawPatch(): Row {
    const patch: Row = {};
    for (const name of COLUMNS) {
      if (this.random.chance(0.5)) continue;
      patch[name] = this.random.chance(0.2) && name !== 'members' ? null : this.random.pick(VALUES[name]!);
    }
    if (patch['members'] instanceof Map) {
      patch['members'] = new Map([
        ...(patch['members'] as Map<string, string>),
        ['u2', this.random.chance(0.3) ? null : 'n'],
      ]);
    }
    return patch;
  }

  /** One write, or several at once. What is refused is refused for one of these reasons. */
  async write(): Promise<void> {
    const writes = Array.from({ length: this.random.pick([1, 1, 1, 3]) }, () => this.one());
    for (const { reason } of (await Promise.allSettled(writes)).filter((one) => one.status === 'rejected')) {
      if (String(reason).includes('a delete of a time to come')) continue;
      expect((reason as { code?: string }).code, String(reason)).toMatch(/^ERR_(CONFLICT|NOT_FOUND|QUERY)$/);
    }
  }

  private async one(): Promise<unknown> {
    const { random, repo } = this;
    const key = this.drawKey() as never;
    const patch = { s: 'x', ...this.drawPatch() } as never;
    const whole = { ...(key as Row), ...(patch as Row) } as never;
    const past = random.chance(0.15)
      ? { timestamp: 1000 + random.below(4) }
      : random.chance(0.03)
        ? { timestamp: Date.now() + 10_000 }
        : {};
    const pastDelete = random.chance(0.2) ? { timestamp: 1000 + random.below(4) } : {};
    switch (random.below(14)) {
      case 0:
      case 1:
        return repo.put(whole, past);
      case 2:
        return repo.putMany([whole, { ...this.drawKey(), ...this.drawPatch() } as never]);
      case 3:
        return repo.insert(whole);
      case 4:
        return repo.replace(whole);
      case 5:
        return repo.update(key, patch, past);
      case 6:
        return repo.upsert(whole, patch);
      case 7:
        return repo.delete(key, pastDelete);
      case 8:
        return repo.mutate(key, (row) =>
          row.set({ q: random.pick(VALUES['q']!) } as never).unset('s' as never),
        );
      case 9:
        return repo.increment(key, { v: 1n } as never);
      case 10:
        return repo.append(key, { s: 'y' } as never);
      case 11:
        return repo.check(key, { q: random.pick([0, 3]) } as never).update(patch);
      case 12:
        return repo.deleteMany([key, this.drawKey() as never]);
      default:
        return repo.batch(
          (batch) => {
            for (let i = 0; i < 4; i++) {
              const sort = random.below(4);
              const one = this.drawKey();
              if (sort === 0) batch.put({ ...one, ...this.drawPatch() } as never);
              else if (sort === 1) batch.update(one as never, { s: random.pick(VALUES['s']!) } as never);
              else if (sort === 2) batch.insert({ ...one, ...this.drawPatch() } as never);
              else batch.delete(one as never);
            }
            return batch;
          },
          { atomic: random.chance(0.5) && !onServer },
        );
    }
  }

  async check(): Promise<void> {
    const { random, repo, db } = this;
    const all = (await repo.find({} as never, { fullScan: true }).all()) as Row[];
    for (const [name, drawn] of Object.entries(this.indexes)) {
      const handle = db.index(repo.schema.target as never, name as never);
      if (handle.state !== 'active') continue;
      if (drawn.consistency === 'eventual') await this.settle(name, drawn, all);
      if (random.chance(0.3)) {
        expect(await handle.verify(), name).toMatchObject({ missing: 0, extra: 0, stale: 0, unverified: 0 });
      }
      await this.ask(name, drawn, all);
    }
    await this.askBeside();
    const name = random.pick(['s', 'q', 'd']);
    const value = random.pick(VALUES[name]!);
    const where = {
      [name]: random.chance(0.5) ? value : { gte: value },
      ...(random.chance(0.3) ? { q: 3 } : {}),
    };
    const asked = repo.find({} as never).where(where as never);
    const wanted = (await repo
      .find({} as never, { fullScan: true })
      .where(where as never)
      .all()) as Row[];
    try {
      const context = () => String(asked.explain());
      expect(keysOf((await asked.all()) as Row[]), context()).toEqual(keysOf(wanted));
      expect(keysOf((await asked.select('q' as never).all()) as Row[])).toEqual(keysOf(wanted));
      expect(await asked.count()).toBe(wanted.length);
    } catch (error) {
      if ((error as { code?: string }).code !== 'ERR_FULL_SCAN') throw error;
    }
  }

  /** A prefix of the key beside conditions: the plan that is chosen gives what the scan of the key gives, in its order. */
  private async askBeside(): Promise<void> {
    const { random, repo } = this;
    const prefix = {
      a: random.pick(VALUES['a']!),
      ...(random.chance(0.3) && { b: random.pick(VALUES['b']!) }),
    };
    const where = Object.fromEntries(
      random.some(['s', 'q', 'd'], 2).map((name) => [name, random.pick(VALUES[name]!)]),
    );
    const ask = (fullScan: boolean) => repo.find(prefix as never, { fullScan }).where(where as never);
    const wanted = (await ask(true).all()) as Row[];
    try {
      const plan = ask(false).explain();
      const found = (await ask(false).all()) as Row[];
      expect(keysOf(found), String(plan)).toEqual(keysOf(wanted));
      expect(await ask(false).count()).toBe(wanted.length);
      const key = ask(true).explain();
      if (key.kind === 'full' || key.order === 'none') return;
      expect(found.map(keyOf), String(plan)).toEqual(wanted.map(keyOf));
      const turned = (await ask(false).reverse().all()) as Row[];
      expect(turned.map(keyOf), String(plan)).toEqual(wanted.map(keyOf).reverse());
    } catch (error) {
      if ((error as { code?: string }).code !== 'ERR_FULL_SCAN') throw error;
    }
  }

  /** What an eventual index gives may be behind, but each row is one that there is, once; then it is brought up to date. */
  private async settle(name: string, drawn: DrawnIndex, all: readonly Row[]): Promise<void> {
    const { repo, db } = this;
    const asked = repo.by(name as never).find({} as never, { fullScan: true });
    const early = ((await asked.all()) as Row[]).map(keyOf);
    const index = repo.schema.indexes.find((one) => one.name === name)!;
    const meant = all.filter(
      (row) => index.parts.every((part) => (row[part] ?? null) !== null) && meets(row, drawn.where),
    );
    expect(keysOf(meant), name).toEqual(expect.arrayContaining(early));
    expect(new Set(early).size, name).toBe(early.length);
    await db.index(repo.schema.target as never, name as never).drain();
    expect(await db.index(repo.schema.target as never, name as never).verify(), name).toMatchObject({
      pending: 0,
    });
  }

  /** An equality on each leading part, then perhaps a range. */
  private async ask(name: string, drawn: DrawnIndex, all: readonly Row[]): Promise<void> {
    const { random, repo } = this;
    const index = repo.schema.indexes.find((one) => one.name === name)!;
    const conditions: Row = {};
    const tests: ((row: Row) => boolean)[] = [];
    const count = random.below(index.parts.length + 1);
    let several: ((value: unknown) => boolean) | undefined;
    for (const partName of index.parts.slice(0, count)) {
      const wanted = random.pick(SEVERAL[partName] ?? VALUES[partName]!);
      const ranged =
        random.chance(0.3) && index.layout.parts.find((one) => one.name === partName)!.recoverable;
      const passes = (value: unknown): boolean =>
        ranged ? orderOf(value, wanted) >= 0 : orderOf(value, wanted) === 0;
      conditions[partName] = ranged ? { gte: wanted } : wanted;
      if (partName === index.several) several = passes;
      else
        tests.push((row) => row[partName] !== undefined && row[partName] !== null && passes(row[partName]));
      if (ranged) break;
    }
    const valuesOf = (row: Row): unknown[] => {
      const value = row[index.several!];
      if (value instanceof Map) return [...(drawn.each === 'keys' ? value.keys() : value.values())];
      return (value as unknown[] | undefined) ?? [];
    };
    const wanted = all.filter(
      (row) =>
        index.parts.every((one) => row[one] !== undefined && row[one] !== null) &&
        meets(row, drawn.where) &&
        tests.every((one) => one(row)) &&
        (index.several === undefined || valuesOf(row).some(several ?? (() => true))),
    );
    const query = repo.by(name as never).find(conditions as never, { fullScan: true });
    const found = (await query.all()) as Row[];
    const context = `${name} ${JSON.stringify(conditions)} ${index.signature}`;
    expect(keysOf(found), context).toEqual(keysOf(wanted));
    expect(found.map(keyOf)).toEqual(((await query.reverse().all()) as Row[]).map(keyOf).reverse());
    expect(await query.count()).toBe(wanted.length);
    const [head] = found;
    expect(await query.first(), context).toEqual(head ?? null);
    const limit = random.below(4);
    expect(((await query.limit(limit).all()) as Row[]).map(keyOf)).toEqual(found.map(keyOf).slice(0, limit));
    const selected = query.select(...(random.some(['s', 'q', 'd'], 2).concat('q') as never[]));
    const some = (await selected.all()) as Row[];
    expect(await selected.first(), context).toEqual(some[0] ?? null);
    const byKey = new Map(all.map((row) => [keyOf(row), row]));
    for (const row of some) {
      for (const property of Object.keys(row)) {
        expect(row[property] ?? null, `${context} ${property}`).toEqual(
          byKey.get(keyOf(row))![property] ?? null,
        );
      }
    }
    expect(some.map(keyOf)).toEqual(found.map(keyOf));
    const paged: string[] = [];
    const size = 1 + random.below(3);
    for (let cursor: string | undefined; ; ) {
      const page = await query.page({ size, cursor });
      paged.push(...(page.items as Row[]).map(keyOf));
      cursor = page.cursor;
      if (cursor === undefined) break;
      expect(paged.length, context).toBeLessThanOrEqual(found.length);
    }
    expect(paged, context).toEqual(found.map(keyOf));
  }
}

function orderOf(a: unknown, b: unknown): number {
  if (typeof a === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b as string));
  return Number(a) - Number(b);
}

function meets(row: Row, where: DrawnIndex['where']): boolean {
  return Object.entries(where ?? {}).every(([name, asked]) => {
    const value = row[name] ?? null;
    if (asked === null) return value === null;
    if (typeof asked !== 'object') return value === asked;
    const { gte, ne } = asked as { gte?: unknown; ne?: unknown };
    if (ne !== undefined) return value !== ne;
    return value !== null && orderOf(value, gte) >= 0;
  });
}

const keyOf = (row: Row): string => `${String(row['a'])}/${String(row['b'])}`;
const keysOf = (rows: readonly Row[]): string[] => rows.map(keyOf).sort();

const parts = Array.from({ length: Math.ceil(ROUNDS / TOGETHER) }, (_, part) => {
  const first = part * TOGETHER + 1;
  return [first, Math.min(first + TOGETHER - 1, ROUNDS)] as const;
});

test.each(parts)(
  'every by() and where() equals a full scan filtered in memory, seeds %i to %i',
  async (first, last) => {
    for (let seed = first; seed <= last; seed++) await play(seed);
  },
);

async function play(seed: number): Promise<void> {
  const random = new Random(seed * 7919);
  const round = new Round(random);
  await round.start();
  try {
    for (let step = 0; step < STEPS; step++) {
      const sort = random.below(100);
      if (sort < 2) await round.db.admin.flush('model');
      else if (sort < 4) await round.db.admin.flush('model_idx');
      // On HBase a compaction ends some time later.
      else if (sort < 5 && !onServer) await round.compact();
      else if (sort < 6 && !onServer) await round.db.admin.majorCompact('model_idx');
      else if (sort < 8) await round.reopen(random.chance(0.6));
      else await round.write();
      if (random.chance(0.4)) await round.check();
    }
    await round.check();
  } catch (error) {
    (error as Error).message +=
      `\n(seed ${seed}: ${round.repo.schema.indexes.map(({ signature }) => signature).join(' ')})`;
    throw error;
  } finally {
    await round.end();
  }
}

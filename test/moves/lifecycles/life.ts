/**
 * The life of an entity: releases, with openings between; in each release every way of writing and of reading, held against a
 * plain Map. All is drawn from a seed.
 */

import { expect } from 'vitest';
import type { Database } from '../../../src/database.js';
import type { Repository } from '../../../src/repository/index.js';
import type { KeyedClass } from '../../../src/schema/entity-types.js';
import type { SettableClock } from '../../../src/testing/open-memory.js';
import { Random } from '../../query/model/random.js';
import { COLUMNS, FAMILIES, type LifeOptions, MAP, Release, type Row, TABLE } from './release.js';

const STEPS = 8;
const IDS = ['1', '2', '3', '4', '5'];
const ENTRIES = ['k', 'l', ''];
const MINUTE = 60_000;

/** Where a life is led. */
export interface LifePlace {
  open(entities: readonly KeyedClass[]): Promise<Database>;
  /** Is told when deletes may be dropped, and at the end of each release. */
  backUp?(db: Database): Promise<void>;
  /** Undefined: time passes by itself, and nothing ends within a life. */
  readonly clock: SettableClock | undefined;
  readonly hasTransactions: boolean;
  /** Whether entities that end by themselves may have summaries. */
  readonly countsWhatEnds: boolean;
}

/** What a write says: columns, entries of the Map, and how long the entity lives. */
interface Values {
  readonly columns: Record<string, string | null>;
  readonly entries: Map<string, string | null> | undefined;
  readonly life: number | undefined;
}

type Write =
  | 'put'
  | 'putMany'
  | 'replace'
  | 'update'
  | 'upsert'
  | 'mutate'
  | 'batch'
  | 'tx'
  | 'delete'
  | 'flush';

const WRITES: readonly Write[] = [
  'put',
  'putMany',
  'replace',
  'update',
  'upsert',
  'mutate',
  'batch',
  'tx',
  'delete',
  'flush',
];

type Shown = Readonly<Record<string, unknown>>;

function shown(row: Shown | null): string {
  if (row === null) return 'none';
  const columns = COLUMNS.map((name) => `${name}=${String(row[name] ?? '-')}`);
  const entries = [...((row[MAP] as ReadonlyMap<string, string> | undefined) ?? [])];
  return [`id=${String(row['id'])}`, ...columns, ...entries.map((entry) => entry.join(':')).sort()].join(' ');
}

class Life {
  readonly log: string[] = [];
  private readonly random: Random;
  private readonly rows = new Map<string, Row>();
  private readonly others = new Map<string, string>();
  private readonly release: Release;
  private thing!: KeyedClass;
  /** The other type of the table, where it is declared and not retired. */
  private other: KeyedClass | undefined;
  /** Whether the table was written with it since it was last removed. */
  private otherLived = false;
  private db!: Database;

  constructor(
    seed: number,
    private readonly place: LifePlace,
  ) {
    this.random = new Random(seed);
    this.release = new Release(this.random, this.draw());
  }

  private draw(): LifeOptions {
    const { random, place } = this;
    const mayEnd = random.chance(0.4);
    return {
      hasTypes: random.chance(0.4),
      mayEnd,
      life: random.chance(0.5) ? 30 * MINUTE : undefined,
      hasSummaries: random.chance(0.6) && (place.countsWhatEnds || !mayEnd),
      marker: random.chance(0.2) ? random.pick(FAMILIES) : undefined,
    };
  }

  async run(releases: number): Promise<void> {
    for (let release = 0; release < releases; release++) {
      this.forget();
      // Some releases say several things at once.
      const says = release === 0 ? 0 : 1 + this.random.below(2);
      for (let i = 0; i < says; i++) this.log.push(`release: ${this.release.go(this.rows)}`);
      await this.open();
      try {
        if (this.random.chance(0.7)) await this.check();
        for (let step = 0; step < STEPS; step++) await this.write();
        await this.check();
        if (this.random.chance(0.4)) await this.settle();
        await this.check();
        await this.place.backUp?.(this.db);
      } finally {
        await this.db.close();
      }
    }
  }

  private get repository(): Repository<KeyedClass> {
    return this.db.repository(this.thing);
  }

  private async open(): Promise<void> {
    const { release } = this;
    const { thing, other } = release.declare();
    this.thing = thing;
    this.other = release.other === 'lives' ? other : undefined;
    this.otherLived ||= release.other === 'lives';
    this.db = await this.place.open(other === undefined ? [thing] : [thing, other]);
    for (const name of release.indexed) await build(this.db.index(thing, `by_${name}` as never));
    for (const name of release.counted) await build(this.db.summary(thing, `sum_${name}` as never));
    if (this.other !== undefined) await build(this.db.index(this.other, 'byValue' as never));
  }

  /** Has done what releases asked for, which the next one leaves out. */
  private async settle(): Promise<void> {
    const { release, db } = this;
    this.log.push('settle');
    if (release.upgrades.length > 0) await db.schema.upgradeRows(this.thing);
    if (release.was.size > 0 && release.ends) {
      // What is moved would not end.
      await expect(db.schema.moveColumns(this.thing)).rejects.toMatchObject({ code: 'ERR_UNSUPPORTED' });
    } else {
      if (release.was.size > 0) await db.schema.moveColumns(this.thing);
      release.was.clear();
    }
    release.upgrades.splice(0);
    if (release.other !== 'retired') return;
    const step = `retire:${TABLE}/Other`;
    const { steps } = await db.schema.plan();
    expect(steps.some(({ id }) => id === step)).toBe(this.otherLived);
    if (this.otherLived) await db.schema.apply({ allow: [`data-loss:${step}`] });
    this.others.clear();
    this.otherLived = false;
    release.other = 'never was';
  }

  /** Lets time go by, and forgets what has ended. */
  private forget(): void {
    const { clock } = this.place;
    if (clock === undefined) return;
    clock.advance(7 + this.random.below(5) * MINUTE);
    for (const [id, { end }] of this.rows) if (end !== undefined && end <= clock()) this.rows.delete(id);
  }

  private values(): Values {
    const { random } = this;
    const columns: Record<string, string | null> = {};
    for (const name of COLUMNS)
      if (random.chance(0.5)) columns[name] = random.chance(0.2) ? null : random.pick(['x', 'y', 'z']);
    const entry = (): [string, string | null] => [
      random.pick(ENTRIES),
      random.chance(0.3) ? null : random.pick(['x', 'y']),
    ];
    const entries = random.chance(0.5) ? new Map([entry(), entry()]) : undefined;
    const life =
      this.release.ends && random.chance(0.4) ? random.pick([10 * MINUTE, 60 * MINUTE]) : undefined;
    return { columns, entries, life };
  }

  /** What a row is behind a write of these values; `known`: what is left alone. */
  private merged(known: Row | undefined, { columns, entries, life }: Values): Row {
    const merged: Record<string, string> = { ...known?.columns };
    for (const [name, value] of Object.entries(columns)) {
      if (value === null) delete merged[name];
      else merged[name] = value;
    }
    const map = new Map(known?.entries);
    for (const [key, value] of entries ?? []) {
      if (value === null) map.delete(key);
      else map.set(key, value);
    }
    const now = this.place.clock?.() ?? 0;
    const lives = life ?? (known === undefined ? this.release.life : undefined);
    return { columns: merged, entries: map, end: lives === undefined ? known?.end : now + lives };
  }

  private async write(): Promise<void> {
    const { random } = this;
    this.forget();
    if (this.other !== undefined && random.chance(0.2)) return this.writeOther(this.other);
    const id = random.pick(IDS);
    const values = this.values();
    const kind = random.pick(WRITES);
    const { columns, entries, life } = values;
    this.log.push(
      `${kind} ${id} ${JSON.stringify({ ...columns, ...(entries && { m: [...entries] }), life })}`,
    );
    await this.perform(kind, id, values);
  }

  private async writeOther(target: KeyedClass): Promise<void> {
    const id = this.random.pick(IDS);
    const value = this.random.pick(['x', 'y']);
    this.log.push(`other ${id} ${value}`);
    await this.db.repository(target).put({ id, value } as never);
    this.others.set(id, value);
  }

  private async perform(kind: Write, id: string, values: Values): Promise<void> {
    const { repository, rows } = this;
    const known = rows.get(id);
    const { columns, entries, life } = values;
    const stored = { ...columns, ...(entries && { [MAP]: entries }) };
    const patch = { ...stored, ...(life !== undefined && { life }) };
    const entity = { id, ...patch } as never;
    const key = { id } as never;
    const given = Object.keys(patch).length > 0;
    switch (kind) {
      case 'put':
        await repository.put(entity);
        break;
      case 'putMany':
        await repository.putMany([entity]);
        break;
      case 'batch':
        await repository.batch((batch) => batch.put(entity));
        break;
      case 'tx':
        if (this.place.hasTransactions)
          await this.db.transaction((tx) => tx.repository(this.thing).put(entity));
        else await repository.put(entity);
        break;
      case 'upsert':
        if (!given) return;
        await repository.upsert(entity, patch as never);
        break;
      case 'replace':
        await repository.replace(entity);
        rows.set(id, this.merged(known && { columns: {}, entries: new Map(), end: known.end }, values));
        return;
      case 'update':
        if (known === undefined || !given) return;
        await repository.update(key, patch as never);
        break;
      case 'mutate':
        if (known === undefined || Object.keys(stored).length === 0) return;
        await repository.mutate(
          key,
          (row) => row.set(stored as never),
          life === undefined ? {} : { ttl: life },
        );
        break;
      case 'delete':
        await repository.delete(key);
        rows.delete(id);
        return;
      default:
        await this.place.backUp?.(this.db);
        await this.db.admin.flush(TABLE);
        if (this.random.chance(0.5)) await this.db.admin.majorCompact(TABLE);
        return;
    }
    rows.set(id, this.merged(known, values));
  }

  private of(id: string): string {
    const row = this.rows.get(id);
    return row === undefined ? 'none' : shown({ id, ...row.columns, [MAP]: row.entries });
  }

  private wanted(test: (row: Row) => boolean): string[] {
    return [...this.rows]
      .filter(([, row]) => test(row))
      .map(([id]) => this.of(id))
      .sort();
  }

  /** Reads in every way. */
  private async check(): Promise<void> {
    const { rows, repository, random } = this;
    this.forget();
    const texts = (found: readonly object[]): string[] => found.map((one) => shown(one as Shown)).sort();
    for (const id of IDS) {
      if (random.chance(0.5))
        expect(shown((await repository.get({ id } as never)) as never)).toBe(this.of(id));
      expect(await repository.exists({ id } as never)).toBe(rows.has(id));
    }
    const many = await repository.getMany(IDS.map((id) => ({ id }) as never));
    expect(many.map((one) => shown(one as never))).toEqual(IDS.map((id) => this.of(id)));
    const all = repository.find({} as never, { fullScan: true });
    const everything = this.wanted(() => true);
    expect(texts(await all.all())).toEqual(everything);
    expect(await all.count()).toBe(rows.size);
    const streamed: object[] = [];
    for await (const one of all) streamed.push(one);
    expect(texts(streamed)).toEqual(everything);
    expect(texts((await all.page({ size: 9 })).items)).toEqual(everything);
    const name = random.pick(COLUMNS);
    const selected = await all.select(name as never).all();
    expect(selected.map((one) => String(Reflect.get(one as object, name) ?? '-')).sort()).toEqual(
      [...rows.values()].map(({ columns }) => columns[name] ?? '-').sort(),
    );
    const entry = random.pick(ENTRIES);
    const withEntry = all.where((w) => w.entry(MAP as never, entry as never, 'x' as never));
    expect(texts(await withEntry.all())).toEqual(this.wanted((row) => row.entries.get(entry) === 'x'));
    for (const value of ['x', 'x!']) await this.checkValue(name, value);
    await this.checkOther();
    if (!this.place.hasTransactions) return;
    await this.db.transaction(async (tx) => {
      const id = random.pick(IDS);
      expect(shown((await tx.repository(this.thing).get({ id } as never)) as never)).toBe(this.of(id));
    });
  }

  private async checkValue(name: string, value: string): Promise<void> {
    const { repository, release } = this;
    const having = (column: string): string[] => this.wanted(({ columns }) => columns[column] === value);
    const texts = (found: readonly object[]): string[] => found.map((one) => shown(one as Shown)).sort();
    const where = repository.find({} as never, { fullScan: true }).where({ [name]: value } as never);
    expect(texts(await where.all())).toEqual(having(name));
    expect(await where.count()).toBe(having(name).length);
    for (const indexed of release.indexed) {
      const by = repository.by(`by_${indexed}` as never).find({ [indexed]: value } as never);
      expect(texts(await by.all()), `by ${indexed}`).toEqual(having(indexed));
    }
    for (const counted of release.counted) {
      const summary = this.db.summary(this.thing, `sum_${counted}` as never);
      await summary.drain({ settledAfter: 0 });
      const group = (await summary.get({ [counted]: value } as never)) as { readonly rows: bigint } | null;
      expect(Number(group?.rows ?? 0), `count of ${counted}`).toBe(having(counted).length);
    }
  }

  /** What the table has of the other type is its own. */
  private async checkOther(): Promise<void> {
    if (this.other === undefined) return;
    const others = this.db.repository(this.other);
    const found = (await others.find({} as never, { fullScan: true }).all()) as unknown as readonly {
      readonly id: string;
      readonly value: string;
    }[];
    expect(found.map(({ id, value }) => [id, value])).toEqual([...this.others].sort());
    const wanted = [...this.others.values()].filter((value) => value === 'x').length;
    expect(
      await others
        .by('byValue' as never)
        .find({ value: 'x' } as never)
        .count(),
    ).toBe(wanted);
  }
}

/** Runs these lives, each told from its seed when it fails. */
export async function leadLives(
  seeds: readonly number[],
  releases: number,
  placeOf: (seed: number) => LifePlace,
): Promise<void> {
  for (const seed of seeds) {
    const life = new Life(seed, placeOf(seed));
    try {
      await life.run(releases);
    } catch (error) {
      throw new Error(`Seed ${seed}:\n${life.log.join('\n')}\n${(error as Error).message}`, { cause: error });
    }
  }
}

async function build(handle: {
  readonly state: string | undefined | (() => Promise<string>);
  build(): Promise<unknown>;
}): Promise<void> {
  const state = typeof handle.state === 'function' ? await handle.state() : handle.state;
  if (state !== 'active') await handle.build();
}

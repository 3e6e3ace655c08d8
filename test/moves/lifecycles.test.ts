/**
 * Lives of an entity: releases that reorder its columns, put them into other families, move and upgrade them, add indexes and take
 * them away, have moves and upgrades done and leave them out, with openings between; in each release every way of writing and of
 * reading, held against a plain Map.
 */

import { describe, expect, it } from 'vitest';
import type { ColumnBuilder } from '../../decorators/column-builder.js';
import { defineEntity, defineTable, upgrade } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import type { Database } from '../../src/database.js';
import { part } from '../../src/key/index.js';
import type { Repository } from '../../src/repository/index.js';
import type { KeyedClass } from '../../src/schema/entity-types.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { openMemory } from '../../src/testing/open-memory.js';
import { record } from '../proof/evidence.js';
import { scaled } from '../proof/scale.js';
import { Random } from '../query/model/random.js';

const PROGRAMS = scaled(4, 60, 2000);
const FIRST = Number(process.env['ROWAN_SEED'] ?? 1);
const RELEASES = 6;
const STEPS = 8;

type Row = Record<string, string | undefined>;
type Repo = Repository<KeyedClass>;

const NAMES = ['p', 'q', 'r'];
const IDS = ['1', '2', '3', '4', '5'];
const FAMILIES = ['d', 'e', 'f'];

interface Upgrading {
  readonly from: number;
  readonly name: string;
  readonly place: string;
}

/** What a release declares. */
class Release {
  order = [...NAMES];
  readonly places = new Map<string, string>();
  readonly was = new Map<string, readonly string[]>();
  readonly upgrades: Upgrading[] = [];
  readonly indexed = new Set<string>();
  version = 1;
  private next = 0;

  constructor(
    private readonly random: Random,
    private readonly marker: string | undefined,
  ) {
    for (const name of NAMES) this.places.set(name, this.fresh());
  }

  private fresh(): string {
    return `${this.random.pick(FAMILIES)}:c${this.next++}`;
  }

  /** What the next one says; what it makes of the rows that there are. */
  go(rows: Map<string, Row>): string {
    const { random } = this;
    const name = random.pick(NAMES);
    const place = this.places.get(name)!;
    switch (random.below(5)) {
      case 0:
        this.order.sort(() => random.next() - 0.5);
        return `columns ${this.order.join()}`;
      case 1:
        if (this.upgrades.length > 0) return 'the same';
        this.was.set(name, [place, ...(this.was.get(name) ?? [])]);
        this.places.set(name, this.fresh());
        return `${name} moves`;
      case 2: {
        if (this.was.size > 0) return 'the same';
        this.upgrades.push({ from: this.version++, name, place });
        this.places.set(name, this.fresh());
        for (const row of rows.values()) if (row[name] !== undefined) row[name] += '!';
        return `${name} is upgraded`;
      }
      case 3:
        this.indexed.add(name);
        return `index of ${name}`;
      default:
        this.indexed.delete(name);
        return `no index of ${name}`;
    }
  }

  declare(): KeyedClass {
    return defineEntity({
      name: 'Thing',
      table: defineTable({ name: 'things', families: { d: {}, e: {}, f: {} } }),
      key: [part('id')],
      ...(this.marker !== undefined && { marker: this.marker }),
      ...(this.version > 1 && { schemaVersion: this.version }),
      upgrades: this.upgrades.map(({ from, name, place }) =>
        upgrade(
          from,
          {
            old: (c: ColumnBuilder<string>) => ({ [name]: c.column(place as 'd:c', text).optional() }),
            sets: [name],
            writeBack: from % 2 === 0,
          } as never,
          ((old: Row) => ({ [name]: old[name] == null ? undefined : `${old[name]}!` })) as never,
        ),
      ),
      columns: (c: ColumnBuilder<string>) =>
        Object.fromEntries(
          this.order.map((name) => {
            const was = this.was.get(name);
            const place = this.places.get(name) as 'd:c';
            return [name, c.column(place, text, was === undefined ? {} : { was: was as never }).optional()];
          }),
        ),
      indexes: Object.fromEntries(
        [...this.indexed].map((name) => [`by_${name}`, { on: [part(name, text)] }]),
      ),
    } as never) as unknown as KeyedClass;
  }
}

const shown = (row: Readonly<Record<string, unknown>> | null): string =>
  row === null ? 'none' : ['id', ...NAMES].map((name) => `${name}=${String(row[name] ?? '-')}`).join(' ');

class Life {
  readonly random: Random;
  readonly rows = new Map<string, Row>();
  readonly log: string[] = [];
  private readonly disk = new MemoryFileSystem();
  private readonly release: Release;
  private target!: KeyedClass;
  private db!: Database;

  constructor(seed: number) {
    this.random = new Random(seed);
    this.release = new Release(this.random, this.random.chance(0.2) ? 'f' : undefined);
  }

  async run(): Promise<void> {
    for (let release = 0; release < RELEASES; release++) {
      if (release > 0) this.log.push(`release: ${this.release.go(this.rows)}`);
      await this.open();
      try {
        if (this.random.chance(0.7)) await this.check();
        for (let step = 0; step < STEPS; step++) await this.write();
        await this.check();
        if (this.random.chance(0.4)) await this.settle();
        await this.check();
      } finally {
        await this.db.close();
      }
    }
  }

  private get repository(): Repo {
    return this.db.repository(this.target);
  }

  private async open(): Promise<void> {
    this.target = this.release.declare();
    this.db = await openMemory({ entities: [this.target], disk: this.disk });
    for (const name of this.release.indexed) {
      const index = this.db.index(this.target, `by_${name}` as never);
      if (index.state !== 'active') await index.build();
    }
  }

  /** Has the moves and upgrades done, which the next release leaves out. */
  private async settle(): Promise<void> {
    const { was, upgrades } = this.release;
    this.log.push('settle');
    if (was.size > 0) await this.db.schema.moveColumns(this.target);
    if (upgrades.length > 0) await this.db.schema.upgradeRows(this.target);
    was.clear();
    upgrades.splice(0);
  }

  private async write(): Promise<void> {
    const { random, rows } = this;
    const id = random.pick(IDS);
    const values: Record<string, string | null> = {};
    for (const name of NAMES) {
      if (random.chance(0.5)) values[name] = random.chance(0.2) ? null : random.pick(['x', 'y', 'z']);
    }
    const known = rows.get(id);
    const kind = random.pick([
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
    ] as const);
    this.log.push(`${kind} ${id} ${JSON.stringify(values)}`);
    const merged = (): void => {
      const row = { ...known };
      for (const [name, value] of Object.entries(values)) row[name] = value ?? undefined;
      rows.set(id, row);
    };
    const entity = { id, ...values } as never;
    const key = { id } as never;
    const given = Object.keys(values).length > 0;
    switch (kind) {
      case 'put':
        await this.repository.put(entity);
        return merged();
      case 'putMany':
        await this.repository.putMany([entity]);
        return merged();
      case 'batch':
        await this.repository.batch((batch) => batch.put(entity));
        return merged();
      case 'tx':
        await this.db.transaction((tx) => tx.repository(this.target).put(entity));
        return merged();
      case 'upsert':
        if (!given) return;
        await this.repository.upsert(entity, values as never);
        return merged();
      case 'replace':
        await this.repository.replace(entity);
        rows.delete(id);
        rows.set(
          id,
          Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value ?? undefined])),
        );
        return;
      case 'update':
        if (known === undefined || !given) return;
        await this.repository.update(key, values as never);
        return merged();
      case 'mutate':
        if (known === undefined || !given) return;
        await this.repository.mutate(key, (row) => row.set(values as never));
        return merged();
      case 'delete':
        await this.repository.delete(key);
        rows.delete(id);
        return;
      default:
        await this.db.admin.flush('things');
        if (random.chance(0.5)) await this.db.admin.majorCompact('things');
    }
  }

  /** Reads in every way. */
  private async check(): Promise<void> {
    const { rows, repository, random } = this;
    const of = (id: string): string => (rows.has(id) ? shown({ id, ...rows.get(id) }) : 'none');
    const texts = (found: readonly object[]): string[] => found.map((one) => shown(one as never)).sort();
    const wanted = (test: (row: Row) => boolean): string[] =>
      [...rows]
        .filter(([, row]) => test(row))
        .map(([id]) => of(id))
        .sort();
    for (const id of IDS) {
      if (random.chance(0.5)) expect(shown((await repository.get({ id } as never)) as never)).toBe(of(id));
      expect(await repository.exists({ id } as never)).toBe(rows.has(id));
    }
    const many = await repository.getMany(IDS.map((id) => ({ id }) as never));
    expect(many.map((one) => shown(one as never))).toEqual(IDS.map(of));
    const all = repository.find({} as never, { fullScan: true });
    expect(texts(await all.all())).toEqual(wanted(() => true));
    expect(await all.count()).toBe(rows.size);
    const streamed: object[] = [];
    for await (const one of all) streamed.push(one);
    expect(texts(streamed)).toEqual(wanted(() => true));
    expect(texts((await all.page({ size: 9 })).items)).toEqual(wanted(() => true));
    const name = random.pick(NAMES);
    for (const value of ['x', 'x!']) {
      const test = (row: Row): boolean => row[name] === value;
      expect(texts(await all.where({ [name]: value } as never).all())).toEqual(wanted(test));
      expect(await all.where({ [name]: value } as never).count()).toBe(wanted(test).length);
      for (const indexed of this.release.indexed) {
        const by = repository.by(`by_${indexed}` as never).find({ [indexed]: value } as never);
        expect(texts(await by.all())).toEqual(wanted((row) => row[indexed] === value));
      }
    }
    const selected = await all.select(name as never).all();
    expect(selected.map((one) => String(Reflect.get(one as object, name) ?? '-')).sort()).toEqual(
      [...rows.values()].map((row) => row[name] ?? '-').sort(),
    );
    await this.db.transaction(async (tx) => {
      const id = random.pick(IDS);
      expect(shown((await tx.repository(this.target).get({ id } as never)) as never)).toBe(of(id));
    });
  }
}

const TOGETHER = 10;
const parts = Array.from({ length: Math.ceil(PROGRAMS / TOGETHER) }, (_, part) => FIRST + part * TOGETHER);

describe('a life of releases', () => {
  let programs = 0;
  it.each(parts)('keeps every value, programs from %i', async (first) => {
    for (let seed = first; seed < Math.min(first + TOGETHER, FIRST + PROGRAMS); seed++) {
      const life = new Life(seed);
      try {
        await life.run();
      } catch (error) {
        throw new Error(`Seed ${seed}:\n${life.log.join('\n')}\n${(error as Error).message}`, {
          cause: error,
        });
      }
      programs++;
    }
  });

  it('in all programs', () => {
    expect(programs).toBe(PROGRAMS);
    record('lifecycles', { programs, releases: programs * RELEASES });
  });
});

/**
 * `updateAll` and `deleteAll` beside writers, transactions and changes of what is copied, over rows with indexes of each kind, copies and
 * summaries: these agree with the rows afterwards, also where power was lost. Pages between which rows go and come have every row
 * that stayed, once.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { defineEntity } from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import type { Database } from '../../src/database.js';
import { RowanError } from '../../src/errors.js';
import { bucket, desc, hash, part, recordType, salt, uint8 } from '../../src/key/index.js';
import { MemoryFileSystem, openMemory } from '../../src/testing/index.js';
import { scaled } from '../proof/scale.js';
import { Random } from '../query/model/random.js';

const table = { name: 'items', families: { d: {}, e: {} } };

const Source = defineEntity({
  name: 'Source',
  table,
  recordType: 9,
  key: [recordType(), part('sid', uint8)],
  columns: (c) => ({ label: c.column('d:l', text) }),
});

const KEYS = [
  [recordType(), part('g', uint8), part('id', uint8)],
  [salt(3), recordType(), part('g', uint8), part('id', uint8)],
  [hash(part('g', uint8), { bytes: 1, keep: true }), recordType(), part('id', uint8)],
  [recordType(), part('g', uint8), desc(part('id', uint8))],
  [recordType(), bucket('g', 2), part('g', uint8), part('id', uint8)],
] as const;

const ITEMS = KEYS.map((key) =>
  defineEntity({
    name: 'Item',
    table,
    recordType: 1,
    key: key as (typeof KEYS)[0],
    columns: (c) => ({
      a: c.column('d:a', text).optional(),
      n: c.column('e:n', int32).optional(),
      sid: c.column('d:s', uint8).optional(),
      label: c.column('d:k', text).optional(),
      map: c.columns('e:m.', { key: text, value: int32 }),
    }),
    indexes: {
      byA: { on: [part('a')], include: ['n'] },
      byN: { on: [part('n')], consistency: 'eventual' },
      byKey: { on: [part('map')], each: 'keys' },
      byLabel: { on: [part('label')] },
      small: { on: [part('a')], where: { n: { lt: 3 } } },
    },
    summaries: {
      byG: { by: ['g'], figures: { rows: 'count', sum: { sum: 'n' }, least: { min: 'n' } } },
      byLabel: { by: ['label'], figures: { rows: 'count' } },
    },
    denormalized: [{ from: () => Source, via: 'sid', fields: { label: 'label' } }],
  }),
);
type ItemClass = (typeof ITEMS)[0];

const A = ['a', 'b', '', 'a\0', null] as const;
const N = [0, 1, 2, 3, 4, null] as const;
const SIDS = [0, 1, 2, null] as const;
const keyOf = ({ g, id }: { g: number; id: number }): string => `${g}/${id}`;

class Trial {
  private readonly disk = new MemoryFileSystem();

  constructor(
    private readonly Item: ItemClass,
    private readonly random: Random,
  ) {}

  async run(): Promise<void> {
    const { random } = this;
    const db = await this.open(this.disk);
    for (let sid = 0; sid < 3; sid++) await db.repository(Source).put({ sid, label: `l${sid % 2}` });
    await db.repository(this.Item).putMany(Array.from({ length: 50 }, () => this.row()));
    await Promise.all([this.write(db), this.write(db), this.changeMany(db), this.changeMany(db)]);
    await this.compare(db);
    await this.readPages(db);
    await this.compare(db);
    const lost = await this.open(this.disk.crash({ keepUnsynced: 0, random: () => random.next() }));
    await this.compare(lost);
    await lost.close();
    await db.close();
  }

  private open(disk: MemoryFileSystem): Promise<Database> {
    return openMemory({ entities: [this.Item, Source], disk });
  }

  private row() {
    const { random } = this;
    const map = new Map(['x', 'y'].filter(() => random.chance(0.5)).map((key) => [key, random.below(3)]));
    const [a, n, sid] = [random.pick(A), random.pick(N), random.pick(SIDS)];
    return { g: random.below(3), id: random.below(40), a, n, sid, map };
  }

  private async write(db: Database): Promise<void> {
    const { random } = this;
    const items = db.repository(this.Item);
    for (let i = 0; i < 20; i++) {
      const row = this.row();
      const { g, id, a, n } = row;
      switch (random.below(7)) {
        case 0:
          await items.delete({ g, id });
          break;
        case 1:
          await items.check({ g, id }, { a: 'a' }).update({ n });
          break;
        case 2:
          await items.update({ g, id }, { a }).catch(missing);
          break;
        case 3:
          await db.repository(Source).put({ sid: random.below(3), label: `l${random.below(3)}` });
          break;
        case 4:
          await db.transaction(async (tx) => {
            const stored = await tx.repository(this.Item).get({ g, id });
            await tx.repository(this.Item).put({ ...row, n: ((stored?.n ?? 0) + 1) % 5 });
            await tx.repository(Source).put({ sid: 1, label: `t${random.below(3)}` });
          });
          break;
        case 5:
          await db.engine.admin.flush(table.name);
          break;
        default:
          await items.put(row);
      }
      if (random.chance(0.4)) await nextTurn();
    }
  }

  private async changeMany(db: Database): Promise<void> {
    const { random } = this;
    const items = db.repository(this.Item);
    for (let i = 0; i < 4; i++) {
      const where = random.pick([{ a: 'a' }, { n: { gte: 2 } }, { a: 'b', n: 1 }, { sid: 1 }]);
      const query = random.pick([
        items.by('byA').find({ a: 'a' }),
        items.find({ g: random.below(3) }).where(where),
        items.find({}, { fullScan: true }).where(where),
      ]);
      const options = { batch: random.pick([1, 2, 7, 1000]) };
      const { a, n, sid, map } = this.row();
      const patch = random.pick([{ a }, { n }, { a: 'b', n: 2 }, { sid }, { map }]);
      if (random.chance(0.3)) await query.limit(9).deleteAll(options);
      else
        await this.cutOff((signal, more) => query.signal(signal).updateAll(patch, { ...options, ...more }));
    }
  }

  /** Runs until it is done: some runs are aborted after some batches, and the next goes on at their cursor or from the start. */
  private async cutOff(
    run: (
      signal: AbortSignal,
      more: { cursor?: string; onProgress: (progress: { cursor: string | undefined }) => void },
    ) => Promise<unknown>,
  ): Promise<void> {
    const { random } = this;
    let cursor: string | undefined;
    for (let cuts = random.below(4); ; cuts--) {
      const controller = new AbortController();
      let batches = cuts > 0 ? random.below(3) : Number.POSITIVE_INFINITY;
      const onProgress = (progress: { cursor: string | undefined }): void => {
        cursor = progress.cursor;
        if (batches-- === 0) controller.abort();
      };
      try {
        await run(controller.signal, { ...(cursor !== undefined && { cursor }), onProgress });
        return;
      } catch (error) {
        if (!(error instanceof RowanError) || error.code !== 'ERR_ABORTED') throw error;
        if (random.chance(0.3)) cursor = undefined;
      }
    }
  }

  private async readPages(db: Database): Promise<void> {
    const { random } = this;
    const items = db.repository(this.Item);
    const turned = random.chance(0.5);
    const everything = random.chance(0.5)
      ? items.by('byA').find({}, { fullScan: true })
      : items.find({}, { fullScan: true });
    const query = turned ? everything.reverse() : everything;
    const stayed = (await query.all()).map(keyOf);
    const gone = new Set<string>();
    const seen: string[] = [];
    for (let cursor: string | undefined, first = true; first || cursor !== undefined; first = false) {
      const page = await query.page({ size: 1 + random.below(4), cursor });
      seen.push(...page.items.map(keyOf));
      cursor = page.cursor;
      const last = page.items.at(-1);
      const [g, id] = (random.chance(0.5) && last !== undefined ? keyOf(last) : random.pick(stayed))
        .split('/')
        .map(Number);
      await items.delete({ g: g!, id: id! });
      gone.add(`${g}/${id}`);
      if (random.chance(0.3)) await items.insert({ ...this.row(), id: 100 + seen.length });
    }
    expect(new Set(seen).size).toBe(seen.length);
    const known = new Set(stayed.filter((key) => !gone.has(key)));
    expect(seen.filter((key) => known.has(key))).toEqual([...known]);
  }

  /** What is derived from rows is what the rows have. */
  private async compare(db: Database): Promise<void> {
    const { Item } = this;
    await db.index(Item, 'byN').drain();
    for (const name of ['byA', 'byN', 'byKey', 'byLabel', 'small'] as const)
      expect(await db.index(Item, name).verify()).toMatchObject({ missing: 0, stale: 0, unverified: 0 });
    for (const name of ['byG', 'byLabel'] as const) {
      await db.summary(Item, name).drain();
      expect(await db.summary(Item, name).check()).toMatchObject({ missing: 0, stale: 0, extra: 0 });
    }
    const items = db.repository(Item);
    const all = await items.find({}, { fullScan: true }).all();
    const sources = await db.repository(Source).find({}, { fullScan: true }).all();
    const labels = new Map(sources.map(({ sid, label }) => [sid, label]));
    for (const { sid, label } of all) expect(label ?? null).toBe(sid == null ? null : labels.get(sid));
    for (const a of A) {
      if (a === null) continue;
      const expected = all
        .filter((one) => one.a === a)
        .map(keyOf)
        .sort();
      for (const query of [items.by('byA').find({ a }), items.where({ a })])
        expect((await query.all()).map(keyOf).sort()).toEqual(expected);
    }
  }
}

function missing(error: unknown): void {
  if (!(error instanceof RowanError) || error.code !== 'ERR_NOT_FOUND') throw error;
}

test.each(ITEMS.map((Item, at) => [at, Item] as const))(
  'rows changed together beside writers agree with their indexes, copies and summaries (keys %i)',
  async (at, Item) => {
    for (let seed = 0; seed < scaled(1, 20, 200); seed++)
      await new Trial(Item, new Random(at * 10_000 + seed)).run();
  },
);

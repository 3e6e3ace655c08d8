/**
 * Every codec in every place that orders or compares values: columns, keys, indexes, summaries and figures. The values of a codec are
 * listed in ascending order, so that positions in the list are the model.
 */

import { expect, test } from 'vitest';
import { defineEntity } from '../../decorators/index.js';
import type { KeyElement } from '../../src/key/index.js';
import { desc, part, raw, recordType, uint8 } from '../../src/key/index.js';
import { openMemory } from '../../src/testing/index.js';
import { record } from '../proof/evidence.js';
import { fromMiddle } from '../proof/scale.js';
import { bothEngines } from '../proof/stepless.js';
import { Random } from '../query/model/random.js';
import { CASES, type Case } from './codec-values.js';

type Row = Record<string, unknown>;

/** What `defineEntity` gives the function of its columns. */
interface Columns {
  column(place: string, codec: unknown): { optional(): unknown };
  columns(place: string, codecs: { key: unknown; value: unknown }): unknown;
}

interface Query {
  where(conditions: unknown): Query;
  orderBy(property: string, direction: string): Query;
  limit(rows: number): Query;
  reverse(): Query;
  slice(property: string, bounds: object): Query;
  all(): Promise<Row[]>;
  count(): Promise<number>;
  min(property: string): Promise<unknown>;
  max(property: string): Promise<unknown>;
  groupBy(property: string): {
    aggregate(figures: (on: Record<string, (of?: string) => unknown>) => Row): Promise<Row[]>;
  };
}

interface Summary {
  drain(): Promise<unknown>;
  find(by: Row): Promise<Row[]>;
}

interface Rows {
  get(key: Row): Promise<Row | null>;
  put(row: Row): Promise<void>;
  putMany(rows: readonly Row[]): Promise<void>;
  update(key: Row, changes: Row): Promise<Row>;
  delete(key: Row): Promise<void>;
  check(key: Row, conditions: unknown): { update(changes: Row): Promise<{ ok: boolean }> };
  find(prefix: Row, options?: object): Query;
  where(conditions: Row, options?: object): Query;
  by(index: string): Pick<Rows, 'find'>;
}

/** A row of the model; values by their position in the list. */
interface Known {
  readonly id: string;
  readonly g: number;
  v: number | null;
  w: number | null;
}

type Range = readonly [asked: unknown, holds: (at: number) => boolean];

const EVERYTHING = { fullScan: true };
const table = { name: 'codecs', families: { d: {}, m: {} } };
const SEEDS = Array.from({ length: fromMiddle(1, 30) }, (_, seed) => seed + 1);

function shown(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Ranges with one and two random bounds, and equality, each with what it holds. */
function ranges(values: readonly unknown[], random: Random): readonly Range[] {
  const [a, b] = [random.below(values.length), random.below(values.length)];
  const [low, high] = [Math.min(a, b), Math.max(a, b)];
  return [
    [values[a], (at) => at === a],
    [{ in: [values[a], values[b]] }, (at) => at === a || at === b],
    [{ gte: values[low], lte: values[high] }, (at) => at >= low && at <= high],
    [{ gt: values[low], lt: values[high] }, (at) => at > low && at < high],
    [{ gt: values[a] }, (at) => at > a],
    [{ gte: values[a] }, (at) => at >= a],
    [{ lt: values[a] }, (at) => at < a],
    [{ lte: values[a] }, (at) => at <= a],
  ];
}

class Trial {
  private readonly known = new Map<string, Known>();
  /** Whether bytes are in the reverse order of values. */
  private readonly falls: boolean;

  constructor(
    name: string,
    private readonly own: Case,
    private readonly random: Random,
  ) {
    this.falls = name.startsWith('desc(');
  }

  async run(): Promise<void> {
    const { codec, columnsOnly } = this.own;
    const row = defineEntity({
      name: 'Row',
      table,
      recordType: 1,
      key: [recordType(), part('id')],
      columns: (c: Columns) => ({
        g: c.column('d:g', uint8),
        v: c.column('d:v', codec).optional(),
        w: c.column('d:w', codec).optional(),
      }),
      indexes: {
        byV: { on: [part('v')], include: ['w'] },
        falling: { on: [desc(part('v'))] },
        byGroup: { on: [part('g'), part('v')] },
      },
      summaries: {
        each: { by: ['v'], figures: { rows: 'count' } },
        groups: {
          by: ['g'],
          figures:
            columnsOnly === true
              ? { rows: { count: 'v' } }
              : { rows: { count: 'v' }, least: { min: 'v' }, most: { max: 'v' } },
        },
      },
    } as never);
    const mapped = defineEntity({
      name: 'Mapped',
      table,
      recordType: 9,
      key: [recordType(), part('id')],
      columns: (c: Columns) => ({ map: c.columns('m:p.', { key: codec, value: codec }) }),
      indexes: { byKey: { on: [part('map')], each: 'keys' } },
    } as never);
    const keyed = columnsOnly === true ? [] : this.keyed();
    const engines = bothEngines([row, mapped, ...keyed.map(({ entity }) => entity)] as never);
    for (const open of Object.values(engines)) {
      const { db, close } = await open();
      const rows = db.repository(row as never) as unknown as Rows;
      await this.write(rows);
      await db.engine.admin.flush(table.name);
      await this.change(rows);
      await this.askColumns(rows);
      await this.askIndexes(rows);
      await this.askFigures(rows);
      await this.askSummaries((name) => db.summary(row as never, name as never) as never);
      await this.askChecks(rows);
      await this.askMaps(db.repository(mapped as never) as unknown as Rows);
      for (const { entity, last, falls } of keyed)
        await this.askKeys(db.repository(entity as never) as unknown as Rows, last, falls);
      await close();
    }
  }

  /** Entities with the value in their keys, ascending and descending, at the end and before another part. */
  private keyed(): readonly { entity: unknown; last: boolean; falls: boolean }[] {
    const { codec } = this.own;
    return [false, true].flatMap((last) =>
      [false, true].map((turned) => {
        const own: KeyElement = part('v', codec as never);
        const number = 2 + Number(last) * 2 + Number(turned);
        const entity = defineEntity({
          name: `Keyed${number}`,
          table,
          recordType: number,
          key: [
            recordType(),
            part('g', uint8),
            turned ? desc(own as never) : own,
            ...(last ? [] : [part('id')]),
          ],
          columns: (c: Columns) => ({ w: c.column('d:w', codec) }),
        } as never);
        return { entity, last, falls: turned !== this.falls };
      }),
    );
  }

  private valueAt(at: number | null): unknown {
    return at === null ? null : this.own.values[at];
  }

  private rowOf({ id, g, v, w }: Known): Row {
    return { id, g, v: this.valueAt(v), w: this.valueAt(w) };
  }

  private draw(id: string): Known {
    const { values } = this.own;
    const value = (): number | null => (this.random.below(6) === 0 ? null : this.random.below(values.length));
    return { id, g: this.random.below(3), v: value(), w: value() };
  }

  private async write(rows: Rows): Promise<void> {
    this.known.clear();
    for (let i = 0; i < 30; i++) this.known.set(`r${i}`, this.draw(`r${i}`));
    const all = [...this.known.values()].map((one) => this.rowOf(one));
    for (const one of all.slice(0, 10)) await rows.put(one);
    await rows.putMany(all.slice(10));
  }

  private async change(rows: Rows): Promise<void> {
    for (let i = 0; i < 12; i++) {
      const next = this.draw(`r${this.random.below(32)}`);
      const present = this.known.get(next.id);
      if (present === undefined || this.random.below(3) === 0) {
        await rows.put(this.rowOf(next));
        this.known.set(next.id, next);
      } else if (this.random.below(2) === 0) {
        await rows.update({ id: next.id }, { v: this.valueAt(next.v) });
        present.v = next.v;
      } else {
        await rows.delete({ id: next.id });
        this.known.delete(next.id);
      }
    }
  }

  private ids(holds: (row: Known) => boolean): string[] {
    return [...this.known.values()]
      .filter(holds)
      .map(({ id }) => id)
      .sort();
  }

  private async found(query: Query): Promise<string[]> {
    return (await query.all()).map((row) => String(row['id'])).sort();
  }

  private async askColumns(rows: Rows): Promise<void> {
    for (const { id, v, w } of this.known.values()) {
      const row = await rows.get({ id });
      expect([shown(row?.['v']), shown(row?.['w'])]).toEqual([
        shown(this.valueAt(v)),
        shown(this.valueAt(w)),
      ]);
    }
    for (const [asked, holds] of ranges(this.own.values, this.random)) {
      const expected = this.ids(({ v }) => v !== null && holds(v));
      const condition = { v: asked };
      expect(await this.found(rows.find({}, EVERYTHING).where(condition))).toEqual(expected);
      expect(await this.found(rows.where(condition, EVERYTHING))).toEqual(expected);
      expect(await rows.where(condition, EVERYTHING).count()).toBe(expected.length);
      expect(await this.found(rows.where({ g: 1, ...condition }, EVERYTHING))).toEqual(
        this.ids(({ g, v }) => g === 1 && v !== null && holds(v)),
      );
      const not = (w: { not(condition: unknown): unknown }): unknown => w.not(condition);
      expect(await this.found(rows.find({}, EVERYTHING).where(not))).toEqual(
        this.ids(({ v }) => v === null || !holds(v)),
      );
    }
  }

  private async askIndexes(rows: Rows): Promise<void> {
    const { values, disordered, columnsOnly } = this.own;
    for (const [name, turned] of [
      ['byV', false],
      ['falling', true],
      ['byGroup', false],
    ] as const) {
      for (const [at, [asked, holds]] of ranges(values, this.random).entries()) {
        const group = name === 'byGroup' ? { g: 2 } : {};
        const query = rows.by(name).find({ ...group, v: asked });
        if (columnsOnly === true && at > 1) {
          await expect(query.all()).rejects.toThrow('Use equality instead of a range');
          continue;
        }
        const expected = [...this.known.values()].filter(
          ({ g, v }) => v !== null && holds(v) && (name !== 'byGroup' || g === 2),
        );
        expect(await this.found(query)).toEqual(expected.map(({ id }) => id).sort());
        if (disordered === true) continue;
        const direction = turned === this.falls ? 1 : -1;
        const inOrder = expected.map(({ v }) => v!).sort((a, b) => (a - b) * direction);
        expect((await query.all()).map(({ v }) => shown(v))).toEqual(inOrder.map((v) => shown(values[v])));
        expect((await query.reverse().all()).map(({ v }) => shown(v))).toEqual(
          inOrder.reverse().map((v) => shown(values[v])),
        );
      }
    }
  }

  private async askFigures(rows: Rows): Promise<void> {
    const { values } = this.own;
    const present = [...this.known.values()].flatMap(({ v }) => v ?? []).sort((a, b) => a - b);
    for (const direction of ['asc', 'desc']) {
      const sorted = await rows.find({}, EVERYTHING).orderBy('v', direction).limit(present.length).all();
      const expected = direction === 'asc' ? present : [...present].reverse();
      expect(sorted.map(({ v }) => shown(v))).toEqual(expected.map((v) => shown(values[v])));
    }
    expect(shown(await rows.find({}, EVERYTHING).min('v'))).toBe(shown(values[present[0]!]));
    expect(shown(await rows.find({}, EVERYTHING).max('v'))).toBe(shown(values[present.at(-1)!]));
    const groups = await rows
      .find({}, EVERYTHING)
      .groupBy('v')
      .aggregate((on) => ({ rows: on['count']!() }));
    const counted = [...new Set(present)].map((v) => [
      shown(values[v]),
      present.filter((one) => one === v).length,
    ]);
    expect(groups.filter(({ v }) => v !== null).map(({ v, rows: count }) => [shown(v), count])).toEqual(
      counted,
    );
  }

  private async askSummaries(summary: (name: string) => Summary): Promise<void> {
    const { values, columnsOnly } = this.own;
    const rows = [...this.known.values()];
    await summary('each').drain();
    await summary('groups').drain();
    const each = new Map((await summary('each').find({})).map((found) => [shown(found['v']), found['rows']]));
    expect(each).toEqual(
      new Map(
        rows.flatMap(({ v }) =>
          v === null ? [] : [[shown(values[v]), rows.filter((one) => one.v === v).length]],
        ),
      ),
    );
    for (const found of await summary('groups').find({})) {
      const own = rows.filter(({ g }) => g === found['g']).flatMap(({ v }) => v ?? []);
      expect(found['rows']).toBe(own.length);
      if (columnsOnly === true) continue;
      const [least, most] = own.length === 0 ? [null, null] : [Math.min(...own), Math.max(...own)];
      expect([shown(found['least']), shown(found['most'])]).toEqual([
        shown(this.valueAt(least)),
        shown(this.valueAt(most)),
      ]);
    }
  }

  private async askChecks(rows: Rows): Promise<void> {
    const { values, disordered } = this.own;
    for (const at of [0, values.length - 1, null]) {
      await rows.put({ id: 'checked', g: 0, v: this.valueAt(at) });
      for (const [place, [asked, holds]] of ranges(values, this.random).entries()) {
        const check = (): ReturnType<Rows['check']> => rows.check({ id: 'checked' }, { v: asked });
        if (place > 1 && (disordered === true || this.falls)) {
          expect(check).toThrow('by order where their codec is ordered');
          continue;
        }
        const { ok } = await check().update({ g: 1 });
        expect(ok).toBe(at !== null && holds(at));
      }
    }
    await rows.delete({ id: 'checked' });
  }

  private async askMaps(rows: Rows): Promise<void> {
    const { values } = this.own;
    await rows.put({ id: 'm', map: new Map(values.map((value) => [value, value])) });
    await rows.put({ id: 'other', map: new Map([[values[0], values[0]]]) });
    const whole = (await rows.get({ id: 'm' }))?.['map'] as Map<unknown, unknown>;
    expect([...whole.keys()].map(shown)).toEqual([...whole.values()].map(shown));
    expect([...whole.keys()].map(shown).sort()).toEqual(values.map(shown).sort());
    for (const [asked, holds] of ranges(values, this.random).slice(2)) {
      const query = rows.find({ id: 'm' }).slice('map', asked as object);
      const found = (await query.all())[0]?.['map'];
      const keys = [...((found as Map<unknown, unknown> | undefined)?.keys() ?? [])].map(shown);
      const expected = values.filter((_, at) => holds(at)).map(shown);
      // Entries stand in the order of their bytes; a text has no end there, so inverted ones are no reverse order.
      expect(keys.sort()).toEqual(expected.sort());
    }
    for (const [at, value] of values.entries()) {
      const found = await rows.by('byKey').find({ map: value }).all();
      expect(found.map(({ id }) => id)).toEqual(at === 0 ? ['m', 'other'] : ['m']);
    }
  }

  private async askKeys(rows: Rows, last: boolean, falls: boolean): Promise<void> {
    const { values, disordered } = this.own;
    const present = values.map((_, v) => v).filter(() => this.random.below(5) > 0);
    await rows.putMany(
      present.flatMap((v) =>
        [1, 2].map((g) => ({ g, v: values[v], w: values[v], ...(last ? {} : { id: 'x' }) })),
      ),
    );
    const inOrder = (found: readonly unknown[]): unknown[] =>
      disordered === true ? [...found].sort() : [...found];
    for (const [asked, holds] of ranges(values, this.random)) {
      const expected = present.filter(holds).map((v) => shown(values[v]));
      if (falls) expected.reverse();
      const query = rows.find({ g: 1, v: asked });
      const found = await query.all();
      expect(inOrder(found.map(({ v }) => shown(v)))).toEqual(inOrder(expected));
      expect(found.map(({ w }) => shown(w))).toEqual(found.map(({ v }) => shown(v)));
      expect(inOrder((await query.reverse().all()).map(({ v }) => shown(v)))).toEqual(
        inOrder([...expected].reverse()),
      );
      expect(inOrder((await rows.where({ g: 1, v: asked }).all()).map(({ v }) => shown(v)))).toEqual(
        inOrder(expected),
      );
      const [least = null, most = null] = falls
        ? [expected.at(-1), expected[0]]
        : [expected[0], expected.at(-1)];
      expect([shown(await query.min('v')), shown(await query.max('v'))]).toEqual([shown(least), shown(most)]);
    }
    for (const v of present.slice(0, 2)) {
      const key = { g: 2, v: values[v], ...(last ? {} : { id: 'x' }) };
      expect(shown((await rows.get(key))?.['v'])).toBe(shown(values[v]));
      await rows.delete(key);
      expect(await rows.get(key)).toBeNull();
    }
  }
}

test.each([...CASES])('values of %s are compared and ordered alike everywhere', async (name, own) => {
  for (const seed of SEEDS) await new Trial(name, own, new Random(seed)).run();
  record('codecs', { codecs: 1, trials: SEEDS.length });
});

test('NaN of HBase comes after all numbers, and fails no question', async () => {
  const Sample = defineEntity({
    name: 'Sample',
    table: { name: 'samples', families: { d: {} } },
    key: [part('id')],
    columns: (c) => ({
      g: c.column('d:g', uint8),
      n: c.column('d:n', raw.float64),
      f: c.column('d:f', raw.float32),
    }),
    indexes: { byN: { on: [part('n')] } },
    summaries: { groups: { by: ['g'], figures: { least: { min: 'n' }, most: { max: 'f' } } } },
  });
  const db = await openMemory({ entities: [Sample] });
  const samples = db.repository(Sample);
  const numbers = [Number.NaN, -1, 0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  await samples.putMany(numbers.map((n, at) => ({ id: `s${at}`, g: 0, n, f: n })));
  for (const property of ['n', 'f'] as const) {
    const all = samples.find({}, EVERYTHING);
    const sorted = await all.orderBy(property).limit(9).all();
    expect(sorted.map((one) => one[property])).toEqual([
      Number.NEGATIVE_INFINITY,
      -1,
      0,
      Number.POSITIVE_INFINITY,
      Number.NaN,
    ]);
    expect((await all.where({ [property]: { lt: 0 } }).all()).map(({ id }) => id)).toEqual(['s1', 's4']);
    expect((await all.where({ [property]: { gt: 0 } }).all()).map(({ id }) => id)).toEqual(['s0', 's3']);
    expect(await all.max(property)).toBeNaN();
  }
  expect(
    (
      await samples
        .by('byN')
        .find({ n: { lt: 0 } })
        .all()
    )
      .map(({ id }) => id)
      .sort(),
  ).toEqual(['s1', 's4']);
  expect(await db.summary(Sample, 'groups').get({ g: 0 })).toEqual({
    g: 0,
    least: Number.NEGATIVE_INFINITY,
    most: Number.NaN,
  });
  await db.close();
});

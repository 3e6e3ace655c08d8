/** Random programs on an engine: absent, empty and null values, and pages while others write. */

import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Column, Entity, part, RowKey, salt, Table } from '../../decorators/index.js';
import { bytes, date, float64, int32, json, text } from '../../src/codec/index.js';
import { uint32 } from '../../src/key/index.js';
import type { Repository } from '../../src/repository/index.js';
import { scaled } from '../proof/scale.js';
import { onServer, openTestDatabase, type TestDatabase } from '../query/test-database.js';

@Table({ name: 'properties_notes', families: { d: {}, e: {} } })
class Notes {}

@Entity({ table: Notes })
@RowKey(part('run'), part('id'))
class Note {
  declare static readonly key: ['run', 'id'];
  run!: string;
  id!: string;
  @Column('d:s', text) s?: string | null;
  @Column('d:b', bytes) b?: Uint8Array | null;
  @Column('e:i', int32) i?: number | null;
  @Column('e:f', float64) f?: number | null;
  @Column('e:d', date) d?: Date | null;
  @Column('d:j', json<unknown>()) j?: unknown;
}

@Table({ name: 'properties_feed', families: { d: {} } })
class Feed {}

@Entity({ table: Feed })
@RowKey(salt(3, ['n']), part('n', uint32))
class Item {
  declare static readonly key: ['n'];
  n!: number;
  @Column('d:k', text) kind!: string;
  @Column('d:x', text) extra?: string | null;
}

const FIELDS = {
  s: fc.constantFrom('', 'a', '\0', 'ü'),
  b: fc.constantFrom(new Uint8Array(0), Uint8Array.of(0), Uint8Array.of(255, 0)),
  i: fc.constantFrom(0, -1, 2 ** 31 - 1, -(2 ** 31)),
  f: fc.constantFrom(0, -1.5, 1e300),
  d: fc.constantFrom(new Date(0), new Date(-1), new Date(1e12)),
  j: fc.constantFrom<unknown>('', 0, false, [], {}, { a: null }),
} as const;
type Field = keyof typeof FIELDS;
const NAMES = Object.keys(FIELDS) as Field[];

/** A value, null or undefined of every field, or the field left out. */
type Values = Partial<Record<Field, unknown>>;
const values = fc.record(
  Object.fromEntries(
    NAMES.map((name) => [name, fc.oneof(FIELDS[name], fc.constant(null), fc.constant(undefined))]),
  ) as Record<Field, fc.Arbitrary<unknown>>,
  { requiredKeys: [] },
);
const IDS = ['', 'a', 'a\0'] as const;
const step = fc.record({
  kind: fc.constantFrom('put', 'update', 'insert', 'replace', 'delete'),
  id: fc.constantFrom(...IDS),
  values: values as fc.Arbitrary<Values>,
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** What is stored, as the rules say it: undefined leaves a value alone, null removes it. */
class NoteModel {
  readonly notes = new Map<string, Values>();

  /** The code of the error that the step must fail with. */
  apply({ kind, id, values: given }: Step): string | undefined {
    const before = this.notes.get(id);
    if (kind === 'delete') this.notes.delete(id);
    if (kind === 'delete') return undefined;
    if (kind === 'insert' && before !== undefined) return 'ERR_CONFLICT';
    const says = Object.values(given).some((value) => value !== undefined);
    if (kind === 'update' && !says) return 'ERR_QUERY';
    if (kind === 'update' && before === undefined) return 'ERR_NOT_FOUND';
    const after: Values = kind === 'replace' ? {} : { ...before };
    for (const name of NAMES) {
      const value = given[name];
      if (value === null) delete after[name];
      else if (value !== undefined) after[name] = value;
    }
    this.notes.set(id, after);
    return undefined;
  }
}

describe('random programs', () => {
  let db: TestDatabase;
  let notes: Repository<typeof Note>;

  beforeAll(async () => {
    db = await openTestDatabase([Note, Item]);
    notes = db.repository(Note);
  });
  afterAll(() => db.dispose());

  async function runStep(run: string, { kind, id, values: given }: Step): Promise<string | undefined> {
    const key = { run, id };
    const whole = { ...key, ...given } as Note;
    try {
      if (kind === 'put') await notes.put(whole);
      else if (kind === 'insert') await notes.insert(whole);
      else if (kind === 'replace') await notes.replace(whole);
      else if (kind === 'update') await notes.update(key, given as never);
      else await notes.delete(key);
      return undefined;
    } catch (error) {
      return (error as { code: string }).code;
    }
  }

  const stored = (note: Note): Values =>
    Object.fromEntries(NAMES.map((name) => [name, note[name]]).filter(([, value]) => value !== undefined));

  test('null, undefined and empty values of every field mean what they mean, wherever they are given', async () => {
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
        const run = `${process.pid}-${runs++}`;
        const model = new NoteModel();
        for (const one of steps) {
          expect(await runStep(run, one)).toBe(model.apply(one));
          const found = await notes.get({ run, id: one.id });
          expect(found === null ? undefined : stored(found)).toEqual(model.notes.get(one.id));
        }
        const found = await notes.find({ run }).all();
        expect(found.map(({ id }) => id)).toEqual(IDS.filter((id) => model.notes.has(id)));
        for (const name of NAMES) {
          const absent = IDS.filter((id) => model.notes.has(id) && !(name in model.notes.get(id)!));
          const present = IDS.filter((id) => model.notes.has(id) && name in model.notes.get(id)!);
          const ids = async (where: object): Promise<string[]> =>
            (await notes.find({ run }).where(where).all()).map(({ id }) => id);
          expect(await ids({ [name]: { exists: false } })).toEqual(absent);
          expect(await ids({ [name]: { exists: true } })).toEqual(present);
          if (name === 'j') continue;
          expect(await ids({ [name]: null })).toEqual(absent);
          expect(await ids({ [name]: { ne: null } })).toEqual(present);
          expect(() => notes.find({ run }).where({ [name]: undefined })).toThrow(/is undefined/);
        }
        expect(await notes.find({ run }).where({ s: '' }).count()).toBe(
          [...model.notes.values()].filter(({ s }) => s === '').length,
        );
      }),
      { numRuns: onServer ? 15 : scaled(8, 60, 600) },
    );
  });

  test('pages of any size lose and repeat nothing that stays, whatever is written in between', async () => {
    const items = db.repository(Item);
    const steady = Array.from({ length: 60 }, (_, i) => i * 10);
    await items.putMany(steady.map((n) => ({ n, kind: n % 20 === 0 ? 'even' : 'odd' })));
    const change = fc.record({ n: fc.integer({ min: 0, max: 599 }), kind: fc.constantFrom('even', 'odd') });
    const asked = fc.record({
      size: fc.integer({ min: 1, max: 25 }),
      reverse: fc.boolean(),
      filtered: fc.boolean(),
      projected: fc.boolean(),
      changes: fc.array(fc.array(change, { maxLength: 3 }), { maxLength: 12 }),
    });
    await fc.assert(
      fc.asyncProperty(asked, async ({ size, reverse, filtered, projected, changes }) => {
        let query = items.find({ n: { lt: 600 } });
        if (filtered) query = query.where({ kind: 'even' });
        if (reverse) query = query.reverse();
        const seen: number[] = [];
        let cursor: string | undefined;
        for (let turn = 0; turn === 0 || cursor !== undefined; turn++) {
          const at = { size, ...(cursor === undefined ? {} : { cursor }) };
          // A selection without the filtered column, and without any part of the key.
          const page = projected ? await query.select('extra').page(at) : await query.page(at);
          seen.push(...page.items.map(({ n }) => n));
          cursor = page.cursor;
          for (const { n, kind } of changes[turn] ?? []) {
            if (n % 10 === 0) continue;
            if (await items.exists({ n })) await items.delete({ n });
            else await items.put({ n, kind });
          }
        }
        expect(new Set(seen).size).toBe(seen.length);
        const wanted = steady.filter((n) => !filtered || n % 20 === 0);
        expect(seen.filter((n) => n % 10 === 0)).toEqual(reverse ? wanted.toReversed() : wanted);
        expect(seen).toEqual([...seen].sort((a, b) => (reverse ? b - a : a - b)));
      }),
      { numRuns: onServer ? 15 : scaled(8, 60, 600) },
    );
  });
});

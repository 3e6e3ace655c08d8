/** Rows of which one moves among the entries of indexes, and every form of query that reads them. */

import { expect } from 'vitest';
import { Column, Entity, Index, Json, part, RowKey, salt, Table } from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import type { Repository } from '../../src/repository/index.js';

@Table({ name: 'moving', families: { d: {} } })
class Moving {}

@Entity({ table: Moving })
@RowKey(part('id'))
@Index('byState', [part('state'), part('at', int32)])
@Index('covering', [part('state'), part('at', int32)], { include: ['note'] })
@Index('spread', [salt(3, ['at']), part('at', int32)])
@Index('byCode', [part('code')], { unique: true })
@Index('byTag', [part('tags', text)])
export class Job {
  declare static readonly key: ['id'];
  declare static readonly indexes: {
    byState: ['state', 'at'];
    covering: ['state', 'at'];
    spread: ['at'];
    byCode: ['code'];
    byTag: ['tags'];
  };
  id!: string;
  @Column('d:s', text) state!: string;
  @Column('d:a', int32) at!: number;
  @Column('d:n', text) note!: string;
  @Column('d:c', text) code?: string | null;
  @Json('d:t') tags?: string[];
}

export type Jobs = Repository<typeof Job>;
/** The row that moves stands between others, or at one of the ends. */
const STAY = [10, 20, 30, 40, 90];

export async function fill(jobs: Jobs, at: number): Promise<void> {
  await jobs.putMany([
    ...STAY.map((place) => ({
      id: `s${place}`,
      state: place > 20 ? 'b' : 'a',
      at: place,
      note: 'n',
      code: codeOf(place),
      tags: ['t1', 't3'],
    })),
    { id: 'moves', state: at > 25 ? 'b' : 'a', at, note: 'n', code: codeOf(at), tags: tagsAt(at) },
  ]);
}

/** In the order of the places. */
function codeOf(at: number): string {
  return `c${100 + at}`;
}

/** The tags of the row that moves: none of them stays. */
const tagsAt = (at: number): string[] => (at > 25 ? ['t0'] : ['t3', 't4']);

export const move = (jobs: Jobs, at: number) =>
  jobs.update({ id: 'moves' }, { state: at > 25 ? 'b' : 'a', at, code: codeOf(at), tags: tagsAt(at) });

const IDS = ['moves', 's10', 's20', 's30', 's40', 's90'];
const BOTH = ['a', 'b'];
export const CODES: readonly string[] = [5, 10, 15, 20, 25, 30, 35, 40, 45, 90].map(codeOf);

type Found = readonly Readonly<Partial<Job>>[];

/** Each row once; by the parts that they were read with in the order of the index. */
function expectOnce(
  rows: Found,
  say: string,
  order: (row: Readonly<Partial<Job>>) => string | number = (row) => row.at!,
  ids: readonly string[] = IDS,
) {
  expect(rows.map(({ id }) => id).sort(), say).toEqual(ids);
  const places = rows.map(order);
  expect(places, say).toEqual([...places].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0)));
}

const stateAndPlace = ({ state, at }: Readonly<Partial<Job>>) => `${state}${100 + at!}`;

/** Every form of asking that reads an index. */
export const FORMS: Readonly<Record<string, (jobs: Jobs, say: string) => Promise<void>>> = {
  all: async (jobs, say) =>
    expectOnce(
      await jobs
        .by('byState')
        .find({ state: { in: BOTH } })
        .all(),
      say,
      stateAndPlace,
    ),
  'all of a merge': async (jobs, say) =>
    expectOnce(
      await jobs
        .by('spread')
        .find({ at: { gte: 0 } })
        .all(),
      say,
    ),
  'all, reversed': async (jobs, say) =>
    expectOnce(
      (
        await jobs
          .by('spread')
          .find({ at: { gte: 0 } })
          .reverse()
          .all()
      ).reverse(),
      say,
    ),
  'all by unique values': async (jobs, say) =>
    expectOnce(
      await jobs
        .by('byCode')
        .find({ code: { in: CODES } })
        .all(),
      say,
      ({ code }) => code!,
    ),
  'all of a list': async (jobs, say) =>
    expect(
      (
        await jobs
          .by('byTag')
          .find({ tags: { gte: 't0' } })
          .all()
      )
        .map(({ id }) => id)
        .sort(),
      say,
    ).toEqual(IDS),
  first: async (jobs, say) =>
    expect(
      (
        await jobs
          .by('byState')
          .find({ state: { in: BOTH } })
          .where({ id: 'moves' })
          .first()
      )?.id,
      say,
    ).toBe('moves'),
  count: async (jobs, say) =>
    expect(
      await jobs
        .by('byState')
        .find({ state: { in: BOTH } })
        .count(),
      say,
    ).toBe(6),
  exists: async (jobs, say) =>
    expect(
      await jobs
        .by('spread')
        .find({ at: { gte: 0 } })
        .where({ id: 'moves' })
        .exists(),
      say,
    ).toBe(true),
  'a page forward': async (jobs, say) =>
    expectOnce(
      (
        await jobs
          .by('spread')
          .find({ at: { gte: 0 } })
          .page({ size: 9 })
      ).items,
      say,
    ),
  'a page backward': async (jobs, say) => {
    const query = jobs.by('spread').find({ at: { gte: 0 } });
    const all = await query.page({ size: 9 });
    const last = all.items.findIndex(({ id }) => id === 's90');
    const { items } = await query.page({ size: 9, cursor: all.cursorAt(last), back: true });
    expectOnce(items, say, undefined, IDS.slice(0, -1));
  },
  where: async (jobs, say) =>
    expectOnce(
      await jobs
        .find({})
        .where({ state: { in: BOTH }, at: { gte: 0 }, note: { in: ['n', 'm'] } })
        .all(),
      say,
      stateAndPlace,
    ),
  covered: async (jobs, say) =>
    expectOnce(
      await jobs
        .by('covering')
        .find({ state: { in: BOTH } })
        .select('state', 'at', 'note')
        .all(),
      say,
      stateAndPlace,
    ),
  'for await': async (jobs, say) => {
    const ids: string[] = [];
    for await (const { id } of jobs.by('spread').find({ at: { gte: 0 } })) ids.push(id);
    expect(ids.sort(), say).toEqual(IDS);
  },
  groupBy: async (jobs, say) => {
    const groups = await jobs
      .by('byState')
      .find({ state: { in: BOTH } })
      .groupBy('state')
      .count();
    expect(
      groups.reduce((sum, { count }) => sum + count, 0),
      say,
    ).toBe(6);
  },
  aggregate: async (jobs, say) =>
    expect(
      await jobs
        .by('spread')
        .find({ at: { gte: 0 } })
        .aggregate((on) => ({ n: on.count() })),
      say,
    ).toEqual({ n: 6 }),
  updateAll: async (jobs, say) => {
    const { changed } = await jobs
      .find({})
      .where({ state: { in: BOTH }, at: { gte: 0 } })
      .updateAll({ note: 'm' }, { recheck: false });
    expect(changed, say).toBe(6);
  },
  'updateAll by name': async (jobs, say) => {
    const query = jobs.by('byState').find({ state: { in: BOTH } });
    const { changed } = await query.updateAll({ note: 'm' }, { batch: 2 });
    expect(changed, say).toBe(6);
  },
  'updateAll of the part that is read': async (jobs, say) => {
    const query = jobs
      .by('spread')
      .find({ at: { gte: 0 } })
      .where({ id: { startsWith: 's' } });
    const { changed } = await query.updateAll({ state: 'b' }, { batch: 2 });
    expect(changed, say).toBe(5);
  },
};

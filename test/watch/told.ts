/** Writes of rows whose changes are told, and what must hold of the feed where one step is one row: for suites of both engines. */

import { expect } from 'vitest';
import { Column, Entity, Index, part, RowKey, recordType } from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import type { Database } from '../../src/database.js';
import { BUCKETS, bucketOf } from '../../src/features/changes/log-rows.js';
import type { ChangeCommit, WatchOptions } from '../../src/index.js';
import { canonicalTableName } from '../../src/table/index.js';
import type { Program } from '../proof/stepless.js';
import { Random } from '../query/model/random.js';

const HOUR = 3600_000;
const table = { name: 'told_wares', families: { d: {}, e: {}, m: {} } };

@Entity({ table, recordType: 1, changes: { keep: HOUR, marks: 'm' } })
@RowKey(part('shop'), recordType(), part('no'))
export class Ware {
  declare static readonly key: ['shop', 'no'];
  shop!: string;
  no!: string;
  @Column('d:s', text) status?: string | null;
  @Column('e:n', int32) count?: number | null;
}

/** Of the same table, with an index beside. */
@Entity({ table, recordType: 2, changes: { keep: 2 * HOUR, marks: 'm' } })
@RowKey(part('shop'), recordType(), part('no'))
@Index('byStatus', [part('status')])
export class Piece {
  declare static readonly key: ['shop', 'no'];
  declare static readonly indexes: { byStatus: ['status'] };
  shop!: string;
  no!: string;
  @Column('d:s', text) status?: string | null;
}

export const told = [Ware, Piece];
type Watchable = typeof Ware | typeof Piece;

/** What a reader makes of what it is told, where a crash of it does not reach. */
export class Replay {
  constructor(
    readonly rows: Map<string, object> = new Map(),
    public position = 'start',
    /** Whether it may be told again, at its beginning, what was under way then. */
    private readonly mayRepeat = false,
  ) {}

  /** Each image before is what it had. */
  private apply({ changes, position }: ChangeCommit<Watchable>, when: string): void {
    for (const { entity, key, operation, before, after } of changes) {
      const name = `${entity.name} ${key.shop} ${key.no}`;
      if (!this.mayRepeat) expect(before, `${when}: ${name}`).toEqual(this.rows.get(name));
      expect(operation).toBe(before === undefined ? 'insert' : after === undefined ? 'delete' : 'update');
      if (after === undefined) this.rows.delete(name);
      else this.rows.set(name, after);
    }
    this.position = position;
  }

  /** Reads what was written before the rows of {@link writeEnds}, cut off behind every `most`-th commit; or until it is aborted. */
  async follow(
    db: Database,
    end: string,
    when: string,
    { most = Number.POSITIVE_INFINITY, ...given }: WatchOptions & { readonly most?: number } = {},
  ): Promise<void> {
    const isOver = (): boolean => endKeys(db).every(({ no }) => this.status(`Ware end ${no}`) === end);
    while (!isOver()) {
      let left = most;
      try {
        for await (const commit of db.watch([Ware, Piece], {}, { ...given, from: this.position })) {
          this.apply(commit, when);
          if (isOver() || --left === 0) break;
        }
      } catch (error) {
        if (given.signal?.aborted === true && (error as { code?: string }).code === 'ERR_ABORTED') return;
        throw error;
      }
    }
  }

  private status(name: string): string | null | undefined {
    return (this.rows.get(name) as Ware | undefined)?.status;
  }
}

/** A key in each bucket of the log: their rows, written last, are told last. */
function endKeys(db: Database): { shop: string; no: string }[] {
  const { mapper } = db.repository(Ware).schema;
  const found = new Map<number, { shop: string; no: string }>();
  for (let i = 0; found.size < BUCKETS; i++) {
    const key = { shop: 'end', no: `${i}` };
    const bucket = bucketOf(canonicalTableName(table.name), mapper.rowOf(key));
    if (!found.has(bucket)) found.set(bucket, key);
  }
  return [...found.values()];
}

function writeEnds(db: Database, end: string): Promise<unknown> {
  return db.repository(Ware).putMany(endKeys(db).map((key) => ({ ...key, status: end })));
}

export async function storedRows(db: Database): Promise<Map<string, object>> {
  const wares = await db.repository(Ware).find({}, { fullScan: true }).all();
  const pieces = await db.repository(Piece).find({}, { fullScan: true }).all();
  return new Map([...wares, ...pieces].map((one) => [`${one.constructor.name} ${one.shop} ${one.no}`, one]));
}

/** What was told makes the rows that are there. */
export async function expectReplayed(
  db: Database,
  replay: Replay,
  when: string,
  options: WatchOptions = {},
): Promise<void> {
  await writeEnds(db, when);
  await replay.follow(db, when, when, options);
  expect(replay.rows, when).toEqual(await storedRows(db));
}

const key = (no: number) => ({ shop: 'a', no: `${no}` });

export const WRITES: Readonly<Record<string, (db: Database) => Promise<unknown>>> = {
  insert: (db) => db.repository(Ware).insert({ ...key(6), status: 'new' }),
  put: (db) => db.repository(Ware).put({ ...key(1), status: 'put', count: 2 }),
  replace: (db) => db.repository(Ware).replace({ ...key(2), status: 'replaced' }),
  update: (db) => db.repository(Piece).update(key(1), { status: 'updated' }),
  mutate: (db) => db.repository(Ware).mutate(key(3), (row) => row.set({ count: 9 }).unset('status')),
  delete: (db) => db.repository(Ware).delete(key(4)),
  again: async (db) => {
    await db.repository(Ware).delete(key(5));
    await db.repository(Ware).insert({ ...key(5), status: 'again' });
  },
  batch: (db) =>
    db.batch((batch) => {
      batch.of(Ware).put({ ...key(7), status: 'batch' });
      batch.of(Piece).delete(key(2));
      batch.of(Ware).put({ ...key(1), status: 'batch' });
    }),
};

/** What the writes begin with. */
export async function prepareTold(db: Database): Promise<void> {
  const wares = db.repository(Ware);
  await wares.putMany([1, 2, 3, 4, 5].map((no) => ({ ...key(no), status: `${no}`, count: no })));
  await wares.delete(key(6));
  await wares.delete(key(7));
  await db.repository(Piece).putMany([1, 2].map((no) => ({ ...key(no), status: `${no}` })));
}

/**
 * Has programs end after their calls, every `stride`-th of each kind of write: what is told is what has happened, and whoever writes
 * the rows next, or reads first, finds out what that was.
 */
export async function endToldAfterCalls(
  db: Database,
  program: () => Promise<Program>,
  stride: number,
): Promise<number> {
  const replay = new Replay();
  let died = 0;
  for (const [place, [name, write]] of Object.entries(WRITES).entries()) {
    for (let after = (place * 5) % stride; ; after += stride) {
      await prepareTold(db);
      const { db: own, mortal } = await program();
      mortal.dieAfter(after);
      await write(own).catch((error: { code?: string }) => expect(error.code).toBe('ERR_CONNECTION'));
      const when = `${name}, ended after ${after}`;
      // One way or the other: others write the rows before anybody reads, or behind it.
      if (after % 2 === 1) await WRITES[name]!(db).catch(expectRefused);
      await expectReplayed(db, replay, when, { settledAfter: 0 });
      if (!mortal.isDead) break;
      died++;
    }
  }
  // From the first on, by somebody who begins now.
  await expectReplayed(db, new Replay(), 'late', { settledAfter: 0 });
  return died;
}

/** By a row that is there, or by others, each time. */
export function expectRefused(error: { code?: string }): void {
  expect(error.code).toBe('ERR_CONFLICT');
}

/** Writers of the same rows at once, in some programs, and readers beside them: what each was told makes the rows that are there. */
export async function writeToldAtOnce(
  databases: readonly Database[],
  goesOn: (writes: number) => boolean,
  writers = 16,
): Promise<void> {
  const [first] = databases as [Database];
  const write = async (db: Database, seed: number): Promise<void> => {
    const random = new Random(seed);
    for (let i = 0; goesOn(i); i++) {
      const own = key(random.below(6));
      const status = random.pick(['x', 'y', 'z', null]);
      const wares = db.repository(random.pick([Ware, Piece]) as typeof Ware);
      const sort = random.below(9);
      const done: Promise<unknown> =
        sort < 3
          ? wares.delete(own)
          : sort < 5
            ? wares.put({ ...own, status })
            : sort === 5
              ? wares.insert({ ...own, status })
              : sort === 6
                ? wares.putMany([0, 1, 2].map((no) => ({ ...key(no), status })))
                : sort === 7
                  ? wares.find({ shop: 'a' }).updateAll({ status })
                  : wares.upsert({ ...own, status }, { status });
      await done.catch(expectRefused);
    }
  };
  const writing = Promise.all(
    Array.from({ length: writers }, (_, writer) => write(databases[writer % databases.length]!, writer + 1)),
  );
  // One waits for writers; the others make slow ones begin anew, until all have written.
  const readers = databases.map(() => new Replay());
  const hurry = new AbortController();
  const reading = readers.map(async (one, i) => {
    const db = databases[i]!;
    if (i > 0)
      await one.follow(db, 'written', `reader ${i}`, {
        settledAfter: 100 * i,
        signal: hurry.signal,
        most: 7,
      });
    await one.follow(db, 'written', `reader ${i}`, { most: 7 });
  });
  const written = writing.finally(() => hurry.abort()).then(() => writeEnds(first, 'written'));
  await Promise.all([written, ...reading]);
  for (const [i, one] of readers.entries()) await expectReplayed(first, one, `reader ${i}`);
}

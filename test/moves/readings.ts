/** Reads in every way what two databases must answer alike. */

import type { Database } from '../../src/database.js';
import type { KeyedClass } from '../../src/schema/entity-types.js';

export type Condition = Record<string, unknown>;

/** The columns that are read in special ways. */
interface ReadColumns {
  /** Two columns that are selected together, one that is selected alone. */
  readonly some: readonly [string, string];
  readonly narrow: string;
  /** A number, which is added up and sorted by. */
  readonly number: string;
  /** A text, which is grouped by. */
  readonly text: string;
}

/** Of entities with a key of the parts `a` and `b`. */
export async function readings(
  db: Database,
  target: KeyedClass,
  condition: Condition,
  { some, narrow, number, text }: ReadColumns,
): Promise<Record<string, unknown>> {
  const rows = db.repository(target);
  const all = () => rows.find({} as never, { fullScan: true });
  const met = () => all().where(condition as never);
  const key = { a: 'x', b: '1' } as never;
  return {
    streamed: await gathered(met()),
    all: await all().all(),
    where: await met().all(),
    some: await met()
      .select(...([...some] as never[]))
      .limit(3)
      .all(),
    narrow: await all()
      .select(narrow as never)
      .all(),
    count: await met().count(),
    sum: await all().sum(number as never),
    max: await all().max(text as never),
    groups: await all()
      .groupBy(text as never)
      .count(),
    sorted: await all()
      .orderBy(number as never)
      .all({ max: 100 } as never),
    reverse: await all().reverse().limit(2).all(),
    inside: await db.transaction(async (tx) => [
      await tx.repository(target).get(key),
      await tx
        .repository(target)
        .find({} as never, { fullScan: true })
        .where(condition as never)
        .all(),
    ]),
    get: await rows.get(key),
    getMany: await rows.getMany([key, { a: 'y', b: '2' } as never, key]),
    exists: await rows.exists(key),
  };
}

export async function gathered<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** Entities as JSON has them, so that those of two classes can be compared. */
export function plain(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value ?? null, (_, inner: unknown) => {
      if (inner instanceof Map) return [...inner];
      return typeof inner === 'bigint' ? `${inner}n` : inner;
    }),
  );
}

/** A reader of a change feed that goes on under other keys where its feed ends, and what it has been told of the rows. */

import { expect } from 'vitest';
import { defineEntity, defineTable } from '../../decorators/index.js';
import { int53 } from '../../src/codec/index.js';
import type { Database } from '../../src/database.js';
import { part } from '../../src/key/index.js';
import type { KeyedClass } from '../../src/schema/entity-types.js';

/** Of entities whose changes are told, on any engine. */
export const CHANGES = { changes: { keep: 3600_000, marks: 'm' } };

/** Rows that are written last, so that a reader knows when it has come so far. */
export const FeedEnd = defineEntity({
  name: 'FeedEnd',
  table: defineTable({ name: 'feed_ends', families: { d: {}, m: {} } }),
  key: [part('id')],
  columns: (c) => ({ n: c.column('d:n', int53) }),
  ...CHANGES,
});

/** An id of each bucket of the log on HBase (followed.test.ts holds it): what was written before it is told before it. */
export const END_IDS: readonly string[] = [
  '0',
  '1',
  '2',
  '3',
  '4',
  '5',
  '6',
  '8',
  '9',
  '10',
  '12',
  '16',
  '17',
  '21',
  '56',
  '62',
];

type Image = Readonly<Record<string, unknown>>;

/** The part of the key that tells rows apart. */
const nameOf = ({ b, id }: Image): string => String(b ?? id);

/** What an image says, whatever its key is. */
function textOf(image: Image | undefined): string | undefined {
  if (image === undefined) return undefined;
  const values = Object.entries(image).filter(([, value]) => value !== undefined && value !== null);
  return values
    .map(([name, value]) => `${name}=${value instanceof Map ? [...value].sort().join() : String(value)}`)
    .sort()
    .join(' ');
}

export class Reader {
  /** What it was told last of each row, by `b` or `id`. */
  readonly rows = new Map<string, string>();
  position = 'start';
  private static ends = 0;

  /** @param others the entities under other keys. */
  constructor(
    public entity: KeyedClass,
    private readonly others: readonly KeyedClass[],
    private readonly settledAfter = 0,
  ) {}

  /** Reads all that was written before the call, under other keys where the feed ends. */
  async catchUp(db: Database, where: string): Promise<void> {
    const n = ++Reader.ends;
    await db.repository(FeedEnd).putMany(END_IDS.map((id) => ({ id, n })));
    const left = new Set(END_IDS);
    while (left.size > 0) {
      const { position: from, settledAfter } = this;
      const feed = db.watch([this.entity, FeedEnd as KeyedClass], {}, { from, settledAfter });
      try {
        for await (const { changes, position } of feed) {
          this.position = position;
          for (const change of changes) {
            const { entity, before, after } = change as {
              readonly entity: unknown;
              readonly before: Image | undefined;
              readonly after: Image | undefined;
            };
            if (entity !== FeedEnd) this.apply(before, after, where);
            else if (after?.['n'] === n) left.delete(after['id'] as string);
          }
          if (left.size === 0) break;
        }
      } catch (error) {
        const { code, details } = error as { code?: string; details?: { other?: string } };
        expect(code, `${where}: ${String(error)}`).toBe('ERR_FEED_ENDED');
        this.position = feed.position;
        this.entity = this.others.find(({ name }) => name === details?.other)!;
      }
    }
  }

  private apply(before: Image | undefined, after: Image | undefined, where: string): void {
    const name = nameOf((after ?? before)!);
    expect(textOf(before), `${where}: ${name} before`).toBe(this.rows.get(name));
    if (after === undefined) this.rows.delete(name);
    else this.rows.set(name, textOf(after)!);
  }

  /** Holds what it was told against the rows. Nobody may write meanwhile. */
  async check(db: Database, target: KeyedClass, where: string): Promise<void> {
    await this.catchUp(db, where);
    const all = await db
      .repository(target)
      .find({} as never, { fullScan: true })
      .all();
    const found = (all as unknown as Image[]).map((row) => [nameOf(row), textOf(row)!] as const);
    const byName = (all: Iterable<readonly [string, string]>) =>
      [...all].sort(([a], [b]) => (a < b ? -1 : 1));
    expect(byName(this.rows), where).toEqual(byName(found));
  }
}

/** What lives of a database declare, each anew, and the change feed that is followed through all of them. */

import { type ColumnBuilder, defineEntity, defineTable } from '../../decorators/index.js';
import { avro, bytes, int32, text } from '../../src/codec/index.js';
import type { Database } from '../../src/database.js';
import { RowanError } from '../../src/errors.js';
import { type KeyElement, part, salt } from '../../src/key/index.js';
import type { KeyedClass } from '../../src/schema/entity-types.js';
import type { Random } from '../query/model/random.js';
import { numberOf, passed } from './derived.js';

/** Forms of an index by name: one of them is declared, or none. */
const INDEXES: Readonly<Record<string, readonly object[]>> = {
  byA: [{ on: [part('a', text)] }, { on: [part('a', text)], include: ['n'] }, { on: [part('n', int32)] }],
  soon: [
    { on: [part('a', text)], consistency: 'eventual' },
    { on: [part('n', int32), part('a', text)], consistency: 'eventual' },
    { on: [part('a', text)] },
  ],
  some: [
    { on: [part('n', int32)], where: { a: 'x' } },
    { on: [part('n', int32)], where: { a: 'y' } },
  ],
};
const SUMMARIES: Readonly<Record<string, readonly object[]>> = {
  perA: [
    { by: ['a'], figures: { rows: 'count' } },
    { by: ['a'], figures: { rows: 'count', total: { sum: 'n' } } },
    { by: [], figures: { rows: 'count' }, where: { a: 'x' } },
  ],
};

const forms = (name: string): readonly unknown[] => INDEXES[name] ?? SUMMARIES[name]!;

function drawForms(random: Random, all: Readonly<Record<string, readonly object[]>>): object {
  const drawn = Object.entries(all).flatMap(([name, each]) =>
    random.chance(0.65) ? [[name, random.pick(each)] as const] : [],
  );
  return Object.fromEntries(drawn);
}

export interface Declared {
  readonly old: KeyedClass;
  readonly now: KeyedClass;
  readonly shown: string;
}

const NoteType = avro.record('Note', { s: avro.string, n: avro.int });

/** What is the same in all lives. */
export interface Kept {
  readonly ends: boolean;
  readonly told: boolean;
  /** Whether rows have Avro values, bytes and Maps too. */
  readonly wide: boolean;
  /** What the names of tables begin with. */
  readonly prefix: string;
}

export function declare(random: Random, { ends, told, wide, prefix }: Kept): Declared {
  let shown = '';
  const entity = (name: string, key: readonly KeyElement[]): KeyedClass => {
    const drawn = { indexes: drawForms(random, INDEXES), summaries: drawForms(random, SUMMARIES) };
    shown += ` ${name} ${Object.entries({ ...drawn.indexes, ...drawn.summaries })
      .map(([of, form]) => `${of}:${forms(of).indexOf(form)}`)
      .join(' ')}`;
    return defineEntity({
      name,
      table: defineTable({ name: `${prefix}${name.toLowerCase()}`, families: { d: {}, e: {} } }),
      key,
      columns: (c: ColumnBuilder<string>) => ({
        a: c.column('d:a', text).optional(),
        n: c.column('e:n', int32),
        ...(ends && { ttl: c.ttl() }),
        ...(wide && {
          note: c.avro('d:o', NoteType).optional(),
          blob: c.column('e:b', bytes).optional(),
          map: c.columns('e:m.', { key: text, value: int32 }),
        }),
      }),
      ...(told && { changes: { keep: 1000 * 86_400_000 } }),
      ...drawn,
    } as never) as unknown as KeyedClass;
  };
  const [old, now] = [entity('Olds', [part('id')]), entity('News', [salt(4), part('id')])];
  return { old, now, shown };
}

interface Commit {
  readonly changes: readonly { readonly key: { readonly id: string }; readonly after?: object }[];
}

/** What a reader of the feed knows of the rows: `n` by id. It goes on with the other entity where a feed ends. */
export class Told {
  private readonly rows = new Map<string, number>();
  private position: string | undefined;
  private reads: 'old' | 'now' = 'old';

  /** @param isOther Whether the store is another one, with its own numbers of commits. */
  async follow(
    db: Database,
    declared: Declared,
    stored: ReadonlyMap<string, number>,
    target: 'old' | 'now',
    isOther: boolean,
  ): Promise<ReadonlyMap<string, number>> {
    if (isOther) this.position = undefined;
    if (this.position === undefined) {
      this.reads = target;
      await using feed = db.watch(declared[target] as never);
      this.position = feed.position;
      this.rows.clear();
      for (const [id, n] of stored) this.rows.set(id, n);
    } else await this.read(db, declared);
    return this.rows;
  }

  private async read(db: Database, declared: Declared): Promise<void> {
    const { last } = db.engine.commits!;
    for (let ends = 0; ends < 2; ends++) {
      await using feed = db.watch(declared[this.reads] as never, {} as never, { from: this.position! });
      const commits = feed[Symbol.asyncIterator]();
      let hasEnded = false;
      try {
        while (numberOf(feed.position) < last) {
          const next = commits.next().then(({ value }) => value as Commit);
          const isPassed = () => hasEnded || numberOf(feed.position) >= last;
          const commit = await Promise.race([next, passed(isPassed)]);
          if (commit === undefined) break;
          for (const { key, after } of commit.changes) {
            if (after === undefined) this.rows.delete(key.id);
            else this.rows.set(key.id, (after as { readonly n: number }).n);
          }
        }
        this.position = feed.position;
        return;
      } catch (error) {
        hasEnded = true;
        if (!(error instanceof RowanError) || error.code !== 'ERR_FEED_ENDED') throw error;
        this.position = feed.position;
        this.reads = this.reads === 'old' ? 'now' : 'old';
      }
    }
  }
}

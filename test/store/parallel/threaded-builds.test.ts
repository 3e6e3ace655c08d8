/** Threads that read a table for an index make its entries, too: those that one thread makes, of the rows that they can tell. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Column, Entity, Index, part, RowKey } from '../../../decorators/index.js';
import { boolean, bytes, date, float64, int32, int53, int64, text } from '../../../src/codec/index.js';
import { type Database, open } from '../../../src/database.js';
import { EntityIndexes } from '../../../src/features/indexes/entity-indexes.js';
import { derivedEntries } from '../../../src/features/indexes/jobs/derived-entries.js';
import { entityIndexes } from '../../../src/features/indexes/query/access.js';
import { desc, literal, salt, uint32 } from '../../../src/key/index.js';
import { compileSchema } from '../../../src/mapper/index.js';
import type { EmbeddedEngine } from '../../../src/store/engine.js';
import { Put, Scan } from '../../../src/table/index.js';
import { scaled } from '../../proof/scale.js';

@Entity({ table: { name: 'stops', families: { d: {}, e: {} } } })
@RowKey(literal('s'), part('line'), desc(part('at', date)), part('no', uint32))
@Index('byName', [part('name'), desc(part('note'))], { include: ['weight', 'name', 'blob'] })
@Index('byBlob', [part('blob', bytes), desc(part('weight', int32)), part('open', boolean)])
@Index('bySeen', [desc(part('seen', date)), part('total', int64)], { include: ['note'] })
@Index('bySalt', [salt(3), part('name')])
@Index('byLine', [part('line'), part('name')])
@Index('byRate', [part('rate', float64)])
// Entries hold other bytes than the column.
@Index('byWide', [part('weight', int53)])
@Index('byCode', [part('code')], { unique: true })
class Stop {
  declare static readonly key: ['line', 'at', 'no'];
  declare static readonly indexes: {
    byName: ['name', 'note'];
    byBlob: ['blob', 'weight', 'open'];
    bySeen: ['seen', 'total'];
    bySalt: ['name'];
    byLine: ['line', 'name'];
    byRate: ['rate'];
    byWide: ['weight'];
    byCode: ['code'];
  };
  line!: string;
  at!: Date;
  no!: number;
  @Column('d:n', text) name?: string | null;
  @Column('e:o', text) note?: string | null;
  @Column('e:b', bytes) blob?: Uint8Array | null;
  @Column('d:w', int32) weight?: number | null;
  @Column('d:p', boolean) open?: boolean | null;
  @Column('d:s', date) seen?: Date | null;
  @Column('d:t', int64) total?: bigint | null;
  @Column('d:r', float64) rate?: number | null;
  @Column('d:c', text) code?: string | null;
}

const MADE = ['byBlob', 'byName', 'bySeen'] as const;

type Store = Database & { readonly engine: EmbeddedEngine };

async function withStore(body: (db: Store) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'rowan-threads-'));
  const db = await open({ path: join(folder, 'store'), entities: [Stop], durability: 'ASYNC_WAL' });
  try {
    await body(db as Store);
  } finally {
    await db.close();
    rmSync(folder, { recursive: true });
  }
}

const texts = fc.option(
  fc.oneof(fc.constantFrom('', 'a', 'a\0', '\0\u{1}', 'ä', '\u{1f600}b'), fc.string({ maxLength: 9 })),
);
const stops = fc.array(
  fc.record({
    line: fc.constantFrom('', 'x', 'x\0y', 'ü'),
    at: fc.constantFrom(new Date(0), new Date(-5), new Date(1e12)),
    no: fc.nat(300),
    name: texts,
    note: texts,
    blob: fc.option(fc.uint8Array({ maxLength: 4 })),
    weight: fc.option(fc.integer({ min: -2147483648, max: 2147483647 })),
    open: fc.option(fc.boolean()),
    seen: fc.option(fc.date({ noInvalidDate: true })),
    total: fc.option(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
  }),
  { maxLength: 60 },
);

/** Rows and values of all entries. */
async function entries(db: Store): Promise<string[]> {
  const found = await db.engine.table('stops_idx').scan(new Scan()).nextBatch(100_000);
  return found.map(
    (row) =>
      `${Buffer.from(row.row).toString('hex')} ${row.cells.map(({ value }) => Buffer.from(value).toString('hex'))}`,
  );
}

async function rebuilt(db: Store, name: (typeof MADE)[number], threads: number) {
  const index = db.index(Stop, name);
  await index.drop();
  return index.build({ threads, restart: true, checkpointRows: 17 }).then(
    ({ rows, counters }) => ({ rows, counters }),
    ({ code, message }: Error & { code?: string }) => ({ code, message }),
  );
}

test('entries that threads make are those of one thread, of any values, in several regions, memory and files', () =>
  withStore(async (db) => {
    const repository = db.repository(Stop);
    await fc.assert(
      fc.asyncProperty(stops, stops, async (first, then) => {
        await repository.putMany(first);
        await db.engine.admin.flush('stops');
        await repository.putMany(then);
        await repository.deleteMany(first.filter((_, i) => i % 3 === 0));
        for (const name of MADE) {
          const one = await rebuilt(db, name, 1);
          const kept = await entries(db);
          expect(await rebuilt(db, name, 2)).toEqual(one);
          expect(await entries(db)).toEqual(kept);
        }
      }),
      { numRuns: scaled(4, 40, 400) },
    );
    await db.engine.admin.split('stops', Buffer.from('sx'));
    for (const name of MADE) {
      const [one, two] = [await rebuilt(db, name, 1), await rebuilt(db, name, 3)];
      expect(two).toEqual(one);
    }
  }));

test('bytes that are no value of their codec, and rows that are none of the entity, fail as with one thread', () =>
  withStore(async (db) => {
    const [key, table] = [{ line: 'x', at: new Date(0), no: 1 }, db.engine.table('stops')];
    await db.repository(Stop).put({
      ...key,
      name: 'n',
      note: 'm',
      open: true,
      blob: Uint8Array.of(0),
      weight: 1,
      seen: new Date(0),
      total: 1n,
    });
    const { row } = (await table.scan(new Scan()).nextBatch(1))[0]!;
    const wrong = [
      ['byName', 'd', 'n', Uint8Array.of(0x6e, 0xff)],
      ['byBlob', 'd', 'w', Uint8Array.of(1, 2, 3)],
      ['byBlob', 'd', 'p', Uint8Array.of(2)],
      ['bySeen', 'd', 's', new Uint8Array(8).fill(0xff)],
    ] as const;
    for (const [name, family, qualifier, value] of wrong) {
      const before = (await table.scan(new Scan()).nextBatch(1))[0]!.getValue(family, qualifier)!;
      await table.put(new Put(row).addColumn(family, qualifier, value));
      const one = await rebuilt(db, name, 1);
      expect(one).toMatchObject({ code: 'ERR_CODEC' });
      expect(await rebuilt(db, name, 2)).toEqual(one);
      await table.put(new Put(row).addColumn(family, qualifier, before));
      expect(await rebuilt(db, name, 2)).toMatchObject({ rows: 1, counters: { entries: 1, rows: 1 } });
    }
    for (const other of [Buffer.from('t'), row.slice(0, -1), Buffer.concat([row, row])]) {
      await db.engine.admin.disableTable('stops');
      await db.engine.admin.truncateTable('stops');
      await table.put(
        new Put(other)
          .addColumn('d', 'n', 'n')
          .addColumn('e', 'o', 'm')
          .addColumn('d', '_', Uint8Array.of(0)),
      );
      const one = await rebuilt(db, 'byName', 1);
      expect(await rebuilt(db, 'byName', 2)).toEqual(one);
    }
  }));

test('a build by threads that was ended goes on behind its checkpoint, to the same entries', () =>
  withStore(async (db) => {
    const repository = db.repository(Stop);
    await repository.putMany(
      Array.from({ length: 900 }, (_, no) => ({
        line: 'x',
        at: new Date(0),
        no,
        name: `n${no % 7}`,
        note: `${no}`,
      })),
    );
    await rebuilt(db, 'byName', 1);
    const kept = await entries(db);
    const index = db.index(Stop, 'byName');
    await index.drop();
    const dropped = (await entries(db)).length;
    const ended = new AbortController();
    const options = { threads: 2, parallel: 1, checkpointRows: 100 };
    // Of checkpoints, and of the header and the claim before them.
    let states = 0;
    const unobserve = db.engine.observe('rowan_jobs', {
      before() {
        if (++states === 6) ended.abort();
        return undefined;
      },
    });
    await expect(index.build({ ...options, signal: ended.signal })).rejects.toMatchObject({
      code: 'ERR_ABORTED',
    });
    unobserve();
    const before = (await entries(db)).length;
    expect(before).toBeGreaterThan(dropped);
    expect(before).toBeLessThan(kept.length);
    const { resumed, rows } = await index.build(options);
    expect({ resumed, rows }).toEqual({ resumed: true, rows: 900 });
    expect(await entries(db)).toEqual(kept);
  }));

test('threads make no entries that take more than bytes of cells', () =>
  withStore(async ({ engine }) => {
    const schema = compileSchema([Stop]).entities[0]!;
    const made = entityIndexes(schema).all.filter(({ index, where }) => {
      const indexes = new EntityIndexes(schema, () => where, [index]);
      return derivedEntries({ engine, indexes }) !== undefined;
    });
    expect(made.map(({ index }) => index.name).sort()).toEqual([...MADE]);
  }));

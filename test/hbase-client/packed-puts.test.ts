/** `putMany` packs rows where it can: its requests, figures, failures and retries are those of puts of one object each. */

import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Database } from '../../src/database.js';
import { connectHBase, type HBaseEngine } from '../../src/hbase/engine.js';
import {
  avro,
  bytes,
  decimal,
  defineEntity,
  defineTable,
  hash,
  int32,
  int64,
  json,
  part,
  reverseTimestamp,
  salt,
  text,
} from '../../src/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import { openEmbedded } from '../../src/store/engine.js';
import type {
  Engine,
  PackedPuts,
  PackedPutsTable,
  Put,
  Table,
  WriteObserver,
} from '../../src/table/index.js';
import { entities } from '../../src/testing/fast-check.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { scaled } from '../proof/scale.js';
import { MultiResponse } from './fake-messages.js';
import { FakePeer, type Request, readMulti, readMutate } from './fake-peer.js';

const table = (name: string) =>
  defineTable({ name: `packed_${name}`, families: { d: {}, m: {}, ['é']: {} } });

const Plain = defineEntity({
  name: 'Plain',
  table: table('plain'),
  key: [salt(16), part('site'), reverseTimestamp('at'), hash('name', { keep: true })],
  columns: (c) => ({
    title: c.column('é:t', text),
    raw: c.column('d:', bytes).optional(),
    count: c.column('d:n', int32).optional(),
    price: c.column('m:p', decimal(2)).optional(),
    seen: c.counter('d:s').optional(),
    any: c.column('d:j', json()).optional(),
    place: c.embedded('m', (p) => ({ city: p.column('city', text), zip: p.column('zip', int64).optional() })),
    points: c.columns('m:x', { key: text, value: int32 }),
    cart: c.avro('d:a', avro.record('Cart', { n: avro.int, s: avro.string })).optional(),
  }),
});

const Unmarked = defineEntity({
  name: 'Unmarked',
  table: table('unmarked'),
  marker: false,
  key: [part('id')],
  columns: (c) => ({ a: c.column('d:a', text).optional(), b: c.column('d:b', bytes).optional() }),
});

const Versioned = defineEntity({
  name: 'Versioned',
  table: table('versioned'),
  key: [part('id')],
  columns: (c) => ({ a: c.column('d:a', text).optional(), v: c.version('d:v') }),
});

const Mortal = defineEntity({
  name: 'Mortal',
  table: table('mortal'),
  key: [part('id')],
  columns: (c) => ({ a: c.column('d:a', text).optional(), ttl: c.ttl() }),
});

const ENTITIES = [Plain, Unmarked, Versioned, Mortal] as const;
const TABLES = /^packed_/;

type Row = Record<string, unknown>;

let peer: FakePeer;
let client: HBaseEngine;
let db: Database;
/** The same, on an engine that takes no packed puts. */
let unpacked: Database;
let memory: Engine;
/** Packed puts of the calls so far. */
let packed: PackedPuts[] = [];

/** Entities are in the tables of the peer; what else a database has is in a store in memory. */
function engine(packs: boolean): Engine {
  const tableOf = (name: string): Table => {
    if (!TABLES.test(name)) return memory.table(name);
    const real = client.table(name) as Table & PackedPutsTable;
    const watched = Object.create(real) as Table & { putPacked: PackedPutsTable['putPacked'] | undefined };
    watched.putPacked = packs
      ? (puts, options) => {
          packed.push(puts);
          return real.putPacked(puts, options);
        }
      : undefined;
    return watched;
  };
  return Object.assign(Object.create(client) as Engine, {
    admin: memory.admin,
    now: () => 1_700_000_000_000,
    table: tableOf,
    close: () => client.close(),
    observe: (name: string, observer: WriteObserver) => client.observe(name, observer),
  });
}

beforeAll(async () => {
  peer = await FakePeer.start();
  memory = await openEmbedded('/memory', { fileSystem: new MemoryFileSystem(), background: 'inline' });
  client = await connectHBase({ masters: [peer.address], pause: 1, maxMultiBytes: 1500, maxInFlight: 1 });
  db = new Database(compileSchema([...ENTITIES]), engine(true), 'create');
  unpacked = new Database(compileSchema([...ENTITIES]), engine(false), 'create');
  await Promise.all([db.ready(), unpacked.ready()]);
});
afterEach(() => {
  peer.handler = () => undefined;
});
afterAll(async () => {
  await db.close();
  await unpacked.close();
  await peer.stop();
  await memory.close();
});

interface Sent {
  readonly requests: readonly string[];
  readonly rows: number;
  readonly bytes: number;
  readonly retries: number;
  readonly error: unknown;
}

/** What the client has done with the tables so far. */
function figures(): Pick<Sent, 'rows' | 'bytes' | 'retries'> {
  const sum = { rows: 0, bytes: 0, retries: 0 };
  for (const [name, { rows, bytes, retries }] of Object.entries(client.metrics().tables)) {
    if (!TABLES.test(name)) continue;
    sum.rows += rows;
    sum.bytes += bytes;
    sum.retries += retries;
  }
  return sum;
}

/** What a call sends, and what is counted of it. */
async function sent(call: () => Promise<unknown>): Promise<Sent> {
  peer.requests.length = 0;
  packed = [];
  const before = figures();
  let error: unknown;
  try {
    await call();
  } catch (thrown) {
    const { code, message, details } = thrown as { code: string; message: string; details: unknown };
    error = { code, message, details };
  }
  const after = figures();
  return {
    requests: peer.requests
      .filter(({ method }) => method === 'Multi' || method === 'Mutate')
      .map(
        ({ method, param, cells }) =>
          `${method} ${Buffer.from(param).toString('hex')} ${Buffer.from(cells).toString('hex')}`,
      ),
    rows: after.rows - before.rows,
    bytes: after.bytes - before.bytes,
    retries: after.retries - before.retries,
    error,
  };
}

/** Some of the optional properties are null, undefined or absent. `rare`: how often those are null, and Maps have entries. */
const holed = (given: fc.Arbitrary<Row>, optional: readonly string[], rare: number): fc.Arbitrary<Row> =>
  fc
    .tuple(
      given,
      fc.array(fc.tuple(fc.constantFrom(...optional), fc.boolean()), { maxLength: optional.length }),
      fc.record({ isNull: fc.nat(99), keepsMap: fc.nat(99) }),
    )
    .map(([entity, holes, { isNull, keepsMap }]) => {
      const row: Row = { ...entity };
      for (const [name, isAbsent] of holes) {
        if (isAbsent) delete row[name];
        else row[name] = isNull < rare ? null : undefined;
      }
      if (keepsMap >= rare) delete row['points'];
      return row;
    });

const carts = fc.record({ n: fc.integer({ min: -5, max: 5 }), s: fc.constantFrom('', 'ü') });
const ROWS: readonly (readonly [(typeof ENTITIES)[number], fc.Arbitrary<Row>])[] = [
  [
    Plain,
    holed(
      entities(Plain, { cart: carts }) as unknown as fc.Arbitrary<Row>,
      ['raw', 'count', 'price', 'seen', 'any', 'place', 'cart'],
      2,
    ),
  ],
  [Unmarked, holed(entities(Unmarked) as unknown as fc.Arbitrary<Row>, ['a', 'b'], 2)],
  [Versioned, holed(entities(Versioned) as unknown as fc.Arbitrary<Row>, ['a', 'v'], 0)],
  [
    Mortal,
    holed(
      entities(Mortal, { ttl: fc.constantFrom(1, 5000) } as never) as unknown as fc.Arbitrary<Row>,
      ['a', 'ttl'],
      0,
    ),
  ],
];

describe('putMany', () => {
  it('sends the same requests packed and one object each', async () => {
    let taken = 0;
    // Entities that need a change set are put one by one: those of several that are retried come in any order.
    const lists = ROWS.map(([entity, row], i) => ({
      arbitrary: fc.tuple(fc.constant(entity), fc.array(row, { minLength: 1, maxLength: i < 2 ? 12 : 1 })),
      weight: i < 2 ? 3 : 1,
    }));
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(...lists),
        fc.constantFrom('SYNC_WAL', undefined),
        async ([entity, rows], durability) => {
          const repositories = [db, unpacked].map((one) => one.repository(entity as typeof Unmarked));
          const given = (): never[] => rows.map((row) => ({ ...row })) as never[];
          const options = durability && { durability: durability as 'SYNC_WAL' };
          const fast = await sent(() => repositories[0]!.putMany(given(), options));
          taken += packed.length;
          const plain = await sent(() => repositories[1]!.putMany(given(), options));
          expect(packed).toEqual([]);
          expect(fast).toEqual(plain);
        },
      ),
      { numRuns: scaled(60, 600, 6000) },
    );
    expect(taken).toBeGreaterThan(10);
  });

  const rows = Array.from({ length: 5 }, (_, i) => ({ id: `row ${i}`, a: 'x'.repeat(i * 100) }));
  const unmarked = (of = db) => of.repository(Unmarked);

  const nameOf = (row: Uint8Array): string => Buffer.from(row).subarray(-1).toString();
  /** The names of the rows of a `Multi`. */
  const rowsOf = (request: Request): string[] =>
    (readMulti(request).regionAction ?? []).flatMap(({ action = [] }) =>
      action.map(({ mutation }) => nameOf(mutation!.row!)),
    );

  it('says which put failed, and writes the others', async () => {
    const refuse = (request: Request): true | undefined => {
      if (request.method !== 'Multi') return undefined;
      const results = rowsOf(request).map((row, index) =>
        row === '3'
          ? {
              index,
              exception: { name: 'org.apache.hadoop.hbase.DoNotRetryIOException', value: Buffer.from('no') },
            }
          : { index, result: {} },
      );
      request.connection.reply(request.id, MultiResponse, { regions: [{ results }] });
      return true;
    };
    peer.handler = refuse;
    const fast = await sent(() => unmarked().putMany(rows));
    expect(packed).toHaveLength(1);
    const plain = await sent(() => unmarked(unpacked).putMany(rows));
    expect(fast).toEqual(plain);
    expect(fast.error).toMatchObject({ details: { item: 3 } });
    expect(fast.rows).toBe(4);
  });

  it('sends those again whose region has moved', async () => {
    const moving = (): (() => true | undefined) | FakePeer['handler'] => {
      const refused = new Set<string>();
      return (request) => {
        if (request.method !== 'Multi') return undefined;
        const results = rowsOf(request).map((row, index) => {
          if (refused.has(row) || row === '0') return { index, result: {} };
          refused.add(row);
          const name = 'org.apache.hadoop.hbase.NotServingRegionException';
          return { index, exception: { name, value: Buffer.from('away') } };
        });
        request.connection.reply(request.id, MultiResponse, { regions: [{ results }] });
        return true;
      };
    };
    const names: string[][] = [];
    for (const of of [db, unpacked]) {
      peer.handler = moving();
      const { error, rows: count, retries } = await sent(() => unmarked(of).putMany(rows));
      expect({ error, count, retries }).toEqual({ error: undefined, count: 5, retries: 4 });
      // A put that is sent again alone is no `Multi`.
      const alone = peer.of('Mutate').map((request) => nameOf(readMutate(request).mutation.row!));
      names.push([...peer.of('Multi').flatMap(rowsOf), ...alone].sort());
    }
    expect(names[0]).toEqual([...'011223344']);
    expect(names[1]).toEqual(names[0]);
  });

  it('shows observers of the table each put, which they may keep', async () => {
    const seen: Put[] = [];
    const stop = client.observe('packed_unmarked', {
      before: ({ change }) => {
        seen.push(change as Put);
        return undefined;
      },
    });
    try {
      await unmarked().putMany(rows);
      await unmarked().putMany(rows.map(({ id, a }) => ({ id, a: `-${a}` })));
    } finally {
      stop();
    }
    const text = seen.map(
      ({ row, cells }) => `${row.length} ${cells.map(({ value }) => Buffer.from(value))}`,
    );
    expect(text).toEqual([...rows.map(({ a }) => `5 ${a}`), ...rows.map(({ a }) => `5 -${a}`)]);
  });
});

/** Sequences on the embedded store: in and outside of transactions, through power losses. */

import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Column, Entity, part, rowKey } from '../../../decorators/index.js';
import { text } from '../../../src/codec/index.js';
import { connect, Database } from '../../../src/database.js';
import { uint32 } from '../../../src/key/index.js';
import { compileSchema } from '../../../src/mapper/index.js';
import { openEmbedded } from '../../../src/store/engine.js';
import { type Engine, Get } from '../../../src/table/index.js';
import { MemoryFileSystem, openMemory, startServer } from '../../../src/testing/index.js';
import { scaled } from '../../proof/scale.js';
import { sequenceSuite, sequencesOn } from './suite.js';

@Entity({ table: { name: 'invoices', families: { d: {} } } })
class Invoice {
  static readonly key = rowKey(part('tenantId'), part('number', uint32));
  tenantId!: string;
  number!: number;
  @Column('d:c', text) customer!: string;
}

let db: Database;
beforeEach(async () => {
  db = await openMemory({ entities: [Invoice] });
});
afterEach(() => db.close());

describe('on the embedded store', () => {
  sequenceSuite(
    () => [db.engine, db.engine],
    () => 'numbers',
  );
});

const insert = (tenantId: string, fails = false): Promise<number> =>
  db.transaction(async (tx) => {
    const number = await tx.sequence('invoices', { per: 'tenantId' }).next({ tenantId });
    tx.repository(Invoice).insert({ tenantId, number, customer: 'c' });
    await new Promise((resolve) => setImmediate(resolve));
    if (fails) throw new Error('no invoice');
    return number;
  });

it('has no gaps in transactions, whichever of them fail', async () => {
  const given = await Promise.allSettled(
    Array.from({ length: 60 }, (_, at) => insert(at % 2 === 0 ? 'a' : 'b', at % 5 === 3)),
  );
  const numbers = given.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  expect(numbers).toHaveLength(48);
  for (const tenantId of ['a', 'b']) {
    const found = (await db.repository(Invoice).find({ tenantId }).all()).map(({ number }) => number);
    expect(found).toEqual(Array.from({ length: found.length }, (_, at) => at + 1));
    expect(await db.sequence('invoices', { per: 'tenantId' }).last({ tenantId })).toBe(found.length);
  }
});

it('has no gaps in transactions of several connections to rowan serve', async () => {
  await using server = await startServer({ entities: [Invoice] });
  const clients = await Promise.all(
    [1, 2].map(() => connect({ masters: [server.endpoint], entities: [Invoice], tables: 'create' })),
  );
  try {
    const given = await Promise.all(
      Array.from({ length: 12 }, (_, at) =>
        clients[at % 2]!.transaction(async (tx) => {
          const number = await tx.sequence('served').next();
          await tx.repository(Invoice).insert({ tenantId: 'a', number, customer: 'c' });
          return number;
        }),
      ),
    );
    expect(given.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 12 }, (_, at) => at + 1));
  } finally {
    for (const client of clients) await client.close();
  }
});

it('gives no number of a block again in a transaction', async () => {
  const outside = await db.sequence('invoices', { per: 'tenantId', block: 5 }).next({ tenantId: 'a' });
  expect([outside, await insert('a')]).toEqual([1, 6]);
  const both = await db.transaction(async (tx) => {
    const sequence = tx.sequence('other');
    return [await sequence.next(), ...(await sequence.nextMany(2)), await sequence.last()];
  });
  expect(both).toEqual([1, 2, 3, 3]);
});

it('keeps the bytes that the page of formats names', async () => {
  await db.sequence('t', { block: 3 }).next();
  await db.sequence('t', { per: ['a', 'b'], block: 1 }).next({ a: 'x"', b: 7n });
  const table = db.engine.table('rowan_sequences');
  for (const [row, value] of [
    ['t\0', '0000000000000003'],
    ['t\0"x\\"",7', '0000000000000001'],
  ] as const) {
    const found = (await table.get(new Get(Buffer.from(row)))).getValue('s', Buffer.from('n'));
    expect(Buffer.from(found!).toString('hex')).toBe(value);
  }
});

it('gives no number again after a loss of power', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 12 })), {
        minLength: 2,
        maxLength: 6,
      }),
      async (lives) => {
        let disk = new MemoryFileSystem();
        const seen: number[] = [];
        for (const [block, count] of lives) {
          const engine = await openEmbedded('/store', { fileSystem: disk, background: 'inline' });
          const sequence = sequencesOn(engine).sequence('t', { block });
          for (let at = 0; at < count; at++) seen.push(await sequence.next());
          disk = disk.crash({ keepUnsynced: 0, random: Math.random });
          await engine.close();
        }
        expect(new Set(seen).size).toBe(seen.length);
        expect(seen).toEqual([...seen].sort((a, b) => a - b));
      },
    ),
    { numRuns: scaled(4, 60, 1000) },
  );
});

it('takes the names and options that it can keep', async () => {
  expect(() => db.sequence('')).toThrow('is no name of a sequence');
  expect(() => db.sequence('a\0')).toThrow('without NUL');
  expect(() => db.sequence('a', { block: 0 })).toThrow(
    'block is 0; it must be a whole number from 1 to 1000000',
  );
  expect(() => db.sequence('a', { per: [1] as never })).toThrow('per is');
  expect(() => db.sequence('a', { start: 1 } as never)).toThrow('sequence has no option "start"');
  const tickets = db.sequence('a', { per: 'tenantId' });
  await expect(tickets.next({} as never)).rejects.toThrow(
    '"tenantId" must be a text or a whole number, not undefined',
  );
  await expect(tickets.next({ tenantId: 1.5 })).rejects.toThrow('not 1.5');
  await expect(tickets.nextMany(0, { tenantId: 1 })).rejects.toThrow('count is 0');
  expect(db.sequence('a', { per: 'tenantId' })).toBe(tickets);
  // @ts-expect-error: nor does one for all take a tenant
  await expect(db.sequence('a').next({ tenantId: 1 })).rejects.toThrow(
    'The sequence "a" is the same for all and takes nothing, not an object. Separate its numbers by { per:',
  );
  // @ts-expect-error: a sequence that is per tenant takes one
  await expect(tickets.next()).rejects.toThrow('tenantId');
});

it('says what to do where its table is missing', async () => {
  const engine: Engine = db.engine;
  const verifying = new Database(compileSchema([]), engine, 'verify');
  await expect(verifying.sequence('a').next()).rejects.toThrow(
    /"rowan_sequences", which db\.sequence\(\) needs, does not exist.*create 'rowan_sequences'/s,
  );
  await sequencesOn(engine).sequence('a', { block: 1 }).next();
  expect(await verifying.sequence('a', { block: 1 }).next()).toBe(2);
});

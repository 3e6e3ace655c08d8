/** Transactions over a connection: isolation, conflicts, limits, and what ends them. */

import { type AddressInfo, createConnection, createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { defineEntity, defineTable, part } from '../../decorators/index.js';
import { int32 } from '../../src/codec/index.js';
import { connect, type Database } from '../../src/database.js';
import { RowanError } from '../../src/errors.js';
import { BeginRequest, EndRequest } from '../../src/hbase/wire/messages-transaction.js';
import type { ServeOptions } from '../../src/server/options.js';
import { Get, Put, Scan, type TableTransaction, tableDescriptor } from '../../src/table/index.js';
import { FakePeer } from '../hbase-client/fake-peer.js';
import { scaled } from '../proof/scale.js';
import { ACCOUNTS, Account, accounts, START } from './accounts.js';
import { RawClient } from './raw-client.js';
import { Served } from './served.js';

const Followed = defineEntity({
  name: 'Followed',
  table: defineTable({ name: 'followed', families: { d: {} } }),
  key: [part('id')],
  columns: (c) => ({ value: c.column('d:v', int32) }),
  summaries: { all: { by: [], figures: { rows: 'count' } } },
});

async function database(served: Served): Promise<Database> {
  return connect({
    masters: [served.endpoint],
    user: 'test',
    pause: 10,
    entities: [Account, Followed],
    tables: 'create',
  });
}

async function filled(served: Served): Promise<Database> {
  const db = await database(served);
  await db.repository(Account).putMany(accounts());
  return db;
}

/** Runs `work` on a served store with the table `t` of one family `f`. */
async function withTable(
  work: (served: Served, engine: Awaited<ReturnType<Served['connect']>>) => Promise<void>,
  options: ServeOptions = {},
): Promise<void> {
  await using served = await Served.start(options);
  const engine = await served.connect();
  await engine.admin.createTable(tableDescriptor('t', { f: {} }));
  await work(served, engine);
}

const put = (row: string, value: string): Put => new Put(row).addColumn('f', 'q', value);

async function textAt(tables: TableTransaction, row: string): Promise<string | undefined> {
  const value = (await tables.table('t').get(new Get(row))).getValue('f', 'q');
  return value && Buffer.from(value).toString();
}

async function rowsOf(tables: TableTransaction, scan = new Scan()): Promise<string[]> {
  const rows: string[] = [];
  for await (const { row } of tables.table('t').scan(scan)) rows.push(Buffer.from(row).toString());
  return rows;
}

/** Of each client. */
const MOVES = scaled(6, 12, 100);

describe('transactions of entities over connections', () => {
  it('money that many move, in transactions and beside them, is never more or less; indexes agree with the rows', async () => {
    await using served = await Served.start();
    const first = await filled(served);
    const others = await Promise.all([database(served), database(served), database(served)]);
    const all = [first, ...others];
    let seed = 7;
    const random = (below: number): number => {
      seed = (seed * 1103515245 + 12345) % 2147483648;
      return Math.floor(seed / 65536) % below;
    };
    const move = (db: Database): Promise<void> =>
      db.transaction(
        async (tx) => {
          const all = tx.repository(Account);
          const from = await all.get({ id: random(ACCOUNTS) });
          const to = await all.get({ id: random(ACCOUNTS) });
          const amount = random(20);
          if (from!.id === to!.id || from!.balance < amount) return;
          await all.update({ id: from!.id }, { balance: from!.balance - amount });
          await all.update({ id: to!.id }, { balance: to!.balance + amount });
        },
        { attempts: 1000 },
      );
    const look = (db: Database): Promise<void> =>
      db.transaction(async (tx) => {
        const rows = await tx.repository(Account).find({}, { fullScan: true }).all();
        expect(rows.reduce((sum, { balance }) => sum + balance, 0)).toBe(ACCOUNTS * START);
        const richest = await tx
          .repository(Account)
          .where({ balance: { gte: 0 } })
          .all();
        expect(richest.map(({ id, balance }) => `${id}:${balance}`).sort()).toEqual(
          rows.map(({ id, balance }) => `${id}:${balance}`).sort(),
        );
      });
    let renamed = 0;
    // A write beside transactions, by intents, as of any client.
    const rename = async (db: Database): Promise<void> => {
      const id = random(ACCOUNTS);
      await db.repository(Account).update({ id }, { owner: `o${id}-${++renamed}` });
    };
    await Promise.all(
      all.map(async (db) => {
        for (let i = 0; i < MOVES; i++) {
          await move(db);
          if (i % 5 === 0) await look(db);
          if (i % 3 === 0) await rename(db);
        }
      }),
    );
    await look(first);
    // Writes beside transactions verify their entries after the answer.
    for (const db of others) await db.close();
    for (const index of ['byOwner', 'byBalance'] as const)
      expect(await first.index(Account, index).verify()).toMatchObject({
        missing: 0,
        extra: 0,
        stale: 0,
        unverified: 0,
      });
    expect(served.server.stats().transactions).toBe(0);
    await first.close();
  });

  it('a server that does not announce them is asked for none', async () => {
    const peer = await FakePeer.start();
    const db = await connect({
      masters: [`127.0.0.1:${peer.port}`],
      user: 'test',
      entities: [Account],
      tables: 'ignore',
    });
    const asked = peer.requests.length;
    const connections = peer.hellos.length;
    const refused = { code: 'ERR_UNSUPPORTED' };
    await expect(db.transaction(async () => 1)).rejects.toMatchObject(refused);
    await expect(
      db.batch((batch) => batch.of(Account).delete({ id: 1 }), { atomic: true }),
    ).rejects.toMatchObject(refused);
    expect(peer.requests.slice(asked).map(({ method }) => method)).toEqual([]);
    expect(peer.hellos).toHaveLength(connections);
    await db.close();
    await peer.stop();
  });

  it('an atomic batch is written whole or not at all, unique indexes included', async () => {
    await using served = await Served.start();
    const db = await filled(served);
    const outcomes = await db.batch(
      (batch) => {
        batch.of(Account).update({ id: 0 }, { balance: 1 });
        batch.of(Account).insert({ id: 100, owner: 'new', balance: 5, moves: 0 });
        batch.of(Account).get({ id: 0 });
      },
      { atomic: true },
    );
    expect(outcomes[2]).toMatchObject({ ok: true, value: { balance: 1 } });
    await expect(
      db.batch(
        (batch) => {
          batch.of(Account).update({ id: 1 }, { balance: 1 });
          batch.of(Account).insert({ id: 101, owner: 'new', balance: 5, moves: 0 });
        },
        { atomic: true },
      ),
    ).rejects.toMatchObject({ code: 'ERR_CONFLICT' });
    expect(await db.repository(Account).get({ id: 1 })).toMatchObject({ balance: START });
    await db.close();
  });

  it('entities whose changes reach other rows after the write are refused in words', async () => {
    await using served = await Served.start();
    const db = await database(served);
    await db.repository(Followed).put({ id: 'a', value: 1 });
    await expect(
      db.transaction(async (tx) => tx.repository(Followed).get({ id: 'a' })),
    ).rejects.toMatchObject({
      code: 'ERR_UNSUPPORTED',
      message: expect.stringContaining('Followed has copies, summaries'),
    });
    await db.close();
  });
});

describe('transactions of tables over connections', () => {
  it('reads see one moment and own writes; nobody else sees a write before the commit', () =>
    withTable(async (served, engine) => {
      await engine.table('t').put(put('a', '1'));
      let z = 0;
      const run = async (tx: TableTransaction): Promise<void> => {
        expect(await textAt(tx, 'a')).toBe('1');
        await served.store.table('t').put(put(`z${++z}`, 'other'));
        await tx.table('t').put(put('b', 'own'));
        await tx.table('t').batch([put('c', 'own'), new Get('b')]);
        expect(await rowsOf(tx, new Scan().withStopRow('y'))).toEqual(['a', 'b', 'c']);
        expect(await textAt(tx, `z${z}`)).toBeUndefined();
        expect(await rowsOf({ table: (name) => engine.table(name) }, new Scan().withStopRow('y'))).toEqual([
          'a',
        ]);
      };
      await expect(engine.transaction!(run, { attempts: 2 })).rejects.toMatchObject({
        code: 'ERR_SERIALIZATION',
      });
      expect(z).toBe(2);
    }));

  it('what others change in a range that was read makes it run again, and fail after its attempts', () =>
    withTable(async (served, engine) => {
      let runs = 0;
      const count = (attempts: number) =>
        engine.transaction!(
          async (tx) => {
            const rows = await rowsOf(tx, new Scan().withStartRow('a').withStopRow('m'));
            if (runs++ < 2) await served.store.table('t').put(put(`b${runs}`, 'phantom'));
            await tx.table('t').put(put('count', String(rows.length)));
            return rows.length;
          },
          { attempts },
        );
      expect(await count(3)).toBe(2);
      expect(runs).toBe(3);
      runs = 0;
      await expect(count(1)).rejects.toMatchObject({ name: 'SerializationError', code: 'ERR_SERIALIZATION' });
      expect(await textAt({ table: (name) => engine.table(name) }, 'count')).toBe('2');
    }));

  it('what its function throws, an abort and the timeout leave nothing behind', () =>
    withTable(async (served, engine) => {
      const write = async (tx: TableTransaction): Promise<void> => tx.table('t').put(put('a', '1'));
      await expect(
        engine.transaction!(async (tx) => {
          await write(tx);
          throw new Error('no');
        }),
      ).rejects.toThrow('no');
      const controller = new AbortController();
      await expect(
        engine.transaction!(
          async (tx) => {
            await write(tx);
            controller.abort();
            await new Promise(() => undefined);
          },
          { signal: controller.signal },
        ),
      ).rejects.toMatchObject({ code: 'ERR_ABORTED' });
      await expect(
        engine.transaction!(
          async (tx) => {
            await write(tx);
            await new Promise(() => undefined);
          },
          { timeout: 50 },
        ),
      ).rejects.toMatchObject({ code: 'ERR_TIMEOUT' });
      let kept: TableTransaction | undefined;
      await engine.transaction!(async (tx) => {
        kept = tx;
      });
      expect(() => kept!.table('t')).toThrow(RowanError);
      await expect.poll(() => served.server.stats().transactions).toBe(0);
      expect((await engine.table('t').get(new Get('a'))).isEmpty).toBe(true);
    }));

  it('a client that ends in the middle, or says nothing for long, leaves nothing behind', () =>
    withTable(
      async (served, engine) => {
        const dying = await served.connect();
        const died = dying.transaction!(async (tx) => {
          await tx.table('t').put(put('a', '1'));
          await dying.close();
        });
        await expect(died).rejects.toMatchObject({ code: 'ERR_CLOSED' });
        await expect.poll(() => served.server.stats().transactions).toBe(0);
        let wake: (() => void) | undefined;
        const silent = engine.transaction!(async (tx) => {
          await tx.table('t').put(put('a', '1'));
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
          await tx.table('t').put(put('b', '1'));
        });
        await expect.poll(() => served.server.stats().transactions).toBe(1);
        await expect.poll(() => served.server.stats().transactions).toBe(0);
        wake!();
        await expect(silent).rejects.toMatchObject({
          code: 'ERR_TIMEOUT',
          message: expect.stringContaining('transactionLease'),
        });
        expect(await rowsOf({ table: (name) => engine.table(name) })).toEqual([]);
      },
      { transactionLease: 300 },
    ));

  it('there are no more open than maxTransactions, and their writes are no larger than maxTransactionBytes', () =>
    withTable(
      async (served, engine) => {
        const few = await served.connect({ retries: 0 });
        await engine.transaction!(async () => {
          await expect(few.transaction!(async () => 1)).rejects.toMatchObject({
            code: 'ERR_BUSY',
            message: expect.stringContaining('maxTransactions'),
          });
        });
        expect(await few.transaction!(async () => 1)).toBe(1);
        const large = (tx: TableTransaction): Promise<void> =>
          tx.table('t').put(put('a', 'x'.repeat(60_000)));
        for (let i = 0; i < 3; i++) await engine.transaction!(large);
        await expect(
          engine.transaction!(async (tx) => {
            await large(tx);
            await large(tx);
          }),
        ).rejects.toMatchObject({ message: expect.stringContaining('maxTransactionBytes') });
        await engine.transaction!(large);
      },
      { maxTransactions: 1, maxTransactionBytes: 100_000 },
    ));

  it('a server that ends ends them: nothing was written', async () => {
    await using served = await Served.start();
    const engine = await served.connect({ retries: 0 });
    await engine.admin.createTable(tableDescriptor('t', { f: {} }));
    await expect(
      engine.transaction!(async (tx) => {
        await tx.table('t').put(put('a', '1'));
        await served.server.close();
      }),
    ).rejects.toMatchObject({ code: 'ERR_CONNECTION' });
    expect((await served.store.table('t').get(new Get('a'))).isEmpty).toBe(true);
  });

  it('a commit whose answer is lost is said to be of unknown outcome, and took effect', () =>
    withTable(async (served) => {
      const [host, port] = served.endpoint.split(':');
      let isLost = false;
      const proxy = createServer((client) => {
        const server = createConnection(Number(port), host);
        client.pipe(server);
        client.on('error', () => undefined);
        server.on('error', () => undefined);
        client.on('close', () => server.destroy());
        server.on('close', () => client.destroy());
        server.on('data', (chunk) => (isLost ? client.destroy() : client.write(chunk)));
      });
      await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
      const through = { host: '127.0.0.1', port: (proxy.address() as AddressInfo).port };
      const engine = await served.connect({ resolveAddress: () => through });
      const lost = engine.transaction!(async (tx) => {
        await tx.table('t').put(put('a', '1'));
        isLost = true;
      });
      await expect(lost).rejects.toMatchObject({ code: 'ERR_CONNECTION', details: { outcome: 'unknown' } });
      expect((await served.store.table('t').get(new Get('a'))).isEmpty).toBe(false);
      await engine.close();
      proxy.close();
    }));

  it('calls without a transaction, and a second one on its connection, are refused', () =>
    withTable(async (served) => {
      const raw = await RawClient.greet(served.endpoint, 'RowanTransactionService');
      const begin = () => raw.call('Begin', BeginRequest, { attempts: 1, timeout: 60_000 });
      expect((await raw.call('End', EndRequest, { commits: true })).exception?.exceptionClassName).toContain(
        'TransactionEnded',
      );
      expect((await raw.callRaw('Get', new Uint8Array(0))).exception?.exceptionClassName).toContain(
        'TransactionEnded',
      );
      expect((await begin()).exception).toBeUndefined();
      expect((await begin()).exception?.stackTrace).toContain('one transaction at a time');
      expect((await raw.callRaw('Get', new Uint8Array(0))).exception?.stackTrace).toContain(
        'names no region',
      );
      raw.end();
      await expect.poll(() => served.server.stats().transactions).toBe(0);
    }));
});

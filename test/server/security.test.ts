/** TLS, secrets and grants of a served store, and those who come without them. */

import { readFileSync } from 'node:fs';
import { connect as connectPlain } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tokenAuthenticator } from '../../src/hbase/index.js';
import { preamble } from '../../src/hbase/rpc/handshake.js';
import { secretAuthenticator, secretToken } from '../../src/hbase/security/delegation-token.js';
import type { ServedUsers } from '../../src/server/security/users.js';
import { Get, Increment, Put, Scan, tableDescriptor } from '../../src/table/index.js';
import { seededRandom } from '../crash/seeded-random.js';
import { scaled } from '../proof/scale.js';
import { Served } from './served.js';

const fixture = (name: string): Buffer =>
  readFileSync(join(import.meta.dirname, '../hbase-client/fixtures', name));
const tls = { cert: fixture('tls-cert.pem'), key: fixture('tls-key.pem') };

const SECRETS = {
  owner: 'owner-secret-0123456789',
  reports: 'reports-secret-0123456',
  shop: 'shop-secret-0123456789',
};
const users: ServedUsers = {
  owner: { secret: SECRETS.owner, admin: true },
  reports: { secret: SECRETS.reports, read: ['shop:*'] },
  shop: { secret: SECRETS.shop, write: ['shop:orders'] },
};

async function secured(): Promise<Served> {
  const served = await Served.start({ tls, users });
  const { admin } = served.store;
  await admin.createNamespace('shop');
  await admin.createNamespace('pay');
  for (const name of ['shop:orders', 'shop:prices', 'pay:cards'])
    await admin.createTable(tableDescriptor(name, { f: {} }));
  await served.store.table('pay:cards').put(new Put('4711').addColumn('f', 'q', 'secret'));
  return served;
}

const as = (user: keyof typeof SECRETS) => ({
  tls: { ca: tls.cert, rejectUnauthorized: false },
  authenticator: secretAuthenticator(user, SECRETS[user]),
});

test('who shows his secret does what is granted, and what is not granted is not there', async () => {
  await using served = await secured();
  const owner = await served.connect(as('owner'));
  await owner.table('shop:prices').put(new Put('pen').addColumn('f', 'q', '3'));
  await owner.admin.createTable(tableDescriptor('extra', { f: {} }));
  expect((await owner.admin.listTables()).map(({ name }) => name)).toContain('pay:cards');

  const reports = await served.connect(as('reports'));
  expect((await reports.table('shop:prices').get(new Get('pen'))).cells).toHaveLength(1);
  expect((await reports.admin.listTables()).map(({ name }) => name)).toEqual(['shop:orders', 'shop:prices']);
  expect(await reports.admin.listNamespaces()).toEqual(['shop']);
  expect(await reports.admin.tableExists('pay:cards')).toBe(false);
  const meta: string[] = [];
  for await (const { row } of reports.table('hbase:meta').scan(new Scan()))
    meta.push(Buffer.from(row).toString('latin1'));
  expect(meta.length).toBeGreaterThan(2);
  expect(meta.filter((row) => !/^(?:shop:|hbase:namespace)/.test(row))).toEqual([]);
  const missing = await reports
    .table('pay:cards')
    .get(new Get('4711'))
    .catch((error: Error) => error);
  const never = await reports
    .table('pay:nothing')
    .get(new Get('4711'))
    .catch((error: Error) => error);
  expect(String(missing).replaceAll('pay:cards', 'pay:nothing')).toBe(String(never));

  const put = new Put('r').addColumn('f', 'q', 'v');
  const denied = { code: 'ERR_SECURITY', message: expect.stringContaining('AccessDenied') };
  await expect(reports.table('shop:orders').put(put)).rejects.toMatchObject(denied);
  await expect(reports.admin.disableTable('shop:orders')).rejects.toMatchObject(denied);
  await expect(reports.admin.createTable(tableDescriptor('shop:x', { f: {} }))).rejects.toMatchObject(denied);

  const shop = await served.connect(as('shop'));
  await shop.table('shop:orders').put(put);
  await shop.table('shop:orders').increment(new Increment('n').addColumn('f', 'n', 1n));
  const [own] = await shop.table('shop:orders').batch([put]);
  expect(own).toMatchObject({ ok: true });
  expect((await shop.admin.listTables()).map(({ name }) => name)).toEqual(['shop:orders']);
  await expect(shop.admin.majorCompact('shop:orders')).rejects.toMatchObject(denied);
});

test('who has no secret, another, or a name that nobody has, is told the same, and nothing else', async () => {
  await using served = await secured();
  const refusals: string[] = [];
  const known = { tls: { rejectUnauthorized: false } };
  for (const authenticator of [
    secretAuthenticator('reports', 'not-the-secret-012345'),
    secretAuthenticator('nobody', SECRETS.reports),
    tokenAuthenticator({ ...secretToken('owner', SECRETS.owner), identifier: Buffer.from('owner') }),
  ]) {
    const error = await served
      .connect({ ...known, authenticator })
      .then((engine) => engine.admin.listTables())
      .then(String, String);
    refusals.push(error.replaceAll(served.endpoint, 'X'));
  }
  expect(refusals[0]).toContain('login refused');
  expect(new Set(refusals).size).toBe(1);
  // The simple authentication is not taken, with or without TLS.
  for (const options of [known, {}]) {
    const error = await served
      .connect({ ...options, retries: 0, connectTimeout: 500, rpcTimeout: 500, operationTimeout: 1000 })
      .then((engine) => engine.admin.listTables())
      .then(String, String);
    expect(error).toMatch(/Error/);
    expect(error).not.toContain('shop');
  }
});

test('bytes of all kinds in place of a login get nowhere', async () => {
  await using served = await Served.start({ users });
  const random = seededRandom(31);
  const [host, port] = served.endpoint.split(':') as [string, string];
  for (let i = 0; i < scaled(15, 400, 20_000); i++) {
    const socket = connectPlain(Number(port), host);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    let answered = Buffer.alloc(0);
    socket.on('data', (data) => (answered = Buffer.concat([answered, data])));
    socket.on('error', () => undefined);
    const length = Math.floor(random() * 200);
    const noise = Buffer.from(Array.from({ length }, () => Math.floor(random() * 256)));
    const begun = Buffer.concat([preamble(0x52), Buffer.alloc(4)]);
    // In turn: no login at all, a second token at once, a length that cannot be, directives that are none.
    const kinds = [
      Buffer.concat([preamble(0x52), noise]),
      Buffer.concat([begun, noise]),
      Buffer.concat([preamble(0x52), Buffer.of(127, 255, 255, 255)]),
      Buffer.concat([preamble(0x50), noise]),
    ];
    socket.end(kinds[i % kinds.length]!);
    await closed;
    expect(answered.toString('latin1')).not.toContain('rspauth');
  }
  while (served.server.stats().connections > 0) await new Promise((resolve) => setImmediate(resolve));
  expect(served.server.stats().totalCalls).toBe(0);
  const engine = await served.connect({ authenticator: secretAuthenticator('owner', SECRETS.owner) });
  expect(await engine.admin.listTables()).toEqual([]);
});

test('another address needs TLS and users, or that it be insecure is said', async () => {
  const listen = '0.0.0.0:0';
  const code = 'ERR_INVALID_ARGUMENT';
  for (const options of [{}, { tls }, { users }])
    await expect(Served.start({ listen, ...options })).rejects.toMatchObject({ code });
  await expect(Served.start({ listen, tls, users, zookeeper: '0.0.0.0:0' })).rejects.toMatchObject({ code });
  await using served = await Served.start({ listen, tls, users });
  expect(served.endpoint).toContain('0.0.0.0');
  const wrong: readonly unknown[] = [
    {},
    [],
    { a: { secret: 'short' } },
    { a: { secret: SECRETS.shop, reads: [] } },
    { a: { secret: SECRETS.shop, read: 'shop:*' } },
    { a: { secret: SECRETS.shop, write: ['no name'] } },
    { a: { secret: SECRETS.shop, admin: 1 } },
  ];
  for (const each of wrong)
    await expect(Served.start({ users: each as ServedUsers })).rejects.toMatchObject({ code });
  await expect(Served.start({ tls: { cert: 'x', key: 'y' } })).rejects.toMatchObject({ code });
});

test('transactions read and write what is granted', async () => {
  await using served = await secured();
  const shop = await served.connect(as('shop'));
  const put = new Put('o1').addColumn('f', 'q', '1');
  await shop.transaction!(async (tx) => {
    await tx.table('shop:orders').put(put);
  });
  const reports = await served.connect(as('reports'));
  const read = (table: string) =>
    reports.transaction!(async (tx) => (await tx.table(table).get(new Get('o1'))).cells.length);
  expect(await read('shop:orders')).toBe(1);
  const denied = { code: 'ERR_SECURITY' };
  await expect(reports.transaction!(async (tx) => tx.table('shop:orders').put(put))).rejects.toMatchObject(
    denied,
  );
  const absent = { code: 'ERR_TABLE_NOT_FOUND' };
  for (const table of ['pay:cards', 'hbase:rowan_server'])
    await expect(read(table)).rejects.toMatchObject(absent);
  await expect(
    reports.transaction!(async (tx) => {
      for await (const row of tx.table('pay:cards').scan(new Scan())) throw new Error(String(row));
    }),
  ).rejects.toMatchObject(absent);
});

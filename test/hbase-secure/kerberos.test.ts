import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RowanError } from '../../src/errors.js';
import { connectHBase, type HBaseEngine } from '../../src/hbase/engine.js';
import type { HBaseOptions } from '../../src/hbase/options.js';
import { encodeToken, tokenAuthenticator } from '../../src/hbase/security/delegation-token.js';
import { type KerberosModule, kerberosAuthenticator } from '../../src/hbase/security/kerberos.js';
import { PROTECTIONS, type Protection } from '../../src/hbase/security/sasl.js';
import { Get, Put, tableDescriptor } from '../../src/table/index.js';
import type { HBaseServer } from '../hbase/server/hbase-server.js';
import { HBASE_HOME } from '../hbase/server/layout.js';
import { describeTable } from '../hbase/smoke.js';
import { describeDenied } from './denied.js';
import { type Kdc, REALM, startKdc } from './kdc.js';
import { loadKerberosPackage } from './kerberos-package.js';
import { startSecureHBase } from './secure-hbase.js';

let kdc: Kdc;
let server: HBaseServer;
let published: KerberosModule;
/** The package with its fault mended, without which nothing can be signed or sealed. */
let mended: KerberosModule;

/** One who is in the keytab. */
function kerberos(principal: string, protection: Protection = 'authentication'): HBaseOptions {
  return {
    authenticator: kerberosAuthenticator({
      kerberos: protection === 'authentication' ? published : mended,
      principal: `${principal}@${REALM}`,
      protection,
    }),
  };
}

const connect = (options: HBaseOptions): Promise<HBaseEngine> =>
  connectHBase({ masters: server.masters, retries: 3, ...options });

async function withEngine<T>(options: HBaseOptions, use: (engine: HBaseEngine) => Promise<T>): Promise<T> {
  const engine = await connect(options);
  try {
    return await use(engine);
  } finally {
    await engine.close();
  }
}

/** The tickets of one principal in memory, by way of the keytab; or those of a cache. */
function useTickets(cache: string): void {
  process.env['KRB5CCNAME'] = cache;
}

beforeAll(async () => {
  published = await loadKerberosPackage(false);
  mended = await loadKerberosPackage(true);
  kdc = await startKdc(join(HBASE_HOME, 'kdc'));
  process.env['KRB5_CONFIG'] = kdc.krb5Conf;
  process.env['KRB5_CLIENT_KTNAME'] = kdc.clientKeytab;
  useTickets('MEMORY:keytab');
  server = await startSecureHBase(
    kdc,
    { name: 'secured', protection: PROTECTIONS.join(',') },
    kerberos('ann'),
  );
});
afterAll(async () => {
  await server?.stop();
  await kdc?.stop();
});

for (const protection of PROTECTIONS) {
  describeTable(`a table of a secured cluster, by keytab, with ${protection}`, () =>
    connect(kerberos('ann', protection)),
  );
  describeTable(`a table of a secured cluster, by delegation token, with ${protection}`, async () => {
    const token = await withEngine(kerberos('ann'), (engine) => engine.admin.createDelegationToken());
    return connect({ authenticator: tokenAuthenticator(token, { protection }) });
  });
}

/** Options by a token, which needs no tickets. */
async function byToken(principal: string, cache: string) {
  useTickets(cache);
  try {
    const token = await withEngine(kerberos(principal), (engine) => engine.admin.createDelegationToken());
    return { masters: server.masters, retries: 3, authenticator: tokenAuthenticator(token) };
  } finally {
    useTickets('MEMORY:keytab');
  }
}

describeDenied(
  () => byToken('ann', 'MEMORY:keytab'),
  () => byToken('carl', 'MEMORY:carl'),
);

describe('a secured cluster', () => {
  const whoAmI = (options: HBaseOptions): Promise<unknown> =>
    withEngine(options, (engine) => engine.admin.whoAmI());

  it('knows one by keytab and by token, and takes nobody for the user of the system', async () => {
    expect(await whoAmI(kerberos('ann'))).toEqual({ user: 'ann', method: 'KERBEROS' });
    const token = await withEngine(kerberos('ann'), (engine) => engine.admin.createDelegationToken());
    for (const given of [token, encodeToken(token)]) {
      const options = { authenticator: tokenAuthenticator(given) };
      expect(await whoAmI(options)).toEqual({ user: 'ann', method: 'TOKEN' });
    }
  });

  it('knows one by the ticket cache', async () => {
    useTickets(`FILE:${kdc.ticketCache}`);
    try {
      const authenticator = kerberosAuthenticator({ kerberos: published });
      expect(await whoAmI({ authenticator })).toEqual({ user: 'ben', method: 'KERBEROS' });
    } finally {
      useTickets('MEMORY:keytab');
    }
  });

  it('lets nobody act for another who may not, and refuses what one has no right to', async () => {
    await withEngine(kerberos('ann'), (engine) =>
      engine.admin.createTable(tableDescriptor('secrets', { f: {} })),
    );
    useTickets('MEMORY:carl');
    try {
      await expect(connect({ ...kerberos('carl'), user: 'ann' })).rejects.toMatchObject({
        code: 'ERR_SECURITY',
        message: expect.stringContaining('impersonate'),
      });
      await withEngine(kerberos('carl'), async (engine) => {
        const table = engine.table('secrets');
        const put = new Put('r').addColumn('f', 'q', 'v');
        await expect(table.put(put)).rejects.toMatchObject({ code: 'ERR_SECURITY' });
        await expect(table.get(new Get('r'))).rejects.toMatchObject({ code: 'ERR_SECURITY' });
      });
    } finally {
      useTickets('MEMORY:keytab');
    }
  });

  it('gives rights and takes them back', async () => {
    const table = 'granted';
    const put = new Put('r').addColumn('f', 'q', 'v');
    const asCarl = async (use: (engine: HBaseEngine) => Promise<unknown>): Promise<unknown> => {
      useTickets('MEMORY:carl');
      try {
        return await withEngine(kerberos('carl'), use);
      } finally {
        useTickets('MEMORY:keytab');
      }
    };
    await withEngine(kerberos('ann'), async ({ admin }) => {
      await admin.createTable(tableDescriptor(table, { f: {}, g: {} }));
      await admin.grant({ user: 'carl', table, actions: ['READ'] });
      await admin.grant({ user: 'carl', table, family: 'f', actions: ['WRITE'] });
      await admin.grant({ user: '@staff', table, actions: ['READ', 'ADMIN'] });
      const given = await admin.getPermissions({ table });
      expect(given).toEqual(
        expect.arrayContaining([
          { user: 'carl', table, actions: ['READ'] },
          { user: 'carl', table, family: 'f', actions: ['WRITE'] },
          { user: '@staff', table, actions: ['READ', 'ADMIN'] },
        ]),
      );
      await admin.grant({ user: 'carl', namespace: 'default', actions: ['EXEC'] });
      expect(await admin.getPermissions({ namespace: 'default' })).toContainEqual({
        user: 'carl',
        namespace: 'default',
        actions: ['EXEC'],
      });
      await expect(admin.grant({ user: 'carl', family: 'f', actions: ['READ'] })).rejects.toMatchObject({
        code: 'ERR_INVALID_ARGUMENT',
      });
    });
    await asCarl(async (engine) => {
      await engine.table(table).put(put);
      expect((await engine.table(table).get(new Get('r'))).isEmpty).toBe(false);
      const elsewhere = new Put('r').addColumn('g', 'q', 'v');
      await expect(engine.table(table).put(elsewhere)).rejects.toMatchObject({
        code: 'ERR_SECURITY',
        message: expect.stringContaining("admin.grant({ user: 'carl', table: 'granted', family: 'g',"),
        details: { action: 'WRITE', table, family: 'g', qualifier: 'q' },
      });
      await expect(engine.admin.getDescriptor(table)).rejects.toMatchObject({
        code: 'ERR_SECURITY',
        message: expect.stringContaining("open with tables: 'ignore'"),
      });
      // A table that is left out of `listTables`.
      expect(await engine.admin.hiddenTables()).toContain(table);
    });
    await withEngine(kerberos('ann'), async ({ admin }) => {
      await admin.revoke({ user: 'carl', table, family: 'f' });
      await admin.revoke({ user: 'carl', table });
      const left = await admin.getPermissions({ table });
      expect(left.map(({ user }) => user)).not.toContain('carl');
    });
    await asCarl(async (engine) => {
      await expect(engine.table(table).put(put)).rejects.toMatchObject({ code: 'ERR_SECURITY' });
    });
  });

  it('holds back who asks too much, until it no longer does', async () => {
    await withEngine({ ...kerberos('ann'), retries: 0 }, async (engine) => {
      const name = 'held_back';
      await engine.admin.createTable(tableDescriptor(name, { f: {} }));
      const table = engine.table(name);
      const ask = async (): Promise<string> => {
        for (let i = 0; i < 20; i++) {
          const error = await table.get(new Get('r')).then(
            () => undefined,
            (thrown: RowanError) => thrown,
          );
          if (error !== undefined) return error.message;
        }
        return '';
      };
      expect(await ask()).toBe('');
      const throttle = { counts: 'READ_NUMBER', limit: 1, per: 'HOURS' } as const;
      await engine.admin.setThrottle({ table: name }, throttle);
      await expect.poll(ask, { timeout: 60_000 }).toContain('Throttling');
      await engine.admin.setThrottle({ table: name }, { ...throttle, limit: undefined });
      await expect.poll(ask, { timeout: 60_000 }).toBe('');
    });
  });

  it('refuses a token that was changed, and one who brings none', async () => {
    const token = await withEngine(kerberos('ann'), (engine) => engine.admin.createDelegationToken());
    const password = Uint8Array.from(token.password);
    password[0]! ^= 1;
    const forged = { authenticator: tokenAuthenticator({ ...token, password }), retries: 0 };
    await expect(connect(forged)).rejects.toMatchObject({ code: 'ERR_SECURITY' });
    await expect(connect({ retries: 0, operationTimeout: 5000 })).rejects.toMatchObject({
      code: expect.stringMatching(/ERR_(SECURITY|CONNECTION)/),
    });
  });

  it('is told that the package as it is published cannot sign or seal', async () => {
    const authenticator = kerberosAuthenticator({
      kerberos: published,
      principal: `ann@${REALM}`,
      protection: 'privacy',
    });
    await expect(connect({ authenticator, retries: 0 })).rejects.toMatchObject({
      code: 'ERR_UNSUPPORTED',
      message: expect.stringContaining('tokenAuthenticator'),
    });
  });
});

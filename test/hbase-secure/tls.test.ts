import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectHBase } from '../../src/hbase/engine.js';
import type { TlsOptions } from '../../src/hbase/rpc/connection-settings.js';
import { type HBaseServer, startHBase } from '../hbase/server/hbase-server.js';
import { HBASE_HOME } from '../hbase/server/layout.js';
import { describeTable } from '../hbase/smoke.js';
import { makeKeys, PASSWORD } from './certificates.js';
import { probeWith } from './secure-hbase.js';

const FOLDER = join(HBASE_HOME, 'tls');
const file = (name: string): string => join(FOLDER, name);

let server: HBaseServer;
let trusted: TlsOptions;
let mutual: TlsOptions;

beforeAll(async () => {
  await rm(FOLDER, { recursive: true, force: true });
  await mkdir(FOLDER, { recursive: true });
  await makeKeys(FOLDER, ['server', 'client']);
  trusted = { ca: await readFile(file('server.pem')) };
  mutual = { ...trusted, pfx: await readFile(file('client.p12')), passphrase: PASSWORD };
  const tls = { tls: mutual };
  server = await startHBase({
    name: 'tls',
    probe: probeWith(tls),
    settings: {
      'hbase.server.netty.tls.enabled': 'true',
      'hbase.client.netty.tls.enabled': 'true',
      'hbase.server.netty.tls.supportplaintext': 'false',
      'hbase.server.netty.tls.client.auth.mode': 'NEED',
      'hbase.rpc.tls.keystore.location': file('server.p12'),
      'hbase.rpc.tls.keystore.type': 'PKCS12',
      'hbase.rpc.tls.keystore.password': PASSWORD,
      'hbase.rpc.tls.truststore.location': file('trust.p12'),
      'hbase.rpc.tls.truststore.type': 'PKCS12',
      'hbase.rpc.tls.truststore.password': PASSWORD,
    },
  });
});
afterAll(() => server?.stop());

describeTable('a table behind TLS, both sides with a certificate', () =>
  connectHBase({ masters: server.masters, tls: mutual }),
);

describe('a cluster behind TLS', () => {
  it('takes nobody without a certificate, or without TLS, and is not trusted unasked', async () => {
    const connect = (tls?: TlsOptions): Promise<unknown> =>
      connectHBase({
        masters: server.masters,
        retries: 0,
        connectTimeout: 5000,
        rpcTimeout: 5000,
        ...(tls === undefined ? {} : { tls }),
      });
    for (const tls of [trusted, undefined, {}]) {
      await expect(connect(tls)).rejects.toMatchObject({ code: 'ERR_CONNECTION' });
    }
  });
});

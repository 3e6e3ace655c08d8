import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectHBase } from '../../src/hbase/engine.js';
import type { TlsOptions } from '../../src/hbase/rpc/transport.js';
import { run } from '../hbase/server/class-path.js';
import { type HBaseServer, startHBase } from '../hbase/server/hbase-server.js';
import { HBASE_HOME } from '../hbase/server/layout.js';
import { describeTable } from '../hbase/smoke.js';
import { probeWith } from './secure-hbase.js';

const PASSWORD = 'of the tests';
const FOLDER = join(HBASE_HOME, 'tls');
const file = (name: string): string => join(FOLDER, name);

let server: HBaseServer;
let trusted: TlsOptions;
let mutual: TlsOptions;

async function keytool(...args: readonly string[]): Promise<void> {
  const { code, output } = await run('keytool', [...args, '-storepass', PASSWORD]);
  if (code !== 0) throw new Error(`keytool ${args[0]} failed: ${output}`);
}

/** A key with a certificate that it has signed itself, in a PKCS#12 file and as PEM. */
async function makeKey(name: string): Promise<void> {
  const store = ['-keystore', file(`${name}.p12`), '-storetype', 'PKCS12', '-alias', name];
  const subject = ['-dname', `CN=${name}`, '-ext', 'san=dns:localhost,ip:127.0.0.1'];
  await keytool('-genkeypair', '-keyalg', 'RSA', '-keysize', '2048', ...subject, ...store);
  await keytool('-exportcert', '-rfc', '-file', file(`${name}.pem`), ...store);
}

beforeAll(async () => {
  await rm(FOLDER, { recursive: true, force: true });
  await mkdir(FOLDER, { recursive: true });
  await Promise.all(['server', 'client'].map(makeKey));
  for (const name of ['server', 'client']) {
    const store = ['-keystore', file('trust.p12'), '-storetype', 'PKCS12', '-alias', name];
    await keytool('-importcert', '-noprompt', '-file', file(`${name}.pem`), ...store);
  }
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

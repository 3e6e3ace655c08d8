/** A ZooKeeper that lets nobody read who has not said who they are: by a password over TLS, by Kerberos. */

import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectHBase } from '../../src/hbase/engine.js';
import type { ZooKeeperOptions } from '../../src/hbase/options.js';
import { zooKeeperDigest, zooKeeperKerberos } from '../../src/hbase/security/zookeeper-sasl.js';
import { classPath } from '../hbase/server/class-path.js';
import { Jvm } from '../hbase/server/jvm.js';
import { InstanceLayout } from '../hbase/server/layout.js';
import { freePorts, isFree } from '../hbase/server/ports.js';
import { makeKeys, PASSWORD } from './certificates.js';
import { type Kdc, REALM, startKdc } from './kdc.js';
import { loadKerberosPackage } from './kerberos-package.js';

/** The answer to a question that was let through: the node is not there. */
const ADMITTED = 'has no /hbase/hbaseid';
/** A ZooKeeper that starts listens before it answers, and closes what comes between. */
const PATIENCE = { timeout: 120_000 };

/** Starts a ZooKeeper of its own with this JAAS module; answers its port. */
async function startZooKeeper(
  name: string,
  module: string,
  settings: (port: number, folder: string) => Record<string, string> | Promise<Record<string, string>>,
  systemProperties: Record<string, string> = {},
): Promise<{ readonly jvm: Jvm; readonly port: number; readonly folder: string }> {
  const layout = new InstanceLayout(name);
  await rm(layout.root, { recursive: true, force: true });
  for (const folder of [layout.data, layout.log, layout.tmp, layout.conf])
    await mkdir(folder, { recursive: true });
  const [port = 0] = await freePorts(1);
  const config = {
    dataDir: layout.data,
    tickTime: '1000',
    'admin.enableServer': 'false',
    'authProvider.sasl': 'org.apache.zookeeper.server.auth.SASLAuthenticationProvider',
    sessionRequireClientSASLAuth: 'true',
    ...(await settings(port, layout.conf)),
  };
  const file = join(layout.conf, 'zoo.cfg');
  await writeFile(
    file,
    Object.entries(config)
      .map(([key, value]) => `${key}=${value}\n`)
      .join(''),
  );
  const jaas = join(layout.conf, 'jaas.conf');
  await writeFile(jaas, `Server {\n  ${module};\n};\n`);
  const jvm = Jvm.start({
    layout,
    name: 'zookeeper',
    mainClass: 'org.apache.zookeeper.server.quorum.QuorumPeerMain',
    args: [file],
    classPath: await classPath('server'),
    heap: '256m',
    jit: 'quick',
    systemProperties: { 'java.security.auth.login.config': jaas, ...systemProperties },
    detached: false,
  });
  while (await isFree(port)) {
    if (!jvm.running) throw new Error(`ZooKeeper did not start:\n${jvm.logTail()}`);
    await delay(50);
  }
  return { jvm, port, folder: layout.conf };
}

const ask = (zookeeper: ZooKeeperOptions): Promise<unknown> =>
  connectHBase({ zookeeper, retries: 0, connectTimeout: 10_000 }).then((engine) => engine.close());

const said = (zookeeper: ZooKeeperOptions): Promise<string> =>
  ask(zookeeper).then(
    () => '',
    (error: Error) => error.message,
  );

describe('by a password, over TLS', () => {
  let jvm: Jvm;
  let quorum: string[];
  let tls: { ca: Buffer };

  beforeAll(async () => {
    const started = await startZooKeeper(
      'zk-digest',
      'org.apache.zookeeper.server.auth.DigestLoginModule required user_ann="secret"',
      async (port, folder) => {
        await makeKeys(folder, ['server']);
        return {
          secureClientPort: String(port),
          secureClientPortAddress: '127.0.0.1',
          serverCnxnFactory: 'org.apache.zookeeper.server.NettyServerCnxnFactory',
          'ssl.keyStore.location': join(folder, 'server.p12'),
          'ssl.keyStore.password': PASSWORD,
          'ssl.trustStore.location': join(folder, 'trust.p12'),
          'ssl.trustStore.password': PASSWORD,
          'ssl.clientAuth': 'none',
        };
      },
    );
    jvm = started.jvm;
    quorum = [`localhost:${started.port}`];
    tls = { ca: await readFile(join(started.folder, 'server.pem')) };
  });
  afterAll(() => jvm?.stop());

  it('whoever knows it is let in', async () => {
    const sasl = zooKeeperDigest({ username: 'ann', password: 'secret' });
    await expect.poll(() => said({ quorum, tls, sasl }), PATIENCE).toContain(ADMITTED);
  });

  it('nobody else is, and no server is trusted unasked', async () => {
    const sasl = zooKeeperDigest({ username: 'ann', password: 'guessed' });
    for (const wrong of [
      { tls, sasl },
      { tls },
      { sasl: zooKeeperDigest({ username: 'ann', password: 'secret' }), tls: {} },
    ]) {
      await expect(ask({ quorum, ...wrong })).rejects.toMatchObject({
        code: 'ERR_CONNECTION',
        message: expect.stringContaining('No ZooKeeper server answered'),
      });
    }
  });
});

describe('by Kerberos', () => {
  let jvm: Jvm;
  let kdc: Kdc;
  let quorum: string[];

  beforeAll(async () => {
    const folder = new InstanceLayout('zk-kdc').root;
    kdc = await startKdc(folder);
    process.env['KRB5_CONFIG'] = kdc.krb5Conf;
    process.env['KRB5_CLIENT_KTNAME'] = kdc.clientKeytab;
    process.env['KRB5CCNAME'] = 'MEMORY:zookeeper';
    const started = await startZooKeeper(
      'zk-kerberos',
      `com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true useTicketCache=false ` +
        `keyTab="${kdc.serverKeytab}" principal="zookeeper/localhost@${REALM}"`,
      (port) => ({ clientPort: String(port), clientPortAddress: '127.0.0.1' }),
      { 'java.security.krb5.conf': kdc.krb5Conf },
    );
    jvm = started.jvm;
    quorum = [`localhost:${started.port}`];
  });
  afterAll(async () => {
    await jvm?.stop();
    await kdc?.stop();
  });

  it('whoever has a ticket is let in, nobody else is', async () => {
    const kerberos = await loadKerberosPackage(false);
    const sasl = zooKeeperKerberos({ kerberos, principal: `ann@${REALM}` });
    await expect.poll(() => said({ quorum, sasl }), PATIENCE).toContain(ADMITTED);
    await expect(ask({ quorum })).rejects.toMatchObject({
      message: expect.stringContaining('No ZooKeeper server answered'),
    });
    const stranger = zooKeeperKerberos({ kerberos, principal: `nobody@${REALM}` });
    await expect(ask({ quorum, sasl: stranger })).rejects.toMatchObject({
      message: expect.stringContaining('Kerberos could not start'),
    });
  });
});

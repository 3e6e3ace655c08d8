import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { classPath } from '../hbase/server/class-path.js';
import { freePorts } from '../hbase/server/ports.js';

export const REALM = 'ROWAN.TEST';

/** A key distribution centre (Apache Kerby) with the principals that the suites use. */
export interface Kdc {
  readonly krb5Conf: string;
  /** Holds the servers' principals, `hbase/localhost` and `zookeeper/localhost`. */
  readonly serverKeytab: string;
  /** Holds `ann`, who may administer, and `carl`, who may nothing. */
  readonly clientKeytab: string;
  /** Holds a ticket of `ben`. */
  readonly ticketCache: string;
  stop(): Promise<void>;
}

/** Starts a KDC in `folder`; it ends with this process. @throws Error with its words when it does not start. */
export async function startKdc(folder: string): Promise<Kdc> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const jars = await classPath('kdc');
  const [port = 0] = await freePorts(1);
  const file = (name: string): string => join(folder, name);
  const of = (name: string): string => `${name}@${REALM}`;
  const krb5Conf = file('krb5-clients.conf');
  await writeFile(
    krb5Conf,
    `[libdefaults]
  default_realm = ${REALM}
  udp_preference_limit = 1
  dns_lookup_realm = false
  dns_lookup_kdc = false
  dns_canonicalize_hostname = false
  rdns = false
[realms]
  ${REALM} = {
    kdc = localhost:${port}
  }
[domain_realm]
  localhost = ${REALM}
`,
  );
  const server = ['hbase/localhost', 'zookeeper/localhost'].map(of).join(',');
  const clients = ['ann', 'carl'].map(of).join(',');
  const source = fileURLToPath(new URL('./Kdc.java', import.meta.url));
  const made = [
    ...['keytab', file('server.keytab'), server],
    ...['keytab', file('client.keytab'), clients],
    ...['cache', file('ben.cache'), of('ben')],
  ];
  const args = ['-Xmx128m', '-XX:+UseSerialGC', '-cp', jars, source, folder, REALM, String(port), ...made];
  const child = spawn('java', args, { stdio: ['pipe', 'pipe', 'pipe'] });
  await ready(child);
  return {
    krb5Conf,
    serverKeytab: file('server.keytab'),
    clientKeytab: file('client.keytab'),
    ticketCache: file('ben.cache'),
    stop: () =>
      new Promise((resolve) => {
        child.once('exit', () => resolve());
        child.stdin?.end();
      }),
  };
}

function ready(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = '';
    const onData = (chunk: Buffer): void => {
      said = (said + chunk).slice(-8000);
      if (said.includes('READY')) resolve();
    };
    child.stdout?.on('data', onData);
    child.stderr?.on('data', onData);
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`The KDC ended with code ${code}:\n${said}`)));
  });
}

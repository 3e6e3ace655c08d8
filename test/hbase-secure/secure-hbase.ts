import type { RowanError } from '../../src/errors.js';
import { connectHBase } from '../../src/hbase/engine.js';
import type { HBaseOptions } from '../../src/hbase/options.js';
import { type HBaseServer, startHBase } from '../hbase/server/hbase-server.js';
import type { HBaseOptions as ServerOptions } from '../hbase/server/options.js';
import { type Kdc, REALM } from './kdc.js';

/** What a secured HBase is started with beside what each has. */
interface SecureOptions {
  readonly name: string;
  /** `hbase.rpc.protection`. */
  readonly protection: string;
  readonly settings?: Readonly<Record<string, string>>;
}

const PRINCIPAL = `hbase/localhost@${REALM}`;

/** The settings of Kerberos with authorization, access control and delegation tokens. */
function settings(kdc: Kdc, protection: string): Record<string, string> {
  return {
    'hbase.security.authentication': 'kerberos',
    'hbase.security.authorization': 'true',
    'hadoop.security.authentication': 'kerberos',
    'hadoop.security.authorization': 'true',
    'hbase.rpc.protection': protection,
    'hbase.master.kerberos.principal': PRINCIPAL,
    'hbase.regionserver.kerberos.principal': PRINCIPAL,
    'hbase.master.keytab.file': kdc.serverKeytab,
    'hbase.regionserver.keytab.file': kdc.serverKeytab,
    'hbase.superuser': 'hbase,ann',
    'hbase.quota.enabled': 'true',
    'hbase.quota.refresh.period': '1000',
    'hbase.coprocessor.master.classes': 'org.apache.hadoop.hbase.security.access.AccessController',
    'hbase.coprocessor.region.classes':
      'org.apache.hadoop.hbase.security.token.TokenProvider,org.apache.hadoop.hbase.security.access.AccessController',
    'hbase.coprocessor.regionserver.classes': 'org.apache.hadoop.hbase.security.access.AccessController',
  };
}

/** Starts an HBase with Kerberos and waits until `as` can make a namespace. */
export function startSecureHBase(kdc: Kdc, options: SecureOptions, as: HBaseOptions): Promise<HBaseServer> {
  const server: ServerOptions = {
    name: options.name,
    settings: { ...settings(kdc, options.protection), ...options.settings },
    systemProperties: { 'java.security.krb5.conf': kdc.krb5Conf },
    probe: probeWith(as),
  };
  return startHBase(server);
}

/** Readiness by the client under test, where the probe that owes it nothing cannot authenticate. */
export function probeWith(as: HBaseOptions): NonNullable<ServerOptions['probe']> {
  return async (_host, port) => {
    const patience = { retries: 0, operationTimeout: 10_000 };
    const engine = await connectHBase({ masters: [`localhost:${port}`], ...patience, ...as });
    try {
      await engine.admin.createNamespace('readiness').catch((error: RowanError) => {
        if (error.code !== 'ERR_NAMESPACE_EXISTS') throw error;
      });
      await engine.admin.deleteNamespace('readiness');
    } finally {
      await engine.close();
    }
  };
}

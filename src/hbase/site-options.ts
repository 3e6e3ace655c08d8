import { InvalidArgumentError } from '../errors.js';
import type { HBaseOptions } from './options.js';
import { type CellBlockCompression, COMPRESSIONS } from './rpc/cell-block-compression.js';
import { kerberosAuthenticator } from './security/kerberos.js';
import type { Protection } from './security/protection.js';
import { readSite, type Site } from './site.js';

/** Options that are whole numbers, and the names that HBase has for them. */
const NUMBERS = {
  operationTimeout: 'hbase.client.operation.timeout',
  rpcTimeout: 'hbase.rpc.timeout',
  scannerTimeout: 'hbase.client.scanner.timeout.period',
  connectTimeout: 'hbase.ipc.client.socket.timeout.connect',
  connectionIdleTimeout: 'hbase.ipc.client.connection.minIdleTimeBeforeClose',
  adminTimeout: 'hbase.client.sync.wait.timeout.msec',
  pause: 'hbase.client.pause',
  retries: 'hbase.client.retries.number',
  scannerCaching: 'hbase.client.scanner.caching',
  scannerMaxResultSize: 'hbase.client.scanner.max.result.size',
  quarantine: 'hbase.ipc.client.failed.servers.expiry',
} as const;

/**
 * The options with what a configuration adds to them: the one that `configuration` names, or, when nothing says where the
 * cluster is, the one in the folder `HBASE_CONF_DIR`. What is given as an option wins.
 * @throws InvalidArgumentError for a configuration that cannot be read.
 */
export async function withSite(options: HBaseOptions): Promise<HBaseOptions> {
  if (typeof options !== 'object' || options === null) return options;
  const { configuration, masters, zookeeper } = options;
  const isPlaced = masters !== undefined || zookeeper !== undefined;
  const path = configuration ?? (isPlaced ? undefined : process.env['HBASE_CONF_DIR'] || undefined);
  if (path === undefined) return options;
  const fromSite = optionsOf(await readSite(path));
  // One way to find the cluster replaces the other.
  const place = isPlaced ? { masters, zookeeper } : {};
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return { ...fromSite, ...Object.fromEntries(given), ...place };
}

/** What a configuration says, as options. */
export function optionsOf(site: Site): HBaseOptions {
  const numbers: Partial<Record<keyof typeof NUMBERS, number>> = {};
  for (const [option, name] of Object.entries(NUMBERS)) {
    const value = site.get(name);
    if (value === undefined) continue;
    if (!/^\d+$/.test(value)) {
      throw new InvalidArgumentError(`${name} in the configuration is a whole number, not "${value}".`);
    }
    numbers[option as keyof typeof NUMBERS] = Number(value);
  }
  return { ...numbers, ...placeOf(site), ...securityOf(site), ...compressionOf(site) };
}

/** Compression that is not spoken here is done without: servers answer each connection as it asks for. */
function compressionOf(site: Site): Pick<HBaseOptions, 'cellBlockCompression'> {
  const name = site.get('hbase.client.rpc.compressor');
  for (const [compression, { codecClass }] of Object.entries(COMPRESSIONS)) {
    if (name === codecClass) return { cellBlockCompression: compression as CellBlockCompression };
  }
  return {};
}

/** Where the cluster is: by the registry that is named, or by what there is. `hbase.masters` may also be a number. */
function placeOf(site: Site): Pick<HBaseOptions, 'masters' | 'zookeeper'> {
  const registry = site.get('hbase.client.registry.impl') ?? '';
  const nodes = site.get('hbase.client.bootstrap.servers') ?? site.get('hbase.masters');
  if (nodes !== undefined && !/^\d*$/.test(nodes) && !registry.endsWith('ZKConnectionRegistry')) {
    return { masters: nodes };
  }
  const quorum = site.get('hbase.zookeeper.quorum');
  if (quorum === undefined) return {};
  const port = site.get('hbase.zookeeper.property.clientPort');
  const parent = site.get('zookeeper.znode.parent');
  return {
    zookeeper: {
      quorum,
      ...(port === undefined ? {} : { clientPort: Number(port) }),
      ...(parent === undefined ? {} : { parent }),
    },
  };
}

function securityOf(site: Site): Pick<HBaseOptions, 'authenticator' | 'tls'> {
  const isKerberos = site.get('hbase.security.authentication')?.toLowerCase() === 'kerberos';
  const principal =
    site.get('hbase.regionserver.kerberos.principal') ?? site.get('hbase.master.kerberos.principal');
  const serviceName = principal?.split(/[/@]/)[0];
  const fallbackToSimple = site.get('hbase.ipc.client.fallback-to-simple-auth-allowed') === 'true';
  return {
    ...(isKerberos
      ? {
          authenticator: kerberosAuthenticator({
            fallbackToSimple,
            ...(serviceName ? { serviceName } : {}),
            ...protectionOf(site),
          }),
        }
      : {}),
    ...(site.get('hbase.client.netty.tls.enabled') === 'true' ? { tls: {} } : {}),
  };
}

/** `hbase.rpc.protection`: one, or several with commas between. */
function protectionOf(site: Site): { readonly protection?: readonly Protection[] } {
  const text = site.get('hbase.rpc.protection');
  if (text === undefined) return {};
  return { protection: text.split(',').map((one) => one.trim().toLowerCase() as Protection) };
}

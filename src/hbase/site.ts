import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { InvalidArgumentError } from '../errors.js';
import type { HBaseOptions } from './options.js';
import { type CellBlockCompression, COMPRESSIONS } from './rpc/connection-settings.js';
import { kerberosAuthenticator } from './security/kerberos.js';
import type { Protection } from './security/sasl.js';

/** Reads `hbase-site.xml` (Hadoop's `Configuration`), the client configuration of a cluster. */

/** HBase's setting names and their values, with references resolved. */
type Site = ReadonlyMap<string, string>;

const FILE_NAME = 'hbase-site.xml';
/** The longest chain of references between values, as in Hadoop. */
const MAX_STEPS = 20;

/**
 * The configuration in a file, or in the `hbase-site.xml` of a folder.
 * @throws InvalidArgumentError when the file is missing or is not a configuration.
 */
async function readSite(path: string): Promise<Site> {
  let file = path;
  try {
    if ((await stat(path)).isDirectory()) file = join(path, FILE_NAME);
    return parseSite(await readFile(file, 'utf8'), file);
  } catch (cause) {
    if (cause instanceof InvalidArgumentError) throw cause;
    throw new InvalidArgumentError(
      `The configuration ${file} cannot be read: ${(cause as Error).message}. Check the option configuration, or HBASE_CONF_DIR.`,
      { cause },
    );
  }
}

/** XML tags, comments and CDATA: enough for `<configuration><property><name>…</name><value>…`. */
const TOKEN =
  /<!--[\s\S]*?-->|<!\[CDATA\[([\s\S]*?)\]\]>|<\?[\s\S]*?\?>|<!DOCTYPE[^>]*>|<(\/?)([\w:.-]+)[^>]*?(\/?)>|([^<]+)/gy;
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** @throws InvalidArgumentError for text that is not a configuration, or that includes another file. */
export function parseSite(xml: string, file: string): Site {
  const broken = (why: string): InvalidArgumentError =>
    new InvalidArgumentError(`${file} is no configuration of HBase: ${why}.`);
  const raw = new Map<string, string>();
  const final = new Set<string>();
  const path: string[] = [];
  let property: Record<string, string> = {};
  TOKEN.lastIndex = 0;
  for (let at = 0; at < xml.length; at = TOKEN.lastIndex) {
    const match = TOKEN.exec(xml);
    if (match === null) throw broken(`its markup is broken at character ${at}`);
    const [, section, closing, tag, empty, text] = match;
    const here = path.join('/');
    if (section !== undefined || text !== undefined) {
      const field = /^configuration\/property\/(\w+)$/.exec(here)?.[1];
      if (field !== undefined) property[field] = (property[field] ?? '') + (section ?? unescapeXml(text!));
    } else if (tag === undefined || empty === '/') {
      if (tag === 'xi:include') throw broken('it includes another file, which is not supported');
    } else if (closing === '') {
      path.push(tag);
      if (path.join('/') === 'configuration/property') property = {};
    } else {
      if (path.pop() !== tag) throw broken(`</${tag}> closes another element`);
      const name = property['name']?.trim();
      if (here !== 'configuration/property' || name === undefined) continue;
      if (property['value'] !== undefined && !final.has(name)) raw.set(name, property['value'].trim());
      if (property['final']?.trim() === 'true') final.add(name);
    }
  }
  if (path.length > 0) throw broken(`<${path.at(-1)}> is not closed`);
  return new Map([...raw].map(([name, value]) => [name, expand(value, raw)]));
}

function unescapeXml(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(\w+));/gi, (whole, hex, decimal, name) => {
    if (name !== undefined) return ENTITIES[name] ?? whole;
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}

/** Resolves `${other.name}` and `${env.NAME}`. Unknown references stay as they are. */
function expand(value: string, raw: ReadonlyMap<string, string>): string {
  let text = value;
  for (let step = 0; step < MAX_STEPS && text.length < 65536; step++) {
    const filled = text.replace(/\$\{([^}$\s]+)\}/g, (whole, name: string) => {
      if (name.startsWith('env.')) return process.env[name.slice(4)] ?? whole;
      return raw.get(name) ?? whole;
    });
    if (filled === text) break;
    text = filled;
  }
  return text;
}

/** HBase's setting names of the options that are integers. */
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
 * Completes the options from a configuration file: that of the option `configuration`, or, when no option locates the cluster, the
 * one in the folder `HBASE_CONF_DIR`. Given options override the file.
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

/** The settings of a configuration as options. */
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

/** Unsupported compression is left out: servers use what each connection asks for. */
function compressionOf(site: Site): Pick<HBaseOptions, 'cellBlockCompression'> {
  const name = site.get('hbase.client.rpc.compressor');
  for (const [compression, { codecClass }] of Object.entries(COMPRESSIONS)) {
    if (name === codecClass) return { cellBlockCompression: compression as CellBlockCompression };
  }
  return {};
}

/** The options that locate the cluster: by the configured registry, else by the settings present. `hbase.masters` may also be a number. */
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

/** `hbase.rpc.protection`: one value, or several separated by commas. */
function protectionOf(site: Site): { readonly protection?: readonly Protection[] } {
  const text = site.get('hbase.rpc.protection');
  if (text === undefined) return {};
  return { protection: text.split(',').map((one) => one.trim().toLowerCase() as Protection) };
}

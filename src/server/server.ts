/**
 * Serves an embedded store by HBase's own protocol: registry, master and region server in one process, for any HBase
 * client.
 */

import { createHash } from 'node:crypto';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, Server as TlsServer } from 'node:tls';
import { InvalidArgumentError } from '../errors.js';
import { CONNECTION_CALL_ID } from '../hbase/rpc/frames.js';
import type { ServerName } from '../hbase/wire/messages-rpc.js';
import { EmbeddedEngine } from '../store/engine.js';
import { ServedStore } from '../store/serving.js';
import { describe } from '../table/checks.js';
import { JavaClass, ServerException } from './errors.js';
import {
  type Address,
  listening,
  type ServeOptions,
  type ServerSettings,
  serverSettings,
} from './options.js';
import { MetaRows, namespaceRows } from './regions/catalog-rows.js';
import { metaTable, namespaceTable } from './regions/catalog-tables.js';
import { ServedRegions } from './regions/served-regions.js';
import { answerFrame, messageAnswer } from './rpc/answer.js';
import { Connection, type ConnectionHost } from './rpc/connection.js';
import { Load } from './rpc/load.js';
import type { Service, ServiceSession } from './rpc/request.js';
import { restrictedParts } from './security/restricted.js';
import type { KnownUser, Users } from './security/users.js';
import { adminService } from './services/admin-service.js';
import { bulkLoadService } from './services/bulk-load-service.js';
import { masterService } from './services/master/master-service.js';
import { GetConnectionRegistryResponse } from './services/messages.js';
import { Nonces } from './services/nonces.js';
import type { ServerParts } from './services/parts.js';
import { RegionService } from './services/region-service.js';
import { registryService } from './services/registry-service.js';
import { OpenTransactions, TransactionSession } from './services/transaction-service.js';
import { ZooKeeperAnswers } from './zookeeper.js';

/** The argument of `serve`: an embedded store, or a database on one. */
export type Servable = EmbeddedEngine | { readonly engine: EmbeddedEngine };

/** The present load of a server. */
export interface ServerLoad {
  readonly connections: number;
  readonly calls: number;
  readonly totalCalls: number;
  readonly queuedBytes: number;
  readonly scanners: number;
  readonly transactions: number;
}

/** A running server. */
export interface StoreServer extends AsyncDisposable {
  /** `host:port` for clients (`masters`, `hbase.client.bootstrap.servers`). */
  readonly endpoint: string;
  /** `host:port` for clients' ZooKeeper requests (`hbase.zookeeper.quorum`); undefined if not enabled. */
  readonly zookeeperEndpoint: string | undefined;
  /** The present load. */
  stats(): ServerLoad;
  /**
   * Refuses new connections and calls, waits until those in progress are answered, but at most `patience` milliseconds
   * (default 10,000), then closes scanners and connections. The store stays open. May be called more than once.
   */
  close(options?: { readonly patience?: number }): Promise<void>;
}

interface ServicesOfUser {
  readonly parts: ServerParts;
  readonly region: RegionService;
  readonly services: ReadonlyMap<string, Service>;
}

function servicesOf(parts: ServerParts): ServicesOfUser {
  const region = new RegionService(parts);
  const services = new Map([
    ['ClientMetaService', registryService(parts)],
    ['MasterService', masterService(parts)],
    ['ClientService', { ...region.methods, ...bulkLoadService(parts) }],
    ['AdminService', adminService(parts)],
  ]);
  return { parts, region, services };
}

/**
 * Creates the listener.
 * @throws InvalidArgumentError for an invalid certificate or key.
 */
function listenerOf({ tls, helloTimeout }: ServerSettings): Server {
  if (tls === undefined) return createServer({ noDelay: true });
  const { cert, key, ca } = tls;
  const clients = ca === undefined ? {} : { ca, requestCert: true, rejectUnauthorized: true };
  try {
    const listener = createTlsServer({
      cert,
      key,
      ...clients,
      noDelay: true,
      handshakeTimeout: helloTimeout,
    });
    listener.on('tlsClientError', (_error, socket) => socket.destroy());
    return listener;
  } catch (cause) {
    throw new InvalidArgumentError(
      `The certificate or the key of tls cannot be read: ${(cause as Error).message}. Give both as PEM.`,
      { cause },
    );
  }
}

/** Connects the parts of the server. */
class ServingProcess implements StoreServer, ConnectionHost {
  private readonly connections = new Set<Connection>();
  /** Services by user name; without `users` there is one entry for everyone. */
  private readonly served = new Map<string, ServicesOfUser>();
  private readonly transactions = new OpenTransactions();
  private ending: Promise<void> | undefined;
  /** Undefined: the server is read-only. */
  private readonly unshare: (() => void) | undefined;
  stopped: ServerException | undefined;

  private constructor(
    private readonly listener: Server,
    private readonly parts: ServerParts,
    readonly load: Load,
    /** The listening address. */
    private readonly address: Address,
    private readonly zookeeper: ZooKeeperAnswers | undefined,
    private readonly engine: EmbeddedEngine,
    readonly users: Users | undefined,
  ) {
    this.unshare = parts.settings.readOnly ? undefined : parts.store.share();
    listener.on(listener instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) =>
      this.take(socket),
    );
  }

  /** Starts the server; resolves when it accepts connections. Used by {@link serve}. */
  static async start(engine: EmbeddedEngine, settings: ServerSettings): Promise<ServingProcess> {
    const listener = listenerOf(settings);
    listener.maxConnections = settings.maxConnections;
    const address = await listening(listener, settings.listen);
    let zookeeper: ZooKeeperAnswers | undefined;
    try {
      const { parts, load } = await partsOf(engine, settings, address);
      zookeeper = settings.zookeeper && (await ZooKeeperAnswers.start(settings.zookeeper, parts));
      return new ServingProcess(listener, parts, load, address, zookeeper, engine, settings.users);
    } catch (error) {
      listener.close();
      await zookeeper?.close();
      throw error;
    }
  }

  get endpoint(): string {
    return endpointOf(this.address);
  }

  get zookeeperEndpoint(): string | undefined {
    return this.zookeeper === undefined ? undefined : endpointOf(this.zookeeper.address);
  }

  stats(): ServerLoad {
    const { connections, calls, total, bytes } = this.load;
    return {
      connections,
      calls,
      totalCalls: total,
      queuedBytes: bytes,
      transactions: this.transactions.count,
      scanners: [...this.served.values()].reduce((sum, { region }) => sum + region.openScanners, 0),
    };
  }

  close({ patience = 10_000 }: { readonly patience?: number } = {}): Promise<void> {
    this.ending ??= this.end(patience);
    return this.ending;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /**
   * Each user has separate services, restricted by the user's permissions, so that no user can access another's
   * scanners.
   */
  service(name: string, user: KnownUser | undefined): ServiceSession | undefined {
    const key = user?.name ?? '';
    let served = this.served.get(key);
    if (served === undefined) {
      const { parts, engine } = this;
      served = servicesOf(user === undefined ? parts : restrictedParts(parts, engine, user.grants));
      this.served.set(key, served);
    }
    if (name === 'RowanTransactionService') return new TransactionSession(served.parts, this.transactions);
    const methods = served.services.get(name);
    return methods && { methods };
  }

  registryFrame(): Buffer {
    const { clusterId } = this.parts;
    return answerFrame(
      CONNECTION_CALL_ID,
      messageAnswer(GetConnectionRegistryResponse, { clusterId }),
      undefined,
    );
  }

  closed(connection: Connection): void {
    this.connections.delete(connection);
  }

  private take(socket: Socket): void {
    if (this.stopped !== undefined) socket.destroy();
    else this.connections.add(new Connection(socket, this));
  }

  private async end(patience: number): Promise<void> {
    this.stopped = new ServerException(JavaClass.ServerStopped, 'The server is stopping.', false);
    const closed = new Promise<void>((resolve) => this.listener.close(() => resolve()));
    const quiet = Promise.all([...this.connections].map((connection) => connection.quiet()));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, patience);
    });
    await Promise.race([quiet, late]);
    clearTimeout(timer);
    this.unshare?.();
    for (const { region } of this.served.values()) region.close();
    for (const connection of this.connections) connection.destroy();
    await this.zookeeper?.close();
    await closed;
  }
}

/**
 * Serves an embedded store to HBase clients. The caller keeps ownership of the store, and closes it after the server.
 * @throws InvalidArgumentError for wrong options, including an address reachable from other machines without
 * `insecure`; RowanError `ERR_IO` when the address is in use.
 *
 * @example
 * ```ts
 * const store = await openEmbedded('./data');
 * const server = await serve(store, { listen: '127.0.0.1:16020' });
 * ```
 */
export async function serve(store: Servable, options: ServeOptions = {}): Promise<StoreServer> {
  const engine = 'engine' in store ? store.engine : store;
  if (!(engine instanceof EmbeddedEngine)) {
    throw new InvalidArgumentError(
      `serve takes an embedded store, or a database on one, not ${describe(store)}. Open it with openEmbedded or open.`,
    );
  }
  return ServingProcess.start(engine, serverSettings(options));
}

async function partsOf(
  engine: EmbeddedEngine,
  settings: ServerSettings,
  address: Address,
): Promise<{ parts: ServerParts; load: Load }> {
  const store = new ServedStore(engine);
  const nonces = new Nonces(engine, store);
  const startedAt = Date.now();
  // A read-only store has an id derived from its path.
  const { clusterId, startCode } = settings.readOnly
    ? { clusterId: createHash('md5').update(engine.place).digest('hex'), startCode: startedAt }
    : await nonces.prepare().then(() => nonces.identity());
  const server: ServerName = {
    hostName: settings.announce?.host ?? address.host,
    port: settings.announce?.port ?? address.port,
    startCode,
  };
  const regions = new ServedRegions(store);
  const namespaces = namespaceTable(() => namespaceRows(store.namespaces(), startedAt));
  const meta = metaTable(new MetaRows(store, regions, server, startedAt));
  const load = new Load(settings);
  const parts = {
    engine,
    store,
    regions,
    meta,
    namespaces,
    nonces,
    load,
    clusterId,
    server,
    startedAt,
    settings,
  };
  return { parts, load };
}

function endpointOf({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

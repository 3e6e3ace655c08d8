import { ClosedError, type RowanError } from '../../errors.js';
import type { HBaseDebugState, Observer } from '../observe/observer.js';
import type { HBaseSettings } from '../options.js';
import { Connection } from './connection.js';
import { addressKey, type ServerAddress, type ServiceName } from './connection-settings.js';
import { ConnectionError } from './errors.js';

/** The shortest interval between checks for idle connections, milliseconds. */
const MIN_CHECK_INTERVAL = 10;

/**
 * One connection to each server and service, opened on first use. A server that could not be reached, or never answered before its
 * connection broke, is in quarantine for a while: requests for it fail at once. A connection that had worked is reopened without
 * delay, as HBase's `FailedServers` counts failed connects only.
 */
export class ConnectionPool {
  private readonly connections = new Map<string, Connection>();
  private readonly quarantined = new Map<string, { readonly until: number; readonly error: RowanError }>();
  private closed = false;
  private watching: NodeJS.Timeout | undefined;

  constructor(
    private readonly settings: HBaseSettings,
    private readonly observer: Observer,
    /** Called when a connection has ended other than by {@link close}. */
    private readonly onLost: (server: string, service: ServiceName) => void,
  ) {}

  /** @throws ClosedError after {@link close}; ConnectionError while the server is in quarantine. */
  get(address: ServerAddress, service: ServiceName): Connection {
    const server = addressKey(address);
    const key = `${server}/${service}`;
    const known = this.connections.get(key);
    if (known !== undefined) return known;
    if (this.closed) throw new ClosedError('The connection to HBase was closed.');
    const quarantine = this.quarantined.get(server);
    if (quarantine !== undefined) {
      if (performance.now() < quarantine.until) {
        throw new ConnectionError(
          `HBase server ${server} failed a moment ago and is left alone for now: ${quarantine.error.message}`,
          { cause: quarantine.error, details: { server } },
        );
      }
      this.quarantined.delete(server);
    }
    const connection = new Connection(
      address,
      service,
      this.settings,
      this.settings.authenticator,
      this.observer,
      (ended, error) => this.ended(key, ended, error),
    );
    this.connections.set(key, connection);
    this.watch();
    return connection;
  }

  /** Connections that are open or being opened. */
  get size(): number {
    return this.connections.size;
  }

  /** The connections, and the servers in quarantine. */
  state(): Pick<HBaseDebugState, 'connections' | 'quarantined'> {
    const now = performance.now();
    return {
      connections: [...this.connections.values()].map(({ key, service, isOpen, pending, lastUsed }) => ({
        server: key,
        service,
        state: isOpen ? 'open' : 'opening',
        pending,
        idle: Math.round(now - lastUsed),
      })),
      quarantined: [...this.quarantined]
        .filter(([, { until }]) => until > now)
        .map(([server, { until, error }]) => ({
          server,
          for: Math.round(until - now),
          error: error.message,
        })),
    };
  }

  /** Closes every connection. Calls under way fail with a ClosedError. */
  close(): void {
    this.closed = true;
    clearInterval(this.watching);
    for (const connection of [...this.connections.values()]) connection.close();
  }

  /** Schedules the next check for idle connections. */
  private watch(): void {
    const { connectionIdleTimeout: longest } = this.settings;
    if (longest === 0 || this.watching !== undefined) return;
    this.watching = setInterval(() => this.retire(longest), Math.max(MIN_CHECK_INTERVAL, longest / 4));
    this.watching.unref();
  }

  /** Closes idle connections, without an event. They are reopened on use. */
  private retire(longest: number): void {
    const now = performance.now();
    for (const [key, connection] of this.connections) {
      if (connection.pending > 0 || now - connection.lastUsed < longest) continue;
      this.connections.delete(key);
      connection.close();
    }
    if (this.connections.size > 0) return;
    clearInterval(this.watching);
    this.watching = undefined;
  }

  private ended(key: string, connection: Connection, error: RowanError): void {
    const isRetired = this.connections.get(key) !== connection;
    if (!isRetired) this.connections.delete(key);
    if (this.closed || isRetired) return;
    const { key: server, service } = connection;
    this.observer.emit({ kind: 'disconnected', server, service, error });
    if (error instanceof ConnectionError && !connection.hasAnswered && this.settings.quarantine > 0) {
      const until = performance.now() + this.settings.quarantine;
      this.quarantined.set(connection.key, { until, error });
    }
    this.onLost(connection.key, connection.service);
  }
}

import type { RowanError } from '../../errors.js';
import { type HBaseMetrics, metricsOf } from '../observe/metrics.js';
import { Observer } from '../observe/observer.js';
import type { HBaseSettings } from '../options.js';
import { Locator } from '../region/locator.js';
import type { Region } from '../region/region.js';
import { RegionCache } from '../region/region-cache.js';
import { type Registry, RpcRegistry } from '../region/registry.js';
import { ZooKeeperRegistry } from '../region/zookeeper-registry.js';
import { ConnectionPool } from '../rpc/connection-pool.js';
import { Dispatcher } from './dispatcher.js';
import { readMeta } from './meta-reader.js';
import { OpenScanners } from './open-scanners.js';
import { sleep } from './retry.js';
import type { ScannerContext } from './scanner.js';

/** Milliseconds that closing waits for servers to let go of scanners. */
const LONGEST_CLOSE = 1000;

/** All that the tables and the admin of one cluster share: connections, the registry, the region cache, the dispatcher. */
export class Cluster implements ScannerContext {
  readonly pool: ConnectionPool;
  readonly registry: Registry;
  readonly locator: Locator;
  readonly dispatcher: Dispatcher;
  readonly scanners = new OpenScanners();
  readonly observer: Observer;
  private closed = false;

  constructor(readonly settings: HBaseSettings) {
    const cache = new RegionCache();
    this.observer = new Observer(settings);
    this.pool = new ConnectionPool(settings, this.observer, (server, service) => {
      if (service === 'ClientService') cache.removeServer(server);
    });
    this.registry =
      settings.zookeeper === undefined
        ? new RpcRegistry(settings.masters, this.pool)
        : new ZooKeeperRegistry(settings.zookeeper, settings);
    this.locator = new Locator(cache, this.registry, settings.metaTimeout);
    this.dispatcher = new Dispatcher(settings, this.pool, this.locator, this.observer);
    this.locator.readMetaWith(readMeta(this));
    this.watch();
  }

  get isClosed(): boolean {
    return this.closed;
  }

  regionFailed(region: Region, error: RowanError): void {
    this.dispatcher.regionFailed(region, error);
  }

  metrics(): HBaseMetrics {
    const { cache } = this.locator;
    return metricsOf({
      observer: this.observer,
      connections: this.pool.size,
      openScanners: this.scanners.size,
      regionCache: { ...cache.sizes(), lookups: this.locator.lookupsMade },
      queueOf: (server) => this.dispatcher.queueOf(server),
    });
  }

  private watch(): void {
    const { telemetry } = this.observer;
    const { cache } = this.locator;
    telemetry?.gauge('rowan.hbase.connections', 'Connections to servers.', () => this.pool.size);
    telemetry?.gauge('rowan.hbase.scanners', 'Scanners open on servers.', () => this.scanners.size);
    telemetry?.gauge('rowan.hbase.regions', 'Regions whose place is known.', () => cache.sizes().regions);
  }

  /** What is under way fails; servers are told which scanners nobody reads any more, but not waited for for long. */
  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    this.dispatcher.close();
    const waited = new AbortController();
    await Promise.race([this.scanners.closeAll(), sleep(LONGEST_CLOSE, waited.signal)]);
    waited.abort();
    this.pool.close();
    this.observer.telemetry?.close();
  }
}

import type { RowanError } from '../../errors.js';
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
  private closed = false;

  constructor(readonly settings: HBaseSettings) {
    const cache = new RegionCache();
    this.pool = new ConnectionPool(settings, (server, service) => {
      if (service === 'ClientService') cache.removeServer(server);
    });
    this.registry =
      settings.zookeeper === undefined
        ? new RpcRegistry(settings.masters, this.pool)
        : new ZooKeeperRegistry(settings.zookeeper, settings);
    this.locator = new Locator(cache, this.registry, settings.metaTimeout);
    this.dispatcher = new Dispatcher(settings, this.pool, this.locator);
    this.locator.readMetaWith(readMeta(this));
  }

  get isClosed(): boolean {
    return this.closed;
  }

  regionFailed(region: Region, error: RowanError): void {
    this.dispatcher.regionFailed(region, error);
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
  }
}

import type { RowanError } from '../../errors.js';
import { Get } from '../../table/get.js';
import type { Result } from '../../table/result.js';
import { Scan } from '../../table/scan.js';
import type { HBaseSettings } from '../options.js';
import { Locator } from '../region/locator.js';
import { META_TABLE, type Region } from '../region/region.js';
import { RegionCache } from '../region/region-cache.js';
import { type Registry, RpcRegistry } from '../region/registry.js';
import { ZooKeeperRegistry } from '../region/zookeeper-registry.js';
import { ConnectionPool } from '../rpc/connection-pool.js';
import { GetAction, readGetResult } from './action.js';
import { Dispatcher } from './dispatcher.js';
import { HBaseScanner, type ScannerContext } from './scanner.js';

/** All that the tables and the admin of one cluster share: connections, the registry, the region cache, the dispatcher. */
export class Cluster implements ScannerContext {
  readonly pool: ConnectionPool;
  readonly registry: Registry;
  readonly locator: Locator;
  readonly dispatcher: Dispatcher;
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
    this.locator = new Locator(cache, this.registry, settings.rpcTimeout);
    this.dispatcher = new Dispatcher(settings, this.pool, this.locator);
    this.locator.readMetaWith({
      scanBackwards: (startRow, stopRow, limit) => this.scanMeta(startRow, stopRow, limit),
      tableState: (row) => this.tableState(row),
    });
  }

  get isClosed(): boolean {
    return this.closed;
  }

  regionFailed(region: Region, error: RowanError): void {
    this.dispatcher.regionFailed(region, error);
  }

  close(): void {
    this.closed = true;
    this.dispatcher.close();
    this.pool.close();
  }

  private async scanMeta(startRow: Uint8Array, stopRow: Uint8Array, limit: number): Promise<Result[]> {
    const scan = new Scan()
      .setReversed(true)
      .withStartRow(startRow)
      .withStopRow(stopRow, true)
      .addFamily('info')
      .setLimit(limit);
    const scanner = new HBaseScanner(this, META_TABLE, scan);
    try {
      return await scanner.nextBatch(limit);
    } finally {
      await scanner.close();
    }
  }

  private async tableState(row: Uint8Array): Promise<Uint8Array | undefined> {
    const get = new Get(row).addColumn('table', 'state');
    const { operationTimeout } = this.settings;
    const deadline = performance.now() + operationTimeout;
    const action = new GetAction(META_TABLE, get, false, readGetResult, deadline, operationTimeout);
    const answer = action.promise();
    this.dispatcher.submit(action);
    return (await answer).getValue('table', 'state');
  }
}

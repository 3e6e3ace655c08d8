import { compareBytes, EMPTY_BYTES, toStringBinary } from '../../bytes/index.js';
import { RowanError } from '../../errors.js';
import { filters } from '../../table/filter/filters.js';
import { Scan } from '../../table/get-and-scan.js';
import { Result } from '../../table/result.js';
import { type HBaseDebugState, type HBaseMetrics, metricsOf, Observer } from '../observe/observer.js';
import type { HBaseSettings } from '../options.js';
import { Locator, type MetaReader, RegionCache } from '../region/locator.js';
import { INFO, META_TABLE, META_VERSIONS, type Region } from '../region/region.js';
import { type Registry, RpcRegistry, ZooKeeperRegistry } from '../region/registry.js';
import { ConnectionPool } from '../rpc/connection-pool.js';
import { firstAnswer, type NoAnswerError } from '../rpc/first-answer.js';
import { Dispatcher } from './dispatcher.js';
import { OpenScanners } from './open-scanners.js';
import { sleep } from './retry.js';
import { HBaseScanner, type ScannerContext } from './scanner.js';
import { ServedTransactions } from './transactions.js';

/** All operations wait for lookups, so the pauses between lookup attempts stay short. */
const LONGEST_PAUSE = 1000;
const PRIMARY = 0;

/**
 * Reads `hbase:meta` with a short timeout for each request, so that a hung server delays lookups little, and asks meta's replicas
 * when the primary is slow. A replica may be stale: a location that it returns is verified by use, but only the primary can say that a
 * table or region does not exist.
 */
function readMeta(cluster: ScannerContext): MetaReader {
  const { settings } = cluster;
  const context: ScannerContext = {
    settings: { ...settings, scannerTimeout: settings.metaTimeout },
    longestPause: LONGEST_PAUSE,
    pool: cluster.pool,
    locator: cluster.locator,
    observer: cluster.observer,
    scanners: cluster.scanners,
    regionFailed: (region, error) => cluster.regionFailed(region, error),
    get isClosed() {
      return cluster.isClosed;
    },
  };
  const read = async (
    scan: Scan,
    limit: number,
    signal: AbortSignal | undefined,
    replicaId: number,
  ): Promise<Result[]> => {
    const scanner = new HBaseScanner(context, META_TABLE, scan.setLimit(limit), { signal }, replicaId);
    try {
      return await scanner.nextBatch(limit);
    } finally {
      await scanner.close();
    }
  };
  const replicas = async (): Promise<number[]> => {
    try {
      const region = await cluster.locator.locate(META_TABLE, EMPTY_BYTES, false, settings.metaTimeout);
      return region.replicas.flatMap((replica) => (replica === undefined ? [] : [replica.replicaId]));
    } catch {
      // The primary's scan reports the error, unless a replica answers first.
      return [PRIMARY];
    }
  };
  return {
    async scanBackwards(startRow, stopRow, limit) {
      const ask = async (replicaId: number, signal?: AbortSignal): Promise<Result[]> => {
        const scan = new Scan().setReversed(true).withStartRow(startRow).withStopRow(stopRow, true);
        const rows = await read(scan.addFamily(INFO), limit, signal, replicaId);
        if (replicaId === PRIMARY || rows.length > 0) return rows;
        throw new RowanError('ERR_NOT_FOUND', `Replica ${replicaId} of meta knows no such region.`, {
          retryable: true,
        });
      };
      const candidates = await replicas();
      if (candidates.length < 2) return ask(PRIMARY);
      const hedging = { atOnce: 1, stagger: settings.metaReplicaDelay, timeout: settings.operationTimeout };
      try {
        return await firstAnswer(candidates, hedging, ask);
      } catch (failure) {
        const [first] = (failure as NoAnswerError).errors;
        throw first ?? failure;
      }
    },
    async tableStates(tables) {
      const rows = tables.map((table) => Buffer.from(table, 'utf8')).sort(compareBytes);
      const scan = new Scan()
        .withStartRow(rows[0]!)
        .withStopRow(rows.at(-1)!, true)
        .addColumn('table', 'state');
      if (rows.length > 1) {
        const ranges = rows.map((row) => ({
          startRow: row,
          startInclusive: true,
          stopRow: row,
          stopInclusive: true,
        }));
        scan.setFilter(filters.multiRowRange(ranges));
      }
      const states = new Map<string, Uint8Array>();
      for (const result of await read(scan, rows.length, undefined, PRIMARY)) {
        const state = result.getValue('table', 'state');
        if (state !== undefined) states.set(Buffer.from(result.row).toString('utf8'), state);
      }
      return states;
    },
    async history(region) {
      const scan = new Scan().withStartRow(region).withStopRow(region, true).readVersions(META_VERSIONS);
      for (const column of ['state', 'server', 'serverstartcode']) scan.addColumn(INFO, column);
      const [row] = await read(scan, 1, undefined, PRIMARY);
      return row ?? Result.EMPTY;
    },
  };
}

/** Milliseconds that closing waits for servers to close scanners. */
const LONGEST_CLOSE = 1000;

/** State shared by the tables and the admin of one cluster: connections, registry, region cache, dispatcher. */
export class Cluster implements ScannerContext {
  readonly pool: ConnectionPool;
  readonly registry: Registry;
  readonly locator: Locator;
  readonly dispatcher: Dispatcher;
  readonly scanners = new OpenScanners();
  readonly transactions = new ServedTransactions(this);
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

  metrics(withRegions: boolean): HBaseMetrics {
    const { cache } = this.locator;
    return metricsOf(
      {
        observer: this.observer,
        connections: this.pool.size,
        openScanners: this.scanners.size,
        regionCache: { ...cache.sizes(), lookups: this.locator.lookupsMade },
        queueOf: (server) => this.dispatcher.queueOf(server),
      },
      withRegions,
    );
  }

  debugState(): HBaseDebugState {
    return {
      regions: [...this.locator.cache].map(({ table, startKey, endKey, name, server, replicas }) => ({
        table,
        startKey: toStringBinary(startKey),
        endKey: toStringBinary(endKey),
        name: toStringBinary(name),
        server,
        replicas: replicas.flatMap((replica, id) =>
          replica === undefined || id === 0 ? [] : [replica.server],
        ),
      })),
      tables: this.observer.tables.snapshot(true),
      queues: this.dispatcher.loads(),
      ...this.pool.state(),
      openScanners: this.scanners.size,
      lookups: this.locator.lookupsMade,
    };
  }

  private watch(): void {
    const { telemetry } = this.observer;
    const { cache } = this.locator;
    telemetry?.gauge('rowan.hbase.connections', 'Connections to servers.', () => this.pool.size);
    telemetry?.gauge('rowan.hbase.scanners', 'Scanners open on servers.', () => this.scanners.size);
    telemetry?.gauge('rowan.hbase.regions', 'Regions in the location cache.', () => cache.sizes().regions);
  }

  /** Operations under way fail. Servers are asked to close scanners; the wait for their answers is short. */
  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    this.dispatcher.close();
    const waited = new AbortController();
    await Promise.race([this.scanners.closeAll(), sleep(LONGEST_CLOSE, waited.signal)]);
    waited.abort();
    this.pool.close();
    this.transactions.close();
    this.observer.telemetry?.close();
  }
}

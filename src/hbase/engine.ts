import { EMPTY_BYTES } from '../bytes/index.js';
import { ClosedError } from '../errors.js';
import type { BulkLoadOptions, BulkLoadResult, Capabilities, CellStream, Engine } from '../table/engine.js';
import { ObservedTable, type WriteObserver, WriteObservers } from '../table/observer.js';
import type { Table } from '../table/table.js';
import type { Metric } from '../table/telemetry.js';
import { HBaseAdmin } from './admin/hbase-admin.js';
import { HFileLoad } from './bulk/hfile-load.js';
import { Cluster } from './client/cluster.js';
import { HBaseTable } from './client/hbase-table.js';
import {
  type CoprocessorAnswer,
  type CoprocessorCall,
  callCoprocessor,
  callCoprocessors,
} from './client/region-call.js';
import { pauseBetweenStarts, sleep } from './client/retry.js';
import type { HBaseDebugState, HBaseMetrics } from './observe/observer.js';
import { type HBaseOptions, type HBaseSettings, resolveSettings } from './options.js';
import type { ClusterIdentity } from './region/registry.js';
import { addressKey } from './rpc/connection-settings.js';
import { withSite } from './site.js';

const CAPABILITIES: Capabilities = Object.freeze({
  atomicBatch: false,
  sync: false,
  snapshotScans: false,
  checkpoint: false,
  timelineReads: true,
  cellTtl: true,
  deleteMarkers: true,
});

/** An engine on an Apache HBase cluster, over HBase's own protocol. One engine serves any number of tables and callers. */
export class HBaseEngine implements Engine {
  readonly name = 'hbase';
  readonly capabilities = CAPABILITIES;
  readonly admin: HBaseAdmin;
  private readonly observers = new WriteObservers();
  private closed = false;

  /** The cluster's id, which HBase assigns when the cluster is set up. */
  readonly clusterId: string;
  /** Set when the server is `rowan serve`: transactions of its store. HBase has none. */
  readonly transaction?: NonNullable<Engine['transaction']>;

  /** Made by {@link connectHBase}. */
  constructor(
    private readonly cluster: Cluster,
    { id, hasTransactions }: ClusterIdentity,
  ) {
    this.clusterId = id;
    this.admin = new HBaseAdmin(cluster);
    if (hasTransactions) {
      this.transaction = (run, options) =>
        cluster.transactions.run(run, options, (table, tables) =>
          this.observed(table, (name) => tables.table(name)),
        );
    }
  }

  get place(): string {
    return this.clusterId;
  }

  table(name: string): Table {
    if (this.closed) throw new ClosedError('The connection to HBase was closed.');
    return this.observed(new HBaseTable(this.cluster, name), (other) => this.table(other));
  }

  private observed(table: Table, tableOf: (name: string) => Table): Table {
    return new ObservedTable(table, this.observers, tableOf);
  }

  observe(table: string, observer: WriteObserver): () => void {
    if (this.closed) throw new ClosedError('The connection to HBase was closed.');
    return this.observers.add(table, observer);
  }

  /** The clock of this machine. Servers stamp cells by their own clocks. */
  now(): number {
    return Date.now();
  }

  /**
   * Bulk load: writes sorted cells into HFiles under `options.folder` and asks the regions to adopt them. The cells of a row become
   * visible together. Loading the same cells twice has no further effect, so an interrupted load can be repeated.
   */
  async bulkLoad(table: string, cells: CellStream, options: BulkLoadOptions = {}): Promise<BulkLoadResult> {
    if (this.closed) throw new ClosedError('The connection to HBase was closed.');
    return new HFileLoad(this.admin, table, options).run(cells);
  }

  /**
   * Counts of requests, retries, connections and scanners, and what this client has done with each table, as of now. `regions`: also with
   * each of its regions; up to 1,000 of an engine have figures of their own. Default false.
   */
  metrics(options: { readonly regions?: boolean } = {}): HBaseMetrics {
    return this.cluster.metrics(options.regions === true);
  }

  /** The figures of tables in `metrics()` as a list, with the table in the attribute `db.collection.name` (docs/observing.md). */
  tableMetrics(): Metric[] {
    return this.cluster.observer.tables.metrics();
  }

  /**
   * What the client knows and does now: cached regions with their servers, queues, connections, servers that are left alone. For bug reports
   * and for the question why an operation waits. It has keys of regions, and neither rows nor values.
   */
  debugState(): HBaseDebugState {
    return this.cluster.debugState();
  }

  /**
   * Calls a coprocessor endpoint in the region that holds `row`.
   * @throws RowanError what the endpoint throws; with `details.outcome` `'unknown'` when its answer was lost.
   */
  async callCoprocessor(call: CoprocessorCall, row: Uint8Array): Promise<Uint8Array> {
    return (await callCoprocessor(this.cluster, call, row)).value;
  }

  /**
   * Calls a coprocessor endpoint in every region from `startRow` up to `stopRow` (default: of the table), one after the
   * other in the order of their keys.
   */
  callCoprocessors(
    call: CoprocessorCall,
    startRow: Uint8Array = EMPTY_BYTES,
    stopRow: Uint8Array = EMPTY_BYTES,
  ): AsyncIterable<CoprocessorAnswer> {
    return callCoprocessors(this.cluster, call, startRow, stopRow);
  }

  /** Closes every connection. Calls under way fail with `ERR_CLOSED`. */
  async close(): Promise<void> {
    this.closed = true;
    await this.cluster.close();
  }
}

/** Consecutive failed connects of this process, by cluster address. */
const failedStarts = new Map<string, number>();

function placeOf({ masters, zookeeper }: HBaseSettings): string {
  return [...masters, ...(zookeeper?.quorum ?? [])].map(addressKey).sort().join(',');
}

/**
 * Connects to a cluster: finds it by `masters` (or ZooKeeper) and asks for its id. After failed connects of this process it first waits
 * at random, up to `pause` and then longer, so that programs in a restart loop do not hinder the cluster's recovery.
 * @throws InvalidArgumentError for invalid options; ConnectionError when no node answers.
 */
export async function connectHBase(options: HBaseOptions): Promise<HBaseEngine> {
  const settings = resolveSettings(await withSite(options));
  const place = placeOf(settings);
  const failures = failedStarts.get(place) ?? 0;
  await sleep(pauseBetweenStarts(failures, settings.pause));
  const cluster = new Cluster(settings);
  try {
    const identity = await cluster.registry.identity(settings.connectTimeout);
    failedStarts.delete(place);
    return new HBaseEngine(cluster, identity);
  } catch (error) {
    failedStarts.set(place, failures + 1);
    await cluster.close();
    throw error;
  }
}

import { EMPTY_BYTES } from '../bytes/index.js';
import { ClosedError } from '../errors.js';
import type { BulkLoadOptions, BulkLoadResult, Capabilities, CellStream, Engine } from '../table/engine.js';
import { ObservedTable } from '../table/observed-table.js';
import { type WriteObserver, WriteObservers } from '../table/observer.js';
import type { Table } from '../table/table.js';
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
import type { HBaseMetrics } from './observe/observer.js';
import { type HBaseOptions, type HBaseSettings, resolveSettings } from './options.js';
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

/** An Apache HBase cluster, spoken to in its own protocol. One engine serves any number of tables and callers. */
export class HBaseEngine implements Engine {
  readonly name = 'hbase';
  readonly capabilities = CAPABILITIES;
  readonly admin: HBaseAdmin;
  private readonly observers = new WriteObservers();
  private closed = false;

  /** Made by {@link connectHBase}. */
  constructor(
    private readonly cluster: Cluster,
    /** The id that the cluster was given when it was set up. */
    readonly clusterId: string,
  ) {
    this.admin = new HBaseAdmin(cluster);
  }

  get place(): string {
    return this.clusterId;
  }

  table(name: string): Table {
    if (this.closed) throw new ClosedError('The connection to HBase was closed.');
    return new ObservedTable(new HBaseTable(this.cluster, name), this.observers, (other) =>
      this.table(other),
    );
  }

  observe(table: string, observer: WriteObserver): () => void {
    if (this.closed) throw new ClosedError('The connection to HBase was closed.');
    return this.observers.add(table, observer);
  }

  /** The clock of this machine: the servers stamp by theirs. */
  now(): number {
    return Date.now();
  }

  /**
   * Writes sorted cells into HFiles under `options.folder`, and has the regions take them in. Cells of the same row are seen
   * at one moment. What is loaded twice is there once, so an interrupted load can simply be made again.
   */
  async bulkLoad(table: string, cells: CellStream, options: BulkLoadOptions = {}): Promise<BulkLoadResult> {
    if (this.closed) throw new ClosedError('The connection to HBase was closed.');
    return new HFileLoad(this.admin, table, options).run(cells);
  }

  /** What the engine has done so far, and what it is about. */
  metrics(): HBaseMetrics {
    return this.cluster.metrics();
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

  /** Ends every connection. What is under way fails with `ERR_CLOSED`. */
  async close(): Promise<void> {
    this.closed = true;
    await this.cluster.close();
  }
}

/** Starts in a row that did not find their cluster, by where it was looked for. */
const failedStarts = new Map<string, number>();

function placeOf({ masters, zookeeper }: HBaseSettings): string {
  return [...masters, ...(zookeeper?.quorum ?? [])].map(addressKey).sort().join(',');
}

/**
 * Connects to a cluster: finds it by `masters` (or ZooKeeper) and asks for its id.
 * After starts of this process that have not found it, it waits a moment first: at random, up to `pause` and then longer.
 * @throws InvalidArgumentError for options that cannot be; ConnectionError when no node answers.
 */
export async function connectHBase(options: HBaseOptions): Promise<HBaseEngine> {
  const settings = resolveSettings(await withSite(options));
  const place = placeOf(settings);
  const failures = failedStarts.get(place) ?? 0;
  await sleep(pauseBetweenStarts(failures, settings.pause));
  const cluster = new Cluster(settings);
  try {
    const id = await cluster.registry.clusterId(settings.connectTimeout);
    failedStarts.delete(place);
    return new HBaseEngine(cluster, id);
  } catch (error) {
    failedStarts.set(place, failures + 1);
    await cluster.close();
    throw error;
  }
}

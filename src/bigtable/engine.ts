import { ClosedError } from '../errors.js';
import type { Capabilities, Engine } from '../table/engine.js';
import { ObservedTable, type WriteObserver, WriteObservers } from '../table/observer.js';
import type { Table } from '../table/table.js';
import { BigtableAdmin } from './bigtable-admin.js';
import { BigtableTable } from './bigtable-table.js';
import { BigtableClient } from './client.js';
import { Descriptors } from './descriptors.js';
import { MAX_CELL } from './names.js';
import { type BigtableOptions, resolveSettings } from './options.js';
import { TableOptionsStore } from './table-options.js';

const CAPABILITIES: Capabilities = Object.freeze({
  atomicBatch: false,
  sync: false,
  snapshotScans: false,
  checkpoint: false,
  timelineReads: false,
  cellTtl: false,
  deleteMarkers: false,
});

/**
 * An instance of Google Cloud Bigtable. One engine serves any number of tables and concurrent callers
 * (docs/bigtable.md).
 */
export class BigtableEngine implements Engine {
  readonly name = 'bigtable';
  readonly capabilities = CAPABILITIES;
  readonly maxCellSize = MAX_CELL;
  readonly admin: BigtableAdmin;
  private readonly observers = new WriteObservers();
  private readonly descriptors: Descriptors;
  private closed = false;

  /** Use {@link connectBigtableEngine}. */
  constructor(private readonly client: BigtableClient) {
    const stored = new TableOptionsStore(client);
    this.descriptors = new Descriptors(client, stored);
    this.admin = new BigtableAdmin(client, this.descriptors, stored);
  }

  /** "projects/…/instances/…". */
  get place(): string {
    return this.client.instance;
  }

  table(name: string): Table {
    this.checkOpen();
    const inner = new BigtableTable(this.client, this.descriptors, () => this.now(), name);
    return new ObservedTable(inner, this.observers, (other) => this.table(other));
  }

  observe(table: string, observer: WriteObserver): () => void {
    this.checkOpen();
    return this.observers.add(table, observer);
  }

  /** A descriptor that was cached before, and the calls that began with it. */
  get fenceDelay(): number {
    const { descriptorLifetime, operationTimeout } = this.client.settings;
    return descriptorLifetime + operationTimeout;
  }

  /** This machine's clock. The service uses its own for timestamps. */
  now(): number {
    return Date.now();
  }

  /** Closes every connection. Calls in progress fail with `ERR_CLOSED`. */
  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    await this.client.close();
  }

  private checkOpen(): void {
    if (this.closed) throw new ClosedError('The connection to Bigtable was closed.');
  }
}

/**
 * Connects to an instance, without entities. Nothing is sent before the first call.
 * @throws InvalidArgumentError for invalid options; UnsupportedError when `@google-cloud/bigtable` is not installed.
 */
export async function connectBigtableEngine(options: BigtableOptions): Promise<BigtableEngine> {
  return new BigtableEngine(await BigtableClient.of(resolveSettings(options)));
}

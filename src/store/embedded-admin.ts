import { toStringBinary } from '../bytes/index.js';
import { InvalidArgumentError, RowanError } from '../errors.js';
import { checkRow, describe, isRecord } from '../table/checks.js';
import {
  type Admin,
  canonicalTableName,
  checkedDescriptor,
  checkSplitKeys,
  DEFAULT_NAMESPACE,
  type NamespaceProperties,
  parseTableName,
  type RegionInfo,
  type TableChanges,
  type TableDescriptor,
} from '../table/index.js';
import { disabledTable, tableExists } from './catalog.js';
import { type FamilyStore, type Region, regionOf } from './region/region.js';
import { listSnapshots, Snapshots, type TableSnapshot } from './snapshots.js';
import type { StoreCore } from './store-core.js';
import {
  disabledError,
  noSuchNamespace,
  type OpenCheck,
  type StoredTables,
  type TableState,
} from './table-state.js';

/** The parts of a store that it uses. */
interface AdminCore {
  readonly catalog: StoredTables;
  readonly lifecycle: OpenCheck;
}

/** The part of the admin interface that only reads, shared by stores that are open for writing and read-only. */
export class ReadAdmin {
  constructor(protected readonly core: AdminCore) {}

  /** Sorted by name. */
  async listSnapshots(): Promise<TableSnapshot[]> {
    this.core.lifecycle.checkOpen();
    return listSnapshots(this.core.catalog.tables());
  }

  async getNamespace(namespace: string): Promise<NamespaceProperties> {
    parseTableName(namespaced(namespace));
    this.core.lifecycle.checkOpen();
    return this.core.catalog.namespaceProperties(namespace);
  }

  async listNamespaces(): Promise<string[]> {
    return this.core.catalog.namespaces();
  }

  async disabledTables(names: readonly string[]): Promise<string[]> {
    this.core.lifecycle.checkOpen();
    return names.filter((name) => this.core.catalog.find(canonicalTableName(name))?.enabled === false);
  }

  async isTableEnabled(name: string): Promise<boolean> {
    return this.stateOf(name).enabled;
  }

  async tableExists(name: string): Promise<boolean> {
    this.core.lifecycle.checkOpen();
    return this.core.catalog.find(canonicalTableName(name)) !== undefined;
  }

  async getDescriptor(name: string): Promise<TableDescriptor> {
    return this.stateOf(name).descriptor;
  }

  async getDescriptors(names: readonly string[]): Promise<TableDescriptor[]> {
    this.core.lifecycle.checkOpen();
    const found = [...new Set(names)].map((name) => this.core.catalog.find(canonicalTableName(name)));
    return found.flatMap((table) => (table === undefined ? [] : [table.descriptor]));
  }

  async listTables(): Promise<TableDescriptor[]> {
    this.core.lifecycle.checkOpen();
    return this.core.catalog.tableNames().map((name) => this.stateOf(name).descriptor);
  }

  async getRegions(table: string): Promise<RegionInfo[]> {
    const state = this.stateOf(table);
    return state.regions.map((region) => ({
      table: state.name,
      startKey: region.startKey,
      endKey: region.endKey,
      name: regionName(state, region),
      server: 'embedded',
      readRequests: region.readRequests,
      writeRequests: region.writeRequests,
      storeFiles: region.stores.reduce((sum, store) => sum + store.version.files.length, 0),
      storeFileSize: region.fileBytes,
      memstoreSize: region.memstoreBytes,
    }));
  }

  protected stateOf(name: string): TableState {
    this.core.lifecycle.checkOpen();
    return this.core.catalog.get(canonicalTableName(name));
  }
}

/** The name of a region in `getRegions` and `mergeRegions`. */
function regionName({ name }: TableState, { startKey, id }: Region): string {
  return `${name},${toStringBinary(startKey)},${id}`;
}

/** The name of some table in the namespace, for checks. @throws InvalidArgumentError unless it is a string. */
function namespaced(namespace: string): string {
  if (typeof namespace === 'string') return `${namespace}:t`;
  throw new InvalidArgumentError(`A namespace is a string, not ${describe(namespace)}.`);
}

/** HBase's system namespace: it cannot be created or deleted. */
const SYSTEM_NAMESPACE = 'hbase';

/** Namespaces, tables and regions of an embedded store. */
export class EmbeddedAdmin extends ReadAdmin implements Admin {
  declare protected readonly core: StoreCore;
  private readonly snapshots: Snapshots;

  constructor(core: StoreCore) {
    super(core);
    this.snapshots = new Snapshots(core);
  }

  /**
   * Takes a snapshot of a table as of one moment, with every write acknowledged before the call. Files are shared, not copied.
   * @throws InvalidArgumentError when a snapshot of this name exists; RowanError `ERR_TABLE_NOT_FOUND`.
   */
  async snapshot(name: string, table: string): Promise<void> {
    await this.snapshots.take(name, this.stateOf(table));
  }

  async deleteSnapshot(name: string): Promise<void> {
    this.core.lifecycle.checkOpen();
    await this.snapshots.delete(name);
  }

  /** Creates a table from a snapshot, enabled. @throws RowanError `ERR_TABLE_EXISTS`. */
  async cloneSnapshot(name: string, newTable: string): Promise<void> {
    const { namespace } = parseTableName(newTable);
    this.checkNamespace(namespace);
    await this.snapshots.clone(name, canonicalTableName(newTable));
  }

  /** Restores the table of a snapshot, which must be disabled, to the snapshot's contents. @throws RowanError `ERR_TABLE_ENABLED`. */
  async restoreSnapshot(name: string): Promise<void> {
    this.core.lifecycle.checkOpen();
    await this.snapshots.restore(name);
  }

  async createNamespace(namespace: string, properties: NamespaceProperties = {}): Promise<void> {
    parseTableName(namespaced(namespace));
    this.core.lifecycle.checkOpen();
    await this.core.catalog.addNamespace(namespace, checkedProperties(namespace, properties));
  }

  async modifyNamespace(namespace: string, properties: NamespaceProperties): Promise<void> {
    parseTableName(namespaced(namespace));
    this.checkNamespace(namespace);
    await this.core.catalog.alterNamespace(namespace, checkedProperties(namespace, properties));
  }

  async deleteNamespace(namespace: string): Promise<void> {
    parseTableName(namespaced(namespace));
    this.checkNamespace(namespace);
    if (namespace === DEFAULT_NAMESPACE || namespace === SYSTEM_NAMESPACE) {
      throw new RowanError(
        'ERR_INVALID_ARGUMENT',
        `The namespace "${namespace}" always exists and cannot be deleted.`,
      );
    }
    await this.core.catalog.removeNamespace(namespace);
  }

  async createTable(asked: TableDescriptor, splitKeys: readonly Uint8Array[] = []): Promise<void> {
    const descriptor = checkedDescriptor(asked);
    const { namespace } = parseTableName(descriptor.name);
    this.checkNamespace(namespace);
    if (this.core.catalog.find(descriptor.name)) {
      throw tableExists(descriptor.name);
    }
    checkSplitKeys(splitKeys);
    await this.core.catalog.createTable(descriptor, splitKeys);
  }

  async deleteTable(name: string): Promise<void> {
    await this.core.catalog.deleteTable(this.disabled(name, 'delete'));
  }

  async truncateTable(name: string, preserveSplits = false): Promise<void> {
    const state = this.disabled(name, 'truncate');
    const splitKeys = preserveSplits ? state.regions.slice(1).map((region) => region.startKey) : [];
    await this.core.catalog.truncateTable(state, splitKeys);
  }

  async modifyTable(asked: TableDescriptor): Promise<void> {
    const descriptor = checkedDescriptor(asked);
    await this.core.catalog.modifyTable(this.stateOf(descriptor.name), descriptor);
  }

  async enableTable(name: string): Promise<void> {
    const state = this.stateOf(name);
    if (state.enabled) throw new RowanError('ERR_TABLE_ENABLED', `The table "${state.name}" is enabled.`);
    await this.core.catalog.setEnabled(state, true);
  }

  async disableTable(name: string): Promise<void> {
    const state = this.stateOf(name);
    if (!state.enabled) throw disabledError(state.name);
    await this.core.catalog.setEnabled(state, false);
  }

  async flush(table: string, family?: string): Promise<void> {
    await this.forEachStore(table, family, (place) => this.core.maintenance.flush(place));
  }

  async changesOf(table: string): Promise<TableChanges> {
    const state = this.enabledTable(table);
    const lastCommit = this.core.commits.readPoint;
    // So that markers in memory are counted. What the flush itself drops is counted, too.
    await this.flush(table);
    const { lastLoss, droppedMarkers, versionDeletes } = state.history;
    return {
      lastCommit,
      lastLoss,
      lastDroppedMarker: droppedMarkers?.commit ?? 0,
      droppedMarkersUntil: droppedMarkers?.until ?? -1,
      lastVersionDelete: versionDeletes,
    };
  }

  async compact(table: string, family?: string): Promise<void> {
    await this.forEachStore(table, family, async (place) => {
      await this.core.maintenance.compact(place);
    });
  }

  async majorCompact(table: string, family?: string): Promise<void> {
    await this.forEachStore(table, family, (place) => this.core.maintenance.majorCompact(place));
  }

  async split(table: string, splitKey?: Uint8Array): Promise<void> {
    const state = this.enabledTable(table);
    const key = splitKey === undefined ? undefined : checkRow(splitKey);
    const regions = key ? [regionOf(state.regions, key)] : state.regions;
    for (const region of regions)
      await this.core.lifecycle.track(this.core.maintenance.split(state, region, key));
  }

  /**
   * Merges adjacent regions of a table into one. `regions`: their names, as `getRegions` lists them.
   * @throws InvalidArgumentError unless they are two or more regions of one table, adjacent, each named once.
   */
  async mergeRegions(regions: readonly string[]): Promise<void> {
    if (!Array.isArray(regions) || regions.length < 2 || regions.some((name) => typeof name !== 'string')) {
      throw new InvalidArgumentError(
        `mergeRegions takes the names of two or more neighboring regions of one table, not ${describe(regions)}.`,
      );
    }
    const name = regions[0]!;
    const state = this.enabledTable(name.slice(0, Math.max(0, name.indexOf(','))));
    const found = regions.map((wanted) => {
      const region = state.regions.find((each) => regionName(state, each) === wanted);
      if (region !== undefined) return region;
      throw new InvalidArgumentError(
        `Table "${state.name}" has no region "${wanted}". List its regions (getRegions), and merge those of one table.`,
        { details: { table: state.name } },
      );
    });
    await this.core.lifecycle.track(this.core.maintenance.mergeRegions(state, found));
  }

  private async forEachStore(
    table: string,
    family: string | undefined,
    work: (place: { state: TableState; region: Region; store: FamilyStore }) => Promise<void>,
  ): Promise<void> {
    const state = this.enabledTable(table);
    if (family !== undefined && !state.familyNumbers.has(family)) throw state.noSuchFamily(family);
    for (const region of state.regions) {
      for (const store of region.stores) {
        if (family !== undefined && store.descriptor.name !== family) continue;
        await this.core.lifecycle.track(work({ state, region, store }));
      }
    }
  }

  private enabledTable(name: string): TableState {
    const state = this.stateOf(name);
    if (!state.enabled) throw disabledError(state.name);
    return state;
  }

  private disabled(name: string, action: string): TableState {
    const state = this.stateOf(name);
    if (!state.enabled) return state;
    throw disabledTable(state.name, action);
  }

  private checkNamespace(namespace: string): void {
    this.core.lifecycle.checkOpen();
    if (!this.core.catalog.hasNamespace(namespace)) throw noSuchNamespace(namespace);
  }
}

/** Returns a copy. @throws InvalidArgumentError unless the properties are an object with string values. */
function checkedProperties(namespace: string, given: unknown): NamespaceProperties {
  const wrong = isRecord(given)
    ? Object.entries(given).find(([name, value]) => name === '' || typeof value !== 'string')
    : undefined;
  if (isRecord(given) && wrong === undefined) {
    const names = Object.keys(given).sort();
    return Object.fromEntries(names.map((name) => [name, given[name] as string]));
  }
  throw new InvalidArgumentError(
    `The properties of the namespace "${namespace}" are an object with string values, not ${wrong === undefined ? describe(given) : `with "${wrong[0]}" of ${describe(wrong[1])}`}.`,
  );
}

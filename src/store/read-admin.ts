/** The part of the admin interface that only reads, shared by stores that are open for writing and read-only. */

import { toStringBinary } from '../bytes/index.js';
import { InvalidArgumentError } from '../errors.js';
import { describe } from '../table/checks.js';
import {
  canonicalTableName,
  type NamespaceProperties,
  parseTableName,
  type RegionInfo,
  type TableDescriptor,
} from '../table/index.js';
import type { Region } from './region/region.js';
import { listSnapshots, type TableSnapshot } from './snapshots.js';
import type { OpenCheck, StoredTables } from './stored-tables.js';
import type { TableState } from './table-state.js';

/** The parts of a store that it uses. */
export interface AdminCore {
  readonly catalog: StoredTables;
  readonly lifecycle: OpenCheck;
}

export class ReadAdmin<Core extends AdminCore = AdminCore> {
  constructor(protected readonly core: Core) {}

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
export function regionName({ name }: TableState, { startKey, id }: Region): string {
  return `${name},${toStringBinary(startKey)},${id}`;
}

/** The name of some table in the namespace, for checks. @throws InvalidArgumentError unless it is a string. */
export function namespaced(namespace: string): string {
  if (typeof namespace === 'string') return `${namespace}:t`;
  throw new InvalidArgumentError(`A namespace is a string, not ${describe(namespace)}.`);
}

import { EMPTY_BYTES } from '../bytes/index.js';
import { prepareCodecs } from '../compression/index.js';
import { InvalidArgumentError, RowanError } from '../errors.js';
import { type NamespaceProperties, parseTableName, type TableDescriptor } from '../table/index.js';
import type { MaintenanceLocks } from './background/maintenance-locks.js';
import { type Lifecycle, SerialQueue, type StoreEnvironment } from './environment.js';
import type { Journal } from './ledger/journal.js';
import type { Edit } from './manifest/index.js';
import type { ChunkPool } from './memstore/arena.js';
import { FamilyStore, Region } from './region/region.js';
import {
  noSuchNamespace,
  SNAPSHOTS,
  type StoredNamespaces,
  StoredTables,
  TableState,
} from './table-state.js';
import type { WriteThrottle } from './write-throttle.js';

/** The parts of the store that changes of tables use. */
interface CatalogParts {
  readonly journal: Journal;
  readonly lifecycle: Lifecycle;
  readonly locks: MaintenanceLocks;
  readonly throttle: WriteThrottle;
  readonly chunkPool: ChunkPool;
  readonly environment: StoreEnvironment;
}

/** The tables and namespaces of an open store, and their changes. Each change is one edit of the MANIFEST. */
export class Catalog extends StoredTables {
  private readonly byId = new Map<number, TableState>();
  /** Names of tables that are being changed. */
  private readonly reserved = new Set<string>();
  /** Changes of namespaces run one after the other. */
  private readonly namespaceChanges = new SerialQueue();
  /** Namespaces that are being deleted: no table may be created in them. */
  private readonly dropping = new Set<string>();

  /** Starts with the tables that were found when the store was opened. */
  constructor(
    private readonly parts: CatalogParts,
    tables: readonly TableState[],
  ) {
    super(parts.lifecycle);
    for (const state of tables) this.add(state);
  }

  /** Like `openTable`, for a table that accepts writes. @throws RowanError `ERR_READONLY` for a read-only table. */
  writableTable(name: string): TableState {
    const state = this.openTable(name);
    if (!state.descriptor.readOnly) return state;
    throw new RowanError('ERR_READONLY', `The table "${name}" is read-only (READONLY). Alter it to write.`, {
      details: { table: name },
    });
  }

  protected get stored(): StoredNamespaces {
    return this.parts.journal.manifest.state;
  }

  tableOf(region: Region): TableState | undefined {
    return this.byId.get(region.table);
  }

  /** @throws RowanError `ERR_NAMESPACE_EXISTS`. */
  addNamespace(name: string, properties: NamespaceProperties): Promise<void> {
    return this.changeNamespaces(async () => {
      if (name === SNAPSHOTS) {
        throw new InvalidArgumentError(
          `The namespace "${name}" is reserved for snapshots. Choose another name.`,
        );
      }
      if (this.hasNamespace(name)) throw namespaceExists(name);
      const edits: Edit[] = [{ type: 'namespaceAdd', name }];
      if (Object.keys(properties).length > 0) edits.push({ type: 'namespaceAlter', name, properties });
      await this.parts.journal.record(edits);
    });
  }

  /** @throws RowanError `ERR_NAMESPACE_NOT_FOUND`. */
  alterNamespace(name: string, properties: NamespaceProperties): Promise<void> {
    return this.changeNamespaces(async () => {
      if (!this.hasNamespace(name)) throw noSuchNamespace(name);
      await this.parts.journal.record([{ type: 'namespaceAlter', name, properties }]);
    });
  }

  /** @throws RowanError when it does not exist, or has tables, including tables that are being created. */
  removeNamespace(name: string): Promise<void> {
    return this.changeNamespaces(async () => {
      if (!this.hasNamespace(name)) throw noSuchNamespace(name);
      const tables = [...new Set([...this.byName.keys(), ...this.reserved])].filter(
        (table) => parseTableName(table).namespace === name,
      );
      if (tables.length > 0) {
        throw new InvalidArgumentError(
          `The namespace "${name}" still has tables: ${tables.sort().join(', ')}. Delete them first.`,
        );
      }
      // From now on nobody can create a table in it.
      this.dropping.add(name);
      try {
        await this.parts.journal.record([{ type: 'namespaceRemove', name }]);
      } finally {
        this.dropping.delete(name);
      }
    });
  }

  private changeNamespaces(change: () => Promise<void>): Promise<void> {
    return this.parts.lifecycle.track(this.namespaceChanges.run(change));
  }

  async createTable(descriptor: TableDescriptor, splitKeys: readonly Uint8Array[]): Promise<void> {
    await this.asOnlyChange(descriptor.name, async () => {
      const { namespace } = parseTableName(descriptor.name);
      if (this.dropping.has(namespace) || !this.hasNamespace(namespace)) throw noSuchNamespace(namespace);
      if (this.byName.has(descriptor.name)) throw tableExists(descriptor.name);
      await prepareCodecs(descriptor.families.map((family) => family.compression));
      const { state, edits } = this.newTable(descriptor, splitKeys, true);
      await this.parts.journal.record(edits);
      this.add(state);
      this.reportSingleCopy(descriptor);
    });
  }

  /** Reports that the store keeps one copy of each region, whatever `regionReplication` says; it also answers reads of replicas. */
  private reportSingleCopy({ name: table, regionReplication }: TableDescriptor): void {
    if (regionReplication > 1) this.parts.environment.emit({ kind: 'singleCopy', table, regionReplication });
  }

  /**
   * Creates a table that shares the files of `source`. `before` is awaited while no compaction runs, and returns the sequence number
   * of the last write that the copy is to have; without `before` the source must have nothing in its memstores. `replaced` is
   * dropped by the same MANIFEST edit.
   * @throws RowanError `ERR_TABLE_EXISTS`.
   */
  async copyTable(
    source: TableState,
    descriptorOf: () => TableDescriptor,
    options: {
      readonly enabled: boolean;
      readonly before?: () => Promise<number>;
      readonly replaced?: TableState | undefined;
    },
  ): Promise<void> {
    const { replaced } = options;
    const { name } = descriptorOf();
    const copy = async (): Promise<void> => {
      if (this.byId.get(source.id) !== source) throw wasReplaced(source.name);
      if (this.byName.get(name) !== replaced) throw tableExists(name);
      const last = (await options.before?.()) ?? Number.POSITIVE_INFINITY;
      const { state, edits } = this.copyOf(source, descriptorOf(), options.enabled, last);
      try {
        const drop: Edit[] = replaced === undefined ? [] : [{ type: 'tableDrop', id: replaced.id }];
        await this.parts.journal.record([...drop, ...edits]);
      } catch (error) {
        for (const store of state.stores()) store.close();
        throw error;
      }
      if (replaced !== undefined) this.remove(replaced);
      this.add(state);
    };
    const alone = (): Promise<void> =>
      source.changes.run(() => this.parts.locks.withoutCompactions([...source.stores()], copy));
    await this.asOnlyChange(name, () => (replaced === undefined ? alone() : this.alone(replaced, alone)));
  }

  private copyOf(
    source: TableState,
    descriptor: TableDescriptor,
    enabled: boolean,
    last: number,
  ): { state: TableState; edits: Edit[] } {
    const { journal, chunkPool, environment } = this.parts;
    const { manifest } = journal;
    const id = manifest.newId();
    const familyNumbers = new Map(descriptor.families.map(({ name }) => [name, manifest.newId()]));
    const { history } = source;
    const edits: Edit[] = [{ type: 'tableAdd', id, descriptor, familyNumbers, enabled, history }];
    const regions = source.regions.map(({ startKey, endKey, byFamily }) => {
      const number = manifest.newId();
      edits.push({ type: 'regionAdd', id: number, table: id, startKey, endKey });
      const stores = descriptor.families.map((family) => {
        const from = byFamily.get(family.name)!;
        const files = from.version.files.filter((file) => file.entry().minSeq <= last);
        const at = { region: number, family: familyNumbers.get(family.name)! };
        for (const file of files) edits.push({ type: 'fileAdd', ...at, file: file.entry() });
        return new FamilyStore(number, at.family, family, files, -1, chunkPool);
      });
      return new Region(number, id, startKey, endKey, stores);
    });
    const { maxCellSize } = environment.settings;
    const state = new TableState(id, descriptor, familyNumbers, enabled, regions, maxCellSize, history);
    return { state, edits };
  }

  async deleteTable(state: TableState): Promise<void> {
    await this.asOnlyChange(state.name, () =>
      this.alone(state, async () => {
        await this.parts.journal.record([{ type: 'tableDrop', id: state.id }]);
        this.remove(state);
      }),
    );
  }

  /** Replaces the table by an empty one with the same name and families, enabled. */
  async truncateTable(state: TableState, splitKeys: readonly Uint8Array[]): Promise<void> {
    await this.asOnlyChange(state.name, () =>
      this.alone(state, async () => {
        const { state: fresh, edits } = this.newTable(state.descriptor, splitKeys, true);
        await this.parts.journal.record([{ type: 'tableDrop', id: state.id }, ...edits]);
        this.remove(state);
        this.add(fresh);
      }),
    );
  }

  async modifyTable(state: TableState, descriptor: TableDescriptor): Promise<void> {
    await prepareCodecs(descriptor.families.map((family) => family.compression));
    const { regionReplication } = state.descriptor;
    await this.asOnlyChange(state.name, () => state.changes.run(() => this.alter(state, descriptor)));
    if (descriptor.regionReplication !== regionReplication) this.reportSingleCopy(descriptor);
  }

  private async alter(state: TableState, descriptor: TableDescriptor): Promise<void> {
    // It may have been dropped while the codecs were loaded.
    if (this.get(state.name) !== state) throw wasReplaced(state.name);
    const familyNumbers = new Map(
      descriptor.families.map((family) => [
        family.name,
        state.familyNumbers.get(family.name) ?? this.parts.journal.manifest.newId(),
      ]),
    );
    const dropped = [...state.stores()].filter((store) => !familyNumbers.has(store.descriptor.name));
    await this.parts.locks.runExclusive(dropped, async () => {
      await this.parts.journal.record([{ type: 'tableAlter', id: state.id, descriptor, familyNumbers }]);
      state.descriptor = descriptor;
      state.familyNumbers = familyNumbers;
      for (const region of state.regions) this.alterRegion(state, region);
    });
    this.parts.throttle.relieved();
  }

  private alterRegion(state: TableState, region: Region): void {
    const before = region.byFamily;
    const stores = state.descriptor.families.map((family) => {
      const number = state.familyNumbers.get(family.name)!;
      const store =
        before.get(family.name) ?? new FamilyStore(region.id, number, family, [], -1, this.parts.chunkPool);
      if (store.descriptor !== family) store.alter(family);
      return store;
    });
    region.setStores(stores);
    for (const store of before.values()) if (!stores.includes(store)) store.close();
  }

  async setEnabled(state: TableState, enabled: boolean): Promise<void> {
    await this.asOnlyChange(state.name, async () => {
      await this.parts.journal.record([{ type: 'tableAlter', id: state.id, enabled }]);
      state.enabled = enabled;
    });
  }

  private newTable(
    descriptor: TableDescriptor,
    splitKeys: readonly Uint8Array[],
    enabled: boolean,
  ): { state: TableState; edits: Edit[] } {
    const id = this.parts.journal.manifest.newId();
    const familyNumbers = new Map(
      descriptor.families.map((family) => [family.name, this.parts.journal.manifest.newId()]),
    );
    const edits: Edit[] = [{ type: 'tableAdd', id, descriptor, familyNumbers, enabled }];
    const starts = [EMPTY_BYTES, ...splitKeys];
    const regions = starts.map((startKey, index) => {
      const endKey = starts[index + 1] ?? EMPTY_BYTES;
      const number = this.parts.journal.manifest.newId();
      edits.push({ type: 'regionAdd', id: number, table: id, startKey, endKey });
      const stores = descriptor.families.map(
        (family) =>
          new FamilyStore(number, familyNumbers.get(family.name)!, family, [], -1, this.parts.chunkPool),
      );
      return new Region(number, id, startKey, endKey, stores);
    });
    const { maxCellSize } = this.parts.environment.settings;
    return { state: new TableState(id, descriptor, familyNumbers, enabled, regions, maxCellSize), edits };
  }

  private add(state: TableState): void {
    this.byName.set(state.name, state);
    this.byId.set(state.id, state);
  }

  private remove(state: TableState): void {
    this.byName.delete(state.name);
    this.byId.delete(state.id);
    for (const region of state.regions) region.retired = true;
    for (const store of state.stores()) store.close();
    this.parts.throttle.relieved();
  }

  /** Runs `change` while nothing else changes the table's regions or files. */
  private alone(state: TableState, change: () => Promise<void>): Promise<void> {
    return state.changes.run(() => this.parts.locks.runExclusive([...state.stores()], change));
  }

  /** Runs a change of a table. Only one change of a table may run at a time. */
  private async asOnlyChange(name: string, change: () => Promise<void>): Promise<void> {
    if (this.reserved.has(name)) {
      throw new RowanError(
        'ERR_BUSY',
        `Another change of table "${name}" is in progress. Try again when it has ended.`,
        {
          retryable: true,
          details: { table: name },
        },
      );
    }
    this.reserved.add(name);
    try {
      await this.parts.lifecycle.track(change());
    } finally {
      this.reserved.delete(name);
    }
  }
}

/** The error for an operation that requires a disabled table. */
export function disabledTable(table: string, action: string): RowanError {
  return new RowanError(
    'ERR_TABLE_ENABLED',
    `The table "${table}" is enabled. Disable it first, then ${action} it.`,
    { details: { table } },
  );
}

function namespaceExists(namespace: string): RowanError {
  return new RowanError('ERR_NAMESPACE_EXISTS', `The namespace "${namespace}" exists already.`, {
    details: { namespace },
  });
}

/** The error for a table that cannot be created because its name exists. */
export function tableExists(name: string): RowanError {
  return new RowanError('ERR_TABLE_EXISTS', `The table "${name}" exists already.`, {
    details: { table: name },
  });
}

/** The error for an operation on a table that was dropped meanwhile, even if another table has its name now. */
export function wasReplaced(name: string): RowanError {
  return new RowanError(
    'ERR_TABLE_NOT_FOUND',
    `The table "${name}" was dropped, and perhaps created again, during this call. Nothing was changed; call again.`,
    { retryable: true, details: { table: name } },
  );
}

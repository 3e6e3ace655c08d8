/** The tables and namespaces of an open store, and how they change: each change is one edit of the manifest. */

import { EMPTY_BYTES } from '../bytes/index.js';
import { RowanError, UnsupportedError } from '../errors.js';
import { DEFAULT_NAMESPACE, type TableDescriptor } from '../table/index.js';
import { prepareCodecs } from './codec/index.js';
import type { Edit, RegionEntry, TableEntry } from './manifest/index.js';
import { FamilyStore } from './region/family-store.js';
import { Region } from './region/region.js';
import type { StoreCore } from './store-core.js';
import { TableState } from './table-state.js';

export class Catalog {
  private readonly byName = new Map<string, TableState>();
  private readonly byId = new Map<number, TableState>();
  /** Names that a change under way has taken. */
  private readonly reserved = new Set<string>();

  constructor(private readonly core: StoreCore) {}

  /** The table of this canonical name. */
  find(name: string): TableState | undefined {
    return this.byName.get(name);
  }

  /** @throws RowanError `ERR_TABLE_NOT_FOUND`. */
  get(name: string): TableState {
    const state = this.byName.get(name);
    if (state) return state;
    const known = this.tableNames();
    throw new RowanError(
      'ERR_TABLE_NOT_FOUND',
      `There is no table "${name}". ${known.length > 0 ? `Tables: ${known.slice(0, 10).join(', ')}.` : 'Create it first.'}`,
      { details: { table: name } },
    );
  }

  byNumber(id: number): TableState | undefined {
    return this.byId.get(id);
  }

  tables(): IterableIterator<TableState> {
    return this.byName.values();
  }

  tableNames(): string[] {
    return [...this.byName.keys()].sort();
  }

  tableOf(region: Region): TableState | undefined {
    return this.byId.get(region.table);
  }

  /** Takes a table and its regions from the manifest, when the store is opened. */
  load(entry: TableEntry, regions: readonly RegionEntry[]): void {
    const { id, descriptor, familyNumbers, enabled } = entry;
    const loaded = [...regions]
      .sort((a, b) => Buffer.compare(a.startKey, b.startKey))
      .map((region) => this.loadRegion(entry, region));
    this.add(new TableState(id, descriptor, familyNumbers, enabled, loaded));
  }

  private loadRegion({ descriptor, familyNumbers, id }: TableEntry, entry: RegionEntry): Region {
    const stores = descriptor.families.map((family) => {
      const number = familyNumbers.get(family.name)!;
      const store = entry.stores.get(number);
      const files = [...(store?.files.values() ?? [])]
        .sort((a, b) => (a.bulkSeq ?? a.maxSeq) - (b.bulkSeq ?? b.maxSeq) || a.number - b.number)
        .map((file) => this.core.openFile(file.number, file.size, file.bulkSeq, family));
      return new FamilyStore(entry.id, number, family, files, store?.flushedSeq ?? -1, this.core.chunkPool);
    });
    return new Region(entry.id, id, entry.startKey, entry.endKey, stores);
  }

  hasNamespace(namespace: string): boolean {
    return this.namespaces().includes(namespace);
  }

  namespaces(): string[] {
    return [...new Set([DEFAULT_NAMESPACE, 'hbase', ...this.core.manifest.state.namespaces])].sort();
  }

  async addNamespace(name: string): Promise<void> {
    await this.core.record([{ type: 'namespaceAdd', name }]);
  }

  async removeNamespace(name: string): Promise<void> {
    await this.core.record([{ type: 'namespaceRemove', name }]);
  }

  async createTable(descriptor: TableDescriptor, splitKeys: readonly Uint8Array[]): Promise<void> {
    await prepareCodecs(descriptor.families.map((family) => family.compression));
    await this.exclusively(descriptor.name, async () => {
      if (this.byName.has(descriptor.name)) throw tableExists(descriptor.name);
      const { state, edits } = this.newTable(descriptor, splitKeys, true);
      await this.core.record(edits);
      this.add(state);
    });
  }

  async deleteTable(state: TableState): Promise<void> {
    await this.exclusively(state.name, () =>
      this.alone(state, async () => {
        await this.core.record([{ type: 'tableDrop', id: state.id }]);
        this.remove(state);
      }),
    );
  }

  /** Another table of the same name and families, enabled. */
  async truncateTable(state: TableState, splitKeys: readonly Uint8Array[]): Promise<void> {
    await this.exclusively(state.name, () =>
      this.alone(state, async () => {
        const { state: fresh, edits } = this.newTable(state.descriptor, splitKeys, true);
        await this.core.record([{ type: 'tableDrop', id: state.id }, ...edits]);
        this.remove(state);
        this.add(fresh);
      }),
    );
  }

  async modifyTable(state: TableState, descriptor: TableDescriptor): Promise<void> {
    if (descriptor.regionReplication !== 1) throw replicas();
    await prepareCodecs(descriptor.families.map((family) => family.compression));
    await this.exclusively(state.name, () => state.changes.run(() => this.alter(state, descriptor)));
  }

  private async alter(state: TableState, descriptor: TableDescriptor): Promise<void> {
    // It may have been dropped while the codecs were looked for.
    if (this.get(state.name) !== state) throw replaced(state.name);
    const familyNumbers = new Map(
      descriptor.families.map((family) => [
        family.name,
        state.familyNumbers.get(family.name) ?? this.core.newId(),
      ]),
    );
    const dropped = [...state.stores()].filter((store) => !familyNumbers.has(store.descriptor.name));
    await this.core.maintenance.exclude(dropped, async () => {
      await this.core.record([{ type: 'tableAlter', id: state.id, descriptor, familyNumbers }]);
      state.descriptor = descriptor;
      state.familyNumbers = familyNumbers;
      for (const region of state.regions) this.alterRegion(state, region);
    });
    this.core.pressure.relieved();
  }

  private alterRegion(state: TableState, region: Region): void {
    const before = region.byFamily;
    const stores = state.descriptor.families.map((family) => {
      const number = state.familyNumbers.get(family.name)!;
      const store =
        before.get(family.name) ?? new FamilyStore(region.id, number, family, [], -1, this.core.chunkPool);
      store.descriptor = family;
      return store;
    });
    region.setStores(stores);
    for (const store of before.values()) if (!stores.includes(store)) store.close();
  }

  async setEnabled(state: TableState, enabled: boolean): Promise<void> {
    await this.exclusively(state.name, async () => {
      await this.core.record([{ type: 'tableAlter', id: state.id, enabled }]);
      state.enabled = enabled;
    });
  }

  private newTable(
    descriptor: TableDescriptor,
    splitKeys: readonly Uint8Array[],
    enabled: boolean,
  ): { state: TableState; edits: Edit[] } {
    if (descriptor.regionReplication !== 1) throw replicas();
    const id = this.core.newId();
    const familyNumbers = new Map(descriptor.families.map((family) => [family.name, this.core.newId()]));
    const edits: Edit[] = [{ type: 'tableAdd', id, descriptor, familyNumbers, enabled }];
    const starts = [EMPTY_BYTES, ...splitKeys];
    const regions = starts.map((startKey, index) => {
      const endKey = starts[index + 1] ?? EMPTY_BYTES;
      const number = this.core.newId();
      edits.push({ type: 'regionAdd', id: number, table: id, startKey, endKey });
      const stores = descriptor.families.map(
        (family) =>
          new FamilyStore(number, familyNumbers.get(family.name)!, family, [], -1, this.core.chunkPool),
      );
      return new Region(number, id, startKey, endKey, stores);
    });
    return { state: new TableState(id, descriptor, familyNumbers, enabled, regions), edits };
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
    this.core.pressure.relieved();
  }

  /** Runs `change` while nothing else changes the table's regions or files. */
  private alone(state: TableState, change: () => Promise<void>): Promise<void> {
    return state.changes.run(() => this.core.maintenance.exclude([...state.stores()], change));
  }

  /** One change of a table at a time. */
  private async exclusively(name: string, change: () => Promise<void>): Promise<void> {
    if (this.reserved.has(name)) {
      throw new RowanError(
        'ERR_BUSY',
        `Another change of table "${name}" is under way. Try again when it is done.`,
        {
          retryable: true,
          details: { table: name },
        },
      );
    }
    this.reserved.add(name);
    try {
      await this.core.track(change());
    } finally {
      this.reserved.delete(name);
    }
  }
}

/** The error for a table that cannot be made because there is one of its name. */
export function tableExists(name: string): RowanError {
  return new RowanError('ERR_TABLE_EXISTS', `There is a table "${name}" already.`, {
    details: { table: name },
  });
}

/** The error for work on a table that was dropped meanwhile, though there is another of its name. */
export function replaced(name: string): RowanError {
  return new RowanError(
    'ERR_TABLE_NOT_FOUND',
    `The table "${name}" was dropped and made anew during this call. Nothing was changed; make the call again.`,
    { retryable: true, details: { table: name } },
  );
}

function replicas(): UnsupportedError {
  return new UnsupportedError(
    'The embedded engine has no region replicas (capability timelineReads). Set regionReplication to 1.',
  );
}

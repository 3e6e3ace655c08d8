import { InvalidArgumentError } from '../../errors.js';
import type { NamespaceProperties, TableDescriptor } from '../../table/index.js';
import { type Edit, type FileEntry, mergedHistory, NO_HISTORY, type TableHistory } from './edit.js';
import { PagedMap, PagedMapDraft } from './paged-map.js';

export interface TableEntry {
  readonly id: number;
  readonly descriptor: TableDescriptor;
  readonly familyNumbers: ReadonlyMap<string, number>;
  readonly enabled: boolean;
  /** Undefined: without drops. */
  readonly history?: TableHistory | undefined;
}

/** The files of one family in one region. */
interface StoreEntry {
  /** Writes up to this sequence number are in the files; -1 when nothing was flushed yet. */
  readonly flushedSeq: number;
  /** By number, in the order in which they were added. */
  readonly files: ReadonlyMap<number, FileEntry>;
}

export interface RegionEntry {
  readonly id: number;
  readonly table: number;
  readonly startKey: Uint8Array;
  readonly endKey: Uint8Array;
  /** By family number. A family without an entry has no files and was never flushed. */
  readonly stores: ReadonlyMap<number, StoreEntry>;
}

export interface WalSegmentEntry {
  readonly number: number;
  /** Undefined for the active segment. */
  readonly closed:
    | { readonly length: number; readonly crc: number; readonly firstSeq: number; readonly lastSeq: number }
    | undefined;
}

/**
 * The tables, regions and files of a store at one moment. Immutable: {@link applyEdits} creates the next state, which shares with it
 * what the edits leave alone.
 */
export interface VersionState {
  /** All but the default namespace, which always exists. */
  readonly namespaces: ReadonlySet<string>;
  /** Of namespaces that have properties, the built-in ones included. */
  readonly namespaceProperties: ReadonlyMap<string, NamespaceProperties>;
  readonly tables: PagedMap<TableEntry>;
  readonly regions: PagedMap<RegionEntry>;
  /** In the order in which they were written. */
  readonly walSegments: ReadonlyMap<number, WalSegmentEntry>;
  readonly nextFile: number;
  readonly nextId: number;
  readonly lastSeq: number;
  /** The last bulk load; 0 for none since versions that did not record it. */
  readonly lastLoad: number;
  /** The greatest timestamp that the store has assigned. */
  readonly clock: number;
}

const EMPTY_STORE: StoreEntry = Object.freeze({ flushedSeq: -1, files: new Map() });

/** The state of an empty store. */
export function emptyState(): VersionState {
  return {
    namespaces: new Set(),
    namespaceProperties: new Map(),
    tables: new PagedMap(),
    regions: new PagedMap(),
    walSegments: new Map(),
    nextFile: 1,
    nextId: 1,
    lastSeq: 0,
    lastLoad: 0,
    clock: 0,
  };
}

/** All sorted files of the store, by number. */
export function liveFiles(state: VersionState): Map<number, FileEntry> {
  const live = new Map<number, FileEntry>();
  for (const region of state.regions.values()) {
    for (const store of region.stores.values()) {
      for (const file of store.files.values()) live.set(file.number, file);
    }
  }
  return live;
}

/** Whether any store has the sorted file of this number. */
export function namesFile(state: VersionState, number: number): boolean {
  for (const region of state.regions.values()) {
    for (const store of region.stores.values()) if (store.files.has(number)) return true;
  }
  return false;
}

/** The edits that create `state` from an empty store. */
export function snapshotEdits(state: VersionState): Edit[] {
  const { nextFile, nextId, lastSeq, lastLoad, clock } = state;
  const later = { ...(lastLoad > 0 ? { lastLoad } : {}), ...(clock > 0 ? { clock } : {}) };
  const edits: Edit[] = [{ type: 'counters', nextFile, nextId, lastSeq, ...later }];
  for (const name of state.namespaces) edits.push({ type: 'namespaceAdd', name });
  for (const [name, properties] of state.namespaceProperties)
    edits.push({ type: 'namespaceAlter', name, properties });
  for (const table of state.tables.values()) edits.push({ type: 'tableAdd', ...table });
  for (const { stores, ...region } of state.regions.values()) {
    edits.push({ type: 'regionAdd', ...region });
    for (const [family, store] of stores) {
      for (const file of store.files.values())
        edits.push({ type: 'fileAdd', region: region.id, family, file });
      if (store.flushedSeq >= 0)
        edits.push({ type: 'flushed', region: region.id, family, seq: store.flushedSeq });
    }
  }
  for (const { number, closed } of state.walSegments.values()) {
    edits.push({ type: 'walAdd', number });
    if (closed !== undefined) edits.push({ type: 'walClosed', number, ...closed });
  }
  return edits;
}

/**
 * The state after all of `edits`.
 * @throws InvalidArgumentError when an edit is impossible: it adds something that exists, or names something that does not.
 */
export function applyEdits(state: VersionState, edits: readonly Edit[]): VersionState {
  const next = new NextState(state);
  for (const edit of edits) next.apply(edit);
  return next.state();
}

class NextState {
  /** Undefined before the first change: there may be as many as tables. */
  private namespaces: Set<string> | undefined;
  private readonly namespaceProperties: Map<string, NamespaceProperties>;
  private readonly tables: PagedMapDraft<TableEntry>;
  private readonly regions: PagedMapDraft<RegionEntry>;
  private readonly walSegments: Map<number, WalSegmentEntry>;
  private nextFile: number;
  private nextId: number;
  private lastSeq: number;
  private lastLoad: number;
  private clock: number;

  constructor(private readonly before: VersionState) {
    this.namespaceProperties = new Map(before.namespaceProperties);
    this.tables = new PagedMapDraft(before.tables);
    this.regions = new PagedMapDraft(before.regions);
    this.walSegments = new Map(before.walSegments);
    this.nextFile = before.nextFile;
    this.nextId = before.nextId;
    this.lastSeq = before.lastSeq;
    this.lastLoad = before.lastLoad;
    this.clock = before.clock;
  }

  state(): VersionState {
    const { namespaceProperties, walSegments } = this;
    const { nextFile, nextId, lastSeq, lastLoad, clock } = this;
    return {
      namespaces: this.namespaces ?? this.before.namespaces,
      namespaceProperties,
      tables: this.tables.finish(),
      regions: this.regions.finish(),
      walSegments,
      nextFile,
      nextId,
      lastSeq,
      lastLoad,
      clock,
    };
  }

  apply(edit: Edit): void {
    switch (edit.type) {
      case 'namespaceAdd':
        this.namespaces ??= new Set(this.before.namespaces);
        if (this.namespaces.has(edit.name)) refuse(`namespace "${edit.name}" exists already`);
        this.namespaces.add(edit.name);
        return;
      case 'namespaceRemove':
        this.namespaces ??= new Set(this.before.namespaces);
        if (!this.namespaces.delete(edit.name)) refuse(`there is no namespace "${edit.name}"`);
        this.namespaceProperties.delete(edit.name);
        return;
      case 'namespaceAlter':
        if (Object.keys(edit.properties).length === 0) this.namespaceProperties.delete(edit.name);
        else this.namespaceProperties.set(edit.name, edit.properties);
        return;
      case 'tableAdd':
      case 'tableAlter':
      case 'tableDrop':
        this.applyToTable(edit);
        return;
      case 'regionAdd':
      case 'regionRemove':
        this.applyToRegion(edit);
        return;
      case 'fileAdd':
      case 'fileRemove':
      case 'flushed':
        this.applyToStore(edit);
        return;
      case 'walAdd':
      case 'walClosed':
      case 'walRemove':
        this.applyToWal(edit);
        return;
      case 'counters':
        this.nextFile = Math.max(this.nextFile, edit.nextFile ?? 0);
        this.nextId = Math.max(this.nextId, edit.nextId ?? 0);
        this.lastSeq = Math.max(this.lastSeq, edit.lastSeq ?? 0);
        this.lastLoad = Math.max(this.lastLoad, edit.lastLoad ?? 0);
        this.clock = Math.max(this.clock, edit.clock ?? 0);
        return;
    }
  }

  private applyToTable(edit: Edit & { type: 'tableAdd' | 'tableAlter' | 'tableDrop' }): void {
    const known = this.tables.get(edit.id);
    if (edit.type === 'tableAdd') {
      if (known !== undefined) refuse(`table ${edit.id} exists already`);
      const { id, descriptor, familyNumbers, enabled, history } = edit;
      this.tables.set(id, { id, descriptor, familyNumbers, enabled, ...(history && { history }) });
      this.nextId = Math.max(this.nextId, id + 1, ...[...familyNumbers.values()].map((number) => number + 1));
      return;
    }
    if (known === undefined) refuse(`there is no table ${edit.id}`);
    if (edit.type === 'tableDrop') {
      this.tables.delete(edit.id);
      for (const region of this.regionsOf(edit.id)) this.regions.delete(region.id);
      return;
    }
    const familyNumbers = edit.familyNumbers ?? known.familyNumbers;
    const history = edit.history && mergedHistory(known.history ?? NO_HISTORY, edit.history);
    this.tables.set(edit.id, {
      ...known,
      descriptor: edit.descriptor ?? known.descriptor,
      familyNumbers,
      enabled: edit.enabled ?? known.enabled,
      ...(history && { history }),
    });
    const kept = new Set(familyNumbers.values());
    this.nextId = Math.max(this.nextId, ...[...kept].map((number) => number + 1));
    if (edit.familyNumbers === undefined) return;
    for (const region of this.regionsOf(edit.id)) {
      const stores = new Map([...region.stores].filter(([family]) => kept.has(family)));
      if (stores.size < region.stores.size) this.regions.set(region.id, { ...region, stores });
    }
  }

  private regionsOf(table: number): RegionEntry[] {
    const found: RegionEntry[] = [];
    for (const region of this.regions.values()) if (region.table === table) found.push(region);
    return found;
  }

  private applyToRegion(edit: Edit & { type: 'regionAdd' | 'regionRemove' }): void {
    if (edit.type === 'regionRemove') {
      if (!this.regions.delete(edit.id)) refuse(`there is no region ${edit.id}`);
      return;
    }
    const { id, table, startKey, endKey } = edit;
    if (this.regions.has(id)) refuse(`region ${id} exists already`);
    if (!this.tables.has(table)) refuse(`there is no table ${table} for region ${id}`);
    this.regions.set(id, { id, table, startKey, endKey, stores: new Map() });
    this.nextId = Math.max(this.nextId, id + 1);
  }

  private applyToStore(edit: Edit & { type: 'fileAdd' | 'fileRemove' | 'flushed' }): void {
    const region = this.regions.get(edit.region);
    if (region === undefined) refuse(`there is no region ${edit.region}`);
    const families = this.tables.get(region.table)?.familyNumbers.values() ?? [];
    if (![...families].includes(edit.family)) refuse(`region ${edit.region} has no family ${edit.family}`);
    const store = region.stores.get(edit.family) ?? EMPTY_STORE;
    let { flushedSeq } = store;
    const files = new Map(store.files);
    if (edit.type === 'flushed') {
      // It could be encoded but not decoded, and the store would never open again.
      if (!(edit.seq >= 0)) refuse(`a store cannot be flushed up to write ${edit.seq}`);
      flushedSeq = Math.max(flushedSeq, edit.seq);
      this.lastSeq = Math.max(this.lastSeq, edit.seq);
    } else if (edit.type === 'fileAdd') {
      if (files.has(edit.file.number)) refuse(`file ${edit.file.number} is in region ${edit.region} already`);
      files.set(edit.file.number, edit.file);
      this.nextFile = Math.max(this.nextFile, edit.file.number + 1);
      this.lastSeq = Math.max(this.lastSeq, edit.file.maxSeq, edit.file.bulkSeq ?? 0);
    } else if (!files.delete(edit.number)) {
      refuse(`there is no file ${edit.number} in region ${edit.region}`);
    }
    const stores = new Map(region.stores).set(edit.family, { flushedSeq, files });
    this.regions.set(edit.region, { ...region, stores });
  }

  private applyToWal(edit: Edit & { type: 'walAdd' | 'walClosed' | 'walRemove' }): void {
    const known = this.walSegments.get(edit.number);
    if (edit.type === 'walAdd') {
      if (known !== undefined) refuse(`WAL segment ${edit.number} exists already`);
      this.walSegments.set(edit.number, { number: edit.number, closed: undefined });
      this.nextFile = Math.max(this.nextFile, edit.number + 1);
      return;
    }
    if (known === undefined) refuse(`there is no WAL segment ${edit.number}`);
    if (edit.type === 'walRemove') {
      this.walSegments.delete(edit.number);
      return;
    }
    const { length, crc, firstSeq, lastSeq } = edit;
    this.walSegments.set(edit.number, { number: edit.number, closed: { length, crc, firstSeq, lastSeq } });
    this.lastSeq = Math.max(this.lastSeq, lastSeq);
  }
}

function refuse(why: string): never {
  throw new InvalidArgumentError(`The edit does not fit the MANIFEST: ${why}.`);
}

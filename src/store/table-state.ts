import { toStringBinary } from '../bytes/index.js';
import { InvalidArgumentError, RowanError, UnsupportedError } from '../errors.js';
import { describe } from '../table/checks.js';
import {
  canonicalTableName,
  DEFAULT_NAMESPACE,
  type MutationCell,
  type NamespaceProperties,
  type Query,
  type TableDescriptor,
} from '../table/index.js';
import { SerialQueue } from './environment.js';
import { NO_HISTORY, type TableHistory } from './manifest/edit.js';
import type { VersionState } from './manifest/index.js';
import { LARGEST_CELL } from './options.js';
import type { FamilyStore, Region } from './region/region.js';

/** HBase's setting of a table: bytes of its largest cell; 0 or less for no limit of its own. */
const CELL_LIMIT = 'hbase.server.keyvalue.maxsize';
/** The configuration of a table that limits its bytes (`space-limits.ts`). */
const SPACE_LIMIT = 'rowan.maxDiskSize';

/** The state of one table of an open store. */
export class TableState {
  /** Serializes changes of the table's regions and families, and bulk loads. */
  readonly changes = new SerialQueue();
  private current!: TableDescriptor;
  private maxCellSize!: number;
  /** Families that reads expect, and that the table was seen to have. */
  private found: readonly string[] | undefined;
  /** Bytes beyond which nothing is added to the table; undefined: no limit. */
  maxDiskSize: number | undefined;

  constructor(
    /** The table's number in the log and the MANIFEST. A table that is dropped and created again gets another. */
    readonly id: number,
    descriptor: TableDescriptor,
    /** The number of each family in the log. A family that is dropped and created again gets another. */
    public familyNumbers: ReadonlyMap<string, number>,
    public enabled: boolean,
    /** In key order, without gaps. A split or merge replaces the whole list. */
    public regions: readonly Region[],
    /** Bytes of the largest accepted cell of tables that set none. */
    private readonly usualMaxCellSize: number,
    public history: TableHistory = NO_HISTORY,
  ) {
    this.descriptor = descriptor;
  }

  get name(): string {
    return this.current.name;
  }

  get descriptor(): TableDescriptor {
    return this.current;
  }

  set descriptor(descriptor: TableDescriptor) {
    this.current = descriptor;
    this.found = undefined;
    const own = Number.parseInt(descriptor.configuration[CELL_LIMIT] ?? '', 10);
    if (Number.isNaN(own)) this.maxCellSize = this.usualMaxCellSize;
    else this.maxCellSize = own > 0 ? Math.min(own, LARGEST_CELL) : LARGEST_CELL;
    const space = Number(descriptor.configuration[SPACE_LIMIT] ?? '');
    this.maxDiskSize = space > 0 ? space : undefined;
  }

  /** Every family of every region. */
  *stores(): Generator<FamilyStore> {
    for (const region of this.regions) yield* region.stores;
  }

  noSuchFamily(family: string): RowanError {
    const known = this.descriptor.families.map((each) => each.name).join(', ');
    return new RowanError(
      'ERR_NO_SUCH_FAMILY',
      `Table "${this.name}" has no family ${typeof family === 'string' ? `"${family}"` : describe(family)}. It has: ${known}. Alter the table, or correct the name.`,
      { details: { table: this.name, family } },
    );
  }

  /** @throws RowanError `ERR_NO_SUCH_FAMILY` when a read names an unknown family; UnsupportedError for visibility labels. */
  checkQuery(query: Query): void {
    if (query.authorizations !== undefined) throw noLabels('A read with authorizations');
    if (query.onlyFamily !== undefined) {
      this.checkFamily(query.onlyFamily);
    } else if (!query.asksForAll) {
      for (const family of query.families.keys()) this.checkFamily(family);
    } else if (query.expectedFamilies !== undefined && query.expectedFamilies !== this.found) {
      for (const family of query.expectedFamilies) this.checkFamily(family);
      this.found = query.expectedFamilies;
    }
    if (query.familyTimeRanges.size > 0) {
      for (const family of query.familyTimeRanges.keys()) this.checkFamily(family);
    }
  }

  /** @throws RowanError when a cell is of an unknown family, or too large. */
  checkCells(row: Uint8Array, cells: readonly MutationCell[]): void {
    let last: string | undefined;
    for (let i = 0; i < cells.length; i++) {
      const { family, qualifier, value } = cells[i]!;
      if (family !== last) {
        last = family;
        this.checkFamily(family);
      }
      this.checkSize(row, family, qualifier, value);
    }
  }

  /** @throws RowanError `ERR_NO_SUCH_FAMILY`. */
  checkFamily(family: string): void {
    if (!this.familyNumbers.has(family)) throw this.noSuchFamily(family);
  }

  /** Whether a cell of so many bytes, of row, qualifier and value, is accepted. */
  takes(bytes: number): boolean {
    return bytes <= this.maxCellSize;
  }

  /** @throws InvalidArgumentError when a cell is too large. */
  checkSize(row: Uint8Array, family: string, qualifier: Uint8Array, value: Uint8Array): void {
    const bytes = row.length + qualifier.length + value.length;
    if (this.takes(bytes)) return;
    throw new InvalidArgumentError(
      `A cell of table "${this.name}", row ${toStringBinary(row.subarray(0, 40))}, family "${family}", has ${bytes} bytes; the limit is ${this.maxCellSize}. ` +
        `Open the store with a larger maxCellSize, raise the table's ${CELL_LIMIT}, or spread the value over several columns.`,
      { details: { table: this.name, family } },
    );
  }
}

/** The part of the MANIFEST's state that concerns namespaces. */
export type StoredNamespaces = Pick<VersionState, 'namespaces' | 'namespaceProperties'>;

export interface OpenCheck {
  /** @throws ClosedError when the store is closed. */
  checkOpen(): void;
}

const BUILT_IN_NAMESPACES: readonly string[] = [DEFAULT_NAMESPACE, 'hbase'];

/** The tables and namespaces of a store, read-only. */
export abstract class StoredTables {
  protected readonly byName = new Map<string, TableState>();

  constructor(private readonly opened: OpenCheck) {}

  protected abstract get stored(): StoredNamespaces;

  /** The table of this canonical name, unless it is hidden. */
  find(name: string): TableState | undefined {
    return isUserTable(name) ? this.byName.get(name) : undefined;
  }

  /** @throws RowanError `ERR_TABLE_NOT_FOUND`. */
  get(name: string): TableState {
    const state = this.find(name);
    if (state) return state;
    const known = this.tableNames();
    throw new RowanError(
      'ERR_TABLE_NOT_FOUND',
      `There is no table "${name}". ${known.length > 0 ? `Tables: ${known.slice(0, 10).join(', ')}.` : 'Create it first.'}`,
      { details: { table: name } },
    );
  }

  /** The table of this name, for reading. @throws RowanError when the store is closed, or the table does not exist or is disabled. */
  openTable(name: string): TableState {
    this.opened.checkOpen();
    const state = this.find(name) ?? this.get(canonicalTableName(name));
    if (!state.enabled) throw disabledError(state.name);
    return state;
  }

  /** All tables, the hidden ones included. */
  tables(): IterableIterator<TableState> {
    return this.byName.values();
  }

  tableNames(): string[] {
    return [...this.byName.keys()].filter(isUserTable).sort();
  }

  /** A hidden table, by its full name. */
  hidden(name: string): TableState | undefined {
    return this.byName.get(name);
  }

  hasNamespace(namespace: string): boolean {
    return BUILT_IN_NAMESPACES.includes(namespace) || this.stored.namespaces.has(namespace);
  }

  namespaces(): string[] {
    return [...new Set([...BUILT_IN_NAMESPACES, ...this.stored.namespaces])].sort();
  }

  /** @throws RowanError `ERR_NAMESPACE_NOT_FOUND`. */
  namespaceProperties(name: string): NamespaceProperties {
    if (!this.hasNamespace(name)) throw noSuchNamespace(name);
    return { ...this.stored.namespaceProperties.get(name) };
  }
}

/** The namespace of the hidden tables that hold snapshots. It is not listed as a namespace. */
export const SNAPSHOTS = 'rowan_snapshots';

/** Whether a table is listed: those that hold snapshots are not. */
export function isUserTable(table: string): boolean {
  return !table.startsWith(`${SNAPSHOTS}:`);
}

/** The error for a table whose namespace does not exist. */
export function noSuchNamespace(namespace: string): RowanError {
  return new RowanError(
    'ERR_NAMESPACE_NOT_FOUND',
    `There is no namespace "${namespace}". Create it first (createNamespace).`,
    { details: { namespace } },
  );
}

/** The error for reads and writes of a disabled table. */
export function disabledError(table: string): RowanError {
  return new RowanError('ERR_TABLE_DISABLED', `The table "${table}" is disabled. Enable it first.`, {
    details: { table },
  });
}

/** Refused rather than ignored: an ignored label would show everybody what it is meant to hide. */
export function noLabels(what: string): UnsupportedError {
  return new UnsupportedError(
    `${what} needs visibility labels, which the embedded engine does not support. Use HBase, or leave it out.`,
  );
}

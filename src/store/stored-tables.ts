/** The tables and namespaces of a store, read-only. */

import { RowanError } from '../errors.js';
import { canonicalTableName, DEFAULT_NAMESPACE, type NamespaceProperties } from '../table/index.js';
import type { VersionState } from './manifest/index.js';
import type { TableState } from './table-state.js';

/** The part of the MANIFEST's state that concerns namespaces. */
export type StoredNamespaces = Pick<VersionState, 'namespaces' | 'namespaceProperties'>;

export interface OpenCheck {
  /** @throws ClosedError when the store is closed. */
  checkOpen(): void;
}

export abstract class StoredTables {
  protected readonly byName = new Map<string, TableState>();

  constructor(private readonly opened: OpenCheck) {}

  protected abstract get stored(): StoredNamespaces;

  /** The table of this canonical name, unless it is hidden. */
  find(name: string): TableState | undefined {
    return isSeen(name) ? this.byName.get(name) : undefined;
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
    return [...this.byName.keys()].filter(isSeen).sort();
  }

  /** A hidden table, by its full name. */
  hidden(name: string): TableState | undefined {
    return this.byName.get(name);
  }

  hasNamespace(namespace: string): boolean {
    return this.namespaces().includes(namespace);
  }

  namespaces(): string[] {
    return [...new Set([DEFAULT_NAMESPACE, 'hbase', ...this.stored.namespaces])].sort();
  }

  /** @throws RowanError `ERR_NAMESPACE_NOT_FOUND`. */
  namespaceProperties(name: string): NamespaceProperties {
    if (!this.hasNamespace(name)) throw noSuchNamespace(name);
    return { ...this.stored.namespaceProperties.get(name) };
  }
}

/** The namespace of the hidden tables that hold snapshots. It is not listed as a namespace. */
export const SNAPSHOTS = 'rowan_snapshots';

function isSeen(table: string): boolean {
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

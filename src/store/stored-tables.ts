/** The tables and namespaces that a store has, for those who look. */

import { RowanError } from '../errors.js';
import { canonicalTableName, DEFAULT_NAMESPACE, type NamespaceProperties } from '../table/index.js';
import type { VersionState } from './manifest/index.js';
import type { TableState } from './table-state.js';

/** What is kept of a store's namespaces. */
export type StoredNamespaces = Pick<VersionState, 'namespaces' | 'namespaceProperties'>;

export interface OpenCheck {
  /** @throws ClosedError when the store is closed. */
  checkOpen(): void;
}

export abstract class StoredTables {
  protected readonly byName = new Map<string, TableState>();

  constructor(private readonly opened: OpenCheck) {}

  protected abstract get stored(): StoredNamespaces;

  /** The table of this canonical name. */
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

  /** The table of this name, which may be read. @throws RowanError when the store is closed, or the table is not there or disabled. */
  openTable(name: string): TableState {
    this.opened.checkOpen();
    const state = this.find(name) ?? this.get(canonicalTableName(name));
    if (!state.enabled) throw disabledError(state.name);
    return state;
  }

  /** Those that nobody sees, too. */
  tables(): IterableIterator<TableState> {
    return this.byName.values();
  }

  tableNames(): string[] {
    return [...this.byName.keys()].filter(isSeen).sort();
  }

  /** A table that nobody sees, of its full name. */
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

/** The namespace of the tables that snapshots are; it is no namespace to anybody. */
export const SNAPSHOTS = 'rowan_snapshots';

function isSeen(table: string): boolean {
  return !table.startsWith(`${SNAPSHOTS}:`);
}

/** The error for a table whose namespace is not there. */
export function noSuchNamespace(namespace: string): RowanError {
  return new RowanError(
    'ERR_NAMESPACE_NOT_FOUND',
    `There is no namespace "${namespace}". Create it first (createNamespace).`,
    { details: { namespace } },
  );
}

/** The error for reads and writes of a table that is set out of use. */
export function disabledError(table: string): RowanError {
  return new RowanError('ERR_TABLE_DISABLED', `The table "${table}" is disabled. Enable it first.`, {
    details: { table },
  });
}

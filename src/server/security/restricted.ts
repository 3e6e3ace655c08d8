/** Restricts a server's parts to a user's permissions: tables that the user may not read do not appear. */

import { RowanError } from '../../errors.js';
import { EmbeddedAdmin } from '../../store/embedded-admin.js';
import { coreOf, type EmbeddedEngine } from '../../store/engine.js';
import { ServedStore } from '../../store/serving.js';
import type { TableSnapshot } from '../../store/snapshots.js';
import type { TableState } from '../../store/table-state.js';
import { canonicalTableName, type NamespaceProperties, parseTableName } from '../../table/index.js';
import { MetaRows, namespaceRows } from '../regions/catalog-rows.js';
import { metaTable, namespaceTable } from '../regions/catalog-tables.js';
import { ServedRegions } from '../regions/served-regions.js';
import type { ServerParts } from '../services/parts.js';
import type { Grants } from './users.js';

/** The parts for a user; unchanged for a user with all permissions. */
export function restrictedParts(parts: ServerParts, engine: EmbeddedEngine, grants: Grants): ServerParts {
  if (grants.isAdmin) return parts;
  const { server, startedAt } = parts;
  const store = new GrantedStore(engine, grants);
  const regions = new ServedRegions(store);
  return {
    ...parts,
    store,
    regions,
    engine: {
      table: (name) => engine.table(name),
      bulkLoad: (name, cells) => engine.bulkLoad(name, cells),
      transaction: (run, options) => engine.transaction(run, options),
      admin: new GrantedAdmin(engine, store, grants),
    },
    meta: metaTable(new MetaRows(store, regions, server, startedAt)),
    namespaces: namespaceTable(() => namespaceRows(store.namespaces(), startedAt)),
    grants,
  };
}

class GrantedStore extends ServedStore {
  constructor(
    engine: EmbeddedEngine,
    private readonly grants: Grants,
  ) {
    super(engine);
  }

  override tableNames(): string[] {
    return super.tableNames().filter((name) => this.grants.mayRead(name));
  }

  override table(name: string): TableState | undefined {
    return this.grants.mayRead(name) ? super.table(name) : undefined;
  }

  /** The namespaces of the visible tables. */
  override namespaces(): { readonly name: string; readonly properties: NamespaceProperties }[] {
    const seen = new Set(this.tableNames().map((name) => parseTableName(name).namespace));
    return super.namespaces().filter(({ name }) => seen.has(name));
  }
}

/** Only for reads: changes are refused before they reach it. */
class GrantedAdmin extends EmbeddedAdmin {
  constructor(
    engine: EmbeddedEngine,
    private readonly store: GrantedStore,
    private readonly grants: Grants,
  ) {
    super(coreOf(engine));
  }

  override async listSnapshots(): Promise<TableSnapshot[]> {
    return [];
  }

  override async listNamespaces(): Promise<string[]> {
    return this.store.namespaces().map(({ name }) => name);
  }

  override async getNamespace(namespace: string): Promise<NamespaceProperties> {
    const found = this.store.namespaces().find(({ name }) => name === namespace);
    if (found !== undefined) return found.properties;
    throw new RowanError('ERR_NAMESPACE_NOT_FOUND', `There is no namespace "${namespace}".`);
  }

  protected override stateOf(name: string): TableState {
    const canonical = canonicalTableName(name);
    const state = this.grants.mayRead(canonical) ? this.store.table(canonical) : undefined;
    if (state !== undefined) return state;
    throw new RowanError('ERR_TABLE_NOT_FOUND', `There is no table "${name}".`, { details: { table: name } });
  }
}

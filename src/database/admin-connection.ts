/** Tables without entities: for what must be done before a database can be opened. */

import { openEmbedded } from '../store/engine.js';
import { checkOptions } from '../table/checks.js';
import type { Admin, Engine } from '../table/index.js';
import {
  CONNECT_ADMIN_OPTIONS,
  type ConnectAdminOptions,
  checkPath,
  OPEN_ADMIN_OPTIONS,
  type OpenAdminOptions,
} from './options.js';

/** Namespaces, tables and regions, without entities: for what must be done before a database can be opened. */
export interface AdminConnection extends AsyncDisposable {
  readonly admin: Admin;
  close(): Promise<void>;
}

/**
 * The tables of an embedded store, without entities: to add a family that was declared, to look, to drop.
 *
 * @example
 * ```ts
 * await using store = await openAdmin({ path });
 * const live = await store.admin.getDescriptor('shop:crm');
 * const { families } = tableDescriptor('shop:crm', { e: { versions: 3 } });
 * await store.admin.modifyTable({ ...live, families: [...live.families, ...families] });
 * ```
 * @throws as `open`.
 */
export async function openAdmin(options: OpenAdminOptions): Promise<AdminConnection> {
  checkOptions('openAdmin', options, OPEN_ADMIN_OPTIONS);
  const { path, ...embedded } = options;
  checkPath('openAdmin', path);
  return adminOf(await openEmbedded(path, embedded));
}

/** The tables of an HBase cluster, without entities. @throws as `connect`. */
export async function connectAdmin(options: ConnectAdminOptions): Promise<AdminConnection> {
  checkOptions('connectAdmin', options, CONNECT_ADMIN_OPTIONS);
  const { connectHBase } = await import('../hbase/engine.js');
  return adminOf(await connectHBase(options));
}

function adminOf(engine: Engine): AdminConnection {
  const close = (): Promise<void> => engine.close();
  return { admin: engine.admin, close, [Symbol.asyncDispose]: close };
}

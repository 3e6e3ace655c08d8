import { RowanError } from '../../errors.js';
import { type Admin, checkSplitKeys, type RegionInfo } from '../../table/admin.js';
import { canonicalTableName, type TableDescriptor } from '../../table/descriptor.js';
import type { Cluster } from '../client/cluster.js';
import { addressKey } from '../rpc/connection-settings.js';
import { RemoteError } from '../rpc/errors.js';
import type { DelegationToken } from '../security/delegation-token.js';
import type { ProcedureResponse } from '../wire/messages-admin.js';
import type { TypeOf } from '../wire/schema.js';
import {
  AccessAdmin,
  LabelAdmin,
  type PermissionScope,
  type Revocation,
  TokenAdmin,
  type UserPermission,
} from './access-admin.js';
import { type BulkLoad, type BulkLoadOutcome, bulkLoad } from './bulk-load.js';
import { ClusterAdmin, type ClusterStatus, type ServerInfo } from './cluster-admin.js';
import { GroupAdmin } from './group-admin.js';
import { MasterClient, master, type Rpc } from './master-client.js';
import { RegionAdmin, tableMissing } from './region-admin.js';
import { SlowLogAdmin } from './slow-log-admin.js';
import { NamespaceAdmin, SnapshotAdmin, type SnapshotInfo } from './snapshot-admin.js';
import { tableFromSchema, tableNameMessage, tableToSchema } from './table-codec.js';
import {
  type Quota,
  QuotaAdmin,
  type ReplicationPeer,
  type SpaceQuota,
  type SpaceQuotaState,
  type SpaceSubject,
  type Throttle,
  type ThrottleSubject,
  TrafficAdmin,
} from './traffic-admin.js';

const ENABLED = 0;

/** Whoever only reads and writes rows can do without the descriptor. */
function hiddenDescriptor(denied: RemoteError): RowanError {
  const why = `${denied.message} HBase shows descriptors of tables to users with CREATE or ADMIN alone. Without them, open with tables: 'ignore' to read and write rows; whoever copies a table needs one of them.`;
  return new RowanError(denied.code, why, { cause: denied, details: denied.details });
}

/**
 * Administration of a cluster through its active master. Changes run as procedures of the master, and calls resolve when the procedure
 * has ended. In addition to the common {@link Admin}: snapshots, moves and merges of regions, the balancer, servers.
 */
export class HBaseAdmin implements Admin {
  /** Visibility labels and the users who have them. Needs `VisibilityController`. */
  readonly labels: LabelAdmin;
  /** Groups of region servers. Needs `RSGroupAdminEndpoint`. */
  readonly groups: GroupAdmin;
  /** The slow log: slow and large requests, kept by the servers (`hbase.regionserver.slowlog.buffer.enabled`). */
  readonly slowLog: SlowLogAdmin;
  private readonly masters: MasterClient;
  private readonly namespaces: NamespaceAdmin;
  private readonly regionAdmin: RegionAdmin;
  private readonly snapshots: SnapshotAdmin;
  private readonly clusterAdmin: ClusterAdmin;
  private readonly tokens: TokenAdmin;
  private readonly access: AccessAdmin;
  private readonly traffic: TrafficAdmin;
  private readonly quotas: QuotaAdmin;

  constructor(private readonly cluster: Cluster) {
    this.masters = new MasterClient(cluster);
    this.regionAdmin = new RegionAdmin(cluster, this.masters);
    this.namespaces = new NamespaceAdmin(this.masters, () => this.nonces());
    this.snapshots = new SnapshotAdmin(this.masters, this.regionAdmin, cluster);
    this.tokens = new TokenAdmin(cluster);
    this.access = new AccessAdmin(this.masters);
    this.traffic = new TrafficAdmin(this.masters);
    this.quotas = new QuotaAdmin(this.masters, cluster);
    this.clusterAdmin = new ClusterAdmin(this.masters, this.regionAdmin, cluster);
    this.labels = new LabelAdmin(cluster);
    this.groups = new GroupAdmin(this.masters);
    this.slowLog = new SlowLogAdmin(this.masters, this.clusterAdmin);
  }

  /** `properties` are kept with the namespace (quotas, for example). */
  async createNamespace(namespace: string, properties: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.namespaces.create(namespace, properties);
  }

  /** The properties of a namespace. @throws RowanError `ERR_NAMESPACE_NOT_FOUND`. */
  getNamespace(namespace: string): Promise<Readonly<Record<string, string>>> {
    return this.namespaces.properties(namespace);
  }

  /** Replaces the properties of a namespace. */
  async modifyNamespace(namespace: string, properties: Readonly<Record<string, string>>): Promise<void> {
    await this.namespaces.modify(namespace, properties);
  }

  async deleteNamespace(namespace: string): Promise<void> {
    await this.namespaces.delete(namespace);
  }

  listNamespaces(): Promise<string[]> {
    return this.namespaces.list();
  }

  async createTable(descriptor: TableDescriptor, splitKeys: readonly Uint8Array[] = []): Promise<void> {
    checkSplitKeys(splitKeys);
    const request = { tableSchema: tableToSchema(descriptor), splitKeys, ...this.nonces() };
    await this.masters.procedure(master.createTable, request, `createTable ${descriptor.name}`);
    this.forget(descriptor.name);
  }

  async deleteTable(name: string): Promise<void> {
    await this.change(master.deleteTable, name, `deleteTable ${name}`);
  }

  async truncateTable(name: string, preserveSplits = false): Promise<void> {
    const request = { tableName: tableNameMessage(name), preserveSplits, ...this.nonces() };
    await this.masters.procedure(master.truncateTable, request, `truncateTable ${name}`);
    this.forget(name);
  }

  async modifyTable(descriptor: TableDescriptor): Promise<void> {
    const tableSchema = tableToSchema(descriptor);
    const request = { tableName: tableNameMessage(descriptor.name), tableSchema, ...this.nonces() };
    await this.masters.procedure(master.modifyTable, request, `modifyTable ${descriptor.name}`);
  }

  async enableTable(name: string): Promise<void> {
    await this.change(master.enableTable, name, `enableTable ${name}`).catch((cause: unknown) => {
      if (!(cause instanceof RowanError) || cause.code !== 'ERR_TABLE_ENABLED') throw cause;
      // The server's words tell what a deletion needs.
      throw new RowanError('ERR_TABLE_ENABLED', `The table "${name}" is enabled.`, {
        cause,
        details: { table: name },
      });
    });
  }

  async disableTable(name: string): Promise<void> {
    await this.change(master.disableTable, name, `disableTable ${name}`);
  }

  async isTableEnabled(name: string): Promise<boolean> {
    const request = { tableName: tableNameMessage(name) };
    const { tableState } = await this.masters.call(master.getTableState, request);
    return tableState.state === ENABLED;
  }

  disabledTables(names: readonly string[]): Promise<string[]> {
    return this.cluster.locator.disabled(names.map(canonicalTableName));
  }

  tableExists(name: string): Promise<boolean> {
    return this.regionAdmin.tableExists(name);
  }

  async getDescriptor(name: string): Promise<TableDescriptor> {
    const [descriptor] = await this.describe([name]);
    if (descriptor === undefined) throw tableMissing(canonicalTableName(name));
    return descriptor;
  }

  async getDescriptors(names: readonly string[]): Promise<TableDescriptor[]> {
    const existing = await this.cluster.locator.existing(names.map(canonicalTableName));
    return existing.length === 0 ? [] : this.describe(existing);
  }

  async listTables(): Promise<TableDescriptor[]> {
    const { tableSchema = [] } = await this.masters.call(master.getTableDescriptors, {});
    return tableSchema.map(tableFromSchema).sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async hiddenTables(): Promise<string[]> {
    const shown = new Set((await this.listTables()).map(({ name }) => name));
    return (await this.regionAdmin.userTables()).filter((name) => !shown.has(name));
  }

  async getRegions(table: string): Promise<RegionInfo[]> {
    const name = canonicalTableName(table);
    const regions = await this.regionAdmin.regions(name);
    if (regions.length === 0) throw tableMissing(name);
    return regions;
  }

  async flush(table: string, family?: string): Promise<void> {
    await this.checkFamily(table, family);
    await this.regionAdmin.flush(canonicalTableName(table), family);
  }

  async compact(table: string, family?: string): Promise<void> {
    await this.checkFamily(table, family);
    await this.regionAdmin.compact(canonicalTableName(table), family, false);
  }

  async majorCompact(table: string, family?: string): Promise<void> {
    await this.checkFamily(table, family);
    await this.regionAdmin.compact(canonicalTableName(table), family, true);
  }

  async split(table: string, splitKey?: Uint8Array): Promise<void> {
    const name = canonicalTableName(table);
    if (!(await this.tableExists(name))) throw tableMissing(name);
    await this.regionAdmin.split(name, splitKey);
  }

  /** Takes a snapshot of a table, with its memstores flushed (`FLUSH`) or of its files only (`SKIPFLUSH`). */
  async snapshot(name: string, table: string, type: 'FLUSH' | 'SKIPFLUSH' = 'FLUSH'): Promise<void> {
    await this.snapshots.create(name, canonicalTableName(table), type);
  }

  /** All complete snapshots, sorted by name. */
  listSnapshots(): Promise<SnapshotInfo[]> {
    return this.snapshots.list();
  }

  async deleteSnapshot(name: string): Promise<void> {
    await this.snapshots.delete(name);
  }

  /** Creates a table from a snapshot. @throws RowanError `ERR_TABLE_EXISTS` when the table exists. */
  async cloneSnapshot(name: string, newTable: string): Promise<void> {
    await this.snapshots.clone(name, canonicalTableName(newTable));
  }

  /** Restores a snapshot's table, which must exist and be disabled. */
  async restoreSnapshot(name: string): Promise<void> {
    const table = await this.snapshots.restore(name);
    this.forget(table);
  }

  /** Moves a region, named as in {@link getRegions}, to "host:port" or to a server that the master chooses. */
  async moveRegion(region: string, server?: string): Promise<void> {
    await this.clusterAdmin.moveRegion(region, server);
  }

  /** Merges adjacent regions, given by their names. */
  async mergeRegions(regions: readonly string[], force = false): Promise<void> {
    await this.clusterAdmin.mergeRegions(regions, force);
  }

  /** Opens a region on a server, given by its name. */
  async assignRegion(region: string): Promise<void> {
    await this.clusterAdmin.assignRegion(region);
  }

  /** Closes a region on its server. Only {@link assignRegion} opens it again. */
  async unassignRegion(region: string): Promise<void> {
    await this.clusterAdmin.unassignRegion(region);
  }

  /** Whether the balancer is enabled. */
  isBalancerEnabled(): Promise<boolean> {
    return this.clusterAdmin.isBalancerEnabled();
  }

  /** Enables or disables the balancer. @returns whether it was enabled before. */
  setBalancerRunning(on: boolean): Promise<boolean> {
    return this.clusterAdmin.setBalancerRunning(on);
  }

  /**
   * Runs the balancer. `force`: also while regions are in transition.
   * @returns whether it ran.
   */
  balance(force = false): Promise<boolean> {
    return this.traffic.balance(force);
  }

  /** Grants permissions: they replace those that the user has in the scope, or with `merge` extend them. Needs `AccessController`. */
  async grant(permission: UserPermission, merge = false): Promise<void> {
    await this.access.grant(permission, merge);
  }

  /** Revokes permissions, in the form of `grant`; without `actions` all that the user has in the scope. */
  async revoke(permission: Revocation): Promise<void> {
    await this.access.revoke(permission);
  }

  /** The permissions granted in a table, a namespace, or the whole cluster. */
  getPermissions(scope: Pick<PermissionScope, 'namespace' | 'table'> = {}): Promise<UserPermission[]> {
    return this.access.list(scope);
  }

  /** Sets a throttle, a limit for each server; `limit` undefined removes it. Needs `hbase.quota.enabled`. */
  async setThrottle(subject: ThrottleSubject, throttle: Throttle): Promise<void> {
    await this.traffic.setThrottle(subject, throttle);
  }

  /**
   * Sets a space quota of a table, or of a namespace's tables; undefined removes it. Servers enforce it some minutes after it is
   * exceeded. Needs `hbase.quota.enabled`.
   */
  async setSpaceQuota(subject: SpaceSubject, quota: SpaceQuota | undefined): Promise<void> {
    await this.quotas.setSpace(subject, quota);
  }

  /** All throttles and space quotas. @throws RowanError `ERR_TABLE_NOT_FOUND` where quotas are off. */
  listQuotas(): Promise<Quota[]> {
    return this.quotas.list();
  }

  /** The usage of each space quota. */
  getSpaceQuotaStates(): Promise<SpaceQuotaState[]> {
    return this.quotas.spaceStates();
  }

  /** Adds a replication peer: a cluster that receives writes to families whose `replicationScope` is 1. */
  async addReplicationPeer(
    peer: Omit<ReplicationPeer, 'configuration'> & Partial<ReplicationPeer>,
  ): Promise<void> {
    await this.traffic.addPeer(peer);
  }

  async removeReplicationPeer(id: string): Promise<void> {
    await this.traffic.change('remove', id);
  }

  async enableReplicationPeer(id: string): Promise<void> {
    await this.traffic.change('enable', id);
  }

  async disableReplicationPeer(id: string): Promise<void> {
    await this.traffic.change('disable', id);
  }

  /** The replication peers, sorted by id. */
  listReplicationPeers(): Promise<ReplicationPeer[]> {
    return this.traffic.peers();
  }

  /** The live region servers. */
  getServers(): Promise<ServerInfo[]> {
    return this.clusterAdmin.servers();
  }

  /** The masters, the servers with their load, and regions in transition. */
  getStatus(): Promise<ClusterStatus> {
    return this.clusterAdmin.status();
  }

  /** "host:port" of the active master. */
  async getMaster(): Promise<string> {
    const { host, port } = await this.cluster.registry.activeMaster(this.cluster.settings.rpcTimeout);
    return `${host}:${port}`;
  }

  /** "host:port" of the servers of `hbase:meta`, the primary first, then its replicas. */
  async getMetaLocations(): Promise<string[]> {
    const locations = await this.cluster.registry.metaLocations(this.cluster.settings.rpcTimeout);
    return locations.sort((a, b) => a.replicaId - b.replicaId).map(({ address }) => addressKey(address));
  }

  /**
   * Creates a delegation token, with which other processes act as the present Kerberos user, for `tokenAuthenticator`.
   * @throws RowanError when the cluster issues none: without Kerberos, or without `TokenProvider`.
   */
  createDelegationToken(): Promise<DelegationToken> {
    return this.tokens.create();
  }

  /** The authenticated user, and the method (`KERBEROS`, `TOKEN`). Needs `TokenProvider`. */
  whoAmI(): Promise<{ readonly user: string; readonly method: string }> {
    return this.tokens.whoAmI();
  }

  /**
   * Bulk load of HFiles on the cluster's file system. The files of one region are loaded atomically.
   * @throws RowanError the server's error, with the number of files loaded before in `details.loaded`, and `details.outcome`
   * `'unknown'` when an answer was lost.
   */
  bulkLoad(load: BulkLoad): Promise<BulkLoadOutcome> {
    return bulkLoad(this.cluster, load);
  }

  /** The descriptors of existing tables. */
  private async describe(names: readonly string[]): Promise<TableDescriptor[]> {
    const request = { tableNames: names.map(tableNameMessage), includeSystemTables: true };
    const { tableSchema = [] } = await this.masters
      .call(master.getTableDescriptors, request)
      .catch((error: unknown) => {
        throw error instanceof RemoteError && error.denial !== undefined ? hiddenDescriptor(error) : error;
      });
    return tableSchema.map(tableFromSchema);
  }

  private nonces(): { nonceGroup: bigint; nonce: bigint } {
    return this.regionAdmin.nonces();
  }

  private async change(
    rpc: Rpc<TypeOf<typeof master.deleteTable.request>, TypeOf<typeof ProcedureResponse>>,
    name: string,
    what: string,
  ): Promise<void> {
    await this.masters.procedure(rpc, { tableName: tableNameMessage(name), ...this.nonces() }, what);
    this.forget(name);
  }

  private forget(name: string): void {
    this.cluster.locator.cache.removeTable(canonicalTableName(name));
  }

  private async checkFamily(table: string, family: string | undefined): Promise<void> {
    if (family === undefined) return;
    const descriptor = await this.getDescriptor(table);
    if (descriptor.families.some(({ name }) => name === family)) return;
    throw new RowanError('ERR_NO_SUCH_FAMILY', `Table ${descriptor.name} has no family "${family}".`, {
      details: { table: descriptor.name, family },
    });
  }
}

import { RowanError, TimeoutError } from '../../errors.js';
import type { Cluster } from '../client/cluster.js';
import { sleep } from '../client/retry.js';
import type { SnapshotDescription } from '../wire/messages-admin.js';
import type { TypeOf } from '../wire/schema.js';
import { type MasterClient, master } from './master-client.js';
import type { RegionAdmin } from './region-admin.js';
import { configurationOf, pairsOf } from './table-codec.js';

/** A complete snapshot. */
export interface SnapshotInfo {
  readonly name: string;
  readonly table: string;
  /** Milliseconds since 1970. */
  readonly creationTime: number;
}

const TYPES = { FLUSH: 1, SKIPFLUSH: 2 } as const;
const POLL = 100;

/** Snapshots of tables. */
export class SnapshotAdmin {
  constructor(
    private readonly masters: MasterClient,
    private readonly regions: RegionAdmin,
    private readonly cluster: Cluster,
  ) {}

  async create(name: string, table: string, type: keyof typeof TYPES): Promise<void> {
    const deadline = this.masters.deadline();
    const snapshot = { name, table, type: TYPES[type] };
    const request = { snapshot, ...this.regions.nonces() };
    const { procId } = await this.masters.call(master.snapshot, request);
    if (procId !== undefined && procId >= 0) {
      await this.masters.awaitProcedure(procId, `The snapshot ${name} of table ${table}`, deadline);
      return;
    }
    for (;;) {
      const { done } = await this.masters.call(master.isSnapshotDone, { snapshot });
      if (done === true) return;
      if (performance.now() + POLL > deadline) {
        throw new TimeoutError(
          `The snapshot ${name} of table ${table} is not complete. Check listSnapshots later.`,
        );
      }
      await sleep(POLL);
    }
  }

  async list(): Promise<SnapshotInfo[]> {
    const { snapshots = [] } = await this.masters.call(master.getCompletedSnapshots, {});
    return snapshots
      .map(({ name, table = '', creationTime = 0 }) => ({ name, table, creationTime }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async delete(name: string): Promise<void> {
    await this.masters.call(master.deleteSnapshot, { snapshot: { name } });
  }

  /** @throws RowanError `ERR_TABLE_EXISTS` when the table exists: the master would restore the snapshot's own table instead. */
  async clone(name: string, newTable: string): Promise<void> {
    const snapshot = await this.find(name);
    if (await this.regions.tableExists(newTable)) {
      throw new RowanError(
        'ERR_TABLE_EXISTS',
        `Table ${newTable} exists; a snapshot can only be cloned to a new table. Choose another name, or put the ` +
          "snapshot's own table back with restoreSnapshot.",
        { details: { table: newTable } },
      );
    }
    await this.restoreTo({ ...snapshot, table: newTable }, `The clone of snapshot ${name}`);
    this.cluster.locator.cache.removeTable(newTable);
  }

  /**
   * @returns the name of the restored table.
   * @throws RowanError `ERR_TABLE_NOT_FOUND` when the table is missing: the master would create a new one instead.
   */
  async restore(name: string): Promise<string> {
    const snapshot = await this.find(name);
    const { table = '' } = snapshot;
    if (!(await this.regions.tableExists(table))) {
      throw new RowanError(
        'ERR_TABLE_NOT_FOUND',
        `Table ${table} of snapshot ${name} does not exist any more. Create it with cloneSnapshot.`,
        { details: { table } },
      );
    }
    await this.restoreTo(snapshot, `The restoration of snapshot ${name}`);
    return table;
  }

  private async restoreTo(snapshot: TypeOf<typeof SnapshotDescription>, what: string): Promise<void> {
    const deadline = this.masters.deadline();
    const request = { snapshot, ...this.regions.nonces() };
    const { procId } = await this.masters.call(master.restoreSnapshot, request);
    await this.masters.awaitProcedure(procId, what, deadline);
  }

  private async find(name: string): Promise<TypeOf<typeof SnapshotDescription>> {
    const { snapshots = [] } = await this.masters.call(master.getCompletedSnapshots, {});
    const snapshot = snapshots.find((known) => known.name === name);
    if (snapshot === undefined) {
      throw new RowanError(
        'ERR_NOT_FOUND',
        `There is no complete snapshot "${name}". listSnapshots lists the existing ones.`,
      );
    }
    return snapshot;
  }
}

type Properties = Readonly<Record<string, string>>;

/** Namespaces and their properties. */
export class NamespaceAdmin {
  constructor(
    private readonly masters: MasterClient,
    private readonly nonces: () => { nonceGroup: bigint; nonce: bigint },
  ) {}

  async create(namespace: string, properties: Properties): Promise<void> {
    const request = { namespaceDescriptor: messageOf(namespace, properties), ...this.nonces() };
    await this.masters.procedure(master.createNamespace, request, `createNamespace ${namespace}`);
  }

  async properties(namespace: string): Promise<Properties> {
    const request = { namespaceName: namespace };
    const { namespaceDescriptor } = await this.masters.call(master.getNamespaceDescriptor, request);
    return configurationOf(namespaceDescriptor.configuration ?? []);
  }

  async modify(namespace: string, properties: Properties): Promise<void> {
    const request = { namespaceDescriptor: messageOf(namespace, properties), ...this.nonces() };
    await this.masters.procedure(master.modifyNamespace, request, `modifyNamespace ${namespace}`);
  }

  async delete(namespace: string): Promise<void> {
    const request = { namespaceName: namespace, ...this.nonces() };
    await this.masters.procedure(master.deleteNamespace, request, `deleteNamespace ${namespace}`);
  }

  async list(): Promise<string[]> {
    const { namespaceName = [] } = await this.masters.call(master.listNamespaces, {});
    return [...namespaceName].sort();
  }
}

function messageOf(
  namespace: string,
  properties: Properties,
): { name: Uint8Array; configuration: { name: string; value: string }[] } {
  return { name: Buffer.from(namespace, 'utf8'), configuration: pairsOf(properties) };
}

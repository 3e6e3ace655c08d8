import { EMPTY_BYTES, toHex } from '../bytes/index.js';
import { RowanError, UnsupportedError } from '../errors.js';
import { type Admin, checkSplitKeys, type NamespaceProperties, type RegionInfo } from '../table/admin.js';
import {
  canonicalTableName,
  checkedDescriptor,
  DEFAULT_NAMESPACE,
  type FamilyDescriptor,
  parseTableName,
  type TableDescriptor,
} from '../table/descriptor.js';
import type { BigtableClient, Deadline } from './client.js';
import type { Descriptors, ServiceTable } from './descriptors.js';
import { gcRuleOf } from './gc-rules.js';
import { checkFamilyId, META_TABLE, tableIdOf, tableNameOf } from './names.js';
import type { TableOptionsStore } from './table-options.js';

/** How many descriptors are requested concurrently. */
const AT_ONCE = 16;

/** A response of SampleRowKeys. */
interface SampledKey {
  readonly rowKey?: Uint8Array | null;
  readonly offsetBytes?: string | number | null;
}

/**
 * Administers tables, families and their garbage collection. Namespaces, and options without a counterpart in Bigtable,
 * are stored in `rowan_tables`. The service splits, flushes and compacts by itself: `flush`, `compact` and
 * `majorCompact` do nothing, since readers never see what they would remove.
 */
export class BigtableAdmin implements Admin {
  readonly splitsItself = true;

  constructor(
    private readonly client: BigtableClient,
    private readonly descriptors: Descriptors,
    private readonly stored: TableOptionsStore,
  ) {}

  async createNamespace(namespace: string, properties: NamespaceProperties = {}): Promise<void> {
    parseTableName(`${namespace}:t`);
    if (namespace === DEFAULT_NAMESPACE || (await this.stored.namespaces()).has(namespace)) {
      throw new RowanError('ERR_NAMESPACE_EXISTS', `The namespace "${namespace}" already exists.`);
    }
    await this.stored.keepNamespace(namespace, properties);
  }

  async getNamespace(namespace: string): Promise<NamespaceProperties> {
    if (namespace === DEFAULT_NAMESPACE) return (await this.stored.namespaces()).get(namespace) ?? {};
    return this.namespace(namespace);
  }

  async modifyNamespace(namespace: string, properties: NamespaceProperties): Promise<void> {
    if (namespace !== DEFAULT_NAMESPACE) await this.namespace(namespace);
    await this.stored.keepNamespace(namespace, properties);
  }

  async deleteNamespace(namespace: string): Promise<void> {
    await this.namespace(namespace);
    const left = (await this.listTables()).find(({ name }) => parseTableName(name).namespace === namespace);
    if (left !== undefined) {
      throw new RowanError(
        'ERR_INVALID_ARGUMENT',
        `The namespace "${namespace}" has tables, "${left.name}" for one. Delete them first.`,
      );
    }
    await this.stored.dropNamespace(namespace);
  }

  async listNamespaces(): Promise<string[]> {
    return [...new Set([DEFAULT_NAMESPACE, ...(await this.stored.namespaces()).keys()])].sort();
  }

  private async namespace(namespace: string): Promise<NamespaceProperties> {
    const found = (await this.stored.namespaces()).get(namespace);
    if (found !== undefined) return found;
    throw new RowanError(
      'ERR_NAMESPACE_NOT_FOUND',
      `The namespace "${namespace}" does not exist. Create it first.`,
    );
  }

  async createTable(given: TableDescriptor, splitKeys: readonly Uint8Array[] = []): Promise<void> {
    const descriptor = checkedDescriptor(given);
    checkSplitKeys(splitKeys);
    const tableId = tableIdOf(descriptor.name);
    for (const { name } of descriptor.families) checkFamilyId(descriptor.name, name);
    const { namespace } = parseTableName(descriptor.name);
    if (namespace !== DEFAULT_NAMESPACE) await this.namespace(namespace);
    const table = {
      granularity: 'MILLIS',
      columnFamilies: Object.fromEntries(
        descriptor.families.map((family) => [family.name, familyOf(family)]),
      ),
    };
    const initialSplits = splitKeys.map((key) => ({ key }));
    await this.client.adminCall(
      'createTable',
      { parent: this.client.instance, tableId, table, initialSplits },
      this.deadline('createTable', descriptor.name),
    );
    await this.stored.keep(descriptor, false);
    this.descriptors.forget(tableId);
  }

  async deleteTable(name: string): Promise<void> {
    await this.checkDisabled(name);
    const id = tableIdOf(name);
    await this.client.adminCall(
      'deleteTable',
      { name: this.client.pathOf(id) },
      this.deadline('deleteTable', name),
    );
    await this.stored.drop(id);
    this.descriptors.forget(id);
  }

  async truncateTable(name: string): Promise<void> {
    const descriptor = await this.checkDisabled(name);
    const request = { name: this.client.pathOf(tableIdOf(name)), deleteAllDataFromTable: true };
    await this.client.adminCall('dropRowRange', request, this.deadline('dropRowRange', name));
    await this.stored.keep(descriptor, false);
    this.descriptors.forget(tableIdOf(name));
  }

  /** Deletes every row with this prefix, in one call of the service. */
  async dropRowRange(name: string, rowKeyPrefix: Uint8Array): Promise<void> {
    const request = { name: this.client.pathOf(tableIdOf(name)), rowKeyPrefix };
    await this.client.adminCall('dropRowRange', request, this.deadline('dropRowRange', name));
  }

  async modifyTable(given: TableDescriptor): Promise<void> {
    const descriptor = checkedDescriptor(given);
    const id = tableIdOf(descriptor.name);
    for (const { name } of descriptor.families) checkFamilyId(descriptor.name, name);
    const { descriptor: before, isDisabled } = await this.known(descriptor.name);
    const old = new Map(before.families.map((family) => [family.name, JSON.stringify(gcRuleOf(family))]));
    const modifications: object[] = [];
    for (const family of descriptor.families) {
      const rule = old.get(family.name);
      if (!old.has(family.name)) modifications.push({ id: family.name, create: familyOf(family) });
      else if (rule !== JSON.stringify(gcRuleOf(family))) {
        modifications.push({ id: family.name, update: familyOf(family), updateMask: { paths: ['gc_rule'] } });
      }
      old.delete(family.name);
    }
    for (const dropped of old.keys()) modifications.push({ id: dropped, drop: true });
    if (modifications.length > 0) {
      await this.client.adminCall(
        'modifyColumnFamilies',
        { name: this.client.pathOf(id), modifications },
        this.deadline('modifyColumnFamilies', descriptor.name),
      );
    }
    await this.stored.keep(descriptor, isDisabled);
    this.descriptors.forget(id);
  }

  async enableTable(name: string): Promise<void> {
    await this.setDisabled(name, false);
  }

  /** Bigtable cannot disable tables: the state is stored in `rowan_tables`, and only this library respects it. */
  async disableTable(name: string): Promise<void> {
    await this.setDisabled(name, true);
  }

  async isTableEnabled(name: string): Promise<boolean> {
    return !(await this.known(name)).isDisabled;
  }

  async disabledTables(names: readonly string[]): Promise<string[]> {
    const disabled = new Set(await this.stored.disabled(names.map(tableIdOf)));
    return names.filter((name) => disabled.has(tableIdOf(name)));
  }

  async tableExists(name: string): Promise<boolean> {
    return (await this.descriptorOf(name)) !== undefined;
  }

  async getDescriptor(name: string): Promise<TableDescriptor> {
    return (await this.known(name)).descriptor;
  }

  /** One call for each table, some concurrently: the service's list has only names. */
  async getDescriptors(names: readonly string[]): Promise<TableDescriptor[]> {
    const wanted = [...new Set(names.map(canonicalTableName))];
    const found: TableDescriptor[] = [];
    for (let from = 0; from < wanted.length; from += AT_ONCE) {
      const some = await Promise.all(
        wanted.slice(from, from + AT_ONCE).map((name) => this.descriptorOf(name)),
      );
      for (const descriptor of some) if (descriptor !== undefined) found.push(descriptor);
    }
    return found;
  }

  async listTables(): Promise<TableDescriptor[]> {
    const names: string[] = [];
    const request = { parent: this.client.instance, view: 'NAME_ONLY' };
    const tables = await this.client.adminCall<readonly ServiceTable[]>(
      'listTables',
      request,
      this.deadline('listTables'),
    );
    for (const { name } of tables) {
      const id = name!.slice(name!.lastIndexOf('/') + 1);
      if (id !== META_TABLE) names.push(tableNameOf(id));
    }
    return this.getDescriptors(names.sort());
  }

  private async descriptorOf(name: string): Promise<TableDescriptor | undefined> {
    try {
      return await this.getDescriptor(name);
    } catch (error) {
      if (error instanceof RowanError && error.code === 'ERR_TABLE_NOT_FOUND') return undefined;
      throw error;
    }
  }

  /** The ranges between the keys that the service samples, which are roughly the bounds of its tablets. */
  async getRegions(table: string): Promise<RegionInfo[]> {
    await this.known(table);
    const deadline = this.deadline('sampleRowKeys', table);
    for (;;) {
      try {
        const keys: { readonly key: Uint8Array; readonly offset: number }[] = [];
        const answers = this.client.stream<SampledKey>('sampleRowKeys', tableIdOf(table), {}, deadline);
        for await (const { rowKey, offsetBytes } of answers) {
          const key = rowKey ?? EMPTY_BYTES;
          if (key.length > 0 && !(keys.length > 0 && Buffer.compare(keys.at(-1)!.key, key) >= 0)) {
            keys.push({ key, offset: Number(offsetBytes ?? 0) });
          } else if (key.length === 0) keys.push({ key, offset: Number(offsetBytes ?? 0) });
        }
        return regionsOf(canonicalTableName(table), keys);
      } catch (error) {
        await deadline.retry(deadline.errorOf(error), true);
      }
    }
  }

  async flush(table: string): Promise<void> {
    await this.known(table);
  }

  async compact(table: string): Promise<void> {
    await this.known(table);
  }

  async majorCompact(table: string): Promise<void> {
    await this.known(table);
  }

  async split(): Promise<void> {
    throw new UnsupportedError(
      'Bigtable splits its tables by itself. Set split keys when you create a table.',
    );
  }

  private async setDisabled(name: string, disabled: boolean): Promise<void> {
    const { descriptor, isDisabled } = await this.known(name);
    if (isDisabled === disabled) {
      throw disabled
        ? new RowanError('ERR_TABLE_DISABLED', `Table "${name}" is already disabled.`)
        : new RowanError('ERR_TABLE_ENABLED', `Table "${name}" is already enabled.`);
    }
    await this.stored.keep(descriptor, disabled);
    this.descriptors.forget(tableIdOf(name));
  }

  private async checkDisabled(name: string): Promise<TableDescriptor> {
    const { descriptor, isDisabled } = await this.known(name);
    if (isDisabled) return descriptor;
    throw new RowanError('ERR_TABLE_ENABLED', `Table "${name}" is enabled. Disable it first: disableTable.`, {
      details: { table: name },
    });
  }

  /** Reads the present state of the table. */
  private known(name: string): ReturnType<Descriptors['of']> {
    const id = tableIdOf(name);
    this.descriptors.forget(id);
    return this.descriptors.of(id);
  }

  private deadline(call: string, table?: string): Deadline {
    return this.client.deadline({ call, table }, {}, this.client.settings.adminTimeout);
  }
}

function familyOf(family: FamilyDescriptor): object {
  const gcRule = gcRuleOf(family);
  return gcRule === undefined ? {} : { gcRule };
}

function regionsOf(
  table: string,
  samples: readonly { readonly key: Uint8Array; readonly offset: number }[],
): RegionInfo[] {
  const regions: RegionInfo[] = [];
  let startKey: Uint8Array = EMPTY_BYTES;
  let before = 0;
  const add = (endKey: Uint8Array, offset: number): void => {
    regions.push({
      table,
      startKey,
      endKey,
      name: `${table},${toHex(startKey)}`,
      server: 'bigtable',
      readRequests: 0,
      writeRequests: 0,
      storeFiles: 0,
      storeFileSize: Math.max(0, offset - before),
      memstoreSize: 0,
    });
    startKey = endKey;
    before = offset;
  };
  for (const { key, offset } of samples) add(key, offset);
  if (startKey.length > 0 || regions.length === 0) add(EMPTY_BYTES, before);
  return regions;
}

import { RowanError } from '../errors.js';
import type { NamespaceProperties } from '../table/admin.js';
import type { Cell } from '../table/checks.js';
import {
  type FamilyDescriptor,
  FOREVER,
  familyDescriptor,
  type TableDescriptor,
  tableDescriptor,
} from '../table/descriptor.js';
import { ChunkReader } from './chunks.js';
import type { BigtableClient } from './client.js';
import { META_TABLE, tableIdOf } from './names.js';
import {
  type CellMutation,
  chain,
  column,
  prefixRange,
  type ReadRowsRequest,
  type ReadRowsResponse,
  SERVER_TIME,
} from './wire.js';

const FAMILY = 't';
const OPTIONS = Buffer.from('o');
const TABLE = 'table/';
const NAMESPACE = 'namespace/';

/** The stored options of a table: those that differ from the defaults. */
export type StoredOptions = Partial<Omit<TableDescriptor, 'name' | 'families'>> & {
  readonly families?: Readonly<Record<string, Partial<FamilyDescriptor>>>;
  readonly disabled?: boolean;
};

/**
 * The table `rowan_tables` of the instance. It stores namespaces, and the parts of descriptors without a counterpart in
 * Bigtable: metadata with the schema stamp, configuration, HBase's own options, and whether a table is disabled. It is
 * created on first use. Its bytes are FROZEN: docs/bigtable.md.
 */
export class TableOptionsStore {
  constructor(private readonly client: BigtableClient) {}

  async of(id: string): Promise<StoredOptions | undefined> {
    return (await this.read({ rows: { rowKeys: [Buffer.from(TABLE + id)] } })).get(TABLE + id) as
      | StoredOptions
      | undefined;
  }

  /** Those of these tables that are disabled, by one read. */
  async disabled(ids: readonly string[]): Promise<string[]> {
    if (ids.length === 0) return [];
    const found = await this.read({ rows: { rowKeys: ids.map((id) => Buffer.from(TABLE + id)) } });
    return ids.filter((id) => (found.get(TABLE + id) as StoredOptions | undefined)?.disabled === true);
  }

  async keep(descriptor: TableDescriptor, disabled: boolean): Promise<void> {
    const id = tableIdOf(descriptor.name);
    const stored = storedOf(descriptor, disabled);
    if (Object.keys(stored).length > 0) await this.write(TABLE + id, stored);
    else await this.drop(id);
  }

  async drop(id: string): Promise<void> {
    await this.change(TABLE + id, { deleteFromRow: {} }, false);
  }

  async namespaces(): Promise<Map<string, NamespaceProperties>> {
    const found = await this.read({ rows: { rowRanges: [prefixRange(Buffer.from(NAMESPACE))] } });
    return new Map(
      [...found].map(([row, value]) => [row.slice(NAMESPACE.length), value as NamespaceProperties]),
    );
  }

  async keepNamespace(name: string, properties: NamespaceProperties): Promise<void> {
    await this.write(NAMESPACE + name, properties);
  }

  async dropNamespace(name: string): Promise<void> {
    await this.change(NAMESPACE + name, { deleteFromRow: {} }, false);
  }

  private write(row: string, value: object): Promise<void> {
    const setCell = {
      familyName: FAMILY,
      columnQualifier: OPTIONS,
      timestampMicros: SERVER_TIME,
      value: Buffer.from(JSON.stringify(value)),
    };
    return this.change(row, { setCell }, true);
  }

  /** `creates`: whether to create a missing table; otherwise there is nothing to change then. */
  private async change(row: string, mutation: CellMutation, creates: boolean): Promise<void> {
    const request = { rowKey: Buffer.from(row), mutations: [mutation] };
    const asked = { call: 'mutateRow', table: META_TABLE };
    const { client } = this;
    for (let attempt = 0; ; attempt++) {
      try {
        await client.call('mutateRow', META_TABLE, request, { repeatable: true }, client.deadline(asked, {}));
        return;
      } catch (error) {
        if (!isNotFound(error) || attempt > 0) throw error;
        if (!creates) return;
        await this.create();
      }
    }
  }

  private async create(): Promise<void> {
    const { client } = this;
    const table = { granularity: 'MILLIS', columnFamilies: { [FAMILY]: { gcRule: { maxNumVersions: 1 } } } };
    const request = { parent: client.instance, tableId: META_TABLE, table };
    const deadline = client.deadline(
      { call: 'createTable', table: META_TABLE },
      {},
      client.settings.adminTimeout,
    );
    await client.adminCall('createTable', request, deadline).catch((error: unknown) => {
      if (!(error instanceof RowanError && error.code === 'ERR_TABLE_EXISTS')) throw error;
    });
  }

  private async read(request: ReadRowsRequest): Promise<Map<string, unknown>> {
    const { client } = this;
    const filter = chain(column(FAMILY, OPTIONS), { cellsPerColumnLimitFilter: 1 });
    const deadline = client.deadline({ call: 'readRows', table: META_TABLE }, {});
    for (;;) {
      const rows: Cell[][] = [];
      const reader = new ChunkReader();
      try {
        const answers = client.stream<ReadRowsResponse>(
          'readRows',
          META_TABLE,
          { ...request, filter },
          deadline,
        );
        for await (const { chunks } of answers) reader.read(chunks ?? [], rows);
        return new Map(
          rows.map(([cell]) => [
            Buffer.from(cell!.row).toString(),
            JSON.parse(Buffer.from(cell!.value).toString()) as unknown,
          ]),
        );
      } catch (error) {
        if (isNotFound(error)) return new Map();
        await deadline.retry(deadline.errorOf(error), true);
      }
    }
  }
}

function isNotFound(error: unknown): boolean {
  return error instanceof RowanError && error.code === 'ERR_TABLE_NOT_FOUND';
}

/**
 * Family options that the service itself stores. MIN_VERSIONS only with a TTL: a rule without an age cannot express it.
 */
const OF_THE_SERVICE = new Set(['name', 'versions', 'minVersions', 'ttl']);
const WITHOUT_TTL = new Set(['name', 'versions', 'ttl']);

function storedOf(descriptor: TableDescriptor, disabled: boolean): StoredOptions {
  const { name, families, ...options } = descriptor;
  const stored: Record<string, unknown> = differing(options, tableDescriptor(name, { f: {} }));
  const kept = families.map((family): [string, object] => [
    family.name,
    differing(family, familyDescriptor(family.name), family.ttl === FOREVER ? WITHOUT_TTL : OF_THE_SERVICE),
  ]);
  const ownOptions = kept.filter(([, own]) => Object.keys(own).length > 0);
  if (ownOptions.length > 0) stored['families'] = Object.fromEntries(ownOptions);
  if (disabled) stored['disabled'] = true;
  return stored as StoredOptions;
}

function differing(
  options: object,
  defaults: object,
  without: ReadonlySet<string> = new Set(),
): Record<string, unknown> {
  const other = defaults as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    Object.entries(options).filter(
      ([name, value]) => !without.has(name) && JSON.stringify(value) !== JSON.stringify(other[name]),
    ),
  );
}

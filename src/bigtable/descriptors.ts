import { RowanError } from '../errors.js';
import { FOREVER, type TableDescriptor, tableDescriptor } from '../table/descriptor.js';
import type { OperationOptions } from '../table/table.js';
import { isFenced } from '../table/write-fence.js';
import type { BigtableClient } from './client.js';
import { type GcRule, type Keeping, keepingOf } from './gc-rules.js';
import { tableNameOf } from './names.js';
import type { StoredOptions, TableOptionsStore } from './table-options.js';

/** Descriptors of tables: families from the service, other options from `rowan_tables`. */

/** The part of `google.bigtable.admin.v2.Table` that is read. */
export interface ServiceTable {
  readonly name?: string | null;
  readonly columnFamilies?: Readonly<Record<string, { readonly gcRule?: GcRule | null }>> | null;
  readonly deletionProtection?: boolean | null;
}

/** A table as calls need it. */
export interface KnownTable {
  readonly descriptor: TableDescriptor;
  readonly isDisabled: boolean;
  readonly families: ReadonlyMap<string, Keeping>;
  /** Whether each change passes a write fence (table/write-fence.ts). */
  readonly isFenced: boolean;
  /** Whether cells of any family expire. */
  readonly expires: boolean;
}

/** Combines the data of the service and of `rowan_tables`. */
function describeTable(id: string, table: ServiceTable, stored: StoredOptions | undefined): KnownTable {
  const { families: options = {}, disabled = false, ...rest } = stored ?? {};
  const families: Record<string, object> = {};
  for (const [family, { gcRule }] of Object.entries(table.columnFamilies ?? {})) {
    const own = options[family];
    const keeping = keepingOf(gcRule);
    // A rule without an age does not contain minVersions.
    const minVersions = keeping.ttl === FOREVER ? (own?.minVersions ?? 0) : keeping.minVersions;
    families[family] = { ...own, ...keeping, minVersions: Math.min(minVersions, keeping.versions) };
  }
  const name = tableNameOf(id);
  // A table of the service may have no family yet, which a descriptor cannot represent.
  const descriptor: TableDescriptor =
    Object.keys(families).length > 0
      ? tableDescriptor(name, families, rest)
      : { ...tableDescriptor(name, { f: {} }, rest), families: [] };
  return {
    descriptor,
    isDisabled: disabled,
    isFenced: isFenced(descriptor),
    families: new Map(descriptor.families.map((family) => [family.name, family])),
    expires: descriptor.families.some(({ ttl }) => ttl !== FOREVER),
  };
}

interface Entry {
  readonly known: Promise<KnownTable>;
  readonly until: number;
}

/** A cache of descriptors with a time limit. */
export class Descriptors {
  private readonly entries = new Map<string, Entry>();

  constructor(
    private readonly client: BigtableClient,
    private readonly stored: TableOptionsStore,
  ) {}

  /**
   * The descriptor of a table.
   * @throws RowanError `ERR_TABLE_NOT_FOUND`, and errors of calls.
   */
  of(id: string, options: OperationOptions = {}): Promise<KnownTable> {
    const found = this.entries.get(id);
    if (found !== undefined && performance.now() < found.until) return found.known;
    const known = this.load(id, options);
    this.entries.set(id, { known, until: performance.now() + this.client.settings.descriptorLifetime });
    known.catch(() => this.forget(id));
    return known;
  }

  /** Drops the cached descriptor. */
  forget(id: string): void {
    this.entries.delete(id);
  }

  private async load(id: string, options: OperationOptions): Promise<KnownTable> {
    const deadline = this.client.deadline(
      { call: 'getTable', table: tableNameOf(id) },
      { timeout: options.timeout },
    );
    const [table, stored] = await Promise.all([
      this.client.adminCall<ServiceTable>(
        'getTable',
        { name: this.client.pathOf(id), view: 'SCHEMA_VIEW' },
        deadline,
      ),
      this.stored.of(id),
    ]);
    return describeTable(id, table, stored);
  }
}

/**
 * The error for a disabled table.
 * @returns RowanError `ERR_TABLE_DISABLED`.
 */
export function tableDisabled(table: string): RowanError {
  return new RowanError('ERR_TABLE_DISABLED', `Table "${table}" is disabled. Enable it first.`, {
    details: { table },
  });
}

/**
 * The error for a missing family.
 * @returns RowanError `ERR_NO_SUCH_FAMILY`.
 */
export function noSuchFamily(table: string, family: string, known: KnownTable): RowanError {
  const families = [...known.families.keys()].join(', ');
  return new RowanError(
    'ERR_NO_SUCH_FAMILY',
    `Table "${table}" has no family "${family}"; it has ${families || 'none'}. Declare the family, or add it to the table.`,
    { details: { table, family } },
  );
}

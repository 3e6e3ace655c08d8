import { toStringBinary } from '../../../bytes/index.js';
import {
  familyFromSchema,
  tableFromSchema,
  tableNameMessage,
  tableNameText,
  tableToSchema,
} from '../../../hbase/admin/table-codec.js';
import { META_TABLE, regionNameOf } from '../../../hbase/region/region.js';
import * as messages from '../../../hbase/wire/messages-admin.js';
import type { RegionSpecifier, TableNameMessage } from '../../../hbase/wire/messages-rpc.js';
import type { TypeOf } from '../../../hbase/wire/schema.js';
import {
  type FamilyDescriptor,
  parseTableName,
  type TableDescriptor,
  tableDescriptor,
} from '../../../table/index.js';
import { JavaClass, refused, ServerException } from '../../errors.js';
import { NAMESPACE_TABLE } from '../../regions/catalog-rows.js';
import { notServing } from '../../regions/served-regions.js';
import type { Service } from '../../rpc/request.js';
import {
  DeleteColumnRequest,
  ExecProcedureResponse,
  FamilyRequest,
  Flag,
  FlushTableRequest,
  GetSchemaAlterStatusRequest,
  GetSchemaAlterStatusResponse,
  GetTableNamesRequest,
  GetTableNamesResponse,
  NamespaceRequest,
  ProcedureRequest,
  StateRequest,
  TableSchemas,
} from '../messages.js';
import { checkWritable, type ServerParts } from '../parts.js';
import type { Procedures } from '../procedures.js';
import { method } from '../registry-service.js';

const SYSTEM_NAMESPACE = 'hbase';
const FLUSH_PROCEDURE = 'flush-table-proc';
const FULL_NAME = 1;

/** Descriptors of the derived catalog tables. */
const CATALOG_TABLES: readonly TableDescriptor[] = [
  tableDescriptor(META_TABLE, {
    info: { versions: 3, inMemory: true },
    table: { versions: 3, inMemory: true },
  }),
  tableDescriptor(NAMESPACE_TABLE, { info: { versions: 10, inMemory: true } }),
];

function isCatalog(table: string): boolean {
  return CATALOG_TABLES.some(({ name }) => name === table);
}

/** The common fields of `GetTableNames` and `GetTableDescriptors`. */
interface Listing {
  readonly regex?: string | undefined;
  readonly includeSystemTables?: boolean | undefined;
  readonly namespace?: string | undefined;
  readonly tableNames?: readonly TableNameMessage[] | undefined;
}

/** Master calls that create, change and list tables. */
export function tableCalls(parts: ServerParts, procedures: Procedures): Service {
  const { admin } = parts.engine;
  const listing = new TableListing(parts);
  const change = procedures.run.bind(procedures);
  const nameOf = (name: TableNameMessage): string => {
    const text = tableNameText(name);
    if (text === META_TABLE || text === NAMESPACE_TABLE)
      throw refused(`${text} is derived from the catalog: it cannot be changed, disabled or deleted.`);
    return text;
  };
  const alter = (
    request: { readonly tableName: TableNameMessage } & Parameters<Procedures['run']>[0],
    families: (table: TableDescriptor) => readonly FamilyDescriptor[],
  ): Promise<{ readonly procId: number }> =>
    change(request, async () => {
      const table = await admin.getDescriptor(nameOf(request.tableName));
      await admin.modifyTable({ ...table, families: families(table) });
    });
  return {
    createtable: method(messages.CreateTableRequest, messages.ProcedureResponse, (request) =>
      change(request, async () => {
        const descriptor = tableFromSchema(request.tableSchema);
        const { namespace } = parseTableName(descriptor.name);
        if (namespace === SYSTEM_NAMESPACE)
          throw refused(
            `The namespace "${SYSTEM_NAMESPACE}" is reserved for the system. Create "${descriptor.name}" in another.`,
          );
        await admin.createTable(descriptor, (request.splitKeys ?? []).map(plain));
      }),
    ),
    modifytable: method(messages.ModifyTableRequest, messages.ProcedureResponse, (request) =>
      change(request, async () => {
        nameOf(request.tableName);
        await admin.modifyTable(tableFromSchema(request.tableSchema));
      }),
    ),
    deletetable: method(messages.TableRequest, messages.ProcedureResponse, (request) =>
      change(request, () => admin.deleteTable(nameOf(request.tableName))),
    ),
    enabletable: method(messages.TableRequest, messages.ProcedureResponse, (request) =>
      change(request, () => admin.enableTable(nameOf(request.tableName))),
    ),
    disabletable: method(messages.TableRequest, messages.ProcedureResponse, (request) =>
      change(request, () => admin.disableTable(nameOf(request.tableName))),
    ),
    truncatetable: method(messages.TruncateTableRequest, messages.ProcedureResponse, (request) =>
      change(request, () => admin.truncateTable(nameOf(request.tableName), request.preserveSplits ?? false)),
    ),
    addcolumn: method(FamilyRequest, messages.ProcedureResponse, (request) =>
      alter(request, ({ name, families }) => {
        const family = familyFromSchema(request.columnFamilies);
        if (families.some((each) => each.name === family.name))
          throw badFamily(
            `Column family '${family.name}' in table '${name}' already exists so cannot be added`,
          );
        return [...families, family];
      }),
    ),
    modifycolumn: method(FamilyRequest, messages.ProcedureResponse, (request) =>
      alter(request, ({ families }) => {
        const family = familyFromSchema(request.columnFamilies);
        checkHas(families, family.name, 'modified');
        return families.map((each) => (each.name === family.name ? family : each));
      }),
    ),
    deletecolumn: method(DeleteColumnRequest, messages.ProcedureResponse, (request) =>
      alter(request, ({ families }) => {
        const family = Buffer.from(request.columnName).toString('utf8');
        checkHas(families, family, 'deleted');
        if (families.length === 1) {
          throw badFamily(
            `Family '${family}' is the only column family in the table, so it cannot be deleted`,
          );
        }
        return families.filter((each) => each.name !== family);
      }),
    ),
    getschemaalterstatus: method(
      GetSchemaAlterStatusRequest,
      GetSchemaAlterStatusResponse,
      ({ tableName }) => ({
        yetToUpdateRegions: 0,
        totalRegions: parts.store.table(tableNameText(tableName))?.regions.length ?? 0,
      }),
    ),
    gettabledescriptors: method(
      messages.GetTableDescriptorsRequest,
      messages.GetTableDescriptorsResponse,
      (request) => ({ tableSchema: listing.descriptors(request).map(schemaOf) }),
    ),
    gettablenames: method(GetTableNamesRequest, GetTableNamesResponse, (request) => listing.names(request)),
    listtablenamesbynamespace: method(NamespaceRequest, TableNames, async ({ namespaceName }) => {
      await admin.getNamespace(namespaceName);
      return listing.names({ namespace: namespaceName, includeSystemTables: true });
    }),
    listtabledescriptorsbynamespace: method(NamespaceRequest, TableSchemas, async ({ namespaceName }) => {
      await admin.getNamespace(namespaceName);
      const all = listing.descriptors({ namespace: namespaceName, includeSystemTables: true });
      return { tableSchema: all.map(schemaOf) };
    }),
    listtablenamesbystate: method(StateRequest, GetTableNamesResponse, ({ isEnabled }) => ({
      tableNames: listing.ofState(isEnabled).map(({ name }) => tableNameMessage(name)),
    })),
    listtabledescriptorsbystate: method(StateRequest, TableSchemas, ({ isEnabled }) => ({
      tableSchema: listing.ofState(isEnabled).map(schemaOf),
    })),
    gettablestate: method(messages.GetTableStateRequest, messages.GetTableStateResponse, ({ tableName }) => {
      const name = tableNameText(tableName);
      const state = parts.store.table(name);
      if (state === undefined && !isCatalog(name)) throw new ServerException(JavaClass.TableNotFound, name);
      return { tableState: { state: isCatalog(name) || state!.enabled ? 0 : 1 } };
    }),
    flushtable: method(FlushTableRequest, messages.ProcedureResponse, (request) =>
      change(request, () =>
        flushTable(parts, tableNameText(request.tableName), (request.columnFamily ?? []).map(text)),
      ),
    ),
    execprocedure: method(ProcedureRequest, ExecProcedureResponse, async ({ procedure }) => {
      if (procedure?.signature !== FLUSH_PROCEDURE)
        throw refused(`The procedure ${procedure?.signature ?? ''} is not supported by rowan serve.`);
      checkWritable(parts);
      const family = procedure.configuration?.find(({ name }) => name === 'family')?.value;
      await flushTable(parts, procedure.instance ?? '', family === undefined ? [] : [family]);
      return { expectedTimeout: 60_000 };
    }),
    isproceduredone: method(ProcedureRequest, Flag, () => ({ value: true })),
    splitregion: method(messages.SplitTableRegionRequest, messages.ProcedureResponse, (request) =>
      change(request, () => splitRegion(parts, request)),
    ),
    mergetableregions: method(messages.MergeTableRegionsRequest, messages.ProcedureResponse, (request) =>
      change(request, () => mergeRegions(parts, request.regions ?? [])),
    ),
  };
}

/** `ListTableNamesByNamespaceResponse` has them in the same field as `GetTableNamesResponse`. */
const TableNames = GetTableNamesResponse;

/** Values that HBase's servers add to every table and family. */
const OF_TABLES = { 'hbase.store.file-tracker.impl': 'DEFAULT' };
const OF_FAMILIES = { INDEX_BLOCK_ENCODING: 'NONE' };
/** Options that they omit from a family unless set. */
const UNSET: ReadonlySet<string> = new Set([
  'NEW_VERSION_BEHAVIOR',
  'CACHE_DATA_ON_WRITE',
  'PREFETCH_BLOCKS_ON_OPEN',
]);

/** A table's message in the form of HBase's servers. */
function schemaOf(table: TableDescriptor): messages.TableSchema {
  const schema = tableToSchema({
    ...table,
    metadata: { ...OF_TABLES, ...table.metadata },
    families: table.families.map((family) => ({
      ...family,
      metadata: { ...OF_FAMILIES, ...family.metadata },
    })),
  });
  const isSaid = ({ first, second }: { readonly first: Uint8Array; readonly second: Uint8Array }): boolean =>
    !UNSET.has(text(first)) || text(second) !== 'false';
  const columnFamilies = schema.columnFamilies?.map((family) => ({
    ...family,
    attributes: family.attributes?.filter(isSaid),
  }));
  return { ...schema, columnFamilies };
}

function plain(bytes: Uint8Array): Uint8Array {
  return Uint8Array.from(bytes);
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('utf8');
}

function badFamily(message: string): ServerException {
  return new ServerException(JavaClass.InvalidFamilyOperation, message);
}

function checkHas(families: readonly FamilyDescriptor[], family: string, done: string): void {
  if (families.some(({ name }) => name === family)) return;
  throw badFamily(`Family '${family}' does not exist, so it cannot be ${done}`);
}

async function flushTable(
  { engine }: ServerParts,
  table: string,
  families: readonly string[],
): Promise<void> {
  // Derived tables have no files.
  if (isCatalog(table)) return;
  const { families: known } = await engine.admin.getDescriptor(table);
  const unknown = families.filter((family) => !known.some(({ name }) => name === family));
  if (unknown.length > 0) {
    throw new ServerException(
      JavaClass.NoSuchColumnFamily,
      `Column families [${unknown.join(', ')}] don't exist in table ${table}`,
    );
  }
  if (families.length === 0) await engine.admin.flush(table);
  for (const family of families) await engine.admin.flush(table, family);
}

async function splitRegion(
  { regions, store }: ServerParts,
  {
    regionInfo,
    splitRow,
  }: { readonly regionInfo: Parameters<typeof regionNameIn>[0]; readonly splitRow?: Uint8Array | undefined },
): Promise<void> {
  const name = regionNameIn(regionInfo);
  const { state, region } = regions.open({ type: FULL_NAME, value: name });
  const key = splitRow === undefined || splitRow.length === 0 ? undefined : plain(splitRow);
  if (await store.split(state, region, key)) return;
  throw refused(`Region ${Buffer.from(name).toString('latin1')} cannot be split: it has at most one row.`);
}

async function mergeRegions(
  { regions, store }: ServerParts,
  specifiers: readonly TypeOf<typeof RegionSpecifier>[],
): Promise<void> {
  const served = specifiers.map((specifier) => {
    const found = regions.find(specifier);
    if (found !== undefined) return found;
    throw new ServerException(JavaClass.UnknownRegion, toStringBinary(specifier.value));
  });
  const state = served[0]?.state;
  if (state === undefined || served.some((each) => each.state !== state))
    throw refused('Regions to merge must belong to one table.');
  await store.mergeRegions(
    state,
    served.map(({ region }) => region),
  );
}

function regionNameIn(info: {
  readonly tableName: TableNameMessage;
  readonly startKey?: Uint8Array | undefined;
  readonly regionId: number;
}): Uint8Array {
  const table = tableNameText(info.tableName);
  if (table === META_TABLE) throw notServing(Buffer.from(META_TABLE));
  return regionNameOf(table, info.startKey ?? new Uint8Array(0), info.regionId);
}

/** Lists tables by name. */
class TableListing {
  constructor(private readonly parts: ServerParts) {}

  descriptors({ tableNames, regex, namespace, includeSystemTables = false }: Listing): TableDescriptor[] {
    const names = tableNames?.map(tableNameText);
    if (names !== undefined && names.length > 0) return this.all().filter(({ name }) => names.includes(name));
    const pattern = regex === undefined ? undefined : patternOf(regex);
    return this.all().filter(({ name }) => {
      const parsed = parseTableName(name);
      if (parsed.namespace === SYSTEM_NAMESPACE && !includeSystemTables) return false;
      if (namespace !== undefined && namespace !== '' && parsed.namespace !== namespace) return false;
      // Tested on names without their namespace if one was requested, else on full names.
      return pattern === undefined || pattern.test(namespace ? parsed.qualifier : name);
    });
  }

  names(asked: Listing): { tableNames: TableNameMessage[] } {
    return { tableNames: this.descriptors(asked).map(({ name }) => tableNameMessage(name)) };
  }

  ofState(isEnabled: boolean): TableDescriptor[] {
    return this.descriptors({}).filter(({ name }) => this.parts.store.table(name)?.enabled === isEnabled);
  }

  private all(): TableDescriptor[] {
    const { store } = this.parts;
    return [...CATALOG_TABLES, ...store.tableNames().flatMap((name) => store.table(name)?.descriptor ?? [])];
  }
}

/** A pattern over whole names. @throws ServerException for a pattern that JavaScript does not support. */
function patternOf(regex: string): RegExp {
  try {
    return new RegExp(`^(?:${regex})$`, 'u');
  } catch {
    throw refused(`The pattern ${JSON.stringify(regex.slice(0, 100))} is not valid.`);
  }
}

/**
 * The states of indexes, in the metadata of their table: `rowan.index.<id in hex>` -> JSON. An index unknown to a
 * program that wrote rows is disabled, because it may lack those rows.
 */

import { toHex } from '../../bytes/index.js';
import type { StoredIndex, StoredIndexes } from '../../ddl/plan/types.js';
import { liveStamp } from '../../ddl/table-stamp.js';
import { RowanError, SchemaError } from '../../errors.js';
import type { IndexState } from '../../query/access.js';
import type { EntitySchema, IndexSchema, TableSchema } from '../../schema/types.js';
import {
  type Admin,
  canonicalTableName,
  type Engine,
  Get,
  Put,
  Scan,
  type TableDescriptor,
} from '../../table/index.js';
import { INDEX_FAMILY, indexTableName } from './entry.js';

const PREFIX = 'rowan.index.';

/**
 * A state that is stored only: the index's table was created by DDL statements, so rows may have existed before. It
 * counts as `active` once it is confirmed, or the data table is empty.
 */
const CREATED = 'created';

/**
 * The row of an index table that records which of its indexes began without rows: one cell per id. No entry has so
 * short a row, and no scan of entries reads it. FROZEN.
 */
const CONFIRMED_ROW = Uint8Array.of(0);

/** The state of an index, with the number of its build and whether its entries are listed. */
export interface IndexStanding extends Pick<StoredIndex, 'build' | 'listed'> {
  readonly state: IndexState;
}

function indexStampName(id: Uint8Array): string {
  return `${PREFIX}${toHex(id)}`;
}

/** The indexes in a table's metadata, by id in hex. Unreadable ones are left out: queries do not use them. */
function storedIndexes(metadata: Readonly<Record<string, string>>): Map<string, StoredIndex> {
  const found = new Map<string, StoredIndex>();
  for (const [name, text] of Object.entries(metadata)) {
    if (!name.startsWith(PREFIX)) continue;
    const stored = parse(text);
    if (stored !== undefined) found.set(name.slice(PREFIX.length), stored);
  }
  return found;
}

const STATES: readonly unknown[] = [
  'building',
  'active',
  'disabled',
  CREATED,
] satisfies StoredIndex['state'][];

function parse(text: string): StoredIndex | undefined {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof read !== 'object' || read === null) return undefined;
  const { entity, index, signature, state, build = 0, listed = false } = read as Partial<StoredIndex>;
  const texts = [entity, index, signature].every((one) => typeof one === 'string');
  if (!texts || !STATES.includes(state) || !Number.isSafeInteger(build)) return undefined;
  return { ...(read as StoredIndex), build, listed: listed === true };
}

function indexStamp(
  { name: entity }: EntitySchema,
  { name: index, signature }: IndexSchema,
  standing: Pick<StoredIndex, 'state' | 'build' | 'listed'>,
): string {
  return stampOf({ entity, index, signature, ...standing });
}

function stampOf({ build, listed, ...stored }: StoredIndex): string {
  return JSON.stringify({ ...stored, ...(build !== 0 && { build }), ...(listed === true && { listed }) });
}

/** The states of some tables' indexes, by id in hex. */
export type IndexStates = Map<string, Pick<IndexStanding, 'state' | 'listed'>>;

/** Whether entries of an index are listed beside their rows: of eventual ones, where one step is one row and nobody writes in steps. */
export function isListable(engine: Engine, { eventual }: IndexSchema): boolean {
  // Among engines whose atomic step is one row, only a connection to a served store has transactions.
  return eventual && !engine.capabilities.atomicBatch && engine.transaction === undefined;
}

/**
 * Updates the metadata to match the declarations: new indexes are `active` where no rows exist, else `building`.
 * Indexes that this program does not declare become `disabled`, since its writes do not maintain them.
 */
export async function ensureIndexes(
  engine: Engine,
  tables: readonly TableSchema[],
  before: ReadonlyMap<string, TableDescriptor>,
): Promise<IndexStates> {
  const states: IndexStates = new Map();
  for (const { table, live, stored } of await indexedTables(engine.admin, tables)) {
    const changes: Record<string, string> = {};
    for (const [entity, index] of indexesOf(table)) {
      const id = toHex(index.id);
      const { state: known, listed: wasListed = true } = stored.get(id) ?? {};
      const listed = wasListed && isListable(engine, index);
      const state =
        known === CREATED
          ? (await isComplete(engine, entity, index, before))
            ? 'active'
            : 'building'
          : (known ?? ((await hasRows(engine, entity, before)) ? 'building' : 'active'));
      states.set(id, { state, listed });
      if (known === undefined || known === CREATED)
        changes[indexStampName(index.id)] = indexStamp(entity, index, { state, build: 0, listed });
    }
    for (const [id, known] of inUse(table, stored)) {
      changes[`${PREFIX}${id}`] = stampOf({ ...known, state: 'disabled' });
    }
    if (Object.keys(changes).length > 0) {
      await engine.admin.modifyTable({ ...live, metadata: { ...live.metadata, ...changes } });
    }
  }
  return states;
}

/**
 * Reads the states without changing the metadata. An index that the DDL created is confirmed where no rows exist.
 * @throws SchemaError when an active index is not declared: rows written by this program would be missing in it.
 */
export async function checkIndexes(
  engine: Engine,
  tables: readonly TableSchema[],
  before: ReadonlyMap<string, TableDescriptor>,
): Promise<IndexStates> {
  const states: IndexStates = new Map();
  for (const { table, stored } of await indexedTables(engine.admin, tables)) {
    for (const [entity, index] of indexesOf(table)) {
      const id = toHex(index.id);
      const { state: known, listed = false } = stored.get(id) ?? {};
      if (known === undefined) continue;
      if (known !== CREATED) states.set(id, { state: known, listed });
      else if (await isComplete(engine, entity, index, before)) states.set(id, { state: 'active', listed });
    }
    const [lacking] = inUse(table, stored).map(([, known]) => known);
    if (lacking === undefined) continue;
    throw new SchemaError(
      `Table "${table.descriptor.name}": the index "${lacking.index}" of ${lacking.entity} is not declared as it was built, and would miss what ` +
        "this program writes. Declare it, or open with tables: 'create', which disables it.",
      undefined,
      { details: { table: table.descriptor.name, entity: lacking.entity, index: lacking.index } },
    );
  }
  return states;
}

/** Indexes of these entities that are stored and not declared, by id in hex. */
export function undeclaredIndexes(
  entities: readonly EntitySchema[],
  stored: StoredIndexes,
): [id: string, StoredIndex][] {
  const names = new Set(entities.map(({ name }) => name));
  const declared = new Set(entities.flatMap(({ indexes }) => indexes.map(({ id }) => toHex(id))));
  return [...stored].filter(([id, { entity }]) => names.has(entity) && !declared.has(id));
}

/** Those of them that are in use. */
function inUse({ entities }: TableSchema, stored: StoredIndexes): [id: string, StoredIndex][] {
  return undeclaredIndexes(entities, stored).filter(([, { state }]) => state !== 'disabled');
}

/** The stored indexes of tables, by table name. */
export async function readIndexes(
  admin: Admin,
  tables: readonly string[],
): Promise<Map<string, StoredIndexes>> {
  const live = await liveIndexes(admin, tables);
  return new Map(tables.map((table) => [table, storedIndexes(live.get(table)?.metadata ?? {})]));
}

/** The tables that have an index table, with it and the indexes that it stores. */
async function indexedTables(
  admin: Admin,
  tables: readonly TableSchema[],
): Promise<
  { readonly table: TableSchema; readonly live: TableDescriptor; readonly stored: StoredIndexes }[]
> {
  const found = await liveIndexes(
    admin,
    tables.map(({ descriptor }) => descriptor.name),
  );
  return tables.flatMap((table) => {
    const live = found.get(table.descriptor.name);
    return live === undefined ? [] : [{ table, live, stored: storedIndexes(live.metadata) }];
  });
}

function indexesOf(table: TableSchema): [EntitySchema, IndexSchema][] {
  return table.entities.flatMap((entity) =>
    entity.indexes.map((index): [EntitySchema, IndexSchema] => [entity, index]),
  );
}

/** The index tables that exist, by the names of the tables that they are beside. */
async function liveIndexes(
  admin: Admin,
  tables: readonly string[],
): Promise<ReadonlyMap<string, TableDescriptor>> {
  const nameOf = (table: string): string => canonicalTableName(indexTableName(table));
  const found = await admin.getDescriptors(tables.map(nameOf));
  const byName = new Map(found.map((descriptor) => [descriptor.name, descriptor]));
  return new Map(
    tables.flatMap((table) => {
      const known = byName.get(nameOf(table));
      return known === undefined ? [] : [[table, known] as const];
    }),
  );
}

/**
 * Whether an index that the DDL created has the entries of all rows: true where no rows exist yet. That is then
 * recorded in the index table itself, so that the record is lost with the table if the table is created anew.
 * Programs that write rows must declare the index while it is in use. Rows are checked first and the record second:
 * if another program has written rows in between, it has written the record before.
 */
async function isComplete(
  engine: Engine,
  entity: EntitySchema,
  { id }: IndexSchema,
  before: ReadonlyMap<string, TableDescriptor>,
): Promise<boolean> {
  const isEmpty = !(await hasRows(engine, entity, before));
  const table = engine.table(indexTableName(entity.table.descriptor.name));
  if (await table.exists(new Get(CONFIRMED_ROW).addColumn(INDEX_FAMILY, id))) return true;
  if (!isEmpty) return false;
  try {
    await table.put(new Put(CONFIRMED_ROW).addColumn(INDEX_FAMILY, id, Uint8Array.of(1)));
  } catch (error) {
    // A program that may only read must wait for one that may write.
    if (error instanceof RowanError && error.code === 'ERR_SECURITY') return false;
    throw error;
  }
  return true;
}

/** The index metadata with which the DDL creates a table. */
export function createdIndexes(table: TableSchema): Record<string, string> {
  return Object.fromEntries(
    indexesOf(table).map(([entity, index]) => [
      indexStampName(index.id),
      indexStamp(entity, index, { state: CREATED, build: 0, listed: index.eventual }),
    ]),
  );
}

/** Whether rows of the entity may exist. */
export async function hasRows(
  engine: Engine,
  entity: EntitySchema,
  before: ReadonlyMap<string, TableDescriptor>,
): Promise<boolean> {
  const { name } = entity.table.descriptor;
  const live = before.get(name);
  if (live === undefined) return false;
  if (liveStamp(entity, live) === undefined && entity.key.recordType !== undefined) return false;
  const scanner = engine.table(name).scan(new Scan().setLimit(1));
  try {
    return (await scanner.next()) !== undefined;
  } finally {
    await scanner.close();
  }
}

/** The stored state of an index. Undefined when it has none. */
export async function indexStanding(
  admin: Admin,
  entity: EntitySchema,
  { id }: IndexSchema,
): Promise<IndexStanding | undefined> {
  const { metadata } = await admin.getDescriptor(indexTableName(entity.table.descriptor.name));
  const known = storedIndexes(metadata).get(toHex(id));
  return known && { ...known, state: known.state === CREATED ? 'building' : known.state };
}

/** Stores the state of an index. */
export async function setIndexStanding(
  admin: Admin,
  entity: EntitySchema,
  index: IndexSchema,
  standing: IndexStanding,
): Promise<void> {
  const live = await admin.getDescriptor(indexTableName(entity.table.descriptor.name));
  const metadata = { ...live.metadata, [indexStampName(index.id)]: indexStamp(entity, index, standing) };
  await admin.modifyTable({ ...live, metadata });
}

/** Marks an index that is no longer declared as disabled (`keep`), or removes it from the metadata. */
export async function retireIndex(admin: Admin, table: string, id: string, keep: boolean): Promise<void> {
  const live = await admin.getDescriptor(table);
  const name = `${PREFIX}${id}`;
  const stored = storedIndexes(live.metadata).get(id);
  const others = Object.entries(live.metadata).filter(([other]) => other !== name);
  const metadata: Record<string, string> = Object.fromEntries(others);
  if (keep && stored !== undefined) metadata[name] = stampOf({ ...stored, state: 'disabled' });
  await admin.modifyTable({ ...live, metadata });
}

/**
 * What the metadata of an index table keeps of each index: `rowan.index.<id in hex>` -> JSON. An index that a program did
 * not know while it wrote is disabled, since it may lack what that program wrote.
 */

import { toHex } from '../../bytes/index.js';
import { liveStamp } from '../../ddl/table-stamp.js';
import { RowanError, SchemaError } from '../../errors.js';
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
import type { IndexState } from './query/access.js';

const PREFIX = 'rowan.index.';

/**
 * A state that only the metadata has, of an index whose table was made by the statements of the DDL: nobody knows yet whether
 * there were rows before. It is `active` for who finds it confirmed, or the data table empty.
 */
const CREATED = 'created';

/**
 * Where an index table says of which of its indexes there were no rows before: one cell for each id. No entry has so short a row, and
 * none is scanned by one. FROZEN.
 */
const CONFIRMED_ROW = Uint8Array.of(0);

/** An index as the metadata has it. */
export interface StoredIndex {
  readonly entity: string;
  readonly index: string;
  /** What the entries were made by; see `IndexSchema.signature`. */
  readonly signature: string;
  readonly state: IndexState | typeof CREATED;
  /** How often it was begun to be built after it had been disabled; what an earlier build did counts for nothing then. */
  readonly build: number;
}

/** Where an index stands. */
export interface IndexStanding extends Pick<StoredIndex, 'build'> {
  readonly state: IndexState;
}

export function indexStampName(id: Uint8Array): string {
  return `${PREFIX}${toHex(id)}`;
}

/** The indexes in a table's metadata, by id in hex. What cannot be read is left out: nothing is answered from it. */
export function storedIndexes(metadata: Readonly<Record<string, string>>): Map<string, StoredIndex> {
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
  const { entity, index, signature, state, build = 0 } = read as Partial<StoredIndex>;
  const texts = [entity, index, signature].every((one) => typeof one === 'string');
  if (!texts || !STATES.includes(state) || !Number.isSafeInteger(build)) return undefined;
  return { ...(read as StoredIndex), build };
}

function indexStamp(
  { name: entity }: EntitySchema,
  { name: index, signature }: IndexSchema,
  standing: Pick<StoredIndex, 'state' | 'build'>,
): string {
  return stampOf({ entity, index, signature, ...standing });
}

function stampOf({ build, ...stored }: StoredIndex): string {
  return JSON.stringify(build === 0 ? stored : { ...stored, build });
}

/** The states of the indexes of some tables, as they are to be from now on, by id in hex. */
export type IndexStates = Map<string, IndexState>;

/**
 * Brings the metadata in line with what is declared: new indexes are `active` where there are no rows yet, else
 * `building`; those that this program does not declare are `disabled`, for its writes will not keep them.
 */
export async function ensureIndexes(
  engine: Engine,
  tables: readonly TableSchema[],
  before: ReadonlyMap<string, TableDescriptor>,
): Promise<IndexStates> {
  const states: IndexStates = new Map();
  const liveTables = await liveIndexes(engine.admin, tables);
  for (const table of tables) {
    const live = liveTables.get(table);
    if (live === undefined) continue;
    const stored = storedIndexes(live.metadata);
    const changes: Record<string, string> = {};
    for (const [entity, index] of indexesOf(table)) {
      const id = toHex(index.id);
      const known = stored.get(id)?.state;
      const state =
        known === CREATED
          ? (await isComplete(engine, entity, index, before))
            ? 'active'
            : 'building'
          : (known ?? ((await hasRows(engine, entity, before)) ? 'building' : 'active'));
      states.set(id, state);
      if (known === undefined || known === CREATED)
        changes[indexStampName(index.id)] = indexStamp(entity, index, { state, build: 0 });
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
 * The states as they are; the metadata is left as it is. An index whose table the DDL has made is confirmed where there are no rows.
 * @throws SchemaError when an active index is not declared: what this program wrote would be missing in it.
 */
export async function checkIndexes(
  engine: Engine,
  tables: readonly TableSchema[],
  before: ReadonlyMap<string, TableDescriptor>,
): Promise<IndexStates> {
  const states: IndexStates = new Map();
  const liveTables = await liveIndexes(engine.admin, tables);
  for (const table of tables) {
    const live = liveTables.get(table);
    if (live === undefined) continue;
    const stored = storedIndexes(live.metadata);
    for (const [entity, index] of indexesOf(table)) {
      const known = stored.get(toHex(index.id))?.state;
      if (known === undefined) continue;
      if (known !== CREATED) states.set(toHex(index.id), known);
      else if (await isComplete(engine, entity, index, before)) states.set(toHex(index.id), 'active');
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
  stored: ReadonlyMap<string, StoredIndex>,
): [id: string, StoredIndex][] {
  const names = new Set(entities.map(({ name }) => name));
  const declared = new Set(entities.flatMap(({ indexes }) => indexes.map(({ id }) => toHex(id))));
  return [...stored].filter(([id, { entity }]) => names.has(entity) && !declared.has(id));
}

/** Of those the ones in use. */
function inUse(
  { entities }: TableSchema,
  stored: ReadonlyMap<string, StoredIndex>,
): [id: string, StoredIndex][] {
  return undeclaredIndexes(entities, stored).filter(([, { state }]) => state !== 'disabled');
}

/** What is stored of the indexes of tables, by the tables' names; nothing of those that have none. */
export async function readIndexes(
  admin: Admin,
  tables: readonly TableSchema[],
): Promise<Map<string, ReadonlyMap<string, StoredIndex>>> {
  const found = new Map<string, ReadonlyMap<string, StoredIndex>>();
  const liveTables = await liveIndexes(admin, tables);
  for (const table of tables)
    found.set(table.descriptor.name, storedIndexes(liveTables.get(table)?.metadata ?? {}));
  return found;
}

function indexesOf(table: TableSchema): [EntitySchema, IndexSchema][] {
  return table.entities.flatMap((entity) =>
    entity.indexes.map((index): [EntitySchema, IndexSchema] => [entity, index]),
  );
}

/** The index tables that there are. */
async function liveIndexes(
  admin: Admin,
  tables: readonly TableSchema[],
): Promise<ReadonlyMap<TableSchema, TableDescriptor>> {
  const nameOf = ({ descriptor }: TableSchema): string => canonicalTableName(indexTableName(descriptor.name));
  const found = await admin.getDescriptors(tables.map(nameOf));
  const byName = new Map(found.map((descriptor) => [descriptor.name, descriptor]));
  const live = new Map<TableSchema, TableDescriptor>();
  for (const table of tables) {
    const known = byName.get(nameOf(table));
    if (known !== undefined) live.set(table, known);
  }
  return live;
}

/**
 * Whether an index whose table the DDL has made has the entries of all rows. It has where there are none yet, and says so in the index
 * table itself, so that an index table that is made again for rows that there are is none of which that was said. Programs that
 * write rows declare the index: others are refused while it is in use. The rows are looked at first, and the word of another program
 * then: where there are rows that were written since it opened, it has said so before.
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
    // Who may only read has to wait for one who may write.
    if (error instanceof RowanError && error.code === 'ERR_SECURITY') return false;
    throw error;
  }
  return true;
}

/** The metadata of the index table of a new table, as the DDL makes it. */
export function createdIndexes(table: TableSchema): Record<string, string> {
  return Object.fromEntries(
    indexesOf(table).map(([entity, index]) => [
      indexStampName(index.id),
      indexStamp(entity, index, { state: CREATED, build: 0 }),
    ]),
  );
}

/** Whether there may be rows of the entity. */
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

/** Where an index stands in the metadata; undefined when it has not been adopted. */
export async function indexStanding(
  admin: Admin,
  entity: EntitySchema,
  { id }: IndexSchema,
): Promise<IndexStanding | undefined> {
  const { metadata } = await admin.getDescriptor(indexTableName(entity.table.descriptor.name));
  const known = storedIndexes(metadata).get(toHex(id));
  return known && { state: known.state === CREATED ? 'building' : known.state, build: known.build };
}

/** Writes where an index stands. */
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

/** What the metadata of an index table says of an index that is declared no more: that it is disabled, or nothing. */
export async function retireIndex(admin: Admin, table: string, id: string, keep: boolean): Promise<void> {
  const live = await admin.getDescriptor(table);
  const name = `${PREFIX}${id}`;
  const stored = storedIndexes(live.metadata).get(id);
  const others = Object.entries(live.metadata).filter(([other]) => other !== name);
  const metadata: Record<string, string> = Object.fromEntries(others);
  if (keep && stored !== undefined) metadata[name] = stampOf({ ...stored, state: 'disabled' });
  await admin.modifyTable({ ...live, metadata });
}

/**
 * What the metadata of an index table keeps of each index: `rowan.index.<id in hex>` -> JSON. An index that a program did
 * not know while it wrote is disabled, since it may lack what that program wrote.
 */

import { toHex } from '../bytes/index.js';
import { SchemaError } from '../errors.js';
import { indexTableName } from '../indexes/index.js';
import type { IndexState } from '../query/index.js';
import type { EntitySchema, IndexSchema, TableSchema } from '../schema/types.js';
import { type Admin, canonicalTableName, type Engine, Scan, type TableDescriptor } from '../table/index.js';
import { liveStamp } from './table-stamp.js';

const PREFIX = 'rowan.index.';

/** An index as the metadata has it. */
export interface StoredIndex {
  readonly entity: string;
  readonly index: string;
  /** What the entries were made by; see `IndexSchema.signature`. */
  readonly signature: string;
  readonly state: IndexState;
  /** How often it was begun to be built after it had been disabled; what an earlier build did counts for nothing then. */
  readonly build: number;
}

/** Where an index stands. */
export type IndexStanding = Pick<StoredIndex, 'state' | 'build'>;

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

const STATES: readonly unknown[] = ['building', 'active', 'disabled'] satisfies IndexState[];

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
  standing: IndexStanding,
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
      const known = stored.get(id);
      const state = known?.state ?? ((await hasRows(engine, entity, before)) ? 'building' : 'active');
      states.set(id, state);
      if (known === undefined)
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
 * The states as they are; nothing is changed.
 * @throws SchemaError when an active index is not declared: what this program wrote would be missing in it.
 */
export async function checkIndexes(admin: Admin, tables: readonly TableSchema[]): Promise<IndexStates> {
  const states: IndexStates = new Map();
  const liveTables = await liveIndexes(admin, tables);
  for (const table of tables) {
    const live = liveTables.get(table);
    if (live === undefined) continue;
    const stored = storedIndexes(live.metadata);
    for (const [, index] of indexesOf(table)) {
      const known = stored.get(toHex(index.id));
      if (known !== undefined) states.set(toHex(index.id), known.state);
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
  return storedIndexes(metadata).get(toHex(id));
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

import { fromHex, toHex } from '../../bytes/index.js';
import { AvroRegistry, type AvroSchema, MemorySchemaStore } from '../../codec/index.js';
import { InvalidArgumentError } from '../../errors.js';
import { avroColumns, type Schema } from '../../schema/index.js';
import type { TableSchema } from '../../schema/types.js';
import {
  type Admin,
  type FamilyOptions,
  parseTableName,
  type TableDescriptor,
  type TableOptions,
  tableDescriptor,
} from '../../table/index.js';
import { type LiveTables, readLiveTables } from '../ensure-tables.js';
import { INDEX_DDL } from '../feature-ddl.js';
import { placeOf, type RecordStamp, readStamp, shownPlace, stampTexts, writeStamp } from '../stamp-format.js';
import { adoptMarkers, stampedDescriptor } from '../table-stamp.js';
import { canonicalJson, planSchema, subjectStates } from './plan.js';
import {
  differencesOf,
  entityNames,
  type SnapshotDifference,
  type SnapshotEntity,
  snapshotEntities,
  snapshotIndexes,
} from './snapshot-entities.js';
import type { PlanOptions, SchemaPlan, SchemaState, TableState } from './types.js';

// — The format of schema snapshots: a file in the repository, in a fixed order with one option a line, so that reviews
// show what changed.

/** Format 1 had of entities only what the tables' metadata keeps. */
const FORMAT = 2;

interface SnapshotTable {
  readonly name: string;
  readonly options: TableOptions;
  readonly families: Readonly<Record<string, FamilyOptions>>;
  /** In hex. */
  readonly splitKeys: readonly string[];
  /** The stamps of the metadata, read as JSON, by their names. */
  readonly records: Readonly<Record<string, unknown>>;
  /** By name; undefined in format 1. */
  readonly entities?: Readonly<Record<string, SnapshotEntity>> | undefined;
}

interface Snapshot {
  readonly format: number;
  readonly tables: readonly SnapshotTable[];
  /** By subject: every schema that was declared when a snapshot was written, oldest first. */
  readonly schemas: Readonly<Record<string, readonly AvroSchema[]>>;
}

/** A parsed snapshot. */
interface ReadSnapshot {
  readonly state: SchemaState;
  readonly schemas: Snapshot['schemas'];
  /** By name. */
  readonly tables: ReadonlyMap<string, SnapshotTable>;
  readonly format: number;
}

/**
 * Returns the text of a snapshot. It keeps the Avro schemas of the previous snapshot, since values written with them
 * must remain readable.
 */
export function writeSnapshot(declared: readonly TableSchema[], before: Snapshot['schemas'] = {}): string {
  const snapshot: Snapshot = {
    format: FORMAT,
    tables: declaredTables(declared),
    schemas: schemasOf(declared, before),
  };
  return `${JSON.stringify(JSON.parse(canonicalJson(snapshot)), null, 2)}\n`;
}

function declaredTables(declared: readonly TableSchema[]): SnapshotTable[] {
  const nameOf = entityNames(declared);
  return declared.map((table) => ({
    ...snapshotTable(stampedDescriptor(table), table.splitKeys),
    entities: snapshotEntities(table, nameOf),
  }));
}

function snapshotTable(
  { name, families, metadata, ...options }: TableDescriptor,
  splitKeys: readonly Uint8Array[],
): SnapshotTable {
  const stamps = stampTexts(metadata);
  const stamped = new Set(stamps.map(([stamp]) => stamp));
  const own = Object.fromEntries(Object.entries(metadata).filter(([key]) => !stamped.has(key)));
  return {
    name,
    options: { ...options, metadata: own } as TableOptions,
    families: Object.fromEntries(families.map(({ name: family, ...rest }) => [family, rest])),
    splitKeys: splitKeys.map(toHex),
    records: Object.fromEntries(stamps.map(([stamp, text]) => [stamp, JSON.parse(text) as unknown])),
  };
}

function schemasOf(declared: readonly TableSchema[], before: Snapshot['schemas']): Snapshot['schemas'] {
  const schemas: Record<string, readonly AvroSchema[]> = { ...before };
  for (const { subject, codec } of declared.flatMap(({ entities }) => entities.flatMap(avroColumns))) {
    const known = schemas[subject] ?? [];
    const text = canonicalJson(codec.schema);
    if (!known.some((schema) => canonicalJson(schema) === text)) schemas[subject] = [...known, codec.schema];
  }
  return schemas;
}

/**
 * Parses a snapshot.
 * @throws InvalidArgumentError when the text is not a valid snapshot.
 */
export function readSnapshot(text: string): ReadSnapshot {
  try {
    const { tables, schemas, format } = parse(text);
    const states = new Map(tables.map((table) => [table.name, stateOf(table)]));
    const namespaces = new Set([...states.keys()].map((name) => parseTableName(name).namespace));
    const known = tables.flatMap(({ name, entities }) =>
      entities === undefined ? [] : [[name, snapshotIndexes(entities)] as const],
    );
    return {
      state: { namespaces, tables: states, recorded: true, ...(format > 1 && { indexes: new Map(known) }) },
      schemas,
      tables: new Map(tables.map((table) => [table.name, table])),
      format,
    };
  } catch (cause) {
    throw new InvalidArgumentError(
      `The file is not a schema snapshot: ${(cause as Error).message}. Write a new one with --snapshot.`,
      { cause },
    );
  }
}

function stateOf({ name, options, families, splitKeys, records }: SnapshotTable): TableState {
  const stamps = Object.entries(records).map(([stamp, value]) => [stamp, stampText(value)]);
  const metadata = { ...options.metadata, ...Object.fromEntries(stamps) };
  const descriptor = tableDescriptor(name, families, { ...options, metadata });
  return { descriptor, splitKeys: splitKeys.map(fromHex), enabled: true };
}

/** A stamp as written to a table, independent of the order in the file. */
function stampText(value: unknown): string {
  const text = JSON.stringify(value);
  const stamp = readStamp(text);
  return typeof stamp === 'string' ? text : writeStamp(stamp);
}

function parse(text: string): Snapshot {
  const read = JSON.parse(text) as Snapshot;
  const isKnown = [1, FORMAT].includes(read.format);
  if (isKnown && Array.isArray(read.tables)) return { ...read, schemas: read.schemas ?? {} };
  throw new Error(
    `its format is ${String(read.format)}, but this version of Rowan reads only up to ${FORMAT}`,
  );
}

/** The schemas of a snapshot, as a registry to check a program's schemas against. */
async function snapshotRegistry(schemas: Snapshot['schemas']): Promise<AvroRegistry> {
  const registry = new AvroRegistry(new MemorySchemaStore());
  for (const [subject, versions] of Object.entries(schemas)) {
    for (const schema of versions) await registry.register(subject, schema, 'none');
  }
  return registry;
}

// — Writes declarations as a snapshot, and compares them with one.

/** The steps from the tables of a snapshot to the declarations. */
export interface SnapshotPlan extends SchemaPlan {
  /** Names of tables in the snapshot that are no longer declared. */
  readonly undeclared: readonly string[];
  /** For tables in both: each value that differs, whether it causes a step or not. */
  readonly differences: readonly SnapshotDifference[];
  /** Whether the declarations equal the snapshot: no step, contradiction, difference, or removed table. */
  readonly same: boolean;
  /**
   * Whether the snapshot covers all that is declared. Format 1 covers tables and columns, but not indexes, summaries,
   * relations and required properties.
   */
  readonly complete: boolean;
}

/** The tables that a schema needs beside those of its declarations: `systemTables`. */
export type OwnTables = (schema: Schema) => readonly TableSchema[];

/**
 * Returns the text of the file. Avro schemas of the replaced snapshot are kept.
 * @throws InvalidArgumentError when `before` is not a valid snapshot.
 */
export function snapshotOf(declared: Schema, own: OwnTables, before?: string): string {
  const schemas = before === undefined ? {} : readSnapshot(before).schemas;
  return writeSnapshot([...declared.tables, ...own(declared)], schemas);
}

/**
 * Compares declarations with a snapshot.
 * @throws InvalidArgumentError when the text is not a valid snapshot.
 */
export async function checkSnapshot(
  declared: Schema,
  own: OwnTables,
  text: string,
  options: PlanOptions = {},
): Promise<SnapshotPlan> {
  const { state, schemas, tables: stored, format } = readSnapshot(text);
  const descriptors = new Map([...state.tables].map(([name, { descriptor }]) => [name, descriptor]));
  const schema = adoptMarkers(declared, descriptors);
  const subjects = await subjectStates(await snapshotRegistry(schemas), schema.entities);
  const tables = [...schema.tables, ...own(schema)];
  const plan = planSchema(tables, state, subjects, options);
  const names = new Set(tables.map(({ descriptor }) => descriptor.name));
  const undeclared = [...state.tables.keys()].filter((name) => !names.has(name));
  const differences = declaredTables(tables).flatMap((table) => {
    const before = stored.get(table.name);
    if (before === undefined) return [];
    const { descriptor, splitKeys } = state.tables.get(table.name)!;
    const known = { ...snapshotTable(descriptor, splitKeys), entities: before.entities };
    const now = { ...table, entities: format > 1 ? table.entities : undefined };
    return differencesOf(table.name, comparable(known), comparable(now));
  });
  const found = [plan.steps, plan.contradictions, undeclared, differences];
  const same = found.every(({ length }) => length === 0);
  return { ...plan, undeclared, differences, same, complete: format > 1 };
}

/** Brings together what a snapshot says of each entity, by its name. */
function comparable({ entities, records, ...table }: SnapshotTable): unknown {
  const known: Record<string, unknown> = { ...entities };
  for (const [name, record] of Object.entries(records)) {
    const stamp = readStamp(JSON.stringify(record));
    const entity = (typeof stamp === 'string' ? undefined : stamp.entity) ?? name;
    known[entity] = typeof stamp === 'string' ? record : withStamp(name, stamp, entities?.[entity]);
  }
  return JSON.parse(canonicalJson({ ...table, entities: known }));
}

function withStamp(name: string, stamp: RecordStamp, entity: SnapshotEntity = {}): object {
  const columns = stamp.columns.map((column) => {
    const property = column.property ?? shownPlace(placeOf(column));
    return [property, { ...column, ...entity.columns?.[property] }];
  });
  return { stamp: name, ...stamp, ...entity, columns: Object.fromEntries(columns) };
}

/**
 * Reads the declared tables as they are in an engine: the state that a plan starts from. Missing tables are omitted.
 * @param planned tables without what unfinished work has set.
 */
export async function readSchemaState(
  admin: Admin,
  declared: readonly TableSchema[],
  planned: (live: LiveTables) => Promise<LiveTables> = async (live) => live,
): Promise<SchemaState> {
  const tables = new Map<string, TableState>();
  for (const [name, descriptor] of await planned(await readLiveTables(admin, declared))) {
    tables.set(name, {
      descriptor,
      splitKeys: (await admin.getRegions(name)).slice(1).map(({ startKey }) => startKey),
      enabled: await admin.isTableEnabled(name),
      ...(admin.splitsItself === true && { splitsItself: true }),
    });
  }
  return {
    namespaces: new Set(await admin.listNamespaces()),
    tables,
    indexes: await INDEX_DDL?.stored(
      admin,
      declared.filter(({ entities }) => entities.length > 0).map(({ descriptor }) => descriptor.name),
    ),
  };
}

import { setTimeout as delay } from 'node:timers/promises';
import type { AvroRegistry } from '../codec/index.js';
import { RowanError, SchemaError } from '../errors.js';
import { avroColumns, formerAvro, type Schema } from '../schema/index.js';
import type { TableSchema } from '../schema/types.js';
import {
  type Admin,
  canonicalTableName,
  DEFAULT_NAMESPACE,
  parseTableName,
  type TableDescriptor,
} from '../table/index.js';
import {
  describeDifference,
  stampChanges,
  stampedDescriptor,
  stampProblems,
  type TableDifference,
  tableDifferences,
} from './table-stamp.js';

// — Brings an engine's tables in line with the declarations where that loses no data, and refuses the rest.

/** The result of `ensureTables`. */
export interface EnsuredTables {
  /** Names of tables that were created. */
  readonly created: readonly string[];
  /** Names of tables whose metadata gained entities or columns. */
  readonly stamped: readonly string[];
  /** Options that differ from the declaration; they are not changed automatically. New tables have none. */
  readonly differences: readonly TableDifference[];
}

/** Descriptors of the existing tables, by name. */
export type LiveTables = ReadonlyMap<string, TableDescriptor>;

/** Reads the descriptors of these tables. */
export async function readLiveTables(admin: Admin, tables: readonly TableSchema[]): Promise<LiveTables> {
  const found = await admin.getDescriptors(
    tables.map(({ descriptor }) => canonicalTableName(descriptor.name)),
  );
  const byName = new Map(found.map((descriptor) => [descriptor.name, descriptor]));
  const live = new Map<string, TableDescriptor>();
  for (const { descriptor } of tables) {
    const known = byName.get(canonicalTableName(descriptor.name));
    if (known !== undefined) live.set(descriptor.name, known);
  }
  return live;
}

/**
 * Refuses tables that are disabled: their first read or write would fail.
 * @param offline returns the tables that unfinished work has disabled, and will enable.
 * @throws RowanError `ERR_TABLE_DISABLED`.
 */
export async function refuseDisabled(
  admin: Admin,
  tables: readonly TableSchema[],
  offline: () => Promise<readonly string[]>,
): Promise<void> {
  const names = tables.map(({ descriptor }) => canonicalTableName(descriptor.name));
  const found = (await admin.disabledTables?.(names)) ?? [];
  if (found.length === 0) return;
  const atWork = new Set((await offline()).map(canonicalTableName));
  const disabled = found.filter((name) => !atWork.has(name));
  if (disabled.length === 0) return;
  const which = disabled.map((name) => `"${name}"`).join(', ');
  const said = `${disabled.length === 1 ? `The table ${which} is` : `The tables ${which} are`} disabled, and can neither be read nor written.`;
  throw new RowanError(
    'ERR_TABLE_DISABLED',
    `${said} Enable: \`enable 'NAME'\` in \`rowan shell\`, or admin.enableTable(name) of openAdmin or connectAdmin. To use other tables meanwhile, open with tables: 'ignore'.`,
    { details: { table: disabled[0], tables: disabled } },
  );
}

/** Tables that are created at a time. */
const CREATED_AT_ONCE = 16;

/**
 * Checks the tables that exist, and creates those that are missing, with their splits and namespaces.
 * @throws SchemaError when a table lacks a declared family or was written with other keys or codecs; then none was created.
 */
export async function ensureTables(
  admin: Admin,
  tables: readonly TableSchema[],
  known?: LiveTables,
): Promise<EnsuredTables> {
  const liveTables = known ?? (await readLiveTables(admin, tables));
  for (const table of tables) {
    const live = liveTables.get(table.descriptor.name);
    if (live !== undefined) checkTable(table, live);
  }
  const missing = tables.filter(({ descriptor }) => !liveTables.has(descriptor.name));
  const isCreated = await createdOf(admin, missing);
  const created: string[] = [];
  const stamped: string[] = [];
  const differences: TableDifference[] = [];
  for (const table of tables) {
    const { name } = table.descriptor;
    if (isCreated.has(table)) {
      created.push(name);
      continue;
    }
    let live = liveTables.get(name);
    if (live === undefined) {
      // Another program has created it in the meantime.
      live = await admin.getDescriptor(name);
      checkTable(table, live);
    }
    differences.push(...tableDifferences(table, live));
    const changes = stampChanges(table, live);
    if (Object.keys(changes).length === 0) continue;
    await admin.modifyTable({ ...live, metadata: { ...live.metadata, ...changes } });
    stamped.push(name);
  }
  return { created, stamped, differences };
}

/** Creates tables, and returns those that no other program has created meanwhile. Rejects with the first failure, when none is being created. */
async function createdOf(admin: Admin, tables: readonly TableSchema[]): Promise<ReadonlySet<TableSchema>> {
  for (const namespace of new Set(tables.map(({ descriptor }) => parseTableName(descriptor.name).namespace)))
    await createNamespace(admin, namespace);
  const created = new Set<TableSchema>();
  const left = tables.values();
  let failed = false;
  const createInTurn = async (): Promise<void> => {
    for (const table of left) {
      if (failed) return;
      const isNew = await ensureTable(admin, stampedDescriptor(table), table.splitKeys).catch((error) => {
        failed = true;
        throw error;
      });
      if (isNew) created.add(table);
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: CREATED_AT_ONCE }, createInTurn));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  return created;
}

/**
 * Checks that every table exists and matches; changes nothing.
 * @throws RowanError `ERR_TABLE_NOT_FOUND`; SchemaError as {@link ensureTables}, and if an option that decides which
 * cells are kept (versions, time to live, deleted cells) is declared explicitly and differs in the table.
 */
export function checkTables(tables: readonly TableSchema[], liveTables: LiveTables): EnsuredTables {
  const differences: TableDifference[] = [];
  for (const table of tables) {
    const { name } = table.descriptor;
    const live = liveTables.get(name);
    if (live === undefined) {
      throw new RowanError(
        'ERR_TABLE_NOT_FOUND',
        `The table "${name}" does not exist. Create it: open a database that may write with { tables: 'create' }, or run the statements of \`rowan ddl\`.`,
        { details: { table: name } },
      );
    }
    checkTable(table, live);
    const found = tableDifferences(table, live);
    refuse(
      name,
      found.filter(({ effect, explicit }) => effect === 'meaning' && explicit).map(changesMeaning),
    );
    differences.push(...found);
  }
  return { created: [], stamped: [], differences };
}

function changesMeaning(difference: TableDifference): string {
  return `${describeDifference(difference)}, which decides which cells are kept. Alter the table, or correct the declaration.`;
}

async function createNamespace(admin: Admin, namespace: string): Promise<void> {
  if (namespace === DEFAULT_NAMESPACE) return;
  await trying(
    async () => (await admin.listNamespaces()).includes(namespace),
    () => admin.createNamespace(namespace),
  );
}

function checkTable(table: TableSchema, live: TableDescriptor): void {
  const { name, families } = table.descriptor;
  const stored = live.families.map((family) => family.name);
  const problems = families
    .filter((family) => !stored.includes(family.name))
    .map(
      (family) =>
        `The family "${family.name}" is declared, but the table has only ${stored.join(', ')}. Add it with "rowan schema apply", or with schema.apply() of a database opened with tables: 'ignore'; or correct the declaration.`,
    );
  refuse(name, [...problems, ...stampProblems(table, live)]);
}

function refuse(name: string, problems: readonly string[]): void {
  if (problems.length === 0) return;
  const lines = problems.map((problem) => `Table "${name}": ${problem}`);
  throw new SchemaError(lines.join('\n'), lines, { details: { table: name } });
}

// — Creates and drops tables in the presence of other programs that do the same.

const TRIES = 8;
const FIRST_WAIT_MS = 50;

/**
 * Creates the table, and its namespace, unless it exists. Returns false if it existed or another program created it at the same
 * time.
 */
export async function ensureTable(
  admin: Admin,
  descriptor: TableDescriptor,
  splitKeys: readonly Uint8Array[] = [],
): Promise<boolean> {
  return trying(
    async () => admin.tableExists(descriptor.name),
    async () => {
      await createNamespace(admin, parseTableName(descriptor.name).namespace);
      await admin.createTable(descriptor, splitKeys);
    },
  );
}

/** Drops the table if it exists; another program may drop it at the same time. */
export async function dropTable(admin: Admin, name: string): Promise<void> {
  await trying(
    async () => !(await admin.tableExists(name)),
    async () => {
      if (await admin.isTableEnabled(name)) await admin.disableTable(name);
      await admin.deleteTable(name);
    },
  );
}

/** Errors that show that another program did the same at the same time. */
const MEANWHILE: ReadonlySet<string> = new Set([
  'ERR_TABLE_EXISTS',
  'ERR_TABLE_NOT_FOUND',
  'ERR_TABLE_DISABLED',
  'ERR_TABLE_ENABLED',
  'ERR_NAMESPACE_EXISTS',
  // HBase lists a namespace that is being made before it takes tables of it.
  'ERR_NAMESPACE_NOT_FOUND',
]);

/** Returns whether this call made the change. */
async function trying(isDone: () => Promise<boolean>, act: () => Promise<void>): Promise<boolean> {
  for (let tries = 1; !(await isDone()); tries++) {
    try {
      await act();
      return true;
    } catch (error) {
      const passing = error instanceof RowanError && (error.retryable || MEANWHILE.has(error.code));
      if (!passing || tries >= TRIES) throw error;
      await delay(FIRST_WAIT_MS * 2 ** tries);
    }
  }
  return false;
}

// — Registers a program's Avro schemas in its database, and loads the database's schemas into the program.

/**
 * Checks each Avro column's schema against all schemas that the column was written with, then registers it. If one is
 * incompatible, none is registered.
 * @throws SchemaError as {@link checkSchemas}.
 */
export async function registerSchemas(registry: AvroRegistry, schema: Schema): Promise<void> {
  for (const { subject, heir } of schema.entities.flatMap(formerAvro)) await registry.loadAll(subject, heir);
  await checkSchemas(registry, schema);
  for (const { subject, codec } of schema.entities.flatMap(avroColumns)) {
    await registry.register(subject, codec.schema, codec.compatibility);
  }
}

/**
 * Checks each Avro column's schema against all schemas that the column was written with. Registers none.
 * @throws SchemaError with every incompatibility of every column.
 */
export async function checkSchemas(registry: AvroRegistry, schema: Pick<Schema, 'entities'>): Promise<void> {
  for (const { subject } of schema.entities.flatMap(formerAvro)) await registry.loadAll(subject);
  const columns = schema.entities.flatMap(avroColumns);
  const problems: string[] = [];
  for (const { subject, codec } of columns) {
    const { compatibility } = codec;
    for (const one of await registry.problems(subject, codec.schema, compatibility)) {
      problems.push(
        `${subject} (${compatibility}): ${one.direction} to ${one.fingerprint} at ${one.path}: ${one.message}`,
      );
    }
  }
  if (problems.length > 0) {
    throw new SchemaError(
      [
        'Avro schemas are not compatible with those that their columns were written with:',
        ...problems.map((problem) => `- ${problem}`),
        'Give added fields a default, keep old names as aliases, or declare another compatibility.',
      ].join('\n'),
      problems,
    );
  }
}

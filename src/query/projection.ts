/** Decides which families and columns a query reads. */

import { equalBytes } from '../bytes/index.js';
import { QueryError } from '../errors.js';
import { type ColumnSchema, type EntitySchema, isSingleCell } from '../schema/types.js';
import { describe } from '../table/checks.js';
import type { Query } from '../table/index.js';
import { type Condition, testedProperties } from './condition.js';

/** The columns that a query reads: whole families, and single columns of others. */
export interface ReadSet {
  /** In the order of the table's families. Null: the whole family. */
  readonly families: ReadonlyMap<string, readonly Uint8Array[] | null>;
  /** Every family of the table, if all are read, so that none has to be named. */
  readonly everything: readonly string[] | undefined;
  /** The properties to set. Undefined: all. */
  readonly properties: ReadonlySet<string> | undefined;
  /** Versions to read of each column. */
  readonly versions: number;
}

/**
 * The columns of property names: a column's own name, the head of embedded ones, or a key part (no column). `doing` is
 * what the names were given to. @throws QueryError on an unknown name.
 */
export function selectColumns(
  schema: EntitySchema,
  names: readonly string[],
  doing = 'select',
): ColumnSchema[] {
  const selected = new Set<ColumnSchema>(storedParts(schema));
  if (names.length === 0) selected.clear();
  for (const name of names) {
    if (typeof name !== 'string') {
      throw new QueryError(`${doing}: ${schema.name} has no property ${describe(name)}: names are texts.`, {
        details: { entity: schema.name },
      });
    }
    const column = schema.columnsByProperty.get(name);
    if (column !== undefined) {
      selected.add(column);
      continue;
    }
    const embedded = schema.columns.filter((other) => other.property.startsWith(`${name}.`));
    for (const other of embedded) selected.add(other);
    if (embedded.length === 0 && !schema.key.parts.some((part) => part.name === name)) {
      throw new QueryError(
        `${doing}: ${schema.name} has no property "${name}". It has ${propertyNames(schema).join(', ')}.`,
        { details: { entity: schema.name, property: name } },
      );
    }
  }
  return schema.columns.filter((column) => selected.has(column));
}

/** The columns of key parts that the key cannot give back. A projection has every part, so it reads them. */
export function storedParts(schema: EntitySchema): ColumnSchema[] {
  return schema.key.parts.flatMap(({ name, recoverable }) => {
    const column = recoverable ? undefined : schema.columnsByProperty.get(name);
    return column === undefined ? [] : [column];
  });
}

/** The columns that conditions test. */
export function testedColumns(schema: EntitySchema, conditions: readonly Condition[]): ColumnSchema[] {
  const names = new Set<string>();
  for (const condition of conditions) testedProperties(condition, names);
  return schema.columns.filter((column) => names.has(column.property));
}

/** Columns and key parts, named as in messages. */
export function propertyNames(schema: EntitySchema): string[] {
  return [...schema.key.parts.map((part) => part.name), ...schema.columnsByProperty.keys()];
}

const whole = new WeakMap<EntitySchema, ReadSet>();

/** Everything the entity stores. */
export function readAll(schema: EntitySchema): ReadSet {
  let read = whole.get(schema);
  if (read === undefined) {
    read = readFamilies(schema, schema.families, schema.columns, undefined);
    whole.set(schema, read);
  }
  return read;
}

/**
 * These columns, the marker, and the columns that conditions test. Without a marker any cell may be the only one of a
 * row: then the entity's families are read whole. `past`: whether another time is read.
 */
export function readColumns(
  schema: EntitySchema,
  selected: readonly ColumnSchema[],
  tested: readonly ColumnSchema[],
  properties: ReadonlySet<string> | undefined,
  past = false,
): ReadSet {
  const { marker } = schema;
  if (marker === undefined || (past && !isMarkerKept(schema, marker.family)))
    return readFamilies(schema, schema.families, selected, properties);
  const families = new Map<string, Uint8Array[] | null>();
  const add = (family: string, qualifier: Uint8Array | undefined): void => {
    const columns = families.get(family);
    if (qualifier === undefined || columns === null) families.set(family, null);
    else if (columns === undefined) families.set(family, [qualifier]);
    else if (!columns.some((column) => equalBytes(column, qualifier))) columns.push(qualifier);
  };
  add(marker.family, marker.qualifier);
  for (const column of [...selected, ...tested]) {
    add(column.family, column.kind === 'columns' ? undefined : column.qualifier);
  }
  for (const [family, columns] of families) {
    if (columns !== null && isCheaperWhole(schema, family, columns.length)) families.set(family, null);
  }
  return { families, everything: undefined, properties, versions: versionsToRead(schema, selected) };
}

/** As `readColumns`, by the names of properties. @throws QueryError on an unknown name. */
export function readSelected(
  schema: EntitySchema,
  names: readonly string[],
  tested: readonly ColumnSchema[],
  past: boolean,
): ReadSet {
  const columns = selectColumns(schema, names);
  return readColumns(schema, columns, tested, new Set(columns.map(({ property }) => property)), past);
}

/** Whether old markers are kept as long as their columns, so that they tell whether the row existed at a past time. */
function isMarkerKept({ families, table }: EntitySchema, markers: string): boolean {
  const { families: all } = table.descriptor;
  const kept = all.find(({ name }) => name === markers)!.versions;
  return all.every(({ name, versions }) => versions <= kept || !families.includes(name));
}

/** The number of columns of a family from which reading the family may be cheaper. */
const MANY_COLUMNS = 4;

/**
 * Engines read a whole family faster than many of its columns. So the family is read if half of its columns are
 * wanted, and the others are not of a kind that grows large.
 */
function isCheaperWhole(schema: EntitySchema, family: string, wanted: number): boolean {
  if (wanted < MANY_COLUMNS) return false;
  const own = schema.columns.filter((column) => column.family === family);
  return (
    2 * wanted >= own.length + 1 &&
    own.every((column) => isSingleCell(column) && !LARGE.test(column.codec.name))
  );
}

/** Codecs of documents and bytes. */
const LARGE = /^(json|avro|bytes)/;

function readFamilies(
  schema: EntitySchema,
  names: readonly string[],
  columns: readonly ColumnSchema[],
  properties: ReadonlySet<string> | undefined,
): ReadSet {
  return {
    families: new Map(names.map((name) => [name, null])),
    everything: names.length === schema.table.descriptor.families.length ? names : undefined,
    properties,
    versions: versionsToRead(schema, columns),
  };
}

/** One version, unless a property is a column's history. */
function versionsToRead(schema: EntitySchema, columns: readonly ColumnSchema[]): number {
  let versions = 1;
  for (const column of columns) {
    if (column.kind !== 'versions') continue;
    const family = schema.table.descriptor.families.find((other) => other.name === column.family);
    versions = Math.max(versions, family?.versions ?? 1);
  }
  return versions;
}

/** Applies a read set to a get or scan. */
export function applyReadSet(query: Query, read: ReadSet): void {
  if (read.everything !== undefined) {
    query.expectFamilies(read.everything);
  } else {
    for (const [family, columns] of read.families) {
      if (columns === null) query.addFamily(family);
      else for (const column of columns) query.addColumn(family, column);
    }
  }
  if (read.versions > 1) query.readVersions(read.versions);
}

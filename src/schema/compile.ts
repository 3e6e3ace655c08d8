/**
 * Declarations -> the compiled, frozen schema. Every rule is checked for every entity before anything is thrown, so
 * that one run shows all there is to mend.
 */

import { emittedType, type TableDeclaration } from '../../decorators/index.js';
import { toBytes } from '../bytes/index.js';
import { compileKeyLayout, inferKeyCodec, type KeyCodec, type KeyLayout, string } from '../key/index.js';
import { type TableDescriptor, tableDescriptor } from '../table/index.js';
import { type CollectedEntity, collectEntity } from './collect.js';
import { type CompiledColumns, compileColumns } from './columns.js';
import { lintTables } from './lint.js';
import { Problems } from './problems.js';
import { Schema } from './schema.js';
import { schemaSignature } from './signature.js';
import type { EntityClass, EntityMapper, EntitySchema, TableSchema } from './types.js';

/** An entity whose mapper is yet to be made. */
export type UnmappedEntity = Omit<EntitySchema, 'table' | 'mapper'> & { readonly tableName: string };

/** Makes the mapper of an entity. */
export type MapperFactory = (entity: UnmappedEntity) => EntityMapper;

/** The qualifier of marker cells. */
export const MARKER_QUALIFIER: Uint8Array = toBytes('_');

/**
 * Compiles the entities' declarations with the given mappers; `compileSchema` of `src/mapper` does it with Rowan's.
 * @throws SchemaError with every problem of every entity, each with the entity, the property, the rule and the mend.
 */
export function compileDeclarations(entities: readonly EntityClass[], mapperOf: MapperFactory): Schema {
  const problems = new Problems();
  const collected = new Map<string, CompiledEntity[]>();
  const order: EntityClass[] = [...new Set(entities)];
  const names = new Map<string, EntityClass>();
  for (const target of order) {
    const entity = compileEntity(target, problems);
    if (entity === undefined) continue;
    const other = names.get(entity.source.name);
    if (other !== undefined) {
      problems.add(
        entity.source.name,
        undefined,
        'Two entities have this name.',
        'Give one another with @Entity({ name }).',
      );
    }
    names.set(entity.source.name, target);
    const { name } = entity.source.table;
    collected.set(name, [...(collected.get(name) ?? []), entity]);
  }
  const tables = [...collected.values()].map((group) => compileTable(group, problems));
  problems.throwIfAny();
  const schemas = tables.map((table) => linkTable(table!, mapperOf));
  schemas.sort((a, b) => (a.descriptor.name < b.descriptor.name ? -1 : 1));
  const byTarget = new Map(
    schemas.flatMap((table) => table.entities).map((entity) => [entity.target, entity]),
  );
  return new Schema(
    Object.freeze(order.map((target) => byTarget.get(target)!)),
    Object.freeze(schemas),
    Object.freeze(lintTables(schemas)),
  );
}

interface CompiledEntity {
  readonly source: CollectedEntity;
  readonly key: KeyLayout | undefined;
  readonly columns: CompiledColumns;
  readonly marker: EntitySchema['marker'];
}

interface CompiledTable {
  readonly descriptor: TableDescriptor;
  readonly entities: readonly CompiledEntity[];
  readonly splitKeys: readonly Uint8Array[];
}

function compileEntity(target: EntityClass, problems: Problems): CompiledEntity | undefined {
  if (typeof target !== 'function') {
    problems.add(String(target), undefined, 'It is no class.', 'Pass the entity classes themselves.');
    return undefined;
  }
  const source = collectEntity(target, problems);
  if (source === undefined) return undefined;
  const key = problems.catching(source.name, '', () =>
    compileKeyLayout(source.elements, (part) => keyCodec(source, part), source.declaration.recordType),
  );
  const columns = compileColumns(source, problems);
  if (key !== undefined) {
    checkKeyNames(source, key, problems);
    checkKeyColumns(source, key, columns, problems);
  }
  return { source, key, columns, marker: markerOf(source, columns, problems) };
}

/** A part without a codec is text, unless the compiler emitted another type for the property. */
function keyCodec(source: CollectedEntity, part: string): KeyCodec<unknown> | undefined {
  const type = emittedType(source.target, part);
  return type === undefined ? (string as KeyCodec<unknown>) : inferKeyCodec(type);
}

function checkKeyNames(source: CollectedEntity, key: KeyLayout, problems: Problems): void {
  if (source.keyNames === undefined) return;
  const parts = key.parts.map((part) => part.name);
  if (parts.join('\n') === source.keyNames.join('\n')) return;
  problems.add(
    source.name,
    undefined,
    `Its static key lists [${source.keyNames.join(', ')}], @RowKey has the parts [${parts.join(', ')}].`,
    `Write: declare static readonly key: [${parts.map((part) => `'${part}'`).join(', ')}].`,
  );
}

/** A part stands in the key or in a column: in both only when the key holds no more than its digest. */
function checkKeyColumns(
  source: CollectedEntity,
  key: KeyLayout,
  { columns }: CompiledColumns,
  problems: Problems,
): void {
  for (const part of key.parts) {
    const column = columns.find((candidate) => candidate.path[0] === part.name);
    if (part.name === '__proto__') {
      problems.add(source.name, part.name, 'The name cannot be a property.', 'Give it another.');
    }
    if (part.recoverable && column !== undefined) {
      problems.add(
        source.name,
        part.name,
        'The property is a part of the key and a column as well.',
        'Remove the column: the key gives the value back.',
      );
    } else if (!part.recoverable && column === undefined) {
      problems.add(
        source.name,
        part.name,
        'The key holds only a digest or a time bucket of the property, so it cannot be read back.',
        'Store it in a column too: @Column(...); or keep it in the key: hash(..., { keep: true }), or part(...) behind it.',
      );
    }
  }
}

function markerOf(
  source: CollectedEntity,
  { columns }: CompiledColumns,
  problems: Problems,
): EntitySchema['marker'] {
  const { marker = true } = source.declaration;
  const families = Object.keys(source.table.families ?? {});
  if (marker === false) {
    if (columns.length === 0) {
      problems.add(
        source.name,
        undefined,
        'It has neither columns nor a marker cell, so that nothing of it could be stored.',
        'Declare a column, or leave out `marker: false`.',
      );
    }
    return undefined;
  }
  if (typeof marker === 'string' && !families.includes(marker)) {
    problems.add(
      source.name,
      undefined,
      `Its marker is to stand in the family "${marker}", which table "${source.table.name}" does not have.`,
      `Use one of: ${families.join(', ')}.`,
    );
  }
  const inOrder = [...columns].sort((a, b) => a.order - b.order);
  const first = inOrder.find((column) => families.includes(column.family))?.family ?? families[0] ?? '';
  const family = typeof marker === 'string' ? marker : first;
  const taken = columns.find(
    (column) =>
      column.family === family &&
      column.kind !== 'columns' &&
      Buffer.compare(column.qualifier, MARKER_QUALIFIER) === 0,
  );
  if (taken !== undefined) {
    problems.add(
      source.name,
      taken.property,
      `The column "${family}:_" is that of the entity's marker cell.`,
      'Give the property another qualifier, or pin the marker to another family: @Entity({ marker: "family" }).',
    );
  }
  return Object.freeze({ family, qualifier: MARKER_QUALIFIER });
}

function compileTable(entities: readonly CompiledEntity[], problems: Problems): CompiledTable | undefined {
  const declaration = entities[0]!.source.table;
  const name = `Table "${declaration.name}"`;
  for (const { source } of entities) {
    if (source.table !== declaration) {
      problems.add(
        source.name,
        undefined,
        `${name} is declared twice, by different classes.`,
        'Let all of its entities name the same one.',
      );
    }
  }
  checkRecordTypes(name, entities, problems);
  const { name: tableName, families, presplit, ...options } = declaration;
  const descriptor = problems.catching(name, '', () => tableDescriptor(tableName, families ?? {}, options));
  const splitKeys = problems.catching(name, '', () => splitKeysOf(presplit, entities, name, problems));
  return descriptor && { descriptor, entities, splitKeys: splitKeys ?? [] };
}

function checkRecordTypes(table: string, entities: readonly CompiledEntity[], problems: Problems): void {
  const taken = new Map<number, string>();
  for (const { source } of entities) {
    const { recordType } = source.declaration;
    if (recordType === undefined) {
      if (entities.length === 1) continue;
      problems.add(
        source.name,
        undefined,
        `${table} holds ${entities.length} entities, and this one has no record type to tell its rows by.`,
        'Write @Entity({ recordType: <0..255> }) and put recordType() into @RowKey.',
      );
      continue;
    }
    const other = taken.get(recordType);
    if (other !== undefined) {
      problems.add(
        source.name,
        undefined,
        `Its record type ${recordType} is also that of ${other} in ${table}.`,
        'Give each entity of a table a number of its own, and never change it.',
      );
    }
    taken.set(recordType, source.name);
  }
}

function splitKeysOf(
  presplit: TableDeclaration['presplit'],
  entities: readonly CompiledEntity[],
  table: string,
  problems: Problems,
): readonly Uint8Array[] {
  if (presplit === undefined) return [];
  if ('splits' in presplit) {
    const keys = presplit.splits.map(toBytes);
    const wrong = keys.findIndex(
      (key, i) => key.length === 0 || (i > 0 && Buffer.compare(keys[i - 1]!, key) >= 0),
    );
    if (wrong >= 0) {
      problems.add(
        table,
        undefined,
        `The split key at ${wrong} is empty or does not rise above the one before it.`,
        'Give them in strictly increasing byte order.',
      );
    }
    return keys;
  }
  const { regions } = presplit;
  if (!Number.isInteger(regions) || regions < 1 || regions > 10_000) {
    problems.add(table, undefined, `presplit.regions is ${regions}.`, 'Give a whole number from 1 to 10000.');
    return [];
  }
  for (const { key } of entities) {
    const points = key?.splitPoints(regions) ?? [];
    if (points.length > 0) return points;
  }
  return [];
}

function linkTable(table: CompiledTable, mapperOf: MapperFactory): TableSchema {
  const entities: EntitySchema[] = [];
  const schema = { descriptor: table.descriptor, entities, splitKeys: table.splitKeys, signature: '' };
  for (const { source, key, columns, marker } of table.entities) {
    const families = new Set(columns.columns.map((column) => column.family));
    if (marker !== undefined) families.add(marker.family);
    const unmapped: UnmappedEntity = {
      name: source.name,
      target: source.target,
      tableName: table.descriptor.name,
      key: key!,
      columns: columns.columns,
      columnsByProperty: new Map(columns.columns.map((column) => [column.property, column])),
      embedded: columns.embedded,
      families: Object.freeze(
        table.descriptor.families.map(({ name }) => name).filter((name) => families.has(name)),
      ),
      marker,
      versionProperty: undefined,
    };
    entities.push(Object.freeze({ ...unmapped, table: schema, mapper: mapperOf(unmapped) }));
  }
  entities.sort((a, b) => (a.key.recordType ?? 0) - (b.key.recordType ?? 0) || (a.name < b.name ? -1 : 1));
  Object.freeze(entities);
  schema.signature = schemaSignature(schema);
  return Object.freeze(schema);
}

/**
 * Declarations -> the compiled, frozen schema. Every rule is checked for every entity before anything is thrown, so
 * that one run shows all there is to mend.
 */

import { SchemaError } from '../errors.js';
import { describe } from '../table/checks.js';
import { type CompiledEntity, compileEntity } from './compile-entity.js';
import { type CompiledTable, compileTable } from './compile-table.js';
import { checkCopies } from './copies.js';
import { describeFinding, lintTables } from './lint/index.js';
import { Problems } from './problems.js';
import { checkReferences } from './references.js';
import { checkRelations } from './relations.js';
import { Schema } from './schema.js';
import { schemaSignature } from './signature.js';
import { checkSubscribers, type EntitySubscriber } from './subscribers.js';
import { checkSummaries } from './summaries.js';
import type { EntityClass, EntityMapper, EntitySchema, TableSchema } from './types.js';

/** An entity whose mapper is yet to be made. */
export type UnmappedEntity = Omit<EntitySchema, 'table' | 'mapper'> & { readonly tableName: string };

/** Makes the mapper of an entity. */
export type MapperFactory = (entity: UnmappedEntity) => EntityMapper;

/** The families that the markers of some entities stand in, where their declarations leave it open. */
export type MarkerFamilies = ReadonlyMap<EntityClass, string>;

/**
 * Compiles the entities' declarations with the given mappers; `compileSchema` of `src/mapper` does it with Rowan's.
 * @throws SchemaError with every problem of every entity, each with the entity, the property, the rule and the mend.
 */
export function compileDeclarations(
  entities: readonly EntityClass[],
  mapperOf: MapperFactory,
  markers: MarkerFamilies = new Map(),
  subscribers: readonly EntitySubscriber[] = [],
): Schema {
  if (!Array.isArray(entities)) {
    throw new SchemaError(`Entities are a list of classes, [Customer, Order], not ${describe(entities)}.`);
  }
  if (!(markers instanceof Map)) {
    throw new SchemaError(`The families of markers are a Map by class, not ${describe(markers)}.`);
  }
  const problems = new Problems();
  const told = checkSubscribers(subscribers, entities, problems);
  const collected = new Map<string, CompiledEntity[]>();
  const order: EntityClass[] = [...new Set(entities)];
  const names = new Map<string, EntityClass>();
  for (const target of order) {
    const entity = compileEntity(target, problems, markers.get(target), told);
    if (entity === undefined) continue;
    checkRetired(entity, problems);
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
  const compiled = schemas.flatMap((table) => table.entities);
  checkRelations(compiled, problems);
  checkCopies(compiled, problems);
  checkReferences(compiled, problems);
  checkSummaries(compiled, problems);
  problems.throwIfAny();
  schemas.sort((a, b) => (a.descriptor.name < b.descriptor.name ? -1 : 1));
  const byTarget = new Map(
    schemas.flatMap((table) => table.entities).map((entity) => [entity.target, entity]),
  );
  return new Schema(
    Object.freeze(order.flatMap((target) => byTarget.get(target) ?? [])),
    Object.freeze(schemas),
    Object.freeze([...warningsOf(schemas), ...tables.flatMap((table) => table!.warnings)]),
    told,
  );
}

/** What goes with the rows of an entity that is used no more: its indexes do, summaries are others' figures too. */
function checkRetired({ source, summaries }: CompiledEntity, problems: Problems): void {
  const { retired = false } = source.declaration;
  if (typeof retired !== 'boolean') {
    problems.add(
      source.name,
      undefined,
      `Its \`retired\` is ${describe(retired)}.`,
      'Give true, or leave it out.',
    );
  } else if (retired && summaries.length > 0) {
    problems.add(
      source.name,
      undefined,
      'It is retired, and has summaries.',
      'Leave the summaries out and apply that, then retire it.',
    );
  }
}

/** Of what smells, what costs in nearly every program. */
function warningsOf(tables: readonly TableSchema[]): string[] {
  return lintTables(tables)
    .filter(({ severity }) => severity === 'warning')
    .map(describeFinding);
}

function linkTable(table: CompiledTable, mapperOf: MapperFactory): TableSchema {
  const entities: EntitySchema[] = [];
  const retired: EntitySchema[] = [];
  const { descriptor, declaration, splitKeys } = table;
  const schema = { descriptor, declaration, entities, retired, splitKeys, signature: '' };
  for (const { source, key, columns, marker, ...rest } of table.entities) {
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
      ...rest,
    };
    const into = source.declaration.retired === true ? retired : entities;
    into.push(Object.freeze({ ...unmapped, table: schema, mapper: mapperOf(unmapped) }));
  }
  for (const each of [entities, retired]) {
    each.sort((a, b) => (a.key.recordType ?? 0) - (b.key.recordType ?? 0) || (a.name < b.name ? -1 : 1));
    Object.freeze(each);
  }
  schema.signature = schemaSignature(schema);
  return Object.freeze(schema);
}

import type { Presplit, TableDeclaration } from '../../decorators/index.js';
import { toBytes } from '../bytes/index.js';
import { InvalidArgumentError, SchemaError } from '../errors.js';
import { checkRowsBetween, type KeyLayout, type SplitOptions } from '../key/index.js';
import { describe, isCallable, isInstance, isList, isRecord } from '../table/checks.js';
import { type TableDescriptor, tableDescriptor } from '../table/index.js';
import { type CompiledEntity, compileEntity } from './compile-entity.js';
import { FEATURE_COMPILERS } from './feature-compilers.js';
import { checkSubscribers, type EntitySubscriber } from './lifecycle.js';
import { checkRelations } from './links.js';
import { describeFinding, lintTables } from './lint/lint.js';
import { checkMarks } from './marker.js';
import { Problems, schemaSignature } from './problems.js';
import type { EntityClass, EntityMapper, EntitySchema, TableSchema } from './types.js';

// — Compiles the declarations of one table: its descriptor, entities and split points.

interface CompiledTable {
  readonly descriptor: TableDescriptor;
  readonly declaration: TableDeclaration;
  readonly entities: readonly CompiledEntity[];
  readonly splitKeys: readonly Uint8Array[];
}

function compileTable(entities: readonly CompiledEntity[], problems: Problems): CompiledTable | undefined {
  const declaration = entities[0]!.source.table;
  const name = `Table "${declaration.name}"`;
  for (const { source } of entities) {
    if (source.table !== declaration) {
      problems.add(
        source.name,
        undefined,
        `${name} is declared twice, although its options may be the same.`,
        'Declare it once, with @Table or defineTable, and name that in each of its entities.',
      );
    }
  }
  checkRecordTypes(name, entities, problems);
  checkApart(name, entities, problems);
  const { name: tableName, families, presplit, ...options } = declaration;
  const descriptor = problems.catching(name, '', () => tableDescriptor(tableName, families ?? {}, options));
  if (descriptor !== undefined) checkMarks(descriptor, entities, problems);
  const splitKeys = problems.catching(name, '', () => splitKeysOf(presplit, entities, name, problems));
  return (
    descriptor && {
      descriptor,
      declaration,
      entities,
      splitKeys: splitKeys ?? [],
    }
  );
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

/** Checks that scans of one entity cannot mistake rows of another for its own. */
function checkApart(table: string, entities: readonly CompiledEntity[], problems: Problems): void {
  entities.forEach(({ source, key }, i) => {
    // A missing or duplicate record type has been reported.
    if (key?.recordType === undefined) return;
    const others = entities.slice(0, i).filter((before) => before.key?.recordType !== undefined);
    for (const before of others) checkRowsBetween(before.key!, key);
    const other = others.find((before) => isConfusable(before.key!, key));
    if (other === undefined) return;
    problems.add(
      source.name,
      undefined,
      `Rows of it and of ${other.source.name} in ${table} can be taken for one another: what stands before their record types differs ` +
        `(${other.key!.signature}; ${key.signature}), so one's record type stands where the other has a value.`,
      'Put recordType() first, or behind parts with the same codecs in both (or last, in both).',
    );
  });
}

function isConfusable(one: KeyLayout, other: KeyLayout): boolean {
  return one.recordType !== other.recordType && !one.isApartFrom(other);
}

const PRESPLIT_OPTIONS = {
  regions: true,
  algorithm: true,
  samples: true,
  between: true,
  splits: true,
} as const;

function splitKeysOf(
  presplit: TableDeclaration['presplit'],
  entities: readonly CompiledEntity[],
  table: string,
  problems: Problems,
): readonly Uint8Array[] {
  if (presplit === undefined) return [];
  if (!isRecord(presplit)) {
    const remedy = 'Give an object, { regions: 16 } or { splits: [...] }.';
    problems.add(table, undefined, `presplit is ${describe(presplit)}.`, remedy);
    return [];
  }
  if (!problems.checkOptions(table, undefined, 'presplit', presplit, PRESPLIT_OPTIONS)) return [];
  if ('splits' in presplit) {
    if (!isList(presplit.splits)) {
      const remedy = 'Give a list of keys.';
      problems.add(table, undefined, `presplit.splits is ${describe(presplit.splits)}.`, remedy);
      return [];
    }
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
    const points = key?.splitPoints(regions, splitOptionsOf(presplit, key)) ?? [];
    if (points.length > 0) return points;
  }
  return [];
}

/** Samples given as objects are keys of the first entity. */
function splitOptionsOf(presplit: Exclude<Presplit, { splits: unknown }>, key: KeyLayout): SplitOptions {
  if ('algorithm' in presplit) return { algorithm: presplit.algorithm };
  if ('between' in presplit) return { between: presplit.between };
  if (!('samples' in presplit)) return {};
  return {
    samples: presplit.samples.map((sample) => (sample instanceof Uint8Array ? sample : key.encode(sample))),
  };
}

/** A compiled schema: its entities and tables, all frozen. */
export class Schema {
  private readonly byClass: ReadonlyMap<EntityClass, EntitySchema>;

  constructor(
    /** In the order they were given. */
    readonly entities: readonly EntitySchema[],
    /** In the order of their names. */
    readonly tables: readonly TableSchema[],
    /** Subscribers. Their hooks are in the lifecycles of the entities. */
    readonly subscribers: readonly EntitySubscriber[] = [],
  ) {
    this.byClass = new Map(entities.map((entity) => [entity.target, entity]));
    Object.freeze(this);
  }

  /** @throws SchemaError when the class is not one of the schema's entities. */
  entity<E extends object>(target: EntityClass<E>): EntitySchema<E> {
    const found = this.byClass.get(target);
    if (found !== undefined) return found as unknown as EntitySchema<E>;
    const retired = this.retired.find((entity) => entity.target === target);
    if (retired !== undefined) {
      throw new SchemaError(
        `${retired.name} is retired: its rows are neither read nor written, and rowan schema apply removes them. Leave out { retired: true } to use it.`,
      );
    }
    throw new SchemaError(
      `${isCallable(target) ? `The class ${target.name}` : describe(target)} is no entity of this schema. Give it among the entities of open, connect or compileSchema. Known: ${this.entities.map(({ name }) => name).join(', ')}.`,
    );
  }

  /** Warnings of lint: declarations that are valid but likely costly. Each is a sentence. Computed at each call. */
  get warnings(): readonly string[] {
    return lintTables(this.tables)
      .filter(({ severity }) => severity === 'warning')
      .map(describeFinding);
  }

  /** The entities whose classes are `base` or extend it, for polymorphic reads. */
  subtypes(base: EntityClass): EntitySchema[] {
    if (!isCallable(base) || typeof Reflect.get(base, 'prototype') !== 'object')
      throw new InvalidArgumentError(`subtypes takes a class, not ${describe(base)}.`);
    return this.entities.filter(({ target }) => target === base || target.prototype instanceof base);
  }

  /**
   * The entity of a row, from the key layouts and record types. Undefined: of none. @throws InvalidArgumentError when the row is
   * not bytes.
   */
  entityOfRow(tableName: string, row: Uint8Array): EntitySchema | undefined {
    if (typeof tableName !== 'string' || !isInstance(row, Uint8Array)) {
      throw new InvalidArgumentError(
        `entityOfRow takes the name of a table and the bytes of a row, not ${describe(tableName)} and ${describe(row)}.`,
      );
    }
    const table = this.tables.find(({ descriptor }) => descriptor.name === tableName);
    return table?.entities.find(({ key }) => key.matches(row));
  }

  /** Retired entities, whose rows `apply` removes, in the order of their tables. */
  get retired(): readonly EntitySchema[] {
    return this.tables.flatMap((table) => table.retired);
  }

  has(target: EntityClass): boolean {
    return this.byClass.has(target);
  }
}

/** The schema of no entity. */
const NOTHING = new Schema([], []);

// — Compiles declarations to a frozen schema. Every rule is checked for every entity before an error is thrown, so that
// one run reports all problems.

/** An entity without its mapper. */
type UnmappedEntity = Omit<EntitySchema, 'table' | 'mapper'> & { readonly tableName: string };

/** Creates the mapper of an entity. */
type MapperFactory = (entity: UnmappedEntity) => EntityMapper;

/** The families of entities' markers, where the declarations leave them open. */
export type MarkerFamilies = ReadonlyMap<EntityClass, string>;

/**
 * Compiles the declarations with the given mappers. `compileSchema` of `src/mapper` passes Rowan's.
 * @param known A schema to which the entities are added, compiled with the same mappers, families and subscribers. Tables that get no
 *   entity stay as they are.
 * @throws SchemaError with every problem of every entity: entity, property, rule and remedy.
 */
export function compileDeclarations(
  entities: readonly EntityClass[],
  mapperOf: MapperFactory,
  markers: MarkerFamilies = new Map(),
  subscribers: readonly EntitySubscriber[] = [],
  known: Schema = NOTHING,
): Schema {
  if (!Array.isArray(entities)) {
    throw new SchemaError(`Entities are a list of classes, [Customer, Order], not ${describe(entities)}.`);
  }
  if (!(markers instanceof Map)) {
    throw new SchemaError(`The families of markers are a Map by class, not ${describe(markers)}.`);
  }
  const problems = new Problems();
  const before = [...known.entities, ...known.retired];
  const knownTargets = before.map(({ target }) => target);
  const order: EntityClass[] = [...new Set([...knownTargets, ...entities])];
  const bySubscriber = checkSubscribers(subscribers, order, problems);
  const compileAll = (targets: readonly EntityClass[]): CompiledEntity[] =>
    targets.flatMap((target) => compileEntity(target, problems, markers.get(target), bySubscriber) ?? []);
  const added = compileAll(order.filter((target) => !knownTargets.includes(target)));
  const touched = new Set(added.map(({ source }) => String(source.table.name).replace(/^default:/, '')));
  const isKept = ({ descriptor }: TableSchema): boolean => !touched.has(descriptor.name);
  const again = compileAll(before.filter(({ table }) => !isKept(table)).map(({ target }) => target));
  const names = new Set(before.filter(({ table }) => isKept(table)).map(({ name }) => name));
  const collected = new Map<string, CompiledEntity[]>();
  for (const entity of [...again, ...added]) {
    const { name, table } = entity.source;
    checkRetired(entity, problems);
    if (names.has(name)) {
      const remedy = 'Give one another with @Entity({ name }).';
      problems.add(name, undefined, 'Two entities have this name.', remedy);
    }
    names.add(name);
    collected.set(table.name, [...(collected.get(table.name) ?? []), entity]);
  }
  const tables = [...collected.values()].map((group) => compileTable(group, problems));
  problems.throwIfAny();
  const schemas = [...known.tables.filter(isKept), ...tables.map((table) => linkTable(table!, mapperOf))];
  const compiled = schemas.flatMap((table) => table.entities);
  checkRelations(compiled, problems);
  for (const feature of FEATURE_COMPILERS) feature.check?.(compiled, problems);
  problems.throwIfAny();
  schemas.sort((a, b) => (a.descriptor.name < b.descriptor.name ? -1 : 1));
  const byTarget = new Map(
    schemas.flatMap((table) => table.entities).map((entity) => [entity.target, entity]),
  );
  return new Schema(
    Object.freeze(order.flatMap((target) => byTarget.get(target) ?? [])),
    Object.freeze(schemas),
    bySubscriber,
  );
}

/**
 * A schema adapted to the live tables: each marker is in the family in which the table's rows have it. Everything
 * that reads, moves or upgrades rows requires this type, so that declarations cannot be used before they were
 * compared with the tables.
 */
export class AdoptedSchema extends Schema {
  /** Makes the type nominal. The property does not exist at run time. */
  declare private readonly isAdopted: true;

  /** @param schema declarations whose markers are where the tables have them, or whose tables have no rows. */
  static of({ entities, tables, subscribers }: Schema): AdoptedSchema {
    return new AdoptedSchema(entities, tables, subscribers);
  }
}

/** A retired entity may have indexes, which are removed with it, but no summaries. */
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

import { classChain, ownDeclarations } from '../../decorators/index.js';
import { isLost, type JsonValue } from '../codec/index.js';
import { InvalidArgumentError } from '../errors.js';
import type { KeyDictionary } from '../key/index.js';
import { compileDeclarations, type MarkerFamilies, type Schema } from '../schema/compile.js';
import type { EntitySubscriber } from '../schema/lifecycle.js';
import { transformer } from '../schema/transformer.js';
import type {
  EntityClass,
  EntityMapper,
  EntityPacking,
  EntitySchema,
  PlainOptions,
  RowReader,
} from '../schema/types.js';
import { describe, isRecord } from '../table/checks.js';
import type { Delete, Durability, Put, Result } from '../table/index.js';
import { CellReader } from './cell-reader.js';
import { CellWriter } from './cell-writer.js';
import { PlainConverter } from './plain.js';
import { type MappedEntity, type ObjectShape, shapeOf } from './shape.js';

/** The most cached readers of projections for each entity. */
const KEPT_PROJECTIONS = 64;

/**
 * The mapper of one entity, compiled once. Loaded objects have the class's prototype, but neither constructor nor
 * field initializers run: all values come from the row. Every declared property exists, undefined without a cell.
 */
class CompiledMapper<E extends object> implements EntityMapper<E> {
  private readonly reader: CellReader;
  private readonly writer: CellWriter;
  private readonly plain: PlainConverter;
  private readonly viewable: Viewable;
  private readonly bySet = new WeakMap<ReadonlySet<string>, CellReader>();
  private readonly byNames = new Map<string, CellReader>();

  constructor(private readonly entity: MappedEntity) {
    const shape = shapeOf(entity);
    this.reader = new CellReader(entity, shape);
    this.writer = new CellWriter(entity, shape);
    this.plain = new PlainConverter(entity, shape);
    this.viewable = { shape, converter: this.plain, relations: entity.relations };
  }

  rowOf(source: Readonly<Record<string, unknown>>): Uint8Array {
    if (!isRecord(source)) throw this.notAnEntity(source);
    return this.entity.key.encode(source);
  }

  private notAnEntity(source: unknown): InvalidArgumentError {
    const { name, key } = this.entity;
    const parts = key.parts.map((part) => part.name).join(', ');
    return new InvalidArgumentError(
      `A ${name} or its key is an object, { ${parts} }, not ${describe(source)}.`,
      {
        details: { entity: name },
      },
    );
  }

  toMutations(
    entity: Readonly<Record<string, unknown>>,
    row: Uint8Array,
    timestamp?: number,
  ): (Put | Delete)[] {
    return this.writer.write(entity, row, timestamp);
  }

  packing(durability: Durability): EntityPacking | undefined {
    return this.writer.packing(durability);
  }

  fromResult(result: Result): E | null {
    return this.reader.read(result) as E | null;
  }

  toPlain(entity: Readonly<Record<string, unknown>>): Record<string, JsonValue> {
    return this.plain.toPlain(entity);
  }

  toView(
    entity: Readonly<Record<string, unknown>>,
    options: PlainOptions,
    mapperOf: (target: EntityClass) => EntityMapper | undefined,
  ): Record<string, JsonValue> {
    return viewOf(this.viewable, entity, options, (target) => {
      const other = mapperOf(target);
      return other instanceof CompiledMapper ? other.viewable : undefined;
    });
  }

  fromPlain(plain: Readonly<Record<string, JsonValue>>): E {
    return this.plain.fromPlain(plain) as E;
  }

  readerOf(properties?: ReadonlySet<string>): RowReader<E> {
    return (properties === undefined ? this.reader : this.partialReader(properties)) as RowReader<E>;
  }

  private partialReader(properties: ReadonlySet<string>): CellReader {
    const known = this.bySet.get(properties);
    if (known !== undefined) return known;
    const names = JSON.stringify([...properties].sort());
    let reader = this.byNames.get(names);
    if (reader === undefined) {
      reader = new CellReader(
        this.entity,
        shapeOf(this.entity, ({ property, path }) => properties.has(property) || properties.has(path[0]!)),
      );
      if (this.byNames.size >= KEPT_PROJECTIONS) this.byNames.clear();
      this.byNames.set(names, reader);
    }
    this.bySet.set(properties, reader);
    return reader;
  }
}

/**
 * The schema of an entity with `substitute` parts, with its key bound to the dictionaries of a database. The schema
 * itself when it has none.
 */
export function bindDictionaries(
  schema: EntitySchema,
  dictionary: (name: string) => KeyDictionary,
): EntitySchema {
  const key = schema.key.bind(dictionary);
  if (key === schema.key) return schema;
  const tableName = schema.table.descriptor.name;
  return Object.freeze({ ...schema, key, mapper: new CompiledMapper({ ...schema, key, tableName }) });
}

/**
 * Compiles entity classes: key layouts, columns, tables and mappers, all frozen. `markers`: the families of markers
 * whose declarations leave them open. @throws SchemaError with every problem of every entity: entity, property, rule
 * and remedy.
 */
export function compileSchema(
  entities: readonly EntityClass[],
  markers?: MarkerFamilies,
  subscribers?: readonly EntitySubscriber[],
): Schema {
  return compileDeclarations(entities, (entity) => new CompiledMapper(entity), markers, subscribers);
}

/** The schema with more entities. Tables that get none of them are not compiled again. @throws SchemaError as `compileSchema`. */
export function extendedSchema(known: Schema, entities: readonly EntityClass[]): Schema {
  const { subscribers } = known;
  return compileDeclarations(entities, (entity) => new CompiledMapper(entity), undefined, subscribers, known);
}

/** The schemas that {@link schemaOf} has compiled. */
const schemas = new WeakMap<EntityClass, EntitySchema>();

/** The schema of one entity, for code that has no database. @throws SchemaError on wrong declarations. */
export function schemaOf(target: EntityClass): EntitySchema {
  const known = schemas.get(target);
  if (known !== undefined) return known;
  const schema = compileSchema(withSources(target)).entity(target);
  schemas.set(target, schema);
  return schema;
}

/** The class, and the other entities that its copies and references need to compile. */
function withSources(target: EntityClass): EntityClass[] {
  const found = new Set<EntityClass>();
  const open: EntityClass[] = [target];
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    if (found.has(one) || typeof one !== 'function') continue;
    found.add(one);
    for (const { copies, relations } of classChain(one as never).flatMap(ownDeclarations)) {
      open.push(...copies.map(({ source }) => source()));
      open.push(...relations.filter(({ kind }) => kind === 'one').map(({ target: other }) => other()));
    }
  }
  return [...found];
}

// — Entities as JSON for other programs: with class-transformer's decorators applied, and with loaded relations.

type Properties = Readonly<Record<string, unknown>>;
type PlainObject = Record<string, JsonValue>;

/** Converts the entities of one class to views. */
interface Viewable {
  readonly shape: ObjectShape;
  readonly converter: PlainConverter;
  readonly relations: EntitySchema['relations'];
}

/** The converter of a related class. Undefined where it is unknown. */
type ViewableOf = (target: EntityClass) => Viewable | undefined;

/**
 * An entity with its loaded relations, converted by class-transformer. It gets a copy of the entity (with copies of
 * bytes and Maps, which it would damage). Values that it leaves unchanged are converted by the codecs, without loss;
 * changed ones as JSON does. @throws InvalidArgumentError naming the property whose value JSON cannot hold.
 */
export function viewOf(
  of: Viewable,
  entity: Properties,
  options: PlainOptions,
  viewableOf: ViewableOf,
): PlainObject {
  const view = new PlainView(of, entity, viewableOf, []);
  return view.toJson(transformer().instanceToPlain(view.likeness, { ...options, exposeUnsetFields: false }));
}

class PlainView {
  readonly likeness: object;
  private readonly plain: PlainObject;
  private readonly related = new Map<string, PlainView | readonly PlainView[]>();

  constructor(
    private readonly of: Viewable,
    entity: Properties,
    viewableOf: ViewableOf,
    outer: readonly Properties[],
  ) {
    const { converter, shape, relations } = of;
    this.plain = converter.toPlain(entity);
    this.likeness = likenessOf(shape, entity);
    const within = [...outer, entity];
    for (const { property, target } of relations.values()) {
      const value = entity[property];
      if (value === undefined) continue;
      const other = typeof value === 'object' && value !== null ? viewableOf(target()) : undefined;
      if (other === undefined) {
        Object.assign(this.likeness, { [property]: value });
        continue;
      }
      const one = (each: Properties): PlainView => {
        if (!within.includes(each)) return new PlainView(other, each, viewableOf, within);
        throw new InvalidArgumentError(
          `toPlain: "${property}" leads back to the entity that it belongs to, which no JSON can hold. Leave it out.`,
          { details: { property } },
        );
      };
      const view = Array.isArray(value) ? (value as Properties[]).map(one) : one(value as Properties);
      this.related.set(property, view);
      Object.assign(this.likeness, {
        [property]: view instanceof PlainView ? view.likeness : view.map(({ likeness }) => likeness),
      });
    }
  }

  /** The result of class-transformer as JSON values. */
  toJson(out: unknown): PlainObject {
    const { shape } = this.of;
    return viewJson(out as Properties, this.likeness as Properties, shape, this.plain, this.related);
  }
}

function viewJson(
  out: Properties,
  likeness: Properties,
  shape: ObjectShape,
  plain: PlainObject,
  related?: ReadonlyMap<string, PlainView | readonly PlainView[]>,
): PlainObject {
  const json: PlainObject = {};
  for (const [name, value] of Object.entries(out)) {
    if (value === undefined) continue;
    const was = likeness[name];
    const view = related?.get(name);
    const property = shape.properties.find((one) => one.name === name);
    if (view instanceof PlainView && isObject(value)) json[name] = view.toJson(value);
    else if (Array.isArray(view) && Array.isArray(value) && value.length === view.length) {
      json[name] = value.map((each, i) =>
        isObject(each) ? (view[i] as PlainView).toJson(each) : jsonOf(each, name),
      );
    } else if (Object.hasOwn(plain, name) && isSame(value, was)) json[name] = plain[name]!;
    else if (property?.kind === 'embedded' && isObject(value) && isObject(was)) {
      json[name] = viewJson(value, was, property.shape, plain[name] as PlainObject);
    } else json[name] = jsonOf(value, name);
  }
  return json;
}

/** A copy with the class's prototype, safe to read and change. */
function likenessOf(shape: ObjectShape, source: Properties): object {
  const likeness = Object.create(shape.target.prototype as object) as Record<string, unknown>;
  for (const property of shape.properties) {
    const value = source[property.name];
    if (value === undefined) continue;
    likeness[property.name] =
      property.kind === 'embedded' && value !== null
        ? likenessOf(property.shape, value as Properties)
        : copyOf(value);
  }
  return likeness;
}

/** class-transformer reads a Map by its keys. A Map that was not read so was converted by the user. */
class ReadMap extends Map<unknown, unknown> {
  isRead = false;

  override keys(): MapIterator<unknown> {
    this.isRead = true;
    return super.keys();
  }
}

/** Values that are converted without loss have no cycles. */
function copyOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  if (value instanceof Map) return new ReadMap([...value].map(([key, inner]) => [key, copyOf(inner)]));
  if (Array.isArray(value)) return value.map(copyOf);
  if (isLost(value)) return value;
  const copy = Object.create(Object.getPrototypeOf(value) as object | null) as Record<string, unknown>;
  // class-transformer uses an own "constructor" property as the class.
  for (const [name, inner] of Object.entries(value)) {
    // Or calls a function, as if it were a getter.
    if (typeof inner === 'function') Object.defineProperty(copy, name, { value: inner });
    else if (name !== 'constructor') copy[name] = copyOf(inner);
  }
  return copy;
}

/** Whether nothing was hidden or changed. */
function isSame(out: unknown, was: unknown): boolean {
  if (Object.is(out, was)) return true;
  if (!isObject(out) || !isObject(was)) return false;
  if (was instanceof Date) return out instanceof Date && Object.is(out.getTime(), was.getTime());
  if (was instanceof Uint8Array) return out instanceof Uint8Array && Buffer.compare(out, was) === 0;
  if (was instanceof ReadMap) {
    return (
      was.isRead && isSame(out, Object.fromEntries([...was].map(([key, value]) => [String(key), value])))
    );
  }
  if (Array.isArray(was) !== Array.isArray(out)) return false;
  const names = namesOf(was);
  return names.length === namesOf(out).length && names.every((name) => isSame(out[name], was[name]));
}

function namesOf(object: Properties): string[] {
  return Object.keys(object).filter((name) => object[name] !== undefined);
}

function isObject(value: unknown): value is Properties {
  return typeof value === 'object' && value !== null;
}

/** The result of a user's transformation as JSON. @throws InvalidArgumentError naming the property. */
function jsonOf(value: unknown, property: string): JsonValue {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value instanceof Promise) {
    throw new InvalidArgumentError(
      `toPlain: what a transformation made of "${property}" is no value of JSON. Answer a text, a number, a list or an object.`,
      { details: { property } },
    );
  }
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (value instanceof Map || value instanceof Set || Array.isArray(value)) {
    return [...(value as Iterable<unknown>)].map((each) =>
      each === undefined ? null : jsonOf(each, property),
    );
  }
  const names = namesOf(value as Properties);
  return Object.fromEntries(names.map((name) => [name, jsonOf((value as Properties)[name], property)]));
}

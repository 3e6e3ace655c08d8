import type { JsonValue } from '../codec/index.js';
import { InvalidArgumentError } from '../errors.js';
import type { KeyDictionary } from '../key/index.js';
import { compileDeclarations, type MarkerFamilies, type Schema } from '../schema/compile.js';
import type { EntitySubscriber } from '../schema/lifecycle.js';
import type { EntityClass, EntityMapper, EntitySchema, PlainOptions, RowReader } from '../schema/types.js';
import { describe, isRecord } from '../table/checks.js';
import type { Delete, Put, RawRow, Result } from '../table/index.js';
import { CellReader } from './cell-reader.js';
import { CellWriter } from './cell-writer.js';
import { PlainConverter } from './plain.js';
import { type Viewable, viewOf } from './plain-view.js';
import { type MappedEntity, shapeOf } from './shape.js';

/** The most cached readers of projections for each entity. */
const KEPT_PROJECTIONS = 64;

/**
 * The mapper of one entity, compiled once. Loaded objects have the class's prototype, but neither constructor nor
 * field initializers run: all values come from the row. Every declared property exists, undefined without a cell.
 */
export class CompiledMapper<E extends object> implements EntityMapper<E> {
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

  fromResult(result: Result): E | null {
    return this.reader.read(result) as E | null;
  }

  fromRaw(raw: RawRow): E | null {
    return this.reader.readRaw(raw) as E | null;
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
 * and mend.
 */
export function compileSchema(
  entities: readonly EntityClass[],
  markers?: MarkerFamilies,
  subscribers?: readonly EntitySubscriber[],
): Schema {
  return compileDeclarations(entities, (entity) => new CompiledMapper(entity), markers, subscribers);
}

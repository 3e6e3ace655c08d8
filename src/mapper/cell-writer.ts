import { compareBytes, concatBytes, equalBytes, toStringBinary } from '../bytes/index.js';
import { isLost } from '../codec/index.js';
import { generated } from '../codegen/generated.js';
import { InvalidArgumentError, RowanError } from '../errors.js';
import { BaseCodec, KeyWriter } from '../key/codecs/index.js';
import type { ColumnSchema, ColumnWindow, EntityPacking } from '../schema/types.js';
import { describe, isInstance, isList, isPlainObject, isRecord } from '../table/checks.js';
import { CellType, Delete, type Durability, PackedPuts, Put } from '../table/index.js';
import {
  type MappedEntity,
  type ObjectShape,
  readPlainly,
  refuseEmbedded,
  shapeOf,
  shapeSource,
} from './shape.js';

const INITIAL_PACKED_BYTES = 1 << 13;
/** A longer buffer is not kept, so that one large batch does not occupy memory for ever. */
const MAX_SPARE_BYTES = 1 << 20;

/** The allowed properties of an embedded object. */
interface EmbeddedNames {
  readonly property: string;
  readonly known: ReadonlySet<string>;
  readonly inner: readonly EmbeddedNames[];
}

/**
 * Builds mutations from objects: a put of every column with a value, a delete of columns that are null. Undefined
 * leaves the stored cell unchanged. No column is in both, because the delete would hide a put with the same
 * timestamp.
 */
export class CellWriter {
  private readonly writeColumns: ColumnsWriter;
  private readonly known: ReadonlySet<string>;
  private readonly embedded: readonly EmbeddedNames[];
  /** The property names of the last plain object, in order. All are known. */
  private readonly lastNames: string[] = [];
  private readonly mayExpire: boolean;
  private readonly packColumns: ColumnsPacker | undefined;
  /** The columns of packed puts: the entity's, and the marker's. */
  private readonly packedColumns: readonly Pick<ColumnSchema, 'family' | 'qualifier'>[];
  /** The memory of a packing that was released, for the next one. */
  private spare: { readonly out: KeyWriter; readonly puts: PackedPuts } | undefined;

  constructor(
    private readonly entity: MappedEntity,
    shape: ObjectShape = shapeOf(entity),
  ) {
    this.writeColumns = generateColumnsWriter(
      entity,
      shape,
      (column, value, put, del) => this.writeMany(column, value, put, del),
      (column, cause) => this.failure(column, (cause as Error).message, cause),
    );
    this.known = new Set([
      ...entity.key.parts.map((part) => part.name),
      ...shape.properties.map((property) => property.name),
      ...(entity.timeToLive.property === undefined ? [] : [entity.timeToLive.property]),
      ...entity.relations.keys(),
    ]);
    this.embedded = embeddedNames(shape);
    const { property, milliseconds } = entity.timeToLive;
    this.mayExpire = property !== undefined || milliseconds !== undefined;
    this.packColumns = this.mayExpire
      ? undefined
      : generateColumnsPacker(entity, shape, (column, cause) =>
          this.failure(column, (cause as Error).message, cause),
        );
    this.packedColumns = entity.marker === undefined ? entity.columns : [...entity.columns, entity.marker];
  }

  /** As {@link EntityMapper.packing}. */
  packing(durability: Durability): EntityPacking | undefined {
    const { packColumns } = this;
    if (packColumns === undefined) return undefined;
    const puts = new PackedPuts(this.packedColumns, durability);
    const { spare, packedColumns } = this;
    this.spare = undefined;
    if (spare !== undefined) puts.reuse(spare.puts);
    const out = spare?.out ?? new KeyWriter(INITIAL_PACKED_BYTES);
    out.length = 0;
    const add = (entity: Readonly<Record<string, unknown>>, row: Uint8Array): boolean => {
      this.checkProperties(entity);
      if (this.embedded.length > 0) this.checkEmbedded(entity, this.embedded, '');
      const { cellCount } = puts;
      puts.reserve(packedColumns.length);
      if (!packColumns(entity, out, puts) || puts.cellCount === cellCount) return false;
      puts.endRow(row);
      puts.bytes = out.buffer;
      return true;
    };
    const release = (): void => {
      if (out.buffer.length <= MAX_SPARE_BYTES && puts.cells.byteLength <= MAX_SPARE_BYTES)
        this.spare = { out, puts };
    };
    return { puts, add, release };
  }

  /** @throws RowanError `ERR_CODEC` with entity and property, `ERR_INVALID_ARGUMENT` on a property that is not declared. */
  write(source: Readonly<Record<string, unknown>>, row: Uint8Array, timestamp?: number): (Put | Delete)[] {
    this.checkProperties(source);
    if (this.embedded.length > 0) this.checkEmbedded(source, this.embedded, '');
    const put = new Put(row, timestamp);
    const del = this.writeColumns(source, put);
    if (this.mayExpire) this.setTtl(put, source);
    if (put.cells.length > 0) return del === undefined ? [put] : [put, del];
    if (del !== undefined) return [del];
    throw new InvalidArgumentError(
      `Entity "${this.entity.name}": there is nothing to write, every column is undefined, and the entity has no ` +
        'marker cell that would say that the row exists. Give a column a value.',
      { details: { entity: this.entity.name } },
    );
  }

  /** An undeclared property of a plain object is a mistake. Class instances may have other fields. */
  private checkProperties(source: Readonly<Record<string, unknown>>): void {
    if (!isPlainObject(source)) return;
    // Objects written together mostly have the same properties in the same order.
    const { lastNames } = this;
    let index = 0;
    for (const name in source) {
      if (name !== lastNames[index]) {
        if (!this.known.has(name)) {
          if (source[name] !== undefined) throw this.unknownProperty(name, this.known);
          continue;
        }
        lastNames[index] = name;
      }
      index++;
    }
  }

  /** As `checkProperties`, for embedded plain objects. */
  private checkEmbedded(source: object, embedded: readonly EmbeddedNames[], path: string): void {
    for (const { property, known, inner } of embedded) {
      const value = (source as Readonly<Record<string, unknown>>)[property] as
        | Readonly<Record<string, unknown>>
        | null
        | undefined;
      if (typeof value !== 'object' || value === null) continue;
      if (!isRecord(value) || value instanceof Date || isLost(value))
        refuseEmbedded(`${path}${property}`, value);
      const at = `${path}${property}.`;
      for (const name in isPlainObject(value) ? value : {}) {
        if (known.has(name) || value[name] === undefined) continue;
        throw this.unknownProperty(
          `${at}${name}`,
          [...known].map((stored) => `${at}${stored}`),
        );
      }
      this.checkEmbedded(value, inner, at);
    }
  }

  private unknownProperty(name: string, stored: Iterable<string>): InvalidArgumentError {
    return new InvalidArgumentError(
      `Entity "${this.entity.name}" has no stored property "${name}". Declare it with @Column, or leave it out. ` +
        `Its properties are ${[...stored].join(', ')}.`,
      { details: { entity: this.entity.name, property: name } },
    );
  }

  private setTtl(put: Put, source: Readonly<Record<string, unknown>>): void {
    const { property, milliseconds } = this.entity.timeToLive;
    const own = property === undefined ? undefined : source[property];
    const ttl = own === undefined || own === null ? milliseconds : own;
    if (ttl === undefined) return;
    if (typeof ttl !== 'number' || !Number.isSafeInteger(ttl) || ttl <= 0) {
      throw new InvalidArgumentError(
        `Entity "${this.entity.name}", property "${property}": a time to live is a whole number of milliseconds above 0, not ${describe(ttl)}.`,
        { details: { entity: this.entity.name, property } },
      );
    }
    put.setTtl(ttl);
  }

  private writeMany(
    column: ColumnSchema,
    value: unknown,
    put: Put,
    del: Delete | undefined,
  ): Delete | undefined {
    if (column.kind === 'versions') return this.writeVersions(column, value, put, del);
    if (!isInstance(value, Map)) {
      const remedy =
        value === null
          ? 'Null cannot delete columns whose names are not known: set the entries to null one by one.'
          : 'Give a Map from qualifier to value.';
      throw this.failure(column, `${describe(value)} is no Map. ${remedy}`);
    }
    let deletes = del;
    const { window } = column;
    const start = window === undefined ? 0 : this.entity.key.bucketStart(put.row, window.part, window.width);
    for (const [key, inner] of value as Map<unknown, unknown>) {
      const suffix = window === undefined ? key : this.offset(column, window, start, key);
      const qualifier = this.dynamicQualifier(column, suffix);
      if (inner === null) deletes = deleteColumn(deletes, put, column.family, qualifier);
      else if (inner !== undefined)
        pushCell(put, column.family, qualifier, put.timestamp, this.encode(column, inner));
    }
    return deletes;
  }

  private offset(column: ColumnSchema, window: ColumnWindow, start: number, key: unknown): number {
    const ms = typeof key === 'number' ? key - start : Number.NaN;
    if (ms >= 0 && ms < window.width && ms % window.unit === 0) return ms / window.unit;
    const given = typeof key === 'number' ? `${key} (${dateText(key)})` : describe(key);
    const span = `${dateText(start)} to ${dateText(start + window.width)} (exclusive)`;
    throw this.failure(
      column,
      `the key ${given} of an entry is no time in ms within the row's span, ${span}, in whole ${window.unit === 1 ? 'milliseconds' : 'seconds'}. Put it into the row of its own span.`,
    );
  }

  private dynamicQualifier(column: ColumnSchema, key: unknown): Uint8Array {
    let rest: Uint8Array;
    try {
      rest = column.qualifierCodec!.encode(key);
    } catch (cause) {
      throw this.failure(column, `the key of an entry is refused. ${(cause as Error).message}`, cause);
    }
    const qualifier = concatBytes(column.qualifier, rest);
    const { marker } = this.entity;
    if (marker?.family === column.family && equalBytes(marker.qualifier, qualifier)) {
      throw this.failure(
        column,
        `"${toStringBinary(qualifier)}" is the qualifier of the entity's marker cell. Give the property a prefix, or pin the marker to another family.`,
      );
    }
    return qualifier;
  }

  private writeVersions(
    column: ColumnSchema,
    value: unknown,
    put: Put,
    del: Delete | undefined,
  ): Delete | undefined {
    if (value === null) return deleteColumn(del, put, column.family, column.qualifier);
    if (!isList(value)) {
      throw this.failure(
        column,
        `${describe(value)} is no list of versions. Give [{ value, timestamp }, ...].`,
      );
    }
    const seen = new Set<number>();
    for (const version of value as readonly { value: unknown; timestamp?: number }[]) {
      if (!isRecord(version)) {
        throw this.failure(column, `${describe(version)} is no version. Give [{ value, timestamp }, ...].`);
      }
      const timestamp = version.timestamp ?? put.timestamp;
      if (seen.has(timestamp)) throw this.failure(column, `two versions have the timestamp ${timestamp}.`);
      seen.add(timestamp);
      put.addColumn(column.family, column.qualifier, this.encode(column, version.value), timestamp);
    }
    return del;
  }

  private encode(column: ColumnSchema, value: unknown): Uint8Array {
    try {
      return column.codec.encode(value);
    } catch (cause) {
      throw this.failure(column, (cause as Error).message, cause);
    }
  }

  private failure(column: ColumnSchema, what: string, cause?: unknown): RowanError {
    return new RowanError(
      'ERR_CODEC',
      `Entity "${this.entity.name}", property "${column.property}" (${column.family}:${toStringBinary(column.qualifier)}): ${what}`,
      {
        cause,
        details: {
          entity: this.entity.name,
          property: column.property,
          table: this.entity.tableName,
          family: column.family,
        },
      },
    );
  }
}

/**
 * As `Put.addColumn`, without its checks: family, qualifier and timestamp were checked when the schema was compiled.
 */
function pushCell(
  put: Put,
  family: string,
  qualifier: Uint8Array,
  timestamp: number,
  value: Uint8Array,
): void {
  put.cells.push({ family, qualifier, timestamp, type: CellType.Put, value });
}

function dateText(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? 'no date' : date.toISOString();
}

function embeddedNames({ properties }: ObjectShape): EmbeddedNames[] {
  return properties.flatMap((property) => {
    if (property.kind !== 'embedded') return [];
    const known = new Set(property.shape.properties.map(({ name }) => name));
    return [{ property: property.name, known, inner: embeddedNames(property.shape) }];
  });
}

// — Generates the function that writes the columns of objects for an entity: one step for each column, in the order of
// cells. Each step has its own codec and property, so that calls on the hot path are monomorphic.

/** Adds a cell to the put for every column with a value. Returns the delete of null columns, if any. */
type ColumnsWriter = (source: object, put: Put) => Delete | undefined;

/** Writes a property of several cells. */
type ManyWriter = (
  column: ColumnSchema,
  value: unknown,
  put: Put,
  del: Delete | undefined,
) => Delete | undefined;

/** Creates the error of a value that a codec refused. */
type EncodeFailure = (column: ColumnSchema, cause: unknown) => Error;

/** A shared buffer: nothing here is re-entrant. */
const shared = new KeyWriter();

/**
 * Appends the values and the cells of all columns, for which there is room. False, and no cell is added: a column needs a delete or
 * several cells, or a required one has no value.
 */
type ColumnsPacker = (source: object, out: KeyWriter, puts: PackedPuts) => boolean;

/** The generated packer of all columns of a shape. Undefined where code may not be generated. */
function generateColumnsPacker(
  entity: MappedEntity,
  shape: ObjectShape,
  failure: EncodeFailure,
): ColumnsPacker | undefined {
  const { columns, marker } = entity;
  const locals = columns.map((_, i) => `const k${i} = columns[${i}], c${i} = k${i}.codec;`);
  const variables = ['encoding', ...columns.map((_, i) => `v${i}`)];
  const steps = columns.map(packingSource);
  if (marker !== undefined)
    steps.splice(markerPlace(entity), 0, `    out.append(markerValue); ${packedCell(columns.length)}`);
  const body = `${locals.join('\n')}
return function packColumns(o, out, puts) {
  const cells = puts.cells, valueEnds = puts.valueEnds;
  let count = puts.cellCount, ${variables.join(', ')};
${shapeSource(shape).reads.join('\n')}
  try {
${steps.join('\n')}
  } catch (cause) {
    throw encoding === undefined ? cause : failure(encoding, cause);
  }
  puts.cellCount = count;
  return true;
};`;
  const given = { columns, markerValue: marker?.value, refuse: refuseEmbedded, failure };
  return generated<ColumnsPacker | undefined>(given, body, () => undefined);
}

function packingSource({ kind, codec, required }: ColumnSchema, i: number): string {
  const refused = required ? `    if (v${i} === undefined) return false;\n` : '';
  if (kind !== 'column' && kind !== 'counter') return `${refused}    if (v${i} !== undefined) return false;`;
  const value = codec instanceof BaseCodec ? `c${i}.write(v${i}, out)` : `out.append(c${i}.encode(v${i}))`;
  return `${refused}    if (v${i} === null) return false;
    if (v${i} !== undefined) { encoding = k${i}; ${value}; ${packedCell(i)} }`;
}

function packedCell(column: number): string {
  return `cells[count] = ${column}; valueEnds[count++] = out.length;`;
}

/** The index of the first column whose cell is behind the marker's, by qualifier: cells in order are cheaper to store. */
function markerPlace({ columns, marker }: MappedEntity): number {
  if (marker === undefined) return 0;
  let place = Math.max(
    0,
    columns.findIndex(({ family }) => family === marker.family),
  );
  const isBefore = ({ family, qualifier }: ColumnSchema): boolean =>
    family === marker.family && compareBytes(qualifier, marker.qualifier) < 0;
  while (place < columns.length && isBefore(columns[place]!)) place++;
  return place;
}

/** Codecs with an `encode` of their own are faster than through a buffer. */
function isBuffered(codec: ColumnSchema['codec']): boolean {
  return codec instanceof BaseCodec && codec.encode === BaseCodec.prototype.encode;
}

/** The generated writer of all columns of a shape. */
function generateColumnsWriter(
  entity: MappedEntity,
  shape: ObjectShape,
  many: ManyWriter,
  failure: EncodeFailure,
): ColumnsWriter {
  const { columns, marker } = entity;
  const locals = columns.map(
    (_, i) => `const k${i} = columns[${i}], c${i} = k${i}.codec, q${i} = k${i}.qualifier;`,
  );
  const variables = ['del', 'encoding', ...columns.map((_, i) => `v${i}`)];
  const steps = columns.map(stepSource);
  if (marker !== undefined)
    steps.splice(
      markerPlace(entity),
      0,
      `    cells.push(${cellSource(marker.family, 'marker', 'markerValue')});`,
    );
  const body = `${locals.join('\n')}
return function writeColumns(o, put) {
  const cells = put.cells, timestamp = put.timestamp;
  let ${variables.join(', ')};
${shapeSource(shape).reads.join('\n')}
  try {
${steps.join('\n')}
  } catch (cause) {
    throw encoding === undefined ? cause : failure(encoding, cause);
  }
  return del;
};`;
  const given = {
    columns,
    marker: marker?.qualifier,
    markerValue: marker?.value,
    out: shared,
    many,
    deleteColumn,
    refuse: refuseEmbedded,
    failure,
  };
  return generated(given, body, () => plainWriter(entity, shape, many, failure));
}

function plainWriter(
  entity: MappedEntity,
  shape: ObjectShape,
  many: ManyWriter,
  failure: EncodeFailure,
): ColumnsWriter {
  const { columns, marker } = entity;
  const place = markerPlace(entity);
  return (source, put) => {
    const values = readPlainly(shape, source, refuseEmbedded);
    let del: Delete | undefined;
    const mark = (at: number): void => {
      if (at === place && marker !== undefined) put.addColumn(marker.family, marker.qualifier, marker.value);
    };
    columns.forEach((column, slot) => {
      mark(slot);
      const value = values[slot];
      if (value === undefined) return;
      const { kind, family, qualifier, codec } = column;
      if (kind !== 'column' && kind !== 'counter') del = many(column, value, put, del);
      else if (value === null) del = deleteColumn(del, put, family, qualifier);
      else
        put.addColumn(
          family,
          qualifier,
          encoded(column, () => codec.encode(value), failure),
        );
    });
    mark(columns.length);
    return del;
  };
}

function encoded(column: ColumnSchema, encode: () => Uint8Array, failure: EncodeFailure): Uint8Array {
  try {
    return encode();
  } catch (cause) {
    throw failure(column, cause);
  }
}

function stepSource({ kind, family, codec }: ColumnSchema, i: number): string {
  if (kind !== 'column' && kind !== 'counter') {
    return `    if (v${i} !== undefined) { encoding = undefined; del = many(k${i}, v${i}, put, del); }`;
  }
  const buffered = isBuffered(codec);
  const value = buffered ? 'out.copy()' : `c${i}.encode(v${i})`;
  return `    if (v${i} === null) del = deleteColumn(del, put, ${JSON.stringify(family)}, q${i});
    else if (v${i} !== undefined) {
      encoding = k${i};
      ${buffered ? `out.length = 0; c${i}.write(v${i}, out);` : ''}
      cells.push(${cellSource(family, `q${i}`, value)});
    }`;
}

/**
 * As `Put.addColumn`, without its checks: family, qualifier and timestamp were checked when the schema was compiled.
 */
function cellSource(family: string, qualifier: string, value: string): string {
  const name = JSON.stringify(family);
  return `{ family: ${name}, qualifier: ${qualifier}, timestamp, type: ${CellType.Put}, value: ${value} }`;
}

/** The delete with one more column. */
function deleteColumn(del: Delete | undefined, put: Put, family: string, qualifier: Uint8Array): Delete {
  return (del ?? new Delete(put.row, put.timestamp)).addColumns(family, qualifier);
}

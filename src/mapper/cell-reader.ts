import { compareBytes, equalBytes, toHex, toStringBinary } from '../bytes/index.js';
import { generated } from '../codegen/generated.js';
import { RowanError } from '../errors.js';
import { BaseCodec } from '../key/codecs/index.js';
import { hasOnlyShadow, isShadow } from '../schema/own-cells.js';
import { type ColumnSchema, type ColumnWindow, isSingleCell, type ValueCodec } from '../schema/types.js';
import type { Cell, RawRow, Result } from '../table/index.js';
import {
  type MappedEntity,
  type ObjectShape,
  type ShapeCode,
  shapeCode,
  shapeSource,
  slotsOf,
} from './shape.js';

/** The expected columns of one family: indexes `from` to `to` - 1. */
interface FamilySpan {
  readonly from: number;
  readonly to: number;
}

const NOTHING: FamilySpan = { from: 0, to: 0 };

/** An older value of a column, for `@Versions`. */
interface StoredVersion {
  readonly value: unknown;
  readonly timestamp: number;
}

/**
 * Builds objects from results. Cells and expected columns are both in the order of family and qualifier: one walk
 * over both decodes expected cells and skips others.
 */
export class CellReader {
  private readonly columns: ExpectedColumn[] = [];
  private readonly families = new Map<string, FamilySpan>();
  private readonly code: ShapeCode;
  /** The marker of entities that expire as a whole: columns may outlive it for a moment. */
  private readonly lifeSign: MappedEntity['marker'];
  /** The property that gets the start of the row's time bucket. */
  private readonly window: string | undefined;
  private readonly windowOf: ColumnWindow | undefined;
  /** The generated reader, where every property is a single cell and code may be generated. */
  private readonly rawReader: RawReader | undefined;

  constructor(
    private readonly entity: MappedEntity,
    shape: ObjectShape,
  ) {
    this.code = shapeCode(shape);
    this.lifeSign = entity.timeToLive.lifelong ? entity.marker : undefined;
    this.window = shape.properties.find((property) => property.kind === 'window')?.name;
    this.windowOf = entity.columns.find((column) => column.window?.part === this.window)?.window;
    const wanted = new Set(slotsOf(shape));
    entity.columns.forEach((column, slot) => {
      if (!wanted.has(slot)) return;
      const single = isSingleCell(column);
      this.columns.push(
        new ExpectedColumn(column, slot, column.qualifier, column.codec, single, column.kind === 'columns'),
      );
    });
    const allSingle = this.window === undefined && this.columns.every((column) => column.single);
    this.rawReader = allSingle ? this.generate(shape) : undefined;
    this.columns.forEach(({ schema }, index) => {
      const from = this.families.get(schema.family)?.from ?? index;
      this.families.set(schema.family, { from, to: index + 1 });
    });
  }

  /** @throws RowanError of the key's or a column's codec, with entity, property and key. */
  read(result: Result): object | null {
    if (this.isAbsent(result)) return null;
    const entity = this.code.create();
    this.entity.key.decodeInto(result.row, entity as Record<string, unknown>);
    if (this.window !== undefined) this.setWindow(entity, result.row);
    const cells = result.cells;
    let family: string | undefined;
    let next = 0;
    let end = 0;
    let collector: Collector | undefined;
    for (let i = 0; i < cells.length; i++) {
      const cell = cells[i]!;
      if (cell.family !== family) {
        family = cell.family;
        const span = this.families.get(family) ?? NOTHING;
        next = span.from;
        end = span.to;
        collector = undefined;
      }
      while (next < end) {
        const column = this.columns[next]!;
        const order = compareColumn(cell.qualifier, column);
        if (order < 0) break;
        if (order > 0) {
          next++;
          collector = undefined;
          continue;
        }
        if (column.single) {
          next++;
          this.code.assign(entity, column.slot, this.decode(column, cell));
        } else {
          collector ??= this.startCollecting(entity, column);
          this.collect(column, cell, collector);
        }
        break;
      }
    }
    return entity;
  }

  /** As `read`, from a raw row. @throws as `read`. */
  readRaw(raw: RawRow): object | null {
    if (raw.count === 0 || (this.lifeSign !== undefined && !this.lives(raw))) return null;
    if (raw.count === 1) {
      const [family, qualifier] = [raw.families[0]!, raw.qualifiers[0]!];
      if (isShadow(this.entity.marker, { family, qualifier })) return null;
    }
    if (this.rawReader !== undefined) return this.rawReader(raw);
    // Maps and histories keep references to cells.
    return this.read(raw.toResult());
  }

  private isAbsent(result: Result): boolean {
    const { lifeSign } = this;
    const { cells } = result;
    if (hasOnlyShadow(this.entity.marker, cells)) return true;
    return lifeSign !== undefined && result.getLatest(lifeSign.family, lifeSign.qualifier) === undefined;
  }

  private lives(raw: RawRow): boolean {
    const { family, qualifier } = this.lifeSign!;
    for (let i = 0; i < raw.count; i++) {
      if (raw.families[i] === family && equalBytes(raw.qualifiers[i]!, qualifier)) return true;
    }
    return false;
  }

  private generate(shape: ObjectShape): RawReader | undefined {
    const columns = this.columns.map(({ schema, slot }) => ({ column: schema, slot }));
    return generateRawReader(this.entity, shape, columns, (column, raw, cell, cause) =>
      this.failure(this.columns[column]!.schema, raw.toResult().cells[cell]!, cause),
    );
  }

  private setWindow(entity: object, row: Uint8Array): void {
    Reflect.set(entity, this.window!, new Date(startOf(this.entity, row, this.windowOf!)));
  }

  private startCollecting(entity: object, column: ExpectedColumn): Collector {
    if (column.schema.kind === 'versions') {
      const versions: StoredVersion[] = [];
      this.code.assign(entity, column.slot, versions);
      return versions;
    }
    const map = new Map<unknown, unknown>();
    this.code.assign(entity, column.slot, map);
    return { map, last: undefined };
  }

  private collect(column: ExpectedColumn, cell: Cell, collector: Collector): void {
    if (Array.isArray(collector)) {
      collector.push({ value: this.decode(column, cell), timestamp: cell.timestamp });
      return;
    }
    const { marker } = this.entity;
    if (marker?.family === cell.family && equalBytes(marker.qualifier, cell.qualifier)) return;
    // Newest first: another cell with the same qualifier is an older version.
    if (collector.last !== undefined && equalBytes(collector.last, cell.qualifier)) return;
    collector.last = cell.qualifier;
    collector.map.set(this.decodeKey(column, cell), this.decode(column, cell));
  }

  private decode(column: ExpectedColumn, cell: Cell): unknown {
    try {
      return column.codec.decode(cell.value);
    } catch (cause) {
      throw this.failure(column.schema, cell, cause);
    }
  }

  private decodeKey(column: ExpectedColumn, cell: Cell): unknown {
    const { qualifierCodec, window } = column.schema;
    try {
      const key = qualifierCodec!.decode(cell.qualifier.subarray(column.qualifier.length));
      if (window === undefined) return key;
      return startOf(this.entity, cell.row, window) + (key as number) * window.unit;
    } catch (cause) {
      throw this.failure(column.schema, cell, cause);
    }
  }

  private failure(column: ColumnSchema, cell: Cell, cause: unknown): RowanError {
    const name = `${column.family}:${toStringBinary(column.qualifier)}`;
    return new RowanError(
      'ERR_CODEC',
      `Entity "${this.entity.name}", property "${column.property}" (${name}) of row ${toStringBinary(cell.row)}: ` +
        `the stored ${cell.value.length} bytes cannot be read by ${column.codec.name}. ${(cause as Error).message}`,
      {
        cause,
        details: {
          entity: this.entity.name,
          property: column.property,
          table: this.entity.tableName,
          family: column.family,
          key: keyOrUndefined(this.entity, cell.row),
          keyHex: toHex(cell.row),
        },
      },
    );
  }
}

type Collector = StoredVersion[] | { readonly map: Map<unknown, unknown>; last: Uint8Array | undefined };

/** The start of the row's time bucket. */
function startOf(entity: MappedEntity, row: Uint8Array, { part, width }: ColumnWindow): number {
  return entity.key.bucketStart(row, part, width);
}

function keyOrUndefined(entity: MappedEntity, row: Uint8Array): unknown {
  return entity.key.matches(row) ? entity.key.decode(row) : undefined;
}

/** Negative: the cell is before the column and belongs to no expected one. Positive: the column has no cell. */
function compareColumn(qualifier: Uint8Array, column: ExpectedColumn): number {
  if (qualifier === column.seen) return 0;
  const wanted = column.qualifier;
  const length = qualifier.length < wanted.length ? qualifier.length : wanted.length;
  for (let i = 0; i < length; i++) {
    const difference = qualifier[i]! - wanted[i]!;
    if (difference !== 0) return difference;
  }
  const difference = qualifier.length - wanted.length;
  if (difference > 0 && column.prefix) return 0;
  if (difference === 0) column.seen = qualifier;
  return difference;
}

// — Generates the reader of raw rows for an entity: one step for each expected column, in the order of cells. Each step
// has its own codec and property, so that calls on the hot path are monomorphic.

/** A single-cell column with its slot. */
interface SingleColumn {
  readonly column: ColumnSchema;
  readonly slot: number;
}

type RawReader = (raw: RawRow) => object;

/** Creates the error of a value that cannot be decoded, from the indexes of column and cell. */
type RawFailure = (column: number, raw: RawRow, cell: number, cause: unknown) => Error;

/**
 * The generated reader of a shape of single-cell columns, given in the order of cells. Undefined where code may not
 * be generated; the reader of results is used then.
 */
function generateRawReader(
  entity: MappedEntity,
  shape: ObjectShape,
  columns: readonly SingleColumn[],
  failure: RawFailure,
): RawReader | undefined {
  const { prototypes, constructors, places } = shapeSource(shape);
  const families = new Set(columns.map(({ column }) => column.family));
  const [only] = families.size === 1 ? families : [];
  const steps = columns.map((single, index) =>
    stepSource(single, index, places.get(single.slot)!, only !== undefined),
  );
  const locals = columns.map(
    (_, i) => `const c${i} = codecs[${i}], b${i} = qualifiers[${i}]; let s${i} = b${i};`,
  );
  const body = `${constructors.join('\n')}
${locals.join('\n')}
return function readRaw(raw) {
  const o = new H0();
  key.decodeInto(raw.row, o);
  const { families, qualifiers, bytes, starts, ends, count } = raw;
  let i = 0, at = 0, q, order;
${only === undefined ? '' : othersSource(only)}  try {
${steps.join('\n')}
  } catch (cause) {
    throw failure(at, raw, i, cause);
  }
  return o;
};`;
  const given = {
    prototypes,
    codecs: columns.map(({ column }) => column.codec),
    qualifiers: columns.map(({ column }) => column.qualifier),
    key: entity.key,
    compare: compareBytes,
    familyBefore,
    failure,
  };
  return generated<RawReader | undefined>(given, body, () => undefined);
}

/** Skips cells before the column, and reads the column's cell if there is one. */
function stepSource({ column }: SingleColumn, index: number, place: string, only: boolean): string {
  const family = JSON.stringify(column.family);
  const value =
    column.codec instanceof BaseCodec
      ? `c${index}.read(bytes, starts[i], ends[i])`
      : `c${index}.decode(raw.valueAt(i))`;
  return `    at = ${index};
    while (i < count) {
      if (${only ? 'others && ' : ''}families[i] !== ${family}) {
        if (familyBefore(families[i], ${family})) { i++; continue; }
        break;
      }
      q = qualifiers[i];
      if (q !== s${index}) {
        order = compare(q, b${index});
        if (order < 0) { i++; continue; }
        if (order > 0) break;
        s${index} = q;
      }
      ${place} = ${value};
      i++;
      break;
    }`;
}

/** Whether cells of other families exist: the first and the last cell tell. */
function othersSource(family: string): string {
  const name = JSON.stringify(family);
  return `  const others = count > 0 && (families[0] !== ${name} || families[count - 1] !== ${name});\n`;
}

/** Families are in the byte order of their names. */
function familyBefore(family: string, wanted: string): boolean {
  return Buffer.compare(Buffer.from(family), Buffer.from(wanted)) < 0;
}

/** An expected column. One class for all, so that the loop over cells is monomorphic. */
class ExpectedColumn {
  /** The qualifier object found equal last: engines may share it between rows, and then bytes need not be compared. */
  seen: Uint8Array;

  constructor(
    readonly schema: ColumnSchema,
    readonly slot: number,
    readonly qualifier: Uint8Array,
    readonly codec: ValueCodec<unknown>,
    /** Whether one cell is the value. Otherwise a Map (`columns`) or history (`versions`) is filled. */
    readonly single: boolean,
    /** Whether the qualifier is a prefix of the cells' qualifiers. */
    readonly prefix: boolean,
  ) {
    this.seen = qualifier;
  }
}

import { compareBytes } from '../bytes/index.js';
import { generated } from '../codegen/generated.js';
import { BaseCodec } from '../key/codecs/index.js';
import type { ColumnSchema, ValueCodec } from '../schema/types.js';
import type { RawRow } from '../table/index.js';
import { type MappedEntity, type ObjectShape, shapeSource } from './shape.js';

/**
 * Reads raw rows by a function generated for the entity: one step for each expected column, in the order of cells. Each
 * step has its own codec and property, so that the machine code of the hot path has no call that it cannot see through.
 */

/** A column and its slot. All are of one cell. */
export interface SingleColumn {
  readonly column: ColumnSchema;
  readonly slot: number;
}

export type RawReader = (raw: RawRow) => object;

/** Makes the error of a value that cannot be decoded: the column by its place among those given, the cell by its own. */
export type RawFailure = (column: number, raw: RawRow, cell: number, cause: unknown) => Error;

/**
 * The generated reader of a shape all of whose columns are of one cell; `columns` in the order of cells. Undefined where
 * code may not be generated: the reader of results does the same.
 */
export function generateRawReader(
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

/** Passes over the cells before the column, and takes the column's own if there is one. */
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

/** Whether there are cells of other families than the only one: the first and the last cell tell. */
function othersSource(family: string): string {
  const name = JSON.stringify(family);
  return `  const others = count > 0 && (families[0] !== ${name} || families[count - 1] !== ${name});\n`;
}

/** Families come in the byte order of their names. */
function familyBefore(family: string, wanted: string): boolean {
  return Buffer.compare(Buffer.from(family), Buffer.from(wanted)) < 0;
}

/** One expected column. Of one class, so that the loop over cells stays monomorphic. */
export class ExpectedColumn {
  /** The qualifier object that was last found equal: engines may share one between rows, and then nothing is compared. */
  seen: Uint8Array;

  constructor(
    readonly schema: ColumnSchema,
    readonly slot: number,
    readonly qualifier: Uint8Array,
    readonly codec: ValueCodec<unknown>,
    /** One cell makes the value; otherwise a Map (`columns`) or a history (`versions`) is filled. */
    readonly single: boolean,
    /** The qualifier is what all cells of the property begin with. */
    readonly prefix: boolean,
  ) {
    this.seen = qualifier;
  }
}

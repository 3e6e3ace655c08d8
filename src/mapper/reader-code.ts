import { compareBytes } from '../bytes/index.js';
import { generated } from '../codegen/generated.js';
import { BaseCodec } from '../key/codecs/index.js';
import type { ColumnSchema, ValueCodec } from '../schema/types.js';
import type { RawRow } from '../table/index.js';
import { type MappedEntity, type ObjectShape, shapeSource } from './shape.js';

/**
 * Generates the reader of raw rows for an entity: one step for each expected column, in the order of cells. Each step
 * has its own codec and property, so that calls on the hot path are monomorphic.
 */

/** A single-cell column with its slot. */
export interface SingleColumn {
  readonly column: ColumnSchema;
  readonly slot: number;
}

export type RawReader = (raw: RawRow) => object;

/** Creates the error of a value that cannot be decoded, from the indexes of column and cell. */
export type RawFailure = (column: number, raw: RawRow, cell: number, cause: unknown) => Error;

/**
 * The generated reader of a shape of single-cell columns, given in the order of cells. Undefined where code may not
 * be generated; the reader of results is used then.
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
export class ExpectedColumn {
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

/**
 * Generates the function that writes the columns of objects for an entity: one step for each column, in the order of
 * cells. Each step has its own codec and property, so that calls on the hot path are monomorphic.
 */

import { generated } from '../codegen/generated.js';
import { BaseCodec, KeyWriter } from '../key/codecs/index.js';
import type { ColumnSchema } from '../schema/types.js';
import { CellType, Delete, type Put } from '../table/index.js';
import { type MappedEntity, type ObjectShape, readPlainly, refuseEmbedded, shapeSource } from './shape.js';

/** Adds a cell to the put for every column with a value. Returns the delete of null columns, if any. */
export type ColumnsWriter = (source: object, put: Put) => Delete | undefined;

/** Writes a property of several cells. */
export type ManyWriter = (
  column: ColumnSchema,
  value: unknown,
  put: Put,
  del: Delete | undefined,
) => Delete | undefined;

/** Creates the error of a value that a codec refused. */
export type EncodeFailure = (column: ColumnSchema, cause: unknown) => Error;

/** A shared buffer: nothing here is re-entrant. */
const shared = new KeyWriter();

/** The generated writer of all columns of a shape. */
export function generateColumnsWriter(
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
  const markerCell =
    marker === undefined ? '' : `    cells.push(${cellSource(marker.family, 'marker', 'markerValue')});`;
  const body = `${locals.join('\n')}
return function writeColumns(o, put) {
  const cells = put.cells, timestamp = put.timestamp;
  let ${variables.join(', ')};
${shapeSource(shape).reads.join('\n')}
  try {
${markerCell}
${columns.map(stepSource).join('\n')}
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
  { columns, marker }: MappedEntity,
  shape: ObjectShape,
  many: ManyWriter,
  failure: EncodeFailure,
): ColumnsWriter {
  return (source, put) => {
    const values = readPlainly(shape, source, refuseEmbedded);
    if (marker !== undefined) put.addColumn(marker.family, marker.qualifier, marker.value);
    let del: Delete | undefined;
    columns.forEach((column, slot) => {
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
  // Codecs with an `encode` of their own are faster than through a buffer.
  const buffered = codec instanceof BaseCodec && codec.encode === BaseCodec.prototype.encode;
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
export function deleteColumn(
  del: Delete | undefined,
  put: Put,
  family: string,
  qualifier: Uint8Array,
): Delete {
  return (del ?? new Delete(put.row, put.timestamp)).addColumns(family, qualifier);
}

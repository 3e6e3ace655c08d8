/** The entries of an index as puts that are made of the bytes of rows, so that the threads that read the rows can make them. */

import { EMPTY_BYTES } from '../../../bytes/index.js';
import { type BaseCodec, bytes, text } from '../../../key/codecs/index.js';
import { keyFormat, type StepFormat } from '../../../key/layout/index.js';
import { type ColumnSchema, isSingleCell, ROW_PART } from '../../../schema/types.js';
import type { CopiedValue, DerivedPiece, DerivedPuts, KeyForm } from '../../../table/index.js';
import { ENTRY_QUALIFIER, encodeEntryValue } from '../entry.js';
import { entriesOfCells } from './embedded-work.js';
import { type IndexTarget, isAlone } from './target.js';

/** Undefined where entries need more than bytes of cells: with salts, parts of the key, or codecs that do not copy them. */
export function derivedEntries(target: IndexTarget): Omit<DerivedPuts, 'maxRows'> | undefined {
  const { schema, all } = target.indexes;
  const { index } = all[0]!;
  // In other tables the threads cannot tell whose rows they read.
  if (!isAlone(target) || entriesOfCells(target) === undefined) return undefined;
  if (index.layout.stored !== index.layout || index.layout.substitutions.length > 0) return undefined;
  const source = keyFormat(schema.key.stored)?.map(formOf);
  const row = keyFormat(index.layout)?.map((step) => pieceOf(step, schema.columnsByProperty));
  if (!source?.every(isKnown) || !row?.every(isKnown)) return undefined;
  return {
    source,
    qualifier: ENTRY_QUALIFIER,
    row,
    head: encodeEntryValue({ ...index, included: [] }, EMPTY_BYTES, []),
    cells: index.included.map(({ family, qualifier }) => ({ family, qualifier })),
  };
}

function isKnown<T>(part: T | undefined): part is T {
  return part !== undefined;
}

function formOf(step: StepFormat): KeyForm | undefined {
  if (step.kind === 'constant') return { bytes: step.bytes };
  if (step.kind !== 'field') return undefined;
  const { ending, codec, inverted } = step;
  if (ending === 'length') return { length: codec.fixedLength! };
  if (ending === 'escaped') return { escaped: { mask: inverted ? 0xff : 0 } };
  return ending === 'row' ? 'rest' : undefined;
}

function pieceOf(step: StepFormat, columns: ReadonlyMap<string, ColumnSchema>): DerivedPiece | undefined {
  if (step.kind === 'constant') return { bytes: step.bytes };
  if (step.kind !== 'field') return undefined;
  const { name, codec, ending, inverted } = step;
  if (name === ROW_PART) return ending === 'row' ? 'row' : undefined;
  const column = columns.get(name);
  if (!isSingleCell(column) || column.codec !== codec) return undefined;
  const value = copiedValue(codec);
  const ended = ending === 'escaped';
  if (value === undefined || !(ended || ending === 'length')) return undefined;
  const { family, qualifier } = column;
  return { column: { family, qualifier }, value, ended, inverted };
}

/** Undefined: the bytes in a key may be others than those in a cell. */
function copiedValue(codec: BaseCodec<unknown>): CopiedValue | undefined {
  if (codec === text) return 'text';
  if (codec === bytes) return 'any';
  return codec.copied;
}

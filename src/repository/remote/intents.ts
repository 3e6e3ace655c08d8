/**
 * What is still to follow rows, on an engine whose one step is a row: noted before the row is written, removed when what
 * follows from it has been done. docs/formats.md has the bytes.
 *
 *     row      entity 00 | 00 | row of the entity
 *     o:token  (empty)                              a cell for each change that is under way
 */

import { concatBytes, copyBytes, EMPTY_BYTES, toBytes } from '../../bytes/index.js';
import type { EntitySchema } from '../../schema/types.js';
import { Delete, Put, type Result, type RowMutation } from '../../table/index.js';
import { OUTBOX_FAMILY } from '../denormalize/outbox.js';

const END = Uint8Array.of(0, 0);

/** A change of a row that is, or was, under way. */
export interface IntentMark {
  readonly token: Uint8Array;
  /** When it was noted last, by the engine's time. */
  readonly since: number;
}

/** A row that something is to follow from. */
export interface Intent {
  readonly row: Uint8Array;
  readonly entity: string;
  readonly target: Uint8Array;
  readonly marks: readonly IntentMark[];
}

export function intentRow({ name }: EntitySchema, target: Uint8Array): Uint8Array {
  return concatBytes(toBytes(name), END, target);
}

export function putIntent(row: Uint8Array, token: Uint8Array): RowMutation {
  return new Put(row).addColumn(OUTBOX_FAMILY, token, EMPTY_BYTES);
}

export function removeIntents(row: Uint8Array, tokens: readonly Uint8Array[]): RowMutation {
  const del = new Delete(row);
  for (const token of tokens) del.addColumns(OUTBOX_FAMILY, token);
  return del;
}

/** Undefined for what is none. */
export function readIntent({ row, cells }: Result): Intent | undefined {
  const end = row.indexOf(0);
  if (end < 0 || row[end + 1] !== 0) return undefined;
  const own = cells.filter(({ family }) => family === OUTBOX_FAMILY);
  return {
    row,
    entity: Buffer.from(row.subarray(0, end)).toString('utf8'),
    target: copyBytes(row, end + END.length),
    marks: own.map(({ qualifier, timestamp }) => ({ token: qualifier, since: timestamp })),
  };
}

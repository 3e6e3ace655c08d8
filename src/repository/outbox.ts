import { randomBytes } from 'node:crypto';
import { concatBytes, toBytes } from '../bytes/index.js';
import { Delete, Put, type Result, type TableDescriptor, tableDescriptor } from '../table/index.js';
import type { FollowUp } from './executor.js';

/**
 * Sources whose copies are still to be changed: more rows than one step is to change. docs/formats.md has the bytes.
 *
 *     row    entity 00 | name of the declaration 00 | row of the source
 *     o:t    8 random bytes, other ones for each change of the source
 */

/** FROZEN. */
export const OUTBOX_TABLE = 'rowan_outbox';
/** FROZEN. */
export const OUTBOX_FAMILY = 'o';
const TOKEN = toBytes('t');
const END = Uint8Array.of(0);

export function outboxDescriptor(): TableDescriptor {
  return tableDescriptor(OUTBOX_TABLE, { [OUTBOX_FAMILY]: {} });
}

/** A source that waits. */
export interface OutboxNote {
  readonly row: Uint8Array;
  readonly entity: string;
  readonly plan: string;
  readonly target: Uint8Array;
  readonly token: Uint8Array;
}

/** The note that the copies of a source are to be written again. `plan`: the declaration of the copies. */
export function noteOf(
  plan: { readonly entity: { readonly name: string }; readonly name: string },
  target: Uint8Array,
): FollowUp {
  const row = concatBytes(toBytes(plan.entity.name), END, toBytes(plan.name), END, target);
  return { table: OUTBOX_TABLE, mutation: new Put(row).addColumn(OUTBOX_FAMILY, TOKEN, randomBytes(8)) };
}

/** Undefined for what is no note. */
export function readNote(result: Result): OutboxNote | undefined {
  const { row } = result;
  const first = row.indexOf(0);
  const second = row.indexOf(0, first + 1);
  const token = result.getValue(OUTBOX_FAMILY, TOKEN);
  if (first < 0 || second < 0 || token === undefined) return undefined;
  const text = (from: number, to: number): string => Buffer.from(row.subarray(from, to)).toString('utf8');
  return {
    row,
    entity: text(0, first),
    plan: text(first + 1, second),
    target: row.slice(second + 1),
    token,
  };
}

export function deleteNote({ row }: OutboxNote): FollowUp {
  return { table: OUTBOX_TABLE, mutation: new Delete(row) };
}

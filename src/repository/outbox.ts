import { randomBytes } from 'node:crypto';
import { concatBytes, copyBytes, toBytes } from '../bytes/index.js';
import type { EntitySchema } from '../schema/types.js';
import {
  Delete,
  type Engine,
  Put,
  type Result,
  type RowMutation,
  type Scan,
  type TableDescriptor,
  tableDescriptor,
} from '../table/index.js';
import type { RowEffect } from './maintainer.js';

// — Sources whose copies are still to be changed: more rows than one step is to change. docs/formats.md has the bytes.
//
//     row    entity 00 | name of the declaration 00 | row of the source
//     o:t    8 random bytes, other ones for each change of the source

/** FROZEN. */
export const OUTBOX_TABLE = 'rowan_outbox';
/** FROZEN. */
const OUTBOX_FAMILY = 'o';
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
): RowEffect {
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

export function deleteNote({ row }: OutboxNote): RowEffect {
  return { table: OUTBOX_TABLE, mutation: new Delete(row) };
}

// — Intents, on engines whose one step is a row: noted before the row is written, removed when its effects have been settled.
// docs/formats.md has the bytes.
//
//     row      entity 00 | 00 | row of the entity
//     o:token  table of the entity                  a cell for each change that is under way. Earlier releases: (empty)

const ENTITY_END = Uint8Array.of(0, 0);

/** A change of a row that is, or was, under way. */
export interface IntentMark {
  readonly token: Uint8Array;
  /** When it was noted last, by the engine's time. */
  readonly since: number;
  /** The table of the row: programs may have entities of one name over different tables. Empty: unknown. */
  readonly table: string;
}

/** A row whose effects are to be settled. */
export interface Intent {
  readonly row: Uint8Array;
  readonly entity: string;
  readonly target: Uint8Array;
  readonly marks: readonly IntentMark[];
}

export function intentRow({ name }: EntitySchema, target: Uint8Array): Uint8Array {
  return concatBytes(toBytes(name), ENTITY_END, target);
}

export function putIntent(row: Uint8Array, token: Uint8Array, table: string): RowMutation {
  return new Put(row).addColumn(OUTBOX_FAMILY, token, toBytes(table));
}

/** Up to the position that was read, if given: a change that starts again adds itself once more. */
export function removeIntents(
  row: Uint8Array,
  marks: readonly (Pick<IntentMark, 'token'> & Partial<Pick<IntentMark, 'since'>>)[],
): RowMutation {
  const del = new Delete(row);
  for (const { token, since } of marks) del.addColumns(OUTBOX_FAMILY, token, since);
  return del;
}

/** The intents of a row of the outbox. Undefined for a row that holds a note. */
export function readIntent({ row, cells }: Result): Intent | undefined {
  const end = row.indexOf(0);
  if (end < 0 || row[end + 1] !== 0) return undefined;
  const own = cells.filter(({ family }) => family === OUTBOX_FAMILY);
  return {
    row,
    entity: Buffer.from(row.subarray(0, end)).toString('utf8'),
    target: copyBytes(row, end + ENTITY_END.length),
    marks: own.map(({ qualifier, timestamp, value }) => ({
      token: qualifier,
      since: timestamp,
      table: Buffer.from(value).toString('utf8'),
    })),
  };
}

/** Rows that wait in a queue. */
interface Waiting {
  /** Their cells, of at most as many rows as were asked for. */
  readonly count: number;
  /** The age of the oldest of these, ms; 0 if there is none. */
  readonly age: number;
}

/** Counts what waits in a queue: each cell of the scan is an item, as old as its timestamp. */
export async function waitingIn(engine: Engine, table: string, scan: Scan, limit: number): Promise<Waiting> {
  let count = 0;
  let oldest = Number.POSITIVE_INFINITY;
  for await (const { cells } of engine.table(table).scan(scan.setLimit(limit))) {
    count += cells.length;
    for (const { timestamp } of cells) oldest = Math.min(oldest, timestamp);
  }
  return { count, age: count === 0 ? 0 : Math.max(0, engine.now() - oldest) };
}

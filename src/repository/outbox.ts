import { randomBytes } from 'node:crypto';
import { concatBytes, copyBytes, toBytes } from '../bytes/index.js';
import type { EntitySchema } from '../schema/types.js';
import {
  canonicalTableName,
  Delete,
  type Engine,
  Get,
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
//     row          entity 00 | name of the declaration 00 | row of the source
//     o:t:TABLE    8 random bytes, other ones for each change of the source. TABLE: of the entity; earlier releases: o:t

/** FROZEN. */
export const OUTBOX_TABLE = 'rowan_outbox';
/** FROZEN. */
const OUTBOX_FAMILY = 'o';
const TOKEN = 't';
const END = Uint8Array.of(0);

export function outboxDescriptor(): TableDescriptor {
  return tableDescriptor(OUTBOX_TABLE, { [OUTBOX_FAMILY]: {} });
}

/** A source that waits. */
export interface OutboxNote {
  readonly row: Uint8Array;
  readonly entity: string;
  /** The table of the entity: a store may have entities of one name over different tables. Undefined: unknown. */
  readonly table: string | undefined;
  readonly plan: string;
  readonly target: Uint8Array;
  readonly qualifier: Uint8Array;
  readonly token: Uint8Array;
}

/** The declaration of copies, and the entity that holds them. */
interface NotedPlan {
  readonly entity: Pick<EntitySchema, 'name' | 'table'>;
  readonly name: string;
}

/** The note that the copies of a source are to be written again. */
export function noteOf({ entity, name }: NotedPlan, target: Uint8Array): RowEffect {
  const row = concatBytes(toBytes(entity.name), END, toBytes(name), END, target);
  const qualifier = toBytes(`${TOKEN}:${canonicalTableName(entity.table.descriptor.name)}`);
  return { table: OUTBOX_TABLE, mutation: new Put(row).addColumn(OUTBOX_FAMILY, qualifier, randomBytes(8)) };
}

/** Whether the note is of this declaration. Notes without a table are of every entity of their name. */
export function isNoteOf(note: OutboxNote, { entity, name }: NotedPlan): boolean {
  if (note.entity !== entity.name || note.plan !== name) return false;
  return note.table === undefined || note.table === canonicalTableName(entity.table.descriptor.name);
}

/** The notes in a row of the outbox, one for each table. Empty for a row that holds intents. */
export function readNotes({ row, cells }: Result): OutboxNote[] {
  const first = row.indexOf(0);
  const second = row.indexOf(0, first + 1);
  if (first < 0 || second <= first + 1) return [];
  const text = (from: number, to: number): string => Buffer.from(row.subarray(from, to)).toString('utf8');
  const entity = text(0, first);
  const plan = text(first + 1, second);
  const target = copyBytes(row, second + 1);
  return cells.flatMap(({ family, qualifier, value: token }): OutboxNote[] => {
    if (family !== OUTBOX_FAMILY) return [];
    const [kind, ...table] = Buffer.from(qualifier).toString('utf8').split(':');
    if (kind !== TOKEN) return [];
    const named = table.length === 0 ? undefined : table.join(':');
    return [{ row, entity, table: named, plan, target, qualifier, token }];
  });
}

/** Reads what is stored of a note: undefined once it is deleted, with another token once it is written again. */
export function getNote({ row, qualifier }: OutboxNote): Get {
  return new Get(row).addColumn(OUTBOX_FAMILY, qualifier);
}

export function deleteNote({ row, qualifier }: OutboxNote): RowEffect {
  return { table: OUTBOX_TABLE, mutation: new Delete(row).addColumns(OUTBOX_FAMILY, qualifier) };
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

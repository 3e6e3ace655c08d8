/** The rows of a summary's table; docs/summaries.md has the bytes. */

import { concatBytes, copyBytes, EMPTY_BYTES, toBytes, toLatin1 } from '../../bytes/index.js';
import { CorruptionError } from '../../errors.js';
import { FENCED } from '../../repository/index.js';
import type { ChangeStep } from '../../repository/maintainer.js';
import type { EntitySchema, SummarySchema } from '../../schema/types.js';
import {
  CheckAndMutate,
  Delete,
  type Filter,
  filters,
  Get,
  Increment,
  Put,
  type Result,
  RowMutations,
  type TableDescriptor,
  tableDescriptor,
} from '../../table/index.js';

/** FROZEN. */
export const SUMMARY_FAMILY = 's';
const STATE = toBytes('s');
const LIFE = toBytes('l');
const END = toBytes('e');

/** The name of the table that the summaries of a table stand in. */
export function summaryTableName(table: string): string {
  return `${table}_sum`;
}

export function summaryTableDescriptor(table: string): TableDescriptor {
  return tableDescriptor(summaryTableName(table), { [SUMMARY_FAMILY]: {} });
}

/** What rows begin with. FROZEN. */
export const RowKind = { state: 0, group: 1, life: 2, end: 3 } as const;
type CountRowKind = 1 | 2 | 3;

/** Where a summary stands. */
export interface SummaryStanding {
  readonly entity: string;
  readonly summary: string;
  readonly signature: string;
  /** The count that is asked; null: none yet. */
  readonly active: number | null;
  /** The count that is being made beside it. */
  readonly building: number | null;
  /** Rows up to this one, in hex, are in the count that is being made; null: none. `end`: all of them. */
  readonly cursor: string | null;
  /** The number of the next count. */
  readonly next: number;
  /** Counts below this number have been removed, but for those in use. */
  readonly purged: number;
  /** Whether rows ended by themselves when it was counted: what each has added stands beside the groups then. Earlier releases left it out. */
  readonly ends?: boolean;
}

export function stateRow(id: Uint8Array): Uint8Array {
  return concatBytes(Uint8Array.of(RowKind.state), id);
}

/** Of all summaries of a table. */
export const STATE_PREFIX: Uint8Array = Uint8Array.of(RowKind.state);

export function putStanding(id: Uint8Array, standing: SummaryStanding): Put {
  return new Put(stateRow(id)).addColumn(SUMMARY_FAMILY, STATE, JSON.stringify(standing));
}

/** Undefined when there is none. @throws CorruptionError on what is none. */
export function readStanding(result: Result): SummaryStanding | undefined {
  const value = result.getValue(SUMMARY_FAMILY, STATE);
  if (value === undefined) return undefined;
  try {
    const read = JSON.parse(Buffer.from(value).toString('utf8')) as Partial<SummaryStanding>;
    const numbers = [read.next, read.purged, read.active ?? 0, read.building ?? 0];
    if (numbers.every((one) => Number.isSafeInteger(one)) && typeof read.signature === 'string')
      return read as SummaryStanding;
  } catch {
    // Said below.
  }
  throw new CorruptionError(
    'What is kept of a summary cannot be read. Delete its row, and build it anew: rowan summary build.',
    { details: { keyHex: Buffer.from(result.row).toString('hex') } },
  );
}

export function standingOf(
  step: ChangeStep,
  schema: EntitySchema,
  { id }: SummarySchema,
): SummaryStanding | undefined {
  const table = summaryTableName(schema.table.descriptor.name);
  return readStanding(step.read(new Get(stateRow(id)), table));
}

/** What the rows of a count begin with. */
export function countPrefix(kind: CountRowKind, generation: number, id: Uint8Array): Uint8Array {
  const prefix = Buffer.alloc(5);
  prefix[0] = kind;
  prefix.writeUInt32BE(generation, 1);
  return concatBytes(new Uint8Array(prefix), id);
}

/** The bytes before the id: those of a group's layout begin with it. */
const BEFORE_ID = 5;

/** `group`: as the layout of the summary encodes it, the id in front. */
export function groupRow(generation: number, group: Uint8Array): Uint8Array {
  return concatBytes(countPrefix(RowKind.group, generation, EMPTY_BYTES), group);
}

/** As the layout of the summary decodes it. */
export function groupOf(row: Uint8Array): Uint8Array {
  return copyBytes(row, BEFORE_ID);
}

/** What rows add to a group: amounts by the qualifier (latin1) of their cells. */
export type Amounts = ReadonlyMap<string, bigint>;

/** What the columns of tokens begin with. FROZEN. */
const TOKENS = Uint8Array.of(0xff, 0xff, 0xff);
/** What stands in the column of a token. */
const TAKEN = new Uint8Array(8);

/** Of an amount; longer ones are the tokens of what a group has taken. */
const LONGEST_QUALIFIER = 2;

/** The amounts of a group's row. @throws CorruptionError when a cell is none. */
export function amountsOf(result: Result): Map<string, bigint> {
  const amounts = new Map<string, bigint>();
  for (const { qualifier, value, row } of result.cells) {
    if (qualifier.length > LONGEST_QUALIFIER) continue;
    if (value.length !== 8) {
      throw new CorruptionError('A figure of a summary cannot be read. Repair it: rowan summary repair.', {
        details: { keyHex: Buffer.from(row).toString('hex') },
      });
    }
    amounts.set(toLatin1(qualifier), Buffer.from(value).readBigInt64BE());
  }
  return amounts;
}

/** What adds amounts to a group; undefined: nothing. */
export function incrementOf(row: Uint8Array, amounts: Amounts): Increment | undefined {
  const increment = additionTo(row, amounts);
  return increment.columns.length === 0 ? undefined : increment;
}

function additionTo(row: Uint8Array, amounts: Amounts): Increment {
  const increment = new Increment(row).setReturnResults(false);
  for (const [qualifier, amount] of amounts) {
    if (amount !== 0n) increment.addColumn(SUMMARY_FAMILY, latin1(qualifier), amount);
  }
  return increment;
}

/** The same where the group may have taken it already: then it has the token. */
export function takeOnce(row: Uint8Array, amounts: Amounts, token: Uint8Array): CheckAndMutate {
  const column = tokenColumn(token);
  const increment = additionTo(row, amounts).addColumn(SUMMARY_FAMILY, column, 1n);
  return CheckAndMutate.ifNotExists(SUMMARY_FAMILY, column, increment);
}

/** Reads when the group has taken what has the token. */
export function getToken(row: Uint8Array, token: Uint8Array): Get {
  return new Get(row).addColumn(SUMMARY_FAMILY, tokenColumn(token));
}

/**
 * Has a token end by time, when no request can come any more that would give the same once more. `since`: when it was taken; what
 * was written then would show itself again behind what ends.
 */
export function endToken(row: Uint8Array, token: Uint8Array, since: number): RowMutations {
  const column = tokenColumn(token);
  return new RowMutations(row)
    .add(new Delete(row).addColumns(SUMMARY_FAMILY, column, since))
    .add(new Put(row).addColumn(SUMMARY_FAMILY, column, TAKEN).setTtl(FENCED, { optional: true }));
}

/** Reads the tokens of a group that ended before this time: where cells have no lives they are still there. */
export function getEnded(row: Uint8Array, before: number): Get {
  return new Get(row)
    .addFamily(SUMMARY_FAMILY)
    .setTimeRange(0, before)
    .setFilter(filters.all(filters.columnRange(TOKENS, true, null, false), filters.value('EQUAL', TAKEN)));
}

/** Behind all amounts, so that these are read without what was taken. */
function tokenColumn(token: Uint8Array): Uint8Array {
  return concatBytes(TOKENS, token);
}

/** What is read of a group: no tokens, of which there may be many. */
export const AMOUNTS: Filter = filters.columnRange(null, false, TOKENS, false);

/** What a row of the entity has added, and when it ends. */
export interface Life {
  /** Milliseconds; 0: it does not. */
  readonly end: number;
  readonly group: Uint8Array;
  readonly amounts: Amounts;
}

export function lifeRow(generation: number, id: Uint8Array, row: Uint8Array): Uint8Array {
  return concatBytes(countPrefix(RowKind.life, generation, id), row);
}

export function endRow(generation: number, id: Uint8Array, end: number, row: Uint8Array): Uint8Array {
  return concatBytes(endsUpTo(generation, id, end), row);
}

/** What the ends of that moment begin with. */
export function endsUpTo(generation: number, id: Uint8Array, end: number): Uint8Array {
  const time = Buffer.alloc(8);
  time.writeBigUInt64BE(BigInt(end));
  return concatBytes(countPrefix(RowKind.end, generation, id), new Uint8Array(time));
}

/** The row of the entity that an end is of. */
export function endedRow(row: Uint8Array, id: Uint8Array): Uint8Array {
  return copyBytes(row, BEFORE_ID + id.length + 8);
}

export function putLife(row: Uint8Array, life: Life): Put {
  return new Put(row).addColumn(SUMMARY_FAMILY, LIFE, encodeLife(life));
}

export function encodeLife({ end, group, amounts }: Life): Uint8Array {
  const head = Buffer.alloc(12);
  head.writeBigUInt64BE(BigInt(end), 0);
  head.writeUInt32BE(group.length, 8);
  const parts: Uint8Array[] = [head, group];
  for (const [qualifier, amount] of amounts) {
    const bytes = Buffer.alloc(9 + qualifier.length);
    bytes[0] = qualifier.length;
    bytes.write(qualifier, 1, 'latin1');
    bytes.writeBigInt64BE(amount, 1 + qualifier.length);
    parts.push(bytes);
  }
  return concatBytes(...parts);
}

export function putEnd(row: Uint8Array): Put {
  return new Put(row).addColumn(SUMMARY_FAMILY, END, EMPTY_BYTES);
}

/** Undefined when there is none. @throws CorruptionError. */
export function readLife(result: Result): Life | undefined {
  const value = result.getValue(SUMMARY_FAMILY, LIFE);
  if (value === undefined) return undefined;
  const life = decodeLife(value);
  if (life !== undefined) return life;
  throw new CorruptionError(
    'What a row has added to a summary cannot be read. Repair it: rowan summary repair.',
    {
      details: { keyHex: Buffer.from(result.row).toString('hex') },
    },
  );
}

/** Undefined of what is none. */
export function decodeLife(value: Uint8Array): Life | undefined {
  const bytes = Buffer.from(value);
  try {
    const end = Number(bytes.readBigUInt64BE(0));
    const behind = 12 + bytes.readUInt32BE(8);
    const amounts = new Map<string, bigint>();
    for (let at = behind; at < bytes.length; ) {
      const length = bytes[at]!;
      amounts.set(bytes.toString('latin1', at + 1, at + 1 + length), bytes.readBigInt64BE(at + 1 + length));
      at += 9 + length;
    }
    return behind <= bytes.length ? { end, group: copyBytes(value, 12, behind), amounts } : undefined;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return undefined;
  }
}

function latin1(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'latin1'));
}

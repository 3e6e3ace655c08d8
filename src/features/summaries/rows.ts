/** The rows of a summary's table; docs/summaries.md has the bytes. */

import { concatBytes, copyBytes, EMPTY_BYTES, toBytes, toLatin1 } from '../../bytes/index.js';
import { CorruptionError } from '../../errors.js';
import type { ChangeStep } from '../../repository/maintainer.js';
import type { EntitySchema, SummarySchema } from '../../schema/types.js';
import {
  Get,
  Increment,
  Put,
  type Result,
  type TableDescriptor,
  tableDescriptor,
} from '../../table/index.js';

/** FROZEN. */
export const SUMMARY_FAMILY = 's';
const STATE = toBytes('s');
const EXPIRING = toBytes('l');
const END = toBytes('e');

/** The name of the table that holds a table's summaries. */
export function summaryTableName(table: string): string {
  return `${table}_sum`;
}

export function summaryTableDescriptor(table: string): TableDescriptor {
  return tableDescriptor(summaryTableName(table), { [SUMMARY_FAMILY]: {} });
}

/** The first byte of rows. FROZEN. */
export const RowKind = { state: 0, group: 1, contribution: 2, end: 3, writers: 4 } as const;
type CountRowKind = 1 | 2 | 3;

/** The stored state of a summary. */
export interface SummaryRecord {
  readonly entity: string;
  readonly summary: string;
  readonly signature: string;
  /** The number of the count in use. Null: none yet. */
  readonly active: number | null;
  /** The number of the count being made. */
  readonly building: number | null;
  /** The count being made includes the rows up to this one (hex). Null: none. `end`: all. */
  readonly cursor: string | null;
  /** The number of the next count. */
  readonly next: number;
  /** Counts below this number have been deleted, except those in use. */
  readonly purged: number;
  /**
   * Whether rows expired when it was counted. Then the contribution of each row is stored beside the groups. Absent
   * in records of earlier releases.
   */
  readonly ends?: boolean;
  /**
   * The number of the first count that stores the contribution of each row beside the groups, as connections need. Absent: on HBase every
   * count does, and on the embedded engine none, because no connection has written rows that it counted.
   */
  readonly contributionsFrom?: number;
}

/** Whether a count of a store that steps write stores contributions. */
export function hasContributions({ contributionsFrom }: SummaryRecord, generation: number): boolean {
  return contributionsFrom !== undefined && generation >= contributionsFrom;
}

export function stateRow(id: Uint8Array): Uint8Array {
  return concatBytes(Uint8Array.of(RowKind.state), id);
}

/** The row with the writer records of the table's entities. */
export const WRITERS_ROW: Uint8Array = Uint8Array.of(RowKind.writers);

/** Of all summaries of a table. */
export const STATE_PREFIX: Uint8Array = Uint8Array.of(RowKind.state);

export function putRecord(id: Uint8Array, state: SummaryRecord): Put {
  return new Put(stateRow(id)).addColumn(SUMMARY_FAMILY, STATE, JSON.stringify(state));
}

/** Undefined when none is stored. @throws CorruptionError. */
export function parseRecord(result: Result): SummaryRecord | undefined {
  const value = result.getValue(SUMMARY_FAMILY, STATE);
  if (value === undefined) return undefined;
  try {
    const read = JSON.parse(Buffer.from(value).toString('utf8')) as Partial<SummaryRecord>;
    const numbers = [read.next, read.purged, read.active ?? 0, read.building ?? 0];
    if (numbers.every((one) => Number.isSafeInteger(one)) && typeof read.signature === 'string')
      return read as SummaryRecord;
  } catch {
    // Thrown below.
  }
  throw new CorruptionError(
    'The stored state of a summary is invalid. Delete its row, and build the summary again: rowan summary build.',
    { details: { keyHex: Buffer.from(result.row).toString('hex') } },
  );
}

export function readRecord(
  step: Pick<ChangeStep, 'read'>,
  schema: EntitySchema,
  { id }: SummarySchema,
): SummaryRecord | undefined {
  const table = summaryTableName(schema.table.descriptor.name);
  return parseRecord(step.read(new Get(stateRow(id)), table));
}

/** The prefix of a count's rows. */
export function countPrefix(kind: CountRowKind, generation: number, id: Uint8Array): Uint8Array {
  const prefix = Buffer.alloc(5);
  prefix[0] = kind;
  prefix.writeUInt32BE(generation, 1);
  return concatBytes(new Uint8Array(prefix), id);
}

/** The bytes before the id, with which a group's encoded key begins. */
const BEFORE_ID = 5;

/** `group`: as encoded by the summary's layout, which begins with the id. */
export function groupRow(generation: number, group: Uint8Array): Uint8Array {
  return concatBytes(countPrefix(RowKind.group, generation, EMPTY_BYTES), group);
}

/** The group as the summary's layout decodes it. */
export function groupOf(row: Uint8Array): Uint8Array {
  return copyBytes(row, BEFORE_ID);
}

/** The amounts that rows contribute to a group, by the qualifier (latin1) of their cells. */
export type FigureAmounts = ReadonlyMap<string, bigint>;

/** The longest qualifier of an amount. Longer ones are tokens. */
const LONGEST_QUALIFIER = 2;

/** The amounts of a group's row. @throws CorruptionError on an invalid cell. */
export function amountsOf(result: Result): Map<string, bigint> {
  const amounts = new Map<string, bigint>();
  for (const { qualifier, value, row } of result.cells) {
    if (qualifier.length > LONGEST_QUALIFIER) continue;
    if (value.length !== 8) {
      throw new CorruptionError('A stored figure of a summary is invalid. Repair it: rowan summary repair.', {
        details: { keyHex: Buffer.from(row).toString('hex') },
      });
    }
    amounts.set(toLatin1(qualifier), Buffer.from(value).readBigInt64BE());
  }
  return amounts;
}

/** The increment that adds amounts to a group. Undefined: nothing to add. */
export function incrementOf(row: Uint8Array, amounts: FigureAmounts): Increment | undefined {
  const increment = additionTo(row, amounts);
  return increment.columns.length === 0 ? undefined : increment;
}

/** As {@link incrementOf}, with no columns where there is nothing to add. */
export function additionTo(row: Uint8Array, amounts: FigureAmounts): Increment {
  const increment = new Increment(row).setReturnResults(false);
  for (const [qualifier, amount] of amounts) {
    if (amount !== 0n) increment.addColumn(SUMMARY_FAMILY, latin1(qualifier), amount);
  }
  return increment;
}

/** The contribution of a row of the entity, and its expiry. */
export interface ExpiringContribution {
  /** Milliseconds since 1970; 0: it does not expire. */
  readonly end: number;
  readonly group: Uint8Array;
  readonly amounts: FigureAmounts;
}

export function contributionRow(generation: number, id: Uint8Array, row: Uint8Array): Uint8Array {
  return concatBytes(countPrefix(RowKind.contribution, generation, id), row);
}

export function endRow(generation: number, id: Uint8Array, end: number, row: Uint8Array): Uint8Array {
  return concatBytes(endsUpTo(generation, id, end), row);
}

/** The prefix of the rows that expire at that moment. */
export function endsUpTo(generation: number, id: Uint8Array, end: number): Uint8Array {
  const time = Buffer.alloc(8);
  time.writeBigUInt64BE(BigInt(end));
  return concatBytes(countPrefix(RowKind.end, generation, id), new Uint8Array(time));
}

/** The row of the entity that an expiry record is about. */
export function endedRow(row: Uint8Array, id: Uint8Array): Uint8Array {
  return copyBytes(row, BEFORE_ID + id.length + 8);
}

export function putExpiring(row: Uint8Array, contribution: ExpiringContribution): Put {
  return new Put(row).addColumn(SUMMARY_FAMILY, EXPIRING, encodeContribution(contribution));
}

export function encodeContribution({ end, group, amounts }: ExpiringContribution): Uint8Array {
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

/** Undefined when none is stored. @throws CorruptionError. */
export function readExpiring(result: Result): ExpiringContribution | undefined {
  const value = result.getValue(SUMMARY_FAMILY, EXPIRING);
  if (value === undefined) return undefined;
  const contribution = decodeContribution(value);
  if (contribution !== undefined) return contribution;
  throw invalidContribution(result);
}

export function invalidContribution({ row }: Result): CorruptionError {
  return new CorruptionError(
    'The stored contribution of a row to a summary is invalid. Repair it: rowan summary repair.',
    { details: { keyHex: Buffer.from(row).toString('hex') } },
  );
}

/** Undefined on malformed bytes. */
export function decodeContribution(value: Uint8Array): ExpiringContribution | undefined {
  const bytes = Buffer.from(value);
  try {
    const end = Number(bytes.readBigUInt64BE(0));
    const amountsAt = 12 + bytes.readUInt32BE(8);
    const amounts = new Map<string, bigint>();
    for (let at = amountsAt; at < bytes.length; ) {
      const length = bytes[at]!;
      amounts.set(bytes.toString('latin1', at + 1, at + 1 + length), bytes.readBigInt64BE(at + 1 + length));
      at += 9 + length;
    }
    return amountsAt <= bytes.length ? { end, group: copyBytes(value, 12, amountsAt), amounts } : undefined;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return undefined;
  }
}

function latin1(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'latin1'));
}

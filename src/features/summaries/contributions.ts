/**
 * The stored contribution of each row to a count, on engines whose atomic step is one row. docs/summaries.md has the
 * bytes. A change of it is recorded before the groups are changed and closed afterwards, so it is applied exactly
 * once, whichever process finishes it.
 */

import {
  concatBytes,
  copyBytes,
  EMPTY_BYTES,
  equalBytes,
  prefixEnd,
  toBytes,
  toLatin1,
} from '../../bytes/index.js';
import { newToken } from '../../repository/index.js';
import { CheckAndMutate, Delete, Put, type Result, type RowMutation, Scan } from '../../table/index.js';
import { type Contribution, differenceOf } from './plan.js';
import {
  decodeContribution,
  encodeContribution,
  type FigureAmounts,
  groupRow,
  invalidContribution,
  SUMMARY_FAMILY,
} from './rows.js';

/** FROZEN. */
const CONTRIBUTION: Uint8Array = toBytes('a');

const CLOSED = 0;
const IN_TRANSFER = 1;
const IN_BATCH = 2;
const TOKEN_LENGTH = newToken().length;
const LENGTH = 4;

/** A change of a row's contribution. Some groups may have applied it already. */
export interface Transfer {
  /** The token by which groups recognize what they have applied of this row alone. */
  readonly token: Uint8Array;
  /** The token by which groups recognize the sum for several rows, if the transfer began with others. */
  readonly batch: Uint8Array | undefined;
  /** The writer at work. */
  readonly owner: Uint8Array;
  readonly was: Contribution | undefined;
  readonly is: Contribution | undefined;
}

/** The stored contribution of a row. */
export interface StoredContribution {
  readonly value: Uint8Array;
  /** When it was written, by the engine's clock. */
  readonly since: number;
  /** The contribution, once the transfer is closed. */
  readonly is: Contribution | undefined;
  /** The transfer in progress. Undefined: it is closed. */
  readonly transfer: Transfer | undefined;
}

/** The amounts to add to a group. */
export type Difference = readonly [group: Uint8Array, amounts: FigureAmounts];

/** The additions of a changed contribution to each group of a count, by the group's row. */
export function differences(
  generation: number,
  was: Contribution | undefined,
  is: Contribution | undefined,
): Difference[] {
  if (was !== undefined && is !== undefined && equalBytes(was.group, is.group))
    return [[groupRow(generation, is.group), differenceOf(was.amounts, is.amounts)]];
  const out: Difference[] = [];
  if (was !== undefined) out.push([groupRow(generation, was.group), differenceOf(was.amounts, undefined)]);
  if (is !== undefined) out.push([groupRow(generation, is.group), is.amounts]);
  return out;
}

/** The sum of several changes' additions, group by group. */
export function sumsOf(all: readonly Difference[]): Difference[] {
  const sums = new Map<string, { readonly group: Uint8Array; readonly amounts: Map<string, bigint> }>();
  for (const [group, amounts] of all) {
    const name = toLatin1(group);
    const sum = sums.get(name) ?? { group, amounts: new Map<string, bigint>() };
    sums.set(name, sum);
    for (const [qualifier, amount] of amounts)
      sum.amounts.set(qualifier, (sum.amounts.get(qualifier) ?? 0n) + amount);
  }
  return [...sums.values()].map(({ group, amounts }) => [group, amounts]);
}

export function encodeClosed(is: Contribution): Uint8Array {
  return concatBytes(Uint8Array.of(CLOSED), encoded(is));
}

export function encodeTransfer({ token, batch, owner, was, is }: Transfer): Uint8Array {
  const before = encoded(was);
  const length = Buffer.alloc(LENGTH);
  length.writeUInt32BE(before.length);
  const tokens = batch === undefined ? [token, owner] : [token, owner, batch];
  return concatBytes(
    Uint8Array.of(batch === undefined ? IN_TRANSFER : IN_BATCH),
    ...tokens,
    new Uint8Array(length),
    before,
    encoded(is),
  );
}

/** Writes a row's contribution on condition that it is unchanged since it was read. Undefined: there was none. */
export function replaceContribution(found: Uint8Array | undefined, mutation: RowMutation): CheckAndMutate {
  return found === undefined
    ? CheckAndMutate.ifNotExists(SUMMARY_FAMILY, CONTRIBUTION, mutation)
    : CheckAndMutate.ifEquals(SUMMARY_FAMILY, CONTRIBUTION, found, mutation);
}

export function putContribution(row: Uint8Array, value: Uint8Array): Put {
  return new Put(row).addColumn(SUMMARY_FAMILY, CONTRIBUTION, value);
}

/** Deletes a contribution up to the version that was read. */
export function deleteContribution(row: Uint8Array, { since }: StoredContribution): Delete {
  return new Delete(row).addColumns(SUMMARY_FAMILY, CONTRIBUTION, since);
}

/** Scans for the contributions of the rows below a prefix. `rowOf`: the contributing row. */
export function scanContributions(prefix: Uint8Array): { scan: Scan; rowOf(row: Uint8Array): Uint8Array } {
  const scan = new Scan().withStartRow(prefix).withStopRow(prefixEnd(prefix)!);
  return {
    scan: scan.addColumn(SUMMARY_FAMILY, CONTRIBUTION),
    rowOf: (row) => copyBytes(row, prefix.length),
  };
}

/** Undefined: none is stored. @throws CorruptionError. */
export function readContribution(result: Result): StoredContribution | undefined {
  const cell = result.getLatest(SUMMARY_FAMILY, CONTRIBUTION);
  if (cell === undefined) return undefined;
  const { value, timestamp: since } = cell;
  const [state] = value;
  if (state === CLOSED) return { value, since, is: decoded(result, value, 1), transfer: undefined };
  const tokens = state === IN_BATCH ? 3 : 2;
  const head = 1 + tokens * TOKEN_LENGTH + LENGTH;
  if ((state !== IN_TRANSFER && state !== IN_BATCH) || value.length < head) throw invalidContribution(result);
  const end = head + Buffer.from(value).readUInt32BE(head - LENGTH);
  if (end > value.length) throw invalidContribution(result);
  const tokenAt = (i: number): Uint8Array =>
    copyBytes(value, 1 + i * TOKEN_LENGTH, 1 + (i + 1) * TOKEN_LENGTH);
  const is = decoded(result, value, end);
  const transfer: Transfer = {
    token: tokenAt(0),
    owner: tokenAt(1),
    batch: state === IN_BATCH ? tokenAt(2) : undefined,
    was: decoded(result, value, head, end),
    is,
  };
  return { value, since, is, transfer };
}

function encoded(contribution: Contribution | undefined): Uint8Array {
  return contribution === undefined ? EMPTY_BYTES : encodeContribution({ ...contribution, end: 0 });
}

function decoded(
  result: Result,
  value: Uint8Array,
  start: number,
  end = value.length,
): Contribution | undefined {
  if (start === end) return undefined;
  const contribution = decodeContribution(copyBytes(value, start, end));
  if (contribution === undefined) throw invalidContribution(result);
  return contribution;
}

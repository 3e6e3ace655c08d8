/**
 * What each row has added to a count, where one step of the engine is one row. docs/summaries.md has the bytes. A change of it is
 * written down before the groups are changed and closed behind them, so it is made once, whoever ends it.
 */

import { concatBytes, copyBytes, EMPTY_BYTES, toBytes } from '../../bytes/index.js';
import { CorruptionError } from '../../errors.js';
import { newToken } from '../../indexes/index.js';
import { Put, type Result } from '../../table/index.js';
import type { Contribution } from './summary-plan.js';
import { decodeLife, encodeLife, SUMMARY_FAMILY } from './summary-rows.js';

/** FROZEN. */
export const ADDITION: Uint8Array = toBytes('a');

const COUNTED = 0;
const UNDER_WAY = 1;
const TOKEN_LENGTH = newToken().length;
/** State, token, owner, length of what it was. */
const HEAD = 1 + 2 * TOKEN_LENGTH + 4;

/** A change of what a row adds, which groups may have taken already. */
export interface Transfer {
  /** The groups know by it what they have taken. */
  readonly token: Uint8Array;
  /** Who is at it. */
  readonly owner: Uint8Array;
  readonly was: Contribution | undefined;
  readonly is: Contribution | undefined;
}

/** What a row has added, as it stands. */
export interface Addition {
  readonly value: Uint8Array;
  /** When it was written, by the engine's time. */
  readonly since: number;
  /** What was added, once the transfer is closed. */
  readonly is: Contribution | undefined;
  /** Undefined: it is closed. */
  readonly transfer: Transfer | undefined;
}

export function putCounted(row: Uint8Array, is: Contribution): Put {
  return putAddition(row, concatBytes(Uint8Array.of(COUNTED), encoded(is)));
}

export function putAddition(row: Uint8Array, value: Uint8Array): Put {
  return new Put(row).addColumn(SUMMARY_FAMILY, ADDITION, value);
}

export function encodeTransfer({ token, owner, was, is }: Transfer): Uint8Array {
  const before = encoded(was);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(before.length);
  return concatBytes(Uint8Array.of(UNDER_WAY), token, owner, new Uint8Array(length), before, encoded(is));
}

/** Undefined: nothing. @throws CorruptionError. */
export function readAddition(result: Result): Addition | undefined {
  const cell = result.getLatest(SUMMARY_FAMILY, ADDITION);
  if (cell === undefined) return undefined;
  const { value, timestamp: since } = cell;
  if (value[0] === COUNTED) return { value, since, is: decoded(result, value, 1), transfer: undefined };
  if (value[0] !== UNDER_WAY || value.length < HEAD) throw unreadable(result);
  const end = HEAD + Buffer.from(value).readUInt32BE(HEAD - 4);
  if (end > value.length) throw unreadable(result);
  const is = decoded(result, value, end);
  const transfer: Transfer = {
    token: copyBytes(value, 1, 1 + TOKEN_LENGTH),
    owner: copyBytes(value, 1 + TOKEN_LENGTH, 1 + 2 * TOKEN_LENGTH),
    was: decoded(result, value, HEAD, end),
    is,
  };
  return { value, since, is, transfer };
}

function encoded(contribution: Contribution | undefined): Uint8Array {
  return contribution === undefined ? EMPTY_BYTES : encodeLife({ ...contribution, end: 0 });
}

function decoded(
  result: Result,
  value: Uint8Array,
  start: number,
  end = value.length,
): Contribution | undefined {
  if (start === end) return undefined;
  const life = decodeLife(copyBytes(value, start, end));
  if (life === undefined) throw unreadable(result);
  return life;
}

function unreadable({ row }: Result): CorruptionError {
  return new CorruptionError(
    'What a row has added to a summary cannot be read. Repair it: rowan summary repair.',
    { details: { keyHex: Buffer.from(row).toString('hex') } },
  );
}

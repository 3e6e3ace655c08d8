/** What stands in `rowan_jobs` is looked at before it is believed: others can write there too. */

import { toStringBinary } from '../bytes/index.js';
import { CorruptionError } from '../errors.js';

const MOST_RUNS = 2 ** 32 - 1;

/** @throws CorruptionError naming the row when the bytes are no JSON, or none that passes. */
export function readState<T>(row: Uint8Array, bytes: Uint8Array, passes: (value: unknown) => boolean): T {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString());
  } catch (cause) {
    throw damaged(row, cause);
  }
  if (!passes(value)) throw damaged(row);
  return value as T;
}

export function isHeader(value: unknown): boolean {
  const { signature, run, state, phase } = fields(value);
  return (
    typeof signature === 'string' &&
    isCount(run) &&
    run <= MOST_RUNS &&
    (state === 'running' || state === 'done') &&
    isCount(phase)
  );
}

/** Splits as pairs of rows in hex. */
export function isPlan(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.every((split) => Array.isArray(split) && split.length === 2 && split.every(isHex))
  );
}

export function isSplit(value: unknown): boolean {
  const { state, owner, beat, attempt, position, rows, bytes, counters } = fields(value);
  return (
    (state === 'running' || state === 'waiting' || state === 'done') &&
    typeof owner === 'string' &&
    [beat, attempt, rows, bytes].every(isCount) &&
    (position === undefined || isHex(position)) &&
    typeof counters === 'object' &&
    counters !== null &&
    Object.values(counters).every((sum) => typeof sum === 'number')
  );
}

function fields(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isHex(value: unknown): boolean {
  return typeof value === 'string' && /^(?:[0-9a-f]{2})*$/.test(value);
}

function damaged(row: Uint8Array, cause?: unknown): CorruptionError {
  const name = toStringBinary(row);
  return new CorruptionError(
    `The row ${name} of rowan_jobs is not what jobs write there. Give the job another name, or delete the rows that begin with its name.`,
    { cause, details: { table: 'rowan_jobs', row: name } },
  );
}

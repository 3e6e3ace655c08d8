/** What jobs over indexes are about, are told and tell. */

import type { JobRunOptions } from '../../../job/types.js';
import { murmur3 } from '../../../key/digest.js';
import type { EntitySchema } from '../../../schema/types.js';
import type { Engine, Result } from '../../../table/index.js';
import type { EntityIndexes } from '../entity-indexes.js';
import { VERIFIED } from '../entry.js';

/** The index of an entity that a job is about, alone among its indexes. */
export interface IndexTarget {
  readonly engine: Engine;
  readonly indexes: EntityIndexes;
  /** Where rows are noted that share the values of a unique index; undefined: nowhere. */
  readonly shared?: SharedValues;
}

/** Two entities that have the same values in a unique index. No query by the index finds the first. */
export interface SharedValue {
  /** The key of the one that the index does not name. */
  readonly key: Readonly<Record<string, unknown>>;
  /** The key of the one that it names. */
  readonly holder: Readonly<Record<string, unknown>>;
}

/** Pairs that a report names at most. */
const MOST_SHARED = 100;

/** The rows that a check has found to share the values of a unique index, by their keys. */
export class SharedValues {
  readonly found: SharedValue[] = [];

  constructor(private readonly key: EntitySchema['key']) {}

  note(row: Uint8Array, holder: Uint8Array): void {
    if (this.found.length >= MOST_SHARED) return;
    this.found.push({ key: this.key.decode(row), holder: this.key.decode(holder) });
  }
}

/** What a check found, and a repair mended. `verify` counts each entry and each missing one once. */
export interface IndexReport {
  /** Rows of the entity that were looked at. */
  readonly rows: number;
  /** Entries that say what their rows say. */
  readonly valid: number;
  /** Rows' entries that are not there. */
  readonly missing: number;
  /** Entries without a row. */
  readonly extra: number;
  /** Entries of rows that say something else. */
  readonly stale: number;
  /** Entries that were written before their rows (HBase only). */
  readonly unverified: number;
  /** Of an eventual index: entries that are noted to be looked at, and are not what they will be. */
  readonly pending: number;
  /** Of entities that end: entries that have outlived their rows, and end shortly. */
  readonly beyondTtl: number;
  /** What was put right. */
  readonly repaired: number;
  /**
   * Entities that share the values of the unique index, a hundred pairs at most: of the `missing` those that no repair can mend.
   * Change or delete one of each pair. Only what this run has looked at, not an earlier one that it goes on with.
   */
  readonly shared: readonly SharedValue[];
}

export interface VerifyOptions {
  /** The share of rows and entries that is looked at, 0 to 1. Default 1. */
  readonly sample?: number;
  /**
   * HBase only: milliseconds after which an unverified entry whose row is not there is nobody's who may still write the row.
   * A repair waits for it. Default 30,000; less only while nobody writes.
   */
  readonly settledAfter?: number;
  /** How the job is run. */
  readonly run?: JobRunOptions;
}

/** Whether a row is the entity's. */
export function isOwn({ indexes: { schema } }: IndexTarget, { row }: Pick<Result, 'row'>): boolean {
  // Without other types in the table a row that is none of the entity's is told as such; those of types that are left out are not.
  const isAlone = schema.table.entities.length === 1 && schema.key.recordType === undefined;
  return isAlone || schema.key.matches(row);
}

/** What an entry that no row bears out is counted as. */
export function strayName({ indexes: { schema } }: IndexTarget, verified: boolean, row: Result): string {
  if (!verified) return 'unverified';
  if (!row.isEmpty) return 'stale';
  const ends =
    schema.timeToLive.lifelong || schema.table.descriptor.families.some(({ ttl }) => ttl < 2 ** 31 - 1);
  return ends ? 'beyondTtl' : 'extra';
}

/** Whether a row or entry is of the share that is looked at. */
export function isSampled(row: Uint8Array, share: number): boolean {
  return share >= 1 || murmur3(row) / 2 ** 32 < share;
}

export function isVerified(value: Uint8Array): boolean {
  return value[0] === VERIFIED;
}

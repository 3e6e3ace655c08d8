/** The parameters and results of index jobs. */

import type { JobRunOptions } from '../../../job/types.js';
import { murmur3 } from '../../../key/digest.js';
import type { AheadWriter } from '../../../repository/index.js';
import type { EntitySchema } from '../../../schema/types.js';
import { type Engine, FOREVER, type Result } from '../../../table/index.js';
import type { EntityIndexes } from '../entity-indexes.js';
import { VERIFIED } from '../entry.js';

/** The index that a job is about. `indexes` has it alone. */
export interface IndexTarget {
  readonly engine: Engine;
  readonly indexes: EntityIndexes;
  /** Collects rows that share a unique value. Undefined: they are not collected. */
  readonly shared?: SharedValues;
  /** Of an index whose entries are written after the calls have returned, on HBase. */
  readonly ahead?: AheadWriter | undefined;
}

/** Two entities with the same value in a unique index. Queries by the index never find the first. */
export interface SharedValue {
  /** The key of the entity that the index does not name. */
  readonly key: Readonly<Record<string, unknown>>;
  /** The key of the entity that the index names. */
  readonly holder: Readonly<Record<string, unknown>>;
}

/** The most pairs that a report lists. */
const MAX_SHARED = 100;

/** Rows that share a value of a unique index, by their keys. */
export class SharedValues {
  readonly found: SharedValue[] = [];

  constructor(private readonly key: EntitySchema['key']) {}

  note(row: Uint8Array, holder: Uint8Array): void {
    if (this.found.length >= MAX_SHARED) return;
    this.found.push({ key: this.key.decode(row), holder: this.key.decode(holder) });
  }
}

/** The result of `verify` or `repair`. Each entry, stored or missing, counts once. */
export interface IndexReport {
  /** Rows of the entity that were read. */
  readonly rows: number;
  /** Entries that match their rows. */
  readonly valid: number;
  /** Entries that rows lack. */
  readonly missing: number;
  /** Entries without a row. */
  readonly extra: number;
  /** Entries that do not match their rows. */
  readonly stale: number;
  /** HBase only: entries whose write is not finished. */
  readonly unverified: number;
  /** Of an eventual index: entries that are pending. */
  readonly pending: number;
  /** Of entities with a TTL: entries that have outlived their rows, and expire shortly. */
  readonly beyondTtl: number;
  /** Entries that were corrected. */
  readonly repaired: number;
  /**
   * Entities that share values of the unique index, at most a hundred pairs: the part of `missing` that no repair can
   * correct. Change or delete one entity of each pair. Lists only those found by this run, not by an earlier one that
   * it resumes.
   */
  readonly shared: readonly SharedValue[];
}

export interface VerifyOptions {
  /** The share of rows and entries to check, 0 to 1. Default 1. */
  readonly sample?: number;
  /**
   * HBase only: age in milliseconds from which an unverified entry without a row is abandoned. A repair waits for it.
   * Default 30,000. Use less only while no program writes.
   */
  readonly settledAfter?: number;
  /** Options of the job. */
  readonly run?: JobRunOptions;
}

/** Whether each row of the table is taken for one of the entity, the only one, which has no record type. */
export function isAlone({ indexes: { schema } }: IndexTarget): boolean {
  return schema.table.entities.length === 1 && schema.key.recordType === undefined;
}

/** Whether a row belongs to the entity. */
export function isOwn(target: IndexTarget, { row }: Pick<Result, 'row'>): boolean {
  // In a table with one entity and no record types every other row is reported as foreign. Otherwise only rows of
  // undeclared types are unknown, and skipped.
  return isAlone(target) || target.indexes.schema.key.matches(row);
}

/**
 * The counter of an entry that no row confirms. Entries of an entity that ends outlive it a little; where the row has begun another
 * life meanwhile, its marker is later than they are.
 */
export function strayName(
  { indexes: { schema } }: IndexTarget,
  entry: { readonly isVerified: boolean; readonly timestamp: number },
  row: Result,
): string {
  if (!entry.isVerified) return 'unverified';
  const { marker, timeToLive, table } = schema;
  if (!row.isEmpty) {
    if (marker === undefined || !timeToLive.lifelong) return 'stale';
    const begun = row.getLatest(marker.family, marker.qualifier);
    return begun === undefined || entry.timestamp < begun.timestamp ? 'beyondTtl' : 'stale';
  }
  const ends = timeToLive.lifelong || table.descriptor.families.some(({ ttl }) => ttl < FOREVER);
  return ends ? 'beyondTtl' : 'extra';
}

/** Whether a row or entry is in the sample. */
export function isSampled(row: Uint8Array, share: number): boolean {
  return share >= 1 || murmur3(row) / 2 ** 32 < share;
}

export function isVerified(value: Uint8Array): boolean {
  return value[0] === VERIFIED;
}

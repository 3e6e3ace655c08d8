/** One entity's table, and what every read and write of it shares. */

import { KeyError, RowanError } from '../errors.js';
import { conversionOf } from '../key/codecs/index.js';
import type { KeyPart } from '../key/types.js';
import type { TableAccess } from '../query/index.js';
import type { EntitySchema } from '../schema/types.js';
import { literalOf } from '../table/checks.js';
import type { ChangeExecutor, Deferred } from './change.js';
import type { ObservedExecutor } from './observed-executor.js';

/** The table access, executor and clock that a repository works with. */
export interface RepositoryContext {
  readonly access: TableAccess;
  readonly executor: ChangeExecutor;
  /** Reports puts that bypass the executor to observers. Undefined inside an executor. */
  readonly observed?: ObservedExecutor;
  /** Whether puts may go to the table unchanged: no maintainer or intent takes part. */
  readonly putsAlone: boolean;
  /** The engine's time, ms, for timestamps and TTLs. */
  readonly now: () => number;
  /** Set in a transaction: delays hooks until its end. */
  readonly deferred: Deferred | undefined;
}

/** The error of an operation on one row where salts are random. */
export function randomSalt(schema: EntitySchema, doing: string): KeyError {
  return new KeyError(
    `${schema.name}.${doing}: the salt of a key is drawn at random, so the key alone does not say which row is meant. ` +
      'Put and find the rows, or declare the salt over the key (salt(n)).',
    { details: { entity: schema.name } },
  );
}

/** The row of a key that identifies only one. @throws KeyError when the layout has a random salt. */
export function rowOfKey(
  schema: EntitySchema,
  key: Readonly<Record<string, unknown>>,
  doing: string,
): Uint8Array {
  if (!schema.key.deterministic) {
    throw randomSalt(schema, doing);
  }
  return schema.mapper.rowOf(key);
}

/**
 * As `rowOfKey`; a promise where dictionary ids must be loaded. With `create`, texts without an id get one; otherwise
 * the row is one that no entity has.
 */
export function loadRowOfKey(
  schema: EntitySchema,
  key: Readonly<Record<string, unknown>>,
  doing: string,
  create: boolean,
): Uint8Array | Promise<Uint8Array> {
  const { dictionaries } = schema.key;
  if (dictionaries === undefined) return rowOfKey(schema, key, doing);
  return create
    ? dictionaries.giveIds([key]).then(() => rowOfKey(schema, key, doing))
    : dictionaries.known([key]).then(([known]) => rowOfKey(schema, known!, doing));
}

const WHERE_MISSING = {
  get: 'Use get where it may be missing: it answers null.',
  update: 'Use insert to store it, or upsert where it may be missing.',
  restore: 'Use insert to store it.',
} as const;

/** The error of a key without an entity that `doing` can read or change. */
export function notFound(schema: EntitySchema, key: unknown, doing: keyof typeof WHERE_MISSING): RowanError {
  const mayBeDeleted = schema.deletedProperty !== undefined && doing !== 'restore';
  return new RowanError(
    'ERR_NOT_FOUND',
    `There is no ${schema.name} with the key ${keyText(schema, key)}. ${WHERE_MISSING[doing]}` +
      `${mayBeDeleted ? ' One that is soft-deleted is brought back by restore.' : ''}`,
    { details: { entity: schema.name, key } },
  );
}

/** What is stored for a key part, for texts; a value that its codec does not accept as it is. */
function shownPart({ codec }: KeyPart, value: unknown): unknown {
  try {
    return conversionOf(codec)?.toStored(value) ?? value;
  } catch {
    return value;
  }
}

/** The values of an entity's key, for the details of errors. */
export function keyValues(schema: EntitySchema, source: unknown): Record<string, unknown> {
  const record = source as Readonly<Record<string, unknown>>;
  return Object.fromEntries(schema.key.parts.map(({ name }) => [name, record[name]]));
}

/** The parts of a key as text. */
export function keyText(schema: EntitySchema, source: unknown): string {
  const record = source as Readonly<Record<string, unknown>>;
  const parts = schema.key.parts.map(
    (part) => `${part.name}: ${literalOf(shownPart(part, record[part.name]))}`,
  );
  return `{ ${parts.join(', ')} }`;
}

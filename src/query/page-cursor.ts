/**
 * Cursors: the position at which a query continues, as opaque text. A cursor holds the key's logical values, so that
 * it means the same in another process, on another engine and after a change of salts; keys that cannot be decoded
 * (digests, random salts) are held as bytes and bound to the layout.
 *
 * Bytes, as base64url:
 *
 *     version 2 | query hash 8 | entity index 1 | form 1 ('k' or 'r') | payload | seal 16, of all before
 *     payload of k: JSON of the part values; of r: layout hash 8, row
 *     seal: the first bytes of HMAC-SHA-256 with the secret, or of SHA-256 where there is none
 *
 * A cursor comes back from outside: its size is bounded before it is looked at, and what it says is held to the
 * layout.
 */

import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { concatBytes, equalBytes, fromHex, toHex } from '../bytes/index.js';
import { QueryError } from '../errors.js';
import type { KeyLayout } from '../key/types.js';
import type { EntitySchema } from '../schema/types.js';
import type { Position } from './read-plan.js';

const VERSION = 2;
const HASH_LENGTH = 8;
const HEADER_LENGTH = 1 + HASH_LENGTH + 2;
const SEAL_LENGTH = 16;
/** More than the longest key gives as JSON in base64. */
const MAX_CURSOR_LENGTH = 400_000;
const LOGICAL = 0x6b;
const RAW = 0x72;

/** Identifies the query that a cursor is bound to: the same conditions on the same entities. */
export interface CursorScope {
  /** Canonical text of the query. */
  readonly identity: () => string;
  /** The same query on former entities whose keys were changed to this one's, apart from salts. */
  readonly formerly?: () => readonly string[];
  readonly schemas: readonly Pick<EntitySchema, 'name' | 'key'>[];
  /** The secret that seals cursors. Undefined: they have a checksum only. */
  readonly secret?: Uint8Array | undefined;
}

/** The cursor after this row, which is of the entity at `index`. */
export function encodeCursor(scope: CursorScope, row: Uint8Array, index: number): string {
  const layout = scope.schemas[index]!.key;
  const values = logicalValues(layout, row);
  const payload =
    values === undefined
      ? concatBytes(hash(layout.signature), row)
      : Buffer.from(JSON.stringify(layout.parts.map((part) => pack(values[part.name]))));
  const form = values === undefined ? RAW : LOGICAL;
  const body = concatBytes(
    Uint8Array.of(VERSION),
    hash(scope.identity()),
    Uint8Array.of(index, form),
    payload,
  );
  return Buffer.from(concatBytes(body, seal(scope, body))).toString('base64url');
}

/**
 * The position of a cursor. @throws QueryError when the text is no cursor, is damaged or forged, or belongs to
 * another query.
 */
export function decodeCursor(scope: CursorScope, cursor: string): Position {
  if (cursor.length > MAX_CURSOR_LENGTH) throw noCursor();
  const bytes = Buffer.from(cursor, 'base64url');
  const bodyLength = bytes.length - SEAL_LENGTH;
  // Decoding ignores characters that are not base64, so the text is compared: a cursor has one form only.
  if (bodyLength < HEADER_LENGTH || bytes.toString('base64url') !== cursor) throw noCursor();
  const body = bytes.subarray(0, bodyLength);
  if (!timingSafeEqual(bytes.subarray(bodyLength), seal(scope, body))) throw noCursor();
  if (body[0] !== VERSION) {
    throw new QueryError(`The cursor has version ${body[0]}; this Rowan reads version ${VERSION}.`);
  }
  const asked = body.subarray(1, 1 + HASH_LENGTH);
  const isOf = (identity: string): boolean => equalBytes(asked, hash(identity));
  if (!isOf(scope.identity()) && !(scope.formerly?.() ?? []).some(isOf)) {
    throw new QueryError(
      'The cursor belongs to another query. Use it with the same entity, key conditions, where, direction and times.',
    );
  }
  const entity = body[HEADER_LENGTH - 2]!;
  const layout = scope.schemas[entity]?.key;
  const form = body[HEADER_LENGTH - 1];
  const payload = body.subarray(HEADER_LENGTH);
  if (layout === undefined || (form !== LOGICAL && form !== RAW)) {
    throw new QueryError('The cursor has a form that this Rowan does not know.');
  }
  const key = form === RAW ? rawRow(layout, payload) : logicalRow(layout, payload);
  return { key, logical: layout.logicalBytes(key), entity };
}

function noCursor(): QueryError {
  return new QueryError(
    'The cursor is invalid: truncated, modified, or sealed with another secret. Pass the text of page.cursor as it is.',
  );
}

function seal({ secret }: CursorScope, body: Uint8Array): Uint8Array {
  const whole =
    secret === undefined
      ? createHash('sha256').update(body).digest()
      : createHmac('sha256', secret).update(body).digest();
  return whole.subarray(0, SEAL_LENGTH);
}

function rawRow(layout: KeyLayout, payload: Uint8Array): Uint8Array {
  if (!equalBytes(payload.subarray(0, HASH_LENGTH), hash(layout.signature))) {
    throw new QueryError(
      'The key layout was changed since the cursor was made. Begin again without a cursor.',
    );
  }
  const row = payload.slice(HASH_LENGTH);
  if (!layout.matches(row)) {
    throw new QueryError(
      'The row in the cursor does not belong to this entity. Begin again without a cursor.',
    );
  }
  return row;
}

function logicalRow(layout: KeyLayout, payload: Uint8Array): Uint8Array {
  try {
    const values: unknown = JSON.parse(Buffer.from(payload).toString());
    if (!Array.isArray(values) || values.length !== layout.parts.length) throw noCursor();
    return layout.stored.encode(
      Object.fromEntries(layout.parts.map((part, i) => [part.name, unpack(values[i])])),
    );
  } catch (cause) {
    if (cause instanceof QueryError) throw cause;
    throw new QueryError(
      'The key in the cursor does not fit this key layout. Begin again without a cursor.',
      {
        cause,
      },
    );
  }
}

/** The stored values of the parts, if they encode to the same row. */
function logicalValues(layout: KeyLayout, row: Uint8Array): Record<string, unknown> | undefined {
  if (!layout.deterministic || layout.parts.some((part) => !part.recoverable)) return undefined;
  // Ids never change, and encoding their texts could need the dictionary.
  if (layout.substitutions.length > 0) return undefined;
  const { stored } = layout;
  const values = stored.decode(row);
  return equalBytes(stored.encode(values), row) ? values : undefined;
}

function hash(text: string): Uint8Array {
  return createHash('sha256').update(text).digest().subarray(0, HASH_LENGTH);
}

/** A key value as JSON that decodes to the same value. */
function pack(value: unknown): unknown {
  if (typeof value === 'bigint') return { n: value.toString() };
  if (value instanceof Date) return { d: value.getTime() };
  if (value instanceof Uint8Array) return { b: toHex(value) };
  if (typeof value === 'number' && (!Number.isFinite(value) || Object.is(value, -0))) {
    return { f: Object.is(value, -0) ? '-0' : String(value) };
  }
  return value;
}

function unpack(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const { n, d, b, f } = value as { n?: unknown; d?: unknown; b?: unknown; f?: unknown };
  if (typeof n === 'string' && n.length <= MAX_DIGITS) return BigInt(n);
  if (typeof d === 'number') return new Date(d);
  if (typeof b === 'string') return fromHex(b);
  if (typeof f === 'string') return Number(f);
  throw noCursor();
}

/** The most digits of a bigint in a cursor. Keys hold no longer ones. */
const MAX_DIGITS = 100_000;

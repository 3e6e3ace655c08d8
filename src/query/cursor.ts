/**
 * Cursors: where a query's reading goes on, as opaque text. A cursor holds the key's logical values, so that it means
 * the same in another process, on another engine and after a change of salts; keys that cannot be decoded (digests,
 * random salts) are held as bytes and bound to the layout.
 *
 * Bytes, as base64url:
 *
 *     version 1 | query hash 8 | entity index 1 | form 1 ('k' or 'r') | payload | crc32 4 (big-endian, of all before)
 *     payload of k: JSON of the part values; of r: layout hash 8, row
 */

import { createHash } from 'node:crypto';
import { concatBytes, crc32, equalBytes, fromHex, toHex } from '../bytes/index.js';
import { QueryError } from '../errors.js';
import type { KeyLayout } from '../key/types.js';
import type { EntitySchema } from '../schema/types.js';
import type { Position } from './ranges.js';

const VERSION = 1;
const HASH_LENGTH = 8;
const HEADER_LENGTH = 1 + HASH_LENGTH + 2;
const CRC_LENGTH = 4;
const LOGICAL = 0x6b;
const RAW = 0x72;

/** What a cursor is bound to: the same question asked of the same entities. */
export interface CursorScope {
  /** Canonical text of the query. */
  readonly identity: () => string;
  readonly schemas: readonly EntitySchema[];
}

/** The cursor that goes on behind this row. */
export function encodeCursor(scope: CursorScope, row: Uint8Array): string {
  const index = Math.max(
    scope.schemas.findIndex((schema) => schema.key.matches(row)),
    0,
  );
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
  const crc = Buffer.alloc(CRC_LENGTH);
  crc.writeUInt32BE(crc32(body, 0, body.length));
  return Buffer.from(concatBytes(body, crc)).toString('base64url');
}

/**
 * The position of a cursor.
 * @throws QueryError when the text is no cursor, is damaged, or is another query's.
 */
export function decodeCursor(scope: CursorScope, cursor: string): Position {
  const bytes = Buffer.from(String(cursor), 'base64url');
  const bodyLength = bytes.length - CRC_LENGTH;
  if (bodyLength < HEADER_LENGTH || bytes.readUInt32BE(bodyLength) !== crc32(bytes, 0, bodyLength)) {
    throw new QueryError(
      'This is no cursor, or it was cut or changed. Pass the text of page.cursor as it is.',
    );
  }
  if (bytes[0] !== VERSION) {
    throw new QueryError(`The cursor has version ${bytes[0]}; this Rowan reads version ${VERSION}.`);
  }
  if (!equalBytes(bytes.subarray(1, 1 + HASH_LENGTH), hash(scope.identity()))) {
    throw new QueryError(
      'The cursor is of another query. Use it with the same entity, key conditions, where, direction and times.',
    );
  }
  const layout = scope.schemas[bytes[HEADER_LENGTH - 2]!]?.key;
  const form = bytes[HEADER_LENGTH - 1];
  const payload = bytes.subarray(HEADER_LENGTH, bodyLength);
  if (layout === undefined || (form !== LOGICAL && form !== RAW)) {
    throw new QueryError('The cursor has a form that this Rowan does not know.');
  }
  return { row: form === RAW ? rawRow(layout, payload) : logicalRow(layout, payload) };
}

function rawRow(layout: KeyLayout, payload: Uint8Array): Uint8Array {
  if (!equalBytes(payload.subarray(0, HASH_LENGTH), hash(layout.signature))) {
    throw new QueryError(
      'The key layout was changed since the cursor was made. Begin again without a cursor.',
    );
  }
  return payload.slice(HASH_LENGTH);
}

function logicalRow(layout: KeyLayout, payload: Uint8Array): Uint8Array {
  const values = JSON.parse(Buffer.from(payload).toString()) as unknown[];
  return layout.encode(Object.fromEntries(layout.parts.map((part, i) => [part.name, unpack(values[i])])));
}

/** The part values, if they make the same row again. */
function logicalValues(layout: KeyLayout, row: Uint8Array): Record<string, unknown> | undefined {
  if (!layout.deterministic || layout.parts.some((part) => !part.recoverable)) return undefined;
  // Ids never change, and encoding their texts again could need the dictionary.
  if (layout.substitutions.length > 0) return undefined;
  const values = layout.decode(row);
  return equalBytes(layout.encode(values), row) ? values : undefined;
}

function hash(text: string): Uint8Array {
  return createHash('sha256').update(text).digest().subarray(0, HASH_LENGTH);
}

/** A key value as JSON that gives the same value back. */
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
  const packed = value as { n?: string; d?: number; b?: string; f?: string };
  if (packed.n !== undefined) return BigInt(packed.n);
  if (packed.d !== undefined) return new Date(packed.d);
  if (packed.b !== undefined) return fromHex(packed.b);
  return Number(packed.f);
}

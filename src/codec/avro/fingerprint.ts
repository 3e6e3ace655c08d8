import { toHex } from '../../bytes/index.js';
import { RowanError } from '../../errors.js';
import { type AvroSchema, parseAvroSchema, type SchemaNode } from './schema.js';

// — The Parsing Canonical Form of a schema and its CRC-64-AVRO (Avro specification, "Schema Fingerprints").

/**
 * The schema without attributes that do not affect how bytes are read: the same text for all equivalent schemas.
 * @throws SchemaError when the schema is invalid.
 */
export function canonicalForm(schema: AvroSchema): string {
  return canonical(parseAvroSchema(schema), new Set());
}

function canonical(node: SchemaNode, seen: Set<string>): string {
  switch (node.kind) {
    case 'primitive':
      return `"${node.type}"`;
    case 'array':
      return `{"type":"array","items":${canonical(node.items, seen)}}`;
    case 'map':
      return `{"type":"map","values":${canonical(node.values, seen)}}`;
    case 'union':
      return `[${node.branches.map((branch) => canonical(branch, seen)).join(',')}]`;
    default:
      return canonicalNamed(node, seen);
  }
}

function canonicalNamed(node: Extract<SchemaNode, { name: string }>, seen: Set<string>): string {
  if (seen.has(node.name)) return `"${node.name}"`;
  seen.add(node.name);
  const head = `{"name":"${node.name}","type":"${node.kind}"`;
  if (node.kind === 'fixed') return `${head},"size":${node.size}}`;
  if (node.kind === 'enum') return `${head},"symbols":${JSON.stringify(node.symbols)}}`;
  const fields = node.fields.map((field) => `{"name":"${field.name}","type":${canonical(field.type, seen)}}`);
  return `${head},"fields":[${fields.join(',')}]}`;
}

const EMPTY = 0xc15d213aa4d7a795n;

const TABLE: readonly bigint[] = Array.from({ length: 256 }, (_, i) => {
  let value = BigInt(i);
  for (let bit = 0; bit < 8; bit++) value = (value >> 1n) ^ ((value & 1n) === 1n ? EMPTY : 0n);
  return value;
});

/** CRC-64-AVRO (Rabin) of bytes. */
export function crc64Avro(bytes: Uint8Array): bigint {
  let value = EMPTY;
  for (const byte of bytes) value = (value >> 8n) ^ TABLE[Number((value ^ BigInt(byte)) & 0xffn)]!;
  return value;
}

/** The fingerprint of a schema as the 8 bytes before a value, little-endian. */
export function fingerprintOf(schema: AvroSchema): Uint8Array {
  const out = new Uint8Array(8);
  new DataView(out.buffer).setBigUint64(0, crc64Avro(new TextEncoder().encode(canonicalForm(schema))), true);
  return out;
}

// — The schemas that values were written with, by fingerprint. There is one registry for the process: a fingerprint is a
// digest of the schema, so it means the same in every database.

const schemas = new Map<string, AvroSchema>();

/**
 * Registers a schema for every Avro codec of the process.
 * @returns its fingerprint in hex.
 * @throws SchemaError when the schema is invalid.
 */
export function learnSchema(schema: AvroSchema): string {
  const fingerprint = toHex(fingerprintOf(schema));
  if (!schemas.has(fingerprint)) schemas.set(fingerprint, schema);
  return fingerprint;
}

/** The schema with a fingerprint (hex), or undefined if it is not known. */
export function knownSchema(fingerprint: string): AvroSchema | undefined {
  return schemas.get(fingerprint);
}

/**
 * Thrown when a value was written with a schema that this process does not know. Retryable:
 * `AvroRegistry.load(fingerprint)` loads the schema from the database's store; then the same call succeeds.
 */
export class UnknownSchemaError extends RowanError {
  constructor(
    readonly fingerprint: string,
    label: string,
  ) {
    super(
      'ERR_CODEC',
      `A value of the Avro schema "${label}" was written with schema ${fingerprint}, which is not known here. Register it with learnSchema(), or load it from the store that the writer used.`,
      { retryable: true, details: { fingerprint } },
    );
  }
}

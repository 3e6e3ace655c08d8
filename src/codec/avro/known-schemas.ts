/**
 * Schemas that values were written with, by fingerprint. One table for the process: a fingerprint is a digest of the
 * schema, so it means the same in every database.
 */

import { toHex } from '../../bytes/index.js';
import { RowanError } from '../../errors.js';
import { fingerprintOf } from './fingerprint.js';
import type { AvroSchema } from './schema.js';

const schemas = new Map<string, AvroSchema>();

/**
 * Makes a schema known to every Avro codec.
 * @returns its fingerprint in hex.
 * @throws SchemaError when it is no Avro schema.
 */
export function learnSchema(schema: AvroSchema): string {
  const fingerprint = toHex(fingerprintOf(schema));
  if (!schemas.has(fingerprint)) schemas.set(fingerprint, schema);
  return fingerprint;
}

/** The schema of a fingerprint (hex), or undefined when none is known. */
export function knownSchema(fingerprint: string): AvroSchema | undefined {
  return schemas.get(fingerprint);
}

/**
 * A value was written with a schema that this process has not met. Retryable: `AvroRegistry.load(fingerprint)` fetches
 * the schema from the database's store, and then the same call succeeds.
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

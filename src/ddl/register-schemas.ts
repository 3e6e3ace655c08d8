/** Makes the Avro schemas of a program known to its database, and those of the database to the program. */

import type { AvroRegistry } from '../codec/index.js';
import { SchemaError } from '../errors.js';
import { avroColumns, type Schema } from '../schema/index.js';

/**
 * Holds the schema of each Avro column against all that the column was written with, then registers it. Nothing is
 * registered when one of them does not fit.
 * @throws SchemaError with every incompatibility of every column.
 */
export async function registerSchemas(registry: AvroRegistry, schema: Schema): Promise<void> {
  const columns = schema.entities.flatMap(avroColumns);
  const problems: string[] = [];
  for (const { subject, codec } of columns) {
    const { compatibility } = codec;
    for (const one of await registry.problems(subject, codec.schema, compatibility)) {
      problems.push(
        `${subject} (${compatibility}): ${one.direction} to ${one.fingerprint} at ${one.path}: ${one.message}`,
      );
    }
  }
  if (problems.length > 0) {
    throw new SchemaError(
      [
        'Avro schemas are not compatible with those that their columns were written with:',
        ...problems.map((problem) => `- ${problem}`),
        'Give added fields a default, keep old names as aliases, or declare another compatibility.',
      ].join('\n'),
      problems,
    );
  }
  for (const { subject, codec } of columns) {
    await registry.register(subject, codec.schema, codec.compatibility);
  }
}

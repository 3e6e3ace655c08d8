/** The Avro schemas of a program against those that its columns were written with. */

import type { AvroRegistry } from '../../codec/index.js';
import { avroColumns } from '../../schema/index.js';
import type { EntitySchema } from '../../schema/types.js';

/** What is to be said of one Avro column. */
export interface SubjectState {
  readonly subject: string;
  readonly table: string;
  /** Whether its schema is not among those of the column yet. */
  readonly isNew: boolean;
  /** What the column's compatibility has against it. */
  readonly problems: readonly string[];
}

export async function subjectStates(
  registry: AvroRegistry,
  entities: readonly EntitySchema[],
): Promise<SubjectState[]> {
  const states: SubjectState[] = [];
  for (const entity of entities) {
    for (const { subject, codec } of avroColumns(entity)) {
      const problems = await registry.problems(subject, codec.schema, codec.compatibility);
      states.push({
        subject,
        table: entity.table.descriptor.name,
        isNew: !(await registry.has(subject, codec.schema)),
        problems: problems.map(
          ({ direction, fingerprint, path, message }) =>
            `${subject} (${codec.compatibility}): ${direction} to ${fingerprint} at ${path}: ${message}`,
        ),
      });
    }
  }
  return states;
}

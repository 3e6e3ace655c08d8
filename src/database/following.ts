/** All that follows the rows of an open database beside their indexes: copies, referential rules, summaries. */

import { SchemaError, UnsupportedError } from '../errors.js';
import type { ChangeParticipant } from '../repository/index.js';
import type { Schema } from '../schema/index.js';
import type { EntityClass, EntitySchema } from '../schema/types.js';
import { Copying, type CopyingSource } from './copying.js';
import type { Indexing } from './indexing.js';
import { Referencing } from './referencing.js';
import { Summarizing } from './summarizing.js';

export class Following {
  readonly copying: Copying;
  readonly referencing: Referencing;
  readonly summarizing: Summarizing;

  constructor(
    private readonly source: CopyingSource,
    indexing: Indexing,
  ) {
    this.copying = new Copying(source);
    this.referencing = new Referencing(source.engine, source.schemaOf, indexing);
    this.summarizing = new Summarizing(source.engine, source.schemaOf, indexing);
  }

  /** Takes over what is declared. @throws UnsupportedError where the engine cannot follow. */
  adopt(schema: Schema): void {
    for (const entity of schema.entities) {
      const what = followed(entity);
      if (what === undefined || 'atomic' in this.source.engine.table(entity.table.descriptor.name)) continue;
      throw new UnsupportedError(
        `${entity.name} has ${what}, which HBase cannot keep: only the embedded engine writes a row and what follows it in one step. ` +
          'Leave the declaration out there, and write what follows with batch() or a job of your own.',
        { details: { entity: entity.name } },
      );
    }
    this.copying.adopt(schema);
    this.referencing.adopt(schema);
    this.summarizing.adopt(schema);
  }

  /** @throws SchemaError when an entity that is added follows one that may have been written to without it. */
  checkAdded(before: Schema, { entities }: Schema): void {
    const problems: string[] = [];
    for (const entity of entities) {
      if (before.has(entity.target)) continue;
      for (const from of namedBy(entity)) {
        if (!before.has(from)) continue;
        problems.push(
          `${entity.name} has ${followed(entity)} about ${from.name}, which is open already and would not be followed: pass both to open().`,
        );
      }
    }
    if (problems.length > 0) throw new SchemaError(problems.join('\n'), problems);
  }

  /** @throws UnsupportedError on an entity in another table than the declared one. */
  refuseElsewhere(schema: EntitySchema): void {
    if (this.participants(schema).length === 0) return;
    throw new UnsupportedError(
      `${schema.name} has copies, referential rules or summaries, or others have them about it, which are followed in its declared table only. Declare a class without them for repositoryIn().`,
      { details: { entity: schema.name } },
    );
  }

  participants(schema: EntitySchema): ChangeParticipant[] {
    return [
      ...this.referencing.participants(schema),
      ...this.copying.participants(schema),
      ...this.summarizing.participants(schema),
    ];
  }
}

/** What an entity declares that follows rows, in words. */
function followed({ copies, references, summaries }: EntitySchema): string | undefined {
  const what = [
    ...(copies.length > 0 ? ['copies (@Denormalized)'] : []),
    ...(references.length > 0 ? ['referential rules (onDelete, exists)'] : []),
    ...(summaries.length > 0 ? ['summaries (@Summary)'] : []),
  ];
  return what.length === 0 ? undefined : what.join(' and ');
}

function namedBy({ copies, references }: EntitySchema): EntityClass[] {
  return [...copies, ...references].map(({ target }) => target());
}

/** Entities as the cells that a put of them writes, for what writes past repositories: bulk loads. */

import { ofItem, UnsupportedError } from '../errors.js';
import type { EntitySchema } from '../schema/types.js';
import type { Delete, Put } from '../table/index.js';
import { Expiry } from './expiry.js';
import { Presence } from './presence.js';
import type { RepositoryContext } from './row-access.js';
import type { WriteCompiler } from './write-compiler.js';

/**
 * Of each entity the changes of its row. Hooks before a put, stamps and checks run.
 * @throws UnsupportedError where a put does more than write cells that nothing stored decides; what is wrong with an entity.
 */
export async function cellChanges(
  schema: EntitySchema,
  compiler: WriteCompiler,
  context: RepositoryContext,
  entities: readonly unknown[],
): Promise<(Put | Delete)[][]> {
  const more = beyondCells(schema, context);
  if (more !== undefined) {
    throw new UnsupportedError(
      `${schema.name} has ${more}, so that a put of it does more than write the cells of its row. Put its entities: putMany, or \`rowan entities import\`.`,
      { details: { entity: schema.name } },
    );
  }
  const presence = new Presence(schema);
  const changes: (Put | Delete)[][] = [];
  for (const [index, given] of entities.entries()) {
    try {
      const done = compiler.prepare(given, 'put');
      const { entity } = done instanceof Promise ? await done : done;
      changes.push(schema.mapper.toMutations(presence.revived(entity), schema.mapper.rowOf(entity)));
    } catch (error) {
      throw ofItem(error, 'mutationsOf', index);
    }
  }
  return changes;
}

function beyondCells(schema: EntitySchema, { putsAlone, now }: RepositoryContext): string | undefined {
  if (!putsAlone) return 'indexes, copies or summaries';
  if (schema.versionProperty !== undefined) return 'a @Version';
  if (Expiry.of(schema, now) !== undefined) return 'a time to live';
  return schema.lifecycle.afterWrite === undefined ? undefined : 'hooks that follow a put';
}

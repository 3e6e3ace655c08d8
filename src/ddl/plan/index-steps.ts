/** Indexes that are declared and not built, and that are stored and not declared. */

import { toHex } from '../../bytes/index.js';
import type { TableSchema } from '../../schema/types.js';
import { type StoredIndex, undeclaredIndexes } from '../index-states.js';
import type { SchemaStep } from './types.js';

/** `stored`: what the metadata of the table's index table keeps, by id in hex. */
export function indexSteps(
  { descriptor, entities }: TableSchema,
  stored: ReadonlyMap<string, StoredIndex>,
): SchemaStep[] {
  const table = descriptor.name;
  const builds = entities.flatMap((entity) =>
    entity.indexes
      .filter(({ id }) => stored.get(toHex(id))?.state !== 'active')
      .map((index): SchemaStep => {
        const option = `${entity.name}.${index.name}`;
        return {
          id: `build-index:${table}/${option}`,
          kind: 'build-index',
          class: 'online',
          why: 'The index is declared and was not built: queries do not ask it before. Every program that writes must declare it by then, or its rows are missing in it.',
          table,
          option,
          from: stored.get(toHex(index.id))?.state,
          to: 'active',
        };
      }),
  );
  const drops = undeclaredIndexes(entities, stored).map(
    ([id, { entity, index, state }]): SchemaStep => ({
      id: `drop-index:${table}/${entity}.${index}/${id}`,
      kind: 'drop-index',
      class: 'online',
      why: `The index "${index}" of ${entity} is not declared any more, or not as it was built: its entries are removed. Nothing but them is lost: declare it again, and it is built anew.`,
      table,
      option: id,
      from: state,
    }),
  );
  return [...builds, ...drops];
}

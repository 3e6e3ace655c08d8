/** Puts of many entities that are nothing but cells, without a change set for each. */

import { ofItem } from '../errors.js';
import type { ColumnSchema, EntitySchema } from '../schema/types.js';
import type { Put } from '../table/index.js';
import { checkEntity, checkRequired } from './entity-checks.js';
import type { ChangeOutcome } from './executor.js';
import { applyWriteOptions, type BulkWriteOptions, optionsOf } from './options.js';

type Entity = Record<string, unknown>;

export class PlainPuts {
  constructor(
    private readonly schema: EntitySchema,
    private readonly required: readonly ColumnSchema[],
  ) {}

  /**
   * The puts of the entities, or undefined where one of them is more than a put.
   * @throws InvalidArgumentError on what is no object, or lacks a required column; what is wrong with a key or a value.
   */
  async of(
    entities: readonly unknown[],
    options: BulkWriteOptions<never> | undefined,
  ): Promise<Put[] | undefined> {
    const { schema, required } = this;
    eachItem(entities, (entity) => {
      checkEntity(schema, entity, 'put');
      checkRequired(schema, required, entity);
      return true;
    });
    const checked = entities as readonly Entity[];
    await schema.key.dictionaries?.giveIds(checked);
    const puts: Put[] = [];
    const isPut = eachItem(checked, (entity) => {
      const said = optionsOf(options, entity as never);
      const mutations = schema.mapper.toMutations(entity, schema.mapper.rowOf(entity), said?.timestamp);
      applyWriteOptions(mutations, said);
      const only = mutations[0]!;
      if (mutations.length !== 1 || only.kind !== 'put') return false;
      puts.push(only);
      return true;
    });
    return isPut ? puts : undefined;
  }
}

/** @throws the first failure, with the place of its item. */
export function checkPut(outcomes: readonly ChangeOutcome[]): void {
  for (let i = 0; i < outcomes.length; i++) {
    const outcome = outcomes[i]!;
    if (!outcome.ok) throw ofItem(outcome.error, 'putMany', i);
  }
}

/** Does `work` for each; false where it answered false. @throws what `work` throws, with the place of the item. */
function eachItem<T>(items: readonly T[], work: (item: T) => boolean): boolean {
  let index = 0;
  try {
    for (; index < items.length; index++) if (!work(items[index]!)) return false;
  } catch (error) {
    throw ofItem(error, 'putMany', index);
  }
  return true;
}

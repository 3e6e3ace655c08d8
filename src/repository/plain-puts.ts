import { ofItem } from '../errors.js';
import { mapColumn, qualifierOf } from '../query/slice.js';
import type { ColumnSchema, EntitySchema } from '../schema/types.js';
import { isInstance, isRecord } from '../table/checks.js';
import type { Put, Result } from '../table/index.js';
import type { ChangeOutcome } from './executor.js';
import { applyWriteOptions, type BulkWriteOptions, optionsOf } from './options.js';
import { valuesLost } from './row-access.js';
import { checkEntity, checkRequired } from './row-marker.js';

/** Fast path for puts of many entities that consist of cells only, without a change set each. */

type Entity = Record<string, unknown>;

export class PlainPuts {
  constructor(
    private readonly schema: EntitySchema,
    private readonly required: readonly ColumnSchema[],
  ) {}

  /**
   * The puts of the entities. Undefined where one of them needs a change set. @throws InvalidArgumentError on values
   * that are no object, or lack a required column; errors of keys and codecs.
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

/** @throws the first failure, with the position of its item. */
export function checkPut(outcomes: readonly ChangeOutcome[]): void {
  for (let i = 0; i < outcomes.length; i++) {
    const outcome = outcomes[i]!;
    if (!outcome.ok) throw ofItem(outcome.error, 'putMany', i);
  }
}

/**
 * Calls `work` for each item. @returns false as soon as `work` does. @throws errors of `work`, with the item's
 * position.
 */
function eachItem<T>(items: readonly T[], work: (item: T) => boolean): boolean {
  let index = 0;
  try {
    for (; index < items.length; index++) if (!work(items[index]!)) return false;
  } catch (error) {
    throw ofItem(error, 'putMany', index);
  }
  return true;
}

/** A changed property; of a Map, the changed entries with their qualifiers. */
interface ChangedProperty {
  readonly property: string;
  readonly column: ColumnSchema;
  readonly entries: readonly (readonly [key: unknown, qualifier: Uint8Array])[] | undefined;
}

/** Decodes the result of an increment or append: the values of the named columns and Map entries. */
export class NewValues {
  private readonly changed: readonly ChangedProperty[];

  /**
   * Copies the arguments. Unknown columns are left to the compiler of the change. @throws QueryError on entries of a
   * property that is no Map of columns; RowanError `ERR_CODEC` on a key of a wrong type.
   */
  constructor(
    private readonly schema: EntitySchema,
    given: object,
    private readonly doing: string,
  ) {
    this.changed = Object.entries(isRecord(given) ? given : {}).flatMap(
      ([property, change]: [string, unknown]) => {
        const column = schema.columnsByProperty.get(property);
        if (column === undefined) return [];
        const entries = isInstance(change, Map)
          ? [...change.keys()].map((key) => [key, qualifierOf(mapColumn(schema, property), key)] as const)
          : undefined;
        return [{ property, column, entries }];
      },
    );
  }

  /** @throws RowanError `ERR_CONNECTION` when the change was made and its values were lost. */
  of(result: Result): Record<string, unknown> {
    if (result.isEmpty && this.changed.length > 0) throw valuesLost(this.schema, this.doing);
    const values: Record<string, unknown> = {};
    for (const { property, column, entries } of this.changed) {
      const value =
        entries === undefined
          ? valueAt(result, column, column.qualifier)
          : new Map(entries.map(([key, qualifier]) => [key, valueAt(result, column, qualifier)]));
      if (value !== undefined) values[property] = value;
    }
    return values;
  }
}

function valueAt(result: Result, { family, codec }: ColumnSchema, qualifier: Uint8Array): unknown {
  const stored = result.getValue(family, qualifier);
  return stored && codec.decode(stored);
}

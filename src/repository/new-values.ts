import { RowanError } from '../errors.js';
import { mapColumn, qualifierOf } from '../query/slice.js';
import type { ColumnSchema, EntitySchema } from '../schema/types.js';
import { isInstance, isRecord } from '../table/checks.js';
import type { Result } from '../table/index.js';

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

/**
 * The error of a change that was applied but whose new values are unknown: they were lost with a server. Reading them
 * back would include later changes of others, so two callers could get the same value.
 */
function valuesLost(schema: EntitySchema, doing: string): RowanError {
  return new RowanError(
    'ERR_CONNECTION',
    `The ${doing} of ${schema.name} was made, but the server that made it is gone, and the new values with it. ` +
      'Do not repeat it; read the row for what it holds now.',
    { details: { entity: schema.name, outcome: 'applied' } },
  );
}

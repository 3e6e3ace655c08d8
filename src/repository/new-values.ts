import { mapColumn, qualifierOf } from '../query/slice.js';
import type { ColumnSchema, EntitySchema } from '../schema/types.js';
import type { Result } from '../table/index.js';
import { valuesLost } from './row-access.js';

/** One property, and of a Map the entries that are changed, with their qualifiers. */
interface ChangedProperty {
  readonly property: string;
  readonly column: ColumnSchema;
  readonly entries: readonly (readonly [key: unknown, qualifier: Uint8Array])[] | undefined;
}

/** The values that an increment or append answers: of the columns that it names, and of entries of Maps. */
export class NewValues {
  private readonly changed: readonly ChangedProperty[];

  /**
   * Takes what is given as it is now. What is no column is left to who makes the change.
   * @throws QueryError when entries are given of what is no Map of columns; RowanError `ERR_CODEC` on a key of a wrong type.
   */
  constructor(
    private readonly schema: EntitySchema,
    given: object,
    private readonly doing: string,
  ) {
    this.changed = Object.entries(given ?? {}).flatMap(([property, change]: [string, unknown]) => {
      const column = schema.columnsByProperty.get(property);
      if (column === undefined) return [];
      const entries =
        change instanceof Map
          ? [...change.keys()].map((key) => [key, qualifierOf(mapColumn(schema, property), key)] as const)
          : undefined;
      return [{ property, column, entries }];
    });
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

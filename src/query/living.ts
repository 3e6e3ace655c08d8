import { compareSlices } from '../bytes/index.js';
import type { EntityIndex } from '../features/indexes/entity-indexes.js';
import type { KeyConditions } from '../key/types.js';
import type { ColumnSchema, EntitySchema } from '../schema/types.js';
import type { Filter, RawRow } from '../table/index.js';
import type { Condition } from './condition.js';
import { pushCondition } from './pushdown.js';
import { valueSpan } from './row.js';

/** The rule for soft-deleted rows (`@DeletedAt`): rows without a time of deletion exist. */

/** The condition under which a row exists. Empty for entities without `@DeletedAt`. */
export function livingConditions(schema: EntitySchema): readonly Condition[] {
  const { deletedProperty: property } = schema;
  return property === undefined
    ? NOTHING
    : [{ kind: 'test', property, operator: 'exists', negated: true, values: NOTHING }];
}

/** The same as an engine filter. Undefined for entities without `@DeletedAt`. */
export function livingFilter(schema: EntitySchema): Filter | undefined {
  const [living] = livingConditions(schema);
  return living && pushCondition(living, schema.columnsByProperty);
}

const NOTHING: readonly never[] = Object.freeze([]);

/** Tests whether rows confirm the entries that were found by equality on an index's parts. */

export class EntryConfirmation {
  /** The column of each part, if each is a column: then a row with the requested values has the entry. */
  private readonly columns: readonly ColumnSchema[] | undefined;

  constructor(private readonly index: EntityIndex) {
    const { parts } = index.index;
    const columns = parts.map((part) => index.schema.columnsByProperty.get(part));
    this.columns = columns.every((column) => column?.kind === 'column')
      ? (columns as readonly ColumnSchema[])
      : undefined;
  }

  /** Compares bytes of cells, and decoded values where bytes cannot decide. */
  test(row: RawRow, asked: KeyConditions, entry: Uint8Array): boolean {
    const { index } = this;
    if (!this.hasAsked(row, asked)) return index.hasEntry(row, entry);
    return index.where === undefined || index.where.test(row);
  }

  private hasAsked(row: RawRow, asked: KeyConditions): boolean {
    const { columns } = this;
    if (columns === undefined) return false;
    for (let i = 0; i < columns.length; i++) {
      const { property, family, qualifier, codec } = columns[i]!;
      const condition = asked[property];
      if (condition?.kind !== 'eq') return false;
      const value = codec.encode(condition.value);
      const { bytes, start, end } = valueSpan(row, family, qualifier);
      // An empty value is not distinguished from an absent one.
      if (end === start || compareSlices(bytes, start, end - start, value, 0, value.length) !== 0)
        return false;
    }
    return true;
  }
}

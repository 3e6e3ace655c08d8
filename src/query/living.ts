import { compareSlices } from '../bytes/index.js';
import type { EntityIndex } from '../features/indexes/entity-indexes.js';
import type { KeyConditions } from '../key/types.js';
import type { ColumnSchema, EntitySchema } from '../schema/types.js';
import type { Filter, RawRow } from '../table/index.js';
import type { Condition } from './condition.js';
import { pushCondition } from './pushdown.js';
import { valueSpan } from './row.js';

/** The one place that says which rows of an entity with `@DeletedAt` are there: those without a time of deletion. */

/** The condition under which a row counts as there; none for entities that are deleted for good. */
export function livingConditions(schema: EntitySchema): readonly Condition[] {
  const { deletedProperty: property } = schema;
  return property === undefined
    ? NOTHING
    : [{ kind: 'test', property, operator: 'exists', negated: true, values: NOTHING }];
}

/** The same as a filter of the engine; undefined for entities that are deleted for good. */
export function livingFilter(schema: EntitySchema): Filter | undefined {
  const [living] = livingConditions(schema);
  return living && pushCondition(living, schema.columnsByProperty);
}

const NOTHING: readonly never[] = Object.freeze([]);

/** Whether rows bear out the entries that were found by asking for the values of an index's parts. */

export class BornOut {
  /** Of each part, where each is a column: any row with the values asked for has the entry. */
  private readonly columns: readonly ColumnSchema[] | undefined;

  constructor(private readonly index: EntityIndex) {
    const { parts } = index.index;
    const columns = parts.map((part) => index.schema.columnsByProperty.get(part));
    this.columns = columns.every((column) => column?.kind === 'column')
      ? (columns as readonly ColumnSchema[])
      : undefined;
  }

  /** By the bytes of the row's cells, and where these say nothing by its values. */
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
      // An empty value is not told from none.
      if (end === start || compareSlices(bytes, start, end - start, value, 0, value.length) !== 0)
        return false;
    }
    return true;
  }
}

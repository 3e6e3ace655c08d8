/** Whether rows bear out the entries that were found by asking for the values of an index's parts. */

import { compareSlices } from '../bytes/index.js';
import type { EntityIndex } from '../indexes/index.js';
import type { KeyConditions } from '../key/types.js';
import type { ColumnSchema } from '../schema/types.js';
import type { RawRow } from '../table/index.js';
import { valueSpan } from './row.js';

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

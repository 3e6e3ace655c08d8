/** Rows that are made of entries alone. */

import type { EntityIndex, EntryReader } from '../indexes/index.js';
import { MARKER_VALUE } from '../schema/types.js';
import { LATEST_TIMESTAMP, type RawRow } from '../table/index.js';
import type { CoveringCell } from './index-plan.js';

/** Whether values stand in the entry's row. */
export function decodesEntries(covering: readonly CoveringCell[]): boolean {
  return covering.some(({ column, at }) => column !== undefined && at < 0);
}

/** Makes the row of the entry at `entry`, which `reader` has read from `bytes`. `decodes`: as {@link decodesEntries} says. */
export function coverRow(
  { index }: EntityIndex,
  covering: readonly CoveringCell[],
  decodes: boolean,
  reader: EntryReader,
  entry: Uint8Array,
  bytes: Uint8Array,
  into: RawRow,
): void {
  into.begin(reader.dataRow);
  const values = decodes ? index.layout.decode(entry) : undefined;
  for (let i = 0; i < covering.length; i++) {
    const { family, qualifier, column, at } = covering[i]!;
    if (column === undefined) {
      into.add(family, qualifier, LATEST_TIMESTAMP, MARKER_VALUE, 0, MARKER_VALUE.length);
    } else if (at < 0) {
      const value = column.codec.encode(values![column.property]);
      into.add(family, qualifier, LATEST_TIMESTAMP, value, 0, value.length);
    } else if (reader.starts[at]! >= 0) {
      const from = reader.starts[at]!;
      into.add(family, qualifier, LATEST_TIMESTAMP, bytes, from, reader.ends[at]! - from);
    }
  }
}

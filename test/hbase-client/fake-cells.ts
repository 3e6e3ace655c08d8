/** Cells as the fake peer sends them. */

import { writeCell } from '../../src/hbase/wire/cell-codec.js';
import { ProtoWriter } from '../../src/hbase/wire/proto-writer.js';

/** Row, family, qualifier, timestamp, type, value. */
export type WireCell = readonly [string, string, string, number, number, Uint8Array | string];

/** A cell block of these cells. */
export function cellBlock(cells: readonly WireCell[]): Uint8Array {
  const writer = new ProtoWriter(256);
  for (const [row, family, qualifier, timestamp, type, value] of [...cells].reverse()) {
    const bytes = typeof value === 'string' ? Buffer.from(value) : value;
    writeCell(writer, Buffer.from(row), Buffer.from(family), Buffer.from(qualifier), timestamp, type, bytes);
  }
  return Uint8Array.from(writer.view());
}

/** The values of some columns of many rows, grouped by the stored bytes of others, as threads send them. */

import { copySlice, equalBytes } from '../../bytes/index.js';
import type { CellColumn, GroupedColumns, PackedGroups, RawRow } from '../../table/index.js';

/** Bytes of values at which a packet is full. */
const PACKET_BYTES = 1 << 18;
const PACKET_ROWS = 1 << 14;
/** Places of the hash table: twice the groups that a packet can have. */
const PLACES = 2 * PACKET_ROWS;
const ABSENT = -1;

/** Growing bytes, with the lengths of what was added; -1 for what is absent. */
class Spans {
  bytes = new Uint8Array(1 << 12);
  used = 0;
  lengths = new Int32Array(1 << 10);
  count = 0;

  /** Adds the value of a cell of the row. */
  add(raw: RawRow, cell: number): void {
    if (this.count === this.lengths.length) {
      const larger = new Int32Array(this.count * 2);
      larger.set(this.lengths);
      this.lengths = larger;
    }
    if (cell === ABSENT) {
      this.lengths[this.count++] = ABSENT;
      return;
    }
    const start = raw.starts[cell]!;
    const length = raw.ends[cell]! - start;
    if (this.used + length > this.bytes.length) {
      const larger = new Uint8Array((this.used + length) * 2);
      larger.set(this.bytes);
      this.bytes = larger;
    }
    copySlice(raw.bytes, start, length, this.bytes, this.used);
    this.used += length;
    this.lengths[this.count++] = length;
  }

  clear(): void {
    this.used = 0;
    this.count = 0;
  }
}

/** Finds the cells of columns in rows. Most rows have a column where the row before had it. */
class Columns {
  /** The cell of each column in the row found last; -1: absent. */
  readonly cells: Int32Array;

  constructor(private readonly columns: readonly CellColumn[]) {
    this.cells = new Int32Array(columns.length).fill(ABSENT);
  }

  find(raw: RawRow): void {
    const { cells, columns } = this;
    for (let i = 0; i < cells.length; i++) {
      const column = columns[i]!;
      const last = cells[i]!;
      if (last === ABSENT || !isAt(raw, last, column)) cells[i] = cellOf(raw, column);
    }
  }
}

function cellOf(raw: RawRow, column: CellColumn): number {
  for (let i = 0; i < raw.count; i++) if (isAt(raw, i, column)) return i;
  return ABSENT;
}

function isAt(raw: RawRow, cell: number, { family, qualifier }: CellColumn): boolean {
  return cell < raw.count && raw.families[cell] === family && equalBytes(raw.qualifiers[cell]!, qualifier);
}

export class GroupPacker {
  private readonly by: Columns;
  private readonly values: Columns;
  private readonly keys = new Spans();
  /** Where the bytes of each group's key begin in `keys`. */
  private readonly keyStarts = new Int32Array(PACKET_ROWS);
  private readonly places = new Int32Array(PLACES).fill(ABSENT);
  /** The values that figures read. */
  private readonly valueSpans = new Spans();
  private readonly groupOf = new Int32Array(PACKET_ROWS);
  private groups = 0;
  private rows = 0;

  constructor(private readonly columns: GroupedColumns) {
    this.by = new Columns(columns.by);
    this.values = new Columns(columns.values);
  }

  get isFull(): boolean {
    return this.rows === PACKET_ROWS || this.valueSpans.used + this.keys.used >= PACKET_BYTES;
  }

  get isEmpty(): boolean {
    return this.rows === 0;
  }

  add(raw: RawRow): void {
    const { alone } = this.columns;
    if (alone !== undefined && raw.count === 1 && isAt(raw, 0, alone)) return;
    this.by.find(raw);
    this.groupOf[this.rows++] = this.groupNumber(raw);
    this.values.find(raw);
    const { cells } = this.values;
    for (let i = 0; i < cells.length; i++) this.valueSpans.add(raw, cells[i]!);
  }

  /** The rows since the last call, in buffers of their own. */
  take(): PackedGroups {
    const { keys, valueSpans } = this;
    const packed = {
      rows: this.rows,
      groups: this.groups,
      keyLengths: keys.lengths.slice(0, keys.count),
      keys: keys.bytes.slice(0, keys.used),
      groupOf: this.groupOf.slice(0, this.rows),
      lengths: valueSpans.lengths.slice(0, valueSpans.count),
      bytes: valueSpans.bytes.slice(0, valueSpans.used),
    };
    keys.clear();
    valueSpans.clear();
    this.places.fill(ABSENT);
    this.groups = 0;
    this.rows = 0;
    return packed;
  }

  /** The number of the row's group, by linear probing. */
  private groupNumber(raw: RawRow): number {
    const { places, by, keys } = this;
    for (let place = hashOf(raw, by.cells) % PLACES; ; place = (place + 1) % PLACES) {
      const group = places[place]!;
      if (group !== ABSENT && this.isOfGroup(raw, group)) return group;
      if (group !== ABSENT) continue;
      places[place] = this.groups;
      this.keyStarts[this.groups] = keys.used;
      for (let i = 0; i < by.cells.length; i++) keys.add(raw, by.cells[i]!);
      return this.groups++;
    }
  }

  private isOfGroup({ bytes, starts, ends }: RawRow, group: number): boolean {
    const { cells } = this.by;
    const { keys } = this;
    let at = this.keyStarts[group]!;
    for (let i = 0; i < cells.length; i++) {
      const cell = cells[i]!;
      const length = keys.lengths[group * cells.length + i]!;
      if (cell === ABSENT || length === ABSENT) {
        if (cell !== ABSENT || length !== ABSENT) return false;
        continue;
      }
      const start = starts[cell]!;
      if (ends[cell]! - start !== length) return false;
      for (let j = 0; j < length; j++) if (keys.bytes[at + j] !== bytes[start + j]) return false;
      at += length;
    }
    return true;
  }
}

/** FNV-1a of the values of the cells. */
function hashOf({ bytes, starts, ends }: RawRow, cells: Int32Array): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < cells.length; i++) {
    const cell = cells[i]!;
    hash = Math.imul(hash ^ (cell === ABSENT ? 1 : 2), 0x01000193);
    if (cell === ABSENT) continue;
    for (let j = starts[cell]!; j < ends[cell]!; j++) hash = Math.imul(hash ^ bytes[j]!, 0x01000193);
  }
  return hash >>> 0;
}

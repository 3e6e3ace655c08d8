/** Puts that are made of the bytes of rows, sorted, as threads send them. */

import { isUtf8 } from 'node:buffer';
import {
  compareSlices,
  copySlice,
  EMPTY_BYTES,
  equalBytes,
  orderOfParts,
  writeVarint,
} from '../../bytes/index.js';
import {
  type CellColumn,
  type CopiedValue,
  type DerivedPiece,
  type DerivedPuts,
  type KeyForm,
  MAX_ROW_LENGTH,
  type PackedDerivedPuts,
  type PackedPutBytes,
  type RawRow,
  STEP_BYTES,
  STEP_PUTS,
} from '../../table/index.js';

/** As many as are sorted at once: the more, the fewer parts of a memstore change at a time. */
const PACKET_PUTS = 1 << 16;
const PACKET_BYTES = 1 << 22;
const MAX_VARINT_BYTES = 10;
const ABSENT = -1;
const END = 0x01;
const ESCAPE = 0xff;

/** A column, with its place in the last row: rows mostly have the same columns. */
class Place {
  private place = 0;
  /** The qualifier of the last row, if it is the column's. */
  private known: Uint8Array | undefined;

  constructor(private readonly column: CellColumn) {}

  /** The cell of the row; -1: it has none. */
  in(raw: RawRow): number {
    if (this.isAt(raw, this.place)) return this.place;
    for (let i = 0; i < raw.count; i++) {
      if (!this.isAt(raw, i)) continue;
      this.place = i;
      return i;
    }
    return ABSENT;
  }

  private isAt({ count, families, qualifiers }: RawRow, cell: number): boolean {
    if (cell >= count) return false;
    const { family, qualifier } = this.column;
    const own = qualifiers[cell]!;
    // Rows of a table mostly have the same objects.
    if (own !== this.known && !equalBytes(own, qualifier)) return false;
    this.known = own;
    return families[cell] === family;
  }
}

/** A piece of the rows; the same shape for all, because each row needs all of them. */
interface Piece {
  readonly isRow: boolean;
  readonly bytes: Uint8Array;
  readonly place: Place | undefined;
  readonly value: CopiedValue;
  readonly ended: boolean;
  readonly inverted: boolean;
}

function pieceOf(piece: DerivedPiece): Piece {
  const none = {
    isRow: false,
    bytes: EMPTY_BYTES,
    place: undefined,
    value: 'any',
    ended: false,
    inverted: false,
  } as const;
  if (piece === 'row') return { ...none, isRow: true };
  if ('bytes' in piece) return { ...none, bytes: piece.bytes };
  const { column, value, ended, inverted } = piece;
  return { ...none, place: new Place(column), value, ended, inverted };
}

export class PutsPacker {
  private readonly pieces: readonly Piece[];
  private readonly cells: readonly Place[];
  /** Row and value of each put. */
  private bytes = new Uint8Array(1 << 16);
  private used = 0;
  private readonly starts: number[] = [];
  private readonly rowEnds: number[] = [];
  private readonly ends: number[] = [];
  private others: Uint8Array[] = [];
  private rows = 0;
  private read = 0;
  private last = new Uint8Array(256);
  private lastLength = 0;

  constructor(private readonly made: DerivedPuts) {
    this.pieces = made.row.map(pieceOf);
    this.cells = made.cells.map((column) => new Place(column));
  }

  get isFull(): boolean {
    const { rows, starts, used, made } = this;
    return rows >= made.maxRows || starts.length >= PACKET_PUTS || used >= PACKET_BYTES;
  }

  get isEmpty(): boolean {
    return this.rows === 0;
  }

  add(raw: RawRow): void {
    const { row, count, ends } = raw;
    this.rows++;
    this.read += row.length + (count === 0 ? 0 : ends[count - 1]!);
    this.note(row);
    const start = this.used;
    const made = hasForm(row, this.made.source) ? this.appendRow(raw) : undefined;
    if (made === true) {
      this.starts.push(start);
      this.rowEnds.push(this.used);
      this.appendValue(raw);
      this.ends.push(this.used);
      return;
    }
    this.used = start;
    if (made === undefined) this.others.push(row.slice());
  }

  /** The puts since the last call, in buffers of their own. */
  take(): PackedDerivedPuts {
    const { bytes, starts, rowEnds } = this;
    const order = orderOfParts(bytes, starts, rowEnds);
    const puts: PackedPutBytes[] = [];
    for (let from = 0; from < order.length; ) {
      const step = this.stepOf(order, from);
      puts.push(step);
      from += step.rowEnds.length;
    }
    const { rows, read, others } = this;
    this.others = [];
    this.used = this.rows = this.read = 0;
    this.starts.length = this.rowEnds.length = this.ends.length = 0;
    return { rows, bytes: read, last: this.last.slice(0, this.lastLength), puts, others };
  }

  private note(row: Uint8Array): void {
    if (row.length > this.last.length) this.last = new Uint8Array(2 * row.length);
    copySlice(row, 0, row.length, this.last, 0);
    this.lastLength = row.length;
  }

  /** False: the row makes no put. Undefined: it cannot be told from its bytes. */
  private appendRow(raw: RawRow): boolean | undefined {
    const { used: start, pieces } = this;
    for (let i = 0; i < pieces.length; i++) {
      const { isRow, bytes, place, value, ended, inverted } = pieces[i]!;
      if (place === undefined) {
        const copied = isRow ? raw.row : bytes;
        this.append(copied, 0, copied.length);
        continue;
      }
      const cell = place.in(raw);
      if (cell === ABSENT) return false;
      const from = raw.starts[cell]!;
      const to = raw.ends[cell]!;
      if (!mayBeCopied(raw.bytes, from, to, value)) return undefined;
      const first = this.used;
      if (ended) this.appendEnded(raw.bytes, from, to);
      else this.append(raw.bytes, from, to - from);
      if (inverted) for (let at = first; at < this.used; at++) this.bytes[at] = ~this.bytes[at]!;
    }
    const length = this.used - start;
    return length > 0 && length <= MAX_ROW_LENGTH ? true : undefined;
  }

  /** Appends bytes with escapes and the end mark. */
  private appendEnded(from: Uint8Array, start: number, end: number): void {
    this.reserve(2 * (end - start) + 2);
    const { bytes } = this;
    let at = this.used;
    for (let i = start; i < end; i++) {
      const byte = from[i]!;
      bytes[at++] = byte;
      if (byte === 0) bytes[at++] = ESCAPE;
    }
    bytes[at++] = 0;
    bytes[at++] = END;
    this.used = at;
  }

  private appendValue(raw: RawRow): void {
    const { head } = this.made;
    this.append(head, 0, head.length);
    for (const place of this.cells) {
      const cell = place.in(raw);
      const length = cell === ABSENT ? ABSENT : raw.ends[cell]! - raw.starts[cell]!;
      this.reserve(MAX_VARINT_BYTES);
      this.used = writeVarint(this.bytes, this.used, length + 1);
      if (cell !== ABSENT) this.append(raw.bytes, raw.starts[cell]!, length);
    }
  }

  private append(from: Uint8Array, start: number, length: number): void {
    this.reserve(length);
    copySlice(from, start, length, this.bytes, this.used);
    this.used += length;
  }

  private reserve(length: number): void {
    const needed = this.used + length;
    if (needed <= this.bytes.length) return;
    const larger = new Uint8Array(2 * needed);
    larger.set(this.bytes.subarray(0, this.used));
    this.bytes = larger;
  }

  /** The puts of one step, from the first of those in order that are in none before. */
  private stepOf(order: Uint32Array, from: number): PackedPutBytes {
    const { qualifier } = this.made;
    const { bytes, starts, rowEnds, ends } = this;
    const most = Math.min(order.length, from + STEP_PUTS);
    let to = from;
    let size = qualifier.length;
    while (to < most && (to === from || size < STEP_BYTES)) {
      const put = order[to++]!;
      size += ends[put]! - starts[put]!;
    }
    const step = {
      rowEnds: new Int32Array(to - from),
      valueEnds: new Int32Array(to - from),
      bytes: new Uint8Array(size),
    };
    step.bytes.set(qualifier);
    let at = qualifier.length;
    for (let i = from; i < to; i++) {
      const put = order[i]!;
      const start = starts[put]!;
      const length = ends[put]! - start;
      copySlice(bytes, start, length, step.bytes, at);
      step.rowEnds[i - from] = at + rowEnds[put]! - start;
      at += length;
      step.valueEnds[i - from] = at;
    }
    return step;
  }
}

/** Whether the row has the form of such keys. */
function hasForm(row: Uint8Array, forms: readonly KeyForm[]): boolean {
  let at = 0;
  for (const form of forms) {
    if (form === 'rest') return true;
    if ('length' in form) at += form.length;
    else if ('bytes' in form) {
      const { length } = form.bytes;
      if (compareSlices(row, at, Math.min(length, row.length - at), form.bytes, 0, length) !== 0)
        return false;
      at += length;
    } else {
      at = endOf(row, at, form.escaped.mask);
      if (at < 0) return false;
    }
    if (at > row.length) return false;
  }
  return at === row.length;
}

/** The end of a value with escapes, behind its end mark; -1: it has none. */
function endOf(row: Uint8Array, start: number, mask: number): number {
  for (let i = start; i + 1 < row.length; i++) {
    if (row[i] !== mask) continue;
    const next = row[i + 1]! ^ mask;
    if (next === END) return i + 2;
    if (next !== ESCAPE) return -1;
    i++;
  }
  return -1;
}

function mayBeCopied(bytes: Uint8Array, start: number, end: number, value: CopiedValue): boolean {
  if (value === 'any') return true;
  if (value === 'text') {
    let high = 0;
    for (let i = start; i < end; i++) high |= bytes[i]!;
    return high < 0x80 || isUtf8(bytes.subarray(start, end));
  }
  const { first, last } = value;
  const { length } = first;
  if (end - start !== length) return false;
  return (
    compareSlices(bytes, start, length, first, 0, length) >= 0 &&
    compareSlices(bytes, start, length, last, 0, length) <= 0
  );
}

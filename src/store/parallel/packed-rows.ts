/** Many rows in three buffers, as threads send them. */

import { copySlice, equalBytes, toLatin1 } from '../../bytes/index.js';
import type { RawRow } from '../../table/index.js';

/** Bytes of keys and values at which a packet is full. */
const PACKET_BYTES = 1 << 18;
const PACKET_ROWS = 1 << 12;
/** Shapes of a packet; the columns of rows with further shapes stand in the rows themselves. */
const MAX_SHAPES = 32;
/** The number of a row that names its columns itself. */
const OWN_COLUMNS = -1;

/** The columns of a row. */
interface RowShape {
  readonly families: readonly string[];
  readonly qualifiers: readonly Uint8Array[];
}

export interface PackedRows {
  readonly rows: number;
  readonly shapes: readonly RowShape[];
  readonly families: readonly string[];
  /**
   * For each row: its shape or -1, the length of its key, the number of its cells; then for each cell the length of its value. With -1 the
   * index of the family and the length of the qualifier come before that of the value.
   */
  readonly heads: Int32Array;
  readonly timestamps: Float64Array;
  /** For each row: its key, with shape -1 its qualifiers, and its values. */
  readonly bytes: Uint8Array;
}

export class RowPacker {
  private rows = 0;
  private heads = new Int32Array(PACKET_ROWS * 4);
  private headsUsed = 0;
  private timestamps = new Float64Array(PACKET_ROWS);
  private cells = 0;
  private bytes = new Uint8Array(PACKET_BYTES + (PACKET_BYTES >>> 2));
  private bytesUsed = 0;
  private shapes: RowShape[] = [];
  private shapeNumbers = new Map<string, number>();
  private families: string[] = [];
  private last = OWN_COLUMNS;

  get isFull(): boolean {
    return this.bytesUsed >= PACKET_BYTES || this.rows >= PACKET_ROWS;
  }

  get isEmpty(): boolean {
    return this.rows === 0;
  }

  add(raw: RawRow): void {
    const { row, count, starts, ends } = raw;
    const shape = this.shapeOf(raw);
    const own = shape === OWN_COLUMNS;
    this.reserve(raw, own);
    const { heads, timestamps, bytes } = this;
    let at = this.headsUsed;
    heads[at++] = shape;
    heads[at++] = row.length;
    heads[at++] = count;
    copySlice(row, 0, row.length, bytes, this.bytesUsed);
    this.bytesUsed += row.length;
    for (let i = 0; i < count; i++) {
      if (own) {
        const qualifier = raw.qualifiers[i]!;
        heads[at++] = this.familyNumber(raw.families[i]!);
        heads[at++] = qualifier.length;
        bytes.set(qualifier, this.bytesUsed);
        this.bytesUsed += qualifier.length;
      }
      heads[at++] = ends[i]! - starts[i]!;
      timestamps[this.cells++] = raw.timestamps[i]!;
    }
    this.headsUsed = at;
    if (count > 0) {
      const length = ends[count - 1]! - starts[0]!;
      copySlice(raw.bytes, starts[0]!, length, bytes, this.bytesUsed);
      this.bytesUsed += length;
    }
    this.rows++;
  }

  /** The rows since the last call, in buffers of their own. */
  take(): PackedRows {
    const packed = {
      rows: this.rows,
      shapes: this.shapes,
      families: this.families,
      heads: this.heads.slice(0, this.headsUsed),
      timestamps: this.timestamps.slice(0, this.cells),
      bytes: this.bytes.slice(0, this.bytesUsed),
    };
    this.rows = this.headsUsed = this.cells = this.bytesUsed = 0;
    this.shapes = [];
    this.shapeNumbers = new Map();
    this.families = [];
    this.last = OWN_COLUMNS;
    return packed;
  }

  /** The number of the row's shape. Rows of a table mostly have the columns of the row before, as the same objects. */
  private shapeOf(raw: RawRow): number {
    const { last } = this;
    if (last !== OWN_COLUMNS && isOfShape(raw, this.shapes[last]!)) return last;
    this.last = this.findShape(raw);
    return this.last;
  }

  private findShape({ families, qualifiers, count }: RawRow): number {
    const columns: string[] = [];
    for (let i = 0; i < count; i++) columns.push(families[i]!, toLatin1(qualifiers[i]!));
    const key = JSON.stringify(columns);
    const known = this.shapeNumbers.get(key);
    if (known !== undefined) return known;
    if (this.shapes.length === MAX_SHAPES) return OWN_COLUMNS;
    this.shapeNumbers.set(key, this.shapes.length);
    return (
      this.shapes.push({ families: families.slice(0, count), qualifiers: qualifiers.slice(0, count) }) - 1
    );
  }

  private familyNumber(family: string): number {
    const known = this.families.indexOf(family);
    return known >= 0 ? known : this.families.push(family) - 1;
  }

  private reserve({ row, count, qualifiers, starts, ends }: RawRow, own: boolean): void {
    let bytes = this.bytesUsed + row.length + (count === 0 ? 0 : ends[count - 1]! - starts[0]!);
    if (own) for (let i = 0; i < count; i++) bytes += qualifiers[i]!.length;
    if (bytes > this.bytes.length) this.bytes = enlarged(this.bytes, new Uint8Array(bytes * 2));
    const heads = this.headsUsed + 3 + count * 3;
    if (heads > this.heads.length) this.heads = enlarged(this.heads, new Int32Array(heads * 2));
    const cells = this.cells + count;
    if (cells > this.timestamps.length)
      this.timestamps = enlarged(this.timestamps, new Float64Array(cells * 2));
  }
}

function enlarged<T extends Uint8Array | Int32Array | Float64Array>(from: T, to: T): T {
  to.set(from);
  return to;
}

function isOfShape({ count, families, qualifiers }: RawRow, shape: RowShape): boolean {
  if (shape.qualifiers.length !== count) return false;
  for (let i = 0; i < count; i++)
    if (shape.families[i] !== families[i] || !isSame(shape.qualifiers[i]!, qualifiers[i]!)) return false;
  return true;
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a === b || equalBytes(a, b);
}

/** Gives the rows of a packet one after the other. */
export class RowUnpacker {
  private left: number;
  private head = 0;
  private cell = 0;
  private at = 0;
  private shape = OWN_COLUMNS;

  constructor(private readonly packed: PackedRows) {
    this.left = packed.rows;
  }

  /** Lets `raw`, which is not used for anything else, show the next row; false at the end. */
  next(raw: RawRow): boolean {
    if (this.left === 0) return false;
    this.left--;
    const { heads, timestamps, bytes } = this.packed;
    const shape = heads[this.head++]!;
    const keyLength = heads[this.head++]!;
    const count = heads[this.head++]!;
    raw.setRow(bytes, this.at, keyLength);
    raw.bytes = bytes;
    raw.count = count;
    this.at += keyLength;
    if (shape === OWN_COLUMNS) this.readColumns(raw);
    else if (shape !== this.shape) this.setColumns(raw, this.packed.shapes[shape]!);
    this.shape = shape;
    const step = shape === OWN_COLUMNS ? 3 : 1;
    for (let i = 0; i < count; i++) {
      raw.timestamps[i] = timestamps[this.cell++]!;
      raw.starts[i] = this.at;
      this.at += heads[this.head + step - 1]!;
      this.head += step;
      raw.ends[i] = this.at;
    }
    return true;
  }

  private setColumns(raw: RawRow, { families, qualifiers }: RowShape): void {
    for (let i = 0; i < qualifiers.length; i++) {
      raw.families[i] = families[i]!;
      raw.qualifiers[i] = qualifiers[i]!;
    }
  }

  private readColumns(raw: RawRow): void {
    const { heads, bytes, families } = this.packed;
    for (let i = 0; i < raw.count; i++) {
      const length = heads[this.head + i * 3 + 1]!;
      raw.families[i] = families[heads[this.head + i * 3]!]!;
      raw.qualifiers[i] = bytes.slice(this.at, this.at + length);
      this.at += length;
    }
  }
}

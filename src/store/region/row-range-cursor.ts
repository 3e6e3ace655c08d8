import { compareSlices } from '../../bytes/index.js';
import { CellCursor, SeekKey } from '../cursor.js';

/** The rows [startKey, endKey) of a file that two regions share since a split; forwards only, for compactions. */
export class RowRangeCursor extends CellCursor {
  constructor(
    private readonly inner: CellCursor,
    private readonly startKey: Uint8Array,
    private readonly endKey: Uint8Array,
  ) {
    super();
  }

  override seekToFirst(): boolean {
    const key = new SeekKey().setRow(this.startKey);
    return this.settle(this.startKey.length === 0 ? this.inner.seekToFirst() : this.inner.seek(key));
  }

  override seek(target: SeekKey): boolean {
    const { row, rowOffset, rowLength } = target;
    const before = compareSlices(row, rowOffset, rowLength, this.startKey, 0, this.startKey.length) < 0;
    return before ? this.seekToFirst() : this.settle(this.inner.seek(target));
  }

  override reseek(target: SeekKey): boolean {
    return this.settle(this.inner.reseek(target));
  }

  override next(): boolean {
    return this.settle(this.inner.next());
  }

  override seekToPreviousRow(): boolean {
    this.valid = false;
    return false;
  }

  override close(): void {
    this.valid = false;
    this.inner.close();
  }

  private settle(found: boolean): boolean {
    const { inner, endKey } = this;
    this.valid =
      found &&
      (endKey.length === 0 ||
        compareSlices(inner.key, inner.rowOffset, inner.rowLength, endKey, 0, endKey.length) < 0);
    if (!this.valid) return false;
    this.key = inner.key;
    this.rowOffset = inner.rowOffset;
    this.rowLength = inner.rowLength;
    this.qualifierOffset = inner.qualifierOffset;
    this.qualifierLength = inner.qualifierLength;
    this.timestamp = inner.timestamp;
    this.type = inner.type;
    this.seq = inner.seq;
    this.value = inner.value;
    this.valueOffset = inner.valueOffset;
    this.valueLength = inner.valueLength;
    this.ttl = inner.ttl;
    return true;
  }
}

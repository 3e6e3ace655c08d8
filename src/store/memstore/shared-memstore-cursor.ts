import { CellCursor, compareToSeekKey, type SeekKey } from '../cursor.js';
import { CellArena, chunkOf, offsetOf } from './arena.js';
import { loadCell } from './memstore-cursor.js';

/** A frozen memstore as it is handed to a worker. */
export interface SharedMemstore {
  readonly buffers: readonly SharedArrayBuffer[];
  readonly refs: Uint32Array;
}

/** Reads a frozen memstore from first to last; the only way in which a worker needs it. */
export class SharedMemstoreCursor extends CellCursor {
  private readonly arena: CellArena;
  private readonly refs: Uint32Array;
  private index = 0;

  constructor(shared: SharedMemstore) {
    super();
    this.arena = CellArena.of(shared.buffers);
    this.refs = shared.refs;
  }

  override seekToFirst(): boolean {
    this.index = -1;
    return this.next();
  }

  override next(): boolean {
    this.index++;
    this.valid = this.index < this.refs.length;
    if (this.valid) {
      const ref = this.refs[this.index]!;
      loadCell(this, this.arena.chunks[chunkOf(ref)]!, offsetOf(ref));
    }
    return this.valid;
  }

  override seek(target: SeekKey): boolean {
    if (!this.valid) this.seekToFirst();
    return this.reseek(target);
  }

  override reseek(target: SeekKey): boolean {
    while (this.valid && compareToSeekKey(this, target) < 0) this.next();
    return this.valid;
  }

  override seekToPreviousRow(): boolean {
    this.valid = false;
    return false;
  }

  override close(): void {
    this.valid = false;
  }
}

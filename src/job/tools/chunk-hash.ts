/** Hashes of chunks of rows: whoever has the same hash has the same cells. */

import { hash } from 'node:crypto';
import type { Result } from '../../table/index.js';
import { FrameBuilder } from './cell-frames.js';

/** Digits of the SHA-256 that stand for a chunk. */
const HEX_DIGITS = 32;
export const HASH_PATTERN = /^[0-9a-f]{32}$/;

/** A chunk larger than this is hashed in parts, at the same rows whoever hashes it. */
const PART_BYTES = 1 << 20;

export class ChunkHasher {
  private readonly cells = new FrameBuilder();
  private digest = '';

  /** Bytes of the rows of the chunk. */
  bytes = 0;
  rows = 0;

  add(row: Result): void {
    const before = this.cells.length;
    this.cells.add(row);
    this.bytes += this.cells.length - before;
    this.rows++;
    if (this.cells.length >= PART_BYTES) this.fold();
  }

  /** The hash of what was added, in hex; the next chunk begins. */
  take(): string {
    this.fold();
    const { digest } = this;
    this.digest = '';
    this.bytes = 0;
    this.rows = 0;
    return digest.slice(0, HEX_DIGITS);
  }

  private fold(): void {
    this.digest = hash('sha256', Buffer.concat([Buffer.from(this.digest), this.cells.payload()]));
    this.cells.clear();
  }
}

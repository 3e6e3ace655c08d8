import type { FileHandle } from '../fs/file-system.js';
import { BLOCK_HEADER_BYTES, type BlockType, writeHeader } from './block-frame.js';

const STAGING_BYTES = 1 << 18;

/**
 * Bytes after which the file is synced while it is written. Otherwise the system would write a large file at once in the final
 * sync, and syncs of the log would wait for it.
 */
const SYNCED_BYTES = 1 << 20;

/** The position of a block in the file. */
export interface BlockPlace {
  readonly offset: number;
  /** Header included. */
  readonly length: number;
}

/** Appends blocks to a file, several with each system call. */
export class FileOutput {
  private staging = new Uint8Array(STAGING_BYTES);
  private staged = 0;
  private unsynced = 0;
  /** The offset of the next byte. */
  offset = 0;

  constructor(
    readonly handle: FileHandle,
    private readonly fileNo: number,
  ) {}

  block(
    type: BlockType,
    payload: Uint8Array,
    length: number,
    codec = 0,
    encoding = 0,
    rawLength = length,
  ): BlockPlace {
    const total = BLOCK_HEADER_BYTES + length;
    this.reserve(total);
    const { staging, staged, offset } = this;
    staging.set(
      length === payload.length ? payload : payload.subarray(0, length),
      staged + BLOCK_HEADER_BYTES,
    );
    writeHeader(staging, staged, { type, codec, encoding, rawLength, length }, this.fileNo, offset);
    this.staged += total;
    this.offset += total;
    return { offset, length: total };
  }

  bytes(bytes: Uint8Array): void {
    this.reserve(bytes.length);
    this.staging.set(bytes, this.staged);
    this.staged += bytes.length;
    this.offset += bytes.length;
  }

  flush(): void {
    if (this.staged === 0) return;
    this.handle.write(this.staging, 0, this.staged);
    this.unsynced += this.staged;
    this.staged = 0;
    if (this.unsynced < SYNCED_BYTES) return;
    this.handle.sync();
    this.unsynced = 0;
  }

  private reserve(length: number): void {
    if (this.staged + length <= this.staging.length) return;
    this.flush();
    if (length > this.staging.length) this.staging = new Uint8Array(length);
  }
}

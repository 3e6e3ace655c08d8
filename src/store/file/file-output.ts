import type { FileHandle } from '../fs/file-system.js';
import { BLOCK_HEADER_BYTES, type BlockType, writeHeader } from './block-frame.js';

const STAGING_BYTES = 1 << 18;

/**
 * Bytes that are left to the operating system at a time. It would write a large file all at once when that is synced in the end,
 * and whoever waits for the log meanwhile waits behind it.
 */
const SYNCED_BYTES = 1 << 20;

/** Where a block stands in the file. */
export interface BlockPlace {
  readonly offset: number;
  /** With its header. */
  readonly length: number;
}

/** Appends blocks to a file, a few of them with each call of the system. */
export class FileOutput {
  private staging = new Uint8Array(STAGING_BYTES);
  private staged = 0;
  private unsynced = 0;
  /** Where the next byte goes. */
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

/**
 * Encrypted sorted files, below the code that reads and writes them: that code sees the bytes of a plain file. FROZEN, see docs/formats.md:
 *
 *   0    "ROWANENC"
 *   8    version u16, 1
 *   10   head of the key (keys.ts), 114 bytes
 *   124  crc-32 u32 of bytes 0-123
 *   128  pages: 4096 bytes of the file (the last: 1 to 4096) encrypted, and a tag of 16
 *
 * The nonce of a page is its number, and 1 for the last page or 0, so that pages can be neither exchanged nor cut off.
 */

import { crc32, EMPTY_BYTES } from '../../bytes/index.js';
import { CorruptionError, RowanError, UnsupportedError } from '../../errors.js';
import type { FileHandle } from '../fs/file-system.js';
import { type FileCipher, HEAD_BYTES, TAG_BYTES } from './keys.js';

const MAGIC = Buffer.from('ROWANENC', 'latin1');
const VERSION = 1;
const HEAD_AT = 10;
const CRC_AT = HEAD_AT + HEAD_BYTES;
const FIRST_PAGE = CRC_AT + 4;
const PAGE_BYTES = 4096;
const SEALED_PAGE = PAGE_BYTES + TAG_BYTES;

/** The bytes of the plain file in an encrypted one of `physical` bytes. */
export function logicalSize(physical: number): number {
  const body = Math.max(0, physical - FIRST_PAGE);
  return Math.max(0, body - TAG_BYTES * Math.ceil(body / SEALED_PAGE));
}

export function damaged(path: string, offset: number, what: string): CorruptionError {
  return new CorruptionError(
    `The encrypted file "${path}" is damaged at byte ${offset}: ${what}. Restore it from a copy of the store.`,
    { details: { file: path, offset } },
  );
}

function refuse(doing: string, path: string): never {
  throw new UnsupportedError(`The encrypted sorted file "${path}" cannot be ${doing}: it is written once.`);
}

/** Whether a file is an encrypted sorted file, be its magic damaged. */
export function isSealed(file: FileHandle): boolean {
  if (file.size < FIRST_PAGE) return false;
  const bytes = Buffer.alloc(FIRST_PAGE);
  file.read(bytes, 0, FIRST_PAGE, 0);
  if (MAGIC.compare(bytes, 0, MAGIC.length) === 0) return true;
  MAGIC.copy(bytes);
  return bytes.readUInt32LE(CRC_AT) === crc32(bytes, 0, CRC_AT);
}

/** The head of the key of an encrypted sorted file. @throws CorruptionError when it is damaged. */
export function readHead(file: FileHandle): Uint8Array {
  const bytes = new Uint8Array(FIRST_PAGE);
  file.read(bytes, 0, FIRST_PAGE, 0);
  const view = new DataView(bytes.buffer);
  if (view.getUint32(CRC_AT, true) !== crc32(bytes, 0, CRC_AT))
    throw damaged(file.path, 0, 'the checksum of its head does not match');
  const version = view.getUint16(MAGIC.length, true);
  if (version !== VERSION) {
    throw new RowanError(
      'ERR_FORMAT_VERSION',
      `The encrypted file "${file.path}" has format version ${version}; this release of Rowan reads version ${VERSION}. Open the ` +
        'store with the release that wrote it, or a newer one.',
      { details: { file: file.path, version } },
    );
  }
  return bytes.subarray(HEAD_AT, CRC_AT);
}

/** The common part of reading and writing an encrypted file. */
abstract class SealedFile implements FileHandle {
  readonly path: string;

  constructor(
    protected readonly inner: FileHandle,
    protected readonly cipher: FileCipher,
  ) {
    this.path = inner.path;
  }

  abstract get size(): number;
  abstract read(buffer: Uint8Array, offset: number, length: number, position: number): number;
  abstract write(buffer: Uint8Array, offset: number, length: number): void;

  get closed(): boolean {
    return this.inner.closed;
  }

  async prepare(): Promise<void> {
    refuse('extended', this.path);
  }

  truncate(): void {
    refuse('cut', this.path);
  }

  sync(): void {
    this.inner.sync();
  }

  syncAsync(): Promise<void> {
    return this.inner.syncAsync();
  }

  close(): void {
    this.inner.close();
  }
}

/** Decrypts the pages that are read. */
export class SealedReader extends SealedFile {
  private readonly lastPage: number;
  /** Reused, so that a read of few pages makes no garbage. */
  private scratch: Uint8Array = Buffer.allocUnsafeSlow(2 * SEALED_PAGE);

  constructor(inner: FileHandle, cipher: FileCipher) {
    super(inner, cipher);
    this.lastPage = Math.ceil((inner.size - FIRST_PAGE) / SEALED_PAGE) - 1;
  }

  get size(): number {
    return logicalSize(this.inner.size);
  }

  read(buffer: Uint8Array, offset: number, length: number, position: number): number {
    const end = Math.min(position + length, this.size);
    if (end <= position) return 0;
    const first = Math.floor(position / PAGE_BYTES);
    const last = Math.floor((end - 1) / PAGE_BYTES);
    const wanted = (last - first + 1) * SEALED_PAGE;
    if (wanted > this.scratch.length) this.scratch = Buffer.allocUnsafeSlow(wanted);
    const { scratch } = this;
    const count = this.inner.read(scratch, 0, wanted, FIRST_PAGE + first * SEALED_PAGE);
    for (let page = first; page <= last; page++) {
      const at = (page - first) * SEALED_PAGE;
      const text = this.page(page, scratch.subarray(at, Math.min(at + SEALED_PAGE, count)));
      const from = Math.max(0, position - page * PAGE_BYTES);
      const to = Math.min(text.length, end - page * PAGE_BYTES);
      buffer.set(
        from === 0 && to === text.length ? text : text.subarray(from, to),
        offset + page * PAGE_BYTES + from - position,
      );
    }
    // One read of a whole file must not keep its memory for ever.
    if (scratch.length > 1 << 20) this.scratch = Buffer.allocUnsafeSlow(2 * SEALED_PAGE);
    return end - position;
  }

  async readAhead(position: number, length: number): Promise<void> {
    const end = Math.min(position + length, this.size);
    const first = Math.floor(position / PAGE_BYTES);
    const pages = Math.floor((end - 1) / PAGE_BYTES) - first + 1;
    if (end > position) await this.inner.readAhead?.(FIRST_PAGE + first * SEALED_PAGE, pages * SEALED_PAGE);
  }

  private page(page: number, sealed: Uint8Array): Uint8Array {
    const end = sealed.length - TAG_BYTES;
    const isLast = page === this.lastPage ? 1 : 0;
    const text =
      end > 0
        ? this.cipher.open(page, isLast, EMPTY_BYTES, sealed.subarray(0, end), sealed.subarray(end))
        : undefined;
    if (text !== undefined) return text;
    throw damaged(this.path, FIRST_PAGE + page * SEALED_PAGE, `page ${page} is not as it was encrypted`);
  }

  write(): void {
    refuse('written to', this.path);
  }
}

/** Encrypts page by page. */
export class SealedWriter extends SealedFile {
  private readonly page = Buffer.allocUnsafeSlow(PAGE_BYTES);
  private filled = 0;
  private pages = 0;
  private complete_ = false;

  constructor(inner: FileHandle, cipher: FileCipher, head: Uint8Array) {
    super(inner, cipher);
    const bytes = new Uint8Array(FIRST_PAGE);
    bytes.set(MAGIC);
    const view = new DataView(bytes.buffer);
    view.setUint16(MAGIC.length, VERSION, true);
    bytes.set(head, HEAD_AT);
    view.setUint32(CRC_AT, crc32(bytes, 0, CRC_AT), true);
    inner.write(bytes, 0, FIRST_PAGE);
  }

  get size(): number {
    return this.pages * PAGE_BYTES + this.filled;
  }

  write(buffer: Uint8Array, offset: number, length: number): void {
    if (this.complete_) refuse('written to', this.path);
    const sealed: Uint8Array[] = [];
    for (let done = 0; done < length; ) {
      // A full page stays open until a byte follows: only then it is known not to be the last.
      if (this.filled === PAGE_BYTES) this.sealPage(0, sealed);
      const count = Math.min(length - done, PAGE_BYTES - this.filled);
      this.page.set(buffer.subarray(offset + done, offset + done + count), this.filled);
      this.filled += count;
      done += count;
    }
    this.append(sealed);
  }

  complete(): void {
    if (this.complete_) return;
    this.complete_ = true;
    const sealed: Uint8Array[] = [];
    if (this.filled > 0) this.sealPage(1, sealed);
    this.append(sealed);
  }

  private sealPage(isLast: 0 | 1, into: Uint8Array[]): void {
    const text = this.page.subarray(0, this.filled);
    into.push(...this.cipher.seal(this.pages, isLast, EMPTY_BYTES, text));
    this.pages++;
    this.filled = 0;
  }

  private append(parts: readonly Uint8Array[]): void {
    if (parts.length === 0) return;
    const bytes = Buffer.concat(parts);
    this.inner.write(bytes, 0, bytes.length);
  }

  read(): number {
    return refuse('read while it is written', this.path);
  }
}

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
import {
  type DirectoryLock,
  type FileHandle,
  type FileSystem,
  joinPath,
  manifestFileName,
  parseStoreFileName,
  type StoreFileKind,
} from '../fs/file-system.js';
import {
  CHUNK_HEADER_SIZE,
  FILE_HEADER_END,
  headerEnd,
  readUint32,
  SEALED_HEADER_END,
  SEALED_HEADER_PAYLOAD,
} from '../logfile/writer.js';
import {
  type EncryptionOptions,
  encrypted,
  type FileCipher,
  HEAD_BYTES,
  keyIdOf,
  type NewCipher,
  StoreKeys,
  TAG_BYTES,
} from './keys.js';

const MAGIC = Buffer.from('ROWANENC', 'latin1');
/** The end of a sorted file that is not encrypted. */
const PLAIN_MAGIC = Buffer.from('ROWANSST', 'latin1');
const VERSION = 1;
const HEAD_AT = 10;
const CRC_AT = HEAD_AT + HEAD_BYTES;
const FIRST_PAGE = CRC_AT + 4;
const PAGE_BYTES = 4096;
const SEALED_PAGE = PAGE_BYTES + TAG_BYTES;
/** The kind of file, for its key. */
const KIND = 'ROWANENC';
function logicalSize(physical: number): number {
  const body = Math.max(0, physical - FIRST_PAGE);
  return Math.max(0, body - TAG_BYTES * Math.ceil(body / SEALED_PAGE));
}

function damaged(path: string, offset: number, what: string): CorruptionError {
  return new CorruptionError(
    `The encrypted file "${path}" is damaged at byte ${offset}: ${what}. Restore it from a copy of the store.`,
    { details: { file: path, offset } },
  );
}

function refuse(doing: string, path: string): never {
  throw new UnsupportedError(`The encrypted sorted file "${path}" cannot be ${doing}: it is written once.`);
}

/** Whether a file is an encrypted sorted file, be its magic damaged. */
function isSealed(file: FileHandle): boolean {
  if (file.size < FIRST_PAGE) return false;
  const bytes = Buffer.alloc(FIRST_PAGE);
  file.read(bytes, 0, FIRST_PAGE, 0);
  if (MAGIC.compare(bytes, 0, MAGIC.length) === 0) return true;
  MAGIC.copy(bytes);
  return bytes.readUInt32LE(CRC_AT) === crc32(bytes, 0, CRC_AT);
}

/** The head of the key of an encrypted sorted file. @throws CorruptionError when it is damaged. */
function readHead(file: FileHandle): Uint8Array {
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

class SealedReader extends SealedFile {
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

class SealedWriter extends SealedFile {
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

/** The number of a sorted file by its path; undefined for other files. */
function sortedFileNumber(path: string): number | undefined {
  const parsed = parseStoreFileName(path.slice(path.lastIndexOf('/') + 1));
  return parsed?.kind === 'sorted' ? parsed.number : undefined;
}

/**
 * The files of an encrypted store: sorted files are encrypted and decrypted here. Logs are files of their own format, and take their
 * ciphers from `encryption`; everything else is plain.
 */
export class EncryptedFileSystem implements FileSystem {
  readonly receive?: NonNullable<FileSystem['receive']>;
  readonly call?: NonNullable<FileSystem['call']>;
  readonly absolute?: NonNullable<FileSystem['absolute']>;

  constructor(
    /** The file system below. */
    readonly disk: FileSystem,
    readonly encryption: StoreKeys,
  ) {
    if (disk.receive) this.receive = disk.receive.bind(disk);
    if (disk.call) this.call = disk.call.bind(disk);
    if (disk.absolute) this.absolute = disk.absolute.bind(disk);
  }

  /**
   * Loads the keys of all files in the folder of a store, and the one of new files. Files are not checked: what a crash has left of
   * one that no MANIFEST names is removed later.
   * @throws RowanError `ERR_ENCRYPTION` when a key cannot be had.
   */
  async loadKeys(directory: string): Promise<void> {
    const { disk, encryption } = this;
    await encryption.loadCurrent();
    for (const path of storeFiles(disk, directory, ['wal', 'manifest'])) {
      const head = logHead(disk, path);
      if (head !== undefined) await encryption.load(keyIdOf(head, path));
    }
    for (const path of sortedFiles(disk, directory)) {
      const head = headOf(disk, path);
      if (head instanceof Uint8Array) await encryption.load(keyIdOf(head, path));
    }
  }

  openRead(path: string): FileHandle {
    const file = this.disk.openRead(path);
    const number = sortedFileNumber(path);
    if (number === undefined) return file;
    try {
      if (!isSealed(file)) {
        this.checkPlain(file);
        return file;
      }
      return new SealedReader(file, this.encryption.forFile(KIND, number, readHead(file), path));
    } catch (error) {
      file.close();
      throw error;
    }
  }

  private checkPlain(file: FileHandle): void {
    if (this.encryption.acceptPlain) return;
    const end = new Uint8Array(PLAIN_MAGIC.length);
    file.read(end, 0, end.length, Math.max(0, file.size - end.length));
    if (!PLAIN_MAGIC.equals(end)) throw damaged(file.path, 0, 'it has no head');
    this.encryption.checkPlain(file.path);
  }

  create(path: string): FileHandle {
    const number = sortedFileNumber(path);
    const sealed: NewCipher | undefined =
      number === undefined ? undefined : this.encryption.forNewFile(KIND, number);
    const file = this.disk.create(path);
    if (sealed === undefined) return file;
    try {
      return new SealedWriter(file, sealed.cipher, sealed.head);
    } catch (error) {
      file.close();
      throw error;
    }
  }

  fileSize(path: string): number {
    if (sortedFileNumber(path) === undefined) return this.disk.fileSize(path);
    const file = this.disk.openRead(path);
    try {
      return isSealed(file) ? logicalSize(file.size) : file.size;
    } finally {
      file.close();
    }
  }

  openAppend(path: string): FileHandle {
    return this.disk.openAppend(path);
  }

  mkdir(path: string): void {
    this.disk.mkdir(path);
  }

  readdir(path: string): string[] {
    return this.disk.readdir(path);
  }

  rename(from: string, to: string): void {
    this.disk.rename(from, to);
  }

  unlink(path: string): void {
    this.disk.unlink(path);
  }

  rmdir(path: string): void {
    this.disk.rmdir(path);
  }

  exists(path: string): boolean {
    return this.disk.exists(path);
  }

  isDirectory(path: string): boolean {
    return this.disk.isDirectory(path);
  }

  link(existing: string, path: string): void {
    this.disk.link(existing, path);
  }

  syncDirectory(path: string): void {
    this.disk.syncDirectory(path);
  }

  syncDirectoryAsync(path: string): Promise<void> {
    return this.disk.syncDirectoryAsync(path);
  }

  lock(directory: string): Promise<DirectoryLock> {
    return this.disk.lock(directory);
  }

  letGo(): void {
    this.disk.letGo?.();
  }
}

/** The file system below an encrypted one; any other as it is. */
export function diskOf(fileSystem: FileSystem): FileSystem {
  return fileSystem instanceof EncryptedFileSystem ? fileSystem.disk : fileSystem;
}

/** The files of a store for a given `encryption`; as they are without one. */
export function withEncryption(fileSystem: FileSystem, options: EncryptionOptions | undefined): FileSystem {
  return options === undefined ? fileSystem : new EncryptedFileSystem(fileSystem, StoreKeys.of(options));
}

/**
 * Loads the keys of a store's files, if they are encrypted.
 * @throws RowanError `ERR_ENCRYPTION`
 */
export async function loadKeys(fileSystem: FileSystem, directory: string): Promise<void> {
  if (fileSystem instanceof EncryptedFileSystem) await fileSystem.loadKeys(directory);
}

/**
 * @throws RowanError `ERR_ENCRYPTION` when a file is an encrypted sorted file, which a store without `encryption` takes for a damaged one.
 */
export function refuseSealed(fileSystem: FileSystem, path: string): void {
  if (fileSystem.encryption !== undefined) return;
  const head = headOf(fileSystem, path);
  if (head instanceof Uint8Array) throw encrypted(path, head);
}

/** @throws RowanError `ERR_ENCRYPTION` when the folder has encrypted sorted files, and `fileSystem` has no keys. */
export function refuseSealedFiles(fileSystem: FileSystem, directory: string): void {
  for (const path of sortedFiles(fileSystem, directory)) refuseSealed(fileSystem, path);
}

function sortedFiles(fileSystem: FileSystem, directory: string): string[] {
  return storeFiles(fileSystem, directory, ['sorted']);
}

function storeFiles(
  fileSystem: FileSystem,
  directory: string,
  kinds: readonly (StoreFileKind | undefined)[],
): string[] {
  if (!fileSystem.isDirectory(directory)) return [];
  return fileSystem
    .readdir(directory)
    .filter((name) => kinds.includes(parseStoreFileName(name)?.kind))
    .map((name) => joinPath(directory, name));
}

/** The head of the key of a log; undefined when it is not encrypted, or its header is damaged. */
function logHead(fileSystem: FileSystem, path: string): Uint8Array | undefined {
  const file = fileSystem.openRead(path);
  try {
    const bytes = new Uint8Array(SEALED_HEADER_END);
    file.read(bytes, 0, bytes.length, 0);
    if (headerEnd(bytes) !== SEALED_HEADER_END) return undefined;
    const isWhole = crc32(bytes, CHUNK_HEADER_SIZE, SEALED_HEADER_PAYLOAD) === readUint32(bytes, 4);
    return isWhole ? bytes.subarray(FILE_HEADER_END) : undefined;
  } finally {
    file.close();
  }
}

/** Whether a MANIFEST is encrypted as new files are. A store whose MANIFEST is not gets a new one when it is opened. */
export function hasCurrentKey(fileSystem: FileSystem, directory: string, manifest: number): boolean {
  if (fileSystem.encryption === undefined || manifest === 0) return true;
  const path = joinPath(directory, manifestFileName(manifest));
  const head = logHead(fileSystem, path);
  return fileSystem.encryption.isCurrent(head && keyIdOf(head, path));
}

/** How many files of a store are encrypted with which key. */
interface KeyUse {
  /** Undefined: not encrypted. */
  readonly keyId: string | undefined;
  readonly files: number;
  readonly bytes: number;
}

/** Counts the files in the folder of a store by their keys, which it does not need. Also of a store that is open. */
export function keysInUse(fileSystem: FileSystem, directory: string): KeyUse[] {
  const counts = new Map<string | undefined, { files: number; bytes: number }>();
  for (const path of storeFiles(fileSystem, directory, ['wal', 'manifest', 'sorted'])) {
    const head = sortedFileNumber(path) === undefined ? logHead(fileSystem, path) : headOf(fileSystem, path);
    if (head === 'damaged') throw damaged(path, 0, 'the checksum of its head does not match');
    const keyId = head && keyIdOf(head, path);
    const count = counts.get(keyId) ?? { files: 0, bytes: 0 };
    counts.set(keyId, {
      files: count.files + 1,
      bytes: count.bytes + fileSystem.fileSize(path),
    });
  }
  return [...counts].map(([keyId, count]) => ({ keyId, ...count }));
}

/** The head of the key of a sorted file; undefined when it is not encrypted. */
export function headOf(fileSystem: FileSystem, path: string): Uint8Array | 'damaged' | undefined {
  const file = fileSystem.openRead(path);
  try {
    return isSealed(file) ? readHead(file) : undefined;
  } catch (error) {
    if (error instanceof CorruptionError) return 'damaged';
    throw error;
  } finally {
    file.close();
  }
}

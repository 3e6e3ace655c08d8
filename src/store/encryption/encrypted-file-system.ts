/** The files of an encrypted store: which of them are encrypted, and with which keys. */

import { crc32 } from '../../bytes/index.js';
import { CorruptionError } from '../../errors.js';
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
import { type EncryptionOptions, encrypted, keyIdOf, type NewCipher, StoreKeys } from './keys.js';
import { damaged, isSealed, logicalSize, readHead, SealedReader, SealedWriter } from './sealed-file.js';

/** The end of a sorted file that is not encrypted. */
const PLAIN_MAGIC = Buffer.from('ROWANSST', 'latin1');
/** The kind of encrypted sorted files, for their keys. */
const KIND = 'ROWANENC';

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

  link(existing: string, path: string): boolean {
    return this.disk.link(existing, path);
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

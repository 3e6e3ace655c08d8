import type { Duplex } from 'node:stream';
import type { StoreFile } from '../file/store-file.js';
import type { DirectoryLock, FileSystem } from '../fs/index.js';
import type { TableState } from '../table-state.js';
import { type Request, readMessages, requestOf, type StorePosition, sendMessage } from './reader-protocol.js';

/** The parts of the store that readers are told about. */
interface FollowedCore {
  readonly catalog: { tables(): Iterable<TableState> };
  readonly journal: {
    readonly manifest: { readonly number: number; readonly durableLength: number };
    readonly wal: { readonly number: number; readonly writtenLength: number };
  };
  readonly environment: { readonly fileSystem: FileSystem; readonly directory: string };
  readonly commits: { readonly readPoint: number };
}

interface Reader {
  readonly stream: Duplex;
  /** The files retained for the reader, by number; each is retained once. */
  readonly files: Map<number, StoreFile>;
}

/**
 * The writer process's registry of readers in other processes. It answers each reader with the present position of the store,
 * and retains the files of that position for the reader until the reader releases them or its connection ends. The operating
 * system ends the connection with the reader's process, so files of a crashed reader are freed too.
 */
export class ReaderRegistry {
  private readonly readers = new Set<Reader>();
  private listener: DirectoryLock | undefined;

  constructor(private readonly core: FollowedCore) {}

  /** Starts to accept readers, where the file system supports it. */
  async open(): Promise<void> {
    const { fileSystem, directory } = this.core.environment;
    try {
      this.listener = await fileSystem.receive?.(directory, (stream) => this.addReader(stream));
    } catch {
      // Without a socket readers fail with ERR_BUSY; the store itself works as before.
    }
  }

  /** The number of connected readers, and of files retained for them. */
  counts(): { readonly readers: number; readonly files: number } {
    const files = new Set<number>();
    for (const reader of this.readers) for (const number of reader.files.keys()) files.add(number);
    return { readers: this.readers.size, files: files.size };
  }

  private addReader(stream: Duplex): void {
    const reader: Reader = { stream, files: new Map() };
    this.readers.add(reader);
    stream.on('error', () => stream.destroy());
    stream.once('end', () => stream.destroy());
    stream.once('close', () => this.removeReader(reader));
    readMessages(stream, (message) => this.answer(reader, requestOf(message)));
  }

  async close(): Promise<void> {
    for (const reader of [...this.readers]) {
      reader.stream.destroy();
      this.removeReader(reader);
    }
    await this.listener?.release();
  }

  private answer({ stream, files }: Reader, { look, free = [] }: Request): void {
    for (const number of free) {
      files.get(number)?.release();
      files.delete(number);
    }
    if (look === undefined) return;
    this.retainFiles(files);
    sendMessage(stream, { look, pid: process.pid, ...this.position() });
  }

  private retainFiles(files: Map<number, StoreFile>): void {
    for (const state of this.core.catalog.tables()) {
      for (const { version } of state.stores()) {
        for (const file of version.files) {
          if (files.has(file.fileNo)) continue;
          file.retain();
          files.set(file.fileNo, file);
        }
      }
    }
  }

  /** The position of this turn of the event loop: what is on the disk, and what is acknowledged. */
  private position(): StorePosition {
    const { journal, commits } = this.core;
    const { manifest, wal } = journal;
    return {
      readPoint: commits.readPoint,
      manifest: { number: manifest.number, length: manifest.durableLength },
      log: { segment: wal.number, length: wal.writtenLength },
    };
  }

  private removeReader(reader: Reader): void {
    if (!this.readers.delete(reader)) return;
    for (const file of reader.files.values()) file.release();
    reader.files.clear();
  }
}

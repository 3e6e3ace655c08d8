/**
 * Where the opener of a store answers its readers in other processes. It tells each how far the store has come, and holds the
 * files that the reader goes by until it frees them, or its connection ends: with its process at the latest.
 */

import type { Duplex } from 'node:stream';
import type { DirectoryLock, FileSystem } from '../fs/index.js';
import type { StoreFile } from '../region/store-file.js';
import type { TableState } from '../table-state.js';
import { type Moment, type Request, readLines, requestOf, say } from './lines.js';

/** What it tells of a store. */
export interface FollowedCore {
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
  /** By number, each held once. */
  readonly files: Map<number, StoreFile>;
}

export class ReaderDesk {
  private readonly readers = new Set<Reader>();
  private door: DirectoryLock | undefined;

  constructor(private readonly core: FollowedCore) {}

  /** Lets readers come, where the disk has a place to meet them. */
  async open(): Promise<void> {
    const { fileSystem, directory } = this.core.environment;
    try {
      this.door = await fileSystem.receive?.(directory, (stream) => this.greet(stream));
    } catch {
      // Readers are told that nobody receives them; the store is none the worse for it.
    }
  }

  /** How many readers there are, and how many files are held for them. */
  counts(): { readonly readers: number; readonly files: number } {
    const files = new Set<number>();
    for (const reader of this.readers) for (const number of reader.files.keys()) files.add(number);
    return { readers: this.readers.size, files: files.size };
  }

  private greet(stream: Duplex): void {
    const reader: Reader = { stream, files: new Map() };
    this.readers.add(reader);
    stream.on('error', () => stream.destroy());
    stream.once('end', () => stream.destroy());
    stream.once('close', () => this.forget(reader));
    readLines(stream, (message) => this.answer(reader, requestOf(message)));
  }

  async close(): Promise<void> {
    for (const reader of [...this.readers]) {
      reader.stream.destroy();
      this.forget(reader);
    }
    await this.door?.release();
  }

  private answer({ stream, files }: Reader, { look, free = [] }: Request): void {
    for (const number of free) {
      files.get(number)?.release();
      files.delete(number);
    }
    if (look === undefined) return;
    this.holdFiles(files);
    say(stream, { look, pid: process.pid, ...this.moment() });
  }

  private holdFiles(files: Map<number, StoreFile>): void {
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

  /** What is on the disk and acknowledged, of this turn of the event loop. */
  private moment(): Moment {
    const { journal, commits } = this.core;
    const { manifest, wal } = journal;
    return {
      readPoint: commits.readPoint,
      manifest: { number: manifest.number, length: manifest.durableLength },
      log: { segment: wal.number, length: wal.writtenLength },
    };
  }

  private forget(reader: Reader): void {
    if (!this.readers.delete(reader)) return;
    for (const file of reader.files.values()) file.release();
    reader.files.clear();
  }
}

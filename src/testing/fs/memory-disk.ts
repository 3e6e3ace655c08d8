import { EMPTY_BYTES } from '../../bytes/index.js';

/** The parts of the disk in memory, and what a loss of power leaves of it. */

/** The effect of a loss of power on data that was not synced. */
export interface CrashOptions {
  /** The probability, 0..1, that an unsynced block or name is on the disk. 1 is the kill of a process. */
  readonly keepUnsynced: number;
  /** Numbers in 0..1, seeded for a run that can be repeated. */
  readonly random: () => number;
  /** How many bytes are lost or kept together; default 4096. */
  readonly unit?: number;
}

/** Bytes that were written over, of the safe ones. */
interface Overwritten {
  readonly at: number;
  readonly bytes: Uint8Array;
}

/** The first `length` of the bytes, with zeros behind them where there are fewer. */
function padded(bytes: Uint8Array, length: number): Uint8Array {
  if (length <= bytes.length) return bytes.subarray(0, length);
  const copy = new Uint8Array(length);
  copy.set(bytes);
  return copy;
}

/** A file: what programs read of it, and what is safe. */
export class MemoryFile {
  /** With room to grow, or without zeros at its end, which preallocation leaves: they take no memory. */
  private data: Uint8Array = EMPTY_BYTES;
  length = 0;
  /** The safe content is the first `syncedLength` bytes of `data`, or of `syncedCopy` when a truncation cut into them. */
  private syncedLength = 0;
  private syncedCopy: Uint8Array | undefined;
  /** Synced bytes where `data` has newer ones, in the order in which they were written over. */
  private overwritten: Overwritten[] = [];

  append(bytes: Uint8Array, offset: number, length: number): void {
    this.write(bytes, offset, length, this.length);
  }

  /** Writes at `at`, which is no further than the end. */
  write(bytes: Uint8Array, offset: number, length: number, at: number): void {
    const end = at + length;
    if (at < this.syncedLength && this.syncedCopy === undefined) {
      const before = new Uint8Array(Math.min(end, this.syncedLength) - at);
      this.read(before, 0, before.length, at);
      this.overwritten.push({ at, bytes: before });
    }
    if (end > this.data.length) this.data = padded(this.data, Math.max(end, 2 * this.data.length, 256));
    this.data.set(bytes.subarray(offset, offset + length), at);
    if (end > this.length) this.length = end;
  }

  /** Adds zeros at the end. */
  extend(length: number): void {
    this.data.fill(0, this.length, this.length + length);
    this.length += length;
  }

  /** The content, not copied. */
  get content(): Uint8Array {
    if (this.length > this.data.length) this.data = padded(this.data, this.length);
    return this.data.subarray(0, this.length);
  }

  /** Copies bytes of the content into `buffer` at `offset`. */
  read(buffer: Uint8Array, offset: number, length: number, from: number): void {
    const stored = this.data.subarray(from, from + length);
    buffer.set(stored, offset);
    if (stored.length < length) buffer.fill(0, offset + stored.length, offset + length);
  }

  truncate(length: number): void {
    if (length < this.syncedLength && this.syncedCopy === undefined) {
      this.syncedCopy = this.storedSafe.slice();
      this.overwritten = [];
    }
    this.length = length;
  }

  /** The content that a sync which begins now makes safe. */
  get writes(): number {
    return this.overwritten.length;
  }

  /** Makes the first `length` bytes safe, with the first `writes` of the writes over safe bytes applied. */
  sync(length: number, writes = this.overwritten.length): void {
    this.overwritten.splice(0, writes);
    if (this.syncedCopy === undefined && length < this.syncedLength) return;
    this.syncedCopy = undefined;
    this.syncedLength = length;
  }

  get synced(): Uint8Array {
    return padded(this.storedSafe, this.syncedLength);
  }

  /** The safe content, without zeros at its end that take no memory. */
  private get storedSafe(): Uint8Array {
    if (this.syncedCopy !== undefined) return this.syncedCopy;
    const safe = this.data.subarray(0, this.syncedLength);
    if (this.overwritten.length === 0) return safe;
    const copy = safe.slice();
    for (let i = this.overwritten.length - 1; i >= 0; i--)
      copy.set(this.overwritten[i]!.bytes, this.overwritten[i]!.at);
    return copy;
  }
}

/** A folder: its names as programs see them, and the names that are safe. */
export class MemoryDirectory {
  entries = new Map<string, MemoryFile | MemoryDirectory>();
  syncedEntries = new Map<string, MemoryFile | MemoryDirectory>();
  private begun = 0;
  private ended = 0;

  /**
   * Begins to make the present names safe, and returns a function that completes it. Syncs may complete in another
   * order.
   */
  beginSync(): () => void {
    const entries = new Map(this.entries);
    const number = ++this.begun;
    return () => {
      if (number < this.ended) return;
      this.ended = number;
      this.syncedEntries = entries;
    };
  }
}

/** Returns a copy of `directory` and its content as a loss of power leaves it. */
export function crashDirectory(directory: MemoryDirectory, crash: CrashOptions): MemoryDirectory {
  // Two names of one file stay two names of one file.
  const copies = new Map<MemoryFile, MemoryFile>();
  return crashNames(directory, crash, copies);
}

function crashNames(
  directory: MemoryDirectory,
  crash: CrashOptions,
  copies: Map<MemoryFile, MemoryFile>,
): MemoryDirectory {
  const found = new MemoryDirectory();
  const names = new Set([...directory.syncedEntries.keys(), ...directory.entries.keys()]);
  for (const name of names) {
    const now = directory.entries.get(name);
    const safe = directory.syncedEntries.get(name);
    const node = now === safe || crash.random() < crash.keepUnsynced ? now : safe;
    if (node === undefined) continue;
    if (node instanceof MemoryDirectory) {
      found.entries.set(name, crashNames(node, crash, copies));
      continue;
    }
    let copy = copies.get(node);
    if (copy === undefined) {
      const bytes = crashBytes(node, crash);
      copy = new MemoryFile();
      copy.append(bytes, 0, bytes.length);
      copy.sync(bytes.length);
      copies.set(node, copy);
    }
    found.entries.set(name, copy);
  }
  found.syncedEntries = new Map(found.entries);
  return found;
}

/** The safe bytes, each unsynced block written over them or not. Holes are zeros, and the end may be cut anywhere. */
function crashBytes(file: MemoryFile, { keepUnsynced, random, unit = 4096 }: CrashOptions): Uint8Array {
  const now = file.content;
  const safe = file.synced;
  if (keepUnsynced >= 1) return now.slice();
  if (keepUnsynced <= 0) return safe.slice();
  const bytes = new Uint8Array(Math.max(now.length, safe.length));
  bytes.set(safe);
  let length = now.length < safe.length && random() < keepUnsynced ? now.length : safe.length;
  const firstUnsynced = Math.floor(commonLength(now, safe) / unit) * unit;
  for (let at = firstUnsynced; at < now.length; at += unit) {
    if (random() >= keepUnsynced) continue;
    const end = Math.min(at + unit, now.length);
    bytes.set(now.subarray(at, end), at);
    if (end > length) length = end;
  }
  if (length > safe.length && random() < 0.5) {
    length = safe.length + Math.floor(random() * (length - safe.length + 1));
  }
  return bytes.subarray(0, length);
}

function commonLength(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  let at = 0;
  while (at < length && a[at] === b[at]) at++;
  return at;
}

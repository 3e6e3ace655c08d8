/** What the disk in memory is made of, and what a loss of power leaves of it. */

/** How a loss of power treats what was not synced. */
export interface CrashOptions {
  /** The probability, 0..1, that an unsynced block or name is on the disk. 1 is the kill of a process. */
  readonly keepUnsynced: number;
  /** Numbers in 0..1, seeded for a run that can be repeated. */
  readonly random: () => number;
  /** How many bytes are lost or kept together; default 4096. */
  readonly unit?: number;
}

const EMPTY = new Uint8Array(0);

/** Bytes that were written over, of the safe ones. */
interface Overwritten {
  readonly at: number;
  readonly bytes: Uint8Array;
}

/** A file: what programs read of it, and what is safe. */
export class MemoryFile {
  /** With room to grow; the content is the first `length` bytes. */
  data: Uint8Array = EMPTY;
  length = 0;
  /** The safe content is the first `syncedLength` bytes of `data`, or `syncedCopy` when a truncation cut into them. */
  private syncedLength = 0;
  private syncedCopy: Uint8Array | undefined;
  /** What is safe where `data` has newer bytes, in the order in which they were written over. */
  private overwritten: Overwritten[] = [];

  append(bytes: Uint8Array, offset: number, length: number): void {
    this.write(bytes, offset, length, this.length);
  }

  /** Writes at `at`, which is no further than the end. */
  write(bytes: Uint8Array, offset: number, length: number, at: number): void {
    const end = at + length;
    if (at < this.syncedLength && this.syncedCopy === undefined)
      this.overwritten.push({ at, bytes: this.data.slice(at, Math.min(end, this.syncedLength)) });
    if (end > this.data.length) {
      const grown = new Uint8Array(Math.max(end, 2 * this.data.length, 256));
      grown.set(this.data.subarray(0, this.length));
      this.data = grown;
    }
    this.data.set(bytes.subarray(offset, offset + length), at);
    if (end > this.length) this.length = end;
  }

  truncate(length: number): void {
    if (length < this.syncedLength && this.syncedCopy === undefined) {
      this.syncedCopy = this.synced.slice();
      this.overwritten = [];
    }
    this.length = length;
  }

  /** What a sync that begins now will make safe. */
  get writes(): number {
    return this.overwritten.length;
  }

  /** Makes the first `length` bytes safe, as the first `writes` of those that wrote over safe ones have left them. */
  sync(length: number, writes = this.overwritten.length): void {
    this.overwritten.splice(0, writes);
    if (this.syncedCopy === undefined && length < this.syncedLength) return;
    this.syncedCopy = undefined;
    this.syncedLength = length;
  }

  get synced(): Uint8Array {
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

  /** Begins to make the names of this moment safe; what is returned ends it. A sync that began later may have ended before. */
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

/** A copy of `directory` and all in it as a loss of power leaves it. */
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

/** The safe bytes, with each unsynced block put over them or not; holes are zeros, and the end may be cut anywhere. */
function crashBytes(file: MemoryFile, { keepUnsynced, random, unit = 4096 }: CrashOptions): Uint8Array {
  const now = file.data.subarray(0, file.length);
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

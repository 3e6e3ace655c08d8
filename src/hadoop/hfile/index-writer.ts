/** The index of an HFile's data blocks: one level, or leaves between the data blocks and what leads to them. */

import { ByteBuilder } from '../writable.js';

/** Where a block begins, how long it is on disk, and the key that it begins with. */
export interface IndexEntry {
  readonly key: Uint8Array;
  readonly offset: number;
  readonly bytes: number;
}

/** Entries of one index block, in order. */
export class IndexEntries {
  private entries: IndexEntry[] = [];
  /** Bytes of the block that they make, about. */
  size = 0;

  get count(): number {
    return this.entries.length;
  }

  add(entry: IndexEntry): void {
    this.entries.push(entry);
    this.size += entry.key.length + 16;
  }

  /** The entries, which are forgotten here. */
  take(): readonly IndexEntry[] {
    const { entries } = this;
    this.entries = [];
    this.size = 0;
    return entries;
  }

  /** As a root has them: read from the first on. */
  rootBytes(): Buffer {
    const bytes = new ByteBuilder(this.size + 16);
    for (const { key, offset, bytes: length } of this.entries) bytes.long(offset).int(length).vbytes(key);
    return bytes.copy();
  }
}

/** As leaves and intermediate blocks have them: searched by the places of the entries, which come first. */
export function searchableBytes(entries: readonly IndexEntry[]): Buffer {
  const bytes = new ByteBuilder().int(entries.length);
  let place = 0;
  for (const { key } of entries) {
    bytes.int(place);
    place += 12 + key.length;
  }
  bytes.int(place);
  for (const { key, offset, bytes: length } of entries) bytes.long(offset).int(length).bytes(key);
  return bytes.copy();
}

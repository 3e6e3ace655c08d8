import { CorruptionError } from '../../errors.js';
import { CacheEntry } from '../cache/cache-entry.js';
import { RowSlots } from './row-slots.js';
import { RowTable } from './row-table.js';

/** What a block costs besides its bytes: its objects, roughly. */
const OBJECT_BYTES = 400;

/**
 * Searches and looks from which on a block is given its {@link RowTable} and its {@link RowSlots}: to make one costs as much as
 * many searches, which a block that is about to leave the cache never sees.
 */
const SEARCHES_FOR_TABLE = 4;
const LOOKS_FOR_SLOTS = 8;

/** A data block as cursors read it: decompressed, still encoded, its structure checked. Never changed, but for memoized help. */
export class DataBlock extends CacheEntry {
  readonly view: DataView;
  /** Where the block was read from: for errors. */
  path = '';
  offset = 0;
  /** Searches of this block so far, and what speeds up the later ones. */
  private searches = 0;
  rowTable: RowTable | null = null;
  /** Looks for single rows so far, and what speeds up the later ones. */
  private looks = 0;
  rowSlots: RowSlots | null = null;

  constructor(
    readonly bytes: Uint8Array,
    /** The first byte of the payload. */
    readonly start: number,
    /** The byte after the last cell: where the tables begin. */
    readonly cellsEnd: number,
    /** Cells in it, at least one. */
    readonly count: number,
    /** Rows or restarts in it, by its encoding. */
    readonly groups: number,
    /** Bytes that all its rows begin with. */
    readonly sharedRow: number,
  ) {
    const entries = Math.max(count, groups);
    super(bytes.length + RowTable.bytes(entries) + RowSlots.bytes(entries) + OBJECT_BYTES);
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  /** Counts a search; whether it is one of so many that a table pays. The first looks are searches too, and wait for slots. */
  isSearchedOften(): boolean {
    return ++this.searches - this.looks > SEARCHES_FOR_TABLE;
  }

  /** Counts a look for a single row; whether it is one of so many that slots pay. */
  isLookedIntoOften(): boolean {
    return ++this.looks >= LOOKS_FOR_SLOTS;
  }
}

/** The payload of a data block is not what its encoding says; whoever knows the file adds its name. */
export function badPayload(why: string, payloadOffset: number): CorruptionError {
  return new CorruptionError(`its payload is wrong at byte ${payloadOffset}: ${why}`, {
    details: { payloadOffset },
  });
}

/** The error for a block that is not what was written, with what to do about it. */
export function badBlockOf(path: string, offset: number, why: CorruptionError): CorruptionError {
  return new CorruptionError(
    `"${path}" is damaged in the block at byte ${offset}: ${why.message}. Restore the store from a checkpoint, or run "rowan store verify" to see how far the damage goes.`,
    { cause: why, details: { file: path, offset } },
  );
}

/** How many bytes two slices begin with in common. */
export function sharedPrefix(
  a: Uint8Array,
  aOffset: number,
  aLength: number,
  b: Uint8Array,
  bOffset: number,
  bLength: number,
): number {
  const length = aLength < bLength ? aLength : bLength;
  let i = 0;
  while (i < length && a[aOffset + i] === b[bOffset + i]) i++;
  return i;
}

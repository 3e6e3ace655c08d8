import { compareBytes, copyBytes } from '../../bytes/index.js';
import type { CellCursor } from '../cursor.js';
import { FilterEvaluator } from './filter-evaluator.js';
import type { FilterFamily, FilterHint } from './filter-hint.js';
import { FILTER_INCLUDE, FILTER_SEEK_HINT, type ReturnCode } from './return-code.js';

interface FuzzyPair {
  readonly row: Uint8Array;
  /** 0: the byte must be equal; 1: any byte. */
  readonly mask: Uint8Array;
}

/**
 * `FuzzyRowFilter`: rows whose bytes are equal where the mask is 0. A row shorter than the pair is compared as far as
 * it goes, a longer one passes whatever follows.
 */
export class FuzzyRowEvaluator extends FilterEvaluator {
  private dropped = false;
  private exhausted = false;

  constructor(
    private readonly pairs: readonly FuzzyPair[],
    private readonly reversed: boolean,
  ) {
    super();
  }

  override reset(): void {
    this.dropped = false;
  }

  override get done(): boolean {
    return this.exhausted;
  }

  override filterRow(): boolean {
    return this.dropped;
  }

  override filterCell(cell: CellCursor): ReturnCode {
    for (const pair of this.pairs) {
      if (firstMismatch(cell.key, cell.rowOffset, cell.rowLength, pair) < 0) return FILTER_INCLUDE;
    }
    this.dropped = true;
    return FILTER_SEEK_HINT;
  }

  override hint(cell: CellCursor, _family: FilterFamily, hint: FilterHint): boolean {
    const row = cell.key.subarray(cell.rowOffset, cell.rowOffset + cell.rowLength);
    let best: Uint8Array | undefined;
    for (const pair of this.pairs) {
      const candidate = this.reversed ? fuzzyRowBefore(row, pair) : fuzzyRowAfter(row, pair);
      if (!candidate) continue;
      if (!best || compareBytes(candidate, best) < 0 !== this.reversed) best = candidate;
    }
    if (!best) {
      this.exhausted = true;
      return false;
    }
    hint.toRow(best);
    return true;
  }
}

/** The first byte of the row that is not as the pair wants it, or -1. */
function firstMismatch(bytes: Uint8Array, offset: number, length: number, pair: FuzzyPair): number {
  const { row, mask } = pair;
  const end = Math.min(length, row.length);
  for (let i = 0; i < end; i++) if (mask[i] === 0 && bytes[offset + i] !== row[i]) return i;
  return -1;
}

/** A row not above any row that fits the pair and is above `row`, which does not fit. */
function fuzzyRowAfter(row: Uint8Array, pair: FuzzyPair): Uint8Array | undefined {
  const at = firstMismatch(row, 0, row.length, pair);
  if (row[at]! < pair.row[at]!) return ending(row, at, pair.row[at]!);
  // The byte must become smaller, so one of the free bytes before it must become greater.
  for (let i = at - 1; i >= 0; i--) {
    if (pair.mask[i] === 1 && row[i]! < 0xff) return ending(row, i, row[i]! + 1);
  }
  return undefined;
}

/** A row not below any row that fits the pair and is below `row`, which does not fit. */
function fuzzyRowBefore(row: Uint8Array, pair: FuzzyPair): Uint8Array | undefined {
  const at = firstMismatch(row, 0, row.length, pair);
  if (row[at]! > pair.row[at]!) return belowNext(ending(row, at, pair.row[at]!));
  // All rows between differ from the pair where this one does, but for the beginning that they share.
  return at > 0 ? copyBytes(row, 0, at) : undefined;
}

/** The first `at` bytes of the row and one more. */
function ending(row: Uint8Array, at: number, byte: number): Uint8Array {
  const out = copyBytes(row, 0, at + 1);
  out[at] = byte;
  return out;
}

/** Not below any row that starts with `prefix`: it and as many FF bytes as the longest row could have. */
function belowNext(prefix: Uint8Array): Uint8Array {
  const out = new Uint8Array(MAX_HINT_LENGTH).fill(0xff);
  out.set(prefix);
  return out;
}

/** Longer than any row. */
const MAX_HINT_LENGTH = 32768;

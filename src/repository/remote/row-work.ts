/** One row that is changed together with its entries, and how far that has come. */

import { toLatin1 } from '../../bytes/index.js';
import type { RowanError } from '../../errors.js';
import { type EntityIndex, newToken } from '../../indexes/index.js';
import { Result, type RowMutation } from '../../table/index.js';
import type { Change, Expectation } from '../change.js';
import type { RowEntry } from '../changes/entry.js';
import type { LogPlace } from '../changes/log-rows.js';
import type { EntryChange } from '../entry-planner.js';
import type { ChangeOutcome } from '../executor.js';
import { RowImage } from '../row-image.js';
import type { LoadedRow } from './data-rows.js';

/** An entry that may be one of a row, and one that it may be none of. */
export interface Suspect {
  readonly index: EntityIndex;
  readonly row: Uint8Array;
}

/** An entry that was written before its row. */
export interface Mark extends Suspect {
  readonly change: EntryChange;
  /** What it was written with. */
  readonly value: Uint8Array;
}

export class RowWork {
  readonly row: Uint8Array;
  /** The row without its shadow, as it was read last. */
  image: RowImage;
  shadow: Uint8Array | undefined;
  token: Uint8Array = newToken();
  mutations: readonly RowMutation[] = [];
  expects: readonly Expectation[] = [];
  changes: readonly EntryChange[] = [];
  /** Whether the row's shadow is to be of this change. */
  renews = false;
  /** Whether its entries are known only when it has been written. */
  isOpenEnded = false;
  /** Whether its entries must wait for others. */
  isPutOff = false;
  /** Whether its data row may have been written. */
  isSent = false;
  /** Values of unique indexes that others have, in a row that is only mended. */
  taken = 0;
  outcome: ChangeOutcome | undefined;
  /** Whether something is to follow the row when it has been written. */
  isFollowed = false;
  /** Whether that may stand in the outbox. */
  isNoted = false;
  /** By which it does. */
  readonly intent: Uint8Array = newToken();
  /** The mark that says which change the row is of; of entities whose changes are told. */
  changeMark: Uint8Array | undefined;
  /** What is to be told of it; undefined: nothing changes. */
  told: RowEntry | undefined;
  /** Where that was written down in this round. */
  place: LogPlace | undefined;
  /** Every entry that was marked, by its row. */
  readonly marks = new Map<string, Mark>();

  constructor(
    row: Uint8Array,
    /** Undefined: the row stays as it is, and its entries are put right. */
    readonly change: Change | undefined,
    readonly suspects: readonly Suspect[] = [],
  ) {
    this.row = row;
    this.image = RowImage.of(row, Result.EMPTY);
  }

  get isDone(): boolean {
    return this.outcome !== undefined;
  }

  /** Begins a round with what was read. */
  begin(image: RowImage, { shadow, changeMark }: Omit<LoadedRow, 'stored'>): void {
    this.image = image;
    this.shadow = shadow;
    this.changeMark = changeMark;
    this.told = undefined;
    this.place = undefined;
    this.token = newToken();
    this.isPutOff = false;
  }

  note(mark: Mark): void {
    this.marks.set(toLatin1(mark.row), mark);
  }

  drop(change: EntryChange): void {
    this.changes = this.changes.filter((one) => one !== change);
  }

  fail(error: RowanError): void {
    this.outcome ??= { ok: false, error };
  }
}

/**
 * Puts of one column of many rows, as so many rows of a step: what they have in common is kept once, and of each only its
 * row, its value and its time.
 */

import type { Region } from '../region/region.js';
import type { TableState } from '../table-state.js';
import type { SettledDurability } from './commit-queue.js';

/** What of a run stands in one region. */
interface RunPart {
  readonly region: Region;
  rows: number;
  /** Of their values. */
  bytes: number;
}

export class PreparedRun {
  /** Filled when its cells are put into the memstores. */
  readonly parts: RunPart[] = [];

  constructor(
    readonly state: TableState,
    readonly family: string,
    readonly qualifier: Uint8Array,
    readonly durability: SettledDurability,
    /** In their order; of equal ones the later was given later. */
    readonly rows: readonly Uint8Array[],
    readonly values: readonly Uint8Array[],
    readonly times: readonly number[],
  ) {}
}

import type { KeyRange } from '../key/types.js';
import { pause } from './loader.js';
import type { PlacedRow, PlanPart, ReadPlan } from './read-plan.js';
import { type ReadOptions, type Row, type RowCursor, valueBytes } from './row.js';

/** Rows failing the test, after which other events get their turn. */
export const FAILED_AT_ONCE = 8192;

/** The rows of one range of a plan. Rows are tested here, so that a merge has the next matching row of each range. */
export abstract class RangeSource implements RowCursor, PlacedRow {
  row: Row | undefined;
  entity: number;
  logical: Uint8Array = NO_BYTES;
  private passedPosition: boolean;

  constructor(
    protected readonly part: PlanPart,
    protected readonly plan: ReadPlan,
    protected readonly options: ReadOptions,
    /** Whether a row is after the cursor. Called until it is true. */
    private readonly isAfter: ((source: RangeSource) => boolean) | undefined,
  ) {
    this.entity = part.entity;
    this.passedPosition = isAfter === undefined;
  }

  get key(): Uint8Array {
    return this.row!.row;
  }

  /** Reads the next stored row of the range into `row`. */
  protected abstract next(): boolean | Promise<boolean>;
  abstract close(): void | Promise<void>;

  advance(): boolean | Promise<boolean> {
    for (let failed = 0; ; failed++) {
      if (failed === FAILED_AT_ONCE) return this.advanceBehindOthers();
      const more = this.next();
      if (typeof more !== 'boolean') return this.advanceLater(more);
      if (!more) return this.end();
      if (this.accept()) return true;
    }
  }

  private async advanceLater(more: Promise<boolean>): Promise<boolean> {
    if (!(await more)) return this.end();
    return this.accept() ? true : this.advance();
  }

  private async advanceBehindOthers(): Promise<boolean> {
    await pause(this.options.signal);
    return this.advance();
  }

  private end(): false {
    this.row = undefined;
    return false;
  }

  private accept(): boolean {
    const { part, plan } = this;
    const { tally } = this.options;
    if (tally !== undefined) {
      tally.rows++;
      tally.bytes += valueBytes(this.row!);
    }
    if (part.classify !== undefined) {
      this.entity = part.classify(this.row!);
      if (this.entity < 0) return false;
    }
    if (plan.order !== 'merge') return true;
    if (plan.mergeOffset === undefined) this.logical = plan.layouts[this.entity]!.logicalBytes(this.key);
    this.passedPosition ||= this.isAfter!(this);
    return this.passedPosition;
  }
}

const NO_BYTES = new Uint8Array(0);

/** A range to be opened. */
export interface OpenRange {
  readonly part: PlanPart;
  readonly range: KeyRange;
}

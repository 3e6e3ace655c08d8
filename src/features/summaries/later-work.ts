/**
 * Figures that are updated after the call has returned, on HBase. If an entity has summaries and nothing else that follows its rows, one
 * call writes a row ({@link AheadWriter}); the row is counted later, together with others. An existing row may be overwritten without a
 * read, because its contribution is stored beside the groups ({@link RemoteCount}).
 */

import type { ChangeImage, RowMaintainer } from '../../repository/maintainer.js';
import type { AheadRow, LaterWork } from '../../repository/remote/ahead-writer.js';
import type { Scan, Table } from '../../table/index.js';
import type { SummaryPlan } from './plan.js';
import type { RemoteCount } from './remote.js';
import { SUMMARY_FAMILY, WRITERS_ROW } from './rows.js';

/** The largest number of rows that are counted one by one at the same time. */
const APART = 32;

export class LaterFigures implements LaterWork {
  readonly needsFormer = false;
  readonly records: LaterWork['records'];

  /** `table`: that of the summaries. */
  constructor(
    private readonly plans: readonly SummaryPlan[],
    private readonly counts: readonly RemoteCount[],
    private readonly maintainer: Pick<RowMaintainer, 'settle' | 'settleLater'>,
    table: Table,
  ) {
    this.records = { table, row: WRITERS_ROW, family: SUMMARY_FAMILY };
  }

  /** Undefined for a put that leaves a column which decides on groups or figures: the values together may belong to no group. */
  plan({ operation, mutations, after }: ChangeImage): number | undefined {
    const isWhole = operation === 'insert' || this.plans.every((plan) => plan.isDecidedBy(mutations));
    // Refuses values that no group can have.
    for (const plan of this.plans) plan.contributionOf(after);
    return isWhole ? 1 : undefined;
  }

  async perform(rows: readonly AheadRow[], settledAfter: number): Promise<boolean> {
    const known = rows.flatMap(({ row, after }) =>
      after === undefined ? [] : [{ row, before: undefined, after }],
    );
    const done = known.length === 0 ? [] : await this.maintainer.settleLater!(known, settledAfter);
    const settled = new Set(known.flatMap(({ row }, i) => (done[i] ? [row] : [])));
    const open = rows.filter(({ row }) => !settled.has(row));
    let isComplete = true;
    for (let at = 0; at < open.length; at += APART) {
      const some = open.slice(at, at + APART);
      const ends = await Promise.all(some.map(({ row }) => this.maintainer.settle(row, 'all', settledAfter)));
      isComplete &&= ends.every((end) => end);
    }
    return isComplete;
  }

  async lacking(rows: readonly Uint8Array[]): Promise<readonly Uint8Array[]> {
    const all = await Promise.all(this.counts.map((count) => count.lacks(rows)));
    return rows.filter((_, i) => all.some((lacks) => lacks[i]));
  }

  /** Contributions: a row may have been deleted after it was written and before its contribution was recorded. */
  async begun(): Promise<{ scan: Scan; rowOf(row: Uint8Array): Uint8Array }[]> {
    return (await Promise.all(this.counts.map((count) => count.contributionScans()))).flat();
  }
}

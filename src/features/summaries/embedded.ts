import { compareBytes, equalBytes, toHex, toLatin1 } from '../../bytes/index.js';
import type { ChangeStep } from '../../repository/maintainer.js';
import { RowImage } from '../../repository/row-image.js';
import { type AtomicStep, Delete, Get, type RowMutation, Scan } from '../../table/index.js';
import { differences, encodeClosed, putContribution, readContribution } from './contributions.js';
import { type Contribution, differenceOf, isSameContribution, type SummaryPlan } from './plan.js';
import {
  amountsOf,
  contributionRow,
  type ExpiringContribution,
  endedRow,
  endRow,
  endsUpTo,
  type FigureAmounts,
  groupRow,
  hasContributions,
  incrementOf,
  putEnd,
  putExpiring,
  readExpiring,
  type SummaryRecord,
} from './rows.js';
import { getTokens, incrementWithToken, isRefused, refusal } from './tokens.js';

/** The counts that include a row, in this state of the summary. */
export function countsWith(state: SummaryRecord, row: Uint8Array): number[] {
  const { active, building, cursor } = state;
  const counts = active === null ? [] : [active];
  const isCounted =
    cursor === 'end' ||
    (building !== null && hasContributions(state, building)) ||
    (cursor !== null && compareBytes(row, Buffer.from(cursor, 'hex')) <= 0);
  if (building !== null && isCounted) counts.push(building);
  return counts;
}

/** The cursor of a count that has reached this row. */
export function cursorAt(row: Uint8Array): string {
  return toHex(row);
}

/**
 * A count of a summary's rows on the embedded engine: adds and subtracts rows, for writes, for expired rows, and one
 * by one.
 */
export class SummaryCount {
  private readonly table: string;
  /** Whether connections update the count too, by the contributions that are stored beside the groups. */
  private readonly isShared: boolean;

  /** `state`: of the summary, to change the count. */
  constructor(
    readonly plan: SummaryPlan,
    readonly generation: number,
    state?: SummaryRecord,
  ) {
    this.table = plan.tableName;
    this.isShared = state !== undefined && hasContributions(state, generation);
  }

  /** The contribution of a row. @throws KeyError. */
  expiringOf(image: RowImage): ExpiringContribution | undefined {
    const contribution = this.plan.contributionOf(image);
    return contribution && { ...contribution, end: this.plan.ends ? this.plan.endOf(image) : 0 };
  }

  /**
   * The mutations that subtract `was` and add `is`. Where rows expire, the expiry tells whether `was` had been added.
   */
  replace(
    row: Uint8Array,
    was: Contribution | undefined,
    is: ExpiringContribution | undefined,
    step: Pick<ChangeStep, 'read'>,
  ): RowMutation[] {
    if (this.isShared) return this.replaceShared(row, is, step);
    const out: RowMutation[] = [];
    const before = this.plan.ends ? this.storedOf(row, step) : was;
    if (this.plan.ends) this.replaceStored(row, before as ExpiringContribution | undefined, is, out);
    if (isSameContribution(before, is)) return out;
    if (before !== undefined && is !== undefined && equalBytes(before.group, is.group)) {
      this.add(is.group, differenceOf(before.amounts, is.amounts), step, out);
    } else {
      if (before !== undefined) this.add(before.group, differenceOf(before.amounts, undefined), step, out);
      if (is !== undefined) this.add(is.group, is.amounts, step, out);
    }
    return out;
  }

  /**
   * The same where connections update the count: from the stored contribution, which may be that of an earlier state of the row. A transfer
   * that a connection has begun is finished first. Groups without rows stay, because a late request would not find its token.
   */
  private replaceShared(
    row: Uint8Array,
    is: Contribution | undefined,
    step: Pick<ChangeStep, 'read'>,
  ): RowMutation[] {
    const { generation, table } = this;
    const own = contributionRow(generation, this.plan.summary.id, row);
    const stored = readContribution(step.read(new Get(own), table));
    const out: RowMutation[] = [];
    if (stored?.transfer !== undefined) {
      const { was, token, batch } = stored.transfer;
      for (const [group, amounts] of differences(generation, was, stored.is)) {
        const sum = batch && step.read(getTokens(group, [batch]), table);
        if (sum !== undefined && !sum.isEmpty && !isRefused(sum)) continue;
        if (sum?.isEmpty === true) out.push(refusal(group, batch!));
        if (step.read(getTokens(group, [token]), table).isEmpty)
          out.push(...incrementWithToken(group, amounts, token));
      }
    } else if (isSameContribution(stored?.is, is)) return out;
    for (const [group, amounts] of differences(generation, stored?.is, is)) {
      const increment = incrementOf(group, amounts);
      if (increment !== undefined) out.push(increment);
    }
    if (is !== undefined) out.push(putContribution(own, encodeClosed(is)));
    else if (stored !== undefined) out.push(new Delete(own));
    return out;
  }

  /** Adds amounts to a group. A group without rows is deleted. */
  add(group: Uint8Array, amounts: FigureAmounts, step: Pick<ChangeStep, 'read'>, out: RowMutation[]): void {
    const row = groupRow(this.generation, group);
    const rows = this.plan.rowsIn(amounts);
    if (rows < 0n) {
      const left = this.plan.rowsIn(amountsOf(step.read(new Get(row), this.table))) + rows;
      if (left <= 0n) return void out.push(new Delete(row));
    }
    const increment = incrementOf(row, amounts);
    if (increment !== undefined) out.push(increment);
  }

  private storedOf(row: Uint8Array, step: Pick<ChangeStep, 'read'>): ExpiringContribution | undefined {
    return readExpiring(
      step.read(new Get(contributionRow(this.generation, this.plan.summary.id, row)), this.table),
    );
  }

  private replaceStored(
    row: Uint8Array,
    before: ExpiringContribution | undefined,
    is: ExpiringContribution | undefined,
    out: RowMutation[],
  ): void {
    const { generation } = this;
    const { id } = this.plan.summary;
    if (before?.end === is?.end && isSameContribution(before, is)) return;
    if (before !== undefined && before.end !== 0 && before.end !== is?.end)
      out.push(new Delete(endRow(generation, id, before.end, row)));
    if (is === undefined) {
      if (before !== undefined) out.push(new Delete(contributionRow(generation, id, row)));
      return;
    }
    out.push(putExpiring(contributionRow(generation, id, row), is));
    if (is.end !== 0 && before?.end !== is.end) out.push(putEnd(endRow(generation, id, is.end, row)));
  }

  /** Subtracts up to `limit` expired rows. @returns whether there may be more. */
  subtractExpired(step: AtomicStep, limit: number): boolean {
    const { rows, next } = this.expired(step, limit);
    for (const row of rows) this.applyAll(this.replace(row, undefined, undefined, step), step);
    return rows.length > 0 && next !== undefined;
  }

  /** What expired rows still contribute, by group (latin1). `atOnce`: the rows that are read at a time. */
  left(step: AtomicStep, atOnce: number): ReadonlyMap<string, FigureAmounts> {
    const groups = new Map<string, Map<string, bigint>>();
    let from: Uint8Array | undefined;
    do {
      const { rows, next } = this.expired(step, atOnce, from);
      for (const row of rows) {
        const contribution = this.storedOf(row, step);
        if (contribution === undefined) continue;
        const name = toLatin1(contribution.group);
        groups.set(name, sumOf(groups.get(name), contribution.amounts));
      }
      from = next;
    } while (from !== undefined);
    return groups;
  }

  /** Rows that have expired and are not subtracted, of up to `limit` ends after `from`; and where to go on. */
  private expired(
    step: AtomicStep,
    limit: number,
    from?: Uint8Array,
  ): { readonly rows: readonly Uint8Array[]; readonly next: Uint8Array | undefined } {
    const { generation, plan } = this;
    const { id } = plan.summary;
    const { name } = plan.schema.table.descriptor;
    const scan = new Scan().withStartRow(from ?? endsUpTo(generation, id, 0), from === undefined);
    const ends = step.scan(
      scan.withStopRow(endsUpTo(generation, id, step.time + 1)).setLimit(limit),
      this.table,
    );
    const rows = ends.map(({ row }) => endedRow(row, id));
    return {
      // Cells may outlive the time in the marker by the difference of two clocks.
      rows: rows.filter(
        (row) => plan.contributionOf(RowImage.of(row, step.read(new Get(row), name))) === undefined,
      ),
      next: ends.length === limit ? ends.at(-1)!.row : undefined,
    };
  }

  applyAll(mutations: readonly RowMutation[], step: AtomicStep): void {
    for (const change of mutations) step.apply({ table: this.table, change });
  }

  /** Adds rows that the count does not include yet. */
  addRows(images: readonly RowImage[], step: AtomicStep): void {
    const groups = new Map<string, { readonly group: Uint8Array; readonly amounts: Map<string, bigint> }>();
    for (const image of images) {
      const counted = this.expiringOf(image);
      if (counted === undefined) continue;
      if (this.plan.ends || this.isShared) {
        this.applyAll(this.replace(image.row, undefined, counted, step), step);
        continue;
      }
      const { group, amounts } = counted;
      const name = toLatin1(group);
      groups.set(name, { group, amounts: sumOf(groups.get(name)?.amounts, amounts) });
    }
    for (const { group, amounts } of groups.values()) {
      const out: RowMutation[] = [];
      this.add(group, amounts, step, out);
      this.applyAll(out, step);
    }
  }
}

/** Adds amounts to a sum, which is new without one. */
function sumOf(sum: Map<string, bigint> | undefined, amounts: FigureAmounts): Map<string, bigint> {
  if (sum === undefined) return new Map(amounts);
  for (const [qualifier, amount] of amounts) sum.set(qualifier, (sum.get(qualifier) ?? 0n) + amount);
  return sum;
}

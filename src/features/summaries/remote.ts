import { EMPTY_BYTES, equalBytes } from '../../bytes/index.js';
import { ConflictError } from '../../errors.js';
import type { WrittenRow } from '../../repository/maintainer.js';
import { newToken } from '../../repository/remote/row-work.js';
import { pauseBefore, ROW_ATTEMPTS } from '../../repository/row-lock.js';
import { CheckAndMutate, Delete, Get, type Scan, type Table } from '../../table/index.js';
import { encodeClosed, type StoredContribution, scanContributions } from './contributions.js';
import { type Contribution, isSameContribution, type SummaryPlan } from './plan.js';
import {
  amountsOf,
  contributionRow,
  type FigureAmounts,
  groupRow,
  hasContributions,
  parseRecord,
  putRecord,
  type SummaryRecord,
  stateRow,
} from './rows.js';
import { AMOUNTS } from './tokens.js';
import { type BegunTransfer, Transfers, type TransfersSource } from './transfers.js';

/** Rows that are updated one by one at the same time. */
const APART = 32;

/** The parts of a database that it uses. */
interface RemoteCountSource extends TransfersSource {
  /** Whether it is a served store: then the process that serves it writes the same counts in steps. */
  readonly isServed: boolean;
}

/** A row and its stored contribution. */
interface Look {
  readonly stored: StoredContribution | undefined;
  readonly is: Contribution | undefined;
}

/**
 * A count of a summary's rows on engines whose atomic step is one row. The contribution of each row is stored beside
 * the groups; {@link Transfers} update both.
 *
 * The writer of a row reads it again while the groups are incremented, and repeats until row and contribution agree. So it sees a change
 * made before its transfer was recorded, and whoever changes the row later finds the transfer and waits for its end. At rest both
 * agree, and any number of writers may be at work.
 */
export class RemoteCount {
  /** The counts in use when the state was last read. */
  private inUse: readonly number[] = [];
  private readonly transfers: Transfers;

  constructor(
    readonly plan: SummaryPlan,
    private readonly source: RemoteCountSource,
  ) {
    this.transfers = new Transfers(plan, source);
  }

  /** The state of the summary. Undefined: it was never counted. */
  async state(): Promise<SummaryRecord | undefined> {
    return parseRecord(await this.table.get(new Get(stateRow(this.plan.summary.id))));
  }

  /** Updates the state; `next` is called again if others have updated it meanwhile. @throws ConflictError. */
  async changeRecord(next: (state: SummaryRecord | undefined) => SummaryRecord): Promise<SummaryRecord> {
    const { id, name } = this.plan.summary;
    for (let attempt = 0; attempt < ROW_ATTEMPTS; attempt++) {
      if (attempt > 0) await pauseBefore(attempt);
      const found = await this.table.get(new Get(stateRow(id)));
      const before = parseRecord(found);
      const state =
        before === undefined
          ? { ...next(undefined), ...(this.source.isServed && { contributionsFrom: 1 }) }
          : next(this.withContributions(before));
      const put = putRecord(id, state);
      const [cell] = found.cells;
      const { family, qualifier } = put.cells[0]!;
      const check =
        cell === undefined
          ? CheckAndMutate.ifNotExists(family, qualifier, put)
          : CheckAndMutate.ifEquals(family, qualifier, cell.value, put);
      if ((await this.table.checkAndMutate(check)).success) return state;
    }
    throw new ConflictError(
      `Other processes changed the state of the summary "${name}" at each of ${ROW_ATTEMPTS} attempts. Try again later.`,
      { retryable: true },
    );
  }

  /**
   * On a served store, counts to come have contributions. One without them that is being made is given up: nothing tells which rows it
   * includes. One in use stays until a connection writes a row ({@link withoutUnknown}).
   */
  private withContributions(state: SummaryRecord): SummaryRecord {
    if (!this.source.isServed || state.contributionsFrom !== undefined) return state;
    return { ...state, building: null, cursor: null, contributionsFrom: state.next };
  }

  /** The amounts of a group in some counts. `group`: as encoded by the summary's layout. */
  async amounts(group: Uint8Array, generations: readonly number[]): Promise<FigureAmounts[]> {
    const gets = generations.map((generation) => new Get(groupRow(generation, group)).setFilter(AMOUNTS));
    return (await this.table.getAll(gets)).map(amountsOf);
  }

  /** Deletes the rows that a scan of its table finds. @returns their number. */
  async remove(scan: Scan): Promise<number> {
    const rows: Uint8Array[] = [];
    for await (const { row } of this.table.scan(scan)) rows.push(row);
    if (rows.length === 0) return 0;
    const outcomes = await this.table.batch(rows.map((row) => new Delete(row)));
    for (const outcome of outcomes) if (!outcome.ok) throw outcome.error;
    return rows.length;
  }

  /** Updates the counts in use from a row. @returns false while other writers are changing the row. */
  async updateAll(row: Uint8Array, settledAfter: number): Promise<boolean> {
    // The counts in use seldom change: assume the last known ones and read the state in parallel.
    const readings = new Map(this.inUse.map((generation) => [generation, this.look(row, generation)]));
    await Promise.all([this.readInUse(), ...readings.values()]);
    const settling = this.inUse.map((count) => this.update(row, count, settledAfter, readings.get(count)));
    return (await Promise.all(settling)).every((one) => one);
  }

  private async readInUse(): Promise<void> {
    const found = await this.state();
    const isUnknown = found !== undefined && this.source.isServed && withoutUnknown(found) !== found;
    const state = isUnknown ? await this.changeRecord((now) => withoutUnknown(now!)) : found;
    this.inUse = [state?.active, state?.building].filter((one) => typeof one === 'number');
  }

  /**
   * Updates the counts in use from distinct rows that this program has written.
   * @returns for each row, false while other writers are changing it.
   */
  async updateWritten(rows: readonly WrittenRow[], settledAfter: number): Promise<readonly boolean[]> {
    await this.readInUse();
    const done = await Promise.all(this.inUse.map((count) => this.updateTogether(rows, count, settledAfter)));
    return rows.map((_, i) => done.every((one) => one[i]));
  }

  private async updateTogether(
    rows: readonly WrittenRow[],
    generation: number,
    settledAfter: number,
  ): Promise<boolean[]> {
    const looks = await this.expectedAll(rows, generation);
    const begun = rows.flatMap(({ row }, i): BegunTransfer[] => {
      const found = looks[i];
      return found === undefined ? [] : [{ row, found: found.stored, was: found.stored?.is, is: found.is }];
    });
    const owner = newToken();
    const ends = await this.transfers.transferTogether(begun, generation, owner);
    const done: boolean[] = rows.map(({ row }) => ends.get(row) === 'closed');
    // The stored contribution of these was not the expected one, or the record of their transfer had no answer: each is read and
    // updated by itself.
    const open = rows.flatMap(({ row }, i) => (ends.has(row) ? [] : [i]));
    for (let at = 0; at < open.length; at += APART) {
      const some = open.slice(at, at + APART);
      const ends = await Promise.all(
        some.map((i) => this.update(rows[i]!.row, generation, settledAfter, undefined, owner)),
      );
      for (const [j, end] of ends.entries()) done[some[j]!] = end;
    }
    return done;
  }

  /**
   * Updates one count from a row. @param settledAfter age in milliseconds from which a transfer is abandoned. @param
   * first the row, if it was read already. @param ended the owner of transfers on which nobody works any more, whatever their age is.
   */
  async update(
    row: Uint8Array,
    generation: number,
    settledAfter: number,
    first: Promise<Look> | undefined = undefined,
    ended: Uint8Array = EMPTY_BYTES,
  ): Promise<boolean> {
    await this.transfers.closing(row, generation);
    for (let attempt = 0; attempt < ROW_ATTEMPTS; attempt++) {
      // At once after a transfer of its own, which nearly always leaves both in agreement.
      if (attempt > 1) await pauseBefore(attempt);
      const found = attempt === 0 && first !== undefined ? first : this.look(row, generation);
      const { stored, is } = await found;
      if (stored?.transfer === undefined && isSameContribution(stored?.is, is)) return true;
      const begun = stored?.transfer ?? { token: newToken(), batch: undefined, was: stored?.is, is };
      const isOthers = stored?.transfer !== undefined && !equalBytes(stored.transfer.owner, ended);
      if (isOthers && stored.since + settledAfter > this.source.now()) continue;
      if (await this.transfers.transfer(row, generation, stored, begun)) return true;
    }
    return false;
  }

  /**
   * The most likely stored contribution before each write: that of the row's former state, or what is stored where that is unknown. The
   * transfer is conditional on it, so a wrong guess costs a request. Undefined if nothing would change, or if a transfer is open: then
   * the row is read.
   */
  private async expectedAll(
    rows: readonly WrittenRow[],
    generation: number,
  ): Promise<readonly (Look | undefined)[]> {
    const unknown = rows.filter(({ before }) => before === undefined);
    const read = await this.transfers.stored(
      unknown.map(({ row }) => row),
      generation,
    );
    let next = 0;
    return rows.map(({ before, after }) => {
      const was = before && this.plan.contributionOf(before);
      const guess = was && { value: encodeClosed(was), since: 0, is: was, transfer: undefined };
      const stored = before === undefined ? read[next++] : guess;
      const is = this.plan.contributionOf(after);
      return stored?.transfer !== undefined || isSameContribution(stored?.is, is)
        ? undefined
        : { stored, is };
    });
  }

  /** @returns for each row whether a count in use differs from it, or is being updated. */
  async lacks(rows: readonly Uint8Array[]): Promise<readonly boolean[]> {
    const [is] = await Promise.all([this.transfers.present(rows), this.readInUse()]);
    const stored = await Promise.all(this.inUse.map((generation) => this.transfers.stored(rows, generation)));
    return rows.map((_, i) =>
      stored.some((of) => of[i]?.transfer !== undefined || !isSameContribution(of[i]?.is, is[i])),
    );
  }

  /** Scans for the stored contributions to the counts in use, and what gives the contributing row by the row of one. */
  async contributionScans(): Promise<{ scan: Scan; rowOf(row: Uint8Array): Uint8Array }[]> {
    await this.readInUse();
    return this.inUse.map((generation) =>
      scanContributions(contributionRow(generation, this.plan.summary.id, EMPTY_BYTES)),
    );
  }

  private async look(row: Uint8Array, generation: number): Promise<Look> {
    const { transfers } = this;
    const [[stored], [is]] = await Promise.all([
      transfers.stored([row], generation),
      transfers.present([row]),
    ]);
    return { stored, is };
  }

  /** Resolves when all transfers are closed and their tokens have got their expiry. */
  rest(): Promise<void> {
    return this.transfers.rest();
  }

  private get table(): Table {
    return this.source.table(this.plan.tableName);
  }
}

/** Gives up a count to which nothing tells what a row contributes, since a connection cannot update it. The same where there is none. */
function withoutUnknown(state: SummaryRecord): SummaryRecord {
  const counts = [state.active, state.building].filter((count) => count !== null);
  return counts.every((count) => hasContributions(state, count)) ? state : { ...state, active: null };
}

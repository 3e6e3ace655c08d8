import { EMPTY_BYTES, equalBytes, toLatin1 } from '../../bytes/index.js';
import { ConflictError, RowanError } from '../../errors.js';
import type { WrittenRow } from '../../repository/maintainer.js';
import { newToken, WRITE_WINDOW } from '../../repository/remote/row-work.js';
import { RowImage } from '../../repository/row-image.js';
import { nextMillisecond, pauseBefore, ROW_ATTEMPTS } from '../../repository/row-lock.js';
import {
  type BatchAction,
  type BatchOutcome,
  CheckAndMutate,
  Delete,
  Get,
  type Result,
  type Scan,
  type Table,
} from '../../table/index.js';
import {
  type Difference,
  deleteContribution,
  differences,
  encodeClosed,
  encodeTransfer,
  putContribution,
  readContribution,
  replaceContribution,
  type StoredContribution,
  scanContributions,
  sumsOf,
  type Transfer,
} from './contributions.js';
import { type Contribution, isSameContribution, type SummaryPlan } from './plan.js';
import {
  type Amounts,
  amountsOf,
  contributionRow,
  groupRow,
  hasContributions,
  parseRecord,
  putRecord,
  type SummaryRecord,
  stateRow,
} from './rows.js';
import { AMOUNTS, getTokens, incrementOnce, isRefused, refuseToken, TokenExpiry } from './tokens.js';

/** Rows that are updated one by one at the same time. */
const APART = 32;

/** The parts of a database that it uses. */
interface RemoteCountSource {
  table(name: string): Table;
  now(): number;
  /** Whether cells have TTLs, by which tokens expire. */
  readonly cellTtl: boolean;
  /** Whether it is a served store: then the process that serves it writes the same counts in steps. */
  readonly isServed: boolean;
}

/** A row and its stored contribution. */
interface Look {
  readonly stored: StoredContribution | undefined;
  readonly is: Contribution | undefined;
}

/** The change of a row's contribution that is to be made. */
interface BegunTransfer {
  readonly row: Uint8Array;
  /** The stored contribution that the change replaces. */
  readonly found: StoredContribution | undefined;
  readonly was: Contribution | undefined;
  readonly is: Contribution | undefined;
}

/** A transfer that is recorded, or is to be. */
interface OpenTransfer extends Omit<BegunTransfer, 'was'> {
  /** The row of its record. */
  readonly own: Uint8Array;
  readonly value: Uint8Array;
  readonly token: Uint8Array;
  readonly differences: readonly Difference[];
}

/**
 * A count of a summary's rows on engines whose atomic step is one row. The contribution of each row is stored beside
 * the groups. A transfer updates it:
 *
 * 1. The row's old and new contribution are recorded, on condition that the old one is unchanged since it was read.
 * 2. Each group is incremented by the difference and gets a token in the same step, so it is applied once, whichever
 *   process sends it.
 * 3. The new contribution is recorded as closed. Then the tokens get a TTL ({@link TokenExpiry}): until then a
 *   late request finds that the group has applied it.
 *
 * The writer reads the row again during step 2 and repeats until row and contribution agree. So it sees a change made
 * before step 1, and whoever changes the row later finds the transfer and waits for its end. At rest both agree, and
 * any number of writers may be at work. The writer that begins a transfer makes each step within {@link WRITE_WINDOW};
 * after a longer time another one takes the transfer over, with the same token.
 *
 * The transfers of rows that were written together share a second token. Each group is incremented once, by the sum of
 * their differences, with that token. Whoever takes over one of the rows has the groups refuse it first. A group that has
 * taken the sum has taken that row; to one that refuses, each row's difference is added by itself, with the row's token.
 */
export class RemoteCount {
  /** The counts in use when the state was last read. */
  private inUse: readonly number[] = [];
  /** Transfers of this process that are being closed in the background, by the contributing row (latin1). */
  private readonly closings = new Map<string, Promise<boolean>>();
  private readonly expiry: TokenExpiry;

  constructor(
    readonly plan: SummaryPlan,
    private readonly source: RemoteCountSource,
  ) {
    this.expiry = new TokenExpiry(source, plan.tableName);
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
  async amounts(group: Uint8Array, generations: readonly number[]): Promise<Amounts[]> {
    const gets = generations.map((generation) => new Get(groupRow(generation, group)).setFilter(AMOUNTS));
    return (await this.table.getAll(gets)).map(amountsOf);
  }

  /** Deletes the rows that a scan of its table finds. @returns their number. */
  async remove(scan: Scan): Promise<number> {
    const rows: Uint8Array[] = [];
    for await (const { row } of this.table.scan(scan)) rows.push(row);
    if (rows.length > 0) await this.batch(rows.map((row) => new Delete(row)));
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
    const ends = await this.transferTogether(begun, generation, owner);
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
    await this.closings.get(toLatin1(contributionRow(generation, this.plan.summary.id, row)));
    for (let attempt = 0; attempt < ROW_ATTEMPTS; attempt++) {
      // At once after a transfer of its own, which nearly always leaves both in agreement.
      if (attempt > 1) await pauseBefore(attempt);
      const found = attempt === 0 && first !== undefined ? first : this.look(row, generation);
      const { stored, is } = await found;
      if (stored?.transfer === undefined && isSameContribution(stored?.is, is)) return true;
      const begun = stored?.transfer ?? { token: newToken(), batch: undefined, was: stored?.is, is };
      const isOthers = stored?.transfer !== undefined && !equalBytes(stored.transfer.owner, ended);
      if (isOthers && stored.since + settledAfter > this.source.now()) continue;
      if (await this.transfer(row, generation, stored, begun)) return true;
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
    const read = await this.storedContributions(
      unknown.map(({ row }) => contributionRow(generation, this.plan.summary.id, row)),
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
    const [is] = await Promise.all([this.contributions(rows), this.readInUse()]);
    const stored = await Promise.all(
      this.inUse.map((generation) =>
        this.storedContributions(rows.map((row) => contributionRow(generation, this.plan.summary.id, row))),
      ),
    );
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
    const own = contributionRow(generation, this.plan.summary.id, row);
    const [[stored], [is]] = await Promise.all([this.storedContributions([own]), this.contributions([row])]);
    return { stored, is };
  }

  private async storedContributions(own: readonly Uint8Array[]): Promise<(StoredContribution | undefined)[]> {
    return (await getAll(this.table, own)).map(readContribution);
  }

  private async contributions(rows: readonly Uint8Array[]): Promise<(Contribution | undefined)[]> {
    const { key, table } = this.plan.schema;
    // Rows that other programs have written.
    const [stored] = await Promise.all([
      getAll(this.source.table(table.descriptor.name), rows),
      key.dictionaries?.loadTexts(rows),
    ]);
    return stored.map((result, i) => this.plan.contributionOf(RowImage.of(rows[i]!, result)));
  }

  /**
   * Steps 1 to 3. @returns whether they were made and the row still contributes just this; false when another writer
   * was faster.
   */
  private async transfer(
    row: Uint8Array,
    generation: number,
    found: StoredContribution | undefined,
    { was, is, token, batch }: Omit<Transfer, 'owner'>,
  ): Promise<boolean> {
    const own = contributionRow(generation, this.plan.summary.id, row);
    const value = encodeTransfer({ was, is, token, batch, owner: newToken() });
    const ends = performance.now() + WRITE_WINDOW;
    if (!(await this.change(replaceContribution(found?.value, putContribution(own, value))))) return false;
    const all = differences(generation, was, is);
    const refusing =
      batch &&
      (await this.refusing(
        all.map(([group]) => group),
        batch,
      ));
    const taken = refusing === undefined ? all : all.filter(([group]) => refusing.has(toLatin1(group)));
    const steps = taken.map(([group, amounts]) => incrementOnce(group, amounts, token));
    const timeout = ends - performance.now();
    // Too late: another writer may take over the transfer before the groups are changed. The next round, or another
    // writer, does.
    if (timeout < WRITE_WINDOW / 2) return false;
    // Later writers of the row find the transfer, and update the count after it.
    const [[now]] = await Promise.all([this.contributions([row]), this.batch(steps, timeout)]);
    const groups = taken.map(([group]) => group);
    const closing = this.close(own, value, is).then((isClosed) => {
      if (isClosed) this.expiry.add(groups, token);
      return isClosed;
    });
    if (!isSameContribution(is, now)) {
      await closing;
      return false;
    }
    // The groups include the row: a transfer that stays open is closed by the next writer of the row.
    this.closeInBackground(toLatin1(own), closing);
    return true;
  }

  /**
   * Steps 1 to 3 of many rows, with one increment of each group.
   * @returns whether transfers are closed, or open until somebody takes them over. Without rows whose transfer was not recorded, or that
   * contribute something else by now.
   */
  private async transferTogether(
    begun: readonly BegunTransfer[],
    generation: number,
    owner: Uint8Array,
  ): Promise<ReadonlyMap<Uint8Array, 'closed' | 'open'>> {
    const ended = new Map<Uint8Array, 'closed' | 'open'>();
    if (begun.length === 0) return ended;
    const batch = newToken();
    const ends = performance.now() + WRITE_WINDOW;
    const all = begun.map(({ row, found, was, is }): OpenTransfer => {
      const token = newToken();
      return {
        row,
        own: contributionRow(generation, this.plan.summary.id, row),
        found,
        value: encodeTransfer({ was, is, token, batch, owner }),
        token,
        is,
        differences: differences(generation, was, is),
      };
    });
    const recorded = await this.outcomes(
      all.map(({ own, found, value }) => replaceContribution(found?.value, putContribution(own, value))),
      WRITE_WINDOW,
    );
    const open = all.filter((_, i) => isMade(recorded[i]!));
    const timeout = ends - performance.now();
    // As for one row.
    if (open.length === 0 || timeout < WRITE_WINDOW / 2) return ended;
    const sums = sumsOf(open.flatMap(({ differences }) => differences));
    // A transfer whose answer is lost may be recorded, and the sum lacks it: no group may take the sum.
    const isSum = recorded.every(({ ok }) => ok);
    const [now, taken] = await Promise.all([
      this.contributions(open.map(({ row }) => row)),
      this.changeAll(
        isSum ? sums.map(([group, amounts]) => incrementOnce(group, amounts, batch)) : [],
        timeout,
      ),
    ]);
    const others = sums.flatMap(([group], i) => (taken[i] ? [] : [group]));
    if (others.length > 0) await this.addEach(open, others, batch, timeout);
    const closed = await this.closeAll(open);
    // Whoever has taken over a row asks its groups for the token.
    if (isSum && closed.every((one) => one))
      this.expiry.add(
        sums.map(([group]) => group),
        batch,
      );
    for (const [i, { row, is }] of open.entries()) {
      if (!closed[i]) ended.set(row, 'open');
      else if (isSameContribution(is, now[i])) ended.set(row, 'closed');
    }
    return ended;
  }

  /** Adds the differences of each row to the groups that have refused the sum of them. */
  private async addEach(
    open: readonly OpenTransfer[],
    groups: readonly Uint8Array[],
    batch: Uint8Array,
    timeout: number,
  ): Promise<void> {
    const refusing = await this.refusing(groups, batch);
    const steps = open.flatMap(({ differences, token }) =>
      differences.flatMap(([group, amounts]) =>
        refusing.has(toLatin1(group)) ? [{ group, token, step: incrementOnce(group, amounts, token) }] : [],
      ),
    );
    await this.batch(
      steps.map(({ step }) => step),
      timeout,
    );
    for (const { group, token } of steps) this.expiry.add([group], token);
  }

  /** Has groups refuse the sum with this token. @returns those (latin1) that have not taken it. */
  private async refusing(groups: readonly Uint8Array[], batch: Uint8Array): Promise<ReadonlySet<string>> {
    await this.batch(
      groups.map((group) => refuseToken(group, batch)),
      WRITE_WINDOW,
    );
    const found = await this.table.getAll(groups.map((group) => getTokens(group, [batch])));
    return new Set(groups.flatMap((group, i) => (isRefused(found[i]!) ? [toLatin1(group)] : [])));
  }

  /** Closes transfers whose groups are changed. @returns for each whether it was still as it had been recorded. */
  private async closeAll(open: readonly OpenTransfer[]): Promise<boolean[]> {
    const [kept, gone] = [
      open.filter(({ is }) => is !== undefined),
      open.filter(({ is }) => is === undefined),
    ];
    const [closed, removed] = await Promise.all([
      this.changeAll(
        kept.map(({ own, value, is }) => replaceContribution(value, putContribution(own, encodeClosed(is!)))),
      ),
      this.removeAll(gone),
    ]);
    const done = new Set([...kept.filter((_, i) => closed[i]), ...removed]);
    return open.map((one) => done.has(one));
  }

  /** Removes the contributions of rows that contribute no more. @returns the transfers that were still as they had been recorded. */
  private async removeAll(gone: readonly OpenTransfer[]): Promise<OpenTransfer[]> {
    if (gone.length === 0) return [];
    await nextMillisecond();
    const found = await this.storedContributions(gone.map(({ own }) => own));
    const left = gone.flatMap((one, i) => {
      const stored = found[i];
      return stored !== undefined && equalBytes(stored.value, one.value) ? [{ one, stored }] : [];
    });
    const removed = await this.changeAll(
      left.map(({ one, stored }) => replaceContribution(stored.value, deleteContribution(one.own, stored))),
    );
    return left.flatMap(({ one }, i) => (removed[i] ? [one] : []));
  }

  private closeInBackground(own: string, closing: Promise<boolean>): void {
    const closed = closing
      .catch((error: unknown) => {
        if (!(error instanceof RowanError)) throw error;
        return false;
      })
      .finally(() => this.closings.delete(own));
    this.closings.set(own, closed);
  }

  private async close(own: Uint8Array, value: Uint8Array, is: Contribution | undefined): Promise<boolean> {
    if (is !== undefined)
      return this.change(replaceContribution(value, putContribution(own, encodeClosed(is))));
    await nextMillisecond();
    const [found] = await this.storedContributions([own]);
    if (found === undefined || !equalBytes(found.value, value)) return false;
    return this.change(replaceContribution(value, deleteContribution(own, found)));
  }

  private async change(check: CheckAndMutate): Promise<boolean> {
    const { success } = await this.table.checkAndMutate(check, { timeout: WRITE_WINDOW });
    return success;
  }

  /** @returns for each whether it is known to be made. Those that are not are looked at again, each by itself. */
  private async changeAll(checks: readonly CheckAndMutate[], timeout = WRITE_WINDOW): Promise<boolean[]> {
    const answers = await this.outcomes(checks, timeout);
    return answers.map(isMade);
  }

  /** Resolves when all transfers are closed and their tokens have got their expiry. */
  async rest(): Promise<void> {
    await Promise.all(this.closings.values());
    await this.expiry.rest();
  }

  private async batch(actions: readonly BatchAction[], timeout?: number): Promise<void> {
    for (const answer of await this.outcomes(actions, timeout)) if (!answer.ok) throw answer.error;
  }

  private async outcomes(actions: readonly BatchAction[], timeout?: number): Promise<BatchOutcome[]> {
    if (actions.length === 0) return [];
    return this.table.batch(actions, timeout === undefined ? {} : { timeout });
  }

  private get table(): Table {
    return this.source.table(this.plan.tableName);
  }
}

/** Whether a conditional change is known to be made. */
function isMade(answer: BatchOutcome): boolean {
  return answer.ok && answer.success !== false;
}

/** Gives up a count to which nothing tells what a row contributes, since a connection cannot update it. The same where there is none. */
function withoutUnknown(state: SummaryRecord): SummaryRecord {
  const counts = [state.active, state.building].filter((count) => count !== null);
  return counts.every((count) => hasContributions(state, count)) ? state : { ...state, active: null };
}

async function getAll(table: Table, rows: readonly Uint8Array[]): Promise<Result[]> {
  if (rows.length === 0) return [];
  const gets = rows.map((row) => new Get(row));
  return gets.length === 1 ? [await table.get(gets[0]!)] : table.getAll(gets);
}

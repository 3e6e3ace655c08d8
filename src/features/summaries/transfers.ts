import { equalBytes, toLatin1 } from '../../bytes/index.js';
import { RowanError } from '../../errors.js';
import { newToken, WRITE_WINDOW } from '../../repository/remote/row-work.js';
import { RowImage } from '../../repository/row-image.js';
import { nextMillisecond } from '../../repository/row-lock.js';
import {
  type BatchAction,
  type BatchOutcome,
  type CheckAndMutate,
  Get,
  type Result,
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
  sumsOf,
  type Transfer,
} from './contributions.js';
import { type Contribution, isSameContribution, type SummaryPlan } from './plan.js';
import { contributionRow } from './rows.js';
import { getTokens, incrementOnce, isRefused, refuseToken, TokenExpiry } from './tokens.js';

/** The parts of a database that they use. */
export interface TransfersSource {
  table(name: string): Table;
  now(): number;
  /** Whether cells have TTLs, by which tokens expire. */
  readonly cellTtl: boolean;
}

/** The change of a row's contribution that is to be made. */
export interface BegunTransfer {
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
 * Transfers of a summary's count on engines whose atomic step is one row: each brings the stored contribution of a row, and the groups, to
 * what the row contributes.
 *
 * 1. The row's old and new contribution are recorded, on condition that the old one is unchanged since it was read.
 * 2. Each group is incremented by the difference and gets a token in the same step, so it is applied once, whichever
 *    process sends it.
 * 3. The new contribution is recorded as closed. Then the tokens get a TTL ({@link TokenExpiry}): until then a
 *    late request finds that the group has applied it.
 *
 * The writer that begins a transfer makes each step within {@link WRITE_WINDOW}; after a longer time another one takes the transfer
 * over, with the same token.
 *
 * The transfers of rows that were written together share a second token. Each group is incremented once, by the sum of
 * their differences, with that token. Whoever takes over one of the rows has the groups refuse it first. A group that has
 * taken the sum has taken that row; to one that refuses, each row's difference is added by itself, with the row's token.
 */
export class Transfers {
  /** Transfers of this process that are being closed in the background, by the contributing row (latin1). */
  private readonly closings = new Map<string, Promise<boolean>>();
  private readonly expiry: TokenExpiry;

  constructor(
    private readonly plan: SummaryPlan,
    private readonly source: TransfersSource,
  ) {
    this.expiry = new TokenExpiry(source, plan.tableName);
  }

  /** The stored contributions of rows to a count. */
  stored(rows: readonly Uint8Array[], generation: number): Promise<(StoredContribution | undefined)[]> {
    return this.storedAt(rows.map((row) => this.ownRow(row, generation)));
  }

  /** The row of a row's stored contribution to a count. */
  private ownRow(row: Uint8Array, generation: number): Uint8Array {
    return contributionRow(generation, this.plan.summary.id, row);
  }

  private async storedAt(own: readonly Uint8Array[]): Promise<(StoredContribution | undefined)[]> {
    return (await getAll(this.table, own)).map(readContribution);
  }

  /** What rows contribute, as they are now. */
  async present(rows: readonly Uint8Array[]): Promise<(Contribution | undefined)[]> {
    const { key, table } = this.plan.schema;
    // Rows that other programs have written.
    const [stored] = await Promise.all([
      getAll(this.source.table(table.descriptor.name), rows),
      key.dictionaries?.loadTexts(rows),
    ]);
    return stored.map((result, i) => this.plan.contributionOf(RowImage.of(rows[i]!, result)));
  }

  /** Resolves when a transfer of this process is closed that changes the contribution of this row; undefined: there is none. */
  closing(row: Uint8Array, generation: number): Promise<boolean> | undefined {
    return this.closings.get(toLatin1(this.ownRow(row, generation)));
  }

  /**
   * Steps 1 to 3. @returns whether they were made and the row still contributes just this; false when another writer
   * was faster.
   */
  async transfer(
    row: Uint8Array,
    generation: number,
    found: StoredContribution | undefined,
    { was, is, token, batch }: Omit<Transfer, 'owner'>,
  ): Promise<boolean> {
    const own = this.ownRow(row, generation);
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
    const [[now]] = await Promise.all([this.present([row]), this.batch(steps, timeout)]);
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
  async transferTogether(
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
        own: this.ownRow(row, generation),
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
      this.present(open.map(({ row }) => row)),
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
    const found = await this.storedAt(gone.map(({ own }) => own));
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
    const [found] = await this.storedAt([own]);
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

async function getAll(table: Table, rows: readonly Uint8Array[]): Promise<Result[]> {
  if (rows.length === 0) return [];
  const gets = rows.map((row) => new Get(row));
  return gets.length === 1 ? [await table.get(gets[0]!)] : table.getAll(gets);
}

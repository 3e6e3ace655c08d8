import { setTimeout as sleep } from 'node:timers/promises';
import { concatBytes, copyBytes, EMPTY_BYTES, equalBytes, toBytes, toLatin1 } from '../../bytes/index.js';
import { ConflictError, CorruptionError, RowanError } from '../../errors.js';
import { BackgroundBatches, FENCED } from '../../repository/index.js';
import type { WrittenChange } from '../../repository/maintainer.js';
import { newToken, WINDOW } from '../../repository/remote/row-work.js';
import { RowImage } from '../../repository/row-image.js';
import { nextMillisecond } from '../../repository/row-lock.js';
import {
  type BatchAction,
  type BatchOutcome,
  CheckAndMutate,
  Delete,
  Get,
  Put,
  type Result,
  type RowMutation,
  type Scan,
  type Table,
} from '../../table/index.js';
import { addTheSame, type Contribution, differenceOf, type SummaryPlan } from './plan.js';
import {
  AMOUNTS,
  type Amounts,
  amountsOf,
  decodeLife,
  encodeLife,
  endToken,
  getEnded,
  getToken,
  groupRow,
  incrementOnce,
  lifeRow,
  parseRecord,
  putRecord,
  SUMMARY_FAMILY,
  type SummaryRecord,
  stateRow,
} from './rows.js';

/**
 * The stored contribution of each row to a count, on engines whose atomic step is one row. docs/summaries.md has the
 * bytes. A change of it is recorded before the groups are changed and closed afterwards, so it is applied exactly
 * once, whichever process finishes it.
 */

/** FROZEN. */
const ADDITION: Uint8Array = toBytes('a');

const COUNTED = 0;
const IN_TRANSFER = 1;
const TOKEN_LENGTH = newToken().length;
/** Bytes of state, token, owner, and length of the former contribution. */
const HEAD = 1 + 2 * TOKEN_LENGTH + 4;

/** A change of a row's contribution. Some groups may have applied it already. */
interface Transfer {
  /** The token by which groups recognize what they have applied. */
  readonly token: Uint8Array;
  /** The writer at work. */
  readonly owner: Uint8Array;
  readonly was: Contribution | undefined;
  readonly is: Contribution | undefined;
}

/** The stored contribution of a row. */
interface Addition {
  readonly value: Uint8Array;
  /** When it was written, by the engine's clock. */
  readonly since: number;
  /** The contribution, once the transfer is closed. */
  readonly is: Contribution | undefined;
  /** The transfer in progress. Undefined: it is closed. */
  readonly transfer: Transfer | undefined;
}

function putCounted(row: Uint8Array, is: Contribution): Put {
  return putAddition(row, countedValue(is));
}

function countedValue(is: Contribution): Uint8Array {
  return concatBytes(Uint8Array.of(COUNTED), encoded(is));
}

function putAddition(row: Uint8Array, value: Uint8Array): Put {
  return new Put(row).addColumn(SUMMARY_FAMILY, ADDITION, value);
}

function encodeTransfer({ token, owner, was, is }: Transfer): Uint8Array {
  const before = encoded(was);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(before.length);
  return concatBytes(Uint8Array.of(IN_TRANSFER), token, owner, new Uint8Array(length), before, encoded(is));
}

/** Undefined: none is stored. @throws CorruptionError. */
function readAddition(result: Result): Addition | undefined {
  const cell = result.getLatest(SUMMARY_FAMILY, ADDITION);
  if (cell === undefined) return undefined;
  const { value, timestamp: since } = cell;
  if (value[0] === COUNTED) return { value, since, is: decoded(result, value, 1), transfer: undefined };
  if (value[0] !== IN_TRANSFER || value.length < HEAD) throw unreadable(result);
  const end = HEAD + Buffer.from(value).readUInt32BE(HEAD - 4);
  if (end > value.length) throw unreadable(result);
  const is = decoded(result, value, end);
  const transfer: Transfer = {
    token: copyBytes(value, 1, 1 + TOKEN_LENGTH),
    owner: copyBytes(value, 1 + TOKEN_LENGTH, 1 + 2 * TOKEN_LENGTH),
    was: decoded(result, value, HEAD, end),
    is,
  };
  return { value, since, is, transfer };
}

function encoded(contribution: Contribution | undefined): Uint8Array {
  return contribution === undefined ? EMPTY_BYTES : encodeLife({ ...contribution, end: 0 });
}

function decoded(
  result: Result,
  value: Uint8Array,
  start: number,
  end = value.length,
): Contribution | undefined {
  if (start === end) return undefined;
  const life = decodeLife(copyBytes(value, start, end));
  if (life === undefined) throw unreadable(result);
  return life;
}

function unreadable({ row }: Result): CorruptionError {
  return new CorruptionError(
    'The stored contribution of a row to a summary is invalid. Repair it: rowan summary repair.',
    { details: { keyHex: Buffer.from(row).toString('hex') } },
  );
}

/**
 * A count of a summary's rows on engines whose atomic step is one row. The contribution of each row is stored beside
 * the groups. A transfer updates it:
 *
 * 1. The row's old and new contribution are recorded, on condition that the old one is unchanged since it was read.
 * 2. Each group is incremented by the difference and gets a token in the same step, so it is applied once, whichever
 *   process sends it.
 * 3. The new contribution is recorded as closed. Then the tokens get a TTL, longer than {@link FENCED}: until then a
 *   late request finds that the group has applied it.
 *
 * The writer reads the row again during step 2 and repeats until row and contribution agree. So it sees a change made
 * before step 1, and whoever changes the row later finds the transfer and waits for its end. At rest both agree, and
 * any number of writers may be at work. The writer that begins a transfer makes each step within {@link WINDOW};
 * after a longer time another one takes the transfer over, with the same token.
 */

/** The most attempts on a row that others change, or whose transfer others are about to finish. */
const ATTEMPTS = 64;
/** The longest pause between two attempts, ms. */
const LONGEST_WAIT = 100;

/** The parts of a database that it uses. */
interface RemoteCountSource {
  table(name: string): Table;
  now(): number;
  /** Whether cells have TTLs, by which tokens expire. */
  readonly cellTtl: boolean;
}

/** A closed transfer that a group has applied. */
interface TakenTransfer {
  /** The group's row. */
  readonly group: Uint8Array;
  readonly token: Uint8Array;
}

/** A row and its stored contribution. */
interface Look {
  readonly added: Addition | undefined;
  readonly is: Contribution | undefined;
}

export class RemoteCount {
  /** The counts in use when the state was last read. */
  private inUse: readonly number[] = [];
  /** Transfers of this process that are being closed in the background, by the contributing row (latin1). */
  private readonly closings = new Map<string, Promise<boolean>>();
  private readonly ending = new BackgroundBatches<TakenTransfer>((taken) => this.end(taken));

  constructor(
    readonly plan: SummaryPlan,
    private readonly source: RemoteCountSource,
  ) {}

  /** The state of the summary. Undefined: it was never counted. */
  async state(): Promise<SummaryRecord | undefined> {
    return parseRecord(await this.table.get(new Get(stateRow(this.plan.summary.id))));
  }

  /** Updates the state; `next` is called again if others have updated it meanwhile. @throws ConflictError. */
  async changeRecord(next: (state: SummaryRecord | undefined) => SummaryRecord): Promise<SummaryRecord> {
    const { id, name } = this.plan.summary;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      if (attempt > 0) await sleep(Math.random() * Math.min(LONGEST_WAIT, 2 ** attempt));
      const found = await this.table.get(new Get(stateRow(id)));
      const state = next(parseRecord(found));
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
      `Other processes changed the state of the summary "${name}" at each of ${ATTEMPTS} attempts. Try again later.`,
      { retryable: true },
    );
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

  /**
   * Updates the counts in use from a row. `change`: the change of the row that the caller has just written, if any.
   * @returns false while other writers are changing the row.
   */
  async updateAll(
    row: Uint8Array,
    settledAfter: number,
    change: WrittenChange | undefined = undefined,
  ): Promise<boolean> {
    const expected = change && this.expected(change);
    // The counts in use seldom change: assume the last known ones and read the state in parallel.
    const readings = new Map(
      this.inUse.map((generation) => [generation, expected ?? this.look(row, generation)]),
    );
    const [state] = await Promise.all([this.state(), ...readings.values()]);
    this.inUse = [state?.active, state?.building].filter((one) => typeof one === 'number');
    const settling = this.inUse.map((count) => this.update(row, count, settledAfter, readings.get(count)));
    return (await Promise.all(settling)).every((one) => one);
  }

  /**
   * Updates one count from a row. @param settledAfter age in milliseconds from which a transfer is abandoned. @param
   * first the row, if it was read already.
   */
  async update(
    row: Uint8Array,
    generation: number,
    settledAfter: number,
    first: Promise<Look> | undefined = undefined,
  ): Promise<boolean> {
    await this.closings.get(toLatin1(lifeRow(generation, this.plan.summary.id, row)));
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      // At once after a transfer of its own, which nearly always leaves both in agreement.
      if (attempt > 1) await sleep(Math.random() * Math.min(LONGEST_WAIT, 2 ** attempt));
      const found = attempt === 0 && first !== undefined ? first : this.look(row, generation);
      const { added, is } = await found;
      if (added?.transfer === undefined && addTheSame(added?.is, is)) return true;
      const begun = added?.transfer ?? { token: newToken(), was: added?.is, is };
      if (added?.transfer !== undefined && added.since + settledAfter > this.source.now()) continue;
      if (await this.transfer(row, generation, added, begun)) return true;
    }
    return false;
  }

  /**
   * The most likely stored contribution before a write: that of the row's former state. The transfer is conditional
   * on it, so a wrong guess costs a request. Undefined if nothing would change: then the count is read.
   */
  private expected({ before, after }: WrittenChange): Promise<Look> | undefined {
    const was = this.plan.contributionOf(before);
    const is = this.plan.contributionOf(after);
    if (addTheSame(was, is)) return undefined;
    const added = was && { value: countedValue(was), since: 0, is: was, transfer: undefined };
    return Promise.resolve({ added, is });
  }

  private async look(row: Uint8Array, generation: number): Promise<Look> {
    const own = lifeRow(generation, this.plan.summary.id, row);
    const [added, is] = await Promise.all([this.addition(own), this.contribution(row)]);
    return { added, is };
  }

  private async addition(own: Uint8Array): Promise<Addition | undefined> {
    return readAddition(await this.table.get(new Get(own)));
  }

  private async contribution(row: Uint8Array): Promise<Contribution | undefined> {
    const stored = await this.source.table(this.plan.schema.table.descriptor.name).get(new Get(row));
    return this.plan.contributionOf(RowImage.of(row, stored));
  }

  /**
   * Steps 1 to 3. @returns whether they were made and the row still contributes just this; false when another writer
   * was faster.
   */
  private async transfer(
    row: Uint8Array,
    generation: number,
    found: Addition | undefined,
    { was, is, token }: Omit<Transfer, 'owner'>,
  ): Promise<boolean> {
    const own = lifeRow(generation, this.plan.summary.id, row);
    const value = encodeTransfer({ was, is, token, owner: newToken() });
    const ends = performance.now() + WINDOW;
    if (!(await this.change(found?.value, putAddition(own, value)))) return false;
    const taken = this.differences(generation, was, is);
    const steps = taken.map(([group, amounts]) => incrementOnce(group, amounts, token));
    const timeout = ends - performance.now();
    // Too late: another writer may take over the transfer before the groups are changed. The next round, or another
    // writer, does.
    if (timeout < WINDOW / 2) return false;
    // Later writers of the row find the transfer, and update the count after it.
    const [now] = await Promise.all([this.contribution(row), this.batch(steps, timeout)]);
    const groups = taken.map(([group]) => group);
    const closing = this.close(own, value, is).then((isClosed) => {
      if (isClosed) this.endLater(groups, token);
      return isClosed;
    });
    if (!addTheSame(is, now)) {
      await closing;
      return false;
    }
    // The groups include the row: a transfer that stays open is closed by the next writer of the row.
    this.closeInBackground(toLatin1(own), closing);
    return true;
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

  /** The difference for each group, by the group's row. */
  private differences(
    generation: number,
    was: Contribution | undefined,
    is: Contribution | undefined,
  ): (readonly [row: Uint8Array, amounts: Amounts])[] {
    if (was !== undefined && is !== undefined && equalBytes(was.group, is.group))
      return [[groupRow(generation, is.group), differenceOf(was.amounts, is.amounts)]];
    const out: [Uint8Array, Amounts][] = [];
    if (was !== undefined) out.push([groupRow(generation, was.group), differenceOf(was.amounts, undefined)]);
    if (is !== undefined) out.push([groupRow(generation, is.group), is.amounts]);
    return out;
  }

  private async close(own: Uint8Array, value: Uint8Array, is: Contribution | undefined): Promise<boolean> {
    if (is !== undefined) return this.change(value, putCounted(own, is));
    await nextMillisecond();
    const found = await this.addition(own);
    if (found === undefined || !equalBytes(found.value, value)) return false;
    return this.change(value, new Delete(own).addColumns(SUMMARY_FAMILY, ADDITION, found.since));
  }

  /** Writes a row's contribution on condition that it is unchanged since it was read. */
  private async change(found: Uint8Array | undefined, mutation: RowMutation): Promise<boolean> {
    const check =
      found === undefined
        ? CheckAndMutate.ifNotExists(SUMMARY_FAMILY, ADDITION, mutation)
        : CheckAndMutate.ifEquals(SUMMARY_FAMILY, ADDITION, found, mutation);
    const { success } = await this.table.checkAndMutate(check, { timeout: WINDOW });
    return success;
  }

  /** In the background: if the token never expires, the group keeps one small cell. */
  private endLater(groups: readonly Uint8Array[], token: Uint8Array): void {
    this.ending.add(groups.map((group) => ({ group, token }))).catch((error: unknown) => {
      if (!(error instanceof RowanError)) throw error;
    });
  }

  /** Resolves when all transfers are closed and their tokens have got their expiry. */
  async rest(): Promise<void> {
    await Promise.all(this.closings.values());
    await this.ending.rest();
  }

  /** Sets the expiry of tokens of closed transfers. Until then they show late requests that the group has applied the transfer. */
  private async end(taken: readonly TakenTransfer[]): Promise<void> {
    await nextMillisecond();
    const found = await this.table.getAll(taken.map(({ group, token }) => getToken(group, token)));
    const ends = found.flatMap(({ cells }, i) => {
      const { group, token } = taken[i]!;
      return cells[0] === undefined ? [] : [endToken(group, token, cells[0].timestamp)];
    });
    await this.batch(ends);
    if (!this.source.cellTtl) await this.removeEnded(uniqueRows(taken.map(({ group }) => group)));
  }

  /** Deletes expired tokens on engines without cell TTLs. Requests that could still need them have failed long ago. */
  private async removeEnded(groups: readonly Uint8Array[]): Promise<void> {
    const before = this.source.now() - FENCED;
    const found = await this.table.getAll(groups.map((group) => getEnded(group, before)));
    const deletes = found.flatMap(({ row, cells }) =>
      cells.length === 0
        ? []
        : [
            cells.reduce(
              (del, { family, qualifier, timestamp }) => del.addColumns(family, qualifier, timestamp),
              new Delete(row),
            ),
          ],
    );
    await this.batch(deletes);
  }

  private async batch(actions: readonly BatchAction[], timeout?: number): Promise<void> {
    const answers: BatchOutcome[] = await this.table.batch(actions, timeout === undefined ? {} : { timeout });
    for (const answer of answers) if (!answer.ok) throw answer.error;
  }

  private get table(): Table {
    return this.source.table(this.plan.tableName);
  }
}

function uniqueRows(rows: readonly Uint8Array[]): Uint8Array[] {
  return [...new Map(rows.map((row) => [toLatin1(row), row])).values()];
}

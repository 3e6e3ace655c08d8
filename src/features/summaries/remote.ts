import { setTimeout as sleep } from 'node:timers/promises';
import { concatBytes, copyBytes, EMPTY_BYTES, equalBytes, toBytes } from '../../bytes/index.js';
import { ConflictError, CorruptionError } from '../../errors.js';
import { newToken } from '../../indexes/index.js';
import { WINDOW } from '../../repository/remote/entry-marks.js';
import { RowImage } from '../../repository/row-image.js';
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
  getToken,
  groupRow,
  lifeRow,
  putStanding,
  readStanding,
  SUMMARY_FAMILY,
  type SummaryStanding,
  stateRow,
  takeOnce,
} from './rows.js';

/**
 * What each row has added to a count, where one step of the engine is one row. docs/summaries.md has the bytes. A change of it is
 * written down before the groups are changed and closed behind them, so it is made once, whoever ends it.
 */

/** FROZEN. */
export const ADDITION: Uint8Array = toBytes('a');

const COUNTED = 0;
const UNDER_WAY = 1;
const TOKEN_LENGTH = newToken().length;
/** State, token, owner, length of what it was. */
const HEAD = 1 + 2 * TOKEN_LENGTH + 4;

/** A change of what a row adds, which groups may have taken already. */
export interface Transfer {
  /** The groups know by it what they have taken. */
  readonly token: Uint8Array;
  /** Who is at it. */
  readonly owner: Uint8Array;
  readonly was: Contribution | undefined;
  readonly is: Contribution | undefined;
}

/** What a row has added, as it stands. */
export interface Addition {
  readonly value: Uint8Array;
  /** When it was written, by the engine's time. */
  readonly since: number;
  /** What was added, once the transfer is closed. */
  readonly is: Contribution | undefined;
  /** Undefined: it is closed. */
  readonly transfer: Transfer | undefined;
}

export function putCounted(row: Uint8Array, is: Contribution): Put {
  return putAddition(row, concatBytes(Uint8Array.of(COUNTED), encoded(is)));
}

export function putAddition(row: Uint8Array, value: Uint8Array): Put {
  return new Put(row).addColumn(SUMMARY_FAMILY, ADDITION, value);
}

export function encodeTransfer({ token, owner, was, is }: Transfer): Uint8Array {
  const before = encoded(was);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(before.length);
  return concatBytes(Uint8Array.of(UNDER_WAY), token, owner, new Uint8Array(length), before, encoded(is));
}

/** Undefined: nothing. @throws CorruptionError. */
export function readAddition(result: Result): Addition | undefined {
  const cell = result.getLatest(SUMMARY_FAMILY, ADDITION);
  if (cell === undefined) return undefined;
  const { value, timestamp: since } = cell;
  if (value[0] === COUNTED) return { value, since, is: decoded(result, value, 1), transfer: undefined };
  if (value[0] !== UNDER_WAY || value.length < HEAD) throw unreadable(result);
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
    'What a row has added to a summary cannot be read. Repair it: rowan summary repair.',
    { details: { keyHex: Buffer.from(row).toString('hex') } },
  );
}

/**
 * A count of the rows of a summary where one step of the engine is one row. Beside the groups stands what each row has added
 * to them. To bring that in line with the row is one transfer:
 *
 * 1. It is written down what the row has added and what it is to add, if nobody has changed that since it was read.
 * 2. Each group takes the difference, and with it, in the same step, a token: so it takes it once, whoever hands it over.
 * 3. It is written down that the row has added that; then the tokens
 *    end by time, after {@link FENCED}: a request that comes late finds that the group has taken it.
 *
 * Who does this reads the row and what it has added once more behind it, until both agree. So at rest they do, whoever was
 * faster, and any number may be at it. A transfer belongs to the one who has begun it, who makes each step within
 * {@link WINDOW}; what nobody has ended after a longer time another takes over, with the same token.
 */

/** How often a row is looked at while others change it, or are about to end what they have begun. */
const ATTEMPTS = 64;
/** The longest wait between two looks, ms. */
const LONGEST_WAIT = 100;
/** Milliseconds before a delete: it hides what is written in the millisecond of what it deletes (R32). */
const TICK = 2;

/** What it takes from its database. */
export interface RemoteCountSource {
  table(name: string): Table;
  now(): number;
}

export class RemoteCount {
  constructor(
    readonly plan: SummaryPlan,
    private readonly source: RemoteCountSource,
  ) {}

  /** Where the summary stands; undefined: it was never counted. */
  async standing(): Promise<SummaryStanding | undefined> {
    return readStanding(await this.table.get(new Get(stateRow(this.plan.summary.id))));
  }

  /** Changes where it stands; `next` is asked again when others have changed it meanwhile. @throws ConflictError. */
  async changeStanding(
    next: (standing: SummaryStanding | undefined) => SummaryStanding,
  ): Promise<SummaryStanding> {
    const { id, name } = this.plan.summary;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      if (attempt > 0) await sleep(Math.random() * Math.min(LONGEST_WAIT, 2 ** attempt));
      const found = await this.table.get(new Get(stateRow(id)));
      const standing = next(readStanding(found));
      const put = putStanding(id, standing);
      const [cell] = found.cells;
      const { family, qualifier } = put.cells[0]!;
      const check =
        cell === undefined
          ? CheckAndMutate.ifNotExists(family, qualifier, put)
          : CheckAndMutate.ifEquals(family, qualifier, cell.value, put);
      if ((await this.table.checkAndMutate(check)).success) return standing;
    }
    throw new ConflictError(
      `Where the summary "${name}" stands was changed by others at each of ${ATTEMPTS} attempts. Try again later.`,
      { retryable: true },
    );
  }

  /** The amounts of a group, `group` as the layout of the summary encodes it, in some counts. */
  async amounts(group: Uint8Array, generations: readonly number[]): Promise<Amounts[]> {
    const gets = generations.map((generation) => new Get(groupRow(generation, group)).setFilter(AMOUNTS));
    return (await this.table.getAll(gets)).map(amountsOf);
  }

  /** Removes what a scan of its table finds; how many rows. */
  async remove(scan: Scan): Promise<number> {
    const rows: Uint8Array[] = [];
    for await (const { row } of this.table.scan(scan)) rows.push(row);
    if (rows.length > 0) await this.batch(rows.map((row) => new Delete(row)));
    return rows.length;
  }

  /** Has the counts in use agree with a row. @returns whether they do; else others are at it. */
  async settleAll(row: Uint8Array, settledAfter: number): Promise<boolean> {
    const standing = await this.standing();
    const counts = [standing?.active, standing?.building].filter((one) => typeof one === 'number');
    const done = await Promise.all(counts.map((generation) => this.settle(row, generation, settledAfter)));
    return done.every((one) => one);
  }

  /** Has one count agree with a row. `settledAfter`: milliseconds after which a transfer is nobody's. */
  async settle(row: Uint8Array, generation: number, settledAfter: number): Promise<boolean> {
    const own = lifeRow(generation, this.plan.summary.id, row);
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      if (attempt > 0) await sleep(Math.random() * Math.min(LONGEST_WAIT, 2 ** attempt));
      const [added, is] = await Promise.all([this.addition(own), this.contribution(row)]);
      if (added?.transfer !== undefined) await this.takeOver(own, generation, added, settledAfter);
      else if (addTheSame(added?.is, is)) return true;
      else await this.transfer(own, generation, added, { token: newToken(), was: added?.is, is });
    }
    return false;
  }

  private async addition(own: Uint8Array): Promise<Addition | undefined> {
    return readAddition(await this.table.get(new Get(own)));
  }

  private async contribution(row: Uint8Array): Promise<Contribution | undefined> {
    const stored = await this.source.table(this.plan.schema.table.descriptor.name).get(new Get(row));
    return this.plan.contributionOf(RowImage.of(row, stored));
  }

  private async takeOver(
    own: Uint8Array,
    generation: number,
    found: Addition,
    settledAfter: number,
  ): Promise<void> {
    if (found.since + settledAfter > this.source.now()) return;
    const { token, was, is } = found.transfer!;
    await this.transfer(own, generation, found, { token, was, is });
  }

  /** Steps 1 to 3; nothing when another was faster. */
  private async transfer(
    own: Uint8Array,
    generation: number,
    found: Addition | undefined,
    begun: Omit<Transfer, 'owner'>,
  ): Promise<void> {
    const { was, is, token } = begun;
    const value = encodeTransfer({ ...begun, owner: newToken() });
    const ends = performance.now() + WINDOW;
    if (!(await this.change(found?.value, putAddition(own, value)))) return;
    const taken = this.differences(generation, was, is);
    const steps = taken.map(([group, amounts]) => takeOnce(group, amounts, token));
    const timeout = ends - performance.now();
    // Too late: another may have taken it over before the groups are changed. It is taken over in the next round, or by others.
    if (timeout < WINDOW / 2) return;
    await this.batch(steps, timeout);
    if (!(await this.close(own, value, is))) return;
    await this.end(
      taken.map(([group]) => group),
      token,
    );
  }

  /** What goes from group to group, by the row of the group. */
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
    await sleep(TICK);
    const found = await this.addition(own);
    if (found === undefined || !equalBytes(found.value, value)) return false;
    return this.change(value, new Delete(own).addColumns(SUMMARY_FAMILY, ADDITION, found.since));
  }

  /** Whether what the row has added was still as it was found. */
  private async change(found: Uint8Array | undefined, mutation: RowMutation): Promise<boolean> {
    const check =
      found === undefined
        ? CheckAndMutate.ifNotExists(SUMMARY_FAMILY, ADDITION, mutation)
        : CheckAndMutate.ifEquals(SUMMARY_FAMILY, ADDITION, found, mutation);
    const { success } = await this.table.checkAndMutate(check, { timeout: WINDOW });
    return success;
  }

  /** What the groups have taken is closed; a request that comes late is to find it so. */
  private async end(groups: readonly Uint8Array[], token: Uint8Array): Promise<void> {
    await sleep(TICK);
    const found = await this.table.getAll(groups.map((group) => getToken(group, token)));
    const ends = found.flatMap(({ cells }, i) =>
      cells[0] === undefined ? [] : [endToken(groups[i]!, token, cells[0].timestamp)],
    );
    await this.batch(ends);
  }

  private async batch(actions: readonly BatchAction[], timeout?: number): Promise<void> {
    const answers: BatchOutcome[] = await this.table.batch(actions, timeout === undefined ? {} : { timeout });
    for (const answer of answers) if (!answer.ok) throw answer.error;
  }

  private get table(): Table {
    return this.source.table(this.plan.tableName);
  }
}

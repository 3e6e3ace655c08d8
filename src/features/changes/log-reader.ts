/** Reads a feed's commits from the log of changes where one step is one row: on HBase and Bigtable. */

import { setTimeout as sleep } from 'node:timers/promises';
import { InvalidArgumentError } from '../../errors.js';
import { FENCE_TTL } from '../../repository/index.js';
import type { EntitySchema } from '../../schema/types.js';
import { describe } from '../../table/checks.js';
import type { Engine } from '../../table/index.js';
import { type ChangeLog, decideChange } from './change-log.js';
import type { CommitNotifier, CommitPage, CommitSource, LimitsFrom, StoredCommit } from './commit-source.js';
import { BUCKETS, type LastNumber, type LogPlace, type LogRow, MADE, UNDECIDED } from './log-rows.js';
import { expiredPosition, feedEnded, type PositionOrder, undone } from './positions.js';

// — A feed's position in a log of buckets. As text: `2.time.number…`, in base 36, then base64url.

interface LogPosition {
  /** ms: every entry after these numbers was written at this time or later. */
  readonly time: number;
  /** For each bucket: every entry up to this number has been read. */
  readonly numbers: readonly number[];
}

function logPositionText({ time, numbers }: LogPosition): string {
  const all = [2, time, ...numbers].map((number) => number.toString(36));
  return Buffer.from(all.join('.')).toString('base64url');
}

/** @throws InvalidArgumentError on a value that no feed has returned. */
function parseLogPosition(text: unknown): LogPosition {
  const decoded = typeof text === 'string' ? Buffer.from(text, 'base64url').toString('latin1') : '';
  const [version, time, ...numbers] = decoded.split('.').map((number) => Number.parseInt(number, 36));
  const position = { time: time!, numbers };
  const isWhole = version === 2 && numbers.length === BUCKETS;
  if (isWhole && [time, ...numbers].every(isNumber) && logPositionText(position) === text) return position;
  throw new InvalidArgumentError(
    `watch: from is ${describe(text)}. Give the position of a commit or of a feed of this cluster, or 'start'.`,
  );
}

function isNumber(number: number | undefined): boolean {
  return Number.isSafeInteger(number) && number! >= 0;
}

// — Reads changes on engines whose atomic step is one row, from a log in buckets (docs/changes-internals.md). A bucket
// is read up to its first undecided change. The row decides that change; after a while the reader fences the writer
// instead of waiting.

/** The position after every number that was allocated. */
export async function newestPosition(engine: Engine, log: ChangeLog): Promise<string> {
  const time = Math.floor(engine.now());
  return logPositionText({ time, numbers: (await log.last()).map(({ number }) => number) });
}

const ORDER: PositionOrder<LogPosition> = {
  parse: parseLogPosition,
  isBefore: (a, b) => a.numbers.some((number, bucket) => number < b.numbers[bucket]!),
};

function furthest(a: readonly number[], b: readonly number[]): number[] {
  return a.map((number, bucket) => Math.max(number, b[bucket]!));
}

/** Entries read from a bucket in one request. */
const PAGE = 64;
/** The shortest and the longest pause between two polls of the log, ms. */
const SHORTEST_WAIT = 50;
const LONGEST_WAIT = 1000;
/**
 * Age in ms from which an allocated number can no longer be used by its owner, for an entry or for its row. Writers
 * have ten seconds; the rest allows for clock differences.
 */
const FORGOTTEN = 60_000;
/** The most unused numbers closed at a time. Earlier ones are beyond their retention time. */
const MAX_MISSING = 4096;

/** The parameters of a reader. */
interface LogReading {
  readonly engine: Engine;
  readonly log: ChangeLog;
  readonly notifier: CommitNotifier;
  readonly tables: readonly string[];
  /** The shortest time, ms, for which these tables' entries are kept. */
  readonly kept: number;
  /** Milliseconds for which an undecided change is waited for. */
  readonly settledAfter: number;
  readonly limitsFrom: LimitsFrom<LogPosition>;
  /** Whether an entity's table is never written again. */
  isRetired(schema: EntitySchema): Promise<boolean>;
  /** The watched entity of a row. Undefined: the row is not watched. */
  schemaOf(table: string, row: Uint8Array): EntitySchema | undefined;
}

/** The row of an undecided change, with what deciding it needs. */
type Undecided = Parameters<typeof decideChange>[1] & { readonly row: Uint8Array };

/** The entries read from a bucket, and how far it was read. */
interface BucketPage {
  readonly entries: LogRow[];
  /** Every entry up to it has been returned or skipped. */
  upTo: number;
  /** Whether the bucket can be read further at once. */
  more: boolean;
  /** The time of the first entry after it, ms. Undefined: there is none. */
  rest: number | undefined;
}

/** A number whose change is awaited. */
interface Waiting {
  readonly number: number;
  readonly since: number;
}

export class LogReader implements CommitSource {
  private readonly waiting = new Map<number, Waiting>();
  private pause = SHORTEST_WAIT;
  /** Whether it begins with the oldest change that is kept. */
  private isOldest = false;
  private notified = 0;

  constructor(private readonly reading: LogReading) {}

  /**
   * The position before the first undecided change of each bucket; changes after it that are made may be returned
   * again. A change whose writer has expired is closed: its row write fails however late it arrives, so nothing
   * changes behind the feed.
   */
  async now(): Promise<string> {
    const { log, engine } = this.reading;
    const last = await log.last();
    const open = await Promise.all(last.map((one, bucket) => this.firstOpen(bucket, one)));
    const position = { time: Math.floor(engine.now()), numbers: open };
    return logPositionText(await this.notBeforeBegin(position));
  }

  /** The position, or a later one where a change of keys lets the feed begin there. */
  private async notBeforeBegin(position: LogPosition): Promise<LogPosition> {
    const begin = (await this.reading.limitsFrom(position, ORDER)).latestBegin();
    if (begin === undefined) return position;
    return { ...position, numbers: furthest(position.numbers, begin.numbers) };
  }

  private async firstOpen(bucket: number, { number: last, time, closedUpTo }: LastNumber): Promise<number> {
    const { log, engine } = this.reading;
    let upTo = last;
    let closed = last;
    let next = last;
    // Numbers below one that was allocated long ago are older still: they can get no entries.
    let isYoung = !this.isForgotten(time);
    for await (const { number, state, time } of log.newest(bucket, last, PAGE)) {
      if (number <= closedUpTo) break;
      if (number < next && isYoung) upTo = number;
      next = number - 1;
      isYoung = !this.isForgotten(time);
      if (time + FENCE_TTL < engine.now()) break;
      if (state !== UNDECIDED) continue;
      const end = isYoung ? 'open' : await this.end({ bucket, number });
      if (end === 'open') upTo = next;
      if (end !== 'closed') closed = next;
    }
    if (isYoung && next > closedUpTo) upTo = Math.max(closedUpTo, next - MAX_MISSING);
    closed = Math.min(closed, upTo);
    if (closed >= closedUpTo + PAGE) await log.recordClosedUpTo({ bucket, number: closed });
    return upTo;
  }

  /** Closes a change on behalf of its writer. `unwatched`: its row is not watched by this feed. */
  private async end(place: LogPlace): Promise<'closed' | 'open' | 'unwatched'> {
    const { log, tables } = this.reading;
    const { bucket, number } = place;
    const [row] = await log.read(bucket, number, tables, 1, {});
    const where = row && this.whereOf(row);
    if (where === undefined) return 'unwatched';
    return (await decideChange({ ...place, row: where.row, mark: row!.mark! }, where, true))
      ? 'closed'
      : 'open';
  }

  /** Where the watched row of an entry is stored. */
  private whereOf({ entry, mark }: LogRow): Undecided | undefined {
    const schema = entry && this.reading.schemaOf(entry.table, entry.row);
    if (entry === undefined || schema === undefined || mark === undefined) return undefined;
    const { engine, log, isRetired } = this.reading;
    const { changeMarks: marks, changesKept: kept } = schema;
    const table = engine.table(entry.table);
    return {
      ...{ log, table, marks: marks!, kept: kept!, row: entry.row },
      isRetired: () => isRetired(schema),
    };
  }

  start(): string {
    this.isOldest = true;
    return logPositionText({
      time: Math.floor(this.reading.engine.now()),
      numbers: Array.from({ length: BUCKETS }, () => 0),
    });
  }

  parse(from: unknown): string {
    return logPositionText(parseLogPosition(from));
  }

  async check(position: string): Promise<void> {
    const last = await this.reading.log.last();
    const { numbers } = parseLogPosition(position);
    if (numbers.some((number, bucket) => number > last[bucket]!.number)) throw undone();
  }

  async read(position: string, signal: AbortSignal): Promise<CommitPage> {
    const { engine, log, notifier, kept } = this.reading;
    this.notified = notifier.notified;
    const given = parseLogPosition(position);
    const from = this.isOldest ? await this.notBeforeBegin(given) : given;
    const began = Math.floor(engine.now());
    const newest = await log.last();
    // After that: where no end is recorded by now, the other entity has no change up to these numbers.
    const limits = await this.reading.limitsFrom(from, ORDER);
    limits.checkBegin(from);
    const { end: limit } = limits;
    const last = newest.map((one, bucket) =>
      limit === undefined ? one : { ...one, number: Math.min(one.number, limit.at.numbers[bucket]!) },
    );
    const pages = await Promise.all(
      last.map((one, bucket) => this.readBucket(bucket, from.numbers[bucket]!, one, signal)),
    );
    if (from.time + kept <= engine.now()) throw expiredPosition(kept);
    this.isOldest = false;
    const commits = merged(pages, from, began);
    const end = {
      time: Math.min(began, ...pages.map(({ rest }) => rest ?? began)),
      numbers: pages.map(({ upTo }) => upTo),
    };
    // Entries that are not written yet have no time, so the position's time cannot advance.
    const more = pages.some((page) => page.more);
    if (commits.length > 0 || more) this.pause = SHORTEST_WAIT;
    const isOver = limit !== undefined && !ORDER.isBefore(end, limit.at);
    return { commits, position: logPositionText(end), more, ...(isOver && { ended: feedEnded(limit) }) };
  }

  async wait(signal: AbortSignal): Promise<void> {
    const woken = new AbortController();
    const wake = (): void => woken.abort();
    signal.addEventListener('abort', wake);
    if (signal.aborted) wake();
    const paused = sleep(this.pause, undefined, { signal: woken.signal }).catch(() => undefined);
    this.pause = Math.min(LONGEST_WAIT, 2 * this.pause);
    await Promise.race([paused, this.reading.notifier.after(this.notified, woken.signal)]);
    wake();
    signal.removeEventListener('abort', wake);
  }

  private async readBucket(
    bucket: number,
    from: number,
    last: LastNumber,
    signal: AbortSignal,
  ): Promise<BucketPage> {
    const page: BucketPage = { entries: [], upTo: from, more: false, rest: undefined };
    if (last.number <= from) return page;
    const { log, tables } = this.reading;
    const read = await log.read(bucket, from + 1, tables, PAGE, { signal });
    const rows = read.filter(({ number }) => number <= last.number);
    for (const row of rows) {
      page.rest = row.time;
      if (row.number > page.upTo + 1 && !(await this.pass(page, bucket, row.number - 1, row.time)))
        return page;
      if (!(await this.process(page, row))) return page;
      page.upTo = row.number;
    }
    page.rest = undefined;
    if (rows.length === PAGE) {
      page.more = true;
      page.rest = rows.at(-1)!.time;
    } else if (page.upTo < last.number) {
      page.rest = last.time;
      if (await this.pass(page, bucket, last.number, last.time)) page.rest = undefined;
    }
    return page;
  }

  /** Processes an entry. @returns whether the bucket may be read beyond it. */
  private async process(page: BucketPage, row: LogRow): Promise<boolean> {
    const { entry, state, mark, bucket, number } = row;
    if (entry === undefined || this.reading.schemaOf(entry.table, entry.row) === undefined) return true;
    if (state === MADE) page.entries.push(row);
    const where = this.whereOf(row);
    if (state !== UNDECIDED || where === undefined) return true;
    const ends = this.isTimedOut(bucket, number);
    // Who closed it, and with which outcome, is in the log.
    page.more = await decideChange({ bucket, number, row: where.row, mark: mark! }, where, ends);
    return false;
  }

  /** Skips numbers without an entry if none can be written under them any more. */
  private async pass(page: BucketPage, bucket: number, upTo: number, time: number): Promise<boolean> {
    if (this.isForgotten(time)) {
      page.upTo = upTo;
      return true;
    }
    const first = Math.max(page.upTo + 1, upTo - MAX_MISSING);
    if (!this.isTimedOut(bucket, first)) return false;
    const places = Array.from({ length: upTo - first + 1 }, (_, i) => ({ bucket, number: first + i }));
    await this.reading.log.closeNumbers(places, this.reading.kept);
    page.upTo = first - 1;
    page.more = true;
    return false;
  }

  private isForgotten(time: number): boolean {
    return time + FORGOTTEN < this.reading.engine.now();
  }

  /** Whether this number has been awaited long enough. */
  private isTimedOut(bucket: number, number: number): boolean {
    const known = this.waiting.get(bucket);
    const now = performance.now();
    if (known?.number !== number) this.waiting.set(bucket, { number, since: now });
    const since = known?.number === number ? known.since : now;
    return now - since >= this.reading.settledAfter;
  }
}

/** The entries of all buckets, roughly in order of time, each with the position after it. */
function merged(pages: readonly BucketPage[], from: LogPosition, began: number): StoredCommit[] {
  const next = pages.map(() => 0);
  const order: LogRow[] = [];
  for (;;) {
    let first: LogRow | undefined;
    for (const [bucket, { entries }] of pages.entries()) {
      const row = entries[next[bucket]!];
      if (row !== undefined && (first === undefined || row.time < first.time)) first = row;
    }
    if (first === undefined) break;
    next[first.bucket]!++;
    order.push(first);
  }
  // Every entry after the pages was written at this time or later.
  let rest = Math.min(began, ...pages.map((page) => page.rest ?? began));
  const times: number[] = [];
  for (const { time } of order.toReversed()) {
    times.push(rest);
    rest = Math.min(rest, time);
  }
  const numbers = [...from.numbers];
  return order.map(({ bucket, number, time, entry }, i) => {
    numbers[bucket] = number;
    const position = logPositionText({ time: times[order.length - 1 - i]!, numbers });
    return { position, time, entries: [entry!] };
  });
}

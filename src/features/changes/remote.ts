import { setTimeout as sleep } from 'node:timers/promises';
import { InvalidArgumentError } from '../../errors.js';
import {
  BUCKETS,
  type ChangeLog,
  decideChange,
  type LastNumber,
  type LogRow,
  MADE,
  UNDER_WAY,
} from '../../repository/index.js';
import type { EntitySchema } from '../../schema/types.js';
import { describe } from '../../table/checks.js';
import type { Engine } from '../../table/index.js';
import type { CommitNotifier } from './commit-notifier.js';
import type { CommitPage, CommitSource, StoredCommit } from './embedded.js';
import { gone, undone } from './expired-position.js';

/** Where a reader of a log in buckets stands, as the text that is given out: `2.time.number…`, in base 36, then base64url. */

export interface LogPosition {
  /** ms: what stands behind the numbers was written then or later. */
  readonly time: number;
  /** Of each bucket: every entry up to this number has been read. */
  readonly numbers: readonly number[];
}

export function logPositionText({ time, numbers }: LogPosition): string {
  const all = [2, time, ...numbers].map((number) => number.toString(36));
  return Buffer.from(all.join('.')).toString('base64url');
}

/** @throws InvalidArgumentError on what no feed gave out. */
export function parseLogPosition(text: unknown): LogPosition {
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

/**
 * Reads the changes of an engine whose one step is a row, from a log in buckets (docs/changes.md). A bucket is read up to the first
 * change of which it is not known yet whether it was made; the row tells, and after a while nobody is waited for.
 */

/** Entries of a bucket that are read at once. */
const PAGE = 64;
/** The shortest and the longest wait between two looks at the log, ms. */
const SHORTEST_WAIT = 50;
const LONGEST_WAIT = 1000;
/** Milliseconds after which nobody writes an entry with a number that he took, nor its row: ten seconds with room for clocks. */
const FORGOTTEN = 60_000;
/** Numbers without an entry that are closed at most; those before have ended with their `keep`. */
const MOST_MISSING = 4096;

/** What a reader reads. */
export interface LogReading {
  readonly engine: Engine;
  readonly log: ChangeLog;
  readonly bell: CommitNotifier;
  readonly tables: readonly string[];
  /** Milliseconds for which all of their entries are kept. */
  readonly kept: number;
  /** Milliseconds for which a change under way is waited for. */
  readonly settledAfter: number;
  /** The entity of a row that is watched; undefined: nobody watches it. */
  schemaOf(table: string, row: Uint8Array): EntitySchema | undefined;
}

/** What was read of a bucket: entries to be told, and how far. */
interface BucketPage {
  readonly told: LogRow[];
  /** Every entry up to it has been told or passed over. */
  upTo: number;
  /** Whether it may go on at once. */
  more: boolean;
  /** The time of what stands behind, where something does, ms. */
  rest: number | undefined;
}

/** A number that is waited for. */
interface Waiting {
  readonly number: number;
  readonly since: number;
}

export class LogReader implements CommitSource {
  private readonly waiting = new Map<number, Waiting>();
  private pause = SHORTEST_WAIT;
  private rung = 0;

  constructor(private readonly reading: LogReading) {}

  /** Before the first change that is under way: those behind it that were made may be told again. */
  async now(): Promise<string> {
    const { log, engine } = this.reading;
    const last = await log.last();
    const numbers = await Promise.all(last.map((one, bucket) => this.firstOpen(bucket, one)));
    return logPositionText({ time: Math.floor(engine.now()), numbers });
  }

  private async firstOpen(bucket: number, last: LastNumber): Promise<number> {
    if (last.number === 0 || this.isForgotten(last.time)) return last.number;
    let upTo = last.number;
    let next: number | undefined;
    for await (const { number, state, time } of this.reading.log.newest(bucket, last.number, PAGE)) {
      if (number < (next ?? last.number)) upTo = number;
      next = number - 1;
      if (this.isForgotten(time)) break;
      if (state === UNDER_WAY) upTo = next;
    }
    return next === undefined ? Math.max(0, last.number - MOST_MISSING) : upTo;
  }

  start(): string {
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
    const { engine, log, bell, kept } = this.reading;
    this.rung = bell.rung;
    const from = parseLogPosition(position);
    const began = Math.floor(engine.now());
    const last = await log.last();
    const pages = await Promise.all(
      last.map((one, bucket) => this.readBucket(bucket, from.numbers[bucket]!, one, signal)),
    );
    if (from.time + kept <= engine.now()) throw gone(kept);
    const commits = merged(pages, from, began);
    const end = {
      time: Math.min(began, ...pages.map(({ rest }) => rest ?? began)),
      numbers: pages.map(({ upTo }) => upTo),
    };
    // What nobody has written yet has no time: then nothing is known to be later than before.
    const more = pages.some((page) => page.more);
    if (commits.length > 0 || more) this.pause = SHORTEST_WAIT;
    return { commits, position: logPositionText(end), more };
  }

  async wait(signal: AbortSignal): Promise<void> {
    const heard = new AbortController();
    const hear = (): void => heard.abort();
    signal.addEventListener('abort', hear);
    if (signal.aborted) hear();
    const paused = sleep(this.pause, undefined, { signal: heard.signal }).catch(() => undefined);
    this.pause = Math.min(LONGEST_WAIT, 2 * this.pause);
    await Promise.race([paused, this.reading.bell.after(this.rung, heard.signal)]);
    hear();
    signal.removeEventListener('abort', hear);
  }

  private async readBucket(
    bucket: number,
    from: number,
    last: LastNumber,
    signal: AbortSignal,
  ): Promise<BucketPage> {
    const page: BucketPage = { told: [], upTo: from, more: false, rest: undefined };
    if (last.number <= from) return page;
    const { log, tables } = this.reading;
    const rows = await log.read(bucket, from + 1, tables, PAGE, { signal });
    for (const row of rows) {
      page.rest = row.time;
      if (row.number > page.upTo + 1 && !(await this.pass(page, bucket, row.number - 1, row.time)))
        return page;
      if (!(await this.take(page, row))) return page;
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

  /** Takes up what is known of an entry; whether the bucket may be read on behind it. */
  private async take(page: BucketPage, row: LogRow): Promise<boolean> {
    const { entry, state, mark, bucket, number } = row;
    const schema = entry && this.reading.schemaOf(entry.table, entry.row);
    if (entry === undefined || schema === undefined) return true;
    if (state === MADE) page.told.push(row);
    if (state !== UNDER_WAY || mark === undefined) return true;
    const { engine, log } = this.reading;
    const where = {
      log,
      table: engine.table(entry.table),
      marks: schema.changeMarks!,
      kept: schema.changesKept!,
    };
    const ends = this.isOver(bucket, number);
    // Who has closed it, and as what, stands in the log.
    page.more = await decideChange({ bucket, number, row: entry.row, mark }, where, ends);
    return false;
  }

  /** Passes over numbers without an entry, if nobody can write one any more. */
  private async pass(page: BucketPage, bucket: number, upTo: number, time: number): Promise<boolean> {
    if (this.isForgotten(time)) {
      page.upTo = upTo;
      return true;
    }
    const first = Math.max(page.upTo + 1, upTo - MOST_MISSING);
    if (!this.isOver(bucket, first)) return false;
    const places = Array.from({ length: upTo - first + 1 }, (_, i) => ({ bucket, number: first + i }));
    await this.reading.log.closeNumbers(places, this.reading.kept);
    page.upTo = first - 1;
    page.more = true;
    return false;
  }

  private isForgotten(time: number): boolean {
    return time + FORGOTTEN < this.reading.engine.now();
  }

  /** Whether this number has been waited for long enough. */
  private isOver(bucket: number, number: number): boolean {
    const known = this.waiting.get(bucket);
    const now = performance.now();
    if (known?.number !== number) this.waiting.set(bucket, { number, since: now });
    const since = known?.number === number ? known.since : now;
    return now - since >= this.reading.settledAfter;
  }
}

/** The entries of all buckets, about in the order of their times; each with the position behind it. */
function merged(pages: readonly BucketPage[], from: LogPosition, began: number): StoredCommit[] {
  const next = pages.map(() => 0);
  const order: LogRow[] = [];
  for (;;) {
    let first: LogRow | undefined;
    for (const [bucket, { told }] of pages.entries()) {
      const row = told[next[bucket]!];
      if (row !== undefined && (first === undefined || row.time < first.time)) first = row;
    }
    if (first === undefined) break;
    next[first.bucket]!++;
    order.push(first);
  }
  // What is behind each of them was written at this time or later.
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

import { type Commits, type Engine, filters, Get, type Result, Scan } from '../../table/index.js';
import type { CommitNotifier } from './commit-notifier.js';
import { gone, type Position, parsePosition, positionText, undone } from './expired-position.js';
import { CHANGES_TABLE, type CommitEntry, columnsOf, commitNumber, commitRow, entriesOf } from './table.js';

/** Reads the commits of an engine that writes entries in the step of the rows. */

/** Commits, and bytes of them, that are read at once. */
const PAGE = 64;
const PAGE_BYTES = 4 << 20;

export class CommitReader implements CommitSource {
  private notified: number;

  constructor(
    private readonly engine: Engine,
    private readonly commits: Commits,
    private readonly notifier: CommitNotifier,
    /** The tables whose entries are read. */
    private readonly tables: readonly string[],
    /** Milliseconds for which all of their entries are kept. */
    private readonly kept: number,
  ) {
    this.notified = notifier.notified;
  }

  now(): string {
    return positionText({ ...NOTHING_READ, commit: this.commits.last, time: this.engine.now() });
  }

  start(): string {
    return positionText({ ...NOTHING_READ, time: this.engine.now() });
  }

  parse(from: unknown): string {
    return positionText(parsePosition(from));
  }

  async check(position: string): Promise<void> {
    const { commit, entry, kept } = parsePosition(position);
    if (commit > this.commits.last) throw undone();
    if (entry === 0 || entry + kept <= this.engine.now()) return;
    const found = await this.engine.table(CHANGES_TABLE).get(new Get(commitRow(commit)));
    if (timeOf(found) !== entry) throw undone();
  }

  async read(position: string, signal: AbortSignal): Promise<CommitPage> {
    const from = parsePosition(position);
    this.notified = this.notifier.notified;
    const last = this.commits.last;
    const now = this.engine.now();
    const commits: StoredCommit[] = [];
    let newest: Position | undefined;
    let bytes = 0;
    const scan = new Scan()
      .withStartRow(commitRow(from.commit + 1))
      .setFilter(filters.multipleColumnPrefix(this.tables.map(columnsOf)))
      .setLimit(PAGE);
    for await (const result of this.engine.table(CHANGES_TABLE).scan(scan, { signal })) {
      newest = this.positionOf(result);
      commits.push({ position: positionText(newest), time: newest.time, entries: entriesOf(result) });
      for (const { value } of result.cells) bytes += value.length;
      if (bytes >= PAGE_BYTES) break;
    }
    if (from.time + this.kept <= this.engine.now()) throw gone(this.kept);
    const more = commits.length === PAGE || bytes >= PAGE_BYTES;
    const end =
      newest === undefined || (!more && newest.commit < last)
        ? { ...NOTHING_READ, commit: Math.max(last, from.commit), time: now }
        : more
          ? newest
          : { ...newest, time: Math.max(now, newest.time) };
    return { commits, position: positionText(end), more };
  }

  wait(signal: AbortSignal): Promise<void> {
    return this.notifier.after(this.notified, signal);
  }

  private positionOf(result: Result): Position {
    const time = timeOf(result);
    return { commit: commitNumber(result.row), entry: time, kept: this.kept, time };
  }
}

const NOTHING_READ: Position = Object.freeze({ commit: 0, entry: 0, kept: 0, time: 0 });

function timeOf({ cells }: Result): number {
  return cells[0]?.timestamp ?? 0;
}

/** What a feed reads from. */

/** A commit as it is stored: entries of the tables that are watched. */
export interface StoredCommit {
  /** Behind it. */
  readonly position: string;
  /** When it was written, ms. */
  readonly time: number;
  readonly entries: readonly CommitEntry[];
}

export interface CommitPage {
  /** Oldest first. */
  readonly commits: readonly StoredCommit[];
  /** Behind the last of them; further where nothing more is there. */
  readonly position: string;
  /** Whether there may be more at once. */
  readonly more: boolean;
}

export interface CommitSource {
  /** Behind all that can be read now; a promise where that must be asked. */
  now(): string | Promise<string>;
  /** Before all that is kept. */
  start(): string;
  /** The position that was given. @throws InvalidArgumentError on what no feed gave out. */
  parse(from: unknown): string;
  /** @throws RowanError `ERR_POSITION_GONE` when it is not of this store, or of a moment that was undone. */
  check(position: string): Promise<void>;
  /** @throws RowanError `ERR_POSITION_GONE` when what stands behind the position is kept no more. */
  read(position: string, signal: AbortSignal): Promise<CommitPage>;
  /** Resolves when there may be more behind the page that was read last, or the signal is aborted; never rejects. */
  wait(signal: AbortSignal): Promise<void>;
}

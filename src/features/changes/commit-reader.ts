/** Reads a feed's commits where the entry of a change is written in one step with its row: on the embedded engine. */

import { startsWithBytes } from '../../bytes/index.js';
import {
  type Commits,
  type Engine,
  filters,
  Get,
  type Result,
  Scan,
  type SyncTable,
} from '../../table/index.js';
import type { CommitNotifier, CommitPage, CommitSource, LimitsFrom, StoredCommit } from './commit-source.js';
import {
  expiredPosition,
  feedEnded,
  type Position,
  type PositionOrder,
  parsePosition,
  positionText,
  undone,
} from './positions.js';
import { CHANGES_TABLE, columnsOf, commitNumber, commitRow, entriesOf } from './table.js';

/** Limits of one read: commits and bytes. */
const PAGE = 64;
const PAGE_BYTES = 4 << 20;

const ORDER: PositionOrder<Position> = {
  parse: parsePosition,
  isBefore: (a, b) => a.commit < b.commit,
};

export class CommitReader implements CommitSource {
  private notified: number;
  /** Whether it begins with the oldest change that is kept. */
  private isOldest = false;

  constructor(
    private readonly engine: Engine,
    private readonly commits: Commits,
    private readonly notifier: CommitNotifier,
    /** The tables whose entries are read. */
    private readonly tables: readonly string[],
    /** The shortest time, ms, for which these tables' entries are kept. */
    private readonly kept: number,
    private readonly limitsFrom: LimitsFrom<Position>,
  ) {
    this.notified = notifier.notified;
  }

  now(): string {
    const commit = this.commits.last;
    return positionText({ ...NOTHING_READ, ...this.newestAt(commit), commit, time: this.engine.now() });
  }

  /** The newest commit at a position, by which its store is told from another one. Undefined: it has no entry of these tables. */
  private newestAt(commit: number): Pick<Position, 'seen' | 'entry' | 'kept'> | undefined {
    const table = this.engine.table(CHANGES_TABLE) as SyncTable;
    const scan = new Scan().setReversed(true).withStartRow(commitRow(commit)).setLimit(1);
    const scanner = table.scanSync(scan);
    try {
      const result = scanner.next();
      if (result === undefined) return undefined;
      const own = this.tables.map(columnsOf);
      // Entries of other tables may be kept for a shorter time.
      if (!result.cells.some(({ qualifier }) => own.some((prefix) => startsWithBytes(qualifier, prefix))))
        return undefined;
      const { seen, entry, kept } = this.positionOf(result);
      return { seen, entry, kept };
    } finally {
      scanner.close();
    }
  }

  start(): string {
    this.isOldest = true;
    return positionText({ ...NOTHING_READ, time: this.engine.now() });
  }

  parse(from: unknown): string {
    return positionText(parsePosition(from));
  }

  async check(position: string): Promise<void> {
    const { commit, seen, entry, kept } = parsePosition(position);
    if (commit > this.commits.last) throw undone();
    if (seen === 0 || entry + kept <= this.engine.now()) return;
    const found = await this.engine.table(CHANGES_TABLE).get(new Get(commitRow(seen)));
    if (timeOf(found) !== entry) throw undone();
  }

  async read(position: string, signal: AbortSignal): Promise<CommitPage> {
    let from = parsePosition(position);
    this.notified = this.notifier.notified;
    const last = this.commits.last;
    const now = this.engine.now();
    const limits = await this.limitsFrom(from, ORDER);
    if (this.isOldest) {
      const { commit = 0 } = limits.latestBegin() ?? {};
      from = { ...from, commit: Math.max(from.commit, commit) };
    }
    limits.checkBegin(from);
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
    if (from.time + this.kept <= this.engine.now()) throw expiredPosition(this.kept);
    const limit = limits.end;
    // If there is still no limit, every commit that was read precedes any limit.
    if (limit === undefined && (await this.limitsFrom(from, ORDER)).end !== undefined)
      return this.read(position, signal);
    if (limit !== undefined) {
      const delivered = commits.filter((one) => parsePosition(one.position).commit <= limit.at.commit);
      if (delivered.length < commits.length || (commits.length < PAGE && bytes < PAGE_BYTES)) {
        const read = delivered.length === 0 ? from : parsePosition(delivered.at(-1)!.position);
        // The feed of the other entity has not been read, so the log does not end here.
        const { commit, time } = read.commit < limit.at.commit ? limit.at : read;
        const position = positionText({ ...read, commit, time });
        return { commits: delivered, position, more: false, ended: feedEnded(limit) };
      }
    }
    this.isOldest = false;
    const more = commits.length === PAGE || bytes >= PAGE_BYTES;
    const read = newest ?? from;
    const time = newest === undefined ? now : Math.max(now, newest.time);
    const end = more ? read : { ...read, commit: Math.max(last, read.commit), time };
    return { commits, position: positionText(end), more };
  }

  wait(signal: AbortSignal): Promise<void> {
    return this.notifier.after(this.notified, signal);
  }

  private positionOf(result: Result): Position {
    const time = timeOf(result);
    const commit = commitNumber(result.row);
    return { commit, seen: commit, entry: time, kept: this.kept, time };
  }
}

/** The position after every commit that readers see. */
export function nowPosition(engine: Engine, commits: Commits): string {
  return positionText({ ...NOTHING_READ, commit: commits.last, time: engine.now() });
}

const NOTHING_READ: Position = Object.freeze({ commit: 0, seen: 0, entry: 0, kept: 0, time: 0 });

function timeOf({ cells }: Result): number {
  return cells[0]?.timestamp ?? 0;
}

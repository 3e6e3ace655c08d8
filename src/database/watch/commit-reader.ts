/** Reads the commits of an engine that writes entries in the step of the rows. */

import { CHANGES_TABLE, columnsOf, commitNumber, commitRow, entriesOf } from '../../repository/index.js';
import { type Commits, type Engine, filters, Get, type Result, Scan } from '../../table/index.js';
import type { Bell } from './bell.js';
import { gone, undone } from './gone.js';
import { type Position, parsePosition, positionText } from './position.js';
import type { CommitPage, CommitSource, StoredCommit } from './source.js';

/** Commits, and bytes of them, that are read at once. */
const PAGE = 64;
const PAGE_BYTES = 4 << 20;

export class CommitReader implements CommitSource {
  private rung: number;

  constructor(
    private readonly engine: Engine,
    private readonly commits: Commits,
    private readonly bell: Bell,
    /** The tables whose entries are read. */
    private readonly tables: readonly string[],
    /** Milliseconds for which all of their entries are kept. */
    private readonly kept: number,
  ) {
    this.rung = bell.rung;
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
    this.rung = this.bell.rung;
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
    return this.bell.after(this.rung, signal);
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

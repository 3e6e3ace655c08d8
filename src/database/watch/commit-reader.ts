/** Reads the commits of an engine that writes entries in the step of the rows. */

import { RowanError } from '../../errors.js';
import { CHANGES_TABLE, columnsOf, commitNumber, commitRow, entriesOf } from '../../repository/index.js';
import { type Commits, type Engine, filters, Get, type Result, Scan } from '../../table/index.js';
import type { Bell } from './bell.js';
import type { Position } from './position.js';
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

  now(): Position {
    return { ...NOTHING_READ, commit: this.commits.last, time: this.engine.now() };
  }

  start(): Position {
    return { ...NOTHING_READ, time: this.engine.now() };
  }

  async check({ commit, entry, kept }: Position): Promise<void> {
    if (commit > this.commits.last) throw undone();
    if (entry === 0 || entry + kept <= this.engine.now()) return;
    const found = await this.engine.table(CHANGES_TABLE).get(new Get(commitRow(commit)));
    if (timeOf(found) !== entry) throw undone();
  }

  async read(from: Position, signal: AbortSignal): Promise<CommitPage> {
    this.rung = this.bell.rung;
    const last = this.commits.last;
    const now = this.engine.now();
    const commits: StoredCommit[] = [];
    let bytes = 0;
    const scan = new Scan()
      .withStartRow(commitRow(from.commit + 1))
      .setFilter(filters.multipleColumnPrefix(this.tables.map(columnsOf)))
      .setLimit(PAGE);
    for await (const result of this.engine.table(CHANGES_TABLE).scan(scan, { signal })) {
      commits.push(this.storedCommit(result));
      for (const { value } of result.cells) bytes += value.length;
      if (bytes >= PAGE_BYTES) break;
    }
    if (from.time + this.kept <= this.engine.now()) throw gone(this.kept);
    const more = commits.length === PAGE || bytes >= PAGE_BYTES;
    const newest = commits.at(-1)?.position;
    if (newest !== undefined && (more || newest.commit >= last))
      return { commits, position: more ? newest : { ...newest, time: Math.max(now, newest.time) }, more };
    return { commits, position: { ...NOTHING_READ, commit: Math.max(last, from.commit), time: now }, more };
  }

  wait(signal: AbortSignal): Promise<void> {
    return this.bell.after(this.rung, signal);
  }

  private storedCommit(result: Result): StoredCommit {
    const commit = commitNumber(result.row);
    const time = timeOf(result);
    return { position: { commit, entry: time, kept: this.kept, time }, entries: entriesOf(result) };
  }
}

const NOTHING_READ: Position = Object.freeze({ commit: 0, entry: 0, kept: 0, time: 0 });

function timeOf({ cells }: Result): number {
  return cells[0]?.timestamp ?? 0;
}

/** The error of a position behind which something may be missing. */
function gone(kept: number): RowanError {
  return new RowanError(
    'ERR_POSITION_GONE',
    `What stands behind this position is kept no more: changes are kept for ${kept} ms. Watch from now, then read the whole; ` +
      'and read faster, or keep changes for longer (changes: { keep }).',
    { details: { keep: kept } },
  );
}

function undone(): RowanError {
  return new RowanError(
    'ERR_POSITION_GONE',
    'This position is of another store, or of a moment that a restored copy or a loss of power has undone. Watch from now, then ' +
      'read the whole.',
  );
}

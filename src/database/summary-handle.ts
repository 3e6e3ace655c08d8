/** One summary of an entity: what it says, and the jobs that count it. */

import { QueryError, RowanError } from '../errors.js';
import type { JobRunOptions } from '../job/index.js';
import {
  changeStanding,
  compareCounts,
  countRows,
  type GroupsReport,
  purgeCounts,
  type SummaryTarget,
} from '../job/links/index.js';
import { parseKeyConditions } from '../query/index.js';
import { type GroupPosition, type StepReading, type SummaryReader, standingOf } from '../repository/index.js';
import type { CheckedPrefix, KeyedClass, KeyQuery } from '../schema/entity-types.js';
import type { SummaryGroup, SummaryName, SummaryResult, SummaryTargetOf } from '../schema/summary-types.js';
import { checkOptions, checkPositiveInteger } from '../table/checks.js';
import type { IndexHandle } from './index-handle.js';
import type { DrainOptions, Outbox } from './outbox.js';

/** What a check of a summary found, and a repair mended. */
export interface SummaryReport extends GroupsReport {
  /** Rows of the entity that were counted. */
  readonly rows: number;
  /** What is off in the indexes of least and greatest values. */
  readonly entries: number;
  /** Groups and entries that were put right. */
  readonly repaired: number;
}

/** `active`: it is asked; `building`: it is being counted; `disabled`: it is to be built. */
export type SummaryState = 'active' | 'building' | 'disabled';

/** How many groups `find` answers. */
export interface SummaryFindOptions {
  /** Groups at most. Default: all, up to 100,000; more are an error. */
  readonly limit?: number;
}

/** Groups that `find` answers without a limit. */
const MOST_GROUPS = 100_000;
/** Groups read in one step, and where each of their values is a call. */
const PAGE = 256;
const REMOTE_PAGE = 32;

/** What a handle takes from its database. */
export interface SummarySource extends SummaryTarget {
  readonly reading: StepReading;
  /** HBase: where changes wait whose figures are still to follow. */
  readonly outbox: Outbox | undefined;
  readonly reader: SummaryReader;
  /** The indexes that least and greatest values stand in. */
  readonly indexes: readonly IndexHandle[];
  /** Runs what must not overlap with its like. */
  alone<T>(run: () => Promise<T>): Promise<T>;
}

/** One summary of an open database (docs/summaries.md). Made by `Database.summary`. */
export class SummaryHandle<C extends KeyedClass, Name extends SummaryName<C>> {
  constructor(private readonly source: SummarySource) {}

  /** The figures of one group, of one moment; null: it has no rows. @throws QueryError when it is to be built; KeyError. */
  get(group: SummaryGroup<C, Name>): Promise<SummaryResult<C, Name> | null> {
    const { reader } = this.source;
    const values = { ...(group as Readonly<Record<string, unknown>>) };
    return this.source.reading((step) => reader.get(step, values)) as Promise<SummaryResult<C, Name> | null>;
  }

  /**
   * The groups that meet the conditions on leading properties of `by`, as `find` on a repository takes them, in their order.
   * @throws QueryError on more groups than it answers; as `get`.
   */
  async find<Q extends KeyQuery<SummaryTargetOf<C, Name>>>(
    prefix: Q & CheckedPrefix<SummaryTargetOf<C, Name>, Q>,
    options: SummaryFindOptions = {},
  ): Promise<SummaryResult<C, Name>[]> {
    checkOptions('find', options, { limit: true });
    const limit = options.limit === undefined ? undefined : checkPositiveInteger(options.limit, 'The limit');
    const out: SummaryResult<C, Name>[] = [];
    for await (const row of this.groups(prefix)) {
      if (out.length === MOST_GROUPS && limit === undefined) {
        throw new QueryError(
          `find on a summary answers ${MOST_GROUPS} groups at most. Give a limit, or read them one by one: for await (… of summary.each(prefix)).`,
        );
      }
      out.push(row);
      if (out.length === limit) break;
    }
    return out;
  }

  /** As `find`, one group after the other: those of a page are of one moment. */
  each<Q extends KeyQuery<SummaryTargetOf<C, Name>>>(
    prefix: Q & CheckedPrefix<SummaryTargetOf<C, Name>, Q>,
  ): AsyncGenerator<SummaryResult<C, Name>, void, undefined> {
    return this.groups(prefix);
  }

  private async *groups(given: object): AsyncGenerator<SummaryResult<C, Name>, void, undefined> {
    const { reader, plan, reading, remote } = this.source;
    const { summary, schema } = plan;
    const page = remote === undefined ? PAGE : REMOTE_PAGE;
    const conditions = parseKeyConditions(
      `${schema.name}.${summary.name}`,
      { parts: summary.layout.parts.filter(({ name }) => summary.by.includes(name)) },
      given as Readonly<Record<string, unknown>>,
    );
    let from: GroupPosition | undefined;
    do {
      const start = from;
      const { rows, next } = await reading((step) => reader.page(step, conditions, page, start));
      yield* rows as SummaryResult<C, Name>[];
      from = next;
    } while (from !== undefined);
  }

  /** Where it stands. */
  async state(): Promise<SummaryState> {
    const { schema, summary } = this.source.plan;
    const standing = await this.source.reading((step) => standingOf(step, schema, summary));
    if (standing === undefined) return 'disabled';
    if (standing.active === null) return standing.building === null ? 'disabled' : 'building';
    return this.source.indexes.every(({ state }) => state === 'active') ? 'active' : 'building';
  }

  /** Counts all rows, and builds the indexes of least and greatest values where they lack rows. */
  async build(run?: JobRunOptions): Promise<SummaryReport> {
    for (const index of this.source.indexes) if (index.state !== 'active') await index.build(run);
    return this.source.alone(() => this.counted(true, run));
  }

  /** Counts all rows beside what is there, and holds both against each other. Changes nothing that is asked. */
  async check(run?: JobRunOptions): Promise<SummaryReport> {
    return this.source.alone(() => this.counted(false, run));
  }

  /** As `check`, and puts the new count in the place of the other. A second repair finds nothing. */
  async repair({ settledAfter, ...run }: JobRunOptions & DrainOptions = {}): Promise<SummaryReport> {
    await this.drain(settledAfter === undefined ? {} : { settledAfter });
    return this.source.alone(() => this.counted(true, run));
  }

  /** HBase: resolves when every change that was made before the call is in the figures. Elsewhere they are with the change. */
  async drain(options?: DrainOptions): Promise<void> {
    await this.source.outbox?.drain(options);
  }

  private async counted(replace: boolean, run: JobRunOptions | undefined): Promise<SummaryReport> {
    const { indexes } = this.source;
    const restart = run?.restart === true;
    let fresh = false;
    const { building, active } = await changeStanding(this.source, (before) => {
      fresh = false;
      const { building = null, next = 1 } = before ?? {};
      if (building !== null && !restart) return {};
      fresh = true;
      return { building: next, cursor: null, next: next + 1 };
    });
    await purgeCounts(this.source);
    const rows = await countRows(this.source, fresh, run);
    const found =
      active === null
        ? { groups: 0, valid: 0, stale: 0, missing: 0, extra: 0 }
        : await compareCounts(this.source, active, building!);
    await changeStanding(this.source, (now) => {
      if (now?.building !== building || now?.cursor !== 'end') throw overtaken();
      return { building: null, cursor: null, ...(replace && { active: building }) };
    });
    await purgeCounts(this.source);
    const off = found.stale + found.missing + found.extra;
    let entries = 0;
    let mended = 0;
    const options = run === undefined ? {} : { run };
    for (const index of indexes) {
      const { missing, extra, stale, repaired } = replace
        ? await index.repair(options)
        : await index.verify(options);
      entries += missing + extra + stale;
      mended += repaired;
    }
    return { rows, ...found, entries, repaired: replace ? off + mended : 0 };
  }
}

function overtaken(): RowanError {
  return new RowanError(
    'ERR_CONFLICT',
    'The count of a summary was begun anew while it was made. Run it again.',
  );
}

import { EMPTY_BYTES } from '../bytes/index.js';
import { RawRow, Scan, type ThreadedScanner } from '../table/index.js';
import type { TableAccess } from './access.js';
import { RangeSource } from './range-source.js';
import { type PlanPart, prepareQuery, type ReadPlan } from './read-plan.js';
import type { ReadOptions, ReadTally } from './row.js';

/** Reads all ranges of a part by threads. */
export class ThreadsSource extends RangeSource {
  /** Shows the current row of a packet; nothing else uses it. */
  private readonly raw = new RawRow();

  constructor(
    private readonly scanner: ThreadedScanner,
    plan: ReadPlan,
    part: PlanPart,
    options: ReadOptions,
  ) {
    super(part, plan, options, undefined);
    if (options.moments !== undefined) options.moments.count++;
  }

  protected next(): boolean | Promise<boolean> {
    this.row = this.raw;
    return this.scanner.next(this.raw);
  }

  /** Undefined if the calling thread must test the rows. */
  countRows(): Promise<number> | undefined {
    return this.part.classify === undefined ? this.countAll() : undefined;
  }

  private async countAll(): Promise<number> {
    const { rows, bytes } = await this.scanner.count();
    const { tally } = this.options;
    if (tally !== undefined) {
      tally.rows += rows;
      tally.bytes += bytes;
    }
    return rows;
  }

  close(): void {
    this.scanner.close();
  }
}

/** The work of threads for a query. */
export interface ThreadedRun {
  /** Resolves to false if the threads could not do the work: discard its result, and run the query without threads. */
  run(tally: ReadTally | undefined): Promise<boolean>;
  /** Ends the work. May be called at any time. */
  close(): void;
}

/** The scan of a plan by threads. Undefined where they are not wanted, or cannot read it. */
export function scanInThreads(
  plan: ReadPlan,
  access: TableAccess,
  options: ReadOptions,
): ThreadedScanner | undefined {
  const { threads = 1 } = options;
  if (threads === 1 || plan.through !== undefined) return undefined;
  const [part] = plan.parts;
  if (plan.parts.length !== 1 || part!.points || plan.reversed || options.limit !== undefined)
    return undefined;
  if (plan.order === 'merge' && part!.ranges.length > 1 && !options.unordered) return undefined;
  const scan = new Scan();
  prepareQuery(scan, part!, plan, options);
  const ranges = part!.ranges.map(({ start, stop = EMPTY_BYTES }) => ({ start, stop }));
  return access.sync?.scanInThreads?.(scan, ranges, { threads, signal: options.signal });
}

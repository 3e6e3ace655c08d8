/** Figures of tables and regions: what this client has done with each, and how long it took. */

import type { Metric } from '../../table/telemetry.js';

/** Upper bounds of the buckets, in milliseconds; what takes longer is in the last. */
const BOUNDS: readonly number[] = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 60_000,
];

/** A histogram of call durations. */
export interface LatencySnapshot {
  readonly count: number;
  /** Milliseconds. */
  readonly sum: number;
  readonly max: number;
  /**
   * The number of calls that took up to `atMost` milliseconds, and longer than the bucket before. The last has no
   * bound.
   */
  readonly buckets: readonly { readonly atMost: number; readonly count: number }[];
}

/** A histogram of durations, which only grows. */
export class Latencies {
  private count = 0;
  private sum = 0;
  private max = 0;
  private readonly counts = new Array<number>(BOUNDS.length + 1).fill(0);

  record(milliseconds: number): void {
    this.count++;
    this.sum += milliseconds;
    if (milliseconds > this.max) this.max = milliseconds;
    let at = 0;
    while (at < BOUNDS.length && milliseconds > BOUNDS[at]!) at++;
    this.counts[at]!++;
  }

  add({ count, sum, max, counts }: Latencies): void {
    this.count += count;
    this.sum += sum;
    this.max = Math.max(this.max, max);
    for (let at = 0; at < counts.length; at++) this.counts[at]! += counts[at]!;
  }

  snapshot(): LatencySnapshot {
    const { count, sum, max, counts } = this;
    const buckets = counts.map((number, at) => ({
      atMost: BOUNDS[at] ?? Number.POSITIVE_INFINITY,
      count: number,
    }));
    return { count, sum, max, buckets };
  }
}

/** What a client has done with a table or region since the engine was connected. */
export interface OperationFigures {
  /** Operations that have ended: reads and changes of a row, and requests of scans. */
  readonly operations: number;
  /** Of them, those that failed after all their attempts, timed out or were aborted. */
  readonly errors: number;
  /** Attempts that were made again. */
  readonly retries: number;
  /** Rows found by reads, and rows that changes named. */
  readonly rows: number;
  /** About as many bytes had the cells that were read, with their keys, and the requests of changes. */
  readonly bytes: number;
  /** From the call to its end: lookups, waits and retries are included. Of scans: of each request. */
  readonly latency: LatencySnapshot;
}

/** Figures of a table. */
export interface TableFigures extends OperationFigures {
  /** With `regions`: by the name of the region, of those that this client has used. */
  readonly regions?: Readonly<Record<string, OperationFigures>>;
  /** With `regions`: of all regions beyond the limit. */
  readonly otherRegions?: OperationFigures;
}

/** The most regions of an engine with figures of their own. */
const MAX_REGIONS = 1000;

/** The figures of a table or region, which only grow. */
export class OperationStatistics {
  private rows = 0;
  private bytes = 0;
  private errors = 0;
  retries = 0;
  private readonly latencies = new Latencies();

  succeeded(milliseconds: number, rows: number, bytes: number): void {
    this.rows += rows;
    this.bytes += bytes;
    this.latencies.record(milliseconds);
  }

  failed(milliseconds: number): void {
    this.errors++;
    this.latencies.record(milliseconds);
  }

  add({ rows, bytes, errors, retries, latencies }: OperationStatistics): void {
    this.rows += rows;
    this.bytes += bytes;
    this.errors += errors;
    this.retries += retries;
    this.latencies.add(latencies);
  }

  snapshot(): OperationFigures {
    const { rows, bytes, errors, retries } = this;
    const latency = this.latencies.snapshot();
    return { operations: latency.count, errors, retries, rows, bytes, latency };
  }
}

/** A region at a location, which keeps its figures at hand. */
interface CountedRegion {
  statistics: OperationStatistics | undefined;
  /** Its name. */
  toString(): string;
}

/** The figures of a table, with those of its regions. */
export class TableStatistics {
  /** Of operations that found no region. */
  private readonly nowhere = new OperationStatistics();
  private readonly regions = new Map<string, OperationStatistics>();
  private readonly others = new OperationStatistics();

  constructor(private readonly engine: TableStatisticsOfEngine) {}

  succeeded(region: CountedRegion | undefined, milliseconds: number, rows: number, bytes: number): void {
    this.of(region).succeeded(milliseconds, rows, bytes);
  }

  failed(region: CountedRegion | undefined, milliseconds: number): void {
    this.of(region).failed(milliseconds);
  }

  retried(region: CountedRegion | undefined): void {
    this.of(region).retries++;
  }

  /** Kept at the object of the region: its name is looked for once for each location. */
  private of(region: CountedRegion | undefined): OperationStatistics {
    if (region === undefined) return this.nowhere;
    region.statistics ??= this.find(region.toString());
    return region.statistics;
  }

  private find(name: string): OperationStatistics {
    const known = this.regions.get(name);
    if (known !== undefined) return known;
    if (!this.engine.takesRegion()) return this.others;
    const made = new OperationStatistics();
    this.regions.set(name, made);
    return made;
  }

  snapshot(withRegions: boolean): TableFigures {
    // Summed up here, so that an operation is counted once.
    const all = new OperationStatistics();
    for (const each of [this.nowhere, this.others, ...this.regions.values()]) all.add(each);
    if (!withRegions) return all.snapshot();
    const regions = [...this.regions].map(([name, statistics]) => [name, statistics.snapshot()]);
    return { ...all.snapshot(), regions: Object.fromEntries(regions), otherRegions: this.others.snapshot() };
  }
}

/** The statistics of all tables of an engine. */
export class TableStatisticsOfEngine {
  private readonly tables = new Map<string, TableStatistics>();
  private regions = 0;

  constructor(private readonly maxRegions = MAX_REGIONS) {}

  table(name: string): TableStatistics {
    let found = this.tables.get(name);
    if (found === undefined) {
      found = new TableStatistics(this);
      this.tables.set(name, found);
    }
    return found;
  }

  /** Counts a region that is to have figures of its own. @returns false beyond the limit. */
  takesRegion(): boolean {
    if (this.regions >= this.maxRegions) return false;
    this.regions++;
    return true;
  }

  snapshot(withRegions: boolean): Record<string, TableFigures> {
    return Object.fromEntries(
      [...this.tables].map(([name, statistics]) => [name, statistics.snapshot(withRegions)]),
    );
  }

  /** The figures of tables as metrics, with the table in `db.collection.name`. */
  metrics(): Metric[] {
    return Object.entries(this.snapshot(false)).flatMap(([table, figures]) =>
      TABLE_METRICS.map(({ read, ...metric }) => ({
        ...metric,
        kind: 'counter' as const,
        value: read(figures),
        attributes: { 'db.collection.name': table },
      })),
    );
  }
}

/** The metrics of each table. */
export const TABLE_METRICS: readonly {
  readonly name: string;
  readonly unit: string;
  readonly description: string;
  readonly read: (figures: OperationFigures) => number;
}[] = [
  {
    name: 'rowan.hbase.table.operations',
    unit: '{operation}',
    description: 'Reads and changes of rows, and requests of scans, that have ended',
    read: ({ operations }) => operations,
  },
  {
    name: 'rowan.hbase.table.errors',
    unit: '{operation}',
    description: 'Operations that failed after all their attempts',
    read: ({ errors }) => errors,
  },
  {
    name: 'rowan.hbase.table.retries',
    unit: '{attempt}',
    description: 'Attempts of operations that were made again',
    read: ({ retries }) => retries,
  },
  {
    name: 'rowan.hbase.table.rows',
    unit: '{row}',
    description: 'Rows found by reads, and rows that changes named',
    read: ({ rows }) => rows,
  },
  {
    name: 'rowan.hbase.table.bytes',
    unit: 'By',
    description: 'About the bytes of cells that were read and of requests of changes',
    read: ({ bytes }) => bytes,
  },
  {
    name: 'rowan.hbase.table.duration',
    unit: 'ms',
    description: 'Sum of the times from the calls of operations to their ends',
    read: ({ latency }) => latency.sum,
  },
];

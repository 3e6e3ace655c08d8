import { setTimeout as delay } from 'node:timers/promises';
import { RowanError } from '../../../src/errors.js';
import {
  type BatchOutcome,
  CheckAndMutate,
  Delete,
  Get,
  Increment,
  Put,
  Scan,
  type Table,
} from '../../../src/table/index.js';
import { GIVE_UP } from '../patience.js';

export const FAMILY = 'f';
const VALUE = Buffer.from('v');
const COUNT = Buffer.from('n');
/** Milliseconds between two calls of one client: bounds the load without bounding how long it lasts. */
const PAUSE = 3;
const BATCH_ROWS = 20;

interface TrafficOptions {
  readonly writers?: number;
  readonly batchWriters?: number;
  readonly incrementers?: number;
  readonly checkers?: number;
  readonly scanners?: number;
  /** Milliseconds of every call; left out: the engine's. */
  readonly timeout?: number;
}

/** What came of the traffic. `violations` is empty when every promise was kept. */
export interface TrafficReport {
  readonly acknowledged: number;
  readonly increments: number;
  readonly checks: number;
  readonly reads: number;
  readonly scans: number;
  /** Failed calls by their error's code. */
  readonly failures: Readonly<Record<string, number>>;
  readonly violations: readonly string[];
}

/**
 * Clients that write, count, compare-and-set, read and scan one table until they are stopped, and remember what they
 * were promised. At the end the table is held against the promises:
 *
 * - a row whose write was acknowledged is there with its value, unless its delete was tried too;
 * - a row whose write failed is there with its value or is not there;
 * - a counter is at least the acknowledged increments and at most those and the failed ones;
 * - a scan gives rows in order, each once, and every row that was acknowledged before it began;
 * - every failure is a RowanError that says whether to try again.
 */
export class Traffic {
  /** Every traffic that runs, so that none outlives its test. */
  private static readonly live = new Set<Traffic>();
  private stopping = false;
  private readonly abandoned = new AbortController();
  private readonly running: Promise<void>[] = [];
  /** Row -> its value, for acknowledged writes and for those that failed. */
  private readonly acknowledged = new Map<string, string>();
  private readonly uncertain = new Map<string, string>();
  private readonly deleted = new Set<string>();
  private readonly counters: { row: string; acknowledged: number; failed: number }[] = [];
  private readonly checkedRows: { row: string; acknowledged: number; failed: number }[] = [];
  private readonly failures: Record<string, number> = {};
  private readonly violations: string[] = [];
  private reads = 0;
  private scans = 0;

  constructor(
    private readonly table: Table,
    private readonly options: TrafficOptions = {},
  ) {}

  /** Ends every traffic that still runs, as one does whose test has failed. What is under way is given up. */
  static async endAll(): Promise<void> {
    await Promise.all(
      [...Traffic.live].map(async (traffic) => {
        traffic.stopping = true;
        traffic.abandoned.abort();
        await Promise.all(traffic.running);
        Traffic.live.delete(traffic);
      }),
    );
  }

  start(): this {
    Traffic.live.add(this);
    const { writers = 4, batchWriters = 1, incrementers = 3, checkers = 1, scanners = 1 } = this.options;
    for (let n = 0; n < writers; n++) this.loop((step) => this.write(n, step));
    for (let n = 0; n < batchWriters; n++) this.loop((step) => this.writeBatch(n, step));
    for (let n = 0; n < incrementers; n++) this.loop(this.incrementer(n));
    for (let n = 0; n < checkers; n++) this.loop(this.checker(n));
    for (let n = 0; n < scanners; n++) this.loop(() => this.scan());
    return this;
  }

  /** Acknowledged writes so far, by which a test sees that the traffic flows. */
  get progress(): number {
    return this.acknowledged.size;
  }

  /** Waits until this many further writes were acknowledged. */
  async flows(writes = 200): Promise<void> {
    const goal = this.progress + writes;
    await this.until(
      () => this.progress >= goal,
      () => `${this.progress} of ${goal} writes`,
    );
  }

  /** Waits until a call has failed in this way: the code of its error, and behind it ` (retryable)` where it is. */
  async fails(kind: RegExp): Promise<void> {
    await this.until(
      () => Object.keys(this.failures).some((each) => kind.test(each)),
      () => `no ${kind}`,
    );
  }

  private async until(condition: () => boolean, state: () => string): Promise<void> {
    const end = Date.now() + GIVE_UP;
    while (!condition()) {
      if (Date.now() > end) {
        throw new Error(`Only ${state()} within ${GIVE_UP} ms: ${JSON.stringify(this.failures)}`);
      }
      await delay(20);
    }
  }

  /** Ends the clients and holds what `table` has, read by a client of no part in it, against what they were told. */
  async stop(table: Table = this.table): Promise<TrafficReport> {
    this.stopping = true;
    await Promise.all(this.running);
    Traffic.live.delete(this);
    await this.verifyRows(table);
    for (const counter of this.counters) await this.verifyCounter(table, counter, readCounter);
    for (const checked of this.checkedRows) await this.verifyCounter(table, checked, readDecimal);
    const sum = (list: readonly { acknowledged: number }[]) => list.reduce((n, c) => n + c.acknowledged, 0);
    const report = {
      acknowledged: this.acknowledged.size,
      increments: sum(this.counters),
      checks: sum(this.checkedRows),
      reads: this.reads,
      scans: this.scans,
      failures: this.failures,
      violations: this.violations.slice(0, 20),
    };
    console.log(`traffic: ${JSON.stringify(report)}`);
    return report;
  }

  private loop(step: (n: number) => Promise<void>): void {
    this.running.push(
      (async () => {
        for (let n = 0; !this.stopping; n++) {
          await step(n);
          await delay(PAUSE);
        }
      })(),
    );
  }

  private get call(): { timeout?: number; signal: AbortSignal } {
    const { signal } = this.abandoned;
    return this.options.timeout === undefined ? { signal } : { timeout: this.options.timeout, signal };
  }

  /** A write, a read of it, and now and then a delete of an older one. */
  private async write(writer: number, step: number): Promise<void> {
    const row = `${spread(step)}-w${writer}-${step}`;
    const value = `${writer}.${step}`;
    const put = new Put(row).addColumn(FAMILY, VALUE, value);
    await this.attempt(
      () => this.table.put(put, this.call),
      () => this.acknowledged.set(row, value),
      () => this.uncertain.set(row, value),
    );
    if (step % 4 === 3 && this.acknowledged.has(row)) {
      await this.attempt(
        async () => {
          const result = await this.table.get(new Get(row), this.call);
          if (text(result.getValue(FAMILY, VALUE)) !== value) {
            this.violations.push(`Row ${row} was acknowledged, and a read right after does not find it.`);
          }
        },
        () => this.reads++,
      );
    }
    if (step % 10 === 9) {
      const older = `${spread(step - 5)}-w${writer}-${step - 5}`;
      this.deleted.add(older);
      await this.attempt(() => this.table.delete(new Delete(older), this.call));
    }
  }

  private async writeBatch(writer: number, step: number): Promise<void> {
    const rows = Array.from(
      { length: BATCH_ROWS },
      (_, i) => `${spread(step * 31 + i)}-b${writer}-${step}-${i}`,
    );
    const puts = rows.map((row) => new Put(row).addColumn(FAMILY, VALUE, row));
    let outcomes: BatchOutcome[] = [];
    await this.attempt(async () => {
      outcomes = await this.table.batch(puts, this.call);
    });
    for (const [i, row] of rows.entries()) {
      const outcome = outcomes[i];
      if (outcome?.ok) this.acknowledged.set(row, row);
      else this.uncertain.set(row, row);
      if (outcome !== undefined && !outcome.ok) this.fail(outcome.error);
    }
  }

  /** The only one to add to its counter, so that each answer is known but for the increments that failed. */
  private incrementer(n: number): () => Promise<void> {
    const counter = { row: `${spread(n * 7)}-c${n}`, acknowledged: 0, failed: 0 };
    this.counters.push(counter);
    return () =>
      this.attempt(
        async () => {
          const increment = new Increment(counter.row).addColumn(FAMILY, COUNT, 1);
          const result = await this.table.increment(increment, this.call);
          const answer = result.getValue(FAMILY, COUNT);
          // A server that recovered the region from the log knows that a repeated increment was made, not what it came to
          // (docs/hbase-calls.md). The next answer shows whether it was made once.
          if (answer === undefined) return;
          const value = Number(Buffer.from(answer).readBigInt64BE());
          const least = counter.acknowledged + 1;
          if (value < least || value > least + counter.failed) {
            this.violations.push(
              `${counter.row} answered ${value}; expected ${least} to ${least + counter.failed}.`,
            );
          }
        },
        () => counter.acknowledged++,
        () => counter.failed++,
      );
  }

  /** Counts by compare-and-set; after a failure it reads what is there, as the rules say. */
  private checker(n: number): () => Promise<void> {
    const checked = { row: `${spread(n * 11)}-x${n}`, acknowledged: 0, failed: 0 };
    this.checkedRows.push(checked);
    let known: number | undefined;
    return async () => {
      if (known === undefined) {
        await this.attempt(async () => {
          const value = (await this.table.get(new Get(checked.row), this.call)).getValue(FAMILY, COUNT);
          known = value === undefined ? 0 : Number(text(value));
        });
        return;
      }
      const expected = known;
      const put = new Put(checked.row).addColumn(FAMILY, COUNT, String(expected + 1));
      const check =
        expected === 0
          ? CheckAndMutate.ifNotExists(FAMILY, COUNT, put)
          : CheckAndMutate.ifEquals(FAMILY, COUNT, Buffer.from(String(expected)), put);
      known = undefined;
      await this.attempt(
        async () => {
          const { success } = await this.table.checkAndMutate(check, this.call);
          // A write that failed on our side may take effect later than the read that followed it.
          if (!success && checked.failed === 0) this.violations.push(`${checked.row} was not ${expected}.`);
          if (success) {
            known = expected + 1;
            checked.acknowledged++;
          }
        },
        () => {},
        () => checked.failed++,
      );
    };
  }

  private async scan(): Promise<void> {
    const before = [...this.acknowledged.keys()].filter((row) => !this.deleted.has(row));
    const seen = new Set<string>();
    let last = '';
    await this.attempt(
      async () => {
        for await (const result of this.table.scan(
          new Scan().addColumn(FAMILY, VALUE).setCaching(500),
          this.call,
        )) {
          const row = text(result.row) ?? '';
          if (row <= last) this.violations.push(`A scan gave ${row} after ${last}.`);
          last = row;
          seen.add(row);
        }
        const missing = before.filter((row) => !seen.has(row) && !this.deleted.has(row));
        if (missing.length > 0)
          this.violations.push(`A scan missed ${missing.length} rows, as ${missing[0]}.`);
      },
      () => this.scans++,
    );
    await delay(100);
  }

  private async attempt(call: () => Promise<unknown>, success = () => {}, failure = () => {}): Promise<void> {
    try {
      await call();
    } catch (error) {
      failure();
      this.fail(error);
      return;
    }
    success();
  }

  private fail(error: unknown): void {
    if (!(error instanceof RowanError) || typeof error.retryable !== 'boolean') {
      this.violations.push(`Not a RowanError: ${error instanceof Error ? error.stack : String(error)}`);
      return;
    }
    const kind = `${error.code}${error.retryable ? ' (retryable)' : ''}`;
    this.failures[kind] = (this.failures[kind] ?? 0) + 1;
  }

  private async verifyRows(table: Table): Promise<void> {
    const found = new Map<string, string>();
    for await (const result of table.scan(new Scan().addColumn(FAMILY, VALUE).setCaching(1000))) {
      found.set(text(result.row) ?? '', text(result.getValue(FAMILY, VALUE)) ?? '');
    }
    for (const [row, value] of this.acknowledged) {
      const stored = found.get(row);
      if (stored !== value && !(stored === undefined && this.deleted.has(row))) {
        this.violations.push(`Row ${row} was acknowledged with ${value} and holds ${stored}.`);
      }
    }
    for (const [row, value] of found) {
      const expected = this.acknowledged.get(row) ?? this.uncertain.get(row);
      if (expected !== value) this.violations.push(`Row ${row} holds ${value}, which nobody wrote there.`);
    }
  }

  private async verifyCounter(
    table: Table,
    counter: { row: string; acknowledged: number; failed: number },
    read: (value: Uint8Array | undefined) => number,
  ): Promise<void> {
    const value = read((await table.get(new Get(counter.row))).getValue(FAMILY, COUNT));
    const { row, acknowledged, failed } = counter;
    if (value < acknowledged || value > acknowledged + failed) {
      this.violations.push(`${row} holds ${value}: ${acknowledged} were acknowledged, ${failed} failed.`);
    }
  }
}

/** Spreads consecutive steps over the key space: two hex digits. */
function spread(step: number): string {
  return (((step * 2654435761) >>> 0) >>> 24).toString(16).padStart(2, '0');
}

function text(bytes: Uint8Array | undefined): string | undefined {
  return bytes === undefined ? undefined : Buffer.from(bytes).toString();
}

function readCounter(value: Uint8Array | undefined): number {
  return value === undefined ? 0 : Number(Buffer.from(value).readBigInt64BE());
}

function readDecimal(value: Uint8Array | undefined): number {
  return value === undefined ? 0 : Number(text(value));
}

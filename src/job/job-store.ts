import { compareBytes, equalBytes, fromHex, toHex, toStringBinary } from '../bytes/index.js';
import type { JsonValue } from '../codec/index.js';
import { CorruptionError, RowanError } from '../errors.js';
import {
  Delete,
  type Engine,
  Get,
  ownTableDescriptor,
  RECORD_TABLES,
  Scan,
  type Table,
  type TableDescriptor,
} from '../table/index.js';
import { compareAndSet } from '../table/table.js';
import type { Counters, RowRange } from './types.js';

// — Validates the content of `rowan_jobs` before it is used, since other programs can write there too.

const MAX_RUNS = 2 ** 32 - 1;

/**
 * Parses a state.
 * @throws CorruptionError naming the row when the bytes are not JSON or do not pass the check.
 */
function readState<T>(row: Uint8Array, bytes: Uint8Array, passes: (value: unknown) => boolean): T {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString());
  } catch (cause) {
    throw damaged(row, cause);
  }
  if (!passes(value)) throw damaged(row);
  return value as T;
}

function isHeader(value: unknown): boolean {
  const { signature, run, state, phase } = fields(value);
  return (
    typeof signature === 'string' &&
    isCount(run) &&
    run <= MAX_RUNS &&
    (state === 'running' || state === 'done') &&
    isCount(phase)
  );
}

/** Splits as pairs of rows in hex. */
function isPlan(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.every((split) => Array.isArray(split) && split.length === 2 && split.every(isHex))
  );
}

function isSplit(value: unknown): boolean {
  const { state, owner, beat, attempt, position, rows, bytes, counters } = fields(value);
  return (
    (state === 'running' || state === 'waiting' || state === 'done') &&
    typeof owner === 'string' &&
    [beat, attempt, rows, bytes].every(isCount) &&
    (position === undefined || isHex(position)) &&
    typeof counters === 'object' &&
    counters !== null &&
    Object.values(counters).every((sum) => typeof sum === 'number')
  );
}

function fields(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isHex(value: unknown): boolean {
  return typeof value === 'string' && /^(?:[0-9a-f]{2})*$/.test(value);
}

function damaged(row: Uint8Array, cause?: unknown): CorruptionError {
  const name = toStringBinary(row);
  return new CorruptionError(
    `The row ${name} of rowan_jobs was not written by a job. Give the job another name, or delete the rows that begin with its name.`,
    { cause, details: { table: 'rowan_jobs', row: name } },
  );
}

// — The state of jobs in the table `rowan_jobs` (docs/job-processes.md).
//
// Each state is one cell, and each change of it a checkAndMutate on the exact bytes before. A worker that lost a split
// to another one learns it at its next change; if the response to a change is lost, the worker reads the cell back.

const FAMILY = 'j';
const JOB = Buffer.from('job', 'latin1');
const PLAN = Buffer.from('plan', 'latin1');
const SPLIT = Buffer.from('split', 'latin1');

/** The table that holds the state of jobs. */
export function jobTableDescriptor(): TableDescriptor {
  return ownTableDescriptor(RECORD_TABLES.jobs, FAMILY);
}

export interface JobHeader {
  readonly signature: string;
  /** How often the job was started from the beginning, from 0. Plans and splits belong to one run. */
  readonly run: number;
  readonly state: 'running' | 'done';
  /** The current phase; when `done`, the number of phases. */
  readonly phase: number;
  /** Milliseconds since 1970; for people only. */
  readonly created: number;
  readonly finished?: number;
}

export interface SplitState {
  readonly state: 'running' | 'waiting' | 'done';
  readonly owner: string;
  /** Changes with every heartbeat. */
  readonly beat: number;
  readonly attempt: number;
  /** The last completed row, in hex. */
  readonly position?: string;
  readonly rows: number;
  readonly bytes: number;
  readonly counters: Counters;
  readonly work?: JsonValue;
  /** Why the last attempt ended early. */
  readonly error?: string;
}

/** A state with its stored bytes, against which the next change is checked. */
export interface Stored<T> {
  readonly value: T;
  readonly bytes: Uint8Array;
}

/**
 * The states of one job. A deleted row is never written again, since the delete marker could hide a put that follows it
 * at once.
 */
export class JobStore {
  /** The run that plans and splits belong to. */
  run = 0;

  constructor(
    table: Table,
    readonly job: string,
    private readonly rows: JobRows = new TableRows(table, FAMILY),
  ) {}

  /** The states of a job on an engine. Those that are not recorded, as on a read-only engine, exist only in this object. */
  static on(engine: Engine, job: string, isRecorded = engine.capabilities.readOnly !== true): JobStore {
    const table = engine.table(jobTableDescriptor().name);
    return isRecorded ? new JobStore(table, job) : new JobStore(table, job, new MemoryRows());
  }

  header(): Promise<Stored<JobHeader> | undefined> {
    return this.read<JobHeader>(this.headerRow(), JOB, isHeader);
  }

  /** Returns the stored header if it is the new one, undefined if another worker changed it. */
  setHeader(
    before: Stored<JobHeader> | undefined,
    header: JobHeader,
  ): Promise<Stored<JobHeader> | undefined> {
    return this.change(this.headerRow(), JOB, before?.bytes, header);
  }

  /** The planned splits of a phase; plans them if no worker has. */
  async plan(phase: number, make: () => Promise<readonly RowRange[]>): Promise<readonly RowRange[]> {
    const row = this.rowOf('p', phase);
    const planned = await this.read<readonly [string, string][]>(row, PLAN, isPlan);
    if (planned !== undefined) return fromPlan(planned.value);
    const splits = await make();
    const plan = splits.map(({ start, stop }): [string, string] => [toHex(start), toHex(stop)]);
    const written = await this.change(row, PLAN, undefined, plan);
    return written === undefined ? this.plan(phase, make) : splits;
  }

  /** The states of a phase's splits by number. Splits that have not begun are missing. */
  async splits(phase: number): Promise<Map<number, Stored<SplitState>>> {
    const found = new Map<number, Stored<SplitState>>();
    const next = this.rowOf('s', phase + 1);
    for (const { row, value } of await this.rows.list(this.rowOf('s', phase), next, SPLIT)) {
      const number = Buffer.from(row.buffer, row.byteOffset, row.length).readUInt32BE(row.length - 4);
      found.set(number, { value: readState<SplitState>(row, value, isSplit), bytes: value });
    }
    return found;
  }

  /** The data that the splits of a phase stored with their last checkpoints. */
  async workOf(phase: number): Promise<Map<number, JsonValue>> {
    const kept = new Map<number, JsonValue>();
    for (const [split, { value }] of await this.splits(phase)) {
      if (value.work !== undefined) kept.set(split, value.work);
    }
    return kept;
  }

  /** Like {@link setHeader}, for one split. */
  setSplit(
    phase: number,
    split: number,
    before: Stored<SplitState> | undefined,
    state: SplitState,
  ): Promise<Stored<SplitState> | undefined> {
    return this.change(this.rowOf('s', phase, split), SPLIT, before?.bytes, state);
  }

  /** Deletes the plans and splits of earlier runs. */
  async forgetEarlierRuns(): Promise<void> {
    for (const kind of ['p', 's'] as const) {
      const from = this.rowOf(kind).subarray(0, -4);
      const rows = await this.rows.list(from, this.rowOf(kind));
      await this.rows.delete(rows.map(({ row }) => row));
    }
  }

  /** Deletes all states of the job. Nobody may run a job of its name any more, or at once again. */
  async delete(): Promise<void> {
    const [from, to] = [0, 1].map((end) => Buffer.concat([Buffer.from(this.job), Buffer.of(end)]));
    const rows = await this.rows.list(from!, to!);
    await this.rows.delete(rows.map(({ row }) => row));
  }

  private async read<T>(
    row: Uint8Array,
    column: Uint8Array,
    passes: (value: unknown) => boolean,
  ): Promise<Stored<T> | undefined> {
    const bytes = await this.rows.get(row, column);
    if (bytes === undefined) return undefined;
    return { value: readState<T>(row, bytes, passes), bytes: new Uint8Array(bytes) };
  }

  private async change<T>(
    row: Uint8Array,
    column: Uint8Array,
    before: Uint8Array | undefined,
    value: T,
  ): Promise<Stored<T> | undefined> {
    const bytes = new Uint8Array(Buffer.from(JSON.stringify(value)));
    return (await this.rows.compareAndSet(row, column, before, bytes)) ? { value, bytes } : undefined;
  }

  private headerRow(): Uint8Array {
    return Buffer.concat([Buffer.from(this.job), Buffer.from('\0h', 'latin1')]);
  }

  /** A row of this run, or the prefix of all rows of a phase or of the run. */
  private rowOf(kind: 'p' | 's', phase?: number, split?: number): Uint8Array {
    const parts = [Buffer.from(this.job), Buffer.from(`\0${kind}`, 'latin1'), uint32(this.run)];
    if (phase !== undefined) parts.push(Buffer.of(phase));
    if (split !== undefined) parts.push(uint32(split));
    return Buffer.concat(parts);
  }
}

/**
 * Deletes the states of finished jobs whose names are not used again. It is no error if they stay, as where the user may not write them:
 * they do no harm.
 */
export async function forgetFinished(engine: Engine, jobs: readonly string[]): Promise<void> {
  try {
    for (const job of jobs) await JobStore.on(engine, job).delete();
  } catch (error) {
    if (!(error instanceof RowanError)) throw error;
  }
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function fromPlan(plan: readonly [string, string][]): RowRange[] {
  return plan.map(([start, stop]) => ({ start: fromHex(start), stop: fromHex(stop) }));
}

// — The storage of a job's state: a table, or, on read-only stores, memory.

/** Rows of one family, each with one column. */
interface JobRows {
  get(row: Uint8Array, column: Uint8Array): Promise<Uint8Array | undefined>;
  /** Compare-and-set of the column; `undefined` expects it to be absent. Returns whether it was changed. */
  compareAndSet(
    row: Uint8Array,
    column: Uint8Array,
    before: Uint8Array | undefined,
    after: Uint8Array,
  ): Promise<boolean>;
  /** The rows in [start, stop), with only this column if one is named. */
  list(start: Uint8Array, stop: Uint8Array, column?: Uint8Array): Promise<JobRow[]>;
  delete(rows: readonly Uint8Array[]): Promise<void>;
}

interface JobRow {
  readonly row: Uint8Array;
  readonly value: Uint8Array;
}

class TableRows implements JobRows {
  constructor(
    private readonly table: Table,
    private readonly family: string,
  ) {}

  async get(row: Uint8Array, column: Uint8Array): Promise<Uint8Array | undefined> {
    const { family } = this;
    return (await this.table.get(new Get(row).addColumn(family, column))).getValue(family, column);
  }

  compareAndSet(
    row: Uint8Array,
    qualifier: Uint8Array,
    before: Uint8Array | undefined,
    after: Uint8Array,
  ): Promise<boolean> {
    return compareAndSet(this.table, { row, family: this.family, qualifier }, before, after);
  }

  async list(start: Uint8Array, stop: Uint8Array, column?: Uint8Array): Promise<JobRow[]> {
    const scan = new Scan().withStartRow(start).withStopRow(stop);
    if (column !== undefined) scan.addColumn(this.family, column);
    const rows: JobRow[] = [];
    for await (const { row, cells } of this.table.scan(scan)) {
      const cell = cells[0];
      if (cell !== undefined) rows.push({ row: new Uint8Array(row), value: new Uint8Array(cell.value) });
    }
    return rows;
  }

  async delete(rows: readonly Uint8Array[]): Promise<void> {
    const outcomes = await this.table.batch(rows.map((row) => new Delete(row)));
    for (const outcome of outcomes) if (!outcome.ok) throw outcome.error;
  }
}

/** Lost at the end of the run: a job that is not recorded starts from the beginning each time. */
class MemoryRows implements JobRows {
  private readonly rows = new Map<string, JobRow & { readonly column: Uint8Array }>();

  async get(row: Uint8Array): Promise<Uint8Array | undefined> {
    return this.rows.get(toHex(row))?.value;
  }

  async compareAndSet(
    row: Uint8Array,
    column: Uint8Array,
    before: Uint8Array | undefined,
    value: Uint8Array,
  ): Promise<boolean> {
    const now = this.rows.get(toHex(row))?.value;
    const same = now === undefined || before === undefined ? now === before : equalBytes(now, before);
    if (same) this.rows.set(toHex(row), { row, column, value });
    return same;
  }

  async list(start: Uint8Array, stop: Uint8Array, column?: Uint8Array): Promise<JobRow[]> {
    return [...this.rows.values()]
      .filter(({ row }) => compareBytes(row, start) >= 0 && compareBytes(row, stop) < 0)
      .filter((each) => column === undefined || equalBytes(each.column, column))
      .sort((a, b) => compareBytes(a.row, b.row));
  }

  async delete(rows: readonly Uint8Array[]): Promise<void> {
    for (const row of rows) this.rows.delete(toHex(row));
  }
}

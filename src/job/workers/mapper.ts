/** A mapper thread: reads rows, maps and combines them, and returns the results in batches. */

import { serialize } from 'node:v8';
import type { MessagePort } from 'node:worker_threads';
import { type Batches, openBatches } from '../batches.js';
import { CounterSet } from '../options.js';
import type { JobKey } from '../pipeline/ordered-key.js';
import { definitionOf, mapRows, rawMapper, type StepContext } from '../pipeline/phases.js';
import type { PreparedJob } from '../pipeline/pipeline.js';
import { BUFFERED_PAIRS, PairGroups } from '../pipeline/shuffle.js';
import { type MappedBatch, type MapperReply, type MapperRequest, type Pairs, toThread } from './pool.js';

/** How many rows are read at a time. */
const ROWS_AT_ONCE = 1000;
/** About how many bytes are read at a time. */
const BYTES_AT_ONCE = 8 << 20;
/** Limits of a batch: milliseconds; bytes read, if nothing is combined; values emitted. */
const BATCH_MS = 500;
const BATCH_BYTES = 8 << 20;
const BATCH_VALUES = 10_000;

/** Answers requests until the port is closed. */
export function serveMapper(port: MessagePort, job: PreparedJob): void {
  const scans = new Map<number, MappedScan>();
  const reply = (message: MapperReply): void => port.postMessage(message);
  port.on('message', (request: MapperRequest) => {
    void answer(scans, job, request).then(
      (batch) => reply({ id: request.id, batch }),
      (error: unknown) => reply({ id: request.id, error: toThread(error) }),
    );
  });
  reply({ ready: true, signature: definitionOf(job.engine, job.name, job.steps).signature });
}

async function answer(
  scans: Map<number, MappedScan>,
  job: PreparedJob,
  request: MapperRequest,
): Promise<MappedBatch | undefined> {
  if (request.call === 'open') {
    scans.set(request.scan, new MappedScan(job, request));
    return undefined;
  }
  const scan = scans.get(request.scan);
  if (request.call === 'next') return scan?.next();
  scans.delete(request.scan);
  await scan?.close();
  return undefined;
}

class MappedScan {
  private readonly batches: Batches;
  private readonly stop = new AbortController();
  /** The pairs of the batch in progress. */
  private pairs: Groups | Values;
  private counters = new CounterSet();
  /** Batches are made one after the other, although they are requested ahead. */
  private making: Promise<unknown> = Promise.resolve();
  private wanted = 64;

  constructor(
    private readonly job: PreparedJob,
    { start, isStartIncluded, stop }: MapperRequest & { readonly call: 'open' },
  ) {
    const { steps, engine } = job;
    const { table } = steps.source;
    const readable = typeof table === 'string' ? engine.table(table) : table;
    const scan = steps.source.scan().setCaching(ROWS_AT_ONCE);
    const { signal } = this.stop;
    const context: StepContext = { count: (name, by = 1) => this.counters.add(name, by), signal };
    const emit = (key: JobKey, value: unknown): void => this.pairs.emit(key, value);
    const row = rawMapper(steps, context, emit);
    this.pairs = emitted(steps);
    this.batches = openBatches(
      readable,
      scan.withStartRow(start, isStartIncluded).withStopRow(stop),
      {
        rows: (rows) => mapRows(steps, rows, context, emit),
        raw: row && { row, flush: () => undefined },
      },
      { sync: engine.capabilities.sync, threads: 1, signal },
    );
  }

  next(): Promise<MappedBatch> {
    const made = this.making.then(() => this.make());
    this.making = made.catch(() => undefined);
    return made;
  }

  async close(): Promise<void> {
    this.stop.abort();
    await this.making;
    await this.batches.close();
  }

  private async make(): Promise<MappedBatch> {
    const { steps } = this.job;
    const pairs = emitted(steps);
    const counters = new CounterSet();
    this.pairs = pairs;
    this.counters = counters;
    let last: Uint8Array | undefined;
    let rows = 0;
    let bytes = 0;
    const end = performance.now() + BATCH_MS;
    const maxBytes = steps.combine === undefined ? BATCH_BYTES : Number.POSITIVE_INFINITY;
    while (bytes < maxBytes && !pairs.isFull && performance.now() < end && !this.stop.signal.aborted) {
      const batch = await this.batches.next(this.wanted, BYTES_AT_ONCE);
      if (batch === undefined) break;
      const fitting = Math.floor((BYTES_AT_ONCE * batch.given) / Math.max(batch.bytes, 1));
      this.wanted = Math.max(1, Math.min(ROWS_AT_ONCE, fitting, 2 * this.wanted));
      last = batch.last;
      rows += batch.rows;
      bytes += batch.bytes;
    }
    // Serialized here, because a message would copy the whole memory behind a view.
    const packed = serialize(pairs.take());
    return {
      last: last && new Uint8Array(last),
      rows,
      bytes,
      counters: counters.toCounters(),
      pairs: packed,
    };
  }
}

function emitted({ reduce, combine }: PreparedJob['steps']): Groups | Values {
  return reduce === undefined ? new Values() : new Groups(combine);
}

/** Collects emitted values, for a sink. */
class Values {
  private readonly values: unknown[] = [];

  get isFull(): boolean {
    return this.values.length >= BATCH_VALUES;
  }

  emit(_key: JobKey, value: unknown): void {
    this.values.push(value);
  }

  take(): Pairs {
    return { keys: undefined, values: this.values };
  }
}

/** Collects emitted values by key, for a reduce. */
class Groups {
  private readonly groups: PairGroups;

  constructor(combine: PreparedJob['steps']['combine']) {
    this.groups = new PairGroups(combine);
  }

  get isFull(): boolean {
    if (this.groups.pairs < BUFFERED_PAIRS) return false;
    this.groups.combineAll();
    return this.groups.pairs >= BUFFERED_PAIRS / 2;
  }

  emit(key: JobKey, value: unknown): void {
    this.groups.emit(key, value);
  }

  take(): Pairs {
    this.groups.combineAll();
    const keys: string[] = [];
    const values: unknown[] = [];
    for (const [key, all] of this.groups.take()) {
      const name = Buffer.from(key.buffer, key.byteOffset, key.length).toString('latin1');
      for (const value of all) {
        keys.push(name);
        values.push(value);
      }
    }
    return { keys, values };
  }
}

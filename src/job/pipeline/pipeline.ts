/** Typed jobs: from a source, through map, combine and reduce, to a sink (docs/jobs.md). */

import { dropTable, ensureTable } from '../../ddl/index.js';
import { InvalidArgumentError } from '../../errors.js';
import { type Engine, type Result, Scan } from '../../table/index.js';
import { runJob } from '../runner.js';
import type {
  JobDefinition,
  JobOutcome,
  JobPhase,
  JobRunOptions,
  SplitContext,
  SplitWork,
} from '../types.js';
import { decodeJobKey, encodeJobKey, type JobKey } from './ordered-key.js';
import {
  type Combine,
  GroupReader,
  partitionRanges,
  partitionSplits,
  ShuffleWriter,
  shuffleTableDescriptor,
} from './shuffle.js';
import type { Sink, SinkWriter } from './sink.js';
import type { JobQuery, JobSource } from './source.js';

/** What mappers and reducers are given besides their input. */
export interface StepContext {
  /** Adds to a counter of the job. */
  count(name: string, by?: number): void;
  readonly signal: AbortSignal;
}

export type Emit<K extends JobKey, V> = (key: K, value: V) => void;
export type Mapper<T, K extends JobKey, V> = (
  item: T,
  emit: Emit<K, V>,
  context: StepContext,
) => void | Promise<void>;
export type Combiner<K extends JobKey, V> = (key: K, values: readonly V[]) => V;
/** One thing, several as an array, or nothing as undefined. */
export type Reducer<K extends JobKey, V, R> = (
  key: K,
  values: readonly V[],
  context: StepContext,
) => R | readonly R[] | undefined | Promise<R | readonly R[] | undefined>;

/** Partitions of a reduce: splits of its pass. */
const PARTITIONS = 16;

/** What a job is declared with. */
interface Declared {
  readonly source: JobSource<unknown> | JobQuery<unknown>;
  readonly map: Mapper<unknown, JobKey, unknown> | undefined;
  readonly combine: Combiner<JobKey, unknown> | undefined;
  readonly reduce: Reducer<JobKey, unknown, unknown> | undefined;
  readonly sink: Sink<unknown> | undefined;
}

/** The same, with a source that can be read. */
interface Steps extends Declared {
  readonly source: JobSource<unknown>;
}

/** A job that has a name and no source yet. */
export class JobBuilder {
  constructor(
    private readonly engine: Engine,
    private readonly name: string,
  ) {
    if (typeof name !== 'string' || !/^[\w.-]{1,100}$/.test(name)) {
      throw new InvalidArgumentError(
        `${JSON.stringify(name)} is no name of a job: take 1 to 100 letters, digits, "_", "-" and ".".`,
      );
    }
  }

  /** What the job reads: the entities of a query, or a {@link JobSource}. */
  from<T>(source: JobSource<T> | JobQuery<T>): SourceJob<T> {
    const steps = { source, map: undefined, combine: undefined, reduce: undefined, sink: undefined };
    return new SourceJob<T>(this.engine, this.name, steps as Declared);
  }
}

/** What all jobs that can be run have. */
abstract class RunnableJob {
  constructor(
    protected readonly engine: Engine,
    protected readonly name: string,
    protected readonly steps: Declared,
  ) {}

  /**
   * Runs the job to its end, or goes on with it where it stood.
   * @throws RowanError `ERR_JOB`, `ERR_ABORTED`, and what the steps and the sink threw.
   */
  async run(options: JobRunOptions = {}): Promise<JobOutcome> {
    const { source } = this.steps;
    const steps = { ...this.steps, source: 'toSource' in source ? await source.toSource() : source };
    return runJob(this.engine, definitionOf(this.engine, this.name, steps), options);
  }
}

/** A job with a source. */
export class SourceJob<T> extends RunnableJob {
  /** Turns each item into any number of pairs. */
  map<K extends JobKey, V>(mapper: Mapper<T, K, V>): MappedJob<K, V> {
    const map = mapper as unknown as Declared['map'];
    return new MappedJob<K, V>(this.engine, this.name, { ...this.steps, map });
  }

  /** Items go to the sink as they are. */
  to(sink: Sink<T>): FinishedJob {
    return new FinishedJob(this.engine, this.name, { ...this.steps, sink: sink as Sink<unknown> });
  }
}

/** A job whose items have become pairs. */
export class MappedJob<K extends JobKey, V> extends RunnableJob {
  /** Makes one value of several of one key, within a split; has to be associative. */
  combine(combiner: Combiner<K, V>): MappedJob<K, V> {
    const combine = combiner as unknown as Declared['combine'];
    return new MappedJob<K, V>(this.engine, this.name, { ...this.steps, combine });
  }

  /** Makes an outcome of all values of a key; keys come in their order within each of 16 partitions. */
  reduce<R>(reducer: Reducer<K, V, R>): ReducedJob<R> {
    const reduce = reducer as unknown as Declared['reduce'];
    return new ReducedJob<R>(this.engine, this.name, { ...this.steps, reduce });
  }

  /** Emitted values go to the sink as they come; nothing is sorted (seed 003 section 55.2). */
  to(sink: Sink<V>): FinishedJob {
    if (this.steps.combine !== undefined) {
      throw new InvalidArgumentError('A job with combine needs a reduce before its sink.');
    }
    return new FinishedJob(this.engine, this.name, { ...this.steps, sink: sink as Sink<unknown> });
  }
}

/** A job whose pairs have become outcomes. */
export class ReducedJob<R> extends RunnableJob {
  to(sink: Sink<R>): FinishedJob {
    return new FinishedJob(this.engine, this.name, { ...this.steps, sink: sink as Sink<unknown> });
  }
}

/** A job with everything. */
export class FinishedJob extends RunnableJob {}

function definitionOf(engine: Engine, name: string, steps: Steps): JobDefinition {
  const { source, reduce, map, combine, sink } = steps;
  const made = [map && 'map', combine && 'combine', reduce && 'reduce'].filter(Boolean).join(', ');
  const signature = [source.signature, made, sink?.signature ?? 'no sink'].join('; ');
  if (reduce === undefined) return { name, signature, phases: [mapOnlyPhase(steps)] };
  return {
    name,
    signature,
    phases: [shufflePhase(engine, name, steps), reducePhase(name, steps)],
    async finish(run) {
      for (let each = 0; each <= run; each++)
        await dropTable(engine.admin, shuffleTableDescriptor(name, each).name);
    },
  };
}

function readingPhase(steps: Steps, open: JobPhase['open']): JobPhase {
  const { table, ranges } = steps.source;
  return { table, ranges, scan: () => steps.source.scan(), open };
}

/** Gives each item of the rows to the mapper, or to `take` where there is none. */
async function mapRows(
  steps: Steps,
  rows: readonly Result[],
  context: SplitContext,
  emit: (key: JobKey, value: unknown) => void,
): Promise<void> {
  const { source, map } = steps;
  for (const row of rows) {
    const loading = source.load(row);
    const item = loading instanceof Promise ? await loading : loading;
    if (item === null) continue;
    if (map === undefined) {
      emit(0, item);
      continue;
    }
    const mapping = map(item, emit, context);
    if (mapping instanceof Promise) await mapping;
  }
}

function mapOnlyPhase(steps: Steps): JobPhase {
  return readingPhase(steps, async (context): Promise<SplitWork> => {
    const writer = await openSink(steps, context);
    return {
      async rows(rows) {
        const items: unknown[] = [];
        await mapRows(steps, rows, context, (_, value) => items.push(value));
        if (items.length > 0) await writer?.write(items);
      },
      commit: () => writer?.commit?.(),
      close: () => writer?.close?.(),
    };
  });
}

function openSink(
  steps: Steps,
  context: SplitContext,
): SinkWriter<unknown> | Promise<SinkWriter<unknown>> | undefined {
  return steps.sink?.open(context);
}

function shufflePhase(engine: Engine, name: string, steps: Steps): JobPhase {
  const { combine } = steps;
  const combineBytes: Combine | undefined = combine && ((key, values) => combine(decodeJobKey(key), values));
  return {
    ...readingPhase(steps, (context): SplitWork => {
      const { split, attempt, resumed } = context;
      const table = engine.table(shuffleTableDescriptor(name, context.run).name);
      const writer = new ShuffleWriter(table, split, attempt, resumed, PARTITIONS, combineBytes);
      return {
        async rows(rows) {
          await mapRows(steps, rows, context, (key, value) => writer.emit(encodeJobKey(key), value));
          await writer.flushIfFull();
        },
        commit: () => writer.commit(),
      };
    }),
    prepare: (run) =>
      ensureTable(engine.admin, shuffleTableDescriptor(name, run), partitionSplits(PARTITIONS)),
  };
}

function reducePhase(name: string, steps: Steps): JobPhase {
  const reduce = steps.reduce!;
  return {
    table: (run) => shuffleTableDescriptor(name, run).name,
    ranges: partitionRanges(PARTITIONS),
    oneSplitEach: true,
    scan: () => new Scan().setCacheBlocks(false),
    async open(context) {
      const groups = new GroupReader(await context.workOf(0));
      const writer = await openSink(steps, context);
      const work = async (whole: Iterable<{ readonly key: Uint8Array; readonly values: unknown[] }>) => {
        const outcomes: unknown[] = [];
        for (const { key, values } of whole) {
          const outcome = await reduce(decodeJobKey(key), values, context);
          if (Array.isArray(outcome)) outcomes.push(...(outcome as unknown[]));
          else if (outcome !== undefined) outcomes.push(outcome);
        }
        if (outcomes.length > 0) await writer?.write(outcomes);
      };
      return {
        rows: (rows) => work(groups.take(rows)),
        finish: () => work(groups.finish()),
        settled: () => groups.settled,
        commit: () => writer?.commit?.(),
        close: () => writer?.close?.(),
      };
    },
  };
}

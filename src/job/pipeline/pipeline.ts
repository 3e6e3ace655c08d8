/** Typed jobs: from a source, through map, combine and reduce, to a sink (docs/jobs.md). */

import { InvalidArgumentError } from '../../errors.js';
import type { Engine } from '../../table/index.js';
import type { JobOutcome, JobRunOptions } from '../types.js';
import { Lookup, type LookupOptions, type LookupTarget, lookupStep } from './lookup.js';
import type { JobKey } from './ordered-key.js';
import type { Combiner, Declared, Mapper, Reducer, Steps } from './phases.js';
import type { Sink } from './sink.js';
import type { JobQuery, JobSource } from './source.js';

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
    const steps = {
      source,
      lookups: [],
      map: undefined,
      combine: undefined,
      reduce: undefined,
      sink: undefined,
    };
    return new SourceJob<T>(this.engine, this.name, steps as Declared);
  }
}

/** What all jobs that can be run have. */
abstract class RunnableJob {
  constructor(
    protected readonly engine: Engine,
    protected readonly name: string,
    protected readonly steps: Declared,
  ) {
    prepared.set(this, async () => {
      const { source } = steps;
      return {
        engine,
        name,
        steps: {
          ...steps,
          source: 'toSource' in source ? await source.toSource() : source,
          lookups: steps.lookups.map((step) => new Lookup(step)),
        },
      };
    });
  }

  /**
   * Runs the job to its end, or goes on with it where it stood.
   * @throws RowanError `ERR_JOB`, `ERR_ABORTED`, and what the steps and the sink threw.
   */
  async run(options: JobRunOptions = {}): Promise<JobOutcome> {
    const { engine, name, steps } = (await prepareJob(this))!;
    const { runJob } = await import('../runner.js');
    const { definitionOf } = await import('./phases.js');
    return runJob(engine, definitionOf(engine, name, steps), options);
  }
}

/** A typed job whose source can be read. */
export interface PreparedJob {
  readonly engine: Engine;
  readonly name: string;
  readonly steps: Steps;
}

const prepared = new WeakMap<object, () => Promise<PreparedJob>>();

/** What a typed job is made of; undefined for anything else. */
export async function prepareJob(job: object): Promise<PreparedJob | undefined> {
  return prepared.get(job)?.();
}

/** A job with a source. */
export class SourceJob<T> extends RunnableJob {
  /**
   * Gives each item with the entity of another table that it names, or null: for a batch of items in one call, and only for what was not
   * got lately. The entities are shared by items: do not change them.
   * @throws InvalidArgumentError for what is no repository or no function.
   */
  lookup<K, E>(
    target: LookupTarget<K, E>,
    keyOf: (item: T) => NoInfer<K> | null | undefined,
    options: LookupOptions = {},
  ): SourceJob<readonly [item: T, found: E | null]> {
    const lookups = [...this.steps.lookups, lookupStep(target, keyOf, options)];
    return new SourceJob(this.engine, this.name, { ...this.steps, lookups });
  }

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

/** Typed jobs: from a source, through map, combine and reduce, into a sink (docs/jobs.md). */

import { InvalidArgumentError } from '../../errors.js';
import { describe, isCallable } from '../../table/checks.js';
import type { Engine } from '../../table/index.js';
import type { JobOutcome, JobRunOptions } from '../types.js';
import { Lookup, type LookupOptions, type LookupTarget, lookupStep } from './lookup.js';
import type { JobKey } from './ordered-key.js';
import type { Combiner, Declared, Mapper, Reducer, Steps } from './phases.js';
import type { Sink } from './sink.js';
import type { JobQuery, JobSource } from './source.js';

/** A job with a name, but without a source yet. */
export class JobBuilder {
  constructor(
    private readonly engine: Engine,
    private readonly name: string,
  ) {
    if (typeof name !== 'string' || !/^[\w.-]{1,100}$/.test(name)) {
      throw new InvalidArgumentError(
        `${describe(name)} is not a valid job name: use 1 to 100 letters, digits, "_", "-" and ".".`,
      );
    }
  }

  /**
   * Sets the source: the entities of a query, or a {@link JobSource}.
   * @throws InvalidArgumentError on another value.
   */
  from<T>(source: JobSource<T> | JobQuery<T>): SourceJob<T> {
    checkPart(
      isPartly(source, 'toSource') || isPartly(source, 'scan'),
      'from() takes a query or a source: from(orders.find({ customerId })), from(orders.find({}, { fullScan: true }))',
      source,
    );
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

/** The base of all jobs that can run. */
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
   * Runs the job to its end, resuming it if it was interrupted.
   * @throws RowanError `ERR_JOB`, `ERR_ABORTED`, and errors of the steps and the sink.
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

/** The parts of a typed job; undefined for any other object. */
export async function prepareJob(job: object): Promise<PreparedJob | undefined> {
  return prepared.get(job)?.();
}

/** A job with a source. */
export class SourceJob<T> extends RunnableJob {
  /**
   * Adds to each item the entity of another table that it refers to, or null. Entities are read in one call for each
   * batch, unless they are cached, and items share them: do not modify them.
   * @throws InvalidArgumentError unless the arguments are a repository and a function.
   */
  lookup<K, E>(
    target: LookupTarget<K, E>,
    keyOf: (item: T) => NoInfer<K> | null | undefined,
    options: LookupOptions = {},
  ): SourceJob<readonly [item: T, found: E | null]> {
    const lookups = [...this.steps.lookups, lookupStep(target, keyOf, options)];
    return new SourceJob(this.engine, this.name, { ...this.steps, lookups });
  }

  /** Maps each item to any number of pairs. @throws InvalidArgumentError unless it is a function. */
  map<K extends JobKey, V>(mapper: Mapper<T, K, V>): MappedJob<K, V> {
    checkPart(
      isCallable(mapper),
      'map() takes a function: map((order, emit) => emit(order.status, 1))',
      mapper,
    );
    const map = mapper as unknown as Declared['map'];
    return new MappedJob<K, V>(this.engine, this.name, { ...this.steps, map });
  }

  /** Writes the items to the sink unchanged. */
  to(sink: Sink<T>): FinishedJob {
    return new FinishedJob(this.engine, this.name, { ...this.steps, sink: checkSink(sink) });
  }
}

/** A job whose items have been mapped to pairs. */
export class MappedJob<K extends JobKey, V> extends RunnableJob {
  /**
   * Combines several values of one key into one, within a split. The combiner must be associative.
   * @throws InvalidArgumentError unless it is a function.
   */
  combine(combiner: Combiner<K, V>): MappedJob<K, V> {
    checkPart(isCallable(combiner), 'combine() takes a function: combine((key, values) => value)', combiner);
    const combine = combiner as unknown as Declared['combine'];
    return new MappedJob<K, V>(this.engine, this.name, { ...this.steps, combine });
  }

  /**
   * Reduces all values of a key to a result. Keys come in order within each of 16 partitions.
   * @throws InvalidArgumentError unless it is a function.
   */
  reduce<R>(reducer: Reducer<K, V, R>): ReducedJob<R> {
    checkPart(isCallable(reducer), 'reduce() takes a function: reduce((key, values) => result)', reducer);
    const reduce = reducer as unknown as Declared['reduce'];
    return new ReducedJob<R>(this.engine, this.name, { ...this.steps, reduce });
  }

  /** Writes emitted values to the sink directly, without sorting. */
  to(sink: Sink<V>): FinishedJob {
    if (this.steps.combine !== undefined) {
      throw new InvalidArgumentError('A job with combine() needs reduce() before its sink.');
    }
    return new FinishedJob(this.engine, this.name, { ...this.steps, sink: checkSink(sink) });
  }
}

/** A job whose pairs have been reduced to results. */
export class ReducedJob<R> extends RunnableJob {
  to(sink: Sink<R>): FinishedJob {
    return new FinishedJob(this.engine, this.name, { ...this.steps, sink: checkSink(sink) });
  }
}

function checkSink(sink: unknown): Sink<unknown> {
  checkPart(isPartly(sink, 'open'), 'to() takes a sink: to(entitySink(repository))', sink);
  return sink as Sink<unknown>;
}

/** Whether a part of a job has the method by which it is used. */
function isPartly(part: unknown, method: string): boolean {
  return typeof part === 'object' && part !== null && isCallable(Reflect.get(part, method));
}

function checkPart(isRight: boolean, rule: string, part: unknown): void {
  if (!isRight) throw new InvalidArgumentError(`${rule}, not ${describe(part)}.`);
}

/** A complete job. */
export class FinishedJob extends RunnableJob {}

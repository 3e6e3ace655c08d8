/** Compiles a typed job into phases: map, combine, reduce and sink as passes of a job. */

import { dropTable, ensureTable } from '../../ddl/index.js';
import { type Engine, type RawRow, type Result, Scan } from '../../table/index.js';
import { loadPhase } from '../bulk/bulk-load.js';
import type {
  Counters,
  JobDefinition,
  JobPhase,
  JobReadable,
  RowWeight,
  SplitContext,
  SplitWork,
} from '../types.js';
import type { Lookup, LookupStep } from './lookup.js';
import { decodeJobKey, type JobKey } from './ordered-key.js';
import {
  GroupReader,
  partitionRanges,
  partitionSplits,
  ShuffleWriter,
  shuffleTableDescriptor,
} from './shuffle.js';
import type { Sink, SinkWriter } from './sink.js';
import type { JobQuery, JobSource } from './source.js';

/** The context passed to mappers and reducers besides their input. */
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
/** The result: one value, several as an array, or none as undefined. */
export type Reducer<K extends JobKey, V, R> = (
  key: K,
  values: readonly V[],
  context: StepContext,
) => R | readonly R[] | undefined | Promise<R | readonly R[] | undefined>;

/** The number of partitions of a reduce, which are the splits of its pass. */
const PARTITIONS = 16;

/** A job's declaration. */
export interface Declared {
  readonly source: JobSource<unknown> | JobQuery<unknown>;
  readonly lookups: readonly LookupStep[];
  readonly map: Mapper<unknown, JobKey, unknown> | undefined;
  readonly combine: Combiner<JobKey, unknown> | undefined;
  readonly reduce: Reducer<JobKey, unknown, unknown> | undefined;
  readonly sink: Sink<unknown> | undefined;
}

/** The same, with an opened source and look-ups. */
export interface Steps extends Omit<Declared, 'lookups'> {
  readonly source: JobSource<unknown>;
  readonly lookups: readonly Lookup[];
}

/** Rows that other threads have read and mapped. Each represents many rows of the source. */
export interface MappedSource {
  readonly reader: JobReadable;
  unpack(row: Result): MappedRows;
}

export interface MappedRows {
  readonly weight: RowWeight;
  readonly counters: Counters;
  /** Pairs of a key's name (`nameOfKey`) and a value. */
  pairs(): Iterable<readonly [name: string, value: unknown]>;
}

/** Defines the job of the steps. `mapping`: the source of mapped rows, if other threads map. */
export function definitionOf(
  engine: Engine,
  name: string,
  steps: Steps,
  mapping?: MappedSource,
): JobDefinition {
  const { source, lookups, reduce, map, combine, sink } = steps;
  const made = [map && 'map', combine && 'combine', reduce && 'reduce'].filter(Boolean).join(', ');
  const looked = lookups.map(({ name }) => `lookup ${name}`);
  const signature = [source.signature, ...looked, made, sink?.signature ?? 'no sink'].join('; ');
  const phases =
    reduce === undefined
      ? [readingPhase(steps, (context) => openItems(steps, context), mapping)]
      : [shufflePhase(engine, name, steps, mapping), reducePhase(name, steps)];
  const last = phases.length - 1;
  if (sink?.complete !== undefined) {
    phases.push(loadPhase((kept, context) => sink.complete!(kept, context), last));
  }
  return {
    name,
    signature,
    phases,
    readsOnly: reduce === undefined && (sink === undefined || sink.filesOnly === true),
    async finish(run) {
      await sink?.dispose?.(name, run);
      if (reduce === undefined) return;
      for (let each = 0; each <= run; each++)
        await dropTable(engine.admin, shuffleTableDescriptor(name, each).name);
    },
  };
}

/** Receives the pairs that one attempt at a split has mapped. */
interface PairTaker {
  emit(key: JobKey, value: unknown): void;
  /** Emits a pair, given the name of its key. */
  emitNamed(name: string, value: unknown): void;
  /** Called after each batch. */
  flush(): void | Promise<void>;
  commit?: SplitWork['commit'];
  close?: SplitWork['close'];
}

/** The pass over the source. It maps the rows, unless other threads have mapped them. */
function readingPhase(
  steps: Steps,
  open: (context: SplitContext) => PairTaker | Promise<PairTaker>,
  mapping: MappedSource | undefined,
): JobPhase {
  const { table, ranges } = steps.source;
  const read = { table, ranges, scan: () => steps.source.scan() };
  if (mapping === undefined) {
    return {
      ...read,
      async open(context) {
        const taker = await open(context);
        const emit = (key: JobKey, value: unknown): void => taker.emit(key, value);
        const rows = (read: readonly Result[]): Promise<void> => mapRows(steps, read, context, emit);
        return workOf(taker, rows, rawMapper(steps, context, emit));
      },
    };
  }
  return {
    ...read,
    reader: mapping.reader,
    weigh: (row) => mapping.unpack(row).weight,
    async open(context) {
      const taker = await open(context);
      return workOf(taker, (rows) => {
        for (const row of rows) {
          const { counters, pairs } = mapping.unpack(row);
          for (const [name, by] of Object.entries(counters)) context.count(name, by);
          for (const [name, value] of pairs()) taker.emitNamed(name, value);
        }
      });
    },
  };
}

function workOf(
  taker: PairTaker,
  take: (rows: readonly Result[]) => void | Promise<void>,
  takeRaw?: RawMapper,
): SplitWork {
  return {
    async rows(rows) {
      await take(rows);
      await taker.flush();
    },
    raw: takeRaw && { row: takeRaw, flush: () => taker.flush() },
    commit: () => taker.commit?.(),
    close: () => taker.close?.(),
  };
}

/** Passes each item to the mapper, or emits it unchanged if there is none. */
export async function mapRows(
  steps: Steps,
  rows: readonly Result[],
  context: StepContext,
  emit: (key: JobKey, value: unknown) => void,
): Promise<void> {
  const { source, lookups } = steps;
  if (lookups.length > 0) return mapFound(steps, rows, context, emit);
  for (const row of rows) {
    const loading = source.load(row);
    const item = loading instanceof Promise ? await loading : loading;
    if (item === null) continue;
    const mapping = mapItem(steps, item, context, emit);
    if (mapping instanceof Promise) await mapping;
  }
}

/** Maps one row, which is reused for the next. */
type RawMapper = (row: RawRow) => void | Promise<void>;

/** Like {@link mapRows}, for raw rows; undefined if the source has none, or the job has look-ups. */
export function rawMapper(
  steps: Steps,
  context: StepContext,
  emit: (key: JobKey, value: unknown) => void,
): RawMapper | undefined {
  const { source, lookups } = steps;
  if (source.loadRaw === undefined || lookups.length > 0) return undefined;
  const map = (item: unknown): void | Promise<void> =>
    item === null ? undefined : mapItem(steps, item, context, emit);
  return (row) => {
    const loading = source.loadRaw!(row);
    return loading instanceof Promise ? loading.then(map) : map(loading);
  };
}

/** Emits pairs of an item and the entity that it refers to. */
async function mapFound(
  steps: Steps,
  rows: readonly Result[],
  context: StepContext,
  emit: (key: JobKey, value: unknown) => void,
): Promise<void> {
  let items: unknown[] = [];
  for (const row of rows) {
    const item = await steps.source.load(row);
    if (item !== null) items.push(item);
  }
  for (const lookup of steps.lookups) {
    const found = await lookup.find(items);
    items = items.map((item, at) => [item, found[at]]);
  }
  for (const item of items) await mapItem(steps, item, context, emit);
}

function mapItem(
  { map }: Steps,
  item: unknown,
  context: StepContext,
  emit: (key: JobKey, value: unknown) => void,
): void | Promise<void> {
  if (map !== undefined) return map(item, emit, context);
  emit(0, item);
}

/** Receives pairs whose values go directly to the sink. */
async function openItems(steps: Steps, context: SplitContext): Promise<PairTaker> {
  const writer = await openSink(steps, context);
  let items: unknown[] = [];
  return {
    emit: (_, value) => void items.push(value),
    emitNamed: (_, value) => void items.push(value),
    async flush() {
      const written = items;
      items = [];
      if (written.length > 0) await writer?.write(written);
    },
    commit: () => writer?.commit?.(),
    close: () => writer?.close?.(),
  };
}

function openSink(
  steps: Steps,
  context: SplitContext,
): SinkWriter<unknown> | Promise<SinkWriter<unknown>> | undefined {
  return steps.sink?.open(context);
}

function shufflePhase(
  engine: Engine,
  name: string,
  steps: Steps,
  mapping: MappedSource | undefined,
): JobPhase {
  const { combine } = steps;
  const open = ({ split, attempt, resumed, run }: SplitContext): PairTaker => {
    const table = engine.table(shuffleTableDescriptor(name, run).name);
    const writer = new ShuffleWriter(table, split, attempt, resumed, PARTITIONS, combine);
    return {
      emit: (key, value) => writer.emit(key, value),
      emitNamed: (name, value) => writer.emitNamed(name, value),
      flush: () => writer.flushIfFull(),
      commit: () => writer.commit(),
    };
  };
  return {
    ...readingPhase(steps, open, mapping),
    prepare: async (run) => {
      await ensureTable(engine.admin, shuffleTableDescriptor(name, run), partitionSplits(PARTITIONS));
    },
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
        doneUpTo: () => groups.doneUpTo,
        commit: () => writer?.commit?.(),
        close: () => writer?.close?.(),
      };
    },
  };
}

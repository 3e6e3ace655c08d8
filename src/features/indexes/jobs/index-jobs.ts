import { EMPTY_BYTES, fromHex, prefixEnd, toHex, toLatin1 } from '../../../bytes/index.js';
import { ConflictError } from '../../../errors.js';
import { runJob } from '../../../job/runner.js';
import { toolJobName } from '../../../job/table-pass.js';
import type {
  Counters,
  JobOutcome,
  JobPhase,
  JobRunOptions,
  SplitContext,
  SplitWork,
} from '../../../job/types.js';
import { applyReadSet, readColumns } from '../../../query/projection.js';
import { IntentDriver } from '../../../repository/index.js';
import { type Engine, Scan, type StepTable, type Table } from '../../../table/index.js';
import { notePrefix } from '../entry.js';
import { deleteOf } from '../plan.js';
import { RemoteEntries } from '../remote.js';
import { retireIndex } from '../states.js';
import { addingEntries, addingRows, type DifferingRows, DigestWork, EntryDigest } from './digest.js';
import { BuildWork, EntryWork, entriesOfCells, RowWork } from './embedded-work.js';
import { CHECKPOINT_ROWS, PackedBuildWork } from './packed-build.js';
import { RemoteBuildWork, RemoteDrainWork, RemoteEntryWork, RemoteRowWork } from './remote-work.js';
import { type IndexReport, type IndexTarget, SharedValues, type VerifyOptions } from './target.js';

/** Jobs that build, verify, repair and empty an index while the application keeps writing. */

function tableOf({ engine, indexes }: IndexTarget): Table {
  return engine.table(indexes.schema.table.descriptor.name);
}

function atomic(table: Table): StepTable | undefined {
  return 'atomic' in table ? (table as StepTable) : undefined;
}

/** Tables have indexes of one id where entities of one name are declared over each of them, as in copies with another prefix. */
function jobName(work: string, entries: string, id: Uint8Array, ...about: readonly string[]): string {
  return toolJobName(work, entries, toHex(id), ...about);
}

type Opening = (context: SplitContext) => SplitWork;

/** The works on rows and entries for the target's engine. */
function worksOf(
  target: IndexTarget,
  table: Table,
  { sample = 1, settledAfter }: VerifyOptions,
  repair: boolean,
  differing?: DifferingRows,
): {
  readonly build: (touched: ReadonlySet<string>) => Opening;
  readonly rows: Opening;
  readonly entries: Opening;
} {
  const local = atomic(table);
  if (local !== undefined) {
    return {
      build: (touched) =>
        PackedBuildWork.of(target, local, touched) ??
        ((context) => new BuildWork(target, local, context, touched)),
      rows: (context) => new RowWork(target, local, context, sample, repair, differing),
      entries: (context) => new EntryWork(target, local, context, sample, repair, differing),
    };
  }
  const entries = remoteEntries(target, settledAfter);
  return {
    build: () => (context) => new RemoteBuildWork(target, entries, context),
    rows: (context) => new RemoteRowWork(target, entries, context, sample, repair),
    entries: (context) => new RemoteEntryWork(target, entries, context, sample, repair),
  };
}

/** The target's entries, with a driver of their own. */
function remoteEntries(target: IndexTarget, settledAfter?: number): RemoteEntries {
  const { engine, indexes } = target;
  const now = () => engine.now();
  const table = engine.table(indexes.tableName);
  const entriesOf = (driver: IntentDriver) => new RemoteEntries(indexes, table, driver, now, settledAfter);
  return new IntentDriver(tableOf(target), indexes.schema, now, [], entriesOf).entries;
}

/**
 * Writes the entries of every row. `over`: entries without rows may exist and are removed; not looked for on the embedded engine where
 * no entry is stored, because writers maintain those that come now. Resumes only a build of the same number.
 * @throws ConflictError when two rows have the same value in a unique index; the index stays unusable then.
 */
export async function buildIndex(
  target: IndexTarget,
  { over, build }: { readonly over: boolean; readonly build: number },
  run: JobRunOptions = {},
): Promise<JobOutcome> {
  const table = tableOf(target);
  const { index } = target.indexes.all[0]!;
  const touched = new Set<string>();
  const local = atomic(table);
  // On other engines each row is read again when its entries are written.
  const unwatch = local && watch(target.engine, table.name, touched);
  try {
    // Wait until writes from before the watch are visible to scans.
    await local?.commit(() => []);
    const works = worksOf(target, table, {}, true);
    const phases: JobPhase[] = [rowsPhase(target, works.build(touched))];
    if (over && !(local && !index.eventual && (await hasNoEntry(target))))
      phases.push(entriesPhase(target, works.entries));
    const name = jobName(
      'index-build',
      target.indexes.tableName,
      index.id,
      ...(build === 0 ? [] : [String(build)]),
    );
    const signature = `${index.signature} ${over ? 'over' : 'new'}`;
    const outcome = await runJob(
      target.engine,
      { name, signature, phases },
      { restart: 'done', checkpointRows: CHECKPOINT_ROWS, ...run },
    );
    const conflicts = outcome.counters['conflicts'] ?? 0;
    if (conflicts > 0) throw conflictsOf(target, conflicts);
    return outcome;
  } finally {
    unwatch?.();
  }
}

/** Whether nothing is stored in the range of the index's entries. */
async function hasNoEntry({ engine, indexes }: IndexTarget): Promise<boolean> {
  const { id } = indexes.all[0]!.index;
  const scan = new Scan()
    .withStartRow(id)
    .withStopRow(prefixEnd(id) ?? EMPTY_BYTES)
    .setLimit(1);
  for await (const _ of engine.table(indexes.tableName).scan(scan)) return false;
  return true;
}

/** Compares rows and entries in both directions. With `repair`, corrects the entries. */
export async function verifyIndex(
  target: IndexTarget,
  repair: boolean,
  options: VerifyOptions = {},
): Promise<IndexReport> {
  const { sample = 1, run = {} } = options;
  const { index } = target.indexes.all[0]!;
  const shared = new SharedValues(target.indexes.schema.key);
  const differing = repair ? undefined : await digestIndex(target, options);
  const works = worksOf({ ...target, shared }, tableOf(target), options, repair, differing);
  const phases = [rowsPhase(target, works.rows), entriesPhase(target, works.entries)];
  const name = jobName(repair ? 'index-repair' : 'index-verify', target.indexes.tableName, index.id);
  const signature = `${index.signature} ${sample}`;
  const { counters } = differing?.isEmpty
    ? { counters: {} as Counters }
    : await runJob(
        target.engine,
        { name, signature, phases, readsOnly: !repair, isDeclared: true },
        { restart: repair ? 'done' : true, ...run },
      );
  const count = (what: string): number => counters[what] ?? 0;
  return {
    rows: count('rows') + (differing?.equalRows ?? 0),
    valid: count('valid') + (differing?.equalEntries ?? 0),
    missing: count('missing'),
    extra: count('extra'),
    stale: count('stale'),
    // On engines without notes, unverified entries are those that wait to be updated.
    unverified: index.eventual ? 0 : count('unverified'),
    pending: count('pending') + (index.eventual ? count('unverified') : 0),
    beyondTtl: count('beyondTtl'),
    repaired: count('repaired'),
    shared: shared.found,
  };
}

/**
 * Compares digests of rows and entries. Undefined where all rows must be compared: on other engines; for entries that need more than the
 * newest cells of a row, or expire with it; for samples, and runs that continue or share the work of another.
 */
async function digestIndex(
  target: IndexTarget,
  { sample = 1, run = {} }: VerifyOptions,
): Promise<DifferingRows | undefined> {
  const { index } = target.indexes.all[0]!;
  const computed = entriesOfCells(target, true);
  if (atomic(tableOf(target))?.getRaw === undefined || computed === undefined) return undefined;
  if (sample < 1 || run.restart !== undefined || run.shard !== undefined) return undefined;
  let differing: DifferingRows | undefined;
  await runJob(
    target.engine,
    {
      name: jobName('index-digest', target.indexes.tableName, index.id),
      signature: index.signature,
      readsOnly: true,
      phases: [
        rowsPhase(target, (context) => new DigestWork(addingRows(target, computed), context)),
        entriesPhase(target, (context) => new DigestWork(addingEntries(target), context)),
      ],
      async finish(_run, workOf) {
        const [rows, entries] = [await workOf(0), await workOf(1)];
        differing = EntryDigest.of(rows.values()).differences(EntryDigest.of(entries.values()));
      },
    },
    { ...run, restart: true },
  );
  // Rows of a unique index are compared in steps, all of them.
  return index.unique && !differing?.isEmpty ? undefined : differing;
}

/** Processes the pending entries of an eventual index (HBase): the unverified ones. Counters: `entries`. */
export function drainIndex(target: IndexTarget): Promise<JobOutcome> {
  const { engine, indexes } = target;
  const { index } = indexes.all[0]!;
  const entries = remoteEntries(target);
  const phases = [entriesPhase(target, (context) => new RemoteDrainWork(target, entries, context))];
  const name = jobName('index-drain', indexes.tableName, index.id);
  const job = { name, signature: index.signature, phases, isRepeatable: true };
  return runJob(engine, job, { restart: true });
}

/**
 * Records the rows of a table that are written from now on, in Latin-1, in the step that writes them; those of
 * transactions too.
 */
function watch(engine: Engine, table: string, touched: Set<string>): () => void {
  return engine.observe(table, {
    before({ change }) {
      touched.add(toLatin1(change.row));
      return undefined;
    },
  });
}

function rowsPhase(target: IndexTarget, open: (context: SplitContext) => SplitWork): JobPhase {
  const { schema, columns } = target.indexes;
  return {
    table: schema.table.descriptor.name,
    ranges: [],
    scan: () => {
      const scan = new Scan().setCacheBlocks(false);
      applyReadSet(scan, readColumns(schema, [], columns, undefined));
      return scan;
    },
    open,
  };
}

function entriesPhase(target: IndexTarget, open: (context: SplitContext) => SplitWork): JobPhase {
  const { index } = target.indexes.all[0]!;
  return {
    table: target.indexes.tableName,
    ranges: [{ start: index.id, stop: prefixEnd(index.id) ?? new Uint8Array(0) }],
    scan: () => new Scan().setCacheBlocks(false),
    open,
  };
}

function conflictsOf({ indexes }: IndexTarget, conflicts: number): ConflictError {
  const { schema, all } = indexes;
  const { name } = all[0]!.index;
  return new ConflictError(
    `${conflicts} rows of ${schema.name} have values in the unique index "${name}" that another has: it cannot be built. ` +
      'Change them, and build it again; or declare it without unique.',
    { details: { entity: schema.name, index: name, conflicts } },
  );
}

/** Removes every entry of an index, by its id, and its notes. */
export async function dropEntries(
  engine: Engine,
  tableName: string,
  id: Uint8Array,
  run: JobRunOptions = {},
): Promise<JobOutcome> {
  const table = engine.table(tableName);
  const phase: JobPhase = {
    table: tableName,
    ranges: [id, notePrefix(id)].map((start) => ({ start, stop: prefixEnd(start) ?? EMPTY_BYTES })),
    scan: () => new Scan().setCacheBlocks(false),
    open: (context) => ({
      async rows(rows) {
        await table.batch(rows.map(({ row }) => deleteOf(row)));
        context.count('removed', rows.length);
      },
    }),
  };
  const name = jobName('index-drop', tableName, id);
  // Entries may have been written in the range that an earlier run has finished.
  return runJob(engine, { name, signature: tableName, phases: [phase] }, { restart: true, ...run });
}

/** Removes the entries and the metadata of an index that is no longer declared. Counters: `removed`. */
export async function removeIndex(
  engine: Engine,
  indexTable: string,
  id: string,
  run?: JobRunOptions,
): Promise<JobOutcome> {
  // First marks it as disabled: after a crash, a declaration that comes back must not trust the remaining entries.
  await retireIndex(engine.admin, indexTable, id, true);
  const outcome = await dropEntries(engine, indexTable, fromHex(id), run);
  await retireIndex(engine.admin, indexTable, id, false);
  return outcome;
}

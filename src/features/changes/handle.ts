import { compareBytes } from '../../bytes/index.js';
import { InvalidArgumentError, QueryError, UnsupportedError } from '../../errors.js';
import { recovering } from '../../query/access.js';
import { RowLoader } from '../../query/index.js';
import { parseKeyConditions } from '../../query/key-conditions.js';
import { loadTexts } from '../../query/loader.js';
import { checkNames } from '../../query/slice.js';
import { keyValues } from '../../repository/row-access.js';
import type { KeyedClass } from '../../schema/entity-types.js';
import type { AdoptedSchema } from '../../schema/index.js';
import type { EntitySchema } from '../../schema/types.js';
import { describe } from '../../table/checks.js';
import { canonicalTableName, type Result } from '../../table/index.js';
import type { Metric } from '../../table/telemetry.js';
import type { Feature, FeatureContext } from '../feature.js';
import { ChangeFeed, type RowChange, type WatchOptions } from './change-feed.js';
import { ChangeIntents } from './change-intents.js';
import { ChangeLog, decideChange } from './change-log.js';
import { CommitReader, nowPosition } from './commit-reader.js';
import { CommitNotifier, type CommitSource, type StoredCommit } from './commit-source.js';
import { LogReader, newestPosition } from './log-reader.js';
import { BUCKETS } from './log-rows.js';
import { KeyLimits, type PositionOrder } from './positions.js';
import { CHANGES_TABLE, ChangeRecorder } from './table.js';

/** An entity of a feed. */
interface Watched {
  readonly schema: EntitySchema;
  readonly table: string;
  readonly isWanted: (row: Uint8Array) => boolean;
  readonly load: (row: Result) => object | null | Promise<object | null>;
}

/** The change feature of an open database: records changes of the declared entities, and opens feeds. */
export class ChangesFeature implements Feature {
  private readonly notifier = new CommitNotifier();
  private readonly feeds = new Set<{ cutOff(): void }>();
  private stopRecording: (() => void) | undefined;

  constructor(private readonly context: FeatureContext) {}

  /** Registers the declarations. @throws UnsupportedError on entities whose changes the engine cannot record. */
  adopt({ entities }: AdoptedSchema): void {
    const { stored: engine } = this.context;
    const { commits } = engine;
    const kept = entities.filter(({ changesKept }) => changesKept !== undefined);
    if (commits === undefined) for (const entity of kept) checkRemote(entity);
    this.stopRecording?.();
    this.stopRecording = undefined;
    if (kept.length === 0 || commits === undefined) return;
    const recorder = new ChangeRecorder(kept, () => this.notifier.notify(), engine.maxCellSize);
    this.stopRecording = commits.record(recorder.tables, recorder);
  }

  /** The change intents of an entity on engines without commits. Undefined: it needs none. */
  intent(schema: EntitySchema): ChangeIntents | undefined {
    const { stored: engine } = this.context;
    const { changesKept: kept, changeMarks: marks } = schema;
    if (engine.commits !== undefined || kept === undefined || marks === undefined) return undefined;
    return new ChangeIntents({
      schema,
      marks,
      kept,
      table: canonicalTableName(schema.table.descriptor.name),
      log: this.log,
      now: () => engine.now(),
      onRecorded: () => this.notifier.notify(),
    });
  }

  private get log(): ChangeLog {
    const { stored } = this.context;
    return new ChangeLog(stored.table(CHANGES_TABLE), stored.capabilities.cellTtl);
  }

  /**
   * @throws UnsupportedError on an entity in another table than the declared one: its changes would not be recorded.
   */
  refuseElsewhere({ name, changesKept }: EntitySchema): void {
    if (changesKept === undefined) return;
    throw new UnsupportedError(
      `Changes of ${name} are recorded in its declared table only. Declare a class without \`changes\` for repositoryIn().`,
      { details: { entity: name } },
    );
  }

  watch<C extends KeyedClass>(
    targets: readonly KeyedClass[],
    prefix: unknown,
    options: WatchOptions,
  ): ChangeFeed<C> {
    if (this.context.stored.capabilities.readOnly === true) {
      throw new UnsupportedError(
        'A store that was opened with readOnly is told of no changes. Watch in the process that has it open, or read again ' +
          'after engine.refresh().',
      );
    }
    checkNames('watch', options, ['from', 'signal', 'settledAfter']);
    const settledAfter = checkSettled(options.settledAfter);
    const watched = targets.map((target) => this.watched(target, prefix));
    if (watched.length === 0) throw new QueryError('watch() needs an entity. Pass one class or several.');
    return new ChangeFeed<C>(
      {
        source: this.source(watched, settledAfter),
        decode: (commit) => this.changesOf(commit, watched) as Promise<readonly RowChange<C>[]>,
        open: this.feeds,
      },
      options,
    );
  }

  private source(watched: readonly Watched[], settledAfter: number): CommitSource {
    const { notifier } = this;
    const { stored: engine } = this.context;
    const kept = Math.min(...watched.map(({ schema }) => schema.changesKept!));
    const tables = [...new Set(watched.map(({ table }) => table))];
    const limitsFrom = <P>(from: P, order: PositionOrder<P>): Promise<KeyLimits<P>> =>
      KeyLimits.of(
        watched.map(({ schema }) => schema),
        this.context.keyChanges,
        order,
        from,
      );
    if (engine.commits !== undefined)
      return new CommitReader(engine, engine.commits, notifier, tables, kept, limitsFrom);
    const schemaOf = (table: string, row: Uint8Array): EntitySchema | undefined =>
      watched.find((one) => one.table === table && one.isWanted(row))?.schema;
    const isRetired = (schema: EntitySchema): Promise<boolean> => this.isRetired(schema);
    const reading = { engine, notifier, tables, kept, settledAfter, schemaOf, limitsFrom, isRetired };
    return new LogReader({ ...reading, log: this.log });
  }

  private async isRetired(schema: EntitySchema): Promise<boolean> {
    const changes = await this.context.keyChanges(schema);
    return changes.some(({ side, stage }) => side === 'old' && stage === 'over');
  }

  feedPosition({ changesKept }: EntitySchema): Promise<string> | undefined {
    if (changesKept === undefined) return undefined;
    const { stored: engine } = this.context;
    const { commits } = engine;
    if (commits !== undefined) return Promise.resolve(nowPosition(engine, commits));
    return newestPosition(engine, this.log);
  }

  /** Decides every change that its writer has not closed, while the rows still show the outcome. */
  async retire(schema: EntitySchema): Promise<void> {
    const { stored: engine } = this.context;
    const { changesKept: kept, changeMarks: marks } = schema;
    if (engine.commits !== undefined || kept === undefined) return;
    const { log } = this;
    const { name } = schema.table.descriptor;
    const where = { log, table: engine.table(name), marks: marks!, kept, isRetired: async () => true };
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      for await (const { number, entry, mark } of log.undecided(bucket, canonicalTableName(name))) {
        if (mark === undefined || entry === undefined || !schema.key.matches(entry.row)) continue;
        const change = { bucket, number, row: entry.row, mark };
        while (!(await decideChange(change, where, true)));
      }
    }
  }

  /** Changes that their writers have not closed. On the embedded engine there are none: an entry is in the commit itself. */
  async backlog(limit: number): Promise<readonly Metric[]> {
    const { stored: engine, declared } = this.context;
    const isRecorded = declared().entities.some(({ changesKept }) => changesKept !== undefined);
    if (engine.commits !== undefined || !isRecorded) return [];
    const { count, since } = await this.log.open(limit);
    return [
      {
        name: 'rowan.changes.open',
        kind: 'gauge',
        unit: '{change}',
        description: 'Recorded changes whose outcome is not in the change log yet',
        value: count,
      },
      {
        name: 'rowan.changes.open.age',
        kind: 'gauge',
        unit: 'ms',
        description: 'Age of the oldest of them',
        value: since === undefined ? 0 : Math.max(0, engine.now() - since),
      },
    ];
  }

  /** Ends all feeds: the database closes. Writes are recorded until the engine refuses them. */
  end(): void {
    for (const feed of [...this.feeds]) feed.cutOff();
  }

  private watched(target: KeyedClass, prefix: unknown): Watched {
    const schema = this.context.schemaOf(target);
    if (schema.changesKept === undefined) {
      throw new QueryError(
        `Changes of ${schema.name} are not recorded, so they cannot be watched. Declare it with changes: { keep: 7 * 24 * 3600_000 }.`,
        { details: { entity: schema.name } },
      );
    }
    const table = canonicalTableName(schema.table.descriptor.name);
    const access = this.context.access([schema]);
    const loader = new RowLoader(schema, access);
    const load = (row: Result) => recovering(access, () => loader.load(row));
    return { schema, table, isWanted: wantedRows(schema, prefix), load };
  }

  private async changesOf(
    { entries }: StoredCommit,
    watched: readonly Watched[],
  ): Promise<readonly unknown[]> {
    const changes: unknown[] = [];
    for (const { table, row, before, after } of entries) {
      const found = watched.find((one) => one.table === table && one.isWanted(row));
      if (found === undefined) continue;
      const was = await this.load(found, before);
      const is = await this.load(found, after);
      if (was === undefined && is === undefined) continue;
      const operation = was === undefined ? 'insert' : is === undefined ? 'delete' : 'update';
      const { target } = found.schema;
      changes.push({
        entity: target,
        key: keyValues(found.schema, is ?? was!),
        operation,
        before: was,
        after: is,
      });
    }
    return changes;
  }

  private async load({ schema, load }: Watched, stored: Result): Promise<object | undefined> {
    if (stored.isEmpty) return undefined;
    const result = this.context.declaredRow(schema.table.descriptor.name, stored);
    if (schema.key.dictionaries !== undefined) await loadTexts([schema.key], [result]);
    return (await load(result)) ?? undefined;
  }
}

/** Whether a row is of the entity and its key begins with the prefix. @throws KeyError, QueryError as `find`. */
function wantedRows(schema: EntitySchema, prefix: unknown): (row: Uint8Array) => boolean {
  const { name, key } = schema;
  const conditions = parseKeyConditions(name, key, prefix as Readonly<Record<string, unknown>>);
  if (Object.keys(conditions).length === 0) return (row) => key.matches(row);
  const { ranges, check, inexactParts } = key.plan(conditions);
  if (inexactParts.length > 0 || key.substitutions.length > 0) {
    throw new UnsupportedError(
      `watch: the key of ${name} does not show whether a row has this prefix, since it holds digests, time buckets or ids. Watch the whole entity, ` +
        'and filter the changes.',
      { details: { entity: name } },
    );
  }
  return (row) =>
    key.matches(row) &&
    ranges.some(
      ({ start, stop }) =>
        compareBytes(row, start) >= 0 && (stop === undefined || compareBytes(row, stop) < 0),
    ) &&
    (check === undefined || check(row));
}

/** @throws UnsupportedError on an entity whose rows do not show the outcome of a change. */
function checkRemote({ name, changeMarks, timeToLive }: EntitySchema): void {
  const details = { details: { entity: name } };
  if (changeMarks === undefined)
    throw new UnsupportedError(
      `${name} records changes, and declares no family for the marks that its rows need on HBase. Declare another family in its table, and name it: ` +
        "changes: { keep, marks: 'm' }.",
      details,
    );
  if (timeToLive.lifelong)
    throw new UnsupportedError(
      `${name} has both \`changes\` and a ttl, which HBase does not support together. Remove one of them there.`,
      details,
    );
}

/** Default time, ms, for which a feed waits for an undecided change. */
const PATIENCE = 10_000;

function checkSettled(settledAfter: unknown): number {
  if (settledAfter === undefined) return PATIENCE;
  if (typeof settledAfter === 'number' && settledAfter >= 0) return settledAfter;
  throw new InvalidArgumentError(
    `watch: settledAfter is ${describe(settledAfter)}. Give milliseconds, 0 or more.`,
  );
}

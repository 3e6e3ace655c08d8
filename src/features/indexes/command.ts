import type { Command } from 'commander';
import { toHex } from '../../bytes/index.js';
import { PLACE, runOptions } from '../../cli/commands/tools.js';
import { type CliContext, CliExit, withProgress } from '../../cli/context.js';
import { withDatabase, withEngines } from '../../cli/databases.js';
import { entityNamed, loadSchema } from '../../cli/load-entities.js';
import type { Database, OpenOptions } from '../../database.js';
import type { StoredIndexes } from '../../ddl/plan/types.js';
import { InvalidArgumentError } from '../../errors.js';
import type { JobOutcome, JobRunOptions } from '../../job/types.js';
import type { KeyedClass } from '../../schema/entity-types.js';
import type { Schema } from '../../schema/index.js';
import type { EntitySchema, IndexSchema } from '../../schema/types.js';
import { literalOf } from '../../table/checks.js';
import type { Engine } from '../../table/index.js';
import { indexTableName } from './entry.js';
import type { IndexHandle } from './handle.js';
import { removeIndex } from './jobs/index-jobs.js';
import type { IndexReport, SharedValue } from './jobs/target.js';
import { readIndexes, undeclaredIndexes } from './states.js';

interface IndexFlags {
  readonly rate?: string;
  readonly bytesRate?: string;
  readonly parallel?: string;
  readonly restart?: boolean;
  readonly json?: boolean;
  readonly progress?: boolean;
  readonly sample?: string;
  readonly undeclared?: boolean;
}

/** An index that the command line selects. */
interface Chosen {
  readonly entity: EntitySchema;
  readonly index: IndexSchema;
}

/** `rowan index list|build|verify|repair|drop`: the secondary indexes of entities (docs/indexes.md). */
export function addIndexCommands(program: Command, context: CliContext): void {
  const commands = program
    .command('index')
    .description('Lists, builds, verifies, repairs, drains and drops secondary indexes.');
  named(commands, 'list', 'Prints declared and stored indexes and their states. Changes nothing.')
    .argument('[entity]', 'only this entity')
    .action((module: string, place: string, entity: string | undefined, flags: IndexFlags) =>
      list(context, module, place, entity, flags),
    );
  job(commands, 'build', 'Writes the entries of every row; then queries use the index.')
    .argument('[entity]', 'only this entity')
    .argument('[name]', 'build this index even if it is active; default: all that are not')
    .action((module: string, place: string, entity?: string, name?: string, flags: IndexFlags = {}) =>
      work(context, { module, place, entity, name, flags, tables: 'create' }, (handle, run) =>
        name === undefined && handle.state === 'active' ? undefined : handle.build(run).then(countsOf),
      ),
    );
  check(commands, context, 'verify', 'Compares rows with entries; exit code 1 if any entry is wrong.');
  check(commands, context, 'repair', 'Like verify, and corrects every wrong entry.');
  named(commands, 'drain', 'Writes the pending entries of eventual indexes.')
    .argument('[entity]', 'only this entity')
    .argument('[name]', 'only this index; default: all eventual ones')
    .action((module: string, place: string, entity?: string, name?: string, flags: IndexFlags = {}) =>
      work(context, { module, place, entity, name, flags, tables: 'verify' }, (handle) =>
        name === undefined && !handle.eventual
          ? undefined
          : handle.drain().then((entries) => ({ counts: { entries }, well: true })),
      ),
    );
  job(commands, 'drop', 'Removes the entries of an index, which queries cannot use until it is built again.')
    .argument('<entity>', "the entity's name")
    .argument('<name>', "the index's name")
    .option(
      '--undeclared',
      'an index of this name that is no longer declared, or was built with another declaration',
    )
    .action((module: string, place: string, entity: string, name: string, flags: IndexFlags) =>
      flags.undeclared === true
        ? dropUndeclared(context, module, place, entity, name, flags)
        : work(context, { module, place, entity, name, flags, tables: 'create' }, (handle, run) =>
            handle.drop(run).then(countsOf),
          ),
    );
}

function named(parent: Command, name: string, description: string): Command {
  return parent
    .command(name)
    .description(description)
    .argument('<entities>', 'path of the compiled module of the entities')
    .argument('<place>', PLACE)
    .option('--json', 'print the result as JSON');
}

function job(parent: Command, name: string, description: string): Command {
  return named(parent, name, description)
    .option('--rate <rows>', 'limit in rows per second')
    .option('--bytes-rate <bytes>', 'limit in bytes per second')
    .option('--parallel <n>', 'splits processed in parallel; default 4')
    .option('--restart', 'start over, even if an earlier run did not finish')
    .option('--no-progress', 'do not show a progress bar');
}

function check(
  commands: Command,
  context: CliContext,
  doing: 'verify' | 'repair',
  description: string,
): void {
  job(commands, doing, description)
    .argument('[entity]', 'only this entity')
    .argument('[name]', 'only this index')
    .option('--sample <share>', 'check only a share of the rows and entries: 1%, or 0.01')
    .action((module: string, place: string, entity?: string, name?: string, flags: IndexFlags = {}) => {
      const sample = flags.sample === undefined ? 1 : shareOf(flags.sample);
      const tables = doing === 'repair' ? 'create' : 'verify';
      return work(context, { module, place, entity, name, flags, tables }, async (handle, run) => {
        const report = await handle[doing]({ sample, run });
        const { shared, ...counts } = report;
        return { counts, well: isWell(report), shared: shared.length === 0 ? undefined : shared };
      });
    });
}

/** The printed result for one index. `well`: nothing is left to repair. */
interface Printed {
  readonly counts: Readonly<Record<string, number>>;
  readonly well: boolean;
  /** Entities that share a value of a unique index. */
  readonly shared?: readonly SharedValue[] | undefined;
  /** JSON only: whether an earlier run had done part of it. */
  readonly resumed?: boolean;
}

function countsOf({ counters, resumed }: JobOutcome): Printed {
  return { counts: counters, well: true, resumed };
}

function isWell({ missing, extra, stale, unverified, repaired }: IndexReport): boolean {
  return missing + extra + stale + unverified <= repaired;
}

interface Work {
  readonly module: string;
  readonly place: string;
  readonly entity: string | undefined;
  readonly name: string | undefined;
  readonly flags: IndexFlags;
  readonly tables: OpenOptions['tables'];
}

/** Runs a job for each selected index, one after another, and prints the results. */
async function work(
  context: CliContext,
  { module, place, entity, name, flags, tables }: Work,
  does: (handle: IndexHandle, run: JobRunOptions) => Promise<Printed> | undefined,
): Promise<void> {
  const schema = await loadSchema(module);
  const chosen = choose(schema, entity, name);
  const run = runFlags(flags);
  const well = await withDatabase(place, schema, { tables }, async (db) => {
    let all = true;
    const printed: object[] = [];
    for (const { entity, index } of chosen) {
      const handle = handleOf(db, entity, index);
      const outcome = await withProgress(flags, async (onProgress) =>
        does(handle, onProgress === undefined ? run : { ...run, onProgress }),
      );
      if (outcome === undefined) continue;
      const { counts, well, resumed, shared } = outcome;
      all &&= well;
      const named = shared?.map(({ key, holder }) => ({ key: literalOf(key), holder: literalOf(holder) }));
      const head = { entity: entity.name, index: index.name, state: handle.state, resumed, shared: named };
      if (flags.json === true) printed.push({ ...head, counters: counts });
      else printCounts(context, `${entity.name}.${index.name}`, counts);
      for (const { key, holder } of flags.json === true ? [] : (named ?? [])) {
        context.write(`${entity.name} ${key} has the values of ${holder}: change or delete one.\n`);
      }
    }
    if (flags.json === true) context.write(`${JSON.stringify(printed)}\n`);
    return all;
  });
  if (!well) throw new CliExit(1);
}

function handleOf(db: Database, entity: EntitySchema, index: IndexSchema): IndexHandle {
  return db.index(entity.target as KeyedClass, index.name as never);
}

function printCounts(context: CliContext, index: string, counts: Readonly<Record<string, number>>): void {
  for (const [name, sum] of Object.entries(counts)) context.write(`${index}\t${name}\t${sum}\n`);
}

/** @throws InvalidArgumentError when no such entity or index is declared, or none at all. */
function choose(schema: Schema, entity: string | undefined, name: string | undefined): Chosen[] {
  const entities = entity === undefined ? schema.entities : [entityNamed(schema, entity)];
  const all = entities.flatMap((one) => one.indexes.map((index): Chosen => ({ entity: one, index })));
  const chosen = name === undefined ? all : all.filter(({ index }) => index.name === name);
  if (chosen.length > 0) return chosen;
  const known = all.map(({ index }) => index.name).join(', ');
  throw new InvalidArgumentError(
    `${entity ?? 'The module'} has no ${name === undefined ? 'index' : `index "${name}"`}.${known === '' ? ' Declare one: static readonly indexes = { name: index(…) }.' : ` It has ${known}.`}`,
  );
}

function runFlags(flags: IndexFlags): JobRunOptions {
  const { bytesRate } = flags;
  const run = runOptions(flags, undefined);
  return bytesRate === undefined ? run : { ...run, bytesPerSecond: positive('--bytes-rate', bytesRate) };
}

function positive(flag: string, text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError(`${flag} takes a number above 0, not "${text}".`);
}

/** Parses a share: 1% or 0.01. */
function shareOf(text: string): number {
  const percent = text.endsWith('%');
  const value = Number(percent ? text.slice(0, -1) : text) / (percent ? 100 : 1);
  if (/\d/.test(text) && value > 0 && value <= 1) return value;
  throw new InvalidArgumentError(`--sample takes a share up to 100%, like 1% or 0.01, not "${text}".`);
}

/** A stored index with its declaration. */
interface Listed {
  readonly entity: string;
  readonly index: string;
  readonly id: string;
  readonly declared: boolean;
  /** `new`: declared, and not yet stored by any program. */
  readonly state: string;
  readonly unique?: boolean;
  readonly parts?: readonly string[];
  readonly include?: readonly string[];
}

async function list(
  context: CliContext,
  module: string,
  place: string,
  entity: string | undefined,
  flags: IndexFlags,
): Promise<void> {
  const schema = await loadSchema(module);
  const entities = entity === undefined ? schema.entities : [entityNamed(schema, entity)];
  await withEngines([{ place }], async ([engine]) => {
    const listed: Listed[] = [];
    for (const one of entities) listed.push(...(await listEntity(engine!, one)));
    if (flags.json === true) context.write(`${JSON.stringify(listed)}\n`);
    else for (const one of listed) context.write(`${describeIndex(one)}\n`);
  });
}

async function listEntity(engine: Engine, entity: EntitySchema): Promise<Listed[]> {
  const stored = await storedOf(engine, entity);
  const declared = entity.indexes.map(
    (index): Listed => ({
      entity: entity.name,
      index: index.name,
      id: toHex(index.id),
      declared: true,
      state: stored.get(toHex(index.id))?.state ?? 'new',
      unique: index.unique,
      parts: index.parts,
      include: index.included.map(({ property }) => property),
    }),
  );
  const others = undeclaredIndexes([entity], stored).map(
    ([id, { index, state }]): Listed => ({ entity: entity.name, index, id, declared: false, state }),
  );
  return [...declared, ...others];
}

function describeIndex({ entity, index, state, declared, unique, parts, include }: Listed): string {
  const what = declared
    ? `${unique ? 'unique ' : ''}(${parts!.join(', ')})${include!.length === 0 ? '' : ` with ${include!.join(', ')}`}`
    : 'declared differently';
  return `${entity}.${index}\t${state}\t${what}`;
}

/** The indexes of the entity in the metadata of its index table, by id in hex. */
async function storedOf({ admin }: Engine, { name, table }: EntitySchema): Promise<StoredIndexes> {
  const stored = await readIndexes(admin, [table.descriptor.name]);
  return new Map([...stored.get(table.descriptor.name)!].filter(([, { entity }]) => entity === name));
}

/** Removes the entries of indexes that are no longer declared, and their metadata. */
async function dropUndeclared(
  context: CliContext,
  module: string,
  place: string,
  entityName: string,
  name: string,
  flags: IndexFlags,
): Promise<void> {
  const entity = entityNamed(await loadSchema(module), entityName);
  const run = runFlags(flags);
  await withEngines([{ place }], async ([engine]) => {
    const old = undeclaredIndexes([entity], await storedOf(engine!, entity)).filter(
      ([, { index }]) => index === name,
    );
    if (old.length === 0) {
      throw new InvalidArgumentError(`No index "${name}" of ${entityName} is stored without being declared.`);
    }
    const table = indexTableName(entity.table.descriptor.name);
    let removed = 0;
    for (const [id] of old) {
      const { counters } = await withProgress(flags, (onProgress) =>
        removeIndex(engine!, table, id, onProgress === undefined ? run : { ...run, onProgress }),
      );
      removed += counters['removed'] ?? 0;
    }
    if (flags.json === true) {
      context.write(`${JSON.stringify([{ entity: entityName, index: name, counters: { removed } }])}\n`);
    } else printCounts(context, `${entityName}.${name}`, { removed });
  });
}

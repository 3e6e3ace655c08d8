/**
 * Deploys migrations, and says which a database has (docs/migrations.md).
 *
 * Every step is planned from the tables as they are, and carried out only where a migration has it. So a step that is
 * done is never done twice, and a process that is killed leaves nothing but steps that the next one finds undone. One
 * process at a time deploys: the schema lock holds back all others.
 */

import { RowanError, SchemaError } from '../../errors.js';
import {
  type Applicable,
  refuse,
  type SchemaSession,
  type SessionOptions,
  underSchemaLock,
} from '../apply/apply.js';
import { ControlTable, controlTableDescriptor, type Kept, migrationRow } from '../apply/control-table.js';
import { revertedSet } from '../plan/table-steps.js';
import { type Allowance, admit, type SchemaPlan, type SchemaState, type SchemaStep } from '../plan/types.js';
import { type BackOut, backOutsOf, isAllowed, type Migration, NO_TABLES } from './migration-files.js';

/** The database to migrate. */
export interface MigrationTarget extends Applicable {
  /** The tables as they are. */
  readonly state: () => Promise<SchemaState>;
  /** The names of the declared tables. */
  readonly declaredTables: () => readonly string[];
  /** What is declared and must be built, and no step builds, each a sentence. */
  readonly unbuilt: () => Promise<readonly string[]>;
  /** Whether the declarations are those of a snapshot, and the steps from it to them. */
  readonly differenceFrom: (snapshot: string) => Promise<SnapshotDifference>;
}

export interface SnapshotDifference {
  readonly same: boolean;
  readonly steps: readonly SchemaStep[];
}

/** The record of a migration in the table `rowan_schema`. */
interface MigrationRecord {
  readonly name: string;
  readonly checksum: string;
  /** The declared tables after it. Undefined in records of earlier releases. */
  readonly tables?: readonly string[];
  /** `running` while it is deployed, and when that process was killed; `undone` after `undo`. */
  readonly state: 'running' | 'done' | 'undone';
  /** Milliseconds since 1970. */
  readonly begun: number;
  readonly ended?: number;
  readonly by: string;
  /** Ids of steps that it does not allow. */
  readonly held: readonly string[];
}

export interface MigrationState {
  readonly name: string;
  /**
   * `applied`; `pending`: not deployed yet, or undone; `unfinished`: a process was killed while it deployed it;
   * `changed`: its files are not those that were deployed; `missing`: it was deployed, and the folder has no such
   * migration.
   */
  readonly state: 'applied' | 'pending' | 'unfinished' | 'changed' | 'missing';
  /** When it was deployed, in ms since 1970; undefined for those that never were. */
  readonly at?: number;
  /** By whom: `user@host`. */
  readonly by?: string;
}

export interface MigrationStatus {
  /** In the order of their names. */
  readonly migrations: readonly MigrationState[];
  /** Whether the declarations are those of the last migration. If not, `rowan migrate dev` makes one. */
  readonly declared: boolean;
  /**
   * Steps between the tables and the declarations that no pending migration has, and the next one would not: tables were changed in
   * another way.
   */
  readonly drift: readonly SchemaStep[];
  /** Steps that migrations have and do not allow. */
  readonly held: readonly SchemaStep[];
  /** Differences for which there is no step, each a sentence. */
  readonly contradictions: readonly string[];
  /** What migrations do not build and must be built before it can be read, as summaries, each a sentence with the command. */
  readonly unbuilt: readonly string[];
  /** Whether nothing is pending, unfinished, changed, missing or to be built, and nothing drifted. */
  readonly upToDate: boolean;
}

export interface DeployedMigrations {
  /** The migrations that were deployed by this call, oldest first. */
  readonly applied: readonly string[];
  /** The steps that were carried out. */
  readonly done: readonly SchemaStep[];
  /** As they are afterwards. */
  readonly status: MigrationStatus;
}

/** How migrations are deployed and undone. */
export interface DeployOptions extends SessionOptions {
  /** Whether to run major compactions on families whose files must be rewritten. Default true. */
  readonly compact?: boolean;
}

/** The records of this program, by the names of the migrations, in their order. */
type Records = ReadonlyMap<string, Kept<MigrationRecord>>;

/** Compares the migrations of a folder with those of a database, and its tables with the declarations. Changes nothing. */
export async function migrationStatus(
  target: MigrationTarget,
  migrations: readonly Migration[],
): Promise<MigrationStatus> {
  const { name } = controlTableDescriptor();
  const exists = await target.engine.admin.tableExists(name);
  const records = exists
    ? await readRecords(new ControlTable(target.engine.table(name)), target, migrations)
    : new Map();
  return statusOf(target, migrations, records);
}

/**
 * Other programs may have migrations of their own on the same engine: their records have none of the tables of this
 * folder and these declarations.
 */
async function readRecords(
  control: ControlTable,
  target: MigrationTarget,
  migrations: readonly Migration[],
): Promise<Records> {
  const own = new Set([...target.declaredTables(), ...migrations.flatMap(tablesOf)]);
  const checksums = new Set(migrations.map(({ checksum }) => checksum));
  const found = await control.migrations<MigrationRecord>();
  return new Map(
    found
      .filter(
        ({ value: { tables, checksum } }) =>
          tables === undefined || checksums.has(checksum) || tables.some((table) => own.has(table)),
      )
      .map((kept) => [kept.value.name, kept]),
  );
}

/** The declared tables after a migration. */
function tablesOf({ snapshot }: Migration): string[] {
  const { tables } = JSON.parse(snapshot) as { readonly tables: readonly { readonly name: string }[] };
  return tables.map(({ name }) => name);
}

async function statusOf(
  target: MigrationTarget,
  migrations: readonly Migration[],
  records: Records,
): Promise<MigrationStatus> {
  const states = statesOf(migrations, records);
  const last = migrations.at(-1);
  const { steps, contradictions } = await target.plan();
  const pending = pendingOf(migrations, records);
  const owner = (step: SchemaStep): Migration | undefined =>
    migrations.findLast((each) => each.steps.some(({ id }) => id === step.id));
  const next = await target.differenceFrom(last?.snapshot ?? NO_TABLES);
  const ofNext = new Set(next.steps.map(({ id }) => id));
  const open = steps.filter((step) => {
    const migration = owner(step);
    return !ofNext.has(step.id) && (migration === undefined || !pending.includes(migration));
  });
  // A compaction is planned for options that are held back, too; it is nothing of its own.
  const isHeld = (step: SchemaStep): boolean => {
    const migration = owner(step);
    return migration !== undefined && !isAllowed(step, migration.allow);
  };
  const held = steps.filter(isHeld);
  const heldPlaces = new Set(held.map(({ table, family }) => `${table}/${family}`));
  const drift = open.filter(
    (step) => !isHeld(step) && !(step.kind === 'compact' && heldPlaces.has(`${step.table}/${step.family}`)),
  );
  const declared = last !== undefined && next.same;
  const unbuilt = await target.unbuilt();
  return {
    migrations: states,
    declared,
    drift,
    held,
    contradictions: contradictions.map(({ table, message }) => `Table "${table}": ${message}`),
    unbuilt,
    upToDate:
      declared &&
      [drift, contradictions, unbuilt].every(({ length }) => length === 0) &&
      states.every(({ state }) => state === 'applied'),
  };
}

function statesOf(migrations: readonly Migration[], records: Records): MigrationState[] {
  const states = migrations.map(({ name, checksum }): MigrationState => {
    const record = records.get(name)?.value;
    if (record === undefined || record.state === 'undone') return { name, state: 'pending' };
    const { begun, ended = begun, by } = record;
    if (record.state === 'running') return { name, state: 'unfinished', at: begun, by };
    return { name, state: record.checksum === checksum ? 'applied' : 'changed', at: ended, by };
  });
  const known = new Set(migrations.map(({ name }) => name));
  const missing = [...records.values()]
    .filter(({ value }) => !known.has(value.name) && value.state !== 'undone')
    .map(
      ({ value: { name, ended, by } }): MigrationState => ({
        name,
        state: 'missing',
        ...(ended !== undefined && { at: ended }),
        by,
      }),
    );
  return [...states, ...missing].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function pendingOf(migrations: readonly Migration[], records: Records): Migration[] {
  return migrations.filter(({ name }) => records.get(name)?.value.state !== 'done');
}

/**
 * Deploys the pending migrations, in order. Deploying again does nothing.
 * @throws SchemaError when a migration was changed after it was deployed or is missing, when the declarations are not
 * those of the last migration, or on contradictions; nothing is deployed then. RowanError `ERR_LOCKED` when another
 * process deploys for longer than `lockWaitMs`. If a step fails, its error is thrown, and deploying again continues.
 */
export async function deployMigrations(
  target: MigrationTarget,
  migrations: readonly Migration[],
  options: DeployOptions = {},
): Promise<DeployedMigrations> {
  return underSchemaLock(target, options, async (session) => {
    let records = await readRecords(session.control, target, migrations);
    const pending = pendingOf(migrations, records);
    await refuseMigrations(target, migrations, records);
    const done: SchemaStep[] = [];
    for (const [at, migration] of pending.entries()) {
      const plan = await target.plan();
      if (at === 0) refuse(plan, undefined);
      const later = idsOf(pending.slice(at + 1));
      done.push(...(await deployOne(session, plan, migration, later, records.get(migration.name), options)));
    }
    records = await readRecords(session.control, target, migrations);
    const status = await statusOf(target, migrations, records);
    return { applied: pending.map(({ name }) => name), done, status };
  });
}

async function refuseMigrations(
  target: MigrationTarget,
  migrations: readonly Migration[],
  records: Records,
): Promise<void> {
  const wrong = statesOf(migrations, records).filter(
    ({ state }) => state === 'changed' || state === 'missing',
  );
  if (wrong.length > 0) {
    const lines = wrong.map(({ name, state }) =>
      state === 'missing'
        ? `${name} was deployed, but the folder does not have it`
        : `${name} was changed after it was deployed`,
    );
    throw new SchemaError(
      `Nothing was deployed: ${lines.join('; ')}. Restore the files from the repository; new changes belong into a new migration (rowan migrate dev).`,
      lines,
    );
  }
  const last = migrations.at(-1);
  if (last === undefined || (await target.differenceFrom(last.snapshot)).same) return;
  throw new SchemaError(
    `Nothing was deployed: the declarations differ from the last migration, ${last.name}. Make a migration of the difference with rowan migrate dev, or deploy with the module for which it was made.`,
  );
}

const idsOf = (migrations: readonly Migration[]): Set<string> =>
  new Set(migrations.flatMap(({ steps }) => steps.map(({ id }) => id)));

/** Carries out what is still to do of a migration, but for steps that a later one has, too: that one says what is allowed. */
async function deployOne(
  session: SchemaSession,
  plan: SchemaPlan,
  migration: Migration,
  later: ReadonlySet<string>,
  before: Kept<MigrationRecord> | undefined,
  { compact }: DeployOptions,
): Promise<readonly SchemaStep[]> {
  const { control, by } = session;
  const { name, checksum } = migration;
  const own = idsOf([migration]);
  const mine = plan.steps.filter(({ id }) => own.has(id) && !later.has(id));
  const losses = new Set(
    mine.filter((step) => step.class === 'data-loss').map(({ id }) => `data-loss:${id}`),
  );
  const allow = migration.allow.filter((each) => !each.startsWith('data-loss:') || losses.has(each));
  const { admitted, held } = admit({ steps: mine }, allow);
  const steps = compact === false ? admitted.filter(({ kind }) => kind !== 'compact') : admitted;
  const begun: MigrationRecord = {
    name,
    checksum,
    tables: tablesOf(migration),
    state: 'running',
    begun: Date.now(),
    by,
    held: held.map(({ id }) => id),
  };
  await session.check();
  const kept = await record(control, before, begun);
  await session.run({ plan: checksum, migration: name, steps, held });
  await session.check();
  await record(control, kept, { ...begun, state: 'done', ended: Date.now() });
  return steps;
}

async function record(
  control: ControlTable,
  before: Kept<MigrationRecord> | undefined,
  value: MigrationRecord,
): Promise<Kept<MigrationRecord>> {
  const row = before?.row ?? (await freeRow(control, value));
  const kept = await control.change(row, before, value);
  if (kept !== undefined) return kept;
  throw new RowanError(
    'ERR_LOCKED',
    `The record of ${value.name} was written by another process, which took over the schema lock. Deploy again.`,
    { retryable: true },
  );
}

/** The row of a new record: the short one, unless another program has a migration of this name. */
async function freeRow(control: ControlTable, { name, tables }: MigrationRecord): Promise<Uint8Array> {
  const row = migrationRow(name);
  return (await control.read(row)) === undefined ? row : migrationRow(name, tables);
}

export interface UndoneMigration {
  readonly name: string;
  /** The steps that undid its steps. */
  readonly done: readonly SchemaStep[];
  /** Back-outs that lose data and were not allowed. */
  readonly held: readonly SchemaStep[];
  /** Steps without a back-out, each with the reason. */
  readonly kept: readonly string[];
}

/** How a migration is undone. */
export interface UndoOptions extends SessionOptions {
  /** Costly back-outs that are allowed, as in `apply`. */
  readonly allow?: readonly Allowance[];
}

/**
 * Undoes the migration that was deployed last, as far as its steps have back-outs: options get their earlier values,
 * indexes that it built are dropped, and with an allowance families that it added. It is pending afterwards. Undefined:
 * none is deployed.
 * @throws SchemaError when its files were changed or are missing; RowanError `ERR_LOCKED`.
 */
export async function undoMigration(
  target: MigrationTarget,
  migrations: readonly Migration[],
  options: UndoOptions = {},
): Promise<UndoneMigration | undefined> {
  return underSchemaLock(target, options, async (session) => {
    const records = await readRecords(session.control, target, migrations);
    const last = [...records.values()].findLast(({ value }) => value.state !== 'undone');
    if (last === undefined) return undefined;
    const { name, checksum } = last.value;
    const migration = migrations.find((each) => each.name === name);
    if (migration?.checksum !== checksum) {
      const what = migration === undefined ? 'is missing in the folder' : 'was changed after it was deployed';
      throw new SchemaError(`Nothing was undone: ${name} ${what}. Restore its files from the repository.`);
    }
    const state = await target.state();
    const outs = backOutsOf(migration.steps).map((out) => ({ out, undo: undoStep(state, out) }));
    const undone = outs.flatMap(({ undo }) => (undo === undefined ? [] : [undo]));
    const allow = (options.allow ?? []).filter(
      (each) => !each.startsWith('data-loss:') || undone.some(({ id }) => each === `data-loss:${id}`),
    );
    const { admitted, held } = admit({ steps: undone }, allow);
    await session.run({ plan: checksum, migration: name, undo: true, steps: admitted, held });
    await session.check();
    await record(session.control, last, { ...last.value, state: 'undone', ended: Date.now() });
    const kept = outs.flatMap(({ out, undo }) => {
      if (undo === undefined && last.value.held.includes(out.step.id)) {
        return [`${out.step.id}: nothing to undo, the migration did not allow it`];
      }
      if (out.kind === 'none') return [`${out.step.id}: ${out.why}`];
      return undo === undefined ? [`${out.step.id}: nothing to undo, the table has another value`] : [];
    });
    return { name, done: admitted, held, kept };
  });
}

/** The step that undoes another one. Undefined: it has no back-out, or the tables do not have what it made. */
function undoStep({ tables, indexes }: SchemaState, out: BackOut): SchemaStep | undefined {
  const { table, family, option } = out.step;
  const live = tables.get(table)?.descriptor;
  if (live === undefined || out.kind === 'none') return undefined;
  if (out.kind === 'set') return revertedSet(live, out.step);
  if (out.kind === 'drop-family') {
    const from = live.families.find(({ name }) => name === family);
    if (from === undefined) return undefined;
    return {
      id: `drop-family:${table}/${family}`,
      kind: 'drop-family',
      class: 'data-loss',
      why: 'The migration added the family; dropping it deletes all of its cells.',
      table,
      family: from.name,
      from,
    };
  }
  const stored = [...(indexes?.get(table) ?? [])].find(
    ([, { entity, index }]) => `${entity}.${index}` === option,
  );
  if (stored === undefined) return undefined;
  const [id, { state }] = stored;
  return {
    id: `drop-index:${table}/${option}/${id}`,
    kind: 'drop-index',
    class: 'online',
    why: 'The migration built the index; its entries are removed. A later migration can build it again.',
    table,
    option: id,
    from: state,
  };
}

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import type { SchemaTools } from '../../database/schema-tools.js';
import { Database } from '../../database.js';
import {
  type Allowance,
  allowanceOf,
  type DeployedMigrations,
  type MigrationStatus,
  type SchemaStep,
} from '../../ddl/index.js';
import { InvalidArgumentError } from '../../errors.js';
import { type CliContext, CliExit } from '../context.js';
import { type EngineTarget, isServer, looking, requireStoreAt, withEngines } from '../databases.js';
import { loadSchema } from '../load-entities.js';

const PLACE = 'the folder of an embedded store, hbase:host:port,host:port, or bigtable:project/instance';
const MODULE = 'path of the compiled module that exports the entities';

interface MigrateFlags {
  readonly dir: string;
  readonly json?: boolean;
}

interface DeployFlags extends MigrateFlags {
  readonly create?: boolean;
  readonly compact: boolean;
  readonly wait?: string;
}

interface DevFlags extends MigrateFlags {
  readonly name?: string;
  readonly allow: readonly Allowance[];
  readonly createOnly?: boolean;
  readonly yes?: boolean;
}

interface UndoFlags extends MigrateFlags {
  readonly allow: readonly Allowance[];
  readonly yes?: boolean;
}

/** `rowan migrate dev|status|deploy|undo`: plans as files in the repository, and where they are deployed (docs/migrations.md). */
export function addMigrateCommand(program: Command, context: CliContext): void {
  const migrate = program
    .command('migrate')
    .description(
      'Makes migrations from declarations, and deploys them: plans as reviewed files in the repository.',
    );
  of(migrate.command('dev'))
    .description(
      'Makes a migration of what changed in the declarations, and deploys it on a development store.',
    )
    .option('--name <name>', 'what the migration is about; default: its first step')
    .option('--create-only', 'write the files and deploy nothing')
    .option('--yes', 'deploy on a server')
    .option(...ALLOW)
    .action((module: string, place: string, flags: DevFlags) => dev(module, place, flags, context));
  of(migrate.command('status'))
    .description(
      'Prints which migrations are deployed, and what drifted; exit code 1 if there is anything to do.',
    )
    .action((module: string, place: string, flags: MigrateFlags) =>
      withTools(module, place, { readOnly: looking(context) }, async (tools) => {
        const status = await tools.migrationStatus(flags.dir);
        context.write(flags.json === true ? asJson(idsIn(status)) : describeStatus(status, flags.dir));
        if (!status.upToDate) throw new CliExit(1);
      }),
    );
  of(migrate.command('deploy'))
    .description('Deploys the pending migrations, in order. May be killed, and run twice.')
    .option('--create', 'create the store if it is missing')
    .option('--no-compact', 'leave major compactions to the server')
    .option('--wait <ms>', 'milliseconds to wait for the lock of another process; default 60000')
    .action(async (module: string, place: string, flags: DeployFlags) => {
      const mayMake = flags.create === true;
      if (!mayMake && !isServer(place))
        await requireStoreAt(place, 'Check the path, or begin a new store with --create.');
      await withTools(module, place, { mayMake }, (tools) => deploy(tools, flags, context));
    });
  of(migrate.command('undo'))
    .description('Undoes the migration that was deployed last, as far as its steps have back-outs.')
    .option('--yes', 'undo on a server')
    .option(...ALLOW)
    .action((module: string, place: string, flags: UndoFlags) => undo(module, place, flags, context));
}

const ALLOW: [string, string, (what: string, all: Allowance[]) => Allowance[], Allowance[]] = [
  '--allow <what>',
  'meaning, offline, or data-loss:ID of a step; may be repeated',
  (what, all) => [...all, what as Allowance],
  [],
];

function of(command: Command): Command {
  return command
    .argument('<module>', MODULE)
    .argument('<place>', PLACE)
    .option('--dir <folder>', 'the folder of the migrations', 'migrations')
    .option('--json', 'as JSON');
}

async function withTools(
  module: string,
  place: string,
  how: Omit<EngineTarget, 'place'>,
  use: (tools: SchemaTools) => Promise<unknown>,
): Promise<void> {
  const schema = await loadSchema(module);
  await withEngines([{ place, ...how }], ([engine]) => use(new Database(schema, engine!, 'ignore').schema));
}

async function dev(module: string, place: string, flags: DevFlags, context: CliContext): Promise<void> {
  const { dir, name, allow, createOnly, yes, json } = flags;
  if (createOnly !== true) requireYes(place, yes, 'dev');
  await withTools(module, place, { mayMake: true }, async (tools) => {
    const made = await tools.makeMigration(dir, { allow, ...(name !== undefined && { title: name }) });
    if (json !== true) {
      if (made === undefined) context.write('The declarations are those of the last migration.\n');
      else {
        context.write(`${join(dir, made.name)}\n`);
        context.write(readFileSync(join(dir, made.name, 'plan.txt'), 'utf8'));
      }
    }
    if (createOnly === true) {
      if (json === true) context.write(asJson({ made: made?.name }));
      return;
    }
    await deploy(tools, { ...flags, compact: true }, context, made?.name);
  });
}

function requireYes(place: string, yes: boolean | undefined, command: string): void {
  if (!isServer(place) || yes === true) return;
  throw new InvalidArgumentError(
    `rowan migrate ${command} changes ${place}, which others may use. Add --yes, or name the folder of a development store.`,
  );
}

async function deploy(
  tools: SchemaTools,
  { dir, json, compact, wait }: DeployFlags,
  context: CliContext,
  made?: string,
): Promise<void> {
  const deployed: DeployedMigrations = await tools.deploy(dir, {
    compact,
    ...(wait !== undefined && { lockWaitMs: Number(wait) }),
    onStep: ({ id }) => {
      if (json !== true) context.write(`done ${id}\n`);
    },
  });
  const { applied, done, status } = deployed;
  if (json === true)
    context.write(
      asJson({ ...(made !== undefined && { made }), applied, done: idsOf(done), status: idsIn(status) }),
    );
  else {
    for (const name of applied) context.write(`deployed ${name}\n`);
    if (status.migrations.length === 0) context.write(noMigration(dir));
    else if (applied.length === 0) context.write('No migration is pending.\n');
    context.write(describeSteps(status));
  }
  if (!status.declared || status.drift.length + status.contradictions.length > 0) throw new CliExit(1);
}

async function undo(module: string, place: string, flags: UndoFlags, context: CliContext): Promise<void> {
  const { dir, allow, yes, json } = flags;
  requireYes(place, yes, 'undo');
  await withTools(module, place, {}, async (tools) => {
    const undone = await tools.undoMigration(dir, { allow });
    if (json === true) {
      context.write(asJson(undone && { ...undone, done: idsOf(undone.done), held: idsOf(undone.held) }));
      return;
    }
    if (undone === undefined) {
      context.write('No migration is deployed.\n');
      return;
    }
    for (const { id } of undone.done) context.write(`done ${id}\n`);
    for (const step of undone.held)
      context.write(`held ${step.id}  waits for --allow ${allowanceOf(step)}\n`);
    for (const line of undone.kept) context.write(`kept ${line}\n`);
    context.write(`undone ${undone.name}\n`);
  });
}

const noMigration = (dir: string): string =>
  `There is no migration in ${dir}. Make one with rowan migrate dev.\n`;

function describeStatus(status: MigrationStatus, dir: string): string {
  const lines = status.migrations.map(({ name, state, at, by }) =>
    [name, state, at === undefined ? '' : new Date(at).toISOString(), by ?? ''].join('  ').trimEnd(),
  );
  const are = (...states: readonly string[]): boolean =>
    status.migrations.some(({ state }) => states.includes(state));
  if (are('unfinished'))
    lines.push('A process ended while it deployed a migration. rowan migrate deploy continues it.');
  if (are('changed', 'missing'))
    lines.push('Files are not those that were deployed. Restore them from the repository.');
  else if (status.migrations.length > 0 && !status.declared)
    lines.push('The declarations differ from the last migration. Make one with rowan migrate dev.');
  const first = status.migrations.length === 0 ? noMigration(dir) : `${lines.join('\n')}\n`;
  const text = `${first}${describeSteps(status)}`;
  return status.upToDate ? `${text}The database is up to date.\n` : text;
}

function describeSteps({ drift, held, contradictions, unbuilt }: MigrationStatus): string {
  return [
    ...held.map((step) => `held ${step.id}  waits for --allow ${allowanceOf(step)} in a migration\n`),
    ...drift.map(
      ({ id, why }) =>
        `drift ${id}  ${why} No pending migration has this step: rowan schema apply runs it.\n`,
    ),
    ...contradictions.map((line) => `! ${line}\n`),
    ...unbuilt.map((line) => `left ${line}\n`),
  ].join('');
}

const idsOf = (steps: readonly SchemaStep[]): string[] => steps.map(({ id }) => id);

const idsIn = ({ drift, held, ...status }: MigrationStatus): object => ({
  ...status,
  drift: idsOf(drift),
  held: idsOf(held),
});

const asJson = (value: unknown): string => `${JSON.stringify(value ?? null, null, 2)}\n`;

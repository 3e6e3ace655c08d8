import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import type { SchemaTools } from '../../database/schema-tools.js';
import { Database } from '../../database.js';
import {
  type Allowance,
  allowanceOf,
  checkSnapshot,
  describePlan,
  describeSnapshotDifferences,
  describeSteps,
  planScript,
  type ReadPlanRecord,
  readMigrations,
  type SchemaPlan,
  schemaHistory,
  snapshotOf,
} from '../../ddl/index.js';
import { InvalidArgumentError } from '../../errors.js';
import { systemTables } from '../../features/tables.js';
import { type CliContext, CliExit } from '../context.js';
import { isServer, looking, type ReadOnlyUse, withEngines } from '../databases.js';
import { loadSchema } from '../load-entities.js';

const PLACE = 'the folder of an embedded store, hbase:host:port,host:port, or bigtable:project/instance';
const MODULE = 'path of the compiled module that exports the entities';

interface PlanFlags {
  readonly format: 'text' | 'json' | 'shell';
  readonly prune?: boolean;
  readonly allow: readonly Allowance[];
}

interface ApplyFlags extends PlanFlags {
  readonly yes?: boolean;
  readonly dryRun?: boolean;
  readonly expect?: string;
  readonly compact: boolean;
  readonly wait?: string;
}

/** `rowan schema diff|plan|apply|check|history`: manages the schema of tables (docs/schema.md). */
export function addSchemaCommand(program: Command, context: CliContext): void {
  const schema = program
    .command('schema')
    .description('Compares declarations with tables, plans the changes of the tables, and applies them.');
  planning(schema.command('diff'))
    .description('Prints the differences between tables and declarations; exit code 1 if there are any.')
    .argument('<module>', MODULE)
    .argument('<place>', PLACE)
    .action((module: string, place: string, flags: PlanFlags) =>
      withSchema(module, place, looking(context), async (tools) => {
        const plan = await printPlan(context, tools, flags);
        if (differs(plan)) refuse(context, summary(plan));
      }),
    );
  planning(schema.command('plan'))
    .description(
      'Prints the steps that make the tables match the declarations, each with its class and reason. Changes nothing.',
    )
    .argument('<module>', MODULE)
    .argument('<place>', PLACE)
    .action((module: string, place: string, flags: PlanFlags) =>
      withSchema(module, place, looking(context), (tools) => printPlan(context, tools, flags)),
    );
  planning(schema.command('apply'))
    .description(
      'Applies the plan under the schema lock and records it in the history. Steps that lose data, need the table disabled or ' +
        'change what is read require --allow. On HBase it only prints the plan, unless --yes is given.',
    )
    .argument('<module>', MODULE)
    .argument('<place>', PLACE)
    .option('--yes', 'apply the plan on HBase')
    .option('--dry-run', 'only print the plan')
    .option('--expect <checksum>', 'refuse any plan but the one with this checksum')
    .option('--no-compact', 'leave major compactions to the server')
    .option('--wait <ms>', 'milliseconds to wait for the lock of another process; default 60000')
    .action((module: string, place: string, flags: ApplyFlags) =>
      withSchema(module, place, flags.dryRun === true ? looking(context) : undefined, (tools) =>
        apply(tools, place, flags, context),
      ),
    );
  planning(schema.command('check'))
    .description('Compares the declarations with a snapshot in the repository; exit code 1 if they differ.')
    .argument('<module>', MODULE)
    .argument('<file>', 'the snapshot, or the folder of migrations')
    .option('--snapshot', 'write a new snapshot')
    .action((module: string, file: string, flags: PlanFlags & { snapshot?: boolean }) =>
      check(module, file, flags, context),
    );
  schema
    .command('history')
    .description('Prints the plans that were applied, oldest first.')
    .argument('<place>', PLACE)
    .option('--json', 'as JSON')
    .action((place: string, flags: { json?: boolean }) =>
      withEngines([{ place, readOnly: looking(context) }], async ([engine]) => {
        const entries = await schemaHistory(engine!);
        context.write(flags.json === true ? `${JSON.stringify(entries, null, 2)}\n` : asText(entries));
      }),
    );
}

function planning(command: Command): Command {
  return command
    .addOption(
      new Option('--format <format>', 'what to print').choices(['text', 'json', 'shell']).default('text'),
    )
    .option('--prune', 'unset settings that are not declared')
    .addOption(
      new Option('--allow <what>', 'meaning, offline, or data-loss:ID of a step; may be repeated')
        .argParser((what: string, all: readonly string[]) => [...all, what])
        .default([], 'nothing'),
    );
}

function pruning({ prune }: PlanFlags): { readonly prune?: boolean } {
  return prune === true ? { prune } : {};
}

async function withSchema(
  module: string,
  place: string,
  readOnly: ReadOnlyUse | undefined,
  use: (tools: SchemaTools) => Promise<unknown>,
): Promise<void> {
  const schema = await loadSchema(module);
  await withEngines([{ place, ...(readOnly !== undefined && { readOnly }) }], ([engine]) =>
    use(new Database(schema, engine!, 'ignore').schema),
  );
}

/** Prints the plan, and what no step of it builds. */
async function printPlan(context: CliContext, tools: SchemaTools, flags: PlanFlags): Promise<SchemaPlan> {
  const plan = await tools.plan(pruning(flags));
  const unbuilt = await tools.unbuilt();
  if (flags.format === 'json') print(context, { ...plan, unbuilt }, flags);
  else {
    print(context, plan, flags);
    context.write(describeLeft(unbuilt, flags.format === 'shell' ? '# left ' : 'left '));
  }
  return plan;
}

function print(
  context: CliContext,
  plan: SchemaPlan & { readonly unbuilt?: readonly string[] },
  { format, allow }: PlanFlags,
): void {
  if (format === 'json') context.write(`${JSON.stringify(plan, null, 2)}\n`);
  else context.write(format === 'shell' ? planScript(plan, allow) : describePlan(plan, allow));
}

const describeLeft = (unbuilt: readonly string[], before = 'left '): string =>
  unbuilt.map((line) => `${before}${line}\n`).join('');

function differs({ steps, contradictions }: SchemaPlan): boolean {
  return steps.length + contradictions.length > 0;
}

function summary({ steps, contradictions }: SchemaPlan): string {
  return `Tables differ from the declarations: ${steps.length} steps, ${contradictions.length} contradictions.`;
}

async function apply(
  tools: SchemaTools,
  place: string,
  flags: ApplyFlags,
  context: CliContext,
): Promise<void> {
  if (flags.dryRun === true || (isServer(place) && flags.yes !== true)) {
    await printPlan(context, tools, flags);
    if (flags.dryRun !== true)
      context.writeError('Nothing was applied. Run it with --yes to apply the plan.\n');
    return;
  }
  const { plan, done, held } = await tools.apply({
    ...pruning(flags),
    allow: flags.allow,
    compact: flags.compact,
    ...(flags.expect === undefined ? {} : { expect: flags.expect }),
    ...(flags.wait === undefined ? {} : { lockWaitMs: Number(flags.wait) }),
    onStep: ({ id }) => {
      if (flags.format !== 'json') context.write(`done ${id}\n`);
    },
  });
  const unbuilt = await tools.unbuilt();
  if (flags.format === 'json') {
    const ids = (steps: typeof done): string[] => steps.map(({ id }) => id);
    const outcome = { plan: plan.checksum, done: ids(done), held: ids(held), unbuilt };
    context.write(`${JSON.stringify(outcome, null, 2)}\n`);
    return;
  }
  for (const step of held) context.write(`held ${step.id}  waits for --allow ${allowanceOf(step)}\n`);
  if (plan.steps.length === 0) context.write('Tables match the declarations.\n');
  context.write(describeLeft(unbuilt));
}

async function check(
  module: string,
  file: string,
  flags: PlanFlags & { snapshot?: boolean },
  context: CliContext,
): Promise<void> {
  const declared = await loadSchema(module);
  const isFolder = existsSync(file) && statSync(file).isDirectory();
  if (isFolder && flags.snapshot === true) {
    throw new InvalidArgumentError(`${file} is a folder of migrations. rowan migrate dev adds one to it.`);
  }
  const last = isFolder ? readMigrations(file).at(-1) : undefined;
  const before = isFolder ? last?.snapshot : textOf(file);
  if (flags.snapshot === true) {
    writeFileSync(file, snapshotOf(declared, systemTables, before));
    return;
  }
  if (before === undefined) {
    throw new InvalidArgumentError(
      isFolder
        ? `The folder ${file} has no migration. Make one with rowan migrate dev.`
        : `${file} does not exist. Write it with --snapshot and commit it, or make a folder of migrations with rowan migrate dev.`,
    );
  }
  const found = await checkSnapshot(declared, systemTables, before, pruning(flags));
  const { undeclared, differences, same, complete } = found;
  const known = last === undefined ? `the snapshot ${file}` : `the last migration, ${last.name}`;
  if (flags.format !== 'text') print(context, found, flags);
  else if (same || differs(found))
    context.write(
      describeSteps(found, flags.allow, `The declarations are those of ${known}. No table was read.`),
    );
  if (flags.format === 'text') context.write(describeSnapshotDifferences(differences));
  if (!complete) {
    context.writeError(
      `${file} was written by an earlier release, without indexes, summaries, relations and required columns. Write a new one with --snapshot.\n`,
    );
  }
  for (const name of undeclared)
    context.writeError(`Table "${name}" is in the snapshot but no longer declared.\n`);
  if (!same) {
    refuse(
      context,
      `The declarations differ from ${file}. If the change is intended, ${isFolder ? 'make a migration with rowan migrate dev' : 'write a new snapshot with --snapshot'} and commit it.`,
    );
  }
}

const textOf = (file: string): string | undefined =>
  existsSync(file) ? readFileSync(file, 'utf8') : undefined;

/** A difference is a result of the command, not an error: prints it and ends with exit code 1. */
function refuse(context: CliContext, message: string): never {
  context.writeError(`${message}\n`);
  throw new CliExit(1);
}

function asText(entries: readonly ReadPlanRecord[]): string {
  if (entries.length === 0) return 'No plan has been applied.\n';
  const lines = entries.flatMap(
    ({ number, plan, migration, undo, state, begun, by, steps, held, error, intact }) => [
      `${number}  ${new Date(begun).toISOString()}  ${state}  plan ${plan}  ${migration === undefined ? '' : `${undo === true ? 'undo of' : 'of'} ${migration}  `}by ${by}${intact ? '' : '  CHECKSUM IS WRONG: this entry or the one before it was changed'}`,
      ...steps.map(({ id, class: kind }) => `    ${id}  [${kind}]`),
      ...held.map((id) => `    held ${id}`),
      ...(error === undefined ? [] : [`    ${error}`]),
    ],
  );
  return `${lines.join('\n')}\n`;
}

import type { Command } from 'commander';
import { runOptions } from '../../cli/commands/tools.js';
import { type CliContext, CliExit, withProgress } from '../../cli/context.js';
import { withDatabase } from '../../cli/databases.js';
import { entityNamed, loadSchema } from '../../cli/load-entities.js';
import type { JobRunOptions } from '../../job/types.js';
import type { KeyedClass } from '../../schema/entity-types.js';
import type { Rekey } from './handle.js';
import type { RekeyRecord } from './strategy.js';

interface RekeyFlags {
  readonly rate?: string;
  readonly parallel?: string;
  readonly json?: boolean;
  readonly progress?: boolean;
}

type Step = (rekey: Rekey, run: JobRunOptions) => Promise<RekeyRecord | undefined>;

/** `rowan rekey plan|run|status|pause|cutover|cleanup|abort`: changes the key layout of an entity (docs/rekey.md). */
export function addRekeyCommand(program: Command, context: CliContext): void {
  const commands = program
    .command('rekey')
    .description(
      "Changes an entity's key layout online, on HBase, on Bigtable or on a store that no other process has open.",
    );
  named(commands, 'plan', 'Says whether the change is possible, and its state. Changes nothing.').action(
    (module: string, store: string, from: string, to: string, flags: RekeyFlags) =>
      plan(context, module, store, from, to, flags),
  );
  const step = (name: string, description: string, work: Step): void => {
    named(commands, name, description)
      .option('--rate <rows>', 'limit in rows per second')
      .option('--parallel <splits>', 'splits processed in parallel; default 4')
      .option('--no-progress', 'do not show a progress bar')
      .action(async (module: string, store: string, from: string, to: string, flags: RekeyFlags) => {
        const record = await withRekey(module, store, from, to, (rekey) =>
          withProgress(flags, (onProgress) => work(rekey, runOptions(flags, onProgress))),
        );
        print(context, record, flags);
      });
  };
  step('run', 'Copies and verifies rows until the new layout can take over.', (rekey, run) => rekey.run(run));
  step('status', 'Prints the state. Changes nothing.', (rekey) => rekey.status());
  step('pause', 'Pauses the copying; writes still go to both layouts.', (rekey) => rekey.pause());
  step('cutover', 'Switches readers and writers to the new layout.', (rekey) => rekey.cutOver());
  step('cleanup', 'Removes the old rows. This cannot be undone.', (rekey, run) => rekey.cleanup(run));
  step('abort', 'Returns to the old layout and removes the new rows.', (rekey, run) => rekey.abort(run));
}

function named(commands: Command, name: string, description: string): Command {
  return commands
    .command(name)
    .description(description)
    .argument('<module>', 'a module that exports the entities')
    .argument('<place>', 'the folder of a store, hbase:host:port, or bigtable:project/instance')
    .argument('<from>', 'the entity with the old key')
    .argument('<to>', 'the entity with the new key')
    .option('--json', 'as JSON');
}

async function withRekey<T>(
  module: string,
  store: string,
  from: string,
  to: string,
  use: (rekey: Rekey) => Promise<T>,
): Promise<T> {
  const schema = await loadSchema(module);
  const [source, target] = [entityNamed(schema, from), entityNamed(schema, to)];
  return withDatabase(store, schema, {}, (db) =>
    use(db.rekey(source.target as KeyedClass, target.target as KeyedClass)),
  );
}

async function plan(
  context: CliContext,
  module: string,
  store: string,
  from: string,
  to: string,
  { json }: RekeyFlags,
): Promise<void> {
  const found = await withRekey(module, store, from, to, (rekey) => rekey.plan());
  const { fromKey, toKey, problems, record } = found;
  const lines = [
    `from  ${fromKey}`,
    `to    ${toKey}`,
    ...problems.map((problem) => `! ${problem}`),
    `state ${record?.state ?? 'not started'}`,
  ];
  context.write(json === true ? `${JSON.stringify(found, null, 2)}\n` : `${lines.join('\n')}\n`);
  if (problems.length > 0) throw new CliExit(1);
}

function print(context: CliContext, record: RekeyRecord | undefined, { json }: RekeyFlags): void {
  if (json === true) {
    context.write(`${JSON.stringify(record ?? null, null, 2)}\n`);
    return;
  }
  if (record === undefined) {
    context.write('Not begun.\n');
    return;
  }
  const { state, paused, run, differences } = record;
  context.write(`${state}${paused ? ', paused' : ''}, run ${run}\n`);
  if (differences === undefined) return;
  const { rows, missing, extra, different, unkeyed, entries } = differences;
  context.write(
    `verified ${rows} rows: ${missing} missing, ${extra} extra, ${different} different, ${unkeyed} unkeyed, ${entries ?? 0} wrong entries\n`,
  );
}

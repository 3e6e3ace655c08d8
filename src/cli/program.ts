/** The `rowan` command: its subcommands, and how it ends. */

import { Command, CommanderError } from 'commander';
import { RowanError } from '../errors.js';
import { addBackupCommands } from './commands/backup.js';
import { addBulkLoadCommand } from './commands/bulk-load.js';
import { addCompletionCommand } from './commands/completion.js';
import { addDdlCommand } from './commands/ddl.js';
import { addEntityCommands } from './commands/entities.js';
import { addHBaseCommand } from './commands/hbase.js';
import { addHotspotsCommand } from './commands/hotspots.js';
import { addIndexCommands } from './commands/indexes.js';
import { addIntrospectCommand } from './commands/introspect.js';
import { addJobCommands } from './commands/job.js';
import { addKeyCommands } from './commands/key.js';
import { addLintCommand } from './commands/lint.js';
import { addRekeyCommand } from './commands/rekey.js';
import { addDenormalizedCommands, addReferenceCommands, addSummaryCommands } from './commands/relations.js';
import { addSchemaCommand } from './commands/schema.js';
import { addShellCommand } from './commands/shell.js';
import { addSizeCommand } from './commands/size.js';
import { addStoreCommand } from './commands/store.js';
import { addSynthCommand } from './commands/synth.js';
import { addToolCommands } from './commands/tools.js';
import { type CliContext, CliExit, packageVersion } from './context.js';

/** Exit codes of `rowan`. */
export const ExitCode = {
  ok: 0,
  /** The command was understood and failed. */
  failed: 1,
  /** The command line is wrong. */
  usage: 2,
} as const;

/** Runs one command line (without node and script). Answers the exit code; never throws, never ends the process. */
export async function runCli(args: readonly string[], context: CliContext): Promise<number> {
  const program = buildProgram(context);
  try {
    await program.parseAsync([...args], { from: 'user' });
    return ExitCode.ok;
  } catch (error) {
    if (error instanceof CliExit) return error.code;
    if (error instanceof CommanderError) return error.exitCode === 0 ? ExitCode.ok : ExitCode.usage;
    context.writeError(`${describeError(error)}\n`);
    return ExitCode.failed;
  }
}

function buildProgram(context: CliContext): Command {
  const program = new Command('rowan')
    .description('Typed object mapper for entity-centric data on the HBase data model.')
    .version(packageVersion())
    .configureOutput({ writeOut: context.write, writeErr: context.writeError })
    .showHelpAfterError('Run with --help to see what can be given.')
    .exitOverride();
  addDdlCommand(program, context);
  addDenormalizedCommands(program, context);
  addSummaryCommands(program, context);
  addHBaseCommand(program, context);
  addHotspotsCommand(program, context);
  addIntrospectCommand(program, context);
  addIndexCommands(program, context);
  addJobCommands(program, context);
  addKeyCommands(program, context);
  addLintCommand(program, context);
  addReferenceCommands(program, context);
  addRekeyCommand(program, context);
  addSchemaCommand(program, context);
  addShellCommand(program, context);
  addSizeCommand(program, context);
  addStoreCommand(program, context);
  addSynthCommand(program, context);
  addToolCommands(program, context);
  addBackupCommands(program, context);
  addBulkLoadCommand(program, context);
  addEntityCommands(program, context);
  addCompletionCommand(program, context);
  return program;
}

/** An error for people: code and message; the stack only of what is none of Rowan's own errors. */
function describeError(error: unknown): string {
  if (error instanceof RowanError) return `rowan: ${error.code}: ${error.message}`;
  return error instanceof Error ? `rowan: ${error.stack ?? error.message}` : `rowan: ${String(error)}`;
}

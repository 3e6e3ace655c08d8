/** The `rowan` command: its subcommands and exit codes. */

import { statSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { isDiskFull, RowanError } from '../errors.js';
import { COMMANDS, HEADINGS } from './commands.js';
import { type CliContext, CliExit, packageVersion } from './context.js';

/** Exit codes of `rowan`. */
const ExitCode = {
  ok: 0,
  /** The command line was valid, but the command failed. */
  failed: 1,
  /** The command line is invalid. */
  usage: 2,
} as const;

/** Runs one command line (without node and script). Returns the exit code; never throws and never ends the process. */
export async function runCli(args: readonly string[], context: CliContext): Promise<number> {
  try {
    const program = await buildProgram(args, context);
    await program.parseAsync([...args], { from: 'user' });
    return ExitCode.ok;
  } catch (error) {
    if (error instanceof CliExit) return error.code;
    if (error instanceof CommanderError) {
      if (error.code === 'commander.unknownCommand') await suggestSubcommands(args, context);
      return error.exitCode === 0 ? ExitCode.ok : ExitCode.usage;
    }
    context.writeError(`${describeError(error)}\n`);
    return ExitCode.failed;
  }
}

/** Names the commands that have a subcommand of the unknown command's name, as `rowan store repair` for `rowan repair`. */
async function suggestSubcommands(args: readonly string[], context: CliContext): Promise<void> {
  const program = new Command('rowan');
  for (const { load } of COMMANDS) (await load())(program, context);
  if (program.commands.some((each) => each.name() === args[0])) return;
  const lines = program.commands.flatMap((group) =>
    group.commands
      .filter((each) => each.name() === args[0])
      .map((each) => `  rowan ${group.name()} ${each.name()}: ${each.description()}\n`),
  );
  if (lines.length > 0) context.writeError(`There are:\n${lines.join('')}`);
}

/** Builds the program for a command line: with the module of its command, or with the names of all commands. */
async function buildProgram(args: readonly string[], context: CliContext): Promise<Command> {
  const program = new Command('rowan')
    .description('Typed object mapper for entity-centric data on the HBase data model.')
    .version(packageVersion())
    .configureOutput({ writeOut: context.write, writeErr: context.writeError })
    .showHelpAfterError('Run with --help to see arguments and options.')
    .exitOverride()
    .hook('preAction', (_, command) => orderArguments(command));
  const [name] = args.filter((arg) => arg !== 'help');
  const wanted = COMMANDS.filter(({ commands }) =>
    Object.keys(commands).some((term) => nameIn(term) === name),
  );
  // Completion needs every command's options.
  const loaded = name === 'completion' ? COMMANDS : wanted;
  for (const { load } of loaded) (await load())(program, context);
  program.commands.forEach(describeUsage);
  if (loaded.length === 0) listCommands(program);
  return program;
}

/** Takes a place and a module in either order: commands differ in which comes first. A place is no file. */
function orderArguments({ registeredArguments, processedArgs }: Command): void {
  const names = registeredArguments.map((argument) => argument.name());
  const place = names.indexOf('place');
  const module = names.findIndex((name) => name === 'module' || name === 'entities');
  if (place < 0 || processedArgs[module] === undefined) return;
  if (!isFile(processedArgs[place]) || isFile(processedArgs[module])) return;
  [processedArgs[place], processedArgs[module]] = [processedArgs[module], processedArgs[place]];
}

function isFile(path: unknown): boolean {
  return typeof path === 'string' && statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

/** What follows the error for a wrong command line: the command's usage, and its options or subcommands. */
function describeUsage(command: Command): void {
  const help = command.createHelp();
  const options = help.visibleOptions(command).map(({ flags }) => flags.replace(/^-\w, /, ''));
  const known =
    command.commands.length === 0
      ? `Options: ${options.join(', ')}`
      : `Commands: ${command.commands.map((each) => each.name()).join(', ')}`;
  command.showHelpAfterError(
    `Usage: ${help.commandUsage(command)}\n${known}\nRun with --help to see what they mean.`,
  );
  command.commands.forEach(describeUsage);
}

const nameIn = (term: string): string => term.split(' ')[0]!;

/** Adds the names of all commands, below their headings. */
function listCommands(program: Command): void {
  const all = COMMANDS.flatMap(({ commands }) => Object.entries(commands));
  const terms = new Map(all.map(([term]) => [nameIn(term), term]));
  const abouts = new Map(all.map(([term, about]) => [nameIn(term), about]));
  for (const [heading, names] of [...HEADINGS, ['Other', [...terms.keys()]]] as const) {
    program.commandsGroup(`${heading}:`);
    for (const name of names) {
      const about = abouts.get(name);
      if (about === undefined) continue;
      program.command(name).description(about);
      abouts.delete(name);
    }
  }
  program.helpCommand('help [command]', 'display help for command');
  program.configureHelp({ subcommandTerm: (command) => terms.get(command.name()) ?? 'help [command]' });
}

/** Formats an error for people: code and message, and the stack only for errors that are neither Rowan's nor about a file. */
function describeError(error: unknown): string {
  if (error instanceof RowanError && error.code === 'ERR_LOCKED' && 'pid' in error.details) {
    const { file, pid, host } = error.details;
    const who = pid === undefined ? 'another process' : `process ${String(pid)} on ${String(host)}`;
    return (
      `rowan: ERR_LOCKED: The store in "${String(file)}" is in use by ${who}, and this command needs it for itself. ` +
      'End that process first. Commands that only read, such as rowan shell and rowan studio, read beside it.'
    );
  }
  if (error instanceof RowanError) return `rowan: ${error.code}: ${error.message}`;
  if (isAboutFile(error))
    return `rowan: ERR_IO: ${error.message}. Check the path, and that you may read and write there.`;
  // Of an open file Node's error does not have the path.
  if (error instanceof Error && isDiskFull(error))
    return `rowan: ERR_IO: ${error.message}. The disk that the command writes to is full: free some space, and run it again.`;
  return error instanceof Error ? `rowan: ${error.stack ?? error.message}` : `rowan: ${String(error)}`;
}

/** Whether the operating system refused to read or write a path, such as that of `--out` or `--dir`. */
function isAboutFile(error: unknown): error is NodeJS.ErrnoException {
  if (!(error instanceof Error)) return false;
  const { syscall, path } = error as NodeJS.ErrnoException;
  return syscall !== undefined && path !== undefined;
}

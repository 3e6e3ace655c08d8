import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { InvalidArgumentError } from '../../errors.js';
import { runTyped, ShellSession, Terminal } from '../../shell/index.js';
import type { CliContext } from '../context.js';
import { withEngines } from '../engines.js';
import { CliExit } from '../exit.js';
import { loadSchema } from '../load-entities.js';
import { SchemaView } from '../shell-entities.js';
import { packageVersion } from '../version.js';

interface ShellFlags {
  readonly noninteractive?: boolean;
  readonly create?: boolean;
  readonly entities?: string;
}

/** `rowan shell <place> [script]`: HBase's shell, on either engine (docs/shell.md). */
export function addShellCommand(program: Command, context: CliContext): void {
  program
    .command('shell')
    .summary("run the commands of HBase's shell, from a script or typed")
    .description(
      "Reads the commands of HBase's shell as they are written there, and prints what it prints. With a script it runs " +
        'that, else what is typed.',
    )
    .argument('<place>', 'the folder of an embedded store, or hbase:host:port,host:port')
    .argument('[script]', 'path of a script')
    .option('-n, --noninteractive', 'end at the first error, with exit code 1')
    .option('--create', 'make the store when it is not there')
    .option(
      '--entities <module>',
      'say what rows are, and take keys by their parts; the path of a compiled module',
    )
    .action((place: string, script: string | undefined, flags: ShellFlags) =>
      withEngines([{ place, mayMake: flags.create === true }], async ([engine]) => {
        const schema = flags.entities === undefined ? undefined : await loadSchema(flags.entities);
        const text = script === undefined ? undefined : readScript(script);
        const isTerminal = process.stdin.isTTY === true;
        const terminal = new Terminal({
          input: process.stdin,
          output: process.stdout,
          isTerminal,
          history: join(homedir(), '.rowan', 'shell-history'),
        });
        try {
          const session = new ShellSession({
            engine: engine!,
            version: packageVersion(),
            io: { write: context.write, ask: terminal.ask, width: () => process.stdout.columns ?? 0 },
            entities: schema && new SchemaView(schema),
            stopAtError: flags.noninteractive === true,
          });
          const { code } =
            text === undefined
              ? await runTyped(session, terminal, context.write, isTerminal)
              : await session.script(text);
          if (code !== 0) throw new CliExit(code);
        } finally {
          terminal.close();
        }
      }),
    );
}

function readScript(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new InvalidArgumentError(`The script cannot be read: ${(cause as Error).message}.`, { cause });
  }
}

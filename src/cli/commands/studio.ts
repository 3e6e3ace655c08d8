import { type Command, InvalidArgumentError as UsageError } from 'commander';
import { Database } from '../../database.js';
import { compileSchema } from '../../mapper/index.js';
import { type CliContext, signalled } from '../context.js';
import { openEngine, withDatabase } from '../databases.js';
import { loadSchema } from '../load-entities.js';

interface StudioFlags {
  readonly port: number;
  readonly write?: boolean;
  readonly queries?: string;
}

/**
 * `rowan studio <place> [module]`: serves the studio of a database at 127.0.0.1 until SIGTERM or SIGINT (docs/studio.md).
 */
export function addStudioCommand(program: Command, context: CliContext): void {
  program
    .command('studio')
    .summary('Shows a store or cluster in the browser through its entities.')
    .description(
      'Shows tables, keys, rows, versions and regions in the browser, decoded by the entities of the module; without a ' +
        'module as raw bytes. It listens at 127.0.0.1, admits only the address that it prints, only reads unless ' +
        '--write is given, and ends at SIGTERM and SIGINT.',
    )
    .argument(
      '<place>',
      'the folder of an embedded store, hbase:host:port,host:port (HBase masters), or bigtable:project/instance',
    )
    .argument('[module]', 'path of the compiled module that exports the entities')
    .option('--port <n>', 'the port; 0 chooses a free one', portOf, 0)
    .option('--write', 'let the page insert, edit and delete rows, and repair indexes')
    .option('--queries <file>', 'a file of JSON in which the page saves queries')
    .action((place: string, module: string | undefined, flags: StudioFlags) =>
      run(place, module, flags, context),
    );
}

/** Milliseconds between two refreshes of a store that another process writes. */
const REFRESH = 1000;

function portOf(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65535) return port;
  throw new UsageError('It must be a whole number from 0 to 65535.');
}

async function run(
  place: string,
  module: string | undefined,
  { port, write = false, queries }: StudioFlags,
  context: CliContext,
): Promise<void> {
  const signal = signalled();
  const readOnly = { always: true, refreshEvery: REFRESH, tell: context.writeError } as const;
  const how = write ? {} : { readOnly };
  const show = async (db: Database): Promise<void> => {
    const { startStudio } = await import('../../studio/server/server.js');
    const studio = await startStudio(db, { port, place, write, ...(queries !== undefined && { queries }) });
    try {
      context.write(`Rowan Studio shows ${place}: open ${studio.url}\n`);
      const name = await signal.came;
      context.write(`${name}: the studio ends\n`);
    } finally {
      await studio.close();
    }
  };
  try {
    if (module !== undefined) {
      // The studio shows existing tables and creates none.
      await withDatabase(place, await loadSchema(module), { tables: 'verify', ...how }, show);
      return;
    }
    const db = new Database(compileSchema([]), await openEngine(place, how), 'ignore');
    try {
      await db.ready();
      await show(db);
    } finally {
      await db.close();
    }
  } finally {
    signal.forget();
  }
}

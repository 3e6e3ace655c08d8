import type { Command } from 'commander';
import { Database, open } from '../../database.js';
import { compileSchema } from '../../mapper/index.js';
import { type CliContext, packageVersion, signalled } from '../context.js';
import { databaseAt, isServer, openEngine } from '../databases.js';
import { encryptionFromEnvironment } from '../encryption.js';
import { loadSchema } from '../load-entities.js';

/** How often, in ms, changes by another process become visible. */
const REFRESH = 1000;

/**
 * `rowan mcp <place> [module]`: serves the read operations of the studio to an assistant, over standard input and
 * output (docs/mcp.md).
 */
export function addMcpCommand(program: Command, context: CliContext): void {
  program
    .command('mcp')
    .summary('Lets an assistant read a store or cluster through its entities.')
    .description(
      'Speaks the Model Context Protocol over standard input and output: tools that list entities, describe keys, explain ' +
        'and run queries with limits, sample, lint and size. It only reads, even while another process has the store open, and ' +
        'ends at the end of its input, SIGTERM or SIGINT. It needs the package @modelcontextprotocol/sdk.',
    )
    .argument(
      '<place>',
      'the folder of an embedded store, hbase:host:port,host:port (HBase masters), or bigtable:project/instance',
    )
    .argument('[module]', 'path of the compiled module that exports the entities')
    .action((place: string, module: string | undefined) => run(place, module, context));
}

async function run(place: string, module: string | undefined, context: CliContext): Promise<void> {
  const signal = signalled();
  try {
    const db = await openToRead(place, module);
    try {
      const { serveMcp } = await import('../../studio/mcp/server.js');
      const served = await serveMcp(db, {
        place,
        version: packageVersion(),
        input: process.stdin,
        output: process.stdout,
      });
      context.writeError(`rowan ${packageVersion()} answers for ${place}\n`);
      await Promise.race([signal.came, served.ended]);
      await served.close();
    } finally {
      await db.close();
    }
  } finally {
    signal.forget();
  }
}

/** Opens a store for reading only, so that another process can write to it. */
async function openToRead(place: string, module: string | undefined): Promise<Database> {
  const entities =
    module === undefined ? [] : (await loadSchema(module)).entities.map(({ target }) => target);
  if (isServer(place)) {
    if (module !== undefined) return databaseAt(place, { entities });
    return readied(new Database(compileSchema([]), await openEngine(place), 'ignore'));
  }
  if (module !== undefined)
    return open({
      path: place,
      ...encryptionFromEnvironment(),
      entities,
      readOnly: true,
      refreshEvery: REFRESH,
    });
  const { openReadOnly } = await import('../../store/read-only/read-only-store.js');
  const store = await openReadOnly(place, { ...encryptionFromEnvironment(), refreshEvery: REFRESH });
  return readied(new Database(compileSchema([]), store, 'ignore'));
}

async function readied(db: Database): Promise<Database> {
  try {
    await db.ready();
    return db;
  } catch (error) {
    await db.close();
    throw error;
  }
}

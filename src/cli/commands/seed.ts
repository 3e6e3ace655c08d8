import type { Command } from 'commander';
import type { Database } from '../../database.js';
import { InvalidArgumentError } from '../../errors.js';
import { systemTables } from '../../features/tables.js';
import type { Schema } from '../../schema/index.js';
import type { Admin } from '../../table/index.js';
import type { CliContext } from '../context.js';
import { isServer, withDatabase, withEngines } from '../databases.js';
import { importModule, loadSchema } from '../load-entities.js';

interface SeedFlags {
  readonly reset?: boolean;
  readonly yes?: boolean;
}

/** `rowan seed <place> <module> <file>`: fills a store with the data of a program (docs/tools.md). */
export function addSeedCommand(program: Command, context: CliContext): void {
  program
    .command('seed')
    .description('Fills a store: calls the default export of a file with the open database.')
    .argument(
      '<place>',
      'the folder of an embedded store, hbase:host:port,host:port, or bigtable:project/instance',
    )
    .argument('<module>', 'path of the compiled module that exports the entities')
    .argument('<file>', 'path of the compiled file; its default export is a function: (db) => …')
    .option('--reset', 'first empty the tables of the entities, with their indexes and summaries')
    .option('--yes', 'on a server, too')
    .action(async (place: string, module: string, file: string, { reset, yes }: SeedFlags) => {
      if (isServer(place) && yes !== true) {
        throw new InvalidArgumentError(
          `rowan seed writes to ${place}, which others may use. Add --yes, or name the folder of a development store.`,
        );
      }
      const schema = await loadSchema(module);
      const { default: seed } = await importModule(file);
      if (typeof seed !== 'function') {
        throw new InvalidArgumentError(
          `${file} has no function as its default export. Write: export default async (db) => { … }.`,
        );
      }
      if (reset === true) {
        await withEngines([{ place, mayMake: true }], async ([engine]) => {
          for (const name of await empty(schema, engine!.admin)) context.write(`emptied ${name}\n`);
        });
      }
      await withDatabase(place, schema, { mayMake: true }, (db) =>
        (seed as (db: Database) => Promise<unknown>)(db),
      );
      context.write('seeded\n');
    });
}

/** Empties the declared tables, and those beside them. Tables that other entities share (`rowan_…`) stay as they are. */
async function empty(schema: Schema, admin: Admin): Promise<string[]> {
  const names = [...schema.tables, ...systemTables(schema)]
    .map(({ descriptor }) => descriptor.name)
    .filter((name) => !name.startsWith('rowan_'));
  const emptied: string[] = [];
  for (const name of names) {
    if (!(await admin.tableExists(name))) continue;
    if (await admin.isTableEnabled(name)) await admin.disableTable(name);
    await admin.truncateTable(name, true);
    emptied.push(name);
  }
  return emptied;
}

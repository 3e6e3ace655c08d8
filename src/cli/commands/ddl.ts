import { type Command, Option, InvalidArgumentError as UsageError } from 'commander';
import { toHex } from '../../bytes/index.js';
import { javaSource, schemaScript, stampedDescriptor, typescriptSource } from '../../ddl/index.js';
import { InvalidArgumentError } from '../../errors.js';
import { systemTables } from '../../features/tables.js';
import type { TableSchema } from '../../schema/types.js';
import type { CliContext } from '../context.js';
import { loadSchema } from '../load-entities.js';

interface DdlOptions {
  readonly format: 'shell' | 'json' | 'java' | 'typescript';
  readonly namespaces: boolean;
  readonly table: readonly string[] | undefined;
}

/** `rowan ddl <module>`: the statements that create the tables of a module's entities. */
export function addDdlCommand(program: Command, context: CliContext): void {
  program
    .command('ddl')
    .summary('print HBase shell statements that create the tables of a module')
    .description(
      'Prints create_namespace and create statements for the HBase shell, with every option of the families and with ' +
        'SPLITS computed from the row keys. The module is JavaScript that exports the entity classes.',
    )
    .argument('<module>', 'path of the compiled module')
    .addOption(
      new Option('--format <format>', 'what to print')
        .choices(['shell', 'json', 'java', 'typescript'])
        .default('shell'),
    )
    .option('--no-namespaces', 'leave out create_namespace')
    .option('--table <name>', 'only this table; may be repeated', collect)
    .action(async (modulePath: string, options: DdlOptions) => {
      const schema = await loadSchema(modulePath);
      for (const warning of schema.warnings) context.writeError(`warning: ${warning}\n`);
      const tables = chooseTables([...schema.tables, ...systemTables(schema)], options.table);
      context.write(print(tables, options));
    });
}

function print(tables: readonly TableSchema[], { format, namespaces }: DdlOptions): string {
  if (format === 'shell') return schemaScript(tables, { namespaces });
  if (format === 'json') return `${JSON.stringify(tables.map(asJson), null, 2)}\n`;
  const made = tables.map((table) => ({ descriptor: stampedDescriptor(table), splitKeys: table.splitKeys }));
  return format === 'java' ? javaSource(made) : typescriptSource(made);
}

function collect(name: string, names: readonly string[] | undefined): readonly string[] {
  if (name === '') throw new UsageError('A table has a name.');
  return [...(names ?? []), name];
}

function chooseTables(
  tables: readonly TableSchema[],
  names: readonly string[] | undefined,
): readonly TableSchema[] {
  if (names === undefined) return tables;
  return names.map((name) => {
    const table = tables.find(({ descriptor }) => descriptor.name === name);
    if (table !== undefined) return table;
    throw new InvalidArgumentError(
      `The module has no table "${name}". It has ${tables.map(({ descriptor }) => descriptor.name).join(', ')}.`,
    );
  });
}

function asJson(table: TableSchema): object {
  return { ...stampedDescriptor(table), splits: table.splitKeys.map(toHex) };
}

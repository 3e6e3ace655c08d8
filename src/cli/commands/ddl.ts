import { type Command, Option, InvalidArgumentError as UsageError } from 'commander';
import { toHex } from '../../bytes/index.js';
import {
  type CreatableTable,
  creatableTables,
  createScript,
  javaSource,
  typescriptSource,
} from '../../ddl/index.js';
import { InvalidArgumentError } from '../../errors.js';
import { systemTables } from '../../features/tables.js';
import type { TableSchema } from '../../schema/types.js';
import type { CliContext } from '../context.js';
import { loadSchema } from '../load-entities.js';

interface DdlOptions {
  readonly format: 'shell' | 'json' | 'java' | 'typescript';
  readonly namespaces: boolean;
  readonly table: readonly string[] | undefined;
  readonly engine: 'hbase' | 'bigtable';
  readonly terraform?: boolean;
}

/** `rowan ddl <module>`: the statements that create the tables of a module's entities. */
export function addDdlCommand(program: Command, context: CliContext): void {
  program
    .command('ddl')
    .summary('Prints HBase shell statements that create the tables of a module.')
    .description(
      'Prints create_namespace and create statements for the HBase shell, with every option of the families and with ' +
        'SPLITS computed from the row keys; with --engine bigtable cbt commands or Terraform. The module is JavaScript that exports the entity classes.',
    )
    .argument('<module>', 'path of the compiled module')
    .addOption(
      new Option('--format <format>', 'what to print')
        .choices(['shell', 'json', 'java', 'typescript'])
        .default('shell'),
    )
    .addOption(
      new Option('--engine <engine>', 'bigtable: print cbt commands')
        .choices(['hbase', 'bigtable'])
        .default('hbase'),
    )
    .option('--terraform', 'with --engine bigtable: print resources of Terraform')
    .option('--no-namespaces', 'omit create_namespace')
    .option('--table <name>', 'only this table; may be repeated', collect)
    .action(async (modulePath: string, options: DdlOptions) => {
      const schema = await loadSchema(modulePath);
      for (const warning of schema.warnings) context.writeError(`warning: ${warning}\n`);
      const tables = chooseTables([...schema.tables, ...systemTables(schema)], options.table);
      context.write(await print(creatableTables(tables, schema.tables), options));
    });
}

async function print(tables: readonly CreatableTable[], options: DdlOptions): Promise<string> {
  const { format, namespaces, engine, terraform = false } = options;
  if (engine === 'bigtable') {
    if (format !== 'shell')
      throw new InvalidArgumentError(
        '--engine bigtable prints cbt commands, or with --terraform resources. Omit --format.',
      );
    const { cbtScript, terraformSource } = await import('../../bigtable/statements.js');
    return terraform ? terraformSource(tables) : cbtScript(tables);
  }
  if (terraform) throw new InvalidArgumentError('--terraform requires --engine bigtable.');
  if (format === 'shell') return createScript(tables, { namespaces });
  if (format === 'json') return `${JSON.stringify(tables.map(asJson), null, 2)}\n`;
  return format === 'java' ? javaSource(tables) : typescriptSource(tables);
}

function collect(name: string, names: readonly string[] | undefined): readonly string[] {
  if (name === '') throw new UsageError('The name of the table is empty.');
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

function asJson({ descriptor, splitKeys }: CreatableTable): object {
  return { ...descriptor, splits: splitKeys.map(toHex) };
}

/**
 * The commands of `rowan`, each with its module. A command line loads only the module of its command, and `--help`
 * loads none. A test holds the descriptions here equal to those in the modules.
 */

import type { Command } from 'commander';
import type { CliContext } from './context.js';

/** The commands of one module. */
interface CommandModule {
  /** Each command's usage, and its description. */
  readonly commands: Readonly<Record<string, string>>;
  /** Adds the commands to the program. */
  readonly load: () => Promise<(program: Command, context: CliContext) => void>;
}

/** The headings of `rowan --help`, in its order, and the commands below each. */
export const HEADINGS: readonly (readonly [heading: string, commands: readonly string[]])[] = [
  ['Projects and test data', ['init', 'seed', 'synth']],
  ['Looking at a store or cluster', ['studio', 'shell', 'top', 'hbase', 'mcp', 'serve']],
  ['Declarations', ['lint', 'diagram', 'ddl', 'introspect', 'codegen', 'key', 'cell', 'hotspots', 'size']],
  ['Changes of schemas', ['schema', 'migrate', 'rekey']],
  ['What follows from rows', ['index', 'summary', 'denormalized', 'references', 'mutual']],
  ['Whole tables', ['count', 'cells', 'job', 'entities', 'export', 'import', 'importtsv', 'bulkload']],
  ['Two tables', ['copy', 'verify', 'sync', 'hash']],
  ['Backup and repair', ['backup', 'backups', 'restore', 'store']],
];

export const COMMANDS: readonly CommandModule[] = [
  {
    commands: {
      codegen: 'Prints classes in Java or Python that encode and decode the keys and cells of entities.',
    },
    load: async () => (await import('./commands/codegen.js')).addCodegenCommand,
  },
  {
    commands: {
      'ddl [options] <module>': 'Prints HBase shell statements that create the tables of a module.',
    },
    load: async () => (await import('./commands/ddl.js')).addDdlCommand,
  },
  {
    commands: {
      denormalized: "Checks, repairs and backfills copies of other entities' properties.",
    },
    load: async () => (await import('../features/copies/command.js')).addDenormalizedCommands,
  },
  {
    commands: {
      'diagram [options] <module>':
        'Prints the entities of a module and their relations as an entity-relationship diagram in Mermaid or SVG.',
    },
    load: async () => (await import('./commands/diagram.js')).addDiagramCommand,
  },
  {
    commands: {
      summary: 'Checks, repairs and builds summaries (figures of groups of rows).',
    },
    load: async () => (await import('../features/summaries/command.js')).addSummaryCommands,
  },
  {
    commands: {
      hbase: 'Shows the state of an HBase cluster, and of the regions of a table.',
    },
    load: async () => (await import('./commands/hbase.js')).addHBaseCommand,
  },
  {
    commands: {
      mutual: 'Checks and repairs both rows of mutual links.',
    },
    load: async () => (await import('../features/mutual/command.js')).addMutualCommands,
  },
  {
    commands: {
      'hotspots [options] <module> <entity> <samples>':
        'Prints how sample keys of an entity would spread over regions.',
    },
    load: async () => (await import('./commands/hotspots.js')).addHotspotsCommand,
  },
  {
    commands: {
      'init [options] [folder]':
        'Makes a new project: package.json, tsconfig.json, an entity, a program and a test.',
    },
    load: async () => (await import('./commands/init.js')).addInitCommand,
  },
  {
    commands: {
      'introspect [options] <place> <table>':
        'Prints TypeScript that declares a live table and its entities, from the metadata of the table, or else from a sample of its rows.',
    },
    load: async () => (await import('./commands/introspect.js')).addIntrospectCommand,
  },
  {
    commands: {
      index: 'Lists, builds, verifies, repairs, drains and drops secondary indexes.',
    },
    load: async () => (await import('../features/indexes/command.js')).addIndexCommands,
  },
  {
    commands: {
      job: 'Runs jobs over whole tables.',
    },
    load: async () => (await import('./commands/job.js')).addJobCommands,
  },
  {
    commands: {
      key: 'Encodes and decodes row keys of an entity.',
      cell: "Encodes and decodes values of an entity's columns.",
    },
    load: async () => (await import('./commands/key.js')).addKeyCommands,
  },
  {
    commands: {
      'lint [options] <module>':
        'Checks the declarations of a module for common design faults: families, names, keys that make hot regions, versions, times to live. Exit code 1 on a warning.',
    },
    load: async () => (await import('./commands/lint.js')).addLintCommand,
  },
  {
    commands: {
      migrate:
        'Makes migrations from declarations, and deploys them: plans as reviewed files in the repository.',
    },
    load: async () => (await import('./commands/migrate.js')).addMigrateCommand,
  },
  {
    commands: {
      'mcp <place> [module]': 'Lets an assistant read a store or cluster through its entities.',
    },
    load: async () => (await import('./commands/mcp.js')).addMcpCommand,
  },
  {
    commands: {
      references: 'Checks, repairs and backfills referential rules of relations.',
    },
    load: async () => (await import('../features/relations/command.js')).addReferenceCommands,
  },
  {
    commands: {
      rekey:
        "Changes an entity's key layout online, on HBase, on Bigtable or on a store that no other process has open.",
    },
    load: async () => (await import('../features/rekey/command.js')).addRekeyCommand,
  },
  {
    commands: {
      schema: 'Compares declarations with tables, plans the changes of the tables, and applies them.',
    },
    load: async () => (await import('./commands/schema.js')).addSchemaCommand,
  },
  {
    commands: {
      'seed [options] <place> <module> <file>':
        'Fills a store: calls the default export of a file with the open database.',
    },
    load: async () => (await import('./commands/seed.js')).addSeedCommand,
  },
  {
    commands: {
      'serve [options] <folder>': "Serves an embedded store by HBase's own protocol.",
    },
    load: async () => (await import('./commands/serve.js')).addServeCommand,
  },
  {
    commands: {
      'shell [options] <place> [script]': 'Runs HBase shell commands, from a script or interactively.',
    },
    load: async () => (await import('./commands/shell.js')).addShellCommand,
  },
  {
    commands: {
      'size [options] <module> <entity> <samples>':
        'Writes a sample of an entity with the real codecs, each encoding and compression, and estimates bytes, regions, split points and heap for the expected number of rows.',
    },
    load: async () => (await import('./commands/size.js')).addSizeCommand,
  },
  {
    commands: {
      store: 'Inspects, verifies, compacts and repairs an embedded store.',
    },
    load: async () => (await import('./commands/store.js')).addStoreCommand,
  },
  {
    commands: {
      'studio [options] <place> [module]': 'Shows a store or cluster in the browser through its entities.',
    },
    load: async () => (await import('./commands/studio.js')).addStudioCommand,
  },
  {
    commands: {
      'synth [options] <place> <module> <entity>': 'Puts synthetic entities, with realistic skew.',
    },
    load: async () => (await import('./commands/synth.js')).addSynthCommand,
  },
  {
    commands: {
      'count [options] <place> <table>': 'Counts the rows of a table.',
      'cells [options] <place> <table>': 'Counts rows, cells and bytes of a table, by family and column.',
      'export [options] <place> <table> <folder>':
        'Exports a table into a folder, with every version and delete marker.',
      'import [options] <place> <folder> [table]':
        "Imports a folder that `rowan export`, or HBase's Export, wrote into a table.",
      'copy [options] <place> <table> <target-place> <target-table>':
        'Copies a table, with every version and delete marker, to another table on the same or another engine.',
      'hash [options] <place> <table> <folder>':
        'Writes hashes of the rows of a table into a folder, for verify and sync.',
      'verify [options] <place> <table> <other-place> <other-table>':
        'Compares two tables cell by cell; exit code 1 if they differ.',
      'sync [options] <place> <table> <other-place> <other-table>':
        'Makes the second table equal to the first; exit code 1 if rows still differ.',
    },
    load: async () => (await import('./commands/tools.js')).addToolCommands,
  },
  {
    commands: {
      'top [options] <place>':
        'Shows the sizes and loads of the tables of a store in use, or of a cluster, again and again.',
    },
    load: async () => (await import('./commands/top.js')).addTopCommand,
  },
  {
    commands: {
      'importtsv [options] <place> <table> <files...>': 'Imports lines of delimited text into a table.',
    },
    load: async () => (await import('./commands/import-tsv.js')).addImportTsvCommand,
  },
  {
    commands: {
      'backup [options] <place> <folder>':
        'Adds a backup of tables to a folder, or finishes an interrupted one.',
      'restore [options] <place> <folder>': 'Restores the tables of a backup into a store or cluster.',
      'backups [options] <folder>': 'Lists the backups of a folder.',
    },
    load: async () => (await import('./commands/backup.js')).addBackupCommands,
  },
  {
    commands: {
      'bulkload [options] <place> <table> <files...>':
        'Sorts the cells of files and loads them into a table as files, bypassing WAL and memstore.',
    },
    load: async () => (await import('./commands/bulk-load.js')).addBulkLoadCommand,
  },
  {
    commands: {
      entities: 'Exports and imports entities as files of NDJSON, CSV, Avro or Parquet.',
    },
    load: async () => (await import('./commands/entities.js')).addEntityCommands,
  },
  {
    commands: {
      'completion <shell>':
        'Prints a script that completes commands and options: source <(rowan completion bash)',
    },
    load: async () => (await import('./commands/completion.js')).addCompletionCommand,
  },
];

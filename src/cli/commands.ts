/**
 * The commands of `rowan`, each with the module that has it: a command line loads that of its command only, and `--help` none.
 * What stands here of a command is what its module says; a test holds them against each other.
 */

import type { Command } from 'commander';
import type { CliContext } from './context.js';

/** Commands of one module. */
export interface CommandModule {
  /** How each is written, and what it is for. */
  readonly commands: Readonly<Record<string, string>>;
  /** Adds them to the program. */
  readonly load: () => Promise<(program: Command, context: CliContext) => void>;
}

export const COMMANDS: readonly CommandModule[] = [
  {
    commands: {
      'ddl [options] <module>': 'print HBase shell statements that create the tables of a module',
    },
    load: async () => (await import('./commands/ddl.js')).addDdlCommand,
  },
  {
    commands: {
      denormalized: "Copies of other entities' properties.",
    },
    load: async () => (await import('../features/copies/command.js')).addDenormalizedCommands,
  },
  {
    commands: {
      'diagram [options] <module>':
        'print the entities of a module and their relations as an entity-relationship diagram in Mermaid',
    },
    load: async () => (await import('./commands/diagram.js')).addDiagramCommand,
  },
  {
    commands: {
      summary: 'Figures of groups of rows.',
    },
    load: async () => (await import('../features/summaries/command.js')).addSummaryCommands,
  },
  {
    commands: {
      hbase: 'look at an HBase cluster',
    },
    load: async () => (await import('./commands/hbase.js')).addHBaseCommand,
  },
  {
    commands: {
      'hotspots [options] <module> <entity> <samples>':
        'print how sample keys of an entity would spread over regions',
    },
    load: async () => (await import('./commands/hotspots.js')).addHotspotsCommand,
  },
  {
    commands: {
      'init [options] [folder]':
        'make a new project: package.json, tsconfig.json, an entity, a program and a test',
    },
    load: async () => (await import('./commands/init.js')).addInitCommand,
  },
  {
    commands: {
      'introspect [options] <place> <table>':
        'Prints the TypeScript that declares a live table and its entities, from what its metadata keeps of them, or else from a sample of its rows.',
    },
    load: async () => (await import('./commands/introspect.js')).addIntrospectCommand,
  },
  {
    commands: {
      index: 'Secondary indexes of entities.',
    },
    load: async () => (await import('../features/indexes/command.js')).addIndexCommands,
  },
  {
    commands: {
      job: 'Jobs over whole tables.',
    },
    load: async () => (await import('./commands/job.js')).addJobCommands,
  },
  {
    commands: {
      key: 'Encode and decode row keys of an entity.',
      cell: "Encode and decode values of an entity's columns.",
    },
    load: async () => (await import('./commands/key.js')).addKeyCommands,
  },
  {
    commands: {
      'lint [options] <module>':
        'Holds the declarations of a module against rules of thumb: families, names, keys that make hot regions, versions, times to live. Exit code 1 when there is a warning.',
    },
    load: async () => (await import('./commands/lint.js')).addLintCommand,
  },
  {
    commands: {
      'mcp <place> [module]': 'let an assistant read a store or cluster, by its entities',
    },
    load: async () => (await import('./commands/mcp.js')).addMcpCommand,
  },
  {
    commands: {
      references: 'Referential rules of relations.',
    },
    load: async () => (await import('../features/relations/command.js')).addReferenceCommands,
  },
  {
    commands: {
      rekey: "Changes the layout of an entity's keys, on HBase or on a store that no other process has open.",
    },
    load: async () => (await import('../features/rekey/command.js')).addRekeyCommand,
  },
  {
    commands: {
      schema: 'Hold declarations against tables, plan what brings the tables in line, and do it.',
    },
    load: async () => (await import('./commands/schema.js')).addSchemaCommand,
  },
  {
    commands: {
      'serve [options] <folder>': "serve an embedded store by HBase's own protocol",
    },
    load: async () => (await import('./commands/serve.js')).addServeCommand,
  },
  {
    commands: {
      'shell [options] <place> [script]': "run the commands of HBase's shell, from a script or typed",
    },
    load: async () => (await import('./commands/shell.js')).addShellCommand,
  },
  {
    commands: {
      'size [options] <module> <entity> <samples>':
        'Writes a sample of an entity with the real codecs, each encoding and compression, and reckons bytes, regions, split points and heap for the rows that are expected.',
    },
    load: async () => (await import('./commands/size.js')).addSizeCommand,
  },
  {
    commands: {
      store: 'Look into an embedded store: sizes, damage, what its files hold.',
    },
    load: async () => (await import('./commands/store.js')).addStoreCommand,
  },
  {
    commands: {
      'studio [options] <place> [module]': 'show a store or cluster in the browser, by its entities',
    },
    load: async () => (await import('./commands/studio.js')).addStudioCommand,
  },
  {
    commands: {
      'synth [options] <place> <module> <entity>':
        'Puts made-up entities, with the skew that real ones have.',
    },
    load: async () => (await import('./commands/synth.js')).addSynthCommand,
  },
  {
    commands: {
      'count [options] <place> <table>': 'Counts the rows of a table.',
      'cells [options] <place> <table>': 'Counts rows, cells and bytes of a table, by family and column.',
      'export [options] <place> <table> <folder>':
        'Writes a table into a folder, every version and delete marker.',
      'import [options] <place> <folder> [table]':
        "Reads a folder that `rowan export`, or HBase's Export, wrote into a table.",
      'copy [options] <place> <table> <target-place> <target-table>':
        'Copies a table, every version and delete marker, into another, of the same engine or of another.',
      'hash [options] <place> <table> <folder>':
        'Writes hashes of the rows of a table into a folder, for verify and sync.',
      'verify [options] <place> <table> <other-place> <other-table>':
        'Compares two tables cell by cell; exit code 1 when they differ.',
      'sync [options] <place> <table> <other-place> <other-table>':
        'Makes the other table like the first; exit code 1 when rows stay different.',
    },
    load: async () => (await import('./commands/tools.js')).addToolCommands,
  },
  {
    commands: {
      'importtsv [options] <place> <table> <files...>': 'Reads lines of delimited text into a table.',
      'backup [options] <place> <folder>':
        'Adds a backup of tables to a folder; goes on with one that was left unfinished.',
      'restore [options] <place> <folder>': 'Puts the tables of a backup into a store or cluster.',
      'backups [options] <folder>': 'Lists the backups of a folder.',
    },
    load: async () => (await import('./commands/backup.js')).addBackupCommands,
  },
  {
    commands: {
      'bulkload [options] <place> <table> <files...>':
        'Sorts the cells of files and loads them into a table as files, past log and memory.',
    },
    load: async () => (await import('./commands/bulk-load.js')).addBulkLoadCommand,
  },
  {
    commands: {
      entities: 'Entities in files of NDJSON, CSV, Avro or Parquet.',
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

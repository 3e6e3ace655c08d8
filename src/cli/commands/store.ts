/** `rowan store …`: looks into an embedded store, for support. */

import { basename, dirname } from 'node:path';
import Table from 'cli-table3';
import type { Command } from 'commander';
import { toStringBinary } from '../../bytes/index.js';
import { openEmbedded } from '../../store/engine.js';
import { repairStore } from '../../store/repair.js';
import { StoreView } from '../../store/view.js';
import type { CliContext } from '../context.js';
import { dumpFile, dumpLog } from '../store-dump.js';

export function addStoreCommand(program: Command, context: CliContext): void {
  const store = program
    .command('store')
    .description('Look into an embedded store: sizes, damage, what its files hold.');
  store
    .command('stats')
    .description('Sizes and counts of tables, regions and families.')
    .argument('<folder>', 'the folder of the store')
    .option('--json', 'as JSON')
    .action((folder: string, options: { json?: boolean }) => stats(folder, options.json ?? false, context));
  store
    .command('verify')
    .description('Reads every file whole and checks it; exit code 1 when something is wrong.')
    .argument('<folder>', 'the folder of the store')
    .action((folder: string) => verify(folder, context));
  store
    .command('compact')
    .description('Merges all files of a table, or of all tables, and drops what is hidden.')
    .argument('<folder>', 'the folder of the store')
    .argument('[table]', 'the table; default: all')
    .argument('[family]', 'the family; default: all')
    .action((folder: string, table: string | undefined, family: string | undefined) =>
      compact(folder, table, family, context),
    );
  store
    .command('repair')
    .description(
      'Makes a damaged store open again with what is sound of it; sets the rest aside and lists it.',
    )
    .argument('<folder>', 'the folder of a store that nobody has open')
    .action((folder: string) => repair(folder, context));
  store
    .command('dump-wal')
    .description('Prints every write in the log of a store that nobody has open. Changes nothing.')
    .argument('<folder>', 'the folder of the store')
    .action((folder: string) => dumpLog(folder, (line) => context.write(`${line}\n`)));
  store
    .command('dump-file')
    .description('Prints the facts and the cells of a sorted file (.sst).')
    .argument('<file>', 'the path of the file')
    .option('--facts', 'the facts only')
    .action((file: string, options: { facts?: boolean }) =>
      dumpFile(dirname(file), basename(file), options.facts ?? false, (line) => context.write(`${line}\n`)),
    );
}

async function stats(folder: string, json: boolean, context: CliContext): Promise<void> {
  const view = await StoreView.open(folder);
  const found = view.stats();
  view.close();
  if (json) {
    const text = JSON.stringify(
      found,
      (_, value) => (value instanceof Uint8Array ? toStringBinary(value) : value),
      2,
    );
    context.write(`${text}\n`);
    return;
  }
  const head = [
    'table',
    'region',
    'start key',
    'family',
    'files',
    'bytes on disk',
    'bytes of cells',
    'cells',
    'in memory',
  ];
  const table = new Table({ head, style: { head: [], border: [] } });
  for (const { table: name, regions } of found.tables) {
    for (const { region, startKey, families } of regions) {
      for (const family of families) {
        const { files, fileBytes, rawBytes, cells, memstoreCells } = family;
        table.push([
          name,
          region,
          toStringBinary(startKey),
          family.family,
          files,
          fileBytes,
          rawBytes,
          cells,
          memstoreCells,
        ]);
      }
    }
  }
  context.write(`${table.toString()}\n`);
  context.write(`log: ${found.walSegments} segments, ${found.walBytes} bytes; last write ${found.lastSeq}\n`);
}

async function verify(folder: string, context: CliContext): Promise<void> {
  const { tables, regions, files, cells, bytes } = await StoreView.verify(folder);
  context.write(
    `All is well: ${tables} tables, ${regions} regions, ${files} files with ${cells} cells in ${bytes} bytes.\n`,
  );
}

async function repair(folder: string, context: CliContext): Promise<void> {
  const { setAside, lost, savedRecords, savedCells, folder: aside } = await repairStore(folder);
  for (const { file, reason } of setAside) context.write(`set aside: ${file}: ${reason}\n`);
  for (const what of lost) context.write(`lost: ${what}\n`);
  if (setAside.length === 0 && lost.length === 0) {
    context.write('The store is sound. Nothing was changed.\n');
    return;
  }
  if (savedCells > 0) context.write(`Saved ${savedCells} cells of damaged files to new ones.\n`);
  if (savedRecords > 0) context.write(`Saved ${savedRecords} records of logs to a new one.\n`);
  if (aside !== undefined) context.write(`What was set aside is in ${aside}.\n`);
}

async function compact(
  folder: string,
  table: string | undefined,
  family: string | undefined,
  context: CliContext,
): Promise<void> {
  await using engine = await openEmbedded(folder, { automatic: false, createIfMissing: false });
  const names = table ? [table] : (await engine.admin.listTables()).map((each) => each.name);
  const size = (): number =>
    engine
      .stats()
      .tables.reduce(
        (sum, each) =>
          sum +
          each.regions.reduce((all, region) => all + region.families.reduce((n, f) => n + f.fileBytes, 0), 0),
        0,
      );
  await Promise.all(names.map((name) => engine.admin.flush(name, family)));
  const before = size();
  for (const name of names) await engine.admin.majorCompact(name, family);
  context.write(`Compacted ${names.join(', ') || 'no table'}: ${before} bytes before, ${size()} after.\n`);
}

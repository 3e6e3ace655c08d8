import { readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Command } from 'commander';
import { toStringBinary } from '../../bytes/index.js';
import { prepareCodecs } from '../../compression/index.js';
import { CorruptionError, InvalidArgumentError } from '../../errors.js';
import {
  pruneStoreBackups,
  restoreStore,
  type StoreBackup,
  storeBackups,
  verifyStoreBackups,
} from '../../store/backup.js';
import { BlockCache, CachedFile, FileHandleCache } from '../../store/cache.js';
import { readWriteRecord } from '../../store/commit/write-record.js';
import {
  keysInUse,
  loadKeys,
  refuseSealedFiles,
  withEncryption,
} from '../../store/encryption/encrypted-file-system.js';
import { openEmbedded } from '../../store/engine.js';
import { fileNumberOf } from '../../store/file/footer.js';
import { SortedFileReader } from '../../store/file/sorted-file-reader.js';
import { type FileSystem, NodeFileSystem, parseStoreFileName } from '../../store/fs/index.js';
import { readManifest, requireStore } from '../../store/manifest/index.js';
import { DEFAULT_CLOCK_SKEW } from '../../store/options.js';
import { openReadOnly, type ReadOnlyStore } from '../../store/read-only/read-only-store.js';
import { repairStore } from '../../store/repair/repair.js';
import { repairStoreClock } from '../../store/repair/repair-clock.js';
import { replayWal } from '../../store/wal/index.js';
import { CellType } from '../../table/index.js';
import type { CliContext } from '../context.js';
import { describeMoment } from '../databases.js';
import { encryptionFromEnvironment } from '../encryption.js';
import { tellBytes } from './store-bytes.js';

// — The output of `rowan store dump-wal` and `dump-file`.

type Print = (line: string) => void;

/**
 * Prints each write of the WAL, oldest first.
 * @throws CorruptionError naming file and offset where the WAL is damaged.
 */
async function dumpLog(folder: string, print: Print): Promise<void> {
  const files = await filesOf(folder);
  requireStore(files, folder);
  const { state } = readManifest(files, folder);
  const families = new Map<number, string>();
  for (const table of state.tables.values()) {
    for (const [name, number] of table.familyNumbers) families.set(number, name);
  }
  const tableName = (id: number): string => state.tables.get(id)?.descriptor.name ?? `(table ${id}, deleted)`;
  const segments = [...state.walSegments.values()];
  const { records, torn } = replayWal(
    files,
    folder,
    segments,
    (record) => {
      print(
        `segment ${record.segment} offset ${record.fileOffset}: writes ${record.firstSeq}..${record.firstSeq + record.count - 1}`,
      );
      readWriteRecord(record.payload.subarray(record.offset, record.offset + record.length), {
        cell: ({ mutation, table, row, family, qualifier, timestamp, type, ttl, value }) => {
          const column = `${families.get(family) ?? `(family ${family}, deleted)`}:${toStringBinary(qualifier)}`;
          const expiry = ttl === 0 ? '' : ` ttl=${ttl}`;
          print(
            `  ${record.firstSeq + mutation} ${tableName(table)} ${toStringBinary(row)} ${column} ` +
              `timestamp=${timestamp} ${typeName(type)}${expiry} value=${shortened(value)}`,
          );
        },
      });
    },
    { repair: false },
  );
  print(`${records} records in ${segments.length} segments.`);
  if (torn)
    print(`Incomplete end: ${torn.bytes} bytes from ${torn.offset} of ${torn.file} were never acknowledged.`);
}

/** @throws InvalidArgumentError for a folder. */
function refuseFolder(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return;
  const sorted = readdirSync(path).filter((name) => parseStoreFileName(name)?.kind === 'sorted');
  const some = sorted.slice(0, 3).join(', ');
  throw new InvalidArgumentError(
    `${path} is a folder, ${sorted.length === 0 ? 'without sorted files (*.sst). A store has them once it has flushed' : `with ${sorted.length} sorted file${sorted.length === 1 ? '' : 's'}: ${some}${sorted.length > 3 ? ', …' : ''}. Give the path of one`}.`,
  );
}

/** The number of a sorted file, which is in it. @throws InvalidArgumentError for a file of another name that is none. */
function numberOf(file: CachedFile, path: string): number {
  try {
    return fileNumberOf(file);
  } catch (error) {
    if (!(error instanceof CorruptionError) || parseStoreFileName(basename(path))?.kind === 'sorted')
      throw error;
    throw new InvalidArgumentError(
      `${path} is no sorted file: it does not end like one. Give a file *.sst of a store, or a copy of one.`,
      { cause: error },
    );
  }
}

/** Prints the properties of a sorted file, and its cells. */
async function dumpFile(folder: string, name: string, factsOnly: boolean, print: Print): Promise<void> {
  const path = join(folder, name);
  refuseFolder(path);
  const files = new FileHandleCache(await filesOf(folder), 1);
  const file = new CachedFile(files, path);
  const number = numberOf(file, path);
  const reader = SortedFileReader.open({ files, cache: new BlockCache(0) }, path, number);
  try {
    for (const [fact, value] of Object.entries(reader.meta)) {
      print(`${fact}: ${value instanceof Uint8Array ? toStringBinary(value) : String(value)}`);
    }
    if (factsOnly) return;
    await prepareCodecs([reader.meta.compression]);
    const cursor = reader.cursor({ cacheBlocks: false });
    for (let more = cursor.seekToFirst(); more; more = cursor.next()) {
      const { key, rowOffset, rowLength, qualifierOffset, qualifierLength } = cursor;
      const row = toStringBinary(key.subarray(rowOffset, rowOffset + rowLength));
      const qualifier = toStringBinary(key.subarray(qualifierOffset, qualifierOffset + qualifierLength));
      const value = cursor.value.subarray(cursor.valueOffset, cursor.valueOffset + cursor.valueLength);
      const expiry = cursor.ttl === 0 ? '' : ` ttl=${cursor.ttl}`;
      print(
        `${row} ${qualifier} timestamp=${cursor.timestamp} ${typeName(cursor.type)} seq=${cursor.seq}${expiry} value=${shortened(value)}`,
      );
    }
    cursor.close();
  } finally {
    reader.close();
    files.closeAll();
  }
}

/** The files of a store, with its keys. */
async function filesOf(folder: string): Promise<FileSystem> {
  const files = withEncryption(new NodeFileSystem(), encryptionFromEnvironment().encryption);
  refuseSealedFiles(files, folder);
  await loadKeys(files, folder);
  return files;
}

function tellKeys(folder: string, json: boolean, context: CliContext): void {
  const files = new NodeFileSystem();
  requireStore(files, folder);
  const uses = keysInUse(files, folder);
  if (json) context.write(`${JSON.stringify(uses)}\n`);
  else
    for (const { keyId, files: count, bytes } of uses)
      context.write(`${keyId ?? '(not encrypted)'}\t${count} files\t${bytes} bytes\n`);
}

function typeName(type: number): string {
  return Object.entries(CellType).find(([, code]) => code === type)?.[0] ?? `type ${type}`;
}

/** The beginning of a value, enough to recognize it. */
function shortened(value: Uint8Array): string {
  const text = toStringBinary(value.subarray(0, 60));
  return value.length > 60 ? `${text}… (${value.length} bytes)` : text;
}

/** `rowan store …`: inspects and repairs an embedded store, for support. */
export function addStoreCommand(program: Command, context: CliContext): void {
  const store = program
    .command('store')
    .description('Inspects, verifies, compacts and repairs an embedded store.');
  store
    .command('stats')
    .description('Prints sizes and counts of tables, regions and families.')
    .argument('<folder>', 'the folder of the store')
    .option('--bytes [table]', 'read all tables, or one: what a row costs, part by part')
    .option('--json', 'as JSON')
    .action((folder: string, { json = false, bytes }: { json?: boolean; bytes?: string | true }) =>
      bytes === undefined
        ? stats(folder, json, context)
        : tellBytes(folder, bytes === true ? undefined : bytes, json, context),
    );
  store
    .command('verify')
    .description('Reads and checks every file completely; exit code 1 if any is damaged.')
    .argument('<folder>', 'the folder of the store')
    .option('--rate <bytes>', 'read at most so many bytes a second')
    .option('--threads <number>', 'threads that read, each other blocks')
    .action((folder: string, flags: VerifyFlags) => verify(folder, flags, context));
  store
    .command('compact')
    .description('Merges all files of a table, or of all tables, and drops hidden cells (major compaction).')
    .argument('<folder>', 'the folder of the store')
    .argument('[table]', 'the table; default: all')
    .argument('[family]', 'the family; default: all')
    .option('--encrypt', 'encrypt files that are not encrypted yet (docs/encryption.md)')
    .option('--decrypt', 'write files without encryption')
    .action(
      (
        folder: string,
        table: string | undefined,
        family: string | undefined,
        options: { encrypt?: boolean; decrypt?: boolean },
      ) => compact(folder, table, family, options, context),
    );
  store
    .command('keys')
    .description('Counts the files of a store by the keys that encrypt them. Needs no key.')
    .argument('<folder>', 'the folder of the store')
    .option('--json', 'as JSON')
    .action((folder: string, { json }: { json?: boolean }) => tellKeys(folder, json ?? false, context));
  store
    .command('repair')
    .description(
      'Repairs a damaged store so that it opens with its intact data; moves damaged files aside and lists them.',
    )
    .argument('<folder>', 'the folder of a store that no process has open')
    .option(
      '--clock',
      "set the clock of an intact store back to this machine's time, after writes under a wrong clock",
    )
    .action((folder: string, { clock }: { clock?: boolean }) =>
      clock ? repairClock(folder, context) : repair(folder, context),
    );
  store
    .command('backup')
    .description(
      'Adds a backup of a store that no process has open to a folder; copies only what no earlier backup has.',
    )
    .argument('<store>', 'the folder of the store')
    .argument('<folder>', 'the folder of backups; created if it is missing')
    .option('--json', 'as JSON')
    .action(async (path: string, folder: string, { json }: { json?: boolean }) => {
      await using engine = await openEmbedded(path, {
        ...encryptionFromEnvironment(),
        automatic: false,
        createIfMissing: false,
      });
      tellBackups([await engine.backup(folder)], json, context);
    });
  store
    .command('restore')
    .description('Makes a store of a backup, checking every byte.')
    .argument('<folder>', 'the folder of backups')
    .argument('<store>', 'the folder of the new store, which must not exist')
    .option(
      '--to <backup>',
      'the name of a backup, or a time: the last backup begun before it; default: the last one. With --log: a time, or the number of a write',
    )
    .option(
      '--log <folder>',
      'the log archive of the store: restores every write up to --to, or up to its end',
    )
    .option('--json', 'as JSON')
    .action(async (folder: string, path: string, options: { to?: string; log?: string; json?: boolean }) => {
      const { to, log, json } = options;
      const restored = await restoreStore(folder, path, {
        ...(to === undefined ? {} : { to: log === undefined ? backupOf(to) : momentOf(to) }),
        ...(log === undefined ? {} : { log, ...encryptionFromEnvironment() }),
      });
      tellBackups([restored], json, context);
      if (restored.log === undefined || json === true) return;
      const { seq, time, records } = restored.log;
      const at = time === undefined ? '' : ` of ${new Date(time).toISOString()}`;
      context.write(`${records} records of the log\tup to write ${seq}${at}\n`);
    });
  store
    .command('backups')
    .description('Lists the backups of a folder.')
    .argument('<folder>', 'the folder of backups')
    .option('--verify', 'read and check every file; exit code 1 if any is damaged')
    .option('--keep <number>', 'remove all but the last backups')
    .option('--log <folder>', 'with --keep: remove from the log archive what only removed backups need')
    .option('--json', 'as JSON')
    .action(
      async (folder: string, options: { verify?: boolean; keep?: string; log?: string; json?: boolean }) => {
        const { keep, log } = options;
        if (keep !== undefined)
          await pruneStoreBackups(folder, { keep: Number(keep), ...(log === undefined ? {} : { log }) });
        tellBackups(await storeBackups(folder), options.json, context);
        if (options.verify !== true) return;
        const { files, bytes } = await verifyStoreBackups(folder);
        if (options.json !== true) context.write(`No damage found: ${files} files in ${bytes} bytes.\n`);
      },
    );
  store
    .command('dump-wal')
    .description('Prints every write in the WAL of a store that no process has open. Changes nothing.')
    .argument('<folder>', 'the folder of the store')
    .action((folder: string) => dumpLog(folder, (line) => context.write(`${line}\n`)));
  store
    .command('dump-file')
    .description('Prints the facts and the cells of a sorted file (.sst).')
    .argument('<file>', 'the path of the file')
    .option('--facts', 'print the facts only')
    .action((file: string, options: { facts?: boolean }) =>
      dumpFile(dirname(file), basename(file), options.facts ?? false, (line) => context.write(`${line}\n`)),
    );
}

/** A name, "000012", or a time. */
function backupOf(text: string): string | Date {
  if (/^\d{6,}$/.test(text)) return text;
  const time = new Date(text);
  if (!Number.isNaN(time.getTime())) return time;
  throw new InvalidArgumentError(
    `--to takes the name of a backup ("000012") or a time ("2030-01-31T12:00Z"), not "${text}".`,
  );
}

/** The number of a write, or a time. */
function momentOf(text: string): number | Date {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  const time = new Date(text);
  if (!Number.isNaN(time.getTime())) return time;
  throw new InvalidArgumentError(
    `--to with --log takes a time ("2030-01-31T12:00Z") or the number of a write, not "${text}".`,
  );
}

function tellBackups(backups: readonly StoreBackup[], json: boolean | undefined, context: CliContext): void {
  if (json === true) {
    context.write(`${JSON.stringify(backups)}\n`);
    return;
  }
  for (const { name, time, files, bytes, added } of backups) {
    context.write(`${name}\t${new Date(time).toISOString()}\t${files} files\t${bytes} bytes\t${added} new\n`);
  }
}

async function stats(folder: string, json: boolean, context: CliContext): Promise<void> {
  await using store = await openReadOnly(folder, encryptionFromEnvironment());
  const found = store.stats();
  if (json) {
    const text = JSON.stringify(
      { moment: store.moment, ...found },
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
  const { default: Table } = await import('cli-table3');
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
  tellMoment(store, context);
  context.write(`log: ${found.walSegments} segments, ${found.walBytes} bytes; last write ${found.lastSeq}\n`);
  if (found.clock > Date.now() + DEFAULT_CLOCK_SKEW) {
    context.write(
      `clock: ${new Date(found.clock).toISOString()}, which is in the future. Correct it: rowan store repair --clock ${folder}\n`,
    );
  }
}

/** For a store in use: prints the moment at which it was read. */
function tellMoment({ moment }: ReadOnlyStore, context: CliContext): void {
  if (moment.opener !== undefined) context.write(describeMoment(moment));
}

interface VerifyFlags {
  readonly rate?: string;
  readonly threads?: string;
}

async function verify(folder: string, { rate, threads }: VerifyFlags, context: CliContext): Promise<void> {
  await using store = await openReadOnly(folder, encryptionFromEnvironment());
  tellMoment(store, context);
  const { tables, regions, files, cells, bytes } = await store.verify({
    ...(rate !== undefined && { bytesPerSecond: Number(rate) }),
    ...(threads !== undefined && { threads: Number(threads) }),
  });
  context.write(
    `No damage found: ${tables} tables, ${regions} regions, ${files} files with ${cells} cells in ${bytes} bytes.\n`,
  );
}

async function repair(folder: string, context: CliContext): Promise<void> {
  const {
    setAside,
    lost,
    savedRecords,
    savedCells,
    folder: aside,
  } = await repairStore(folder, undefined, encryptionFromEnvironment().encryption);
  for (const { file, reason } of setAside) context.write(`set aside: ${file}: ${reason}\n`);
  for (const what of lost) context.write(`lost: ${what}\n`);
  if (setAside.length === 0 && lost.length === 0) {
    context.write('The store is intact. Nothing was changed.\n');
    return;
  }
  if (savedCells > 0) context.write(`Saved ${savedCells} cells of damaged files to new ones.\n`);
  if (savedRecords > 0) context.write(`Saved ${savedRecords} records of logs to a new one.\n`);
  if (aside !== undefined) context.write(`Files set aside are in ${aside}.\n`);
  if (lost.length > 0)
    context.write(
      'Indexes, summaries and copies may disagree with the rows: build them anew, or run "rowan index verify", ' +
        '"rowan summary check" and "rowan denormalized check".\n',
    );
}

async function repairClock(folder: string, context: CliContext): Promise<void> {
  const { before, after, tables } = await repairStoreClock(
    folder,
    undefined,
    undefined,
    encryptionFromEnvironment().encryption,
  );
  const isoTime = (time: number): string => new Date(time).toISOString();
  context.write(
    after === before
      ? `The clock of the store, ${isoTime(before)}, is not ahead. Nothing was changed.\n`
      : `The clock of the store was ${isoTime(before)}, and is ${isoTime(after)} now.\n`,
  );
  for (const { table, latest } of tables) {
    context.write(
      `${table} has cells with future timestamps, the latest ${isoTime(latest)}, which hide earlier writes. ` +
        'Delete them with a timestamp, or read and rewrite them.\n',
    );
  }
}

async function compact(
  folder: string,
  table: string | undefined,
  family: string | undefined,
  change: { readonly encrypt?: boolean; readonly decrypt?: boolean },
  context: CliContext,
): Promise<void> {
  await using engine = await openEmbedded(folder, {
    ...encryptionFromEnvironment(change),
    automatic: false,
    createIfMissing: false,
  });
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

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { compareBytes } from '../../bytes/index.js';
import { CorruptionError, InvalidArgumentError } from '../../errors.js';
import { CLOCK_TABLE, type RecordedCell, TIME_FAMILY, WriteRecordReader } from '../commit/write-record.js';
import { loadKeys, withEncryption } from '../encryption/encrypted-file-system.js';
import type { EncryptionOptions } from '../encryption/keys.js';
import { copyFile, sizeOf } from '../fs/copies.js';
import { type FileSystem, joinPath, NodeFileSystem, sortedFileName, walFileName } from '../fs/index.js';
import { type Edit, findStore, Manifest, type RegionEntry, type VersionState } from '../manifest/index.js';
import { openStore } from '../recovery.js';
import { isUserTable } from '../table-state.js';
import { replayWal, type SegmentToRead, Wal, type WalRecord } from '../wal/index.js';
import { ArchivedTables } from './archived-tables.js';
import { type ArchiveIndex, requireIndex } from './log-archive.js';

/** Bytes of the log that are applied between two flushes of the store that is being restored. */
const ROUND_BYTES = 128 << 20;

/** Where to stop: after the last write up to a time (ms) or a sequence number; without both, at the end. */
interface ReplayLimit {
  readonly time?: number;
  readonly seq?: number;
}

/** The result of {@link replayArchive}. */
interface ReplayedLog {
  /** The last write that the store has. */
  readonly seq: number;
  readonly time: number | undefined;
  readonly records: number;
}

/**
 * Applies an archived log to the store in `directory`, which a backup has made and nobody has open. All of the log that is needed is read
 * and checked before the first write is applied. Writes keep their sequence numbers and timestamps.
 * @throws InvalidArgumentError when the archive begins after the backup; CorruptionError naming what is missing or damaged; RowanError
 *   `ERR_ENCRYPTION`, `ERR_IO`. The store is of no use then.
 */
export async function replayArchive(
  directory: string,
  folder: string,
  limit: ReplayLimit,
  encryption: EncryptionOptions | undefined,
): Promise<ReplayedLog> {
  const index = await requireIndex(folder);
  const files = withEncryption(new NodeFileSystem(), encryption);
  await loadKeys(files, directory);
  await loadKeys(files, folder);
  const target = new RestoredLog(files, directory, encryption);
  // The first opening creates files, too.
  target.change([{ type: 'counters', ...numbersAfter(index.changes) }]);
  const from = await openOnce(directory, encryption);
  if (from < index.begin.seq) {
    throw new InvalidArgumentError(
      `The log archive "${folder}" begins after write ${index.begin.seq}, and the backup ends with write ${from}. Give a backup that was ` +
        'made after the archive was begun, or restore without the log.',
    );
  }
  const segments = await neededSegments(index, folder, from);
  const log = new ArchivedLog(files, folder, segments, from, limit);
  const end = log.check();
  const changes = index.changes.filter(({ time, seq }) => isWithin(limit, seq, time));
  target.change(await tableEdits(changes, folder, directory, files, from, limit));
  const times = new RecordTimes();
  for (const number of log.numbers(end)) {
    log.read(number, times, (record) => target.append(record));
    if (target.bytes >= ROUND_BYTES) await target.flush();
  }
  const seq = await target.flush();
  return { seq, time: end.time, records: end.records };
}

function isWithin(limit: ReplayLimit, seq: number, time: number): boolean {
  return time <= (limit.time ?? Number.POSITIVE_INFINITY) && seq <= (limit.seq ?? Number.POSITIVE_INFINITY);
}

/** Opens the store, which replays and flushes what is in its log. @returns its last sequence number. */
async function openOnce(directory: string, encryption: EncryptionOptions | undefined): Promise<number> {
  const store = await openStore(directory, {
    createIfMissing: false,
    automatic: false,
    background: 'inline',
    flushOnClose: { maxMilliseconds: Number.MAX_SAFE_INTEGER },
    ...(encryption === undefined ? {} : { encryption }),
  });
  const { lastSeq } = store.commits;
  await store.close();
  return lastSeq;
}

/**
 * The segments with writes after `from`. The archive may lack those before: they were pruned.
 * @throws CorruptionError when one is missing.
 */
async function neededSegments(
  { segments }: ArchiveIndex,
  folder: string,
  from: number,
): Promise<readonly SegmentToRead[]> {
  const needed: SegmentToRead[] = [];
  for (const { number, length, crc, firstSeq, lastSeq } of segments) {
    if (lastSeq <= from) continue;
    const path = join(folder, walFileName(number));
    if ((await sizeOf(path)) === undefined) throw missing(path, firstSeq, lastSeq);
    needed.push({ number, closed: { length, crc } });
  }
  const open = await openSegment(folder, new Set(segments.map(({ number }) => number)));
  return open === undefined ? needed : [...needed, { number: open }];
}

/** The segment that was being archived, if any. */
async function openSegment(folder: string, complete: ReadonlySet<number>): Promise<number | undefined> {
  const numbers = (await readdir(folder)).flatMap((name) => {
    const number = /^(\d+)\.wal$/.exec(name)?.[1];
    return number === undefined || complete.has(Number(number)) ? [] : [Number(number)];
  });
  const [number, other] = numbers.sort((a, b) => a - b);
  if (other === undefined) return number;
  throw new CorruptionError(
    `The log archive "${folder}" has two segments that its INDEX does not name, ${number} and ${other}: the end of the INDEX is lost. ` +
      'Restore the archive from a copy, or a backup without the log.',
    { details: { file: join(folder, 'INDEX'), offset: 0 } },
  );
}

function missing(path: string, firstSeq: number, lastSeq: number): CorruptionError {
  return new CorruptionError(
    `The archived segment "${path}" with writes ${firstSeq} to ${lastSeq} is missing. Nothing was restored. Put it back, or restore up to ` +
      `write ${firstSeq - 1} (to: ${firstSeq - 1}), or begin with a later backup.`,
    { details: { file: path, offset: 0 } },
  );
}

/** Where the part of a log that is applied ends. */
interface LogEnd {
  /** The last segment that is read. */
  readonly segment: number | undefined;
  readonly records: number;
  /** The time of the last record. */
  readonly time: number | undefined;
}

/** The records of an archive after a backup, up to a limit. */
class ArchivedLog {
  constructor(
    private readonly files: FileSystem,
    private readonly folder: string,
    private readonly segments: readonly SegmentToRead[],
    private readonly from: number,
    private readonly limit: ReplayLimit,
  ) {}

  /** Reads every segment up to the limit. @throws CorruptionError when one is not as it was written. */
  check(): LogEnd {
    let end: LogEnd = { segment: undefined, records: 0, time: undefined };
    const times = new RecordTimes();
    for (const { number } of this.segments) {
      let { records, time } = end;
      const isWhole = this.read(number, times, () => {
        records++;
        time = times.time;
      });
      end = { segment: number, records, time };
      if (!isWhole) break;
    }
    return end;
  }

  /** The segments up to an end. */
  numbers({ segment }: LogEnd): number[] {
    const numbers = this.segments.map(({ number }) => number);
    return numbers.slice(0, numbers.indexOf(segment ?? -1) + 1);
  }

  /** Passes on the records of a segment that are to be applied. @returns whether none of it is beyond the limit. */
  read(number: number, times: RecordTimes, onRecord: (record: WalRecord) => void): boolean {
    const segment = this.segments.find((each) => each.number === number)!;
    let isWhole = true;
    replayWal(
      this.files,
      this.folder,
      [segment],
      (record) => {
        const time = times.of(record);
        if (!isWhole || record.firstSeq <= this.from) return;
        // Later records were decided on what this one wrote.
        isWhole = isWithin(this.limit, record.firstSeq, time);
        if (isWhole) onRecord(record);
      },
      { repair: false },
    );
    return isWhole;
  }
}

/** The times of records: each has its time, unless it is that of the one before. */
class RecordTimes {
  time = 0;
  private clock = 0;
  private found = 0;
  private readonly reader = new WriteRecordReader();

  of({ payload, offset, length }: WalRecord): number {
    this.clock = 0;
    this.found = 0;
    this.reader.read(payload, this, offset, offset + length);
    this.time = this.found || this.clock || this.time;
    return this.time;
  }

  cell({ table, family, timestamp }: RecordedCell): void {
    if (table !== CLOCK_TABLE) return;
    if (family === TIME_FAMILY) this.found = timestamp;
    else this.clock = timestamp;
  }
}

/**
 * The edits that give the restored store the tables of the moment, and the files that did not pass through the log, which are copied into its folder.
 * @throws CorruptionError when such a file is missing.
 */
async function tableEdits(
  changes: ArchiveIndex['changes'],
  folder: string,
  directory: string,
  fileSystem: FileSystem,
  from: number,
  limit: ReplayLimit,
): Promise<Edit[]> {
  const wanted = new ArchivedTables();
  for (const change of changes) wanted.apply(change);
  const { state } = findStore(fileSystem, directory);
  // An archive without a change of tables since the backup says nothing of them.
  const edits: Edit[] = changes.length === 0 ? [] : namespaceEdits(state, wanted);
  for (const { id, descriptor } of state.tables.values())
    if (changes.length > 0 && isUserTable(descriptor.name) && !wanted.tables.has(id))
      edits.push({ type: 'tableDrop', id });
  const regions: Pick<RegionEntry, 'id' | 'table' | 'startKey' | 'endKey'>[] = [...state.regions.values()];
  const added = new Set<number>();
  for (const table of wanted.tables.values()) {
    if (state.tables.has(table.id)) edits.push({ type: 'tableAlter', ...table });
    else {
      added.add(table.id);
      const own = wanted.regions.get(table.id) ?? [];
      edits.push({ type: 'tableAdd', ...table }, ...own);
      regions.push(...own);
    }
  }
  const placed = new Set<string>();
  for (const { table, family, file } of wanted.files) {
    const entry = wanted.tables.get(table);
    const isLoad = file.bulkSeq !== undefined && !added.has(table);
    if (entry === undefined || ![...entry.familyNumbers.values()].includes(family)) continue;
    if (!added.has(table) && !(isLoad && file.bulkSeq! > from && file.bulkSeq! <= (limit.seq ?? Infinity)))
      continue;
    const name = sortedFileName(file.number);
    const path = join(folder, name);
    if ((await sizeOf(path)) === undefined) throw missingFile(path, entry.descriptor.name);
    if (!fileSystem.exists(joinPath(directory, name)))
      await copyFile(path, joinPath(directory, name), () => undefined);
    for (const region of regions) {
      if (region.table !== table || !overlaps(region, file.firstKey, file.lastKey)) continue;
      const place = `${region.id} ${family} ${file.number}`;
      if (placed.has(place)) continue;
      placed.add(place);
      edits.push({ type: 'fileAdd', region: region.id, family, file });
    }
  }
  return edits;
}

function overlaps(
  { startKey, endKey }: Pick<RegionEntry, 'startKey' | 'endKey'>,
  firstKey: Uint8Array,
  lastKey: Uint8Array,
): boolean {
  return compareBytes(lastKey, startKey) >= 0 && (endKey.length === 0 || compareBytes(firstKey, endKey) < 0);
}

function namespaceEdits(state: VersionState, wanted: ArchivedTables): Edit[] {
  const edits: Edit[] = [];
  for (const name of wanted.namespaces)
    if (!state.namespaces.has(name)) edits.push({ type: 'namespaceAdd', name });
  for (const [name, properties] of wanted.properties)
    edits.push({ type: 'namespaceAlter', name, properties });
  for (const name of state.namespaces)
    if (!wanted.namespaces.has(name)) edits.push({ type: 'namespaceRemove', name });
  return edits;
}

/** Numbers above all that an archive names: what the restored store creates gets later ones. */
function numbersAfter(changes: ArchiveIndex['changes']): {
  readonly nextFile: number;
  readonly nextId: number;
} {
  let nextFile = 1;
  let nextId = 1;
  for (const { edits } of changes) {
    for (const edit of edits) {
      if (edit.type === 'tableAdd')
        nextId = Math.max(nextId, edit.id + 1, ...[...edit.familyNumbers.values()].map((n) => n + 1));
      else if (edit.type === 'regionAdd') nextId = Math.max(nextId, edit.id + 1);
      else if (edit.type === 'fileAdd') nextFile = Math.max(nextFile, edit.file.number + 1);
    }
  }
  return { nextFile, nextId };
}

function missingFile(path: string, table: string): CorruptionError {
  return new CorruptionError(
    `The archived file "${path}", which was loaded into table "${table}", is missing. Nothing was restored. Put it back, or begin with a ` +
      'later backup.',
    { details: { file: path, offset: 0 } },
  );
}

/** Gives records to the store that is being restored: as segments of its own log, which its next opening replays and flushes. */
class RestoredLog {
  /** Of records that are not flushed yet. */
  bytes = 0;
  private wal: Wal | undefined;
  private number = 0;

  constructor(
    private readonly files: FileSystem,
    private readonly directory: string,
    private readonly encryption: EncryptionOptions | undefined,
  ) {}

  /** Records edits in the MANIFEST of the store. */
  change(edits: readonly Edit[]): void {
    const { files, directory } = this;
    const manifest = Manifest.begin(files, directory, findStore(files, directory), edits);
    manifest.close();
  }

  append({ firstSeq, count, payload, offset, length }: WalRecord): void {
    if (this.wal === undefined) {
      this.number = findStore(this.files, this.directory).nextNumber;
      this.wal = Wal.create(this.files, this.directory, this.number);
      this.change([{ type: 'walAdd', number: this.number }]);
    }
    this.wal.append(firstSeq, count, payload, offset, length);
    this.bytes += length;
  }

  /** Applies what was appended. @returns the last sequence number of the store. */
  async flush(): Promise<number> {
    const { wal } = this;
    if (wal !== undefined) {
      const [closed] = wal.close();
      this.change([{ type: 'walClosed', ...closed! }]);
    }
    this.wal = undefined;
    this.bytes = 0;
    return openOnce(this.directory, this.encryption);
  }
}

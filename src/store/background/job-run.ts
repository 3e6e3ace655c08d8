import { compareBytes, compareSlices, EMPTY_BYTES } from '../../bytes/index.js';
import { prepareCodecs } from '../../compression/index.js';
import { CellType, type FamilyDescriptor } from '../../table/index.js';
import { BlockCache, FileHandleCache } from '../cache.js';
import { CellCursor, SeekKey } from '../cursor.js';
import { EncodedRow } from '../encoding/index.js';
import { SortedFileReader } from '../file/sorted-file-reader.js';
import { SortedFileWriter } from '../file/sorted-file-writer.js';
import type { FileSystem } from '../fs/file-system.js';
import {
  ClassicCompactionMatcher,
  type CompactionKind,
  NewVersionCompactionMatcher,
} from '../match/compaction-matcher.js';
import { ColumnBytes, INCLUDE, type Matcher, SEEK_NEXT_COLUMN } from '../match/matcher.js';
import { type SharedMemstore, SharedMemstoreCursor } from '../memstore/memstore-cursor.js';
import { CellMerge } from '../scan/cell-merge.js';
import { oldestUnexpired } from '../scan/store-read.js';
import { type Drops, DropWatch } from './drop-watch.js';
import type { CompactionJob, Job, JobResult } from './job.js';

/** The rows [startKey, endKey) of a file that two regions share since a split; forward only, for compactions. */
class RowRangeCursor extends CellCursor {
  constructor(
    private readonly inner: CellCursor,
    private readonly startKey: Uint8Array,
    private readonly endKey: Uint8Array,
  ) {
    super();
  }

  override seekToFirst(): boolean {
    const key = new SeekKey().setRow(this.startKey);
    return this.copyPosition(this.startKey.length === 0 ? this.inner.seekToFirst() : this.inner.seek(key));
  }

  override seek(target: SeekKey): boolean {
    const { row, rowOffset, rowLength } = target;
    const before = compareSlices(row, rowOffset, rowLength, this.startKey, 0, this.startKey.length) < 0;
    return before ? this.seekToFirst() : this.copyPosition(this.inner.seek(target));
  }

  override reseek(target: SeekKey): boolean {
    return this.copyPosition(this.inner.reseek(target));
  }

  override next(): boolean {
    return this.copyPosition(this.inner.next());
  }

  override encodedRow(row: EncodedRow, oldest: number): boolean {
    return this.inner.encodedRow(row, oldest);
  }

  override leaveRow(): void {
    this.inner.leaveRow();
    this.copyPosition(this.inner.valid);
  }

  override seekToPreviousRow(): boolean {
    this.valid = false;
    return false;
  }

  override close(): void {
    this.valid = false;
    this.inner.close();
  }

  private copyPosition(found: boolean): boolean {
    const { inner, endKey } = this;
    this.valid =
      found &&
      (endKey.length === 0 ||
        compareSlices(inner.key, inner.rowOffset, inner.rowLength, endKey, 0, endKey.length) < 0);
    if (!this.valid) return false;
    this.key = inner.key;
    this.rowOffset = inner.rowOffset;
    this.rowLength = inner.rowLength;
    this.qualifierOffset = inner.qualifierOffset;
    this.qualifierLength = inner.qualifierLength;
    this.timestamp = inner.timestamp;
    this.type = inner.type;
    this.seq = inner.seq;
    this.value = inner.value;
    this.valueOffset = inner.valueOffset;
    this.valueLength = inner.valueLength;
    this.ttl = inner.ttl;
    return true;
  }
}

/** One flush or compaction, run in steps. */
export class JobRun {
  private constructor(
    private readonly scanner: CompactionScanner,
    private readonly writer: SortedFileWriter,
    private readonly release: () => void,
  ) {}

  /** Opens the inputs of the job and creates its output file. */
  static async begin(job: Job, fileSystem: FileSystem): Promise<JobRun> {
    await prepareCodecs([job.family.compression]);
    const major = job.kind === 'compaction' && job.major;
    const { cursors, earliestPutTimestamp, release } =
      job.kind === 'flush' ? openMemstore(job.memstore) : await openInputs(job, fileSystem);
    let writer: SortedFileWriter | undefined;
    try {
      writer = new SortedFileWriter(fileSystem.create(job.path), {
        fileNo: job.fileNo,
        compression: job.family.compression,
        dataBlockEncoding: job.family.dataBlockEncoding,
        bloomFilter: job.family.bloomFilter,
        blockSize: job.family.blockSize,
        majorCompacted: major,
      });
      const scanner = new CompactionScanner(cursors, writer, {
        kind: job.kind === 'flush' ? 'flush' : major ? 'major' : 'minor',
        family: job.family,
        smallestReadPoint: job.smallestReadPoint,
        now: job.now,
        earliestPutTimestamp,
        timeToPurgeDeletes: job.kind === 'compaction' ? job.timeToPurgeDeletes : 0,
      });
      return new JobRun(scanner, writer, release);
    } catch (error) {
      release();
      writer?.abandon();
      throw error;
    }
  }

  /** Examines up to `cells` cells; false when there are no more. */
  step(cells: number): boolean {
    return this.scanner.step(cells);
  }

  /** Completes the file, and syncs it off the thread. */
  async finish(): Promise<JobResult> {
    this.release();
    const { drops } = this.scanner;
    if (this.writer.cells === 0) {
      this.abandon();
      return { written: undefined, drops };
    }
    return { written: await this.writer.finishAsync(), drops };
  }

  /** Closes everything. The caller removes the output file. */
  abandon(): void {
    this.release();
    this.writer.abandon();
  }
}

interface Opened {
  readonly cursors: CellCursor[];
  readonly earliestPutTimestamp: number;
  readonly release: () => void;
}

function openMemstore(memstore: SharedMemstore): Opened {
  const cursor = new SharedMemstoreCursor(memstore);
  cursor.seekToFirst();
  return { cursors: [cursor], earliestPutTimestamp: 0, release: () => cursor.close() };
}

/** Opens cursors over the region's part of each input, and prepares the codecs that reading them needs. */
async function openInputs(job: CompactionJob, fileSystem: FileSystem): Promise<Opened> {
  const files = new FileHandleCache(fileSystem, job.inputs.length);
  const context = { files, cache: new BlockCache(0) };
  const readers: SortedFileReader[] = [];
  const cursors: CellCursor[] = [];
  const release = (): void => {
    for (const cursor of cursors) cursor.close();
    for (const reader of readers) reader.close();
    files.closeAll();
  };
  try {
    for (const { path, fileNo, seq } of job.inputs) {
      readers.push(SortedFileReader.open(context, path, fileNo, seq === undefined ? {} : { seq }));
    }
    await prepareCodecs(readers.map(({ meta }) => meta.compression));
    readers.forEach((reader, order) => {
      const cursor = regionPart(reader, job);
      cursor.order = order;
      cursors.push(cursor);
      cursor.seekToFirst();
    });
    let earliestPutTimestamp = Number.MAX_SAFE_INTEGER;
    for (const { meta } of readers)
      earliestPutTimestamp = Math.min(earliestPutTimestamp, meta.earliestPutTimestamp);
    return { cursors, earliestPutTimestamp, release };
  } catch (error) {
    release();
    throw error;
  }
}

/** A cursor over the file, limited to the region's rows if the file has others too. */
function regionPart(reader: SortedFileReader, { startKey, endKey }: CompactionJob): CellCursor {
  const cursor = reader.cursor({ cacheBlocks: false, transient: true });
  const { firstRow, lastRow } = reader.meta;
  const inside =
    compareBytes(firstRow, startKey) >= 0 && (endKey.length === 0 || compareBytes(lastRow, endKey) < 0);
  return inside ? cursor : new RowRangeCursor(cursor, startKey, endKey);
}

/** Receives the kept cells, in order. */
interface CellSink {
  append(cell: CellCursor): void;
  /** Whether it also receives encoded rows. */
  readonly takesEncodedRows: boolean;
  appendRow(row: EncodedRow): void;
}

export interface CompactionOptions {
  readonly kind: CompactionKind;
  readonly family: FamilyDescriptor;
  /** The smallest read point of any open read: newer cells are kept even if they are hidden (R60). */
  readonly smallestReadPoint: number;
  readonly now: number;
  /** The oldest put of all inputs, by their metadata (R44). */
  readonly earliestPutTimestamp: number;
  /** Milliseconds after its timestamp for which a delete marker is kept; 0: none (R61). */
  readonly timeToPurgeDeletes: number;
}

/**
 * Selects the cells that flushes and compactions keep of a family, and passes them to a sink (HBase `StoreScanner` as `Compactor` and `StoreFlusher` use it).
 * A row that no other input has, and that can be read as an encoded row, is kept as it is, whatever the rules: it has no markers, and one
 * version of each column, which has not expired.
 */
export class CompactionScanner {
  private readonly merge: CellMerge;
  private readonly matcher: Matcher;
  private row: Uint8Array = EMPTY_BYTES;
  private rowLength = -1;
  /** The column of which no further cell is kept. */
  private readonly passed = new ColumnBytes();
  private readonly watch: DropWatch;
  private readonly encodedRow = new EncodedRow();
  private readonly oldestUnexpired: number;

  /** `cursors` are at the first cells to be merged; the caller closes them. */
  constructor(
    cursors: readonly CellCursor[],
    private readonly sink: CellSink,
    options: CompactionOptions,
  ) {
    const { family } = options;
    const rules = {
      kind: options.kind,
      minVersions: family.minVersions,
      maxVersions: family.versions,
      keepDeletedCells: family.keepDeletedCells,
      oldestUnexpired: oldestUnexpired(family, options.now),
      now: options.now,
      smallestReadPoint: options.smallestReadPoint,
      earliestPutTimestamp: options.earliestPutTimestamp,
      timeToPurgeDeletes: options.timeToPurgeDeletes,
    };
    this.matcher = family.newVersionBehavior
      ? new NewVersionCompactionMatcher(rules)
      : new ClassicCompactionMatcher(rules);
    const arePlainMarkers =
      family.keepDeletedCells === 'FALSE' && !family.newVersionBehavior && family.minVersions === 0;
    this.oldestUnexpired = rules.oldestUnexpired;
    this.watch = new DropWatch({ ...rules, arePlainMarkers });
    this.merge = new CellMerge(cursors, Number.POSITIVE_INFINITY);
    this.merge.begin();
  }

  /** What it has dropped so far. */
  get drops(): Drops {
    return this.watch.drops;
  }

  /** Examines up to `maxCells` cells; false when there are no more. */
  step(maxCells: number): boolean {
    const { merge, matcher, sink, passed, watch, encodedRow, oldestUnexpired } = this;
    const { takesEncodedRows } = sink;
    for (let i = 0; i < maxCells; i++) {
      const cell = merge.top;
      if (cell === null) return false;
      if (!this.isInRow(cell)) {
        if (takesEncodedRows && merge.isRowAlone && cell.encodedRow(encodedRow, oldestUnexpired)) {
          sink.appendRow(encodedRow);
          i += encodedRow.cells - 1;
          merge.leaveRow();
          continue;
        }
        this.startRow(cell);
      }
      if (!passed.isSet || !passed.isOf(cell)) {
        const code = matcher.match(cell);
        if (code === INCLUDE) {
          sink.append(cell);
          if (cell.ttl !== 0 || cell.type !== CellType.Put) watch.kept(cell);
        } else {
          watch.dropped(cell);
          // Skipping saves no reads here. In the column of the empty qualifier each cell is examined, because markers of the whole
          // family may follow.
          if (code === SEEK_NEXT_COLUMN && cell.qualifierLength > 0) passed.copyFrom(cell);
        }
      } else {
        watch.passed(cell);
      }
      merge.next();
    }
    return merge.top !== null;
  }

  private startRow(cell: CellCursor): void {
    const { rowLength, rowOffset, key } = cell;
    if (rowLength > this.row.length) this.row = new Uint8Array(rowLength * 2);
    for (let i = 0; i < rowLength; i++) this.row[i] = key[rowOffset + i]!;
    this.rowLength = rowLength;
    this.passed.clear();
    this.watch.startRow();
    this.matcher.startRow();
  }

  private isInRow(cell: CellCursor): boolean {
    const length = this.rowLength;
    if (cell.rowLength !== length) return false;
    const { key, rowOffset } = cell;
    const { row } = this;
    for (let i = length - 1; i >= 0; i--) if (key[rowOffset + i] !== row[i]) return false;
    return true;
  }
}

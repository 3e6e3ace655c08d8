import { compareBytes, toStringBinary } from '../bytes/index.js';
import { ClosedError, InvalidArgumentError } from '../errors.js';
import { checkRow, checkTimestamp } from '../table/checks.js';
import {
  type BulkLoadResult,
  type Cell,
  type CellStream,
  CellType,
  CellWithTtl,
  LATEST_TIMESTAMP,
  listOf,
} from '../table/index.js';
import { wasReplaced } from './catalog.js';
import { CellCursor } from './cursor.js';
import type { Interruptible } from './environment.js';
import type { WrittenFile } from './file/footer.js';
import { SortedFileWriter } from './file/sorted-file-writer.js';
import { fileEntry } from './file/store-file.js';
import type { CompleteFile } from './ledger/file-ledger.js';
import { type Edit, mergedHistory } from './manifest/index.js';
import { type FamilyStore, type Region, regionOf } from './region/region.js';
import type { StoreCore } from './store-core.js';
import type { TableState } from './table-state.js';

interface LoadedFile {
  readonly family: string;
  readonly written: WrittenFile;
}

const CELL_TYPES: ReadonlySet<number> = new Set(Object.values(CellType));

/** Cells after which other events may run. */
const CELLS_PER_TURN = 4096;

interface OpenFile {
  readonly writer: SortedFileWriter;
  readonly fileNo: number;
}

/**
 * Loads sorted cells into a table as files, past the log and the memstores (HBase's bulk load, R83). All cells become visible at
 * one moment, or none.
 */
export class BulkLoad implements Interruptible {
  private readonly writers = new Map<string, OpenFile>();
  private readonly loaded: LoadedFile[] = [];
  private readonly cursor = new LoadedCellCursor();
  private region: Region | undefined;
  private cells = 0;
  private deletesVersions = false;
  private interrupted: ((error: ClosedError) => void) | undefined;

  constructor(
    private readonly core: StoreCore,
    private readonly state: TableState,
  ) {}

  /**
   * Loads cells that come in order: row, family, qualifier, newest timestamp first.
   * @throws RowanError `ERR_INVALID_ARGUMENT` when they are out of order, `ERR_NO_SUCH_FAMILY`; then nothing is loaded.
   */
  run(cells: CellStream): Promise<BulkLoadResult> {
    const { lifecycle } = this.core;
    return new Promise((resolve, reject) => {
      this.interrupted = reject;
      lifecycle.interruptible(this);
      this.load(cells).then(resolve, (error) => {
        lifecycle.uninterruptible(this);
        this.discard();
        reject(error);
      });
    });
  }

  /** Called when the store closes: rejects the call at once, however long the next cell may take to come. */
  interrupt(): void {
    this.interrupted?.(new ClosedError('The store was closed during this bulk load: nothing was loaded.'));
    this.discard();
  }

  private discard(): void {
    const { core } = this;
    this.interrupted = undefined;
    for (const { writer, fileNo } of this.writers.values()) {
      writer.abandon();
      core.ledger.discard(fileNo);
    }
    this.writers.clear();
    for (const { written } of this.loaded) core.ledger.discard(written.meta.fileNo);
  }

  private async load(cells: CellStream): Promise<BulkLoadResult> {
    const { core, state } = this;
    for await (const item of cells) {
      for (const cell of listOf(item)) {
        this.checkRunning();
        this.add(cell);
        if (this.cells % CELLS_PER_TURN === 0) await new Promise((resolve) => setImmediate(resolve));
      }
    }
    this.checkRunning();
    this.finishRegion();
    // From here on the store's close waits for the load instead of interrupting it.
    core.lifecycle.uninterruptible(this);
    if (this.loaded.length > 0) {
      await core.lifecycle.track(state.changes.run(() => this.publish()));
      for (const { region, store } of this.places()) core.maintenance.filesChanged({ state, region, store });
    }
    const bytes = this.loaded.reduce((sum, { written }) => sum + written.size, 0);
    return { cells: this.cells, files: this.loaded.length, bytes };
  }

  private checkRunning(): void {
    if (this.interrupted === undefined) throw new ClosedError('The store was closed during this bulk load.');
  }

  private add(cell: Cell): void {
    checkCell(cell);
    this.state.checkCells(cell.row, [cell]);
    const region = this.region;
    if (!region?.contains(cell.row)) {
      if (region && compareBytes(cell.row, region.startKey) < 0) throw outOfOrder(cell);
      this.finishRegion();
      this.region = regionOf(this.state.regions, cell.row);
    }
    let open = this.writers.get(cell.family);
    if (!open) {
      open = this.open(this.region!.byFamily.get(cell.family)!);
      this.writers.set(cell.family, open);
    }
    if (cell.type === CellType.Delete || cell.type === CellType.DeleteFamilyVersion)
      this.deletesVersions = true;
    this.cursor.load(cell);
    open.writer.append(this.cursor);
    this.cells++;
  }

  private open({ descriptor }: FamilyStore): OpenFile {
    const { ledger, environment } = this.core;
    const fileNo = ledger.draft();
    try {
      const writer = new SortedFileWriter(environment.fileSystem.create(ledger.path(fileNo)), {
        fileNo,
        compression: descriptor.compression,
        dataBlockEncoding: descriptor.dataBlockEncoding,
        bloomFilter: descriptor.bloomFilter,
        blockSize: descriptor.blockSize,
        bulkLoaded: true,
      });
      return { writer, fileNo };
    } catch (error) {
      ledger.discard(fileNo);
      throw error;
    }
  }

  private finishRegion(): void {
    for (const [family, { writer }] of this.writers) {
      this.loaded.push({ family, written: writer.finish() });
      this.writers.delete(family);
    }
  }

  /** Publishes the files as one change of the table, so that it sees splits and alterations that happened during the load. */
  private async publish(): Promise<void> {
    const { core, state } = this;
    if (core.catalog.writableTable(state.name) !== state) throw wasReplaced(state.name);
    // Cells in memory are older than those loaded, so they must be in older files (HBase does the same).
    for (const { region, store } of this.places()) await core.maintenance.flush({ state, region, store });
    // Before writers wait: it takes as long as copying the files.
    for (const { written } of this.loaded) await core.journal.archive?.keep(written.meta.fileNo);
    await core.throttle.holdingWrites(() => this.commit());
  }

  /** Runs while no write is in progress: writes before it have not seen the load, and writes after it see all of it. */
  private async commit(): Promise<void> {
    const { state } = this;
    const { commits, journal, ledger } = this.core;
    await commits.awaitDecided();
    const load = commits.beginLoad();
    let visible: Promise<void> | undefined;
    try {
      const { files, edits, places } = this.publication(load.seq);
      const history = { versionDeletes: this.deletesVersions ? load.seq : 0 };
      if (this.deletesVersions) edits.push({ type: 'tableAlter', id: state.id, history });
      await ledger.publishFiles({
        files,
        edits,
        adopt: (opened) => {
          journal.checkWritable();
          for (const { store, file } of places) store.replaceFiles([], [opened[file]!]);
          state.history = mergedHistory(state.history, history);
          visible = commits.commitLoad(load);
        },
      });
    } catch (error) {
      if (visible === undefined) commits.abortLoad(load);
      throw error;
    }
    await visible;
  }

  /** The MANIFEST edits of the load, and the files that each family receives. */
  private publication(seq: number): {
    readonly files: readonly CompleteFile[];
    readonly edits: Edit[];
    readonly places: readonly { readonly store: FamilyStore; readonly file: number }[];
  } {
    const edits: Edit[] = [{ type: 'counters', lastLoad: seq }];
    const files: CompleteFile[] = [];
    const places: { store: FamilyStore; file: number }[] = [];
    for (const { region, store, written } of this.places()) {
      const file = fileEntry(written.meta, written.size, written.footerCrc, seq);
      edits.push({ type: 'fileAdd', region: region.id, family: store.familyNumber, file });
      if (files.at(-1)?.written !== written) files.push({ written, family: store.descriptor, seq });
      places.push({ store, file: files.length - 1 });
    }
    return { files, edits, places };
  }

  /** The regions that each file belongs to: more than one only if a region was split during the load. */
  private places(): { region: Region; store: FamilyStore; written: WrittenFile }[] {
    const { state } = this;
    return this.loaded.flatMap(({ family, written }) =>
      state.regions
        .filter((region) => overlaps(region, written))
        .map((region) => {
          const store = region.byFamily.get(family);
          if (!store) throw state.noSuchFamily(family);
          return { region, store, written };
        }),
    );
  }
}

function overlaps(region: Region, { meta }: WrittenFile): boolean {
  return (
    compareBytes(meta.lastRow, region.startKey) >= 0 &&
    (region.endKey.length === 0 || compareBytes(meta.firstRow, region.endKey) < 0)
  );
}

/** Checks what the constructors of mutations check of their cells. */
function checkCell({ row, timestamp, type }: Cell): void {
  checkRow(row);
  checkTimestamp(timestamp);
  if (timestamp === LATEST_TIMESTAMP || !CELL_TYPES.has(type)) {
    throw new InvalidArgumentError(
      `The cell of row ${toStringBinary(row.subarray(0, 40))} has timestamp ${timestamp} and type ${type}. ` +
        `Cells to be loaded have a timestamp below ${LATEST_TIMESTAMP} and a type of CellType.`,
    );
  }
}

function outOfOrder(cell: Cell): InvalidArgumentError {
  return new InvalidArgumentError(
    `The cell of row ${toStringBinary(cell.row)} comes after a greater row: the cells are out of order. Sort the cells by row, family, qualifier ` +
      'and newest timestamp first; nothing was loaded.',
  );
}

/** A cursor that stands on one cell object. */
class LoadedCellCursor extends CellCursor {
  load(cell: Cell): void {
    const { row, qualifier, value } = cell;
    if (this.key.length < row.length + qualifier.length)
      this.key = new Uint8Array((row.length + qualifier.length) * 2);
    this.key.set(row, 0);
    this.key.set(qualifier, row.length);
    this.rowLength = row.length;
    this.qualifierOffset = row.length;
    this.qualifierLength = qualifier.length;
    this.timestamp = cell.timestamp;
    this.ttl = cell instanceof CellWithTtl ? cell.ttl : 0;
    this.type = cell.type;
    this.value = value;
    this.valueLength = value.length;
    this.valid = true;
  }

  override seekToFirst(): boolean {
    return this.valid;
  }

  override seek(): boolean {
    return this.valid;
  }

  override reseek(): boolean {
    return this.valid;
  }

  override next(): boolean {
    this.valid = false;
    return false;
  }

  override seekToPreviousRow(): boolean {
    this.valid = false;
    return false;
  }

  override close(): void {
    this.valid = false;
  }
}

import { CellType } from '../../table/index.js';
import type { CellCursor } from '../cursor.js';
import type { FileMeta } from './file-meta.js';
import type { LastKey } from './last-key.js';
import type { SortedFileWriterOptions } from './options.js';

/** Counts what a file's meta block says while its cells go by. */
export class MetaCollector {
  cells = 0;
  dataBytes = 0;
  private deletes = 0;
  private deleteFamilyCount = 0;
  private rows = 0;
  private minTimestamp = Number.MAX_SAFE_INTEGER;
  private maxTimestamp = 0;
  private earliestPut = Number.MAX_SAFE_INTEGER;
  private minSeq = Number.MAX_SAFE_INTEGER;
  private maxSeq = 0;
  private versions = 0;
  private maxVersions = 0;
  private hasTtl = false;
  private rawBytes = 0;
  private firstRow: Uint8Array = new Uint8Array(0);

  constructor(private readonly options: SortedFileWriterOptions) {}

  add(cursor: CellCursor, sameRow: boolean, sameColumn: boolean, bytes: number): void {
    const { timestamp, type, seq } = cursor;
    if (this.cells === 0)
      this.firstRow = cursor.key.slice(cursor.rowOffset, cursor.rowOffset + cursor.rowLength);
    this.cells++;
    if (!sameRow) this.rows++;
    this.versions = sameColumn ? this.versions + 1 : 1;
    if (this.versions > this.maxVersions) this.maxVersions = this.versions;
    if (timestamp < this.minTimestamp) this.minTimestamp = timestamp;
    if (timestamp > this.maxTimestamp) this.maxTimestamp = timestamp;
    if (seq < this.minSeq) this.minSeq = seq;
    if (seq > this.maxSeq) this.maxSeq = seq;
    if (cursor.ttl !== 0) this.hasTtl = true;
    this.rawBytes += bytes;
    if (type === CellType.Put) {
      if (timestamp < this.earliestPut) this.earliestPut = timestamp;
      return;
    }
    this.deletes++;
    if (type === CellType.DeleteFamily || type === CellType.DeleteFamilyVersion) this.deleteFamilyCount++;
    // These two hide everything below their timestamp (R56).
    if (type === CellType.DeleteColumn || type === CellType.DeleteFamily) this.minTimestamp = 0;
  }

  finish(last: LastKey, dataBlocks: number, bloomKeys: number): FileMeta {
    const { options } = this;
    return Object.freeze({
      fileNo: options.fileNo,
      cells: this.cells,
      puts: this.cells - this.deletes,
      deletes: this.deletes,
      deleteFamilyCount: this.deleteFamilyCount,
      rows: this.rows,
      minTimestamp: this.minTimestamp,
      maxTimestamp: this.maxTimestamp,
      earliestPutTimestamp: this.earliestPut,
      minSeq: this.minSeq,
      maxSeq: this.maxSeq,
      firstRow: this.firstRow,
      lastRow: last.row(),
      maxVersions: this.maxVersions,
      hasTtl: this.hasTtl,
      majorCompacted: options.majorCompacted ?? false,
      bulkLoaded: options.bulkLoaded ?? false,
      compression: options.compression,
      encoding: options.dataBlockEncoding,
      bloomFilter: options.bloomFilter,
      bloomKeys,
      blockSize: options.blockSize,
      dataBlocks,
      rawBytes: this.rawBytes,
      dataBytes: this.dataBytes,
    });
  }
}

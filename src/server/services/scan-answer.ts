import { type ProtoWriter, tagOf, WireType } from '../../hbase/wire/proto-writer.js';
import { message, nested, repeated, string, uint64 } from '../../hbase/wire/schema.js';
import type { Result } from '../../table/index.js';
import { type Answer, writeResult, writeResultCells } from '../rpc/answer.js';

const CELLS_PER_RESULT = tagOf(1, WireType.Varint);
const SCANNER_ID = tagOf(2, WireType.Varint);
const MORE_RESULTS = tagOf(3, WireType.Varint);
const TTL = tagOf(4, WireType.Varint);
const RESULTS = tagOf(5, WireType.Bytes);
const PARTIAL = tagOf(7, WireType.Varint);
const MORE_IN_REGION = tagOf(8, WireType.Varint);
const HEARTBEAT = tagOf(9, WireType.Varint);
const METRICS = tagOf(10, WireType.Bytes);
const READ_POINT = tagOf(11, WireType.Varint);
const CURSOR = tagOf(12, WireType.Bytes);
const CURSOR_ROW = tagOf(1, WireType.Bytes);

const ScanMetrics = message('ScanMetrics', {
  metrics: repeated(nested(1, message('NameInt64Pair', { name: string(1), value: uint64(2) }))),
});

/** `ScanResponse`. */
export class ScanAnswer implements Answer {
  readonly results: Result[] = [];
  scannerId: bigint | undefined;
  moreResults = true;
  moreResultsInRegion = true;
  heartbeat = false;
  readPoint = 0;
  /** The position of a scan that has found nothing yet. */
  cursor: Uint8Array | undefined;
  metrics: { readonly scanned: number; readonly filtered: number } | undefined;

  constructor(
    /** Whether cells are inline in the results, not in a cell block. */
    private readonly isInline: boolean,
    private readonly lease: number,
  ) {}

  writeCells(writer: ProtoWriter): void {
    if (!this.isInline) writeResultCells(writer, this.results);
  }

  writeMessage(writer: ProtoWriter): void {
    const { results, isInline } = this;
    if (this.cursor !== undefined) {
      const mark = writer.mark();
      writer.bytesField(CURSOR_ROW, this.cursor);
      writer.endMessage(CURSOR, mark);
    }
    writer.varintField(READ_POINT, this.readPoint);
    this.writeMetrics(writer);
    writer.boolField(HEARTBEAT, this.heartbeat);
    writer.boolField(MORE_IN_REGION, this.moreResultsInRegion);
    if (!isInline) {
      for (let i = results.length - 1; i >= 0; i--) writer.boolField(PARTIAL, results[i]!.partial);
    } else {
      for (let i = results.length - 1; i >= 0; i--) writeResult(writer, RESULTS, results[i]!, true);
    }
    writer.varintField(TTL, this.lease);
    writer.boolField(MORE_RESULTS, this.moreResults);
    if (this.scannerId !== undefined) {
      writer.bigVarint(this.scannerId);
      writer.varint(SCANNER_ID);
    }
    if (isInline) return;
    for (let i = results.length - 1; i >= 0; i--)
      writer.varintField(CELLS_PER_RESULT, results[i]!.cells.length);
  }

  private writeMetrics(writer: ProtoWriter): void {
    if (this.metrics === undefined) return;
    const mark = writer.mark();
    const { scanned, filtered } = this.metrics;
    ScanMetrics.write(writer, {
      metrics: [
        { name: 'ROWS_SCANNED', value: scanned },
        { name: 'ROWS_FILTERED', value: filtered },
      ],
    });
    writer.endMessage(METRICS, mark);
  }
}

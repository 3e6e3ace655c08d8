import type { RowanError } from '../../errors.js';
import type { Cell } from '../../table/checks.js';
import type { Scan } from '../../table/get-and-scan.js';
import type { Region } from '../region/region.js';
import { Call, Priority, type ResponseFrame } from '../rpc/call.js';
import { ProtocolError } from '../rpc/errors.js';
import { type ScanPosition, writeScan } from '../wire/encode-query.js';
import type { ProtoReader } from '../wire/proto-reader.js';
import { type ProtoWriter, tagOf, WireType } from '../wire/proto-writer.js';
import { readResult } from '../wire/result-decoder.js';
import { BlockRows } from './fetched-rows.js';

/** One step of a scanner: open, next, renew or close. */
export interface ScanStep {
  readonly kind: 'open' | 'next' | 'renew' | 'close';
  readonly region: Region;
  /** The start of the scanner that is opened. */
  readonly position?: ScanPosition;
  /** The id of the open scanner. */
  readonly scannerId?: bigint;
  readonly nextCallSeq?: number;
  readonly numberOfRows: number;
  /** Rows still wanted; 0: no limit. */
  readonly limitOfRows: number;
}

/** A scanner's answer. */
export class ScanAnswer {
  /** Whole rows; undefined when the answer has pieces. */
  rows: BlockRows | undefined;
  /** Pieces of rows: runs of cells, of which two in succession may be of one row. */
  readonly pieces: Cell[][] = [];
  /** For each piece, whether the row may continue. */
  readonly partial: boolean[] = [];
  scannerId: bigint | undefined;
  moreResults = true;
  moreResultsInRegion = true;
  heartbeat = false;
  /** Whether a replica answered. */
  stale = false;
  /** HBase's mvcc read point: the opened scanner sees changes up to this number. */
  readPoint: bigint | undefined;
  /** The scanner's lease, milliseconds. */
  ttl = 0;
}

const REGION = tagOf(1, WireType.Bytes);
const SCAN = tagOf(2, WireType.Bytes);
const SCANNER_ID = tagOf(3, WireType.Varint);
const NUMBER_OF_ROWS = tagOf(4, WireType.Varint);
const CLOSE_SCANNER = tagOf(5, WireType.Varint);
const NEXT_CALL_SEQ = tagOf(6, WireType.Varint);
const HANDLES_PARTIALS = tagOf(7, WireType.Varint);
const HANDLES_HEARTBEATS = tagOf(8, WireType.Varint);
const RENEW = tagOf(10, WireType.Varint);
const LIMIT_OF_ROWS = tagOf(11, WireType.Varint);

/** One request to a scanner of one region: open, next, renew or close. */
export class ScanCall extends Call {
  readonly answer: Promise<ScanAnswer>;
  private resolve!: (answer: ScanAnswer) => void;
  private reject!: (error: RowanError) => void;

  constructor(
    private readonly scan: Scan,
    private readonly step: ScanStep,
    timeout: number,
    /** Takes an answer that arrives after the call was given up. */
    private readonly late: (answer: ScanAnswer) => void,
  ) {
    super('Scan', timeout);
    if (step.kind === 'close') this.priority = Priority.High;
    this.answer = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  override writeParam(writer: ProtoWriter): void {
    const { step } = this;
    if (step.limitOfRows > 0) writer.varintField(LIMIT_OF_ROWS, step.limitOfRows);
    if (step.kind === 'renew') writer.boolField(RENEW, true);
    writer.boolField(HANDLES_HEARTBEATS, true);
    writer.boolField(HANDLES_PARTIALS, true);
    if (step.nextCallSeq !== undefined) writer.varintField(NEXT_CALL_SEQ, step.nextCallSeq);
    if (step.kind === 'close') writer.boolField(CLOSE_SCANNER, true);
    writer.varintField(NUMBER_OF_ROWS, step.numberOfRows);
    if (step.scannerId !== undefined) {
      writer.bigVarint(step.scannerId);
      writer.varint(SCANNER_ID);
    }
    if (step.position !== undefined) {
      const mark = writer.mark();
      writeScan(writer, this.scan, step.position);
      writer.endMessage(SCAN, mark);
      writer.bytesField(REGION, step.region.specifier);
    }
  }

  override onResponse(frame: ResponseFrame): void {
    const answer = readScanAnswer(frame);
    const goesOn = answer.moreResults && answer.moreResultsInRegion;
    // Otherwise the scan would reopen its scanner for ever.
    if (this.step.kind === 'open' && goesOn && answer.scannerId === undefined) {
      throw new ProtocolError('A scanner was opened and has more rows, but no number to ask it by.');
    }
    this.resolve(answer);
  }

  override onLateResponse(frame: ResponseFrame): void {
    const { kind } = this.step;
    if (kind === 'open' || kind === 'next') this.late(readScanAnswer(frame));
  }

  override onError(error: RowanError): void {
    this.reject(error);
  }

  override describe(): string {
    return `The scan of table ${this.step.region.table}`;
  }
}

const FIELD = {
  cellsPerResult: 1,
  scannerId: 2,
  moreResults: 3,
  ttl: 4,
  results: 5,
  stale: 6,
  partial: 7,
  inRegion: 8,
  heartbeat: 9,
  readPoint: 11,
};

/** Empty results that an answer may have. HBase sends none. */
const MAX_EMPTY = 1000;
const MIN_CELL_SIZE = 24;

/**
 * Decodes a `ScanResponse`. Announced counts are checked against the bytes present, and the cell block must be consumed exactly.
 * @throws ProtocolError for malformed answers; RowanError `ERR_TOO_LARGE` for row pieces with more cells than `maxAnswerCells`.
 */
function readScanAnswer({ reader, cells }: ResponseFrame): ScanAnswer {
  const answer = new ScanAnswer();
  const counts = new Counts(Math.floor(cells.left / MIN_CELL_SIZE));
  const partial: boolean[] = [];
  const flags = (flag: number): void => {
    if (partial.length > counts.max + answer.pieces.length) throw tooMany('flags');
    partial.push(flag !== 0);
  };
  while (!reader.done) {
    const tag = reader.varint();
    switch (tag >>> 3) {
      case FIELD.cellsPerResult:
        readNumbers(reader, tag, (count) => counts.add(count));
        break;
      case FIELD.scannerId:
        answer.scannerId = reader.bigVarint();
        break;
      case FIELD.moreResults:
        answer.moreResults = reader.bool();
        break;
      case FIELD.ttl:
        answer.ttl = reader.varint();
        break;
      case FIELD.results: {
        if (answer.pieces.length === 0) reader.lookAhead(tag);
        const outer = reader.enter();
        const result = readResult(reader, cells);
        reader.leave(outer);
        answer.pieces.push(result.cells);
        partial.push(result.partial);
        break;
      }
      case FIELD.partial:
        readNumbers(reader, tag, flags);
        break;
      case FIELD.inRegion:
        answer.moreResultsInRegion = reader.bool();
        break;
      case FIELD.heartbeat:
        answer.heartbeat = reader.bool();
        break;
      case FIELD.stale:
        answer.stale = reader.bool();
        break;
      case FIELD.readPoint:
        answer.readPoint = reader.bigVarint();
        break;
      default:
        reader.skip(tag);
    }
  }
  const { list } = counts;
  const whole = answer.pieces.length === 0 && !partial.includes(true) && counts.empty === 0;
  if (whole && list.length > 0) answer.rows = new BlockRows(cells, list, answer.stale);
  else for (const count of list) answer.pieces.push(cells.read(count));
  cells.checkUsedUp('An answer of a scan');
  for (let i = 0; i < answer.pieces.length; i++) answer.partial.push(partial[i] ?? false);
  return answer;
}

/** `cells_per_result`, checked against the number of cells that the block can hold. */
class Counts {
  readonly list: number[] = [];
  empty = 0;
  private total = 0;
  /** The largest possible number of results. */
  readonly max: number;

  constructor(private readonly cells: number) {
    this.max = cells + MAX_EMPTY;
  }

  add(count: number): void {
    this.total += count;
    if (count === 0) this.empty++;
    if (this.total > this.cells || this.empty > MAX_EMPTY) throw tooMany('results');
    this.list.push(count);
  }
}

function tooMany(what: string): ProtocolError {
  return new ProtocolError(`An answer of a scan announces more ${what} than it has cells for.`);
}

/** A repeated number, packed or not. */
function readNumbers(reader: ProtoReader, tag: number, take: (value: number) => void): void {
  if ((tag & 7) !== WireType.Bytes) {
    // HBase packs none: a thousand rows are a thousand tags.
    let value = reader.varint();
    do {
      take(value);
      value = reader.nextOf(tag);
    } while (value >= 0);
    return;
  }
  const outer = reader.enter();
  while (!reader.done) take(reader.varint());
  reader.leave(outer);
}

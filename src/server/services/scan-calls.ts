/**
 * `Scan`: scanners of one region each, which a client opens, calls repeatedly, and closes. A scanner without calls is closed when its lease expires. A response is limited by rows, bytes and time; if the time is up before a row was found, it is a heartbeat.
 */

import { randomBytes } from 'node:crypto';
import { RegionSpecifier } from '../../hbase/wire/messages-rpc.js';
import type { ProtoReader } from '../../hbase/wire/proto-reader.js';
import type { TableState } from '../../store/serving.js';
import { Result } from '../../table/index.js';
import { JavaClass, refused, ServerException } from '../errors.js';
import { type RegionRows, scanOfCatalog } from '../regions/catalog-tables.js';
import { notServing } from '../regions/served-regions.js';
import { type Answer, sizeOfResult } from '../rpc/answer.js';
import type { Request } from '../rpc/request.js';
import type { Specifier } from '../wire/read-calls.js';
import { readNested, readNestedBy, readScan, type WireScan } from '../wire/read-query.js';
import { catalogTableOf, type RowParts } from './parts.js';
import { ScanAnswer } from './scan-answer.js';

/** A `ScanRequest`. */
interface ScanRequest {
  readonly region: Specifier | undefined;
  readonly scan: WireScan | undefined;
  readonly scannerId: bigint | undefined;
  readonly numberOfRows: number | undefined;
  readonly closes: boolean;
  readonly nextCallSeq: number | undefined;
  readonly takesPartials: boolean;
  readonly takesHeartbeats: boolean;
  readonly tracksMetrics: boolean;
  readonly renews: boolean;
  readonly limitOfRows: number;
}

function readScanRequest(reader: ProtoReader): ScanRequest {
  const request = {
    region: undefined as Specifier | undefined,
    scan: undefined as WireScan | undefined,
    scannerId: undefined as bigint | undefined,
    numberOfRows: undefined as number | undefined,
    closes: false,
    nextCallSeq: undefined as number | undefined,
    takesPartials: false,
    takesHeartbeats: false,
    tracksMetrics: false,
    renews: false,
    limitOfRows: 0,
  };
  while (!reader.done) {
    const tag = reader.varint();
    switch (tag) {
      case 10:
        request.region = readNested(reader, RegionSpecifier);
        break;
      case 18:
        request.scan = readNestedBy(reader, readScan);
        break;
      case 24:
        request.scannerId = reader.bigVarint();
        break;
      case 32:
        request.numberOfRows = reader.uint32();
        break;
      case 40:
        request.closes = reader.bool();
        break;
      case 48:
        request.nextCallSeq = reader.varint();
        break;
      case 56:
        request.takesPartials = reader.bool();
        break;
      case 64:
        request.takesHeartbeats = reader.bool();
        break;
      case 72:
        request.tracksMetrics = reader.bool();
        break;
      case 80:
        request.renews = reader.bool();
        break;
      case 88:
        request.limitOfRows = reader.uint32();
        break;
      default:
        reader.skip(tag);
    }
  }
  return request;
}

/** An open scanner. */
interface OpenScanner {
  readonly id: bigint;
  readonly rows: RegionRows;
  /** Undefined for a catalog table. */
  readonly state: TableState | undefined;
  readonly region: Specifier;
  readonly maxResultSize: number;
  readonly needsCursor: boolean;
  nextCallSeq: number;
  /** When it expires without a call, by `performance.now()`. */
  expires: number;
  /** Whether a call to it is in progress. */
  busy: boolean;
  /** Already read: the next row, or the rest of one that did not fit into a response. */
  kept: Result | undefined;
}

/** How many rows without a result are skipped between two checks of the clock. */
const SLICE = 1024;
/** Milliseconds after which other calls get a turn. */
const TURN = 10;
/** HBase's default, if a client does not say. */
const DEFAULT_RESULT_SIZE = 2 << 20;
/** The least time, in ms, that a scan works before it sends a heartbeat. */
const MIN_TIME = 10;
/** Remembered ids of scanners that ended by themselves: clients close them once more. */
const MAX_CLOSED = 4096;
/** How many times per lease expired scanners are searched. */
const SWEEPS = 4;

export class ScanCalls {
  private readonly scanners = new Map<bigint, OpenScanner>();
  private readonly closedIds = new Set<bigint>();
  /** The upper half of ids: new at each start, so that no old id refers to a new scanner. */
  private readonly prefix = BigInt(randomBytes(4).readUInt32BE() & 0x7fffffff) << 32n;
  private lastId = 0n;
  private sweeper: NodeJS.Timeout | undefined;

  constructor(private readonly parts: RowParts) {}

  get open(): number {
    return this.scanners.size;
  }

  close(): void {
    for (const scanner of this.scanners.values()) scanner.rows.close();
    this.scanners.clear();
    clearInterval(this.sweeper);
    this.sweeper = undefined;
  }

  scan({ reader, peer, deadline }: Request): Answer | Promise<Answer> {
    const request = readScanRequest(reader);
    const scanner = this.scannerFor(request);
    const answer = new ScanAnswer(!peer.takesCellBlocks, this.parts.settings.scannerLease);
    if (scanner === undefined) return answer;
    answer.scannerId = scanner.id;
    answer.readPoint = this.parts.store.readPoint;
    if (request.renews) {
      this.extend(scanner);
      return answer;
    }
    const rows = request.numberOfRows ?? (request.closes ? 0 : 1);
    const fetch = new Fetch(scanner, request, rows, this.timeLimit(request, deadline), answer);
    fetch.maxSize = this.resultSizeOf(scanner);
    scanner.busy = true;
    return this.run(fetch);
  }

  private run(fetch: Fetch): Answer | Promise<Answer> {
    try {
      return fetch.slice() ? this.finish(fetch) : this.runOn(fetch);
    } catch (error) {
      this.drop(fetch.scanner);
      throw error;
    }
  }

  /** Continues a long call in slices, between which others get a turn. */
  private async runOn(fetch: Fetch): Promise<Answer> {
    try {
      do await new Promise((resolve) => setImmediate(resolve));
      while (!fetch.slice());
    } catch (error) {
      this.drop(fetch.scanner);
      throw error;
    }
    return this.finish(fetch);
  }

  private finish({ scanner, request, answer }: Fetch): Answer {
    scanner.busy = false;
    const isOver = !answer.moreResults || !answer.moreResultsInRegion;
    if (isOver || request.closes) this.drop(scanner);
    else this.extend(scanner);
    return answer;
  }

  /** The scanner of a request; undefined if it was closed after its last row. */
  private scannerFor(request: ScanRequest): OpenScanner | undefined {
    const { scannerId } = request;
    if (scannerId === undefined) return this.openScanner(request);
    const scanner = this.scanners.get(scannerId);
    if (scanner === undefined) {
      if (this.closedIds.has(scannerId) || request.closes) return undefined;
      throw new ServerException(
        JavaClass.UnknownScanner,
        `Unknown scanner '${scannerId}'. This can happen due to any of the following reasons: a) Scanner id given is wrong, ` +
          'b) Scanner lease expired because of a long wait between consecutive calls, c) Server may be closing down.',
      );
    }
    if (scanner.busy)
      throw new ServerException(
        JavaClass.OutOfOrderScannerNext,
        'A call to this scanner is still under way.',
      );
    const { state } = scanner;
    if (state !== undefined && (!state.enabled || this.parts.store.table(state.name) !== state)) {
      this.drop(scanner);
      throw notServing(scanner.region.value);
    }
    if (request.nextCallSeq !== undefined) {
      if (request.nextCallSeq !== scanner.nextCallSeq) {
        throw new ServerException(
          JavaClass.OutOfOrderScannerNext,
          `Expected nextCallSeq: ${scanner.nextCallSeq} But the nextCallSeq got from client: ${request.nextCallSeq}.`,
        );
      }
      scanner.nextCallSeq++;
    }
    return scanner;
  }

  private openScanner({ region, scan }: ScanRequest): OpenScanner {
    if (region === undefined || scan === undefined)
      throw refused('A scan names neither a scanner nor a region.');
    if (this.scanners.size >= this.parts.settings.maxScanners) {
      throw new ServerException(
        JavaClass.RegionTooBusy,
        `There are ${this.scanners.size} scanners open, as many as the server has room for (maxScanners).`,
        false,
      );
    }
    const table = catalogTableOf(this.parts, region);
    const served = table === undefined ? this.parts.regions.open(region) : undefined;
    const rows =
      served === undefined
        ? scanOfCatalog(table!, scan.scan)
        : this.parts.store.scanRegion(served.state, served.region, scan.scan);
    const scanner: OpenScanner = {
      id: this.prefix | ++this.lastId,
      rows,
      state: served?.state,
      region,
      maxResultSize: scan.maxResultSize,
      needsCursor: scan.needsCursor,
      nextCallSeq: 0,
      expires: 0,
      busy: false,
      kept: undefined,
    };
    this.scanners.set(scanner.id, scanner);
    this.extend(scanner);
    return scanner;
  }

  private resultSizeOf({ maxResultSize }: OpenScanner): number {
    const { maxAnswerSize } = this.parts.settings;
    return Math.min(maxResultSize > 0 ? maxResultSize : DEFAULT_RESULT_SIZE, maxAnswerSize);
  }

  /** When a scan must send a heartbeat. */
  private timeLimit({ takesHeartbeats, takesPartials }: ScanRequest, deadline: number): number {
    if (!takesHeartbeats || !takesPartials) return Number.POSITIVE_INFINITY;
    const now = performance.now();
    const longest = Math.min(this.parts.settings.scannerLease, deadline - now);
    return now + Math.max(MIN_TIME, longest / 2);
  }

  private extend(scanner: OpenScanner): void {
    const { scannerLease } = this.parts.settings;
    scanner.expires = performance.now() + scannerLease;
    if (this.sweeper !== undefined) return;
    this.sweeper = setInterval(() => this.sweep(), Math.max(10, scannerLease / SWEEPS));
    this.sweeper.unref();
  }

  private sweep(): void {
    const now = performance.now();
    for (const scanner of this.scanners.values()) {
      if (scanner.busy || scanner.expires > now) continue;
      scanner.rows.close();
      this.scanners.delete(scanner.id);
    }
    if (this.scanners.size > 0) return;
    clearInterval(this.sweeper);
    this.sweeper = undefined;
  }

  private drop(scanner: OpenScanner): void {
    scanner.rows.close();
    if (!this.scanners.delete(scanner.id)) return;
    this.closedIds.add(scanner.id);
    if (this.closedIds.size <= MAX_CLOSED) return;
    for (const oldest of this.closedIds) {
      this.closedIds.delete(oldest);
      break;
    }
  }
}

/** Collects the rows of one call. */
class Fetch {
  maxSize = DEFAULT_RESULT_SIZE;
  private size = 0;
  private completeRows = 0;
  /** Rows read and dropped. */
  private dropped = 0;

  constructor(
    readonly scanner: OpenScanner,
    readonly request: ScanRequest,
    private readonly mostRows: number,
    private readonly timeLimit: number,
    readonly answer: ScanAnswer,
  ) {}

  /** Works until the response is complete, or until its time slice ends; returns false in the latter case. */
  slice(): boolean {
    const { answer, mostRows } = this;
    const turn = performance.now() + TURN;
    while (answer.results.length < mostRows && this.size < this.maxSize && answer.moreResults) {
      const result = this.next();
      if (result !== undefined) {
        this.add(result);
        continue;
      }
      if (this.isAtEnd) return this.ended();
      const now = performance.now();
      if (now >= this.timeLimit) return this.heartbeat();
      if (now >= turn) return false;
    }
    if (answer.moreResults) this.lookAhead();
    this.count();
    return true;
  }

  private get isAtEnd(): boolean {
    return this.scanner.rows.maxSkipped > 0;
  }

  /** The next result; undefined at the end, and after many skipped rows. */
  private next(): Result | undefined {
    const { scanner } = this;
    const { kept, rows } = scanner;
    if (kept !== undefined) {
      scanner.kept = undefined;
      return kept;
    }
    rows.maxSkipped = SLICE;
    const result = rows.next();
    this.dropped += SLICE - Math.max(0, rows.maxSkipped);
    return result;
  }

  private add(result: Result): void {
    const { answer, request } = this;
    const size = sizeOfResult(result);
    const given =
      request.takesPartials && size > this.maxSize && result.cells.length > 1 ? this.cut(result) : result;
    answer.results.push(given);
    this.size += given === result ? size : sizeOfResult(given);
    if (given.partial) return;
    this.completeRows++;
    if (request.limitOfRows > 0 && this.completeRows >= request.limitOfRows) answer.moreResults = false;
  }

  /** As much of a long row as fits; the rest is kept for the next call. */
  private cut(result: Result): Result {
    const room = this.maxSize - this.size;
    let count = 0;
    for (let size = 0; count < result.cells.length && (size < room || count === 0); count++) {
      const { row, qualifier, value } = result.cells[count]!;
      size += 40 + row.length + qualifier.length + value.length;
    }
    if (count === result.cells.length) return result;
    this.scanner.kept = new Result(result.row, result.cells.slice(count), result.partial);
    return new Result(result.row, result.cells.slice(0, count), true);
  }

  /** Checks whether there are more rows, which can save the client a call. */
  private lookAhead(): void {
    const { scanner, answer } = this;
    if (this.mostRows === 0 || scanner.kept !== undefined) return;
    scanner.kept = this.next();
    if (scanner.kept === undefined && this.isAtEnd) answer.moreResultsInRegion = false;
  }

  private ended(): true {
    const { answer, scanner } = this;
    answer.moreResultsInRegion = false;
    // Clients before 2.0 ignore the results if there are no more rows.
    if (scanner.rows.filterDone && answer.results.length === 0) answer.moreResults = false;
    this.count();
    return true;
  }

  private heartbeat(): true {
    const { answer, scanner } = this;
    answer.heartbeat = true;
    if (scanner.needsCursor) answer.cursor = scanner.rows.pausedAt;
    this.count();
    return true;
  }

  private count(): void {
    if (!this.request.tracksMetrics) return;
    this.answer.metrics = { scanned: this.completeRows + this.dropped, filtered: this.dropped };
  }
}

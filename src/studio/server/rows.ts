/** Rows of an entity or of a whole table, page by page, and everything that one row has. */

import { compareBytes, concatBytes, fromHex, keyAfter, toHex } from '../../bytes/index.js';
import { InvalidArgumentError } from '../../errors.js';
import type { KeyPlan } from '../../key/types.js';
import { parseKeyConditions } from '../../query/index.js';
import type { EntitySchema } from '../../schema/types.js';
import { Get, Result, type ResultScanner, Scan, type Table } from '../../table/index.js';
import type { Question, RowDetail, RowPage, RowShown } from './api.js';
import { codeOfKey, type ReadQuestion, readQuestion, repositoryOf } from './questions.js';
import type { StudioDatabase } from './studio-database.js';
import {
  ColumnFinder,
  DETAIL_CHARACTERS,
  LIST_CHARACTERS,
  shownCell,
  shownPieces,
  shownRow,
} from './values.js';

/** The limits of one request. */
export interface Limits {
  /** Rows of a page. */
  readonly rows: number;
  /** Bytes of cells that are read for a page, and of what is answered. */
  readonly bytes: number;
  /** Milliseconds. */
  readonly time: number;
}

export const DEFAULT_LIMITS: Limits = { rows: 1000, bytes: 8 << 20, time: 15_000 };

/** The parameters of each page. */
export interface PageRequest {
  readonly size: number;
  readonly cursor: string | null;
  /** Every version and tombstone of each row, as HBase has them. */
  readonly raw: boolean;
  readonly signal: AbortSignal;
}

/** Reads rows of a database. Nothing that it calls writes. */
export class RowReader {
  private readonly finders = new Map<EntitySchema, ColumnFinder>();

  constructor(
    private readonly db: StudioDatabase,
    private readonly limits: Limits,
  ) {}

  /** Rows of a table, the record types in the order of their keys. */
  async tablePage(table: string, from: Uint8Array, request: PageRequest): Promise<RowPage> {
    const start = request.cursor === null ? from : keyAfter(bytesOf(request.cursor));
    const scan = this.scanOf(new Scan().withStartRow(start), request);
    return this.filled(request, async (take) => {
      const scanner = this.table(table).scan(scan, this.operation(request));
      try {
        for (;;) {
          const result = await scanner.next();
          if (result === undefined) return null;
          if (!take(await this.shown(table, result, request.raw), sizeOf(result))) return toHex(result.row);
        }
      } finally {
        await scanner.close();
      }
    });
  }

  /** Rows of a question, in the order of the key where there is one. */
  async entityPage(entity: string, question: Question, request: PageRequest): Promise<RowPage> {
    const read = readQuestion(this.db, entity, question, request.signal);
    const plan = this.planOf(read);
    return plan === undefined ? this.queryPage(read, request) : this.rangePage(read, plan, request);
  }

  /** The plan, where the ranges of the key alone say which rows are meant, and a cursor can be made of a row. */
  private planOf({ schema, key, where, question }: ReadQuestion): KeyPlan | undefined {
    if (where !== undefined || question.index !== undefined || schema.key.substitutions.length > 0)
      return undefined;
    if (schema.deletedProperty !== undefined || schema.timeToLive.lifelong) return undefined;
    if (schema.columns.some(({ was }) => was.length > 0)) return undefined;
    const plan = schema.key.plan(parseKeyConditions(schema.name, schema.key, key));
    if (plan.inexactParts.length > 0 || (plan.order === 'merge' && plan.mergeOffset === undefined))
      return undefined;
    return plan;
  }

  /** Rows as they are scanned: one that cannot be decoded hides no other. */
  private rangePage(
    { schema, question }: ReadQuestion,
    plan: KeyPlan,
    request: PageRequest,
  ): Promise<RowPage> {
    const table = schema.table.descriptor.name;
    const behind = request.cursor === null ? undefined : bytesOf(request.cursor);
    const reversed = question.reverse === true;
    const scans = rangesOf(plan, behind, reversed).map(({ start, stop }) => {
      const scan = this.scanOf(new Scan(), request).setReversed(reversed);
      if (reversed) {
        // An empty start is the end of the table when it is read backwards.
        scan.withStartRow(stop ?? new Uint8Array(0), false).withStopRow(start, true);
      } else {
        scan.withStartRow(start).withStopRow(stop ?? new Uint8Array(0));
      }
      if (question.asOf !== undefined) scan.setTimeRange(0, question.asOf + 1);
      return scan;
    });
    return this.filled(request, async (take) => {
      const offset = plan.order === 'merge' ? plan.mergeOffset : undefined;
      const rows = new MergedRows(this.table(table), scans, this.operation(request), offset, reversed);
      try {
        for (;;) {
          const result = await rows.next();
          if (result === undefined) return null;
          const { row } = result;
          const meant = schema.key.matches(row) && plan.check?.(row) !== false;
          if (meant && !take(await this.shown(table, result, request.raw), sizeOf(result))) return toHex(row);
        }
      } finally {
        await rows.close();
      }
    });
  }

  /** Rows by the repository: conditions on columns, indexes, rows that were deleted and left. */
  private async queryPage({ schema, query, question }: ReadQuestion, request: PageRequest): Promise<RowPage> {
    const began = performance.now();
    const { cursor, signal } = request;
    const page = await query.page({ size: this.sizeOf(request), ...(cursor !== null && { cursor }) });
    const table = schema.table.descriptor.name;
    const rows: RowShown[] = [];
    let bytes = 0;
    let end: string | null = page.cursor ?? null;
    for (const [at, item] of page.items.entries()) {
      const row = schema.mapper.rowOf(item as Record<string, unknown>);
      const get = new Get(row);
      if (question.asOf !== undefined) get.setTimeRange(0, question.asOf + 1);
      const result = await this.table(table).get(get, { signal });
      bytes += sizeOf(result);
      rows.push(await this.shown(table, result.isEmpty ? new Result(row, []) : result, request.raw));
      if (bytes > this.limits.bytes && at + 1 < page.items.length) {
        end = page.cursorAt(at);
        break;
      }
    }
    return { rows, cursor: end, took: performance.now() - began };
  }

  /** Everything of a row: its key element by element, and every version and tombstone of its cells. */
  async row(table: string, hex: string, signal: AbortSignal): Promise<RowDetail> {
    const row = bytesOf(hex);
    const request = { size: 1, cursor: null, raw: true, signal };
    const operation = this.operation(request);
    const now = await this.table(table).get(new Get(row), operation);
    const scan = new Scan().withStartRow(row).withStopRow(row, true).setRaw(true).readAllVersions();
    const scanner = this.table(table).scan(scan, operation);
    let all: Result | undefined;
    try {
      all = await scanner.next();
    } finally {
      await scanner.close();
    }
    const columns = this.columnsOf(table, row);
    const layout = columns?.schema.key;
    const result = now.isEmpty ? new Result(row, []) : now;
    await layout?.dictionaries?.loadTexts([row]);
    return {
      row: shownRow(result, columns, DETAIL_CHARACTERS),
      pieces: layout === undefined ? null : shownPieces(row, layout.pieces(row)),
      cells: (all?.cells ?? [])
        .slice(0, this.limits.rows)
        .map((cell) => shownCell(cell, columns, DETAIL_CHARACTERS)),
      code: columns === undefined ? '' : codeOfKey(columns.schema, row),
    };
  }

  private table(name: string): Table {
    return this.db.engine.table(name);
  }

  private operation({ signal }: PageRequest): { signal: AbortSignal; timeout: number } {
    return { signal, timeout: this.limits.time };
  }

  private scanOf(scan: Scan, { raw }: PageRequest): Scan {
    scan.setCaching(100).setCacheBlocks(true);
    return raw ? scan.setRaw(true).readAllVersions() : scan;
  }

  private columnsOf(table: string, row: Uint8Array): ColumnFinder | undefined {
    const declared = this.db.schema.entityOfRow(table, row);
    if (declared === undefined) return undefined;
    const { schema } = repositoryOf(this.db, declared.name);
    const finder = this.finders.get(schema) ?? new ColumnFinder(schema);
    this.finders.set(schema, finder);
    return finder;
  }

  private async shown(table: string, result: Result, raw: boolean): Promise<RowShown> {
    const columns = this.columnsOf(table, result.row);
    await columns?.schema.key.dictionaries?.loadTexts([result.row]);
    if (!raw) return shownRow(result, columns, LIST_CHARACTERS);
    const now = await this.table(table).get(new Get(result.row));
    const shown = shownRow(now.isEmpty ? new Result(result.row, []) : now, columns, LIST_CHARACTERS);
    return { ...shown, cells: result.cells.map((cell) => shownCell(cell, columns, LIST_CHARACTERS)) };
  }

  private sizeOf({ size }: PageRequest): number {
    return Math.max(1, Math.min(size, this.limits.rows));
  }

  /** A page of what `read` takes, until it is full of rows or bytes; `take` answers whether there is room for more. */
  private async filled(
    request: PageRequest,
    read: (take: (row: RowShown, bytes: number) => boolean) => Promise<string | null>,
  ): Promise<RowPage> {
    const began = performance.now();
    const rows: RowShown[] = [];
    const size = this.sizeOf(request);
    let bytes = 0;
    const cursor = await read((row, more) => {
      request.signal.throwIfAborted();
      rows.push(row);
      bytes += more;
      return rows.length < size && bytes < this.limits.bytes;
    });
    return { rows, cursor, took: performance.now() - began };
  }
}

function sizeOf({ row, cells }: Result): number {
  return cells.reduce((sum, { qualifier, value }) => sum + qualifier.length + value.length + 16, row.length);
}

/** @throws InvalidArgumentError when the text is no row in hex. */
function bytesOf(hex: string): Uint8Array {
  if (hex.length % 2 === 0 && /^[0-9a-f]+$/.test(hex)) return fromHex(hex);
  throw new InvalidArgumentError(
    'The row, or the cursor, is no text of hex digits. Give the cursor as the page before had it.',
  );
}

interface Bounds {
  readonly start: Uint8Array;
  readonly stop: Uint8Array | undefined;
}

/** The ranges that are left behind a row. In merged ranges all rows behind it compare from the same byte on. */
function rangesOf(
  { ranges, order, mergeOffset }: KeyPlan,
  behind: Uint8Array | undefined,
  reversed: boolean,
): Bounds[] {
  const all = reversed ? [...ranges].reverse() : [...ranges];
  if (behind === undefined) return all;
  const left: Bounds[] = [];
  for (const { start, stop } of all) {
    const place =
      order === 'merge' ? concatBytes(start.subarray(0, mergeOffset), behind.subarray(mergeOffset)) : behind;
    const from = !reversed && compareBytes(keyAfter(place), start) > 0 ? keyAfter(place) : start;
    const to = reversed && (stop === undefined || compareBytes(place, stop) < 0) ? place : stop;
    if (to === undefined || compareBytes(from, to) < 0) left.push({ start: from, stop: to });
  }
  return left;
}

/** Rows of scans one after the other, or side by side in the order of what stands behind an offset. */
class MergedRows {
  private readonly scanners: (ResultScanner | undefined)[] = [];
  private readonly heads: (Result | undefined)[] = [];
  private at = 0;

  constructor(
    private readonly table: Table,
    private readonly scans: readonly Scan[],
    private readonly operation: { readonly signal: AbortSignal; readonly timeout: number },
    private readonly offset: number | undefined,
    private readonly reversed: boolean,
  ) {}

  async next(): Promise<Result | undefined> {
    if (this.offset === undefined) return this.nextInSequence();
    if (this.scanners.length === 0) {
      for (const [at, scan] of this.scans.entries()) {
        this.scanners.push(this.table.scan(scan, this.operation));
        this.heads.push(await this.scanners[at]!.next());
      }
    }
    const least = this.leastHead(this.offset);
    if (least < 0) return undefined;
    const result = this.heads[least];
    this.heads[least] = await this.scanners[least]!.next();
    return result;
  }

  private async nextInSequence(): Promise<Result | undefined> {
    for (; this.at < this.scans.length; this.at++) {
      this.scanners[this.at] ??= this.table.scan(this.scans[this.at]!, this.operation);
      const result = await this.scanners[this.at]!.next();
      if (result !== undefined) return result;
    }
    return undefined;
  }

  private leastHead(offset: number): number {
    let least = -1;
    for (const [at, head] of this.heads.entries()) {
      if (head === undefined) continue;
      if (least < 0) {
        least = at;
        continue;
      }
      const order = compareBytes(head.row.subarray(offset), this.heads[least]!.row.subarray(offset));
      if (this.reversed ? order > 0 : order < 0) least = at;
    }
    return least;
  }

  async close(): Promise<void> {
    for (const scanner of this.scanners) await scanner?.close();
  }
}

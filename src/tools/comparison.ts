import { join } from 'node:path';
import { compareBytes, keyAfter } from '../bytes/index.js';
import { CorruptionError, InvalidArgumentError } from '../errors.js';
import { type FileItem, fileItems, type JobSource } from '../job/pipeline/source.js';
import { runJob } from '../job/runner.js';
import { type CellSelection, scanOf, type ToolOptions, toolJobName, toolRun } from '../job/table-pass.js';
import type { JobOutcome, RowRange, SplitContext, SplitWork } from '../job/types.js';
import { canonicalTableName, type RawRow, type Result, type Table } from '../table/index.js';
import { placeOf, type TableOf } from './copy.js';
import { ChunkHasher, chunkOf, HASHES_FOLDER, type HashedChunk, type HashesManifest } from './hash.js';
import { readManifest } from './manifest.js';
import { type OtherRows, RawRowReader, RowReader, sameCells, sameRawRows } from './row-reader.js';

/** A row that differs between the tables, with its cells in each. */
export type Difference = { readonly row: Uint8Array } & (
  | { readonly kind: 'missing'; readonly wanted: Result; readonly found?: undefined }
  | { readonly kind: 'extra'; readonly wanted?: undefined; readonly found: Result }
  | { readonly kind: 'different'; readonly wanted: Result; readonly found: Result }
);

/** Receives differences, in row order. */
export type DifferenceSink = (differences: readonly Difference[]) => Promise<void>;

/** How many differences are passed on together. */
const DIFFERENCES_AT_ONCE = 500;

/** Compares the rows of one range of two tables, cell by cell. */
export class RangeComparison {
  private differences: Difference[] = [];
  private last: Uint8Array | undefined;
  private lastRaw: RawRow | undefined;

  /** `others`: the second table's rows. The comparison closes them. */
  constructor(
    private readonly others: OtherRows,
    private readonly sink: DifferenceSink,
  ) {}

  /** The last row of the first table that was compared. */
  get lastRow(): Uint8Array | undefined {
    return this.last;
  }

  /**
   * Compares the next rows of the first table; returns how many are equal. The sink has received the differences when
   * it resolves.
   */
  async rows(rows: readonly Result[]): Promise<number> {
    let equal = 0;
    for (const row of rows) {
      // Equal rows, which are nearly all, are compared without a turn of the event loop.
      const next = this.others.buffered ?? (await this.others.peek());
      if (next !== undefined && compareBytes(next.row, row.row) === 0 && sameCells(row.cells, next.cells)) {
        this.others.take();
        equal++;
      } else if (await this.compare(row)) equal++;
    }
    this.last = rows.at(-1)?.row ?? this.last;
    await this.handOn();
    return equal;
  }

  /**
   * Compares the next row of the first table, a raw row that is reused; returns whether it is equal. Call `handOn`
   * after the last of several.
   */
  rawRow(row: RawRow): boolean | Promise<boolean> {
    this.lastRaw = row;
    const { others } = this;
    if (others instanceof RawRowReader) {
      const { next } = others;
      if (next !== undefined && sameRawRows(row, next)) {
        others.take();
        return true;
      }
    }
    return this.compare(row.toResult());
  }

  /** Called after the last row of the first table. */
  async finish(): Promise<void> {
    await this.extrasBefore(undefined);
    await this.handOn();
  }

  close(): Promise<void> {
    return this.others.close();
  }

  private async compare(wanted: Result): Promise<boolean> {
    const { row } = wanted;
    await this.extrasBefore(row);
    const found = await this.others.peek();
    if (found === undefined || compareBytes(found.row, row) !== 0) {
      await this.differs({ kind: 'missing', row, wanted });
      return false;
    }
    this.others.take();
    if (sameCells(wanted.cells, found.cells)) return true;
    await this.differs({ kind: 'different', row, wanted, found });
    return false;
  }

  private async extrasBefore(row: Uint8Array | undefined): Promise<void> {
    for (;;) {
      const found = await this.others.peek();
      if (found === undefined || (row !== undefined && compareBytes(found.row, row) >= 0)) return;
      this.others.take();
      await this.differs({ kind: 'extra', row: found.row, found });
    }
  }

  private async differs(difference: Difference): Promise<void> {
    this.differences.push(difference);
    if (this.differences.length >= DIFFERENCES_AT_ONCE) await this.handOn();
  }

  /** Resolves when the sink has received all differences so far. */
  async handOn(): Promise<void> {
    if (this.lastRaw !== undefined) this.last = this.lastRaw.row.slice();
    const { differences } = this;
    if (differences.length === 0) return;
    this.differences = [];
    await this.sink(differences);
  }
}

/** The range from the first to the last of these rows. */
export function rangeOf(rows: readonly { readonly row: Uint8Array }[]): RowRange {
  return { start: rows[0]!.row, stop: keyAfter(rows.at(-1)!.row) };
}

/** How many chunks are compared between two checks of throttle and checkpoint. */
const CHUNKS_AT_ONCE = 16;

interface HashComparison {
  readonly tool: string;
  /** Part of the job's signature. */
  readonly does: string;
  readonly first: TableOf;
  readonly second: TableOf;
  readonly folder: string;
  readonly options: ToolOptions;
  readonly sinkOf: (context: SplitContext, selection: CellSelection) => DifferenceSink;
}

/**
 * Compares a table with the hashes of another, and compares the rows of both where hashes differ. Runs the comparison.
 * @throws InvalidArgumentError when the folder has no hashes of the first table; CorruptionError naming file and byte.
 */
export async function compareWithHashes(comparison: HashComparison): Promise<JobOutcome> {
  const { tool, does, first, second, folder, options } = comparison;
  const manifest = await readManifest<HashesManifest>(folder, HASHES_FOLDER);
  const { table, ended } = manifest;
  if (table !== canonicalTableName(first.table)) {
    throw new InvalidArgumentError(`${folder} has hashes of table "${table}", not of "${first.table}".`);
  }
  const selection = selectionOf(manifest, options);
  const paths = manifest.files.map(({ name }) => join(folder, name));
  const source = await fileItems('ndjson', paths);
  return runJob(
    first.engine,
    {
      name: options.name ?? toolJobName(tool, first.table, second.table),
      signature: `${tool} ${table} ${placeOf(second)} ${does} by hashes of ${ended} in ${folder}`,
      phases: [
        {
          ...source,
          oneSplitEach: true,
          open: (context) =>
            new ChunkComparison(
              source,
              first.engine.table(first.table),
              second.engine.table(second.table),
              selection,
              comparison.sinkOf(context, selection),
              context,
            ),
        },
      ],
    },
    { ...toolRun(options.run), batchRows: CHUNKS_AT_ONCE },
  );
}

function selectionOf({ selection }: HashesManifest, options: ToolOptions): CellSelection {
  const given = (['families', 'timeRange', 'versions', 'raw', 'range'] as const).find(
    (name) => options[name] !== undefined,
  );
  if (given !== undefined) {
    throw new InvalidArgumentError(
      `With hashes, the hashed cells are compared: leave out ${given}, or use it when hashing.`,
    );
  }
  const { families, from, to, versions, raw } = selection ?? {};
  const isSelection =
    (families === null || (Array.isArray(families) && families.every((name) => typeof name === 'string'))) &&
    [from, to, versions].every((number) => number === null || Number.isSafeInteger(number)) &&
    typeof raw === 'boolean';
  if (!isSelection) {
    throw new InvalidArgumentError(
      `${HASHES_FOLDER.file} does not say what was hashed. Hash the table again.`,
    );
  }
  return {
    ...(families === null ? {} : { families }),
    ...(from === null || to === null ? {} : { timeRange: { from, to } }),
    ...(versions === null ? {} : { versions }),
    raw,
  };
}

class ChunkComparison implements SplitWork {
  private readonly hasher = new ChunkHasher();
  /** The second table's rows, as long as the chunks are contiguous. */
  private others: RowReader | undefined;
  private next: Uint8Array | undefined;

  constructor(
    private readonly source: JobSource<FileItem>,
    private readonly first: Table,
    private readonly second: Table,
    private readonly selection: CellSelection,
    private readonly sink: DifferenceSink,
    private readonly context: SplitContext,
  ) {}

  async rows(lines: readonly Result[]): Promise<void> {
    for (const line of lines) {
      const item = this.source.load(line) as FileItem | null;
      if (item !== null) await this.compare(readChunk(item));
    }
  }

  async close(): Promise<void> {
    await this.others?.close();
  }

  private async compare(chunk: HashedChunk): Promise<void> {
    this.context.count('chunks');
    if ((await this.hashOfSecond(chunk)) === chunk.hash) {
      this.context.count('rows', chunk.rows);
      this.context.count('equal', chunk.rows);
      return;
    }
    this.context.count('chunks read');
    const comparison = new RangeComparison(new RowReader(this.second, chunk, this.selection), this.sink);
    const rows = this.first.scan(
      scanOf(this.selection, false).withStartRow(chunk.start).withStopRow(chunk.stop),
    );
    try {
      for (let some = await rows.nextBatch(ROWS_AT_ONCE); some.length > 0; ) {
        const equal = await comparison.rows(some);
        this.context.count('rows', some.length);
        this.context.count('equal', equal);
        some = await rows.nextBatch(ROWS_AT_ONCE);
      }
      await comparison.finish();
    } finally {
      await rows.close();
      await comparison.close();
    }
  }

  private async hashOfSecond({ start, stop }: RowRange): Promise<string> {
    if (this.next === undefined || compareBytes(this.next, start) !== 0) {
      await this.others?.close();
      this.others = new RowReader(this.second, { start, stop: NO_STOP }, this.selection);
    }
    this.next = stop;
    const others = this.others!;
    for (;;) {
      const row = others.buffered ?? (await others.peek());
      if (row === undefined || (stop.length > 0 && compareBytes(row.row, stop) >= 0)) break;
      this.hasher.add(row);
      others.take();
    }
    return this.hasher.take();
  }
}

const NO_STOP = new Uint8Array(0);
/** How many rows of a differing chunk are read at a time. */
const ROWS_AT_ONCE = 500;

function readChunk({ path, offset, read }: FileItem): HashedChunk {
  let line: unknown;
  try {
    line = read();
  } catch (cause) {
    throw new CorruptionError(`${path} is damaged at byte ${offset}: it is not JSON.`, {
      cause,
      details: { file: path, offset },
    });
  }
  return chunkOf(line, path, offset);
}

/** Compares a table with the hashes of another, and the rows of both where the hashes differ. */

import { join } from 'node:path';
import { compareBytes } from '../../bytes/index.js';
import { CorruptionError, InvalidArgumentError } from '../../errors.js';
import { canonicalTableName, type Result, type Table } from '../../table/index.js';
import { type FileItem, fileItems } from '../pipeline/file-source.js';
import type { JobSource } from '../pipeline/source.js';
import { runJob } from '../runner.js';
import type { JobOutcome, RowRange, SplitContext, SplitWork } from '../types.js';
import { ChunkHasher } from './chunk-hash.js';
import { placeOf, type TableOf } from './copy.js';
import { chunkOf, HASHES_FOLDER, type HashedChunk, type HashesManifest } from './hash.js';
import { readManifest } from './manifest.js';
import { type DifferenceSink, RangeComparison } from './range-comparison.js';
import { RowReader } from './row-reader.js';
import { type CellSelection, scanOf, type ToolOptions, toolJobName, toolRun } from './selection.js';

/** Chunks that are compared between two looks at throttle and checkpoint. */
const CHUNKS_AT_ONCE = 16;

export interface HashComparison {
  readonly tool: string;
  /** For the job's signature. */
  readonly does: string;
  readonly first: TableOf;
  readonly second: TableOf;
  readonly folder: string;
  readonly options: ToolOptions;
  readonly sinkOf: (context: SplitContext, selection: CellSelection) => DifferenceSink;
}

/** @throws InvalidArgumentError when the folder has no hashes of the first table; CorruptionError naming file and byte. */
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
      `With hashes what is compared is what was hashed: leave ${given} out, or give it to the tool that hashes.`,
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
  /** The second table's rows, as far as chunks follow each other. */
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
/** Rows of a chunk whose hashes differ that are read at once. */
const ROWS_AT_ONCE = 500;

function readChunk({ path, offset, read }: FileItem): HashedChunk {
  let line: unknown;
  try {
    line = read();
  } catch (cause) {
    throw new CorruptionError(`${path} is damaged at byte ${offset}: it is no JSON.`, {
      cause,
      details: { file: path, offset },
    });
  }
  return chunkOf(line, path, offset);
}

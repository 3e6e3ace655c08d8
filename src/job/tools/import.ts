/** Reads a folder that `exportTable` wrote into a table (HBase Import). */

import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32, fromHex } from '../../bytes/index.js';
import { ensureTable } from '../../ddl/index.js';
import { CorruptionError, InvalidArgumentError } from '../../errors.js';
import {
  type Engine,
  Result,
  type ResultScanner,
  Scan,
  type TableDescriptor,
  tableDescriptor,
} from '../../table/index.js';
import { FileScanner } from '../files/file-scanner.js';
import { placeOfRow, rowOfPlace } from '../files/place.js';
import { runJob } from '../runner.js';
import type { JobOutcome, JobReadable, JobRunOptions, RowRange } from '../types.js';
import { END_BYTES, endOfFile, FRAME_HEAD_BYTES, HEAD, LARGEST_FRAME, rowsOfFrame } from './cell-frames.js';
import { writeRows } from './copy.js';
import { type ExportedFile, type ExportManifest, MANIFEST_FILE } from './export.js';
import { InFlight } from './in-flight.js';
import { toolJobName, toolRun } from './selection.js';

export interface ImportOptions {
  /** The table to write to; default: the one that was exported. */
  readonly table?: string;
  /** Makes the table with the exported families and regions when it is not there. Default false. */
  readonly create?: boolean;
  /** The job's name, under which it can be resumed; default: the tool and the table. */
  readonly name?: string;
  readonly run?: JobRunOptions;
}

/** Rows that are written in one call. */
const ROWS_AT_ONCE = 1000;
/** Writes of one split that wait for the disk or the network while the next rows are unpacked. */
const WRITES_AT_ONCE = 4;

/**
 * Imports every cell as it was. What is imported twice is there once, so a resumed job changes nothing that was done. Counters:
 * `rows`, `cells`.
 * @throws CorruptionError when a file is not what was written; InvalidArgumentError when the folder holds no whole export;
 * RowanError `ERR_TABLE_NOT_FOUND`.
 */
export async function importTable(
  engine: Engine,
  folder: string,
  options: ImportOptions = {},
): Promise<JobOutcome> {
  const manifest = await readManifest(folder);
  const exported = manifest.table as unknown as TableDescriptor;
  const table = options.table ?? exported.name;
  if (options.create === true) {
    const { name: _, families, ...rest } = exported;
    await ensureTable(engine.admin, tableDescriptor(table, families, rest), manifest.splits.map(fromHex));
  }
  await engine.admin.getDescriptor(table);
  const into = engine.table(table);
  return runJob(
    engine,
    {
      name: options.name ?? toolJobName('import', table),
      signature: `import ${folder} to ${table}`,
      phases: [
        {
          table: new FrameTable(folder, manifest.files),
          ranges: manifest.files.map((_, index) => fileRange(index)),
          oneSplitEach: true,
          scan: () => new Scan(),
          open: (context) => {
            const writes = new InFlight(WRITES_AT_ONCE);
            return {
              async rows(frames) {
                for (const { row, cells } of frames) {
                  const { file, offset } = placeOfRow(row);
                  const name = manifest.files[file]!.name;
                  const rows = await rowsOfFrame(cells[0]!.value, name, offset);
                  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
                    await writes.add(() => writeRows(into, rows.slice(at, at + ROWS_AT_ONCE)));
                  }
                  context.count('rows', rows.length);
                  context.count(
                    'cells',
                    rows.reduce((sum, each) => sum + each.cells.length, 0),
                  );
                }
              },
              commit: () => writes.settle().then(() => undefined),
              close: () => writes.close(),
            };
          },
        },
      ],
    },
    { ...toolRun(options.run), batchRows: 4 },
  );
}

/** @throws InvalidArgumentError when the folder holds no whole export, or one that is not as its manifest says. */
async function readManifest(folder: string): Promise<ExportManifest> {
  const path = join(folder, MANIFEST_FILE);
  let manifest: ExportManifest;
  try {
    manifest = JSON.parse(await readFile(path, 'utf8')) as ExportManifest;
  } catch (cause) {
    throw new InvalidArgumentError(
      `${path} cannot be read: the folder holds no export, or one that did not end. Run the export again; it goes on where it stood.`,
      { cause },
    );
  }
  if (manifest.format !== 'rowan-cells' || manifest.version !== 1 || !Array.isArray(manifest.files)) {
    throw new InvalidArgumentError(`${path} is no manifest of an export, or of a newer version.`);
  }
  for (const { name, bytes } of manifest.files) {
    const fits = typeof name === 'string' && /^part-\d+\.cells$/.test(name);
    const size = fits
      ? await stat(join(folder, name)).then(
          (found) => found.size,
          () => undefined,
        )
      : undefined;
    if (size !== bytes) {
      throw new InvalidArgumentError(
        `${path} names ${JSON.stringify(name)} with ${bytes} bytes, and there are ${size ?? 'none'}. Copy the whole folder.`,
      );
    }
  }
  return manifest;
}

function fileRange(file: number): RowRange {
  return { start: rowOfPlace({ file, offset: 0 }), stop: rowOfPlace({ file: file + 1, offset: 0 }) };
}

/** The frames of exported files as rows of a table, so that a job reads them as any other. */
class FrameTable implements JobReadable {
  readonly name = 'exported files';

  constructor(
    private readonly folder: string,
    private readonly files: readonly ExportedFile[],
  ) {}

  scan(scan: Scan): ResultScanner {
    const { file, offset } = placeOfRow(scan.startRow);
    const found = this.files[file]!;
    return new FrameScanner(join(this.folder, found.name), file, found, offset, scan.includeStartRow);
  }
}

class FrameScanner extends FileScanner {
  constructor(
    path: string,
    private readonly file: number,
    private readonly expected: ExportedFile,
    private offset: number,
    private readonly inclusive: boolean,
  ) {
    super(path);
  }

  async next(): Promise<Result | undefined> {
    if (this.ended) return undefined;
    if (this.handle === undefined) await this.begin();
    const at = this.offset;
    const head = await this.read(at, FRAME_HEAD_BYTES);
    const length = head.readUInt32BE(0);
    if (length === 0) {
      const end = await this.read(at, END_BYTES);
      if (!end.equals(endOfFile(this.expected.rows)) || at + END_BYTES !== this.expected.bytes)
        throw this.damaged(at);
      return this.finish();
    }
    if (length > LARGEST_FRAME || at + length > this.expected.bytes) throw this.damaged(at);
    const payload = await this.read(at + FRAME_HEAD_BYTES, length);
    if (crc32(payload, 0, length) >>> 0 !== head.readUInt32BE(4)) throw this.damaged(at);
    this.offset = at + FRAME_HEAD_BYTES + length;
    const row = rowOfPlace({ file: this.file, offset: at });
    return new Result(row, [{ row, family: 'f', qualifier: row, timestamp: 0, type: 4, value: payload }]);
  }

  private async begin(): Promise<void> {
    await this.openFile();
    if (this.offset === 0) {
      const head = await this.read(0, HEAD.length);
      if (!head.equals(HEAD)) throw this.damaged(0);
      this.offset = HEAD.length;
    } else if (!this.inclusive) {
      // The frame at the offset is done.
      this.offset += FRAME_HEAD_BYTES + (await this.read(this.offset, FRAME_HEAD_BYTES)).readUInt32BE(0);
    }
  }

  private async read(at: number, length: number): Promise<Buffer> {
    const bytes = Buffer.alloc(length);
    for (let from = 0; from < length; ) {
      const { bytesRead } = await this.handle!.read(bytes, from, length - from, at + from);
      if (bytesRead === 0) throw this.damaged(at);
      from += bytesRead;
    }
    return bytes;
  }

  private damaged(offset: number): CorruptionError {
    return new CorruptionError(
      `${this.path} is damaged at byte ${offset}: it is not what was exported. Export the table again, or copy the file again.`,
      { details: { file: this.path, offset } },
    );
  }
}

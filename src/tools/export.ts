/** Exports a table into a folder of files, with every version and delete marker and their timestamps (HBase Export). */

import { rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { toHex } from '../bytes/index.js';
import type { JsonValue } from '../codec/index.js';
import { atFile, InvalidArgumentError } from '../errors.js';
import { PartFile, partName, removeOtherParts } from '../job/files/part-file.js';
import { sequenceFiles } from '../job/pipeline/file-sink.js';
import { checkSelection, runPass, scanOf, type ToolOptions } from '../job/table-pass.js';
import type { JobOutcome, SplitContext, SplitWork } from '../job/types.js';
import { CellType, type Engine, type Result } from '../table/index.js';
import { endOfFile, FRAME_BYTES, FrameBuilder, HEAD } from './cell-frames.js';
import {
  EXPORT_FOLDER,
  type ExportedFile,
  type ExportManifest,
  isFileOf,
  ownFolder,
  removeManifest,
  writeManifest,
} from './manifest.js';

export interface ExportOptions extends ToolOptions {
  /** `rowan` (default): files for `importTable`. `hbase`: sequence files that HBase's Import reads too. */
  readonly format?: 'rowan' | 'hbase';
}

/** The data that a split stores with its checkpoint. */
type FileState = ExportedFile & { readonly [name: string]: JsonValue };

/**
 * Exports a table, one file for each split. When a job is resumed, its files are truncated to their checkpoints.
 * Counters: `rows`, `cells`.
 * @throws InvalidArgumentError when the folder has files that are not of such an export; RowanError `ERR_TABLE_NOT_FOUND`, `ERR_IO`.
 */
export async function exportTable(
  engine: Engine,
  table: string,
  folder: string,
  options: ExportOptions = {},
): Promise<JobOutcome> {
  if (typeof folder !== 'string' || folder === '') {
    throw new InvalidArgumentError('export needs a folder to write to.');
  }
  await checkSelection(engine, table, options);
  const isSequences = options.format === 'hbase';
  const isOwn = (name: string): boolean =>
    isSequences ? IGNORED.test(name) || SEQUENCE_FILE.test(name) : isFileOf(EXPORT_FOLDER, name);
  await ownFolder(folder, 'export', isOwn);
  if (isSequences) return exportSequenceFiles(engine, table, folder, options);
  return exportCells(engine, table, folder, options);
}

/**
 * Exports a table into the files of `rowan export`, as `exportTable` does.
 * @param earlyUntil Also counts, as `earlyPuts`, the puts with a timestamp up to this one.
 */
export async function exportCells(
  engine: Engine,
  table: string,
  folder: string,
  options: ToolOptions,
  earlyUntil = -1,
): Promise<JobOutcome> {
  return runPass(engine, options, {
    tool: 'export',
    table,
    does: `to ${resolve(folder)}`,
    readsOnly: true,
    // While files of an earlier export are overwritten, the folder must not count as an export.
    prepare: () => removeManifest(folder, EXPORT_FOLDER),
    scan: () => scanOf(options, true),
    open: (context) => FileExport.open(folder, context, earlyUntil),
    async finish(_run, workOf) {
      const written = await workOf(0);
      const files = [...written.values()] as unknown as FileState[];
      await removeOtherParts(folder, 'cells', written.keys());
      const manifest: ExportManifest = {
        format: EXPORT_FOLDER.format,
        version: EXPORT_FOLDER.version,
        table: (await engine.admin.getDescriptor(table)) as unknown as JsonValue,
        splits: (await engine.admin.getRegions(table)).slice(1).map(({ startKey }) => toHex(startKey)),
        files: files.map(({ name, bytes, rows, cells }) => ({ name, bytes, rows, cells })),
        ended: Date.now(),
      };
      await writeManifest(folder, EXPORT_FOLDER, manifest);
    },
  });
}

/** The file that marks a folder as complete in Hadoop. */
const WHOLE = '_SUCCESS';
/** Files that programs of Hadoop ignore. */
const IGNORED = /^[_.]/;
const SEQUENCE_FILE = /^part-\d+\.seq$/;

async function exportSequenceFiles(
  engine: Engine,
  table: string,
  folder: string,
  options: ExportOptions,
): Promise<JobOutcome> {
  return runPass(engine, options, {
    tool: 'export',
    table,
    does: `sequence files to ${resolve(folder)}`,
    readsOnly: true,
    prepare: () => rm(join(folder, WHOLE), { force: true }),
    scan: () => scanOf(options, true),
    async open(context) {
      const writer = await sequenceFiles(folder).open(context);
      return {
        async rows(rows) {
          await writer.write(rows);
          context.count('rows', rows.length);
          for (const { cells } of rows) context.count('cells', cells.length);
        },
        commit: () => writer.commit?.(),
        close: () => writer.close?.(),
      };
    },
    async finish(_run, workOf) {
      await removeOtherParts(folder, 'seq', (await workOf(0)).keys());
      await atFile(folder, () => writeFile(join(folder, WHOLE), ''));
    },
  });
}

/** The file of one split. */
class FileExport implements SplitWork {
  private frame = new FrameBuilder();
  /** Receives the next rows while the frame before them is compressed and written. */
  private spare = new FrameBuilder();
  private writing: Promise<void> = Promise.resolve();

  private constructor(
    private readonly file: PartFile,
    private readonly context: SplitContext,
    private readonly earlyUntil: number,
    private state: FileState,
  ) {}

  static async open(folder: string, context: SplitContext, earlyUntil: number): Promise<FileExport> {
    const resumed = context.resumed as FileState | undefined;
    const name = partName(context.split, 'cells');
    const file = await PartFile.open(join(folder, name), resumed?.bytes);
    const state = resumed ?? { name, bytes: 0, rows: 0, cells: 0 };
    const made = new FileExport(file, context, earlyUntil, state);
    try {
      if (resumed === undefined) await file.append(HEAD);
    } catch (error) {
      await file.close();
      throw error;
    }
    return made;
  }

  async rows(rows: readonly Result[]): Promise<void> {
    let cells = 0;
    for (const row of rows) {
      this.frame.add(row);
      cells += row.cells.length;
      if (this.frame.length >= FRAME_BYTES) await this.writeFrame();
    }
    this.context.count('rows', rows.length);
    this.context.count('cells', cells);
    if (this.earlyUntil >= 0) this.context.count('earlyPuts', this.earlyPuts(rows));
    this.state = { ...this.state, rows: this.state.rows + rows.length, cells: this.state.cells + cells };
  }

  private earlyPuts(rows: readonly Result[]): number {
    let puts = 0;
    for (const { cells } of rows) {
      for (const { type, timestamp } of cells)
        if (timestamp <= this.earlyUntil && type === CellType.Put) puts++;
    }
    return puts;
  }

  /** Waits for the previous frame, so that at most two exist. */
  private async writeFrame(): Promise<void> {
    await this.writing;
    const { frame, spare } = this;
    this.frame = spare;
    this.spare = frame;
    this.writing = frame.take().then((bytes) => this.file.append(bytes));
    // The error is reported to whoever awaits the write next.
    this.writing.catch(() => undefined);
  }

  async finish(): Promise<void> {
    await this.flush();
    await this.file.append(endOfFile(this.state.rows));
  }

  async commit(): Promise<JsonValue> {
    await this.flush();
    await this.file.sync();
    return { ...this.state, bytes: this.file.bytes };
  }

  async close(): Promise<void> {
    await this.writing.catch(() => undefined);
    await this.file.close();
  }

  private async flush(): Promise<void> {
    if (this.frame.length > 0) await this.writeFrame();
    await this.writing;
  }
}

/** Bulk load of sorted cells: writes an HFile for each region and family, and asks the regions to adopt them. */

import { randomBytes } from 'node:crypto';
import { chmod, type FileHandle, open, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { compareBytes, toStringBinary } from '../../bytes/index.js';
import { atFile, InvalidArgumentError, RowanError, throwIfAborted } from '../../errors.js';
import { makeFolder } from '../../folders.js';
import { HFileReader, HFileWriter, prepareHFileCodec, type WrittenHFile } from '../../hadoop/hfile/index.js';
import { describe } from '../../table/checks.js';
import {
  type BulkCompression,
  type BulkLoadOptions,
  type BulkLoadResult,
  type Cell,
  type CellStream,
  listOf,
} from '../../table/index.js';
import type { BulkLoadFile } from '../admin/bulk-load.js';
import type { HBaseAdmin } from '../admin/hbase-admin.js';

/** The largest file, as of HBase's own jobs (`hbase.hregion.max.filesize`). */
const LARGEST_FILE = 10 * 2 ** 30;
/** How often files are divided again because regions split meanwhile. */
const MAX_DIVISIONS = 10;

/** File permissions: HBase opens and moves the files as the loading user, who may be another on this file system. */
const OPEN_FOLDER = 0o777;
const OPEN_FILE = 0o666;

/** The folder of the files. */
interface Staging {
  readonly folder: string;
  readonly uri: string;
}

/** @throws InvalidArgumentError without a folder, or with a URI that region servers cannot open. */
function stagingOf({ folder, uri }: BulkLoadOptions): Staging {
  if (typeof folder !== 'string' || folder === '') {
    throw new InvalidArgumentError(
      'A bulk load into HBase needs a folder that this process writes to and the region servers read from: give `folder`, and ' +
        '`uri` when they know it by another name (hdfs://namenode/load).',
    );
  }
  const name = `rowan-${randomBytes(8).toString('hex')}`;
  const base = uri ?? pathToFileURL(resolve(folder)).href;
  if (!/^[a-z][\w+.-]*:\/./i.test(base)) {
    throw new InvalidArgumentError(
      `The uri of a folder of a bulk load has its scheme (hdfs://…, file:///…); this is ${describe(uri)}.`,
    );
  }
  return { folder: join(folder, name), uri: `${base.replace(/\/+$/, '')}/${name}` };
}

/** One bulk load. */
export class HFileLoad {
  private readonly staging: Staging;
  private files = 0;
  private bytes = 0;
  private made = 0;

  constructor(
    private readonly admin: HBaseAdmin,
    private readonly table: string,
    private readonly options: BulkLoadOptions,
  ) {
    this.staging = stagingOf(options);
  }

  /** Writes the cells into files and loads them. Files of regions that split meanwhile are divided. */
  async run(cells: CellStream): Promise<BulkLoadResult> {
    await prepareHFileCodec(this.options.compression ?? 'NONE');
    const { families } = await this.admin.getDescriptor(this.table);
    const known = new Set(families.map(({ name }) => name));
    try {
      let written = await this.write(cells, known);
      const loaded = written.reduce((sum, file) => sum + file.cells, 0);
      for (let division = 0; written.length > 0; division++) {
        throwIfAborted(this.options.signal);
        const { straddling } = await this.admin.bulkLoad({
          table: this.table,
          files: written,
          ...(this.options.signal === undefined ? {} : { signal: this.options.signal }),
        });
        const rest = written.filter((file) => straddling.includes(file));
        this.count(written.filter((file) => !rest.includes(file)));
        if (rest.length > 0 && division === MAX_DIVISIONS) throw restless(this.table, rest.length);
        written = [];
        for (const file of rest) written.push(...(await this.divide(file, known)));
      }
      return { cells: loaded, files: this.files, bytes: this.bytes };
    } finally {
      await rm(this.staging.folder, { recursive: true, force: true });
    }
  }

  private count(files: readonly StagedFile[]): void {
    this.files += files.length;
    for (const { bytes } of files) this.bytes += bytes;
  }

  private async divide(file: StagedFile, families: ReadonlySet<string>): Promise<StagedFile[]> {
    const reader = await HFileReader.open(file.local);
    try {
      return await this.write(reader.cells(), families);
    } finally {
      await reader.close();
      await rm(file.local, { force: true });
    }
  }

  /** Writes the cells into files, each within one region. */
  private async write(cells: CellStream, families: ReadonlySet<string>): Promise<StagedFile[]> {
    const ends = (await this.admin.getRegions(this.table)).map(({ endKey }) => endKey);
    const done: StagedFile[] = [];
    const open = new Map<string, OpenFile>();
    const close = async (): Promise<void> => {
      for (const file of open.values()) done.push(await file.finish());
      open.clear();
    };
    let region = 0;
    let row: Uint8Array | undefined;
    try {
      for await (const item of cells) {
        for (const cell of listOf(item)) {
          const order = row === undefined ? -1 : compareBytes(row, cell.row);
          if (order > 0) throw outOfOrder(cell);
          if (order < 0) {
            throwIfAborted(this.options.signal);
            if (isAfter(cell.row, ends[region])) {
              await close();
              while (isAfter(cell.row, ends[region])) region++;
            } else if (row !== undefined && isFull(open)) await close();
            row = cell.row;
          }
          let file = open.get(cell.family);
          if (file === undefined) {
            if (!families.has(cell.family)) throw this.noSuchFamily(cell.family, families);
            file = await this.create(cell.family);
            open.set(cell.family, file);
          }
          file.writer.add(cell);
          if (file.writer.full) await file.writer.drain();
        }
      }
      await close();
      return done;
    } finally {
      for (const { handle } of open.values()) await handle.close();
    }
  }

  private async create(family: string): Promise<OpenFile> {
    const { folder, uri } = this.staging;
    const name = `${String(this.made++).padStart(6, '0')}${randomBytes(8).toString('hex')}`;
    for (const each of [folder, join(folder, family)]) {
      makeFolder(each);
      await chmod(each, OPEN_FOLDER);
    }
    const local = join(folder, family, name);
    return OpenFile.create(local, `${uri}/${family}/${name}`, family, this.options.compression ?? 'NONE');
  }

  private noSuchFamily(family: string, known: ReadonlySet<string>): RowanError {
    return new RowanError(
      'ERR_NO_SUCH_FAMILY',
      `Table "${this.table}" has no family "${family}". It has: ${[...known].join(', ')}. Nothing was loaded.`,
      { details: { table: this.table, family } },
    );
  }
}

/** A written file. */
interface StagedFile extends BulkLoadFile {
  /** Its local path. */
  readonly local: string;
  readonly bytes: number;
  readonly cells: number;
}

class OpenFile {
  private constructor(
    readonly handle: FileHandle,
    readonly writer: HFileWriter,
    private readonly local: string,
    private readonly path: string,
    private readonly family: string,
  ) {}

  static async create(
    local: string,
    path: string,
    family: string,
    compression: BulkCompression,
  ): Promise<OpenFile> {
    const handle = await open(local, 'wx');
    const append = (bytes: Uint8Array): Promise<void> => atFile(local, () => handle.writeFile(bytes));
    const writer = new HFileWriter({ append }, { family, compression });
    return new OpenFile(handle, writer, local, path, family);
  }

  async finish(): Promise<StagedFile> {
    const { cells, bytes, firstRow, lastRow }: WrittenHFile = await this.writer.finish();
    await this.handle.chmod(OPEN_FILE);
    await atFile(this.local, () => this.handle.datasync());
    await this.handle.close();
    const { local, path, family } = this;
    return { local, path, family, firstRow, lastRow, bytes, cells };
  }
}

function isAfter(row: Uint8Array, end: Uint8Array | undefined): boolean {
  return end !== undefined && end.length > 0 && compareBytes(row, end) >= 0;
}

function isFull(open: ReadonlyMap<string, OpenFile>): boolean {
  for (const { writer } of open.values()) if (writer.size >= LARGEST_FILE) return true;
  return false;
}

function outOfOrder({ row }: Cell): InvalidArgumentError {
  return new InvalidArgumentError(
    `The cell of row ${toStringBinary(row)} comes after a greater row. Sort the cells by row, family, qualifier and newest ` +
      'timestamp first; nothing was loaded.',
  );
}

function restless(table: string, files: number): RowanError {
  return new RowanError(
    'ERR_BUSY',
    `The regions of table "${table}" were divided ${MAX_DIVISIONS} times while ${files} files of a bulk load were divided ` +
      'accordingly; those were not loaded. Load it again: what was loaded already is loaded once more, to no effect.',
    { retryable: true, details: { table } },
  );
}

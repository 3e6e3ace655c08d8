/**
 * The folder of a log archive (docs/formats.md): copies of the segments of a store's log under their own names, copies of the files
 * that did not pass through the log, and INDEX, a file of lines: which copies are complete, and which tables the store had at which write.
 */

import { open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from '../../bytes/index.js';
import { CorruptionError, InvalidArgumentError, RowanError, UnsupportedError } from '../../errors.js';
import { sizeOf, syncFolder, writeAll } from '../fs/copies.js';
import { sortedFileName, walFileName } from '../fs/index.js';
import { decodeEdits, type Edit, encodeEdits } from '../manifest/index.js';
import type { ClosedSegment } from '../wal/index.js';

const INDEX = 'INDEX';
const FORMAT = 1;

/** The first line: the identity of the archive, and the last write that is not in it. */
interface Beginning {
  readonly type: 'begin';
  readonly format: number;
  readonly id: string;
  readonly seq: number;
}

/** A segment whose copy is complete. */
type ArchivedSegment = { readonly type: 'segment' } & ClosedSegment;

/** A change of tables or namespaces, or files that did not pass through the log. */
export interface ArchivedEdits {
  readonly type: 'edits';
  /** The last write before it. */
  readonly seq: number;
  /** The store's time, ms. */
  readonly time: number;
  /** The edits list all tables and namespaces: others were removed. */
  readonly whole: boolean;
  /**
   * A changed table is added again as a whole. Regions are there only for new tables, and where a file names them. A removed file was of a
   * bulk load that failed after its line.
   */
  readonly edits: readonly Edit[];
}

type IndexLine = Beginning | ArchivedSegment | ArchivedEdits;

/** The content of an INDEX. */
export interface ArchiveIndex {
  readonly begin: Beginning;
  /** In their order. */
  readonly segments: readonly ArchivedSegment[];
  readonly changes: readonly ArchivedEdits[];
  /** Bytes of the file up to the last whole line: a crash may have left part of another. */
  readonly length: number;
}

/** The bytes of a line: crc-32 of the JSON in eight hex digits, a space, the JSON, a line feed. */
export function encodeLine(line: IndexLine): Buffer {
  const json =
    line.type === 'edits'
      ? { ...line, ...(JSON.parse(Buffer.from(encodeEdits(line.edits)).toString()) as object) }
      : line;
  const text = Buffer.from(JSON.stringify(json));
  return Buffer.concat([Buffer.from(`${crcOf(text)} `), text, Buffer.from('\n')]);
}

/**
 * Reads the INDEX of an archive; undefined where there is none.
 * @throws CorruptionError when a line is not as it was written; UnsupportedError for another format.
 */
export async function readIndex(folder: string): Promise<ArchiveIndex | undefined> {
  const path = join(folder, INDEX);
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (bytes === undefined) return undefined;
  const lines: IndexLine[] = [];
  let length = 0;
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf(10, at);
    // Lines are written whole, one after the other: only the last may be cut off.
    if (end < 0) break;
    const isLast = end + 1 === bytes.length;
    // No line has zeros: they stand for a block of a line that a loss of power has cut short.
    if (isLast && bytes.subarray(at, end).includes(0)) break;
    lines.push(lineOf(bytes.subarray(at, end), path, at));
    at = end + 1;
    length = at;
  }
  const [begin] = lines;
  if (begin === undefined) return undefined;
  if (begin.type !== 'begin') throw damagedIndex(path, 0);
  if (begin.format !== FORMAT) {
    throw new UnsupportedError(
      `The log archive "${folder}" has format ${begin.format}; this release of Rowan reads format ${FORMAT}. Use the release that wrote it.`,
    );
  }
  return {
    begin,
    segments: lines.filter((line) => line.type === 'segment'),
    changes: withoutVoid(lines.filter((line) => line.type === 'edits')),
    length,
  };
}

/** Leaves out the files of loads that a later line takes back: they failed, and their numbers may have been given again. */
function withoutVoid(changes: readonly ArchivedEdits[]): ArchivedEdits[] {
  const taken = new Set<number>();
  return changes
    .toReversed()
    .map((change) => {
      const edits = change.edits.filter((edit) => edit.type !== 'fileAdd' || !taken.delete(edit.file.number));
      for (const edit of edits) if (edit.type === 'fileRemove') taken.add(edit.number);
      return { ...change, edits };
    })
    .toReversed();
}

function lineOf(bytes: Buffer, path: string, at: number): IndexLine {
  const json = bytes.subarray(9);
  if (bytes.length < 10 || bytes.toString('latin1', 0, 9) !== `${crcOf(json)} `) throw damagedIndex(path, at);
  const line = JSON.parse(json.toString()) as IndexLine;
  return line.type === 'edits' ? { ...line, edits: decodeEdits(json, path, at) } : line;
}

function damagedIndex(path: string, offset: number): CorruptionError {
  return new CorruptionError(
    `"${path}" is damaged at byte ${offset}: a line is not as it was written. Restore it from a copy, or a backup without the log.`,
    { details: { file: path, offset } },
  );
}

function crcOf(bytes: Uint8Array): string {
  return crc32(bytes, 0, bytes.length).toString(16).padStart(8, '0');
}

/** The first line of a new archive. */
export function beginning(id: string, seq: number): Beginning {
  return { type: 'begin', format: FORMAT, id, seq };
}

/** Appends to the INDEX of an archive. What an append has written that then failed is cut off before the next one. */
export class IndexWriter {
  constructor(
    private readonly folder: string,
    private length: number,
  ) {}

  async append(line: IndexLine): Promise<void> {
    const bytes = encodeLine(line);
    await this.check();
    const file = await open(join(this.folder, INDEX), this.length === 0 ? 'w' : 'r+');
    try {
      await file.truncate(this.length);
      await writeAll(file, bytes, bytes.length, this.length);
      await file.sync();
    } finally {
      await file.close();
    }
    if (this.length === 0) await syncFolder(this.folder);
    this.length += bytes.length;
  }

  /** @throws RowanError `ERR_IO` when the folder no longer has what was written: it was removed, or its disk is not mounted. */
  async check(): Promise<void> {
    const path = join(this.folder, INDEX);
    const size = this.length === 0 ? 0 : ((await sizeOf(path)) ?? 0);
    if (size >= this.length) return;
    throw new RowanError(
      'ERR_IO',
      `The log archive "${this.folder}" is not what it was: its ${INDEX} has ${size} bytes, and had ${this.length}. Mount its disk or put it ` +
        'back; the store keeps its log meanwhile. If it is lost, open the store with logArchive: a new folder, and make a backup.',
      { retryable: true, details: { file: path } },
    );
  }
}

/** @throws InvalidArgumentError when the folder holds no log archive. */
export async function requireIndex(folder: string): Promise<ArchiveIndex> {
  const index = await readIndex(folder);
  if (index !== undefined) return index;
  throw new InvalidArgumentError(
    `"${folder}" holds no log archive: it has no ${INDEX}. Give the folder of the option logArchive.`,
  );
}

/** Removes the copies of what came up to a write. The INDEX goes on naming them, so that no process need lock the archive. */
export async function pruneArchive(folder: string, seq: number): Promise<void> {
  const { segments, changes } = await requireIndex(folder);
  for (const { number, lastSeq } of segments)
    if (lastSeq <= seq) await rm(join(folder, walFileName(number)), { force: true });
  // A file that several changes name goes with the last of them.
  const last = new Map<number, number>();
  for (const { seq: at, edits } of changes) {
    // A new table has no number of its own. It may have come after a backup up to the same write, which lacks it then.
    const before = edits.some((edit) => edit.type === 'tableAdd') ? at + 1 : at;
    for (const edit of edits) if (edit.type === 'fileAdd') last.set(edit.file.number, before);
  }
  for (const [number, before] of last)
    if (before <= seq) await rm(join(folder, sortedFileName(number)), { force: true });
}

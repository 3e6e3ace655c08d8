import { hash } from 'node:crypto';
import { join, resolve } from 'node:path';
import { compareBytes, fromHex, keyAfter, toHex } from '../bytes/index.js';
import type { JsonValue } from '../codec/index.js';
import { CorruptionError, InvalidArgumentError } from '../errors.js';
import { fileSize } from '../job/files/file-position.js';
import { partName, removeOtherParts } from '../job/files/part-file.js';
import { ndjsonFiles } from '../job/pipeline/file-sink.js';
import type { SinkWriter } from '../job/pipeline/sink.js';
import { checkSelection, runPass, scanOf, type ToolOptions } from '../job/table-pass.js';
import type { JobOutcome, RowRange, SplitContext, SplitWork } from '../job/types.js';
import { describe } from '../table/checks.js';
import { canonicalTableName, type Engine, type Result } from '../table/index.js';
import { FrameBuilder } from './cell-frames.js';
import {
  type FolderKind,
  type FolderManifest,
  isFileOf,
  ownFolder,
  removeManifest,
  writeManifest,
} from './manifest.js';

/** How many hex digits of the SHA-256 are kept. */
const HEX_DIGITS = 32;
const HASH_PATTERN = /^[0-9a-f]{32}$/;

/** A larger chunk is hashed in parts, which end at the same rows in every run. */
const PART_BYTES = 1 << 20;

/** Hashes of chunks of rows: equal hashes mean equal cells. */
export class ChunkHasher {
  private readonly cells = new FrameBuilder();
  private digest = '';

  /** Bytes of the chunk's rows. */
  bytes = 0;
  rows = 0;

  add(row: Result): void {
    const before = this.cells.length;
    this.cells.add(row);
    this.bytes += this.cells.length - before;
    this.rows++;
    if (this.cells.length >= PART_BYTES) this.fold();
  }

  /** Returns the hash of the rows added, in hex, and starts the next chunk. */
  take(): string {
    this.fold();
    const { digest } = this;
    this.digest = '';
    this.bytes = 0;
    this.rows = 0;
    return digest.slice(0, HEX_DIGITS);
  }

  private fold(): void {
    this.digest = hash('sha256', Buffer.concat([Buffer.from(this.digest), this.cells.payload()]));
    this.cells.clear();
  }
}

// — Writes the hashes of a table's rows, chunk by chunk, into a folder (HBase HashTable).

/** The kind of a folder with hashes. */
export const HASHES_FOLDER: FolderKind = {
  file: 'hashes.json',
  format: 'rowan-hashes',
  version: 1,
  names: /^part-\d+\.ndjson$/,
  tool: 'hash',
};

/** The content of its manifest. */
export interface HashesManifest extends FolderManifest {
  readonly table: string;
  readonly selection: {
    readonly families: readonly string[] | null;
    readonly from: number | null;
    readonly to: number | null;
    readonly versions: number | null;
    readonly raw: boolean;
  };
  /** When it ended, in ms since 1970; unique. */
  readonly ended: number;
}

export interface HashTableOptions extends ToolOptions {
  /** The least number of cell bytes in a chunk, except the last one of a split. Default 64 KiB. */
  readonly chunkBytes?: number;
}

/** Rows [start, stop) and their hash. Chunks are contiguous. */
export interface HashedChunk extends RowRange {
  readonly rows: number;
  readonly hash: string;
}

/** The data that a split stores with its checkpoint: the length of its file, and the start of the next chunk. */
interface FileState {
  readonly [name: string]: JsonValue;
  readonly file: number;
  readonly start: string;
}

const DEFAULT_CHUNK_BYTES = 64 << 10;

/**
 * Writes the hash of each chunk of a table, so that another table can be compared without reading this one again.
 * Counters: `rows`, `chunks`.
 * @throws InvalidArgumentError when the folder has files that are not of hashes; RowanError `ERR_TABLE_NOT_FOUND`, `ERR_IO`.
 */
export async function hashTable(
  engine: Engine,
  table: string,
  folder: string,
  options: HashTableOptions = {},
): Promise<JobOutcome> {
  const { chunkBytes = DEFAULT_CHUNK_BYTES, families, timeRange, versions, raw = false } = options;
  if (typeof folder !== 'string' || folder === '')
    throw new InvalidArgumentError('hash needs a folder to write to.');
  if (!Number.isSafeInteger(chunkBytes) || chunkBytes < 1) {
    throw new InvalidArgumentError(
      `chunkBytes must be a whole number of at least 1, not ${describe(chunkBytes)}.`,
    );
  }
  await checkSelection(engine, table, options);
  await ownFolder(folder, 'hash', (name) => isFileOf(HASHES_FOLDER, name));
  const sink = ndjsonFiles(folder);
  return runPass(engine, options, {
    tool: 'hash',
    table,
    does: `to ${resolve(folder)} by ${chunkBytes}`,
    readsOnly: true,
    prepare: () => removeManifest(folder, HASHES_FOLDER),
    scan: () => scanOf(options, false),
    async open(context) {
      const state = context.resumed as FileState | undefined;
      const writer = await sink.open({ ...context, resumed: state?.file });
      return new ChunkFile(context, writer, chunkBytes, state);
    },
    async finish(_run, workOf) {
      const splits = [...(await workOf(0)).keys()];
      await removeOtherParts(folder, 'ndjson', splits);
      const names = splits.map((split) => partName(split, 'ndjson'));
      const files = names.map(async (name) => ({ name, bytes: await fileSize(join(folder, name)) }));
      const manifest: HashesManifest = {
        format: HASHES_FOLDER.format,
        version: HASHES_FOLDER.version,
        table: canonicalTableName(table),
        selection: {
          families: families ?? null,
          from: timeRange?.from ?? null,
          to: timeRange?.to ?? null,
          versions: versions ?? null,
          raw,
        },
        ended: Date.now(),
        files: await Promise.all(files),
      };
      await writeManifest(folder, HASHES_FOLDER, manifest);
    },
  });
}

/** The chunks of one split. A chunk ends at each checkpoint, so that each row is in exactly one chunk. */
class ChunkFile implements SplitWork {
  private readonly hasher = new ChunkHasher();
  private lines: JsonValue[] = [];
  private start: Uint8Array;
  private last: Uint8Array | undefined;

  constructor(
    private readonly context: SplitContext,
    private readonly writer: SinkWriter<unknown>,
    private readonly chunkBytes: number,
    state: FileState | undefined,
  ) {
    this.start = state === undefined ? context.range.start : fromHex(state.start);
  }

  async rows(rows: readonly Result[]): Promise<void> {
    for (const row of rows) {
      this.hasher.add(row);
      this.last = row.row;
      if (this.hasher.bytes >= this.chunkBytes) this.endChunk(keyAfter(row.row));
    }
    this.context.count('rows', rows.length);
    await this.writeLines();
  }

  async finish(): Promise<void> {
    const { stop } = this.context.range;
    if (stop.length === 0 || compareBytes(this.start, stop) < 0) this.endChunk(stop);
    await this.writeLines();
  }

  async commit(): Promise<JsonValue> {
    if (this.hasher.rows > 0) this.endChunk(keyAfter(this.last!));
    await this.writeLines();
    const file = (await this.writer.commit!()) as number;
    return { file, start: toHex(this.start) };
  }

  close(): void | Promise<void> {
    return this.writer.close?.();
  }

  private endChunk(stop: Uint8Array): void {
    const { rows } = this.hasher;
    this.lines.push({ start: toHex(this.start), stop: toHex(stop), rows, hash: this.hasher.take() });
    this.start = stop;
    this.context.count('chunks');
  }

  private async writeLines(): Promise<void> {
    const { lines } = this;
    this.lines = [];
    if (lines.length > 0) await this.writer.write(lines);
  }
}

/** Parses a chunk. @throws CorruptionError naming file and byte. */
export function chunkOf(line: unknown, path: string, offset: number): HashedChunk {
  const { start, stop, rows, hash } = (line ?? {}) as Readonly<Record<string, unknown>>;
  const isChunk =
    isHex(start) && isHex(stop) && Number.isSafeInteger(rows) && (rows as number) >= 0 && isHash(hash);
  if (isChunk) return { start: fromHex(start), stop: fromHex(stop), rows: rows as number, hash };
  throw new CorruptionError(
    `${path} is damaged at byte ${offset}: there is no valid chunk. Copy the file again, or hash the table again.`,
    { details: { file: path, offset } },
  );
}

function isHex(value: unknown): value is string {
  return typeof value === 'string' && /^(?:[0-9a-f]{2})*$/.test(value);
}

function isHash(value: unknown): value is string {
  return typeof value === 'string' && HASH_PATTERN.test(value);
}

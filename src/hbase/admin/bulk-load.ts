/** Bulk load of existing HFiles into the regions of a table (HBase's `SecureBulkLoad`). */

import { compareBytes, EMPTY_BYTES } from '../../bytes/index.js';
import { InvalidArgumentError, RowanError } from '../../errors.js';
import { describe } from '../../table/checks.js';
import { canonicalTableName } from '../../table/descriptor.js';
import type { Cluster } from '../client/cluster.js';
import { callRegion } from '../client/region-call.js';
import { type Region, specifierOf } from '../region/region.js';
import { asRowanError, UnaryCall } from '../rpc/call.js';
import {
  BulkLoadHFileRequest,
  BulkLoadHFileResponse,
  CleanupBulkLoadRequest,
  type FileSystemTokenMessage,
  PrepareBulkLoadRequest,
  PrepareBulkLoadResponse,
} from '../wire/messages-operations.js';
import { Empty, type MessageCodec, type TypeOf } from '../wire/schema.js';
import { tableNameMessage } from './table-codec.js';

/** One HFile on the cluster's file system. */
export interface BulkLoadFile {
  readonly family: string;
  /** Its URI for the region servers: `hdfs://nn/load/d/part-0`, `file:///load/d/part-0`. */
  readonly path: string;
  /** Its first and last row. */
  readonly firstRow: Uint8Array;
  readonly lastRow: Uint8Array;
}

export interface BulkLoad {
  readonly table: string;
  readonly files: readonly BulkLoadFile[];
  /** Whether to copy the files; default false: on the cluster's own HDFS they are moved. */
  readonly copy?: boolean;
  /** Whether the loaded cells are replicated to peers; default true. */
  readonly replicate?: boolean;
  /** The HDFS delegation token with which servers open the files on a file system with Kerberos. */
  readonly fileSystemToken?: FileSystemToken;
  /** Limit for each region, milliseconds; default: `adminTimeout`. */
  readonly timeout?: number;
  readonly signal?: AbortSignal;
}

/** A delegation token of a file system, as Hadoop writes it. */
export type FileSystemToken = Readonly<Required<TypeOf<typeof FileSystemTokenMessage>>>;

export interface BulkLoadOutcome {
  readonly loaded: readonly BulkLoadFile[];
  /** Files that span several regions and were not loaded. Divide them at the present region boundaries. */
  readonly straddling: readonly BulkLoadFile[];
}

/**
 * Loads files region by region. The files of one region are loaded atomically.
 * @throws RowanError the server's error, with the number of files loaded before in `details.loaded`, and `details.outcome`
 * `'unknown'` when the answer for a region was lost.
 */
export async function bulkLoad(cluster: Cluster, load: BulkLoad): Promise<BulkLoadOutcome> {
  const loader = new Loader(cluster, load);
  const pending = checkFiles(load.files).sort((a, b) => compareBytes(a.firstRow, b.firstRow));
  const outcome: { loaded: BulkLoadFile[]; straddling: BulkLoadFile[] } = { loaded: [], straddling: [] };
  if (pending.length === 0) return outcome;
  const bulkToken = await loader.prepare();
  try {
    let refusedBy: string | undefined;
    while (pending.length > 0) {
      const region = await loader.locate(pending[0]!.firstRow);
      const begun = pending.filter(({ firstRow }) => isWithin(firstRow, region));
      const whole = begun.filter(({ lastRow }) => isWithin(lastRow, region));
      if (whole.length > 0 && !(await loader.load(whole, bulkToken))) {
        // The region was split after its lookup, or the files are invalid.
        if (refusedBy === region.toString()) throw refused(region, whole);
        refusedBy = region.toString();
        cluster.locator.cache.remove(region);
        continue;
      }
      pending.splice(0, begun.length);
      outcome.loaded.push(...whole);
      outcome.straddling.push(...begun.filter((file) => !whole.includes(file)));
    }
    return outcome;
  } catch (error) {
    throw withLoaded(asRowanError(error), outcome.loaded.length);
  } finally {
    // Leftovers in the staging folder are harmless, and loaded files stay loaded.
    await loader.cleanup(bulkToken).catch(() => undefined);
  }
}

/** The requests of one bulk load. */
class Loader {
  private readonly table: string;
  private readonly timeout: number;

  constructor(
    private readonly cluster: Cluster,
    private readonly options: BulkLoad,
  ) {
    this.table = canonicalTableName(options.table);
    this.timeout = options.timeout ?? cluster.settings.adminTimeout;
    if (!(this.timeout > 0)) {
      throw new InvalidArgumentError(`A timeout is a positive number of milliseconds, not ${this.timeout}.`);
    }
  }

  locate(row: Uint8Array): Promise<Region> {
    return this.cluster.locator.locate(this.table, row, false, this.timeout);
  }

  /** Creates the staging folder. @returns its name. */
  async prepare(): Promise<string> {
    const tableName = tableNameMessage(this.table);
    const { bulkToken } = await this.ask('PrepareBulkLoad', EMPTY_BYTES, true, (region) => [
      PrepareBulkLoadRequest,
      { tableName, region: specifierOf(region) },
      PrepareBulkLoadResponse,
    ]);
    return bulkToken;
  }

  /** @returns false when the region does not hold all rows of the files. Then it has loaded none of them. */
  async load(files: readonly BulkLoadFile[], bulkToken: string): Promise<boolean> {
    const { copy: copyFile = false, replicate = true, fileSystemToken: fsToken } = this.options;
    const familyPath = files.map(({ family, path }) => ({ family: Buffer.from(family, 'utf8'), path }));
    // Loaded cells win over existing ones with the same timestamp.
    const request = { familyPath, assignSeqNum: true, fsToken, bulkToken, copyFile, replicate };
    // A repetition would not find files that were moved.
    const { loaded } = await this.ask('BulkLoadHFile', files[0]!.firstRow, copyFile, (holder) => [
      BulkLoadHFileRequest,
      { ...request, region: specifierOf(holder) },
      BulkLoadHFileResponse,
    ]);
    return loaded;
  }

  /** Removes the staging folder. */
  async cleanup(bulkToken: string): Promise<void> {
    await this.ask('CleanupBulkLoad', EMPTY_BYTES, true, (region) => [
      CleanupBulkLoadRequest,
      { bulkToken, region: specifierOf(region) },
      Empty,
    ]);
  }

  private async ask<Q, A>(
    method: string,
    row: Uint8Array,
    repeatable: boolean,
    messagesOf: (region: Region) => [MessageCodec<Q>, Q, MessageCodec<A>],
  ): Promise<A> {
    const { answer } = await callRegion(this.cluster, {
      table: this.table,
      row,
      what: `${method} of table ${this.table}`,
      timeout: this.timeout,
      signal: method === 'CleanupBulkLoad' ? undefined : this.options.signal,
      repeatable,
      advice: 'Check whether the files are still in their folder: those that are missing were loaded.',
      // A region opens each file and writes its log before it answers, which may take long.
      callOf: (region, timeLeft) => new UnaryCall(method, timeLeft, ...messagesOf(region)),
    });
    return answer;
  }
}

function checkFiles(files: readonly BulkLoadFile[]): BulkLoadFile[] {
  for (const { family, path, firstRow, lastRow } of files) {
    if (!/^[a-z][\w+.-]*:\/./i.test(path)) {
      throw new InvalidArgumentError(
        `The path of a file to load is a URI with a scheme (hdfs://…, file:///…), not ${describe(path)}.`,
      );
    }
    if (typeof family !== 'string' || family.length === 0) {
      throw new InvalidArgumentError(
        `The file ${path} is for a family of the table, not ${describe(family)}.`,
      );
    }
    if (compareBytes(firstRow, lastRow) > 0) {
      throw new InvalidArgumentError(`The first row of the file ${path} is behind its last.`);
    }
  }
  return [...files];
}

/** Whether a row at or after the region's start is in the region. */
function isWithin(row: Uint8Array, region: Region): boolean {
  return region.endKey.length === 0 || compareBytes(row, region.endKey) < 0;
}

/** The error of a region that refuses files. The server logs the reason and does not send it. */
function refused(region: Region, files: readonly BulkLoadFile[]): RowanError {
  return new RowanError(
    'ERR_REMOTE',
    `Region ${region} at ${region.server} refuses ${files.length} files, of which ${files[0]!.path} is the first: they ` +
      'have rows of other regions, are not there, are no HFiles, may not be opened and moved by the user who loads ' +
      'them, or are of a family that the table has not. The log of that server says which.',
    { details: { table: region.table, server: region.server } },
  );
}

function withLoaded(error: RowanError, loaded: number): RowanError {
  if (loaded === 0) return error;
  const { code, retryable, details } = error;
  const message = `${error.message} ${loaded} files were loaded before.`;
  return new RowanError(code, message, { cause: error, retryable, details: { ...details, loaded } });
}

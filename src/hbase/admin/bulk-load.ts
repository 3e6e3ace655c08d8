/** Files of cells (HFiles) that the regions of a table take in as they are, by HBase's secure bulk load. */

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
  /** With its scheme, as the region servers are to open it: `hdfs://nn/load/d/part-0`, `file:///load/d/part-0`. */
  readonly path: string;
  /** The rows that it begins and ends with. */
  readonly firstRow: Uint8Array;
  readonly lastRow: Uint8Array;
}

export interface BulkLoad {
  readonly table: string;
  readonly files: readonly BulkLoadFile[];
  /** Copy the files; default false: on the cluster's own HDFS they are moved, and gone from where they were. */
  readonly copy?: boolean;
  /** Send what is loaded to the peers of replication; default true. */
  readonly replicate?: boolean;
  /** What the servers open the files with on a file system that asks for Kerberos (an HDFS delegation token). */
  readonly fileSystemToken?: FileSystemToken;
  /** For each region, milliseconds; default: `adminTimeout`. */
  readonly timeout?: number;
  readonly signal?: AbortSignal;
}

/** A delegation token of a file system, as Hadoop writes it. */
export type FileSystemToken = Readonly<Required<TypeOf<typeof FileSystemTokenMessage>>>;

export interface BulkLoadOutcome {
  readonly loaded: readonly BulkLoadFile[];
  /** Files with rows of more than one region: nothing of them was loaded. Divide them where the regions end now. */
  readonly straddling: readonly BulkLoadFile[];
}

/**
 * Loads files region by region: those of one region together, all or none.
 * @throws RowanError what a server throws; `details.loaded` counts the files that were loaded before, and
 * `details.outcome` is `'unknown'` when the answer for those of a region was lost.
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
        // It was divided after it was looked up, or something is wrong with the files.
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
    // What stays in the staging folder harms nobody, and what was loaded stands.
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

  /** Has a staging folder made; answers its name. */
  async prepare(): Promise<string> {
    const tableName = tableNameMessage(this.table);
    const { bulkToken } = await this.ask('PrepareBulkLoad', EMPTY_BYTES, true, (region) => [
      PrepareBulkLoadRequest,
      { tableName, region: specifierOf(region) },
      PrepareBulkLoadResponse,
    ]);
    return bulkToken;
  }

  /** False: the region does not hold all the rows of the files, and has taken none of them. */
  async load(files: readonly BulkLoadFile[], bulkToken: string): Promise<boolean> {
    const { copy: copyFile = false, replicate = true, fileSystemToken: fsToken } = this.options;
    const familyPath = files.map(({ family, path }) => ({ family: Buffer.from(family, 'utf8'), path }));
    // Cells that are loaded are newer than those of the same time that are there already.
    const request = { familyPath, assignSeqNum: true, fsToken, bulkToken, copyFile, replicate };
    // A file that was moved is not found a second time.
    const { loaded } = await this.ask('BulkLoadHFile', files[0]!.firstRow, copyFile, (holder) => [
      BulkLoadHFileRequest,
      { ...request, region: specifierOf(holder) },
      BulkLoadHFileResponse,
    ]);
    return loaded;
  }

  /** Has the staging folder removed. */
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
      advice: 'See whether the files are still where they were: those that are not were loaded.',
      // A region takes files in when it has opened each of them and written its log: that may take long.
      callOf: (region, timeLeft) => new UnaryCall(method, timeLeft, ...messagesOf(region)),
    });
    return answer;
  }
}

function checkFiles(files: readonly BulkLoadFile[]): BulkLoadFile[] {
  for (const { family, path, firstRow, lastRow } of files) {
    if (!/^[a-z][\w+.-]*:\/./i.test(path)) {
      throw new InvalidArgumentError(
        `A file to load is named with its scheme (hdfs://…, file:///…), not as ${describe(path)}.`,
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

/** Whether a row that does not lie before the region lies in it. */
function isWithin(row: Uint8Array, region: Region): boolean {
  return region.endKey.length === 0 || compareBytes(row, region.endKey) < 0;
}

/** Why, a server writes into its log only. */
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

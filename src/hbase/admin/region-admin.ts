import { compareBytes, equalBytes, toStringBinary } from '../../bytes/index.js';
import { InvalidArgumentError, RowanError, TimeoutError } from '../../errors.js';
import type { RegionInfo } from '../../table/admin.js';
import { canonicalTableName } from '../../table/descriptor.js';
import { Scan } from '../../table/get-and-scan.js';
import type { Cluster } from '../client/cluster.js';
import { sleep } from '../client/retry.js';
import { HBaseScanner } from '../client/scanner.js';
import { tableDisabled } from '../region/locator.js';
import {
  INFO,
  META_TABLE,
  type MetaRow,
  type Region,
  readMetaRow,
  shownName,
  specifierOf,
} from '../region/region.js';
import type { RegionLoad } from '../wire/messages-admin.js';
import type { TypeOf } from '../wire/schema.js';
import { type MasterClient, master, regionServer } from './master-client.js';
import { tableNameMessage } from './table-codec.js';

const MEBIBYTE = 1 << 20;
const NO_COMPACTION = 0;
const POLL = 50;

/** Operations on single regions: locations, flush, compaction, split. */
export class RegionAdmin {
  constructor(
    private readonly cluster: Cluster,
    private readonly masters: MasterClient,
  ) {}

  async tableExists(name: string): Promise<boolean> {
    return (await this.cluster.locator.existing([canonicalTableName(name)])).length > 0;
  }

  /** The names of all tables but HBase's own, from meta, which every user may read. */
  async userTables(): Promise<string[]> {
    const names: string[] = [];
    const scan = new Scan().addColumn('table', 'state');
    for await (const { row } of new HBaseScanner(this.cluster, META_TABLE, scan)) {
      const name = Buffer.from(row).toString('utf8');
      if (!name.startsWith('hbase:')) names.push(name);
    }
    return names;
  }

  /** The table's rows in meta, in key order, without split parents. For meta itself, which has none, an equivalent row. */
  async metaRows(table: string): Promise<MetaRow[]> {
    if (table === META_TABLE) return [rowOfMeta(await this.cluster.locator.locateMeta())];
    const scan = new Scan()
      .withStartRow(Buffer.from(`${table},,`, 'utf8'))
      .withStopRow(Buffer.from(`${table} ,,`, 'utf8'))
      .addFamily(INFO);
    const scanner = new HBaseScanner(this.cluster, META_TABLE, scan);
    const rows: MetaRow[] = [];
    for await (const result of scanner) {
      const row = readMetaRow(result);
      if (row !== undefined && row.table === table && !row.isSplitParent) rows.push(row);
    }
    return rows;
  }

  async regions(table: string): Promise<RegionInfo[]> {
    const rows = await this.metaRows(table);
    const loads = await this.loads(table, rows);
    return rows.map((row) => {
      const name = shownName(row);
      const load = loads.get(name);
      const isOpen = row.region !== undefined && row.state !== 'CLOSED' && row.state !== 'OFFLINE';
      return {
        table,
        startKey: row.startKey,
        endKey: row.endKey,
        name,
        server: isOpen ? row.region!.server : '',
        readRequests: load?.readRequests ?? 0,
        writeRequests: load?.writeRequests ?? 0,
        storeFiles: load?.storeFiles ?? 0,
        storeFileSize: (load?.storeFileSizeMB ?? 0) * MEBIBYTE,
        memstoreSize: (load?.memstoreSizeMB ?? 0) * MEBIBYTE,
      };
    });
  }

  async flush(table: string, family: string | undefined): Promise<void> {
    const deadline = this.masters.deadline();
    await this.onEachRegion('flush', table, deadline, (region) =>
      this.masters.callServer(
        region.address,
        regionServer.flushRegion,
        { region: specifierOf(region), family: bytesOf(family) },
        deadline,
      ),
    );
  }

  async compact(table: string, family: string | undefined, major: boolean): Promise<void> {
    const deadline = this.masters.deadline();
    await this.onEachRegion('compaction', table, deadline, async (region) => {
      const request = { region: specifierOf(region), major, family: bytesOf(family) };
      // A running compaction holds files, which another would leave out.
      await this.awaitCompaction(region, deadline);
      await this.masters.callServer(region.address, regionServer.compactRegion, request, deadline);
      await this.awaitCompaction(region, deadline);
    });
  }

  async split(table: string, splitKey: Uint8Array | undefined): Promise<void> {
    if (table === META_TABLE)
      throw new InvalidArgumentError(`Table ${META_TABLE} has one region and cannot be split.`);
    const deadline = this.masters.deadline();
    const rows = await this.metaRows(table);
    const wanted = splitKey === undefined ? rows : rows.filter((row) => holds(row, splitKey));
    if (splitKey !== undefined && wanted.some((row) => equalBytes(row.startKey, splitKey))) {
      throw new InvalidArgumentError(
        `Split key "${toStringBinary(splitKey)}" is already the start of a region of table "${table}". Choose another row.`,
        { details: { table } },
      );
    }
    await Promise.all(wanted.map((row) => this.splitRegion(table, row, splitKey, deadline)));
    this.cluster.locator.cache.removeTable(table);
  }

  private async splitRegion(
    table: string,
    row: MetaRow,
    splitKey: Uint8Array | undefined,
    deadline: number,
  ): Promise<void> {
    const best = await this.awaitSplittable(row, deadline);
    const splitRow = splitKey ?? best;
    // When all regions are split, one without a middle row (empty, or with one row) is left out.
    if (splitRow === undefined || splitRow.length === 0) return;
    const request = { regionInfo: row.info, splitRow, ...this.nonces() };
    const { procId } = await this.masters.call(master.splitRegion, request);
    await this.masters.awaitProcedure(procId, `The split of a region of table ${table}`, deadline);
  }

  /**
   * The middle row of a region. A region fresh from a split shares its parent's files. It cannot be split until a compaction has
   * written its own files and the server has released the shared ones, which it does every two minutes
   * (`hbase.hfile.compaction.discharger.interval`). That is awaited.
   */
  private async awaitSplittable(row: MetaRow, deadline: number): Promise<Uint8Array | undefined> {
    const { region } = row;
    if (region === undefined) throw notOnline(row);
    const ask = { region: specifierOf(region), bestSplitRow: true, compactionState: true };
    for (let compacted = false; ; ) {
      const info = await this.masters.callServer(region.address, regionServer.getRegionInfo, ask, deadline);
      if (info.splittable !== false) return info.bestSplitRow;
      if (performance.now() + POLL > deadline) {
        throw new TimeoutError(
          `Region ${region} still shares files with its parent. Try the split again later.`,
        );
      }
      if (!compacted && info.compactionState === NO_COMPACTION) {
        const request = { region: specifierOf(region), major: false };
        await this.masters.callServer(region.address, regionServer.compactRegion, request, deadline);
        compacted = true;
      }
      await sleep(POLL);
    }
  }

  /** Nonces by which the master recognizes a retry. */
  nonces(): { nonceGroup: bigint; nonce: bigint } {
    const { dispatcher } = this.cluster;
    return { nonceGroup: dispatcher.nextNonce(), nonce: dispatcher.nextNonce() };
  }

  /** Runs `work`, which errors call `what`, on every region of an enabled table. A region that moves meanwhile is looked up again. */
  private async onEachRegion(
    what: string,
    table: string,
    deadline: number,
    work: (region: Region) => Promise<unknown>,
  ): Promise<void> {
    const done = new Set<string>();
    await this.masters.repeat(`The ${what} of table ${table}`, deadline, async () => {
      const rows = await this.metaRows(table);
      if (rows.length === 0) throw tableMissing(table);
      if (await this.cluster.locator.isDisabled(table)) throw tableDisabled(table);
      await Promise.all(
        rows.map(async (row) => {
          const { region } = row;
          if (region === undefined) throw notOnline(row);
          const key = region.toString();
          if (done.has(key)) return;
          await work(region);
          done.add(key);
        }),
      );
    });
  }

  private async awaitCompaction(region: Region, deadline: number): Promise<void> {
    for (;;) {
      const request = { region: specifierOf(region), compactionState: true };
      const info = await this.masters.callServer(
        region.address,
        regionServer.getRegionInfo,
        request,
        deadline,
      );
      if ((info.compactionState ?? NO_COMPACTION) === NO_COMPACTION) return;
      if (performance.now() + POLL > deadline) {
        throw new TimeoutError(`The compaction of region ${region} still runs. Check again later.`);
      }
      await sleep(POLL);
    }
  }

  /** The load of each region by its name, from the servers that have them. Servers that do not answer are left out. */
  private async loads(
    table: string,
    rows: readonly MetaRow[],
  ): Promise<Map<string, TypeOf<typeof RegionLoad>>> {
    const servers = new Map(
      rows.flatMap(({ region }) => (region ? [[region.server, region.address] as const] : [])),
    );
    const deadline = performance.now() + this.cluster.settings.rpcTimeout;
    const loads = new Map<string, TypeOf<typeof RegionLoad>>();
    await Promise.all(
      [...servers.values()].map(async (address) => {
        const request = { tableName: tableNameMessage(table) };
        const answer = await this.masters
          .callServer(address, regionServer.getRegionLoad, request, deadline)
          .catch(() => undefined);
        for (const load of answer?.regionLoads ?? []) loads.set(toStringBinary(load.region.value), load);
      }),
    );
    return loads;
  }
}

/** Meta has one region, which is always open. */
function rowOfMeta(region: Region): MetaRow {
  const { table, startKey, endKey, regionId } = region;
  const info = {
    regionId,
    tableName: tableNameMessage(table),
    startKey,
    endKey,
    replicaId: region.replicaId,
  };
  return { info, table, startKey, endKey, isSplitParent: false, state: 'OPEN', region };
}

function bytesOf(family: string | undefined): Uint8Array | undefined {
  return family === undefined ? undefined : Buffer.from(family, 'utf8');
}

function holds(row: MetaRow, key: Uint8Array): boolean {
  if (compareBytes(row.startKey, key) > 0) return false;
  return row.endKey.length === 0 || compareBytes(key, row.endKey) < 0;
}

export function tableMissing(table: string): RowanError {
  return new RowanError(
    'ERR_TABLE_NOT_FOUND',
    `Table ${table} does not exist. Create it first, or check its name.`,
    {
      details: { table },
    },
  );
}

function notOnline(row: MetaRow): RowanError {
  const region = shownName(row);
  return new RowanError(
    'ERR_WRONG_REGION',
    `Region ${region} is on no server at the moment. Try again shortly.`,
    {
      retryable: true,
      details: { table: row.table, region },
    },
  );
}

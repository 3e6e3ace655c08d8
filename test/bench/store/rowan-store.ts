/** The embedded engine behind the bench's calls. */

import { type EmbeddedEngine, openEmbedded } from '../../../src/store/engine.js';
import {
  CheckAndMutate,
  Delete,
  Get,
  Increment,
  Put,
  Scan,
  type SyncTable,
  tableDescriptor,
} from '../../../src/table/index.js';
import { type BenchStore, type Change, type StoreSettings, WIDE_COLUMNS } from './bench-store.js';

const FAMILY = 'f';
const QUALIFIER = Buffer.from('v');
const COUNTER = Buffer.from('n');
const COLUMNS = Array.from({ length: WIDE_COLUMNS }, (_, i) => Buffer.from(`column${i}`));
const GiB = 2 ** 30;

export class RowanStore implements BenchStore {
  readonly name = 'rowan';

  private constructor(
    readonly engine: EmbeddedEngine,
    private readonly table: SyncTable,
    private readonly wideTable: SyncTable,
    private readonly counters: SyncTable,
  ) {}

  static async open(path: string, settings: StoreSettings): Promise<RowanStore> {
    const engine = await openEmbedded(path, {
      durability: settings.sync ? 'FSYNC_WAL' : 'ASYNC_WAL',
      blockCacheSize: settings.cacheBytes,
      automatic: settings.automatic,
      ...(settings.automatic ? {} : { memstoreFlushSize: GiB, memstoreLimit: 2 * GiB }),
    });
    const family = { compression: settings.compression, blockSize: settings.blockBytes };
    if (!(await engine.admin.tableExists('bench'))) {
      await engine.admin.createTable(tableDescriptor('bench', { [FAMILY]: family }));
      await engine.admin.createTable(tableDescriptor('wide', { [FAMILY]: family }));
      await engine.admin.createTable(tableDescriptor('counters', { [FAMILY]: {} }));
    }
    return new RowanStore(engine, engine.table('bench'), engine.table('wide'), engine.table('counters'));
  }

  async write(changes: readonly Change[]): Promise<void> {
    const puts: Put[] = [];
    const deletes: Delete[] = [];
    for (const { key, value } of changes) {
      if (value === undefined) deletes.push(new Delete(key));
      else puts.push(new Put(key).addColumn(FAMILY, QUALIFIER, value));
    }
    if (deletes.length === 0) await this.table.putAll(puts);
    else await this.table.batch([...puts, ...deletes], { atomic: true });
  }

  async writeWide(changes: readonly Change[]): Promise<void> {
    const puts = changes.map(({ key, value }) => {
      const put = new Put(key);
      for (const column of COLUMNS) put.addColumn(FAMILY, column, value!);
      return put;
    });
    await this.wideTable.putAll(puts);
  }

  async flush(): Promise<void> {
    await this.engine.admin.flush('bench');
    await this.engine.admin.flush('wide');
  }

  async compact(): Promise<void> {
    await this.engine.admin.majorCompact('bench');
    await this.engine.admin.majorCompact('wide');
  }

  close(): Promise<void> {
    return this.engine.close();
  }

  get(key: Buffer): Uint8Array | undefined {
    return this.table.getSync(new Get(key).addColumn(FAMILY, QUALIFIER)).cells[0]?.value;
  }

  async getAwaited(key: Buffer): Promise<Uint8Array | undefined> {
    return (await this.table.get(new Get(key).addColumn(FAMILY, QUALIFIER))).cells[0]?.value;
  }

  async many(keys: readonly Buffer[]): Promise<(Uint8Array | undefined)[]> {
    const results = await this.table.getAll(keys.map((key) => new Get(key).addColumn(FAMILY, QUALIFIER)));
    return results.map(({ cells }) => cells[0]?.value);
  }

  row(key: Buffer): Uint8Array | undefined {
    return this.table.getSync(new Get(key)).cells[0]?.value;
  }

  wide(key: Buffer): number {
    return this.wideTable.getSync(new Get(key)).cells.length;
  }

  range(start: Buffer, limit: number): number {
    const scan = new Scan().withStartRow(start);
    if (limit !== Number.POSITIVE_INFINITY) scan.setLimit(limit);
    const scanner = this.table.scanSync(scan);
    let count = 0;
    for (let result = scanner.next(); result; result = scanner.next()) {
      if (result.cells[0]!.value.length === 0) throw new Error('A scan gave an empty value.');
      count++;
    }
    return count;
  }

  put(key: Buffer, value: Buffer): Promise<void> {
    return this.table.put(new Put(key).addColumn(FAMILY, QUALIFIER, value));
  }

  async increment(key: Buffer): Promise<void> {
    await this.counters.increment(new Increment(key).addColumn(FAMILY, COUNTER, 1n));
  }

  async checkAndPut(key: Buffer, expected: Buffer, value: Buffer): Promise<boolean> {
    const put = new Put(key).addColumn(FAMILY, QUALIFIER, value);
    return (await this.table.checkAndMutate(CheckAndMutate.ifEquals(FAMILY, QUALIFIER, expected, put)))
      .success;
  }
}

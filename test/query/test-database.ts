/**
 * Databases for tests, and tables that count what is read of them. In `npm test` a database is an embedded store in a
 * folder of its own; in `npm run test:hbase` it is the shared HBase, in `npm run test:bigtable` an instance of its own on the shared
 * emulator, so that all engines pass the same suites.
 */

import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import { connectBigtableEngine } from '../../src/bigtable/engine.js';
import { schemaTableDescriptor } from '../../src/codec/index.js';
import { connectBigtable } from '../../src/database/bigtable.js';
import { connect, type Database, open, type TableHandling } from '../../src/database.js';
import { systemTables } from '../../src/features/tables.js';
import { connectHBase } from '../../src/hbase/engine.js';
import { dictionaryTableDescriptor } from '../../src/key/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { TableAccess } from '../../src/query/index.js';
import type { EntityClass } from '../../src/schema/types.js';
import type {
  RawRow,
  Result,
  ResultScanner,
  Scan,
  SyncResultScanner,
  SyncTable,
  Table,
} from '../../src/table/index.js';
import { sharedHBase } from '../hbase/connect.js';

/** The HBase of this worker, if this run is on one. */
const shared = inject('hbase') === undefined ? undefined : sharedHBase();

/** "host:port" of the shared emulator of Bigtable, if this run is on one. */
const emulator = inject('bigtable' as never) as string | undefined;

/** Whether the suites run on Bigtable. */
export const onBigtable: boolean = emulator !== undefined;

/** Takes the place of `test` and `describe` for what Bigtable has not. */
export const notOnBigtable = (): void => undefined;

/** Whether the suites run on a server, one step of which is a row: HBase or Bigtable. */
export const onServer: boolean = shared !== undefined || onBigtable;

export interface TestDatabase extends Database {
  /** Closes the database and removes what it stored. */
  dispose(): Promise<void>;
}

/** Opens a store of its own with these entities. `clock` is that of an embedded store; servers have their own. */
export async function openTestDatabase(
  entities: readonly EntityClass[],
  clock?: () => number,
): Promise<TestDatabase> {
  const store = openTestStore(clock);
  const database = await store.open(...entities);
  const dispose = async (): Promise<void> => {
    await database.close();
    await store.dispose();
  };
  return Object.assign(database, { dispose });
}

/** A store that programs open one after another. */
export interface TestStore {
  /** As a program does: nothing is known of earlier ones but what is stored. */
  open(...entities: EntityClass[]): Promise<Database>;
  /** The same, but a table that is missing is an error. */
  openChecked(...entities: EntityClass[]): Promise<Database>;
  /** Removes what was stored; every database must be closed. */
  dispose(): Promise<void>;
}

export function openTestStore(clock?: () => number): TestStore {
  if (emulator !== undefined) return new BigtableTestStore(emulator);
  return shared === undefined ? new EmbeddedTestStore(clock) : new HBaseTestStore(shared.masters);
}

/** An instance of its own, which nobody asks for again. */
class BigtableTestStore implements TestStore {
  private readonly place: {
    readonly projectId: string;
    readonly instanceId: string;
    readonly emulatorHost: string;
  };

  constructor(emulatorHost: string) {
    this.place = { projectId: 'rowan', instanceId: `i-${randomUUID()}`, emulatorHost };
  }

  open(...entities: EntityClass[]): Promise<Database> {
    return connectBigtable({ ...this.place, entities, tables: 'create' });
  }

  openChecked(...entities: EntityClass[]): Promise<Database> {
    return connectBigtable({ ...this.place, entities, tables: 'verify' });
  }

  async dispose(): Promise<void> {
    const engine = await connectBigtableEngine(this.place);
    for (const { name } of await engine.admin.listTables()) {
      await engine.admin.disableTable(name);
      await engine.admin.deleteTable(name);
    }
    await engine.close();
  }
}

class EmbeddedTestStore implements TestStore {
  private path: string | undefined;

  constructor(private readonly clock: (() => number) | undefined) {}

  async open(...entities: EntityClass[]): Promise<Database> {
    return this.openWith(entities, 'create');
  }

  async openChecked(...entities: EntityClass[]): Promise<Database> {
    return this.openWith(entities, 'verify');
  }

  async dispose(): Promise<void> {
    if (this.path !== undefined) await rm(this.path, { recursive: true, force: true });
  }

  private async openWith(entities: readonly EntityClass[], tables: TableHandling): Promise<Database> {
    this.path ??= await mkdtemp(join(tmpdir(), 'rowan-store-'));
    return open({
      path: this.path,
      entities,
      tables,
      background: 'inline',
      durability: 'ASYNC_WAL',
      ...(this.clock && { clock: this.clock }),
    });
  }
}

/** The tables of its entities on the shared HBase, and those that go with them. */
class HBaseTestStore implements TestStore {
  private readonly tables = new Set([dictionaryTableDescriptor().name, schemaTableDescriptor().name]);
  private emptied: Promise<void> | undefined;

  constructor(private readonly masters: readonly string[]) {}

  async open(...entities: EntityClass[]): Promise<Database> {
    this.emptied ??= this.dropAll([...this.tables, ...tablesOf(entities)]);
    await this.emptied;
    return this.openWith(entities, 'create');
  }

  async openChecked(...entities: EntityClass[]): Promise<Database> {
    return this.openWith(entities, 'verify');
  }

  async dispose(): Promise<void> {
    await this.dropAll([...this.tables]);
  }

  private openWith(entities: readonly EntityClass[], tables: TableHandling): Promise<Database> {
    for (const name of tablesOf(entities)) this.tables.add(name);
    return connect({ masters: this.masters, entities, tables });
  }

  /** Also what a run that was broken off has left. */
  private async dropAll(names: readonly string[]): Promise<void> {
    const engine = await connectHBase({ masters: this.masters });
    const drop = async (name: string): Promise<void> => {
      if (!(await engine.admin.tableExists(name))) return;
      if (await engine.admin.isTableEnabled(name)) await engine.admin.disableTable(name);
      await engine.admin.deleteTable(name);
    };
    try {
      await Promise.all([...new Set(names)].map(drop));
    } finally {
      await engine.close();
    }
  }
}

function tablesOf(entities: readonly EntityClass[]): string[] {
  const schema = compileSchema(entities);
  return [...schema.tables, ...systemTables(schema)].map(({ descriptor }) => descriptor.name);
}

/** What was read of a table. */
export interface ReadCounts {
  rows: number;
  scans: number;
  openScanners: number;
  /** The most rows that were fetched but not yet asked for, by one reader. */
  largestBatch: number;
}

/** The same table, its reads counted; `sync: false` hides that it can answer without leaving the thread. */
export function countedAccess(of: Table, sync: boolean): { access: TableAccess; counts: ReadCounts } {
  const table = of as SyncTable;
  const counts: ReadCounts = { rows: 0, scans: 0, openScanners: 0, largestBatch: 0 };
  const note = (rows: readonly Result[]): Result[] => {
    counts.rows += rows.length;
    counts.largestBatch = Math.max(counts.largestBatch, rows.length);
    return [...rows];
  };
  const opened = (): (() => void) => {
    counts.scans++;
    counts.openScanners++;
    let open = true;
    return () => {
      if (open) counts.openScanners--;
      open = false;
    };
  };
  const scan: Table['scan'] = (request: Scan, options) => {
    const inner = table.scan(request, options);
    const closed = opened();
    return {
      nextBatch: async (count: number) => note(await inner.nextBatch(count)),
      close: async () => {
        closed();
        await inner.close();
      },
    } as ResultScanner;
  };
  const scanSync: SyncTable['scanSync'] = (request) => {
    const inner = table.scanSync(request);
    const closed = opened();
    return {
      nextBatch: (count: number) => note(inner.nextBatch(count)),
      nextRaw: (into: RawRow) => {
        const found = inner.nextRaw!(into);
        if (found) counts.rows++;
        return found;
      },
      close: () => {
        closed();
        inner.close();
      },
    } as SyncResultScanner;
  };
  const counted = new Proxy(table, {
    get(target, name) {
      if (name === 'scan') return scan;
      if (name === 'scanSync') return scanSync;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return { access: { table: counted, sync: sync ? counted : undefined }, counts };
}

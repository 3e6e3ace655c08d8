/**
 * Databases for tests, and tables that count what is read of them. In `npm test` a database is an embedded store in a
 * folder of its own; in `npm run test:hbase` it is the shared HBase, so that both engines pass the same suites.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import { connect, type Database, open } from '../../src/database.js';
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

/** The addresses of the shared HBase, if this run is on one. */
const shared = inject('hbase' as never) as { readonly masters: readonly string[] } | undefined;

/** Whether the suites run on HBase. */
export const onHBase: boolean = shared !== undefined;

export interface TestDatabase extends Database {
  /** Closes the database and removes what it stored. */
  dispose(): Promise<void>;
}

export async function openTestDatabase(entities: readonly EntityClass[]): Promise<TestDatabase> {
  if (shared !== undefined) {
    const database = await connect({ masters: shared.masters, entities, tables: 'create' });
    const dispose = async (): Promise<void> => {
      for (const { descriptor } of database.schema.tables) {
        await database.admin.disableTable(descriptor.name);
        await database.admin.deleteTable(descriptor.name);
      }
      await database.close();
    };
    return Object.assign(database, { dispose });
  }
  const path = await mkdtemp(join(tmpdir(), 'rowan-query-'));
  const database = await open({ path, entities, background: 'inline', durability: 'ASYNC_WAL' });
  const dispose = async (): Promise<void> => {
    await database.close();
    await rm(path, { recursive: true, force: true });
  };
  return Object.assign(database, { dispose });
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

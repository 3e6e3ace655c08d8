/** Databases for tests: an embedded store in a folder of its own, and tables that count what is read of them. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Database, type OpenOptions, open } from '../../src/database.js';
import type { TableAccess } from '../../src/query/index.js';
import type { EmbeddedEngine } from '../../src/store/engine.js';
import type {
  RawRow,
  Result,
  ResultScanner,
  Scan,
  SyncResultScanner,
  SyncTable,
  Table,
} from '../../src/table/index.js';

export interface TestDatabase extends Database<EmbeddedEngine> {
  /** Closes the database and removes its folder. */
  dispose(): Promise<void>;
}

export async function openTestDatabase(options: Omit<OpenOptions, 'path'>): Promise<TestDatabase> {
  const path = await mkdtemp(join(tmpdir(), 'rowan-query-'));
  const database = await open({ background: 'inline', durability: 'ASYNC_WAL', ...options, path });
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
export function countedAccess(table: SyncTable, sync: boolean): { access: TableAccess; counts: ReadCounts } {
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

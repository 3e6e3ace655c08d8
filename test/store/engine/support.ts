/** A store in a folder or in memory, with a clock of the test's own. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EmbeddedEngine, openEmbedded } from '../../../src/store/engine.js';
import type { StoreEvent } from '../../../src/store/events.js';
import type { EmbeddedOptions } from '../../../src/store/options.js';
import {
  type FamilyOptions,
  Get,
  Put,
  Scan,
  type Table,
  type TableOptions,
  tableDescriptor,
} from '../../../src/table/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';

export interface TestStore {
  engine: EmbeddedEngine;
  readonly fileSystem: MemoryFileSystem;
  readonly events: StoreEvent[];
  now: number;
  /** Closes and opens it again. */
  reopen(): Promise<void>;
}

/** A store in memory, with everything done in this thread and nothing unasked. */
export async function memoryStore(options: EmbeddedOptions = {}): Promise<TestStore> {
  const fileSystem = new MemoryFileSystem();
  const events: StoreEvent[] = [];
  const store = { fileSystem, events, now: 1_700_000_000_000 } as TestStore;
  const open = (): Promise<EmbeddedEngine> =>
    openEmbedded('/db', {
      fileSystem,
      clock: () => store.now,
      automatic: false,
      onEvent: (event) => events.push(event),
      ...options,
    });
  store.engine = await open();
  store.reopen = async () => {
    await store.engine.close();
    store.engine = await open();
  };
  return store;
}

export async function createTable(
  engine: EmbeddedEngine,
  families: Record<string, FamilyOptions> = { f: {} },
  options: TableOptions = {},
  splitKeys: Uint8Array[] = [],
): Promise<Table> {
  await engine.admin.createTable(tableDescriptor('t', families, options), splitKeys);
  return engine.table('t');
}

export function put(row: string, value: string, family = 'f', qualifier = 'q', timestamp?: number): Put {
  return new Put(row).addColumn(family, qualifier, value, timestamp);
}

export async function readValue(
  table: Table,
  row: string,
  family = 'f',
  qualifier = 'q',
): Promise<string | undefined> {
  const value = (await table.get(new Get(row).addColumn(family, qualifier))).getValue(family, qualifier);
  return value && Buffer.from(value).toString();
}

/** "row family:qualifier=value" of every cell of a scan. */
export async function contents(table: Table, scan: Scan = new Scan()): Promise<string[]> {
  const out: string[] = [];
  for await (const result of table.scan(scan)) {
    for (const cell of result.cells) {
      const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');
      out.push(`${text(cell.row)} ${cell.family}:${text(cell.qualifier)}=${text(cell.value)}`);
    }
  }
  return out;
}

/** Runs `body` with a new folder on the real disk, which is removed after. */
export async function withFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'rowan-'));
  try {
    await body(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Counts the turns of the event loop from now on until the function is called that it returns. */
export function turnsFromNow(): () => number {
  let turns = 0;
  let ended = false;
  const count = (): void => {
    turns++;
    if (!ended) setImmediate(count);
  };
  setImmediate(count);
  return () => {
    ended = true;
    return turns;
  };
}

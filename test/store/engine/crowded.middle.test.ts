/**
 * Little memory and several tables at once: increments, transactions, steps, bulk loads, snapshots, splits, and tables that are emptied,
 * changed and dropped, while flushes fail now and then. Nobody waits for ever, and what was acknowledged is there.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { RowanError } from '../../../src/errors.js';
import {
  Cell,
  CellType,
  Get,
  Increment,
  Put,
  Scan,
  type SyncTable,
  tableDescriptor,
} from '../../../src/table/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { record } from '../../proof/evidence.js';
import { fromMiddle, mayGoOn } from '../../proof/scale.js';
import { Random } from '../../query/model/random.js';
import { FaultFileSystem } from '../fs/fault-fs.js';
import { memoryStore } from './support.js';

const PROGRAMS = fromMiddle(20, 3000);
const FIRST = Number(process.env['ROWAN_SEED'] ?? 1);
const CLIENTS = 6;
const OPERATIONS = 30;
/** Milliseconds after which somebody is taken to wait for ever. */
const NEVER = 20_000;
const TABLES = ['a', 'b', 'c'];
const FILL = 'v'.repeat(300);

/** Codes of what is refused, with nothing written. */
const REFUSED: ReadonlySet<string> = new Set([
  'ERR_BUSY',
  'ERR_ABORTED',
  'ERR_TABLE_NOT_FOUND',
  'ERR_TABLE_EXISTS',
  'ERR_TABLE_DISABLED',
  'ERR_SERIALIZATION',
  'ERR_INVALID_ARGUMENT',
]);

const numberIn = (value: Uint8Array | undefined): number =>
  value === undefined ? 0 : Number(Buffer.from(value).readBigInt64BE());

async function program(seed: number): Promise<void> {
  const random = new Random(seed ^ 0xc0d);
  const fileSystem = new FaultFileSystem(new MemoryFileSystem());
  const store = await memoryStore({
    fileSystem,
    automatic: true,
    background: 'inline',
    memstoreFlushSize: random.pick([2000, 1 << 20]),
    memstoreLimit: random.pick([1, 5000, 20_000]),
    walSegmentSize: random.pick([2000, 1 << 20]),
  });
  const { engine } = store;
  for (const name of [...TABLES, 'gone'])
    await engine.admin.createTable(tableDescriptor(name, { f: {}, g: {} }));
  const counted = new Map<string, number>();
  const loaded = new Map<string, number>();
  let clones = 0;
  let loads = 0;
  const log: string[] = [];

  const operations: Record<string, () => Promise<void>> = {
    async increment() {
      const [name, row] = [random.pick(TABLES), `r${random.below(8)}`];
      const signal = random.chance(0.2) ? AbortSignal.timeout(1) : undefined;
      await engine.table(name).increment(new Increment(row).addColumn('f', 'n', 1n), signal && { signal });
      counted.set(name + row, (counted.get(name + row) ?? 0) + 1);
    },
    async put() {
      await engine
        .table(random.pick([...TABLES, 'gone']))
        .put(new Put(`p${random.below(50)}`).addColumn('g', 'q', FILL));
    },
    async transfer() {
      const [from, to] = [random.pick(TABLES), random.pick(TABLES)];
      const row = `t${random.below(3)}`;
      await engine.transaction(async (tx) => {
        const found = (tx.table(from) as SyncTable).getSync(new Get(row)).getValue('f', 'm');
        await tx.table(from).put(new Put(`x${row}`).addColumn('g', 'q', `${numberIn(found)}${FILL}`));
        if (random.chance(0.5)) await sleep(0);
        await tx.table(from).increment(new Increment(row).addColumn('f', 'm', -1n));
        await tx.table(to).increment(new Increment(row).addColumn('f', 'm', 1n));
      });
    },
    async step() {
      const row = `t${random.below(3)}`;
      await (engine.table('a') as SyncTable).atomic!((step) => {
        step.apply({ table: 'b', change: new Increment(row).addColumn('f', 'm', 2n) });
        step.apply({ table: 'a', change: new Increment(row).addColumn('f', 'm', -2n) });
        step.apply({
          table: 'c',
          change: new Put(`y${row}`).addColumn('g', 'q', FILL).setDurability('SKIP_WAL'),
        });
      });
    },
    async load() {
      const name = random.pick(TABLES);
      const number = ++loads;
      const cells = [0, 1, 2, 3].map(
        (i) =>
          new Cell(
            Buffer.from(`l${i}`),
            'g',
            Buffer.from('n'),
            number,
            CellType.Put,
            Buffer.from(`${number}`),
          ),
      );
      await engine.bulkLoad(name, cells);
      loaded.set(name, Math.max(loaded.get(name) ?? 0, number));
    },
    async gone() {
      const { admin } = engine;
      if (random.chance(0.5)) {
        await admin.modifyTable(
          tableDescriptor('gone', random.chance(0.5) ? { f: {}, g: {} } : { g: {}, h: {} }),
        );
        return;
      }
      await admin.disableTable('gone');
      if (random.chance(0.5)) await admin.truncateTable('gone');
      else {
        await admin.deleteTable('gone');
        await admin.createTable(tableDescriptor('gone', { f: {}, g: {} }));
      }
    },
    async clone() {
      const name = `s${++clones}`;
      await engine.admin.snapshot(name, random.pick(TABLES));
      await engine.admin.cloneSnapshot(name, name);
      await engine.admin.disableTable(name);
      await engine.admin.deleteTable(name);
      await engine.admin.deleteSnapshot(name);
    },
    split: () => engine.admin.split(random.pick(TABLES), Buffer.from(`r${random.below(8)}`)),
    compact: () => engine.admin.majorCompact(random.pick(TABLES)),
    fail: async () =>
      fileSystem.inject({ calls: ['create', 'write'], path: /\.sst$/, times: 1, after: random.below(3) }),
    read: async () => void (await engine.table(random.pick(TABLES)).get(new Get('r1'))),
  };
  const kinds = Object.keys(operations);

  async function client(): Promise<void> {
    for (let i = 0; i < OPERATIONS; i++) {
      const kind = random.pick(kinds);
      try {
        await operations[kind]!();
        log.push(kind);
      } catch (error) {
        if (!(error instanceof RowanError)) throw error;
        log.push(`${kind} ${error.code}`);
        const isRefused =
          REFUSED.has(error.code) || error.code === 'ERR_IO' || error.code.startsWith('ERR_NO_SUCH');
        expect(isRefused, `${kind}: ${error.code} ${error.message}`).toBe(true);
      }
    }
  }

  const hold = async (): Promise<void> => {
    const sums = new Map<string, number>();
    for (const name of TABLES) {
      for await (const result of store.engine.table(name).scan(new Scan())) {
        const row = Buffer.from(result.row).toString();
        if (row.startsWith('r'))
          expect(numberIn(result.getValue('f', 'n')), name + row).toBe(counted.get(name + row));
        if (row.startsWith('t')) sums.set(row, (sums.get(row) ?? 0) + numberIn(result.getValue('f', 'm')));
        if (row.startsWith('l'))
          expect(Buffer.from(result.getValue('g', 'n')!).toString()).toBe(`${loaded.get(name)}`);
      }
    }
    for (const [row, sum] of sums) expect(sum, row).toBe(0);
  };

  try {
    const all = Promise.all(Array.from({ length: CLIENTS }, client)).then(() => 'done');
    expect(await Promise.race([all, sleep(NEVER, 'somebody waits for ever', { ref: false })])).toBe('done');
    fileSystem.clear();
    await engine.quiet();
    await hold();
    await store.reopen();
    await hold();
  } catch (error) {
    throw new Error(`Seed ${seed}: ${(error as Error).message}\n${log.join(', ')}`, { cause: error });
  } finally {
    fileSystem.clear();
    await store.engine.close();
  }
}

const TOGETHER = 5;
const parts = Array.from({ length: Math.ceil(PROGRAMS / TOGETHER) }, (_, i) => FIRST + i * TOGETHER);

test.each(parts)('little memory and several tables, programs from %i', async (first) => {
  if (first > FIRST && !mayGoOn()) return;
  const end = Math.min(first + TOGETHER, FIRST + PROGRAMS);
  for (let seed = first; seed < end; seed++) await program(seed);
  record('crowded', { programs: end - first, operations: (end - first) * CLIENTS * OPERATIONS });
});

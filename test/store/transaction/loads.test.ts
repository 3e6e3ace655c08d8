/** Transactions, steps and plain writes beside bulk loads: a load has one place in the order of all commits. */

import { expect, test } from 'vitest';
import { SerializationError } from '../../../src/errors.js';
import { Cell, CellType, Get, Put, Scan, type SyncTable } from '../../../src/table/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { seededRandom } from '../../crash/seeded-random.js';
import { record } from '../../proof/evidence.js';
import { scaled } from '../../proof/scale.js';
import { createTable, memoryStore } from '../engine/support.js';
import { FaultFileSystem } from '../fs/fault-fs.js';

const LOADED = ['b', 'n', 'v'];
const LOADS = 8;

/** What a reading transaction saw, all of it together. */
interface Seen {
  readonly load: number;
  readonly writes: ReadonlySet<string>;
}

/** A write that says which load it had found. */
interface Written {
  readonly row: string;
  readonly load: number;
}

function numberIn(table: SyncTable, row: string, family = 'a'): number {
  return Number(Buffer.from(table.getSync(new Get(row)).getValue(family, 'v') ?? '0').toString());
}

class Run {
  private readonly random: () => number;
  private readonly seen: Seen[] = [];
  private readonly written: Written[] = [];
  private begun = 0;
  private loaded = 0;
  private counted = 0;
  private loading = true;
  transactions = 0;

  constructor(
    private readonly store: Awaited<ReturnType<typeof memoryStore>>,
    private readonly table: SyncTable,
    seed: number,
  ) {
    this.random = seededRandom(seed);
  }

  static async of(seed: number): Promise<Run> {
    const random = seededRandom(seed * 31);
    const fileSystem = new MemoryFileSystem({ syncDelay: () => turns(random) });
    const store = await memoryStore({
      fileSystem,
      automatic: true,
      memstoreFlushSize: 2000,
      background: 'inline',
    });
    const table = await createTable(store.engine, { a: {}, b: {} }, {}, [Buffer.from('m')]);
    return new Run(store, table as SyncTable, seed);
  }

  async all(): Promise<void> {
    const clients = [this.count(), ...[0, 1, 2].flatMap((i) => [this.read(), this.write(i), this.step(i)])];
    await this.load();
    this.loading = false;
    await Promise.all(clients);
    this.check();
    await this.store.reopen();
    expect(numberIn(this.store.engine.table('t') as SyncTable, 'n')).toBe(LOADS);
    await this.store.engine.close();
  }

  private async load(): Promise<void> {
    for (let k = 1; k <= LOADS; k++) {
      this.begun = k;
      const cells = LOADED.flatMap((row) =>
        ['a', 'b'].map(
          (family) =>
            new Cell(Buffer.from(row), family, Buffer.from('v'), 1000 + k, CellType.Put, Buffer.from(`${k}`)),
        ),
      );
      await this.store.engine.bulkLoad('t', cells);
      this.loaded = k;
      await turns(this.random);
    }
  }

  /** Plain writes, of which everybody sees those that were acknowledged before he began. */
  private async count(): Promise<void> {
    for (let i = 1; this.loading; i++) {
      await this.table.put(new Put('w').addColumn('a', 'v', `${i}`));
      this.counted = i;
      await turns(this.random);
    }
  }

  private async read(): Promise<void> {
    while (this.loading) {
      const { loaded, counted } = this;
      await this.store.engine.transaction(async (tx) => {
        const own = tx.table('t');
        const load = await this.oneLoad(own);
        expect(load).toBeGreaterThanOrEqual(loaded);
        expect(load).toBeLessThanOrEqual(this.begun);
        expect(numberIn(own, 'w')).toBeGreaterThanOrEqual(counted);
        const writes = [...own.scanSync(new Scan().withStartRow('x').withStopRow('y'))];
        await turns(this.random);
        expect(await this.oneLoad(own)).toBe(load);
        this.seen.push({ load, writes: new Set(writes.map(({ row }) => Buffer.from(row).toString())) });
      });
      this.transactions++;
      await turns(this.random);
    }
  }

  /** The load that all rows and families are of. */
  private async oneLoad(own: SyncTable): Promise<number> {
    const found: number[] = [];
    for (const row of LOADED) {
      found.push(numberIn(own, row), numberIn(own, row, 'b'));
      await turns(this.random);
    }
    for (const result of own.scanSync(new Scan().withStopRow('w'))) {
      for (const { value } of result.cells) found.push(Number(Buffer.from(value).toString()));
    }
    expect(new Set(found).size, `${found}`).toBe(1);
    return found[0]!;
  }

  private async write(client: number): Promise<void> {
    for (let i = 0; this.loading; i++) {
      const row = `x-${client}-${i}`;
      let load = 0;
      try {
        await this.store.engine.transaction(async (tx) => {
          load = await this.oneLoad(tx.table('t'));
          await tx.table('t').put(new Put(row).addColumn('a', 'v', `${load}`));
        });
        this.written.push({ row, load });
      } catch (error) {
        if (!(error instanceof SerializationError)) throw error;
      }
      this.transactions++;
      await turns(this.random);
    }
  }

  /** What is decided on in one turn looks at what is not acknowledged yet. */
  private async step(client: number): Promise<void> {
    for (let i = 0; this.loading; i++) {
      const row = `x-step${client}-${i}`;
      const load = await this.table.atomic!((step) => {
        const found = LOADED.map((each) =>
          Buffer.from(step.read(new Get(each)).getValue('b', 'v') ?? '0').toString(),
        );
        expect(new Set(found).size).toBe(1);
        step.apply({ table: 't', change: new Put(row).addColumn('a', 'v', found[0]!) });
        return Number(found[0]);
      });
      this.written.push({ row, load });
      await turns(this.random);
    }
  }

  /** Whoever saw a write saw the load that the write had found; whoever did not see it saw no load that it had not found. */
  private check(): void {
    for (const { load, writes } of this.seen) {
      for (const write of this.written) {
        if (writes.has(write.row)) expect(write.load).toBeLessThanOrEqual(load);
        else expect(write.load).toBeGreaterThanOrEqual(load);
      }
    }
  }
}

/** Some turns of the microtask queue, or of the event loop. */
async function turns(random: () => number): Promise<void> {
  if (random() < 0.2) await new Promise((resolve) => setImmediate(resolve));
  for (let left = Math.floor(random() * 8); left > 0; left--) await null;
}

test('transactions see a load whole or not at all, and the loads and writes that they do see explain each other', async () => {
  const runs = scaled(5, 60, 400);
  let transactions = 0;
  for (let seed = 1; seed <= runs; seed++) {
    const run = await Run.of(seed);
    await run.all();
    transactions += run.transactions;
  }
  expect(transactions).toBeGreaterThan(100);
  record('loads', { 'bulk loads': runs * LOADS, 'transactions beside them': transactions });
});

const CELLS = ['b', 'n'].map(
  (row) => new Cell(Buffer.from(row), 'a', Buffer.from('v'), 5, CellType.Put, Buffer.from('1')),
);

test('a write that is asked for while a load is recorded waits for it and sees it, and reads go on', async () => {
  let release: (() => void) | undefined;
  let held = false;
  const fileSystem = new MemoryFileSystem({
    syncDelay: () => (held ? new Promise((resolve) => (release = resolve)) : Promise.resolve()),
  });
  const { engine } = await memoryStore({ fileSystem });
  const table = (await createTable(engine, { a: {} })) as SyncTable;
  held = true;
  const loaded = engine.bulkLoad('t', CELLS);
  while (release === undefined) await new Promise((resolve) => setImmediate(resolve));
  const order: string[] = [];
  const follow = (name: string, done: Promise<unknown>): Promise<unknown> =>
    done.then(() => order.push(name));
  const step = table.atomic!((own) => {
    own.apply({
      table: 't',
      change: new Put('z').addColumn('a', 'v', own.read(new Get('b')).getValue('a', 'v')!),
    });
  });
  const all = [follow('load', loaded), follow('step', step)];
  expect(numberIn(table, 'b')).toBe(0);
  held = false;
  release();
  await Promise.all(all);
  expect([order, numberIn(table, 'z')]).toEqual([['load', 'step'], 1]);
  await engine.close();
});

test('a load that cannot be recorded leaves nothing, and nobody waits for it', async () => {
  const fileSystem = new FaultFileSystem(new MemoryFileSystem());
  const store = await memoryStore({ fileSystem });
  const table = (await createTable(store.engine, { a: {} })) as SyncTable;
  await table.put(new Put('b').addColumn('a', 'v', '7'));
  for (const calls of ['write', 'syncDirectory'] as const) {
    await store.engine.admin.flush('t');
    const path = calls === 'write' ? { path: /MANIFEST/ } : {};
    fileSystem.inject({ calls: [calls], errno: 'ENOSPC', ...path });
    const loaded = store.engine.bulkLoad('t', CELLS);
    await expect(loaded).rejects.toMatchObject({ code: 'ERR_IO', retryable: true });
    fileSystem.clear();
    await table.put(new Put('w').addColumn('a', 'v', '8'));
    expect([numberIn(table, 'b'), numberIn(table, 'n'), numberIn(table, 'w')]).toEqual([7, 0, 8]);
  }
  await store.engine.bulkLoad('t', CELLS);
  expect(numberIn(table, 'n')).toBe(1);
  await store.reopen();
  expect(numberIn(store.engine.table('t') as SyncTable, 'n')).toBe(1);
  await store.engine.close();
});

/**
 * Random programs over what a store meets in months: short lives, a clock that jumps, cells that expire, deletes, tables that come and go,
 * bulk loads, splits, merges, snapshots, scans that stay open, files that fail, losses of power, and a reader in the same folder.
 * Every observation is compared with a model. A write that was rejected must stay invisible in its life, and may be there in the next.
 */

import { describe, expect, it } from 'vitest';
import { toLatin1 } from '../../src/bytes/index.js';
import { RowanError } from '../../src/errors.js';
import type { EmbeddedAdmin } from '../../src/store/embedded-admin.js';
import { type EmbeddedEngine, openEmbedded } from '../../src/store/engine.js';
import { type FileSystem, NodeFileSystem } from '../../src/store/fs/index.js';
import type { EmbeddedOptions } from '../../src/store/options.js';
import { openReadOnly, type ReadOnlyStore } from '../../src/store/read-only/read-only-store.js';
import {
  Cell,
  CellType,
  Delete,
  type Engine,
  Get,
  Put,
  type ResultScanner,
  Scan,
  tableDescriptor,
} from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { mayGoOn, scaled } from '../proof/scale.js';
import { withFolder } from '../store/engine/support.js';
import { FaultFileSystem, type FileCall } from '../store/fs/fault-fs.js';
import { seededRandom } from './seeded-random.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const TTL = HOUR;
/** The store may assign timestamps that are this much ahead of its clock. */
const AHEAD = 5000;
const MAX_TABLES = 5;
const ROWS = 30;
const ERRORS = new Set([
  'ERR_IO',
  'ERR_READONLY',
  'ERR_CLOSED',
  'ERR_BUSY',
  'ERR_SCANNER_EXPIRED',
  'ERR_TIMEOUT',
]);

/** Bounds of a cell's timestamp, which is ahead of the clock where the clock was set back. */
interface Written {
  readonly from: number;
  readonly to: number;
}

/** Every value that a row may have, and when it was written; undefined stands for no row. */
type RowModel = ReadonlyMap<string | undefined, Written>;

interface TableModel {
  readonly ttl: boolean;
  readonly rows: Map<string, RowModel>;
  /** What rejected writes may have left, which only a later life can show. */
  readonly rejected: Map<string, Map<string | undefined, Written>>;
}

interface OpenScan {
  readonly scanner: ResultScanner;
  readonly rows: Map<string, RowModel>;
  readonly seen: Map<string, string>;
}

const copyOf = ({ ttl, rows }: TableModel): TableModel => ({ ttl, rows: new Map(rows), rejected: new Map() });
const NEVER: Written = { from: 0, to: 0 };
const certain = (value: string | undefined, written: Written): RowModel => new Map([[value, written]]);
const NO_ROW = certain(undefined, NEVER);

class Program {
  private readonly random: () => number;
  private now = 1_700_000_000_000;
  /** The greatest time that the store may have seen. */
  private latest = this.now;
  private count = 0;
  private readonly tables = new Map<string, TableModel>();
  private readonly snapshots = new Map<string, TableModel>();
  private scans: OpenScan[] = [];
  private disk: FileSystem;
  private files!: FaultFileSystem;
  private engine!: EmbeddedEngine;
  private reader: ReadOnlyStore | undefined;
  private readonly options: EmbeddedOptions;
  private readonly folder: string;
  private readonly trace: string[] = [];
  failures = 0;
  observations = 0;

  constructor(seed: number, folder?: string) {
    this.random = seededRandom(seed * 104_729);
    this.folder = folder ?? '/db';
    this.disk = folder === undefined ? new MemoryFileSystem() : new NodeFileSystem();
    this.options = {
      clock: () => this.now,
      background: 'inline',
      durability: this.chance(0.5) ? 'SYNC_WAL' : 'FSYNC_WAL',
      memstoreFlushSize: this.pick([800, 3000, 1 << 20]),
      memstoreLimit: 1 << 20,
      walSegmentSize: this.pick([2000, 8192, 1 << 20]),
      walPreparedSize: 2048,
      maxWalSegments: this.pick([2, 32]),
      maxFileSize: this.pick([2500, 20_000, 1 << 20]),
      maxOpenFiles: this.pick([3, 100]),
      blockCacheSize: this.pick([0, 1 << 20]),
      compaction: { minSize: 2000 },
      flushOnClose: this.chance(0.5) ? { minBytes: 0 } : false,
    };
  }

  private chance(of: number): boolean {
    return this.random() < of;
  }

  private below(count: number): number {
    return Math.floor(this.random() * count);
  }

  private pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)]!;
  }

  async run(lives: number, steps: number): Promise<void> {
    try {
      for (let life = 0; life < lives; life++) {
        await this.open();
        await this.observe(this.engine, true);
        for (let step = 0; step < steps; step++) {
          this.tick(this.below(50));
          await this.step();
          if (this.chance(0.15)) await this.observe(this.engine);
        }
        await this.end();
      }
      await this.finish();
    } catch (error) {
      throw new Error(
        `${(error as Error).message}\n${JSON.stringify(this.options)}\n${this.trace.slice(-40).join('\n')}`,
        {
          cause: error,
        },
      );
    }
  }

  private tick(by: number): void {
    this.now += by;
    this.latest = Math.max(this.latest, this.now);
  }

  private async open(): Promise<void> {
    this.files =
      this.disk instanceof NodeFileSystem ? new WatchedFiles(this.disk) : new FaultFileSystem(this.disk);
    this.trace.push('open');
    this.engine = await openEmbedded(this.folder, { ...this.options, fileSystem: this.files });
  }

  /** A life ends by a close, which may fail, or, in memory, by a kill or a loss of power, with writes under way or not. */
  private async end(): Promise<void> {
    const { disk, engine, files } = this;
    if (disk instanceof MemoryFileSystem && this.chance(0.4)) {
      this.trace.push('crash');
      const writes = this.chance(0.5) ? this.burst(true) : undefined;
      for (let turn = this.below(4); turn > 0; turn--) await new Promise((resolve) => setImmediate(resolve));
      const keepUnsynced = this.options.durability === 'FSYNC_WAL' ? this.pick([0, 0.5, 1]) : 1;
      this.disk = disk.crash({ keepUnsynced, random: this.random });
      await writes;
      await this.attempt(() => engine.close());
    } else {
      if (this.chance(0.2)) this.inject();
      this.trace.push('close');
      await this.attempt(() => engine.close());
    }
    this.failures += files.failures;
    this.scans = [];
    if (disk instanceof MemoryFileSystem && disk.openHandles > 0)
      throw new Error(`${disk.openHandles} files are open`);
    for (const { rows, rejected } of this.tables.values()) {
      for (const [row, values] of rejected) rows.set(row, new Map([...(rows.get(row) ?? NO_ROW), ...values]));
      rejected.clear();
    }
  }

  /** Whether `action` succeeded; its errors must be of a kind that a failing disk explains. */
  private async attempt(action: () => Promise<unknown>): Promise<boolean> {
    try {
      await action();
      return true;
    } catch (error) {
      if (!(error instanceof RowanError) || !ERRORS.has(error.code)) throw error;
      if (this.files.failures === 0 && !['ERR_SCANNER_EXPIRED', 'ERR_CLOSED'].includes(error.code))
        throw error;
      this.trace.push(`  ${error.code} ${error.message.slice(0, 90)}`);
      return false;
    }
  }

  private inject(): void {
    const fault = {
      calls: this.pick<readonly FileCall[]>([
        ['write'],
        ['write', 'create'],
        ['sync'],
        ['syncDirectory'],
        ['rename'],
        ['read'],
        ['unlink'],
        ['open'],
      ]),
      path: this.pick([/wal$/, /wal$/, /sst$/, /MANIFEST/, /./]),
      after: this.below(12),
      times: this.pick([1, 4, Number.POSITIVE_INFINITY]),
      errno: this.pick(['EIO', 'ENOSPC']),
      shortWrite: this.pick([(): number => 0, (length: number): number => length >> 1]),
    };
    this.trace.push(`inject ${fault.calls} ${fault.path} after ${fault.after} times ${fault.times}`);
    this.files.inject(fault);
  }

  private async step(): Promise<void> {
    const names = [...this.tables.keys()];
    if (names.length === 0) return this.createTable();
    const name = this.pick(names);
    const admin = this.engine.admin as EmbeddedAdmin;
    const kind = this.below(100);
    if (kind < 38) return this.write(name, `r${this.below(ROWS)}`, this.chance(0.25));
    if (kind < 50) return this.burst(false);
    if (kind < 56) return this.maintain(name);
    if (kind < 62) return this.bulkLoad(name);
    if (kind < 66) return this.createTable();
    if (kind < 68) return this.dropTable(name);
    if (kind < 74) return this.snapshot(name, admin);
    if (kind < 80) return this.jump();
    if (kind < 86) return this.scan(name);
    if (kind < 89) return this.inject();
    if (kind < 93) return this.files.clear();
    if (kind < 97) return this.follow();
    await this.attempt(() => this.engine.verify());
  }

  private async createTable(): Promise<void> {
    if (this.tables.size >= MAX_TABLES) return;
    const name = `t${this.count++}`;
    const ttl = this.chance(0.3);
    this.trace.push(`create ${name}${ttl ? ' ttl' : ''}`);
    const family = ttl ? { ttl: TTL / 1000 } : {};
    const splits = this.chance(0.3) ? [Buffer.from('r15')] : [];
    if (await this.attempt(() => this.engine.admin.createTable(tableDescriptor(name, { f: family }), splits)))
      this.tables.set(name, { ttl, rows: new Map(), rejected: new Map() });
  }

  private async dropTable(name: string): Promise<void> {
    this.trace.push(`drop ${name}`);
    this.tables.delete(name);
    await this.attempt(async () => {
      await this.engine.admin.disableTable(name);
      await this.engine.admin.deleteTable(name);
    });
  }

  private async write(name: string, row: string, remove: boolean, doubtful = false): Promise<void> {
    const model = this.tables.get(name)!;
    const value = remove ? undefined : `${this.count++}`.padEnd(this.pick([4, 40, 200]), '.');
    const table = this.engine.table(name);
    const written = { from: this.now, to: this.latest };
    this.trace.push(`${remove ? 'delete' : 'put'} ${name} ${row} ${value?.trim().slice(0, 8)}`);
    const done = await this.attempt(() =>
      value === undefined
        ? table.delete(new Delete(row))
        : table.put(new Put(row).addColumn('f', 'q', value)),
    );
    if (done && !doubtful) {
      model.rows.set(row, certain(value, written));
      model.rejected.delete(row);
    } else {
      const values = model.rejected.get(row) ?? new Map<string | undefined, Written>();
      model.rejected.set(row, values.set(value, written));
    }
  }

  /** Concurrent writes of distinct rows, beside maintenance. `doubtful`: whether the store may lose them although they succeed. */
  private async burst(doubtful: boolean): Promise<void> {
    const pending: Promise<void>[] = [];
    const rows = new Set<string>();
    this.trace.push('burst');
    for (let i = 0; i < 12; i++) {
      const name = this.pick([...this.tables.keys()]);
      const row = `r${this.below(ROWS)}`;
      if (name === undefined || rows.has(`${name} ${row}`)) continue;
      rows.add(`${name} ${row}`);
      pending.push(this.write(name, row, this.chance(0.2), doubtful));
      if (this.chance(0.1)) pending.push(this.maintain(name));
    }
    await Promise.all(pending);
  }

  private async maintain(name: string): Promise<void> {
    const { admin } = this.engine;
    const kind = this.pick(['flush', 'compact', 'major', 'split', 'merge', 'quiet']);
    this.trace.push(`${kind} ${name}`);
    await this.attempt(async () => {
      if (kind === 'flush') await admin.flush(name);
      else if (kind === 'compact') await admin.compact(name);
      else if (kind === 'major') await admin.majorCompact(name);
      else if (kind === 'quiet') await this.engine.quiet();
      else {
        const regions = (await admin.getRegions(name)).map((region) => region.name);
        try {
          if (kind === 'split' && regions.length < 6)
            await admin.split(name, Buffer.from(`r${this.below(ROWS)}`));
          else if (kind === 'merge' && regions.length > 1)
            await (admin as EmbeddedAdmin).mergeRegions(regions.slice(0, 2));
        } catch (error) {
          // A split at a row that begins a region, or regions that another change replaced.
          if (!(error instanceof RowanError) || error.code !== 'ERR_INVALID_ARGUMENT') throw error;
        }
      }
    });
  }

  private async bulkLoad(name: string): Promise<void> {
    const model = this.tables.get(name)!;
    const rows = Array.from(
      { length: 1 + this.below(20) },
      () => `r${this.below(ROWS)}b${this.count++}`,
    ).sort();
    const time = this.now;
    this.trace.push(`load ${name} ${rows.length} rows`);
    const cells = rows.map(
      (row) =>
        new Cell(Buffer.from(row), 'f', Buffer.from('q'), time, CellType.Put, Buffer.from(`of ${row}`)),
    );
    const done = await this.attempt(() => this.engine.bulkLoad(name, cells));
    for (const row of rows) {
      const state = new Map<string | undefined, Written>([[`of ${row}`, { from: time, to: time }]]);
      model.rows.set(row, done ? state : state.set(undefined, NEVER));
    }
  }

  private async snapshot(name: string, admin: EmbeddedAdmin): Promise<void> {
    const kind = this.pick(['take', 'restore', 'clone', 'delete']);
    const [snapshot] = [...this.snapshots.keys()];
    if (kind === 'take' || snapshot === undefined) {
      const made = `s${this.count++}`;
      this.trace.push(`snapshot ${made} of ${name}`);
      const model = copyOf(this.tables.get(name)!);
      if (await this.attempt(() => admin.snapshot(made, name))) this.snapshots.set(made, model);
      return;
    }
    const model = this.snapshots.get(snapshot)!;
    if (kind === 'clone' && this.tables.size < MAX_TABLES) {
      const clone = `t${this.count++}`;
      this.trace.push(`clone ${snapshot} as ${clone}`);
      if (await this.attempt(() => admin.cloneSnapshot(snapshot, clone)))
        this.tables.set(clone, copyOf(model));
    } else if (kind === 'delete') {
      this.trace.push(`delete ${snapshot}`);
      this.snapshots.delete(snapshot);
      await this.attempt(() => admin.deleteSnapshot(snapshot));
    }
  }

  private jump(): void {
    const by = this.pick([-30 * MINUTE, -MINUTE, MINUTE, 2 * HOUR, 3 * DAY]);
    this.trace.push(`clock ${by / MINUTE} min`);
    this.tick(by);
  }

  /** Opens a scan, which is read to its end some steps later, or reads on one that is open. */
  private async scan(name: string): Promise<void> {
    if (this.scans.length < 3 && this.chance(0.5)) {
      const { ttl, rows } = this.tables.get(name)!;
      if (ttl) return;
      const open: OpenScan = {
        scanner: this.engine.table(name).scan(new Scan()),
        rows: new Map(rows),
        seen: new Map(),
      };
      this.trace.push(`scan ${name}`);
      if (await this.attempt(() => this.readOn(open, 3))) this.scans.push(open);
      return;
    }
    const open = this.scans.shift();
    if (open === undefined) return;
    this.trace.push('finish a scan');
    let complete = false;
    await this.attempt(async () => {
      while ((await this.readOn(open, 50)) > 0);
      complete = true;
    });
    if (complete) this.compare('an open scan', open.seen, open.rows, false);
    await this.attempt(async () => open.scanner.close());
  }

  private async readOn({ scanner, seen }: OpenScan, count: number): Promise<number> {
    const batch = await scanner.nextBatch(count);
    for (const { row, cells } of batch) seen.set(toLatin1(row), toLatin1(cells[0]!.value));
    return batch.length;
  }

  private async follow(): Promise<void> {
    if (!(this.disk instanceof NodeFileSystem)) return;
    if (this.reader !== undefined && this.chance(0.1)) {
      await this.reader.close();
      this.reader = undefined;
      return;
    }
    this.trace.push('refresh');
    const done = await this.attempt(async () => {
      this.reader ??= await openReadOnly(this.folder, { clock: () => this.now });
      await this.reader.refresh();
    });
    if (done) await this.observe(this.reader!);
  }

  /** `fresh`: a new life, which shows what became of rejected writes. */
  private async observe(engine: Engine, fresh = false): Promise<void> {
    for (const [name, model] of this.tables) {
      const seen = new Map<string, string>();
      const read = await this.attempt(async () => {
        for await (const { row, cells } of engine.table(name).scan(new Scan()))
          seen.set(toLatin1(row), toLatin1(cells[0]!.value));
      });
      if (!read) continue;
      this.compare(
        `${fresh ? 'after opening, ' : ''}${engine.constructor.name} ${name}`,
        seen,
        model.rows,
        model.ttl,
      );
      this.observations++;
      for (let i = 0; i < 3; i++) {
        const row = `r${this.below(ROWS)}`;
        await this.attempt(async () => {
          const value = (await engine.table(name).get(new Get(row))).getValue('f', 'q');
          const text = value && toLatin1(value);
          if (text !== seen.get(row))
            throw new Error(`${name} ${row}: a get has ${text}, a scan ${seen.get(row)}`);
        });
      }
      if (!fresh) continue;
      for (const [row, values] of model.rows) {
        const value = seen.get(row);
        if (values.size > 1) model.rows.set(row, certain(value, values.get(value) ?? NEVER));
      }
    }
  }

  private compare(what: string, seen: Map<string, string>, rows: Map<string, RowModel>, ttl: boolean): void {
    for (const row of new Set([...seen.keys(), ...rows.keys()])) {
      const values = rows.get(row) ?? NO_ROW;
      const value = seen.get(row);
      const wrong =
        value === undefined
          ? !values.has(undefined) &&
            !(ttl && [...values.values()].some(({ from }) => from + TTL <= this.latest))
          : !values.has(value) ||
            (ttl && values.get(value)!.to + TTL + AHEAD <= this.now && this.latest === this.now);
      if (!wrong) continue;
      const expected = [...values].map(([each, { from }]) => `${each?.slice(0, 8)} of ${from}`).join(' or ');
      throw new Error(
        `${what}: row ${row} is ${value?.slice(0, 8)} at ${this.now}, not ${expected}${ttl ? ', or has expired' : ''}`,
      );
    }
  }

  /** Whatever happened, the store opens, is sound, has no files that a further opening removes, and is small when all rows are gone. */
  private async finish(): Promise<void> {
    this.trace.push('finish');
    await this.reader?.close();
    await this.open();
    await this.observe(this.engine, true);
    await this.engine.verify();
    for (const { name: snapshot } of await (this.engine.admin as EmbeddedAdmin).listSnapshots())
      await (this.engine.admin as EmbeddedAdmin).deleteSnapshot(snapshot);
    for (const { name } of await this.engine.admin.listTables()) {
      if (await this.engine.admin.isTableEnabled(name)) await this.engine.admin.disableTable(name);
      await this.engine.admin.deleteTable(name);
    }
    await this.engine.close();
    await this.open();
    await this.engine.close();
    const left = this.disk.readdir(this.folder).filter((name) => name.endsWith('.sst'));
    if (left.length > 0) throw new Error(`No table is left, but ${left.join(', ')}`);
    if (this.disk instanceof MemoryFileSystem && this.disk.openHandles > 0)
      throw new Error(`${this.disk.openHandles} files were left open`);
  }
}

/** The real disk with failures, and with the socket for readers. */
class WatchedFiles extends FaultFileSystem {
  readonly receive: NonNullable<FileSystem['receive']>;

  constructor(disk: NodeFileSystem) {
    super(disk);
    this.receive = (directory, onReader) => disk.receive(directory, onReader);
  }
}

/** Every third is on the real disk, with a reader beside it. */
const SEEDS = scaled(3, 50, 20_000);
const LIVES = scaled(5, 8, 8);

describe('a store over months', () => {
  it(`agrees with a model over ${SEEDS} random programs`, async () => {
    let failures = 0;
    let observations = 0;
    let programs = 0;
    for (let seed = 1; seed <= SEEDS && mayGoOn(); seed++, programs++) {
      try {
        const run = async (folder?: string): Promise<void> => {
          const program = new Program(seed, folder);
          await program.run(LIVES, 25);
          failures += program.failures;
          observations += program.observations;
        };
        if (seed % 3 === 0) await withFolder(run);
        else await run();
      } catch (error) {
        throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error });
      }
    }
    expect(failures).toBeGreaterThan(0);
    expect(observations).toBeGreaterThan(programs);
  });

  it('agrees with a model over hundreds of short lives of one store', async () => {
    const program = new Program(4711);
    await program.run(scaled(16, 300, 1500), 6);
    expect(program.observations).toBeGreaterThan(0);
  });
});

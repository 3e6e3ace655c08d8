import { toBytes, toLatin1 } from '../../src/bytes/index.js';
import { RowanError } from '../../src/errors.js';
import { type EmbeddedEngine, openEmbedded } from '../../src/store/engine.js';
import type { FileSystem } from '../../src/store/fs/index.js';
import type { EmbeddedOptions } from '../../src/store/options.js';
import {
  Append,
  Cell,
  CellType,
  ColumnPuts,
  Delete,
  Increment,
  PackedPuts,
  Put,
  RowMutations,
  Scan,
  tableDescriptor,
} from '../../src/table/index.js';
import { Model } from './model.js';

export const STORE = '/data/db';

type Value = string | undefined;

/** What may be found of a script's states: those from `least` to `most`. */
export interface Promised {
  readonly states: readonly string[];
  readonly least: number;
  readonly most: number;
}

/** Limits so small that logs rotate, memstores flush and files merge within a short script. */
export function smallStore(fileSystem: FileSystem, more: Partial<EmbeddedOptions> = {}): EmbeddedOptions {
  let now = 1_700_000_000_000;
  return {
    fileSystem,
    clock: () => ++now,
    random: () => 0.5,
    background: 'inline',
    memstoreFlushSize: 4096,
    memstoreLimit: 1 << 20,
    walSegmentSize: 6000,
    maxWalSegments: 3,
    compaction: { minFiles: 3 },
    ...more,
  };
}

/** What all tables of an open store hold, as {@link Model.digest} says it. */
export async function digestOf(engine: EmbeddedEngine): Promise<string> {
  const model = new Model();
  for (const { name } of await engine.admin.listTables()) {
    model.createTable(name);
    if (!(await engine.admin.isTableEnabled(name))) await engine.admin.enableTable(name);
    for await (const result of engine.table(name).scan(new Scan())) {
      for (const cell of result.cells) {
        const column = `${cell.family}:${toLatin1(cell.qualifier)}`;
        model.set(name, toLatin1(result.row), column, toLatin1(cell.value));
      }
    }
  }
  return model.digest();
}

/** Eight bytes, big-endian, as a counter is stored. */
function counter(value: number): string {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(value));
  return bytes.toString('latin1');
}

/**
 * Changes of every kind on a store, each awaited or in groups, with flushes, compactions, splits and reopenings between.
 * `states[k]` is what the store is to hold after the first k changes; `acknowledged` of them were answered, and
 * `states.length - 1` begun.
 */
export class Workload {
  readonly states: string[] = [''];
  acknowledged = 0;
  /** How many are known to be on the disk; of a store that syncs each write, the acknowledged ones. */
  durable = 0;
  private readonly model = new Model();
  private readonly counters = new Map<string, number>();
  private step = 0;

  private constructor(
    private engine: EmbeddedEngine,
    private readonly options: EmbeddedOptions,
    private readonly random: () => number,
  ) {}

  static async run(
    options: EmbeddedOptions,
    random: () => number,
    steps: number,
    started: (workload: Workload) => void,
    afterStep: () => Promise<void>,
  ): Promise<void> {
    // The first states are made here: creating the store is part of what may be cut short.
    const workload = new Workload(undefined as unknown as EmbeddedEngine, options, random);
    started(workload);
    workload.engine = await openEmbedded(STORE, options);
    await afterStep();
    await workload.createTable();
    for (let step = 0; step < steps; step++) {
      await workload.next();
      await afterStep();
    }
    await workload.engine.close();
    await afterStep();
  }

  /**
   * Runs on a disk that fails. @param codes of the errors that a failure may end it with.
   * @returns the workload, what it has promised, and the failure that ended it, if one did.
   */
  static async runUntilFailure(
    options: EmbeddedOptions,
    random: () => number,
    steps: number,
    codes: readonly string[],
  ): Promise<{ readonly workload: Workload; readonly promised: Promised; readonly failure: unknown }> {
    let workload: Workload | undefined;
    let failure: unknown;
    try {
      await Workload.run(
        options,
        random,
        steps,
        (started) => (workload = started),
        async () => {},
      );
    } catch (error) {
      failure = error;
      if (!(error instanceof RowanError && codes.includes(error.code))) throw error;
    }
    const { states, acknowledged: least } = workload!;
    return { workload: workload!, promised: { states, least, most: states.length - 1 }, failure };
  }

  /**
   * A store that is opened, read and changed once, over and over, by a change of another kind each time. `quietly` runs the opening and the
   * reads.
   */
  static async lives(
    options: EmbeddedOptions,
    random: () => number,
    count: number,
    started: (workload: Workload) => void,
    quietly: (read: () => Promise<void>) => Promise<void>,
    afterStep: () => Promise<void>,
  ): Promise<void> {
    const workload = new Workload(await openEmbedded(STORE, options), options, random);
    await workload.createTable();
    await workload.group();
    await workload.engine.close();
    workload.durable = workload.acknowledged;
    started(workload);
    const changes = [
      () => workload.group(),
      () => workload.increment(),
      () => workload.otherTable(),
      () => workload.bulkLoad(),
      () => workload.atomicBatch(),
      () => workload.newRows(),
      () => workload.splitOrMerge(),
      () => workload.checkpoint(),
      () => workload.deleteRow(),
    ];
    for (let life = 0; life < count; life++) {
      workload.step++;
      await quietly(() => workload.openAndRead());
      await changes[life % changes.length]!();
      await workload.group();
      // It enables tables, so that the next life need not.
      await digestOf(workload.engine);
      await workload.engine.close();
      workload.durable = workload.acknowledged;
      await afterStep();
    }
  }

  /** Reads through the engine that has met a failure: reads go on, and show no change that was taken back. */
  async lookAround({ states, least, most }: Promised): Promise<void> {
    if (this.engine === undefined) return;
    let found: string;
    try {
      found = await digestOf(this.engine);
    } catch (error) {
      // The disk may fail on reads too, and a reopening may have been cut short.
      if (error instanceof RowanError && ['ERR_IO', 'ERR_CLOSED', 'ERR_READONLY'].includes(error.code))
        return;
      throw error;
    }
    const index = states.lastIndexOf(found);
    if (index < least || index > most)
      throw new Error(`the open store shows state ${index}, not ${least} to ${most}`);
  }

  /** Closes the engine, whatever has failed before. */
  async closeAfterFailure(): Promise<void> {
    try {
      await this.engine?.close();
    } catch (error) {
      if (!(error instanceof RowanError)) throw error;
    }
  }

  private async next(): Promise<void> {
    this.step++;
    // Of a store without an archive the script is as it was.
    if (this.options.logArchive !== undefined && this.random() < 0.2) await this.engine.archiveLog();
    const choice = this.random();
    if (choice < 0.3) await this.group();
    else if (choice < 0.42) await this.increment();
    else if (choice < 0.5) await this.append();
    else if (choice < 0.58) await this.rowMutations();
    else if (choice < 0.66) await this.deleteRow();
    else if (choice < 0.71) await this.atomicBatch();
    else if (choice < 0.76) await this.newRows();
    else if (choice < 0.79) await this.engine.admin.flush('t', 'a');
    else if (choice < 0.82) await this.engine.admin.flush('t');
    else if (choice < 0.85) await this.engine.admin.compact('t');
    else if (choice < 0.88) await this.engine.admin.majorCompact('t');
    else if (choice < 0.91) await this.splitOrMerge();
    else if (choice < 0.93) await this.alter();
    else if (choice < 0.96) await this.otherTable();
    else if (choice < 0.97) await this.bulkLoad();
    else if (choice < 0.985) await this.checkpoint();
    else await this.reopen();
  }

  /** Changes the model by `change`: one more state that the store may be found in from now on. */
  private begin(change: () => void): void {
    change();
    this.states.push(this.model.digest());
  }

  private async change(change: () => void, write: () => Promise<unknown>): Promise<void> {
    this.begin(change);
    await write();
    this.answered();
  }

  /** Every change so far was answered. */
  private answered(): void {
    this.acknowledged = this.states.length - 1;
    if (this.options.durability !== 'ASYNC_WAL') this.durable = this.acknowledged;
  }

  private async createTable(): Promise<void> {
    await this.change(
      () => this.model.createTable('t'),
      () =>
        this.engine.admin.createTable(
          tableDescriptor('t', { a: { compression: 'GZ' }, b: { versions: 3, bloomFilter: 'ROWCOL' } }),
        ),
    );
  }

  private row(): string {
    return `row${Math.floor(this.random() * 20)}`;
  }

  private value(): string {
    return `${this.step}.`.repeat(1 + Math.floor(this.random() ** 2 * 120));
  }

  private put(row: string, value: string): Put {
    return new Put(row).addColumn('a', 'v', value).addColumn('b', 'v', value);
  }

  private modelPut(row: string, value: string): void {
    this.modelSet(row, value, value);
  }

  private modelSet(row: string, a: Value, b: Value): void {
    this.model.set('t', row, 'a:v', a);
    this.model.set('t', row, 'b:v', b);
  }

  /** Puts that are made in one turn, of both families each. */
  private async group(): Promise<void> {
    const count = 1 + Math.floor(this.random() * 5);
    const writes: Promise<void>[] = [];
    const puts: { readonly row: string; readonly value: string; readonly before: readonly Value[] }[] = [];
    for (let i = 0; i < count; i++) {
      const row = this.row();
      const value = this.value();
      puts.push({ row, value, before: ['a:v', 'b:v'].map((column) => this.model.get('t', row, column)) });
      this.begin(() => this.modelPut(row, value));
      writes.push(this.engine.table('t').put(this.put(row, value)));
    }
    const outcomes = await Promise.allSettled(writes);
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed === undefined) {
      this.answered();
      return;
    }
    // What the log lost was rejected; what came behind it in the turn may have been written all the same.
    if (outcomes.indexOf(failed) < outcomes.findLastIndex(({ status }) => status === 'fulfilled')) {
      this.begin(() => {
        for (const { row, before } of puts.toReversed()) this.modelSet(row, before[0], before[1]);
        puts.forEach(({ row, value }, i) => {
          if (outcomes[i]!.status === 'fulfilled') this.modelPut(row, value);
        });
      });
      this.answered();
    }
    throw failed.reason;
  }

  private async increment(): Promise<void> {
    const row = `count${Math.floor(this.random() * 3)}`;
    const value = (this.counters.get(row) ?? 0) + this.step;
    this.counters.set(row, value);
    await this.change(
      () => this.model.set('t', row, 'b:c', counter(value)),
      () => this.engine.table('t').increment(new Increment(row).addColumn('b', 'c', this.step)),
    );
  }

  private async append(): Promise<void> {
    const row = `log${Math.floor(this.random() * 3)}`;
    const value = `${this.model.get('t', row, 'a:log') ?? ''}${this.step};`;
    await this.change(
      () => this.model.set('t', row, 'a:log', value),
      () => this.engine.table('t').append(new Append(row).addColumn('a', 'log', `${this.step};`)),
    );
  }

  private async rowMutations(): Promise<void> {
    const row = this.row();
    const value = this.value();
    const mutations = new RowMutations(row).add(
      new Put(row).addColumn('a', 'v', value),
      new Delete(row).addColumns('b', 'v'),
    );
    await this.change(
      () => {
        this.model.set('t', row, 'a:v', value);
        this.model.set('t', row, 'b:v', undefined);
      },
      () => this.engine.table('t').mutateRow(mutations),
    );
  }

  private async deleteRow(): Promise<void> {
    const row = this.row();
    await this.change(
      () => this.model.removeRow('t', row),
      () => this.engine.table('t').delete(new Delete(row)),
    );
  }

  private async atomicBatch(): Promise<void> {
    const value = this.value();
    const rows = [...new Set(Array.from({ length: 4 }, () => this.row()))];
    await this.change(
      () => {
        for (const row of rows) this.modelPut(row, value);
      },
      () =>
        this.engine.table('t').batch(
          rows.map((row) => this.put(row, value)),
          { atomic: true },
        ),
    );
  }

  /** New rows in one buffer, each with a cell of another row: as entities with an index are written. */
  private async newRows(): Promise<void> {
    const value = this.value();
    const names = ['a', 'b', 'c'].map((name) => `${name}${this.step}`);
    const columns = ['a', 'b'].map((family) => ({ family, qualifier: toBytes('v') }));
    const puts = new PackedPuts(columns, 'USE_DEFAULT');
    const entries = new ColumnPuts('t', 'a', toBytes('e'), 'USE_DEFAULT');
    let packed = '';
    let bytes = 'e';
    for (const name of names) {
      puts.reserve(2);
      puts.cells.set([0, 1], puts.cellCount);
      puts.valueEnds.set([packed.length + value.length, packed.length + 2 * value.length], puts.cellCount);
      puts.cellCount += 2;
      packed += value + value;
      puts.endRow(toBytes(`new-${name}`));
      bytes += `entry-${name}`;
      entries.rowEnds.push(bytes.length);
      bytes += value;
      entries.valueEnds.push(bytes.length);
    }
    puts.bytes = toBytes(packed);
    entries.bytes = toBytes(bytes);
    await this.change(
      () => {
        for (const name of names) {
          this.modelPut(`new-${name}`, value);
          this.model.set('t', `entry-${name}`, 'a:e', value);
        }
      },
      () =>
        this.engine.table('t').atomic!((step) => {
          if (!step.putNewRows!(puts, () => entries)) throw new Error('the rows are not new');
        }),
    );
  }

  private async splitOrMerge(): Promise<void> {
    const { admin } = this.engine;
    const names = (await admin.getRegions('t')).map(({ name }) => name);
    if (names.length > 2) await admin.mergeRegions(names.slice(0, 2));
    else await admin.split('t');
  }

  private async alter(): Promise<void> {
    const compression = this.random() < 0.5 ? 'GZ' : 'NONE';
    await this.engine.admin.modifyTable(
      tableDescriptor('t', { a: { compression }, b: { versions: 3, dataBlockEncoding: 'FAST_DIFF' } }),
    );
  }

  /** Makes, fills, empties or drops a second table, which has regions from the beginning. */
  private async otherTable(): Promise<void> {
    const { admin } = this.engine;
    if (!(await admin.tableExists('ns:u'))) {
      if (!(await admin.listNamespaces()).includes('ns')) await admin.createNamespace('ns');
      await this.change(
        () => this.model.createTable('ns:u'),
        () => admin.createTable(tableDescriptor('ns:u', { f: {} }), [toBytes('g'), toBytes('p')]),
      );
    } else if (this.random() < 0.7) {
      const rows = ['alpha', 'hotel', 'zulu'];
      const value = String(this.step);
      await this.change(
        () => {
          for (const row of rows) this.model.set('ns:u', row, 'f:q', value);
        },
        () =>
          this.engine.table('ns:u').batch(
            rows.map((row) => new Put(row).addColumn('f', 'q', value)),
            { atomic: true },
          ),
      );
    } else {
      const truncate = this.random() < 0.5;
      if (await admin.isTableEnabled('ns:u')) await admin.disableTable('ns:u');
      await this.change(
        () => (truncate ? this.model.createTable('ns:u') : this.model.dropTable('ns:u')),
        () => (truncate ? admin.truncateTable('ns:u', true) : admin.deleteTable('ns:u')),
      );
    }
  }

  /** Rows of one family that are loaded as a file: all at once. */
  private async bulkLoad(): Promise<void> {
    const value = String(this.step);
    const rows = ['load1', 'load2', 'row1', 'row10'];
    // Of now: deletions before cover what is older than they are, and those to come cover this.
    const now = this.options.clock!();
    const cell = (row: string): Cell =>
      new Cell(toBytes(row), 'a', toBytes('l'), now, CellType.Put, toBytes(value));
    await this.change(
      () => {
        for (const row of rows) this.model.set('t', row, 'a:l', value);
      },
      () => this.engine.bulkLoad('t', rows.map(cell)),
    );
    this.durable = this.acknowledged;
  }

  /** A copy that opens by itself and holds the same. */
  private async checkpoint(): Promise<void> {
    const path = `/data/copy${this.step}`;
    await this.engine.checkpoint(path);
    const { logArchive: _, ...options } = this.options;
    const copy = await openEmbedded(path, options);
    try {
      if ((await digestOf(copy)) !== this.states.at(-1))
        throw new Error('the checkpoint holds something else');
    } finally {
      await copy.close();
    }
  }

  private async reopen(): Promise<void> {
    await this.engine.close();
    this.durable = this.acknowledged;
    await this.openAndRead();
  }

  private async openAndRead(): Promise<void> {
    this.engine = await openEmbedded(STORE, this.options);
    if ((await digestOf(this.engine)) !== this.states.at(-1))
      throw new Error('closing has changed the store');
  }
}

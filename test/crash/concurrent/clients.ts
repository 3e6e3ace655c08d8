/**
 * Clients that change one store without waiting for each other, and operators that flush, merge, split, load, alter and
 * copy it meanwhile. What they begin and what comes of it is noted in a {@link History}.
 */

import { toBytes } from '../../../src/bytes/index.js';
import { RowanError } from '../../../src/errors.js';
import type { EmbeddedEngine } from '../../../src/store/engine.js';
import {
  Append,
  Cell,
  CellType,
  Delete,
  type Durability,
  Increment,
  Put,
  RowMutations,
  type Table,
  tableDescriptor,
} from '../../../src/table/index.js';
import { seededRandom } from '../seeded-random.js';
import type { Change, ChangeKind, History } from './history.js';
import { batchRows, LOAD_ROWS } from './observe.js';

export const DESCRIPTOR = tableDescriptor('t', { a: { compression: 'GZ' }, b: { bloomFilter: 'ROWCOL' } });
const ALTERED = tableDescriptor('t', { a: { dataBlockEncoding: 'FAST_DIFF' }, b: { bloomFilter: 'ROWCOL' } });

interface ClientsOptions {
  readonly seed: number;
  readonly clients: number;
  /** Changes that each client makes. */
  readonly changes: number;
  readonly operators: number;
  /** Somebody divides regions all the time. */
  readonly splitting?: boolean;
  readonly history: History;
  /** The store, which may be another after a while. */
  readonly engine: () => EmbeddedEngine;
  /** Makes a copy and looks at it. */
  readonly checkpoint?: () => Promise<void>;
  /** Looks at the open store. */
  readonly look?: () => Promise<void>;
  /** Closes the store and opens it again. */
  readonly reopen?: () => Promise<void>;
  /** Resolves when no new life of the store is awaited. */
  readonly reopened?: () => Promise<void> | undefined;
  /** Told of errors of operators; what it throws ends the run. */
  readonly onError: (error: RowanError, doing: string) => void;
}

/** Some turns of the microtask queue, or of the event loop. */
async function pause(random: () => number): Promise<void> {
  if (random() < 0.1) await new Promise((resolve) => setImmediate(resolve));
  for (let turns = Math.floor(random() * 12); turns > 0; turns--) await null;
}

export async function runClients(options: ClientsOptions): Promise<void> {
  let writing = true;
  const writers = Array.from({ length: options.clients }, (_, i) => new Client(options, i).run());
  const operators = Array.from({ length: options.operators }, (_, i) =>
    new Operator(options, i).run(() => writing),
  );
  if (options.splitting === true) operators.push(new Splitter(options, options.operators).run(() => writing));
  const written = Promise.all(writers).finally(() => {
    writing = false;
  });
  await Promise.all([written, ...operators]);
}

abstract class Actor {
  protected readonly random: () => number;
  private readonly floating = new Set<Promise<void>>();

  constructor(
    protected readonly options: ClientsOptions,
    protected readonly number: number,
  ) {
    this.random = seededRandom(options.seed * 1000 + number);
  }

  protected choose(count: number): number {
    return Math.floor(this.random() * count);
  }

  protected get table(): Table {
    return this.options.engine().table('t');
  }

  /** Begins a change and follows it, with others under way or not. */
  protected change(
    kind: ChangeKind,
    row: string,
    durability: Durability,
    work: (change: Change) => Promise<unknown>,
  ): Promise<void> {
    const change = this.options.history.begin(kind, row, durability === 'FSYNC_WAL');
    // A call that throws at once is a rejection like any other.
    return this.options.history.follow(change, (async () => work(change))());
  }

  /** Goes on before it is done, as long as not too much is under way. */
  protected async float(work: Promise<void>): Promise<void> {
    const floating = work.finally(() => this.floating.delete(floating));
    this.floating.add(floating);
    if (this.random() < 0.4 || this.floating.size >= 4) await this.settled();
    else await pause(this.random);
  }

  protected async settled(): Promise<void> {
    await Promise.all(this.floating);
  }
}

class Client extends Actor {
  async run(): Promise<void> {
    for (let made = 0; made < this.options.changes; made++) {
      await this.float(this.next());
      await this.alive();
    }
    await this.settled();
  }

  /** Some go on into a store that closes; if all did, a long close would use up the changes of a whole run. */
  private async alive(): Promise<void> {
    const reopened = this.options.reopened?.();
    if (reopened !== undefined && this.random() < 0.7) await reopened;
  }

  private value(id: number): string {
    return `${id} ${'x'.repeat(Math.floor(this.random() ** 3 * 700))}`;
  }

  private next(): Promise<void> {
    const durability: Durability = this.random() < 0.7 ? 'FSYNC_WAL' : 'ASYNC_WAL';
    const { table } = this;
    const dice = this.choose(20);
    if (dice < 6)
      return this.change('put', '', durability, ({ id }) => table.put(this.both(`p-${id}`, id, durability)));
    if (dice < 7)
      return this.change('loose', '', 'SKIP_WAL', ({ id }) =>
        table.put(new Put(`k-${id}`).addColumn('a', 'v', this.value(id)).setDurability('SKIP_WAL')),
      );
    if (dice < 10) {
      const row = `s${this.choose(3)}`;
      return this.change('set', row, durability, ({ id }) => table.mutateRow(this.set(row, id, durability)));
    }
    if (dice < 12) {
      const row = `s${this.choose(3)}`;
      return this.change('delete', row, durability, ({ id }) =>
        table.mutateRow(this.unset(row, id, durability)),
      );
    }
    if (dice < 15) {
      const row = `c${this.choose(2)}`;
      return this.change('count', row, durability, ({ id }) =>
        table.increment(
          new Increment(row).addColumn('b', 'n', id).addColumn('b', `m${id}`, 1).setDurability(durability),
        ),
      );
    }
    if (dice < 17) {
      const row = `l${this.choose(2)}`;
      return this.change('append', row, durability, ({ id }) =>
        table.append(new Append(row).addColumn('a', 'l', `${id};`).setDurability(durability)),
      );
    }
    return this.change('batch', '', durability, ({ id }) => {
      const rows = Array.from({ length: batchRows(id) }, (_, i) => `${'gmtz'[i % 4]}${i >> 2}-${id}`);
      return table.batch(
        rows.map((row) => this.both(row, id, durability)),
        { atomic: true },
      );
    });
  }

  private both(row: string, id: number, durability: Durability): Put {
    const value = this.value(id);
    return new Put(row).addColumn('a', 'v', value).addColumn('b', 'v', value).setDurability(durability);
  }

  private set(row: string, id: number, durability: Durability): RowMutations {
    return new RowMutations(row).add(this.both(row, id, durability).addColumn('a', `m${id}`, '1'));
  }

  private unset(row: string, id: number, durability: Durability): RowMutations {
    const gone = new Delete(row).addColumns('a', 'v').addColumns('b', 'v').setDurability(durability);
    return new RowMutations(row).add(
      gone,
      new Put(row).addColumn('a', `m${id}`, '1').setDurability(durability),
    );
  }
}

class Operator extends Actor {
  async run(wanted: () => boolean): Promise<void> {
    while (wanted()) {
      await this.float(this.next());
      await new Promise((resolve) => setImmediate(resolve));
    }
    await this.settled();
  }

  protected async next(): Promise<void> {
    const dice = this.choose(100);
    const { admin } = this.options.engine();
    if (dice < 18) return this.operate('flush', () => admin.flush('t', dice < 9 ? 'a' : undefined));
    if (dice < 28) return this.operate('compact', () => admin.compact('t'));
    if (dice < 36) return this.operate('majorCompact', () => admin.majorCompact('t'));
    if (dice < 44) return this.split();
    if (dice < 52)
      return this.operate('modifyTable', () => admin.modifyTable(dice < 48 ? DESCRIPTOR : ALTERED));
    if (dice < 62) return this.load();
    if (dice < 68) return this.newTable();
    if (dice < 74) return this.operate('verify', () => this.options.engine().verify());
    if (dice < 80) return this.operate('checkpoint', () => this.options.checkpoint?.());
    if (dice < 84) return this.operate('reopen', () => this.options.reopen?.());
    return this.operate('look', () => this.options.look?.());
  }

  protected async operate(doing: string, work: () => Promise<unknown> | undefined): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof RowanError)) throw error;
      this.options.onError(error, doing);
    }
  }

  private async split(): Promise<void> {
    const { admin } = this.options.engine();
    await this.operate('split', async () => {
      if ((await admin.getRegions('t')).length < 6) await admin.split('t');
      else await this.merge();
    });
  }

  /** Two neighbors, unless another change of the regions comes first. */
  protected async merge(): Promise<void> {
    const { admin } = this.options.engine();
    const names = (await admin.getRegions('t')).map(({ name }) => name);
    const first = this.choose(names.length - 1);
    await admin.mergeRegions(names.slice(first, first + 2)).catch((error: unknown) => {
      if (!(error instanceof RowanError && error.code === 'ERR_INVALID_ARGUMENT')) throw error;
    });
  }

  private load(): Promise<void> {
    return this.change('load', '', 'FSYNC_WAL', ({ id }) => {
      const cell = (i: number): Cell =>
        new Cell(toBytes(`${'bnv'[i]}-${id}`), 'a', toBytes('v'), id, CellType.Put, toBytes('bulk'));
      return this.options.engine().bulkLoad(
        't',
        Array.from({ length: LOAD_ROWS }, (_, i) => cell(i)),
      );
    });
  }

  private newTable(): Promise<void> {
    return this.change('table', '', 'FSYNC_WAL', ({ id }) =>
      this.options.engine().admin.createTable(tableDescriptor(`u${id}`, { f: {} })),
    );
  }
}

class Splitter extends Operator {
  private made = 0;

  /** At keys among those of the clients, none of which is tried twice. */
  protected override async next(): Promise<void> {
    const key = `${'clps'[this.choose(4)]}-${this.choose(300)}!${this.made++}`;
    const { admin } = this.options.engine();
    await this.operate('split', async () => {
      if ((await admin.getRegions('t')).length < 12) await admin.split('t', toBytes(key));
      else await this.merge();
    });
  }
}

/**
 * Queries by an index beside a writer, where one step is one row, as on HBase: rows whose entries move while a query reads are
 * given once each, in every form, whatever the order is in which the calls of the two programs reach the tables.
 */

import { afterAll, expect, test } from 'vitest';
import { Database } from '../../src/database.js';
import { ReturnedRows } from '../../src/features/indexes/query/lookup-cursor.js';
import { type EmbeddedEngine, openEmbedded } from '../../src/store/engine.js';
import type {
  Engine,
  Get,
  OperationOptions,
  Result,
  ResultScanner,
  Table as Rows,
  Scan,
} from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/index.js';
import { record } from '../proof/evidence.js';
import { fromMiddle } from '../proof/scale.js';
import { schemaOf, stepless } from '../proof/stepless.js';
import { FORMS, fill, Job, type Jobs, move } from './moving.js';

type Who = 'reader' | 'writer';

/** Lets the calls of two programs through one at a time, in the order of a schedule; behind its end as they come. */
class Turns {
  private readonly waiting: Record<Who, (() => void)[]> = { reader: [], writer: [] };
  private readonly ended = new Set<Who>();
  private isBusy = false;
  private next = 0;
  readonly calls: Record<Who, number> = { reader: 0, writer: 0 };

  constructor(private readonly schedule: readonly Who[]) {}

  async run<T>(who: Who, call: () => Promise<T>): Promise<T> {
    await new Promise<void>((resolve) => {
      this.waiting[who].push(resolve);
      this.go();
    });
    this.calls[who]++;
    try {
      return await call();
    } finally {
      this.isBusy = false;
      this.go();
    }
  }

  end(who: Who): void {
    this.ended.add(who);
    this.go();
  }

  private go(): void {
    if (this.isBusy) return;
    while (this.next < this.schedule.length && this.ended.has(this.schedule[this.next]!)) this.next++;
    const turn = this.schedule[this.next];
    const who = turn ?? (this.waiting.reader.length > 0 ? 'reader' : 'writer');
    const call =
      this.waiting[who].shift() ?? [...this.waiting.reader.splice(0, this.ended.has('reader') ? 1 : 0)][0];
    if (call === undefined) return;
    if (turn !== undefined) this.next++;
    this.isBusy = true;
    call();
  }
}

/** A scanner as HBase's over many regions: each few rows are of a moment of their own. */
class Regions implements ResultScanner {
  moments = 0;
  private last: Uint8Array | undefined;
  private ended = false;

  constructor(
    private readonly table: Rows,
    private readonly of: Scan,
    private readonly turns: Turns,
    private readonly who: Who,
    private readonly rows: number,
  ) {}

  async next() {
    return (await this.nextBatch(1))[0];
  }

  async nextBatch(count: number) {
    const found = [];
    while (found.length < count && !this.ended) {
      const scan = this.of.copy();
      if (this.last !== undefined) scan.withStartRow(this.last, false);
      const size = Math.min(this.rows, count - found.length);
      const batch = await this.turns.run(this.who, async () => {
        const scanner = this.table.scan(scan);
        const some = await scanner.nextBatch(size);
        await scanner.close();
        return some;
      });
      this.moments++;
      found.push(...batch);
      this.last = batch.at(-1)?.row ?? this.last;
      this.ended = batch.length < size;
    }
    return found;
  }

  async close() {
    this.ended = true;
  }

  async *[Symbol.asyncIterator]() {
    for (let one = await this.next(); one !== undefined; one = await this.next()) yield one;
  }
}

/** The engine as a program sees it whose calls wait for their turns. */
function taking(engine: Engine, turns: () => Turns, who: Who, regionRows: number): Engine {
  const table = (of: Rows): Rows =>
    new Proxy(of, {
      get: (target, name) => {
        if (name === 'scan') return (scan: Scan) => new Regions(target, scan, turns(), who, regionRows);
        // Gets of several regions are of several moments, too.
        if (name === 'getAll')
          return async (gets: readonly Get[], options?: OperationOptions): Promise<Result[]> => {
            const found: Result[] = [];
            for (let i = 0; i < gets.length; i += regionRows) {
              const some = gets.slice(i, i + regionRows);
              found.push(...(await turns().run(who, () => target.getAll(some, options))));
            }
            return found;
          };
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) =>
          turns().run(who, async () => value.apply(target, args) as Promise<unknown>);
      },
    });
  return new Proxy(engine, {
    get: (target, name) => {
      if (name === 'table') return (of: string) => table(target.table(of));
      if (name === 'close') return async () => {};
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** Who reads and who writes, on one store, their calls in the order that `turns` says. */
interface Stage {
  readonly reader: Jobs;
  readonly writer: Jobs;
  /** Whether entries say what the rows say when all is done. */
  verify(): Promise<void>;
}

const engines: EmbeddedEngine[] = [];
const free = new Turns([]);
let turns = free;

async function stage(regionRows: number): Promise<Stage> {
  const engine = await openEmbedded('/memory', {
    fileSystem: new MemoryFileSystem(),
    background: 'inline',
    durability: 'ASYNC_WAL',
  });
  engines.push(engine);
  const open = async (who: Who): Promise<Database> => {
    const of = taking(stepless(engine), () => turns, who, regionRows);
    const db = new Database(schemaOf(Job), of, 'create');
    await db.ready();
    return db;
  };
  const reader = await open('reader');
  const writer = await open('writer');
  return {
    reader: reader.repository(Job),
    writer: writer.repository(Job),
    async verify() {
      for (const name of ['byState', 'covering', 'spread', 'byCode', 'byTag'] as const) {
        const found = await writer.index(Job, name).verify();
        expect(found, name).toMatchObject({ missing: 0, extra: 0, stale: 0 });
      }
    },
  };
}

afterAll(async () => {
  for (const engine of engines) await engine.close();
});

/** More calls than a move takes. */
const WHOLE = 1000;

/** Orders of so many calls of each: those with few switches, and beyond that drawn ones. */
function* schedules(reader: number, writer: number): Generator<readonly Who[]> {
  const run = (who: Who, count: number): Who[] => Array.from({ length: count }, () => who);
  // All that the writer does, however many calls that takes.
  for (let a = 1; a <= reader; a++)
    yield [...run('reader', a), ...run('writer', WHOLE), ...run('reader', reader)];
  for (let a = 0; a <= reader; a += fromMiddle(2, 1)) {
    for (let b = writer; b > 0; b -= fromMiddle(3, 1)) {
      yield [...run('reader', a), ...run('writer', b), ...run('reader', reader), ...run('writer', writer)];
      if (fromMiddle(true, false)) continue;
      for (let c = 1; c < reader - a; c += 2) {
        for (let d = 1; d < writer - b; d += 2) {
          yield [
            ...run('reader', a),
            ...run('writer', b),
            ...run('reader', c),
            ...run('writer', d),
            ...run('reader', reader),
          ];
        }
      }
    }
  }
}

/** Places before and behind a move, or two: up, down, within what is asked for. */
const MOVES: readonly (readonly [number, ...number[]])[] = fromMiddle(
  [
    [45, 5],
    [5, 45],
    [15, 25],
  ],
  [
    [45, 5],
    [5, 45],
    [15, 25],
    [35, 15],
    [45, 5, 45],
    [5, 45, 5],
    [25, 15, 35],
  ],
);

/** Moves the row. The write after that waits for what follows the answer: then old entries are gone. */
async function moveWhole(jobs: Jobs, at: number): Promise<void> {
  await move(jobs, at);
  await jobs.update({ id: 'moves' }, { at });
}

let interleavings = 0;

/** Rows of one moment; 100: a query sees one moment of an index, and rows of later ones. */
const CASES = Object.keys(FORMS).flatMap((name) =>
  (name === 'all of a list' ? [2, 100] : [2]).map((regionRows) => [name, regionRows] as const),
);

test.each(CASES)(
  '%s gives each row once, whatever a writer moves meanwhile, %i rows at a moment',
  async (name, regionRows) => {
    for (const [from, ...to] of MOVES) {
      const { reader, writer, verify } = await stage(regionRows);
      turns = free;
      await fill(writer, from);
      // How many calls each takes, alone.
      turns = new Turns([]);
      await FORMS[name]!(reader, 'alone');
      const reads = turns.calls.reader;
      turns = new Turns([]);
      for (const at of [...to, from]) await moveWhole(writer, at);
      const writes = turns.calls.writer;
      for (const schedule of schedules(reads, Math.ceil((writes * to.length) / (to.length + 1)))) {
        const own = new Turns(schedule);
        turns = own;
        const say = `${from} to ${to.join(', ')}: ${schedule.map((who) => who[0]).join('')}`;
        const writing = (async () => {
          for (const at of to) await moveWhole(writer, at);
        })().finally(() => own.end('writer'));
        const reading = FORMS[name]!(reader, say).finally(() => own.end('reader'));
        await Promise.all([writing, reading]);
        interleavings++;
        turns = free;
        await move(writer, from);
      }
      await verify();
    }
  },
);

test('what was given is remembered up to a bound, the newest longest', () => {
  const given = new ReturnedRows(100);
  const row = (i: number) => Buffer.from(`row ${i}`);
  for (let i = 0; i < 1000; i++) {
    expect(given.add(row(i)), `${i}`).toBe(true);
    expect(given.add(row(i)), `${i} again`).toBe(false);
    for (const before of [1, 50, 99]) if (i >= before) expect(given.has(row(i - before))).toBe(true);
    expect(given.has(row(i - 200)), `${i - 200}`).toBe(false);
  }
});

test('what is recorded of these runs', () => {
  record('moving-rows', { interleavings, forms: Object.keys(FORMS).length });
});

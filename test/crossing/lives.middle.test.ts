/**
 * Lives of a database, each with declarations of its own: indexes and summaries come, go and change under their names, keys are
 * changed. Long work is begun and cut off by the close of the database, by a loss of power, or goes on in a copy of the store; the
 * next life finds what the one before has left unfinished. All that was begun ends, by an error that says why; no acknowledged row is
 * lost; and what is made of rows agrees with them.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type ColumnBuilder, defineEntity, defineTable } from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import { type Database, open } from '../../src/database.js';
import { RowanError } from '../../src/errors.js';
import { type KeyElement, part, salt } from '../../src/key/index.js';
import type { Repository } from '../../src/repository/index.js';
import type { KeyedClass } from '../../src/schema/entity-types.js';
import type { EmbeddedEngine } from '../../src/store/engine.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { settableClock } from '../../src/testing/open-memory.js';
import { mayGoOn, scaled } from '../proof/scale.js';
import { Random } from '../query/model/random.js';

const PROGRAMS = scaled(2, 10, 5000);
const FIRST = Number(process.env['ROWAN_SEED'] ?? 1);
const LIVES = 5;
const IDS = Array.from({ length: 40 }, (_, i) => `id${i}`);

/** Forms of an index by name: one of them is declared, or none. */
const INDEXES: Readonly<Record<string, readonly object[]>> = {
  byA: [{ on: [part('a', text)] }, { on: [part('a', text)], include: ['n'] }, { on: [part('n', int32)] }],
  soon: [
    { on: [part('a', text)], consistency: 'eventual' },
    { on: [part('n', int32), part('a', text)], consistency: 'eventual' },
    { on: [part('a', text)] },
  ],
  some: [
    { on: [part('n', int32)], where: { a: 'x' } },
    { on: [part('n', int32)], where: { a: 'y' } },
  ],
};
const SUMMARIES: Readonly<Record<string, readonly object[]>> = {
  perA: [
    { by: ['a'], figures: { rows: 'count' } },
    { by: ['a'], figures: { rows: 'count', total: { sum: 'n' } } },
    { by: [], figures: { rows: 'count' }, where: { a: 'x' } },
  ],
};

function drawForms(random: Random, forms: Readonly<Record<string, readonly object[]>>): object {
  const drawn = Object.entries(forms).flatMap(([name, all]) =>
    random.chance(0.65) ? [[name, random.pick(all)] as const] : [],
  );
  return Object.fromEntries(drawn);
}

interface Declared {
  readonly old: KeyedClass;
  readonly now: KeyedClass;
  readonly shown: string;
}

function declare(random: Random): Declared {
  let shown = '';
  const entity = (name: string, key: readonly KeyElement[]): KeyedClass => {
    const drawn = { indexes: drawForms(random, INDEXES), summaries: drawForms(random, SUMMARIES) };
    shown += ` ${name} ${JSON.stringify(drawn)}`;
    return defineEntity({
      name,
      table: defineTable({ name: name.toLowerCase(), families: { d: {}, e: {} } }),
      key,
      columns: (c: ColumnBuilder<string>) => ({
        a: c.column('d:a', text).optional(),
        n: c.column('e:n', int32),
      }),
      ...drawn,
    } as never) as unknown as KeyedClass;
  };
  const [old, now] = [entity('Olds', [part('id')]), entity('News', [salt(4), part('id')])];
  return { old, now, shown };
}

/** Milliseconds after which work that has not ended is taken to hang. */
const NEVER = 20_000;

/** With what long work may end that is cut off, or meets other work of its kind. */
const ENDS: ReadonlySet<string> = new Set([
  'ERR_CLOSED',
  'ERR_BUSY',
  'ERR_CONFLICT',
  'ERR_ABORTED',
  'ERR_JOB',
]);

type Any = Repository<KeyedClass>;

class Lives {
  readonly log: string[] = [];
  readonly random: Random;
  private readonly clock = settableClock(1_700_000_000_000);
  private disk = new MemoryFileSystem();
  private path = '/lives';
  private db!: Database<EmbeddedEngine>;
  private declared!: Declared;
  /** By id: what `n` may be; undefined: there is no row. One entry: that is known. */
  private readonly may = new Map<string, Set<number | undefined>>();
  private writes = 0;
  private copies = 0;
  private isDark = false;
  private begun: { readonly name: string; readonly end: Promise<string> }[] = [];

  constructor(readonly seed: number) {
    this.random = new Random(seed ^ 0x11fe5);
    for (const id of IDS) this.may.set(id, new Set([undefined]));
  }

  async open(): Promise<void> {
    this.declared = declare(this.random);
    const { old, now, shown } = this.declared;
    this.log.push(`opened with${shown}`);
    this.db = (await open({
      path: this.path,
      entities: [old, now],
      fileSystem: this.disk,
      clock: this.clock,
      background: 'inline',
      memstoreFlushSize: this.random.pick([2000, 1 << 20]),
    })) as Database<EmbeddedEngine>;
  }

  async close(): Promise<void> {
    await this.db.close();
  }

  private get rekey() {
    return this.db.rekey(this.declared.old, this.declared.now);
  }

  /** The layout that is written. */
  private async target(): Promise<KeyedClass> {
    const state = (await this.rekey.status())?.state;
    const isOver = state === 'cut-over' || state === 'cleanup' || state === 'done';
    return isOver ? this.declared.now : this.declared.old;
  }

  async life(): Promise<void> {
    const { random, log } = this;
    this.clock.advance(1 + random.below(100_000));
    await this.open();
    if (random.chance(0.4)) await this.step();
    const rows = this.db.repository(await this.target());
    const writing = Promise.all([0, 1, 2].map((client) => this.write(rows, client)));
    this.begun = [];
    for (let i = 1 + random.below(3); i > 0; i--) this.begin();
    await turns(random.below(60));
    const end = random.below(4);
    let found = this.disk;
    log.push(['closed', 'closed', 'dark', 'copied'][end]!);
    if (end === 3) {
      await writing;
      const path = `/copy${this.copies++}`;
      await this.db.engine.checkpoint(path);
      this.path = path;
    } else if (end === 2) {
      this.isDark = true;
      found = this.disk.crash({ keepUnsynced: random.next(), random: () => random.next() });
    }
    await this.close();
    this.disk = found;
    await writing;
    await this.ended();
    this.isDark = false;
    await this.check(false);
  }

  /** Something of a change of keys, awaited. */
  private async step(): Promise<void> {
    const { random, rekey } = this;
    const state = (await rekey.status())?.state;
    const begun = state !== undefined && state !== 'aborted' && state !== 'aborting';
    const name =
      begun && state !== 'ready' && state !== 'cut-over' ? 'run' : random.pick(['run', 'cutOver', 'cleanup']);
    if (random.chance(0.15) && begun) return this.told('abort', rekey.abort());
    await this.told(name, rekey[name as 'run']());
  }

  private async told(name: string, done: Promise<unknown>): Promise<void> {
    this.log.push(`${name}: ${await endOf(done)}`);
  }

  private begin(): void {
    const { random, db, declared } = this;
    const entity = random.chance(0.5) ? declared.old : declared.now;
    const { indexes, summaries } = db.schema.entity(entity);
    const index = indexes.length === 0 ? undefined : db.index(entity, random.pick(indexes).name as never);
    const summary =
      summaries.length === 0 ? undefined : db.summary(entity, random.pick(summaries).name as never);
    const rows = db.repository(entity) as Any;
    const table = rows.schema.table.descriptor.name;
    const works: Record<string, () => Promise<unknown> | undefined> = {
      build: () => index?.build({ batchRows: 3 }),
      verify: () => index?.verify({ run: { batchRows: 3 } }),
      repair: () => index?.repair({ run: { batchRows: 3 } }),
      drop: () => index?.drop(),
      buildSummary: () => summary?.build({ batchRows: 3 }),
      checkSummary: () => summary?.check({ batchRows: 3 }),
      repairSummary: () => summary?.repair({ batchRows: 3 }),
      run: () => this.rekey.run({ batchRows: 2, checkpointRows: 5 }),
      count: () => rows.find({} as never, { fullScan: true }).count(),
      read: () => rows.find({} as never, { fullScan: true }).all(),
      job: () =>
        db
          .job('count')
          .from(rows.find({} as never, { fullScan: true }) as never)
          .run({ batchRows: 3, restart: true } as never),
      verifyStore: () => db.engine.verify(),
      compact: () => db.admin.majorCompact(table),
      transaction: () =>
        db.transaction(async (tx) => {
          for (const id of IDS.slice(0, 8)) await tx.repository(entity).get({ id } as never);
          await turns(5);
          return tx
            .repository(entity)
            .find({} as never, { fullScan: true })
            .count();
        }),
    };
    const name = random.pick(Object.keys(works));
    const done = works[name]!();
    if (done === undefined) return;
    this.log.push(`begins ${name} of ${table}`);
    this.begun.push({ name, end: endOf(done) });
  }

  /** All that was begun has ended, and says how. */
  private async ended(): Promise<void> {
    for (const { name, end: ending } of this.begun) {
      const end = await Promise.race([ending, sleep(NEVER, 'never', { ref: false })]);
      this.log.push(`${name}: ${end}`);
      expect([...ENDS, 'ok'], `${name} ends with ${end}`).toContain(end.split(' ')[0]);
    }
  }

  private async write(rows: Any, client: number): Promise<void> {
    const { random } = this;
    for (let i = 2 + random.below(8); i > 0; i--) {
      const id = IDS[client + 3 * random.below(13)]!;
      const n = random.chance(0.2) ? undefined : ++this.writes;
      const may = this.may.get(id)!;
      may.add(n);
      const a = random.pick(['x', 'y', undefined]);
      const done =
        n === undefined
          ? rows.delete({ id } as never)
          : rows.put({ id, n, ...(a !== undefined && { a }) } as never);
      const end = await endOf(done);
      if (end !== 'ok') {
        expect(end).toMatch(/^ERR_CLOSED/);
        return;
      }
      if (this.isDark) continue;
      may.clear();
      may.add(n);
    }
  }

  /** `whole`: what is unfinished is finished first. */
  async check(whole: boolean): Promise<void> {
    await this.open();
    const { db, declared, rekey } = this;
    if (whole) await this.finish();
    const state = (await rekey.status())?.state;
    const stored = async (of: KeyedClass): Promise<Map<string, number>> => {
      const all = await db
        .repository(of)
        .find({} as never, { fullScan: true })
        .all();
      return new Map((all as unknown as { id: string; n: number }[]).map(({ id, n }) => [id, n]));
    };
    const rows = await stored(await this.target());
    for (const [id, may] of this.may) {
      expect([...may], id).toContain(rows.get(id));
      may.clear();
      may.add(rows.get(id));
    }
    if (state === 'ready' || state === 'cut-over')
      expect(await stored(declared.old)).toEqual(await stored(declared.now));
    for (const entity of [declared.old, declared.now]) await this.derived(entity, whole);
    await this.close();
  }

  private async finish(): Promise<void> {
    const { rekey } = this;
    await this.build();
    const state = (await rekey.status())?.state;
    if (state === 'aborting') await rekey.abort();
    else if (state !== undefined && state !== 'aborted' && state !== 'done') {
      for (const name of ['run', 'cutOver', 'cleanup'] as const) {
        const now = (await rekey.status())!.state;
        if (name === 'run' && ['ready', 'cut-over', 'cleanup'].includes(now)) continue;
        if (name === 'cutOver' && now !== 'ready') continue;
        await rekey[name]();
        this.log.push(`finished: ${name}`);
      }
    }
    await this.build();
  }

  /** Builds what is not in use, and some of the rest anew. */
  private async build(): Promise<void> {
    const { random, db, declared } = this;
    for (const entity of [declared.old, declared.now]) {
      const { indexes, summaries } = db.schema.entity(entity);
      for (const { name } of indexes) {
        const index = db.index(entity, name as never);
        if (index.state !== 'active' || random.chance(0.2)) await index.build();
      }
      for (const { name } of summaries) {
        const summary = db.summary(entity, name as never);
        if ((await summary.state()) !== 'active' || random.chance(0.2)) await summary.build();
      }
    }
  }

  /** Indexes and summaries that are in use agree with their rows. */
  private async derived(entity: KeyedClass, whole: boolean): Promise<void> {
    const { db } = this;
    const { name: of, indexes, summaries } = db.schema.entity(entity);
    for (const { name, eventual } of indexes) {
      const index = db.index(entity, name as never);
      if (whole) expect(index.state).toBe('active');
      if (index.state !== 'active') continue;
      if (eventual) await index.drain();
      const found = await index.verify();
      expect({ of, name, ...found }).toMatchObject({ missing: 0, stale: 0, extra: 0, pending: 0 });
    }
    for (const { name } of summaries) {
      const summary = db.summary(entity, name as never);
      if ((await summary.state()) !== 'active') continue;
      const { stale, missing, extra } = await summary.check();
      expect({ of, name, stale, missing, extra }).toEqual({ of, name, stale: 0, missing: 0, extra: 0 });
    }
  }
}

async function endOf(done: Promise<unknown>): Promise<string> {
  try {
    await done;
    return 'ok';
  } catch (error) {
    return error instanceof RowanError ? `${error.code} ${error.message}` : `no RowanError: ${String(error)}`;
  }
}

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
}

async function runProgram(seed: number): Promise<void> {
  const run = new Lives(seed);
  try {
    for (let life = 0; life < LIVES; life++) await run.life();
    await run.check(true);
  } catch (error) {
    await run.close().catch(() => undefined);
    throw new Error(`Seed ${seed}\n${run.log.join('\n')}\n${(error as Error).message}`, { cause: error });
  }
}

const TOGETHER = 2;
const parts = Array.from({ length: Math.ceil(PROGRAMS / TOGETHER) }, (_, i) => FIRST + i * TOGETHER);

describe('work that is cut off, and lives with other declarations after it', () => {
  let programs = 0;

  it.each(parts)('lose nothing, programs from %i', async (first) => {
    if (first > FIRST && !mayGoOn()) return;
    for (let seed = first; seed < Math.min(first + TOGETHER, FIRST + PROGRAMS); seed++, programs++)
      await runProgram(seed);
  });

  it('in all programs', () => {
    expect(programs).toBeGreaterThan(0);
  });
});

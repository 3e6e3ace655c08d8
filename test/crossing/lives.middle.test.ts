/**
 * Lives of a database, each with declarations of its own: indexes and summaries come, go and change under their names, keys are
 * changed, rows may end by themselves. Long work is begun and cut off by the close of the database, by a loss of power, or goes on in a copy of
 * the store or in what is restored of its tables; the next life finds what the one before has left unfinished. All that was begun ends, by an error that
 * says why; no acknowledged row is lost; and what is made of rows agrees with them, as does what a change feed has told, and what another process reads.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type Database, open } from '../../src/database.js';
import { RowanError } from '../../src/errors.js';
import type { Repository } from '../../src/repository/index.js';
import type { KeyedClass } from '../../src/schema/entity-types.js';
import type { EmbeddedEngine } from '../../src/store/engine.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { settableClock } from '../../src/testing/open-memory.js';
import { record } from '../proof/evidence.js';
import { fromMiddle, mayGoOn } from '../proof/scale.js';
import { Random } from '../query/model/random.js';
import { type Declared, declare, type Kept, Told } from './lives.js';
import { restoredTables } from './restored.js';

const PROGRAMS = fromMiddle(40, 5000);
const FIRST = Number(process.env['ROWAN_SEED'] ?? 1);
const LIVES = 5;
const IDS = Array.from({ length: 40 }, (_, i) => `id${i}`);

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

/** Where programs live, one after the other. */
class Place {
  readonly clock = settableClock(1_700_000_000_000);
  readonly log: string[] = [];
  disk = new MemoryFileSystem();
  path = '/lives';
  copies = 0;
  /** How often the tables were restored, into a store with its own numbers of commits. */
  restored = 0;
}

class Lives {
  readonly log: string[];
  readonly random: Random;
  private readonly clock: () => number;
  private db!: Database<EmbeddedEngine>;
  private declared!: Declared;
  /** By id: what `n` may be; undefined: there is no row. One entry: that is known. */
  private readonly may = new Map<string, Set<number | undefined>>();
  private writes = 0;
  /** The store that was checked last, by how often it was restored. */
  private checkedIn = 0;
  private isDark = false;
  /** The layout that is not written, when both are right. */
  private beside: KeyedClass | undefined;
  private begun: { readonly name: string; readonly end: Promise<string> }[] = [];
  private readonly kept: Kept;
  /** By id: until when a row lives that ends by itself. */
  private readonly ends = new Map<string, number>();
  private readonly feed = new Told();

  constructor(
    readonly seed: number,
    private readonly place: Place = new Place(),
    prefix = '',
  ) {
    this.clock = place.clock;
    this.log = place.log;
    this.random = new Random(seed ^ 0x11fe5);
    const { random } = this;
    this.kept = { ends: random.chance(0.4), told: random.chance(0.4), wide: random.chance(0.4), prefix };
    for (const id of IDS) this.may.set(id, new Set([undefined]));
  }

  async open(): Promise<void> {
    this.declared = declare(this.random, this.kept);
    const { old, now, shown } = this.declared;
    this.log.push(`opened ${this.kept.prefix}with${shown}`);
    this.db = (await open({
      path: this.place.path,
      entities: [old, now],
      fileSystem: this.place.disk,
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
    const { random, log, place } = this;
    place.clock.advance(1 + random.below(100_000));
    await this.open();
    if (random.chance(0.4)) await this.step();
    const target = await this.target();
    const rows = this.db.repository(target);
    const { old, now } = this.declared;
    const state = (await this.rekey.status())?.state;
    const areBoth = state === 'ready' || state === 'cut-over';
    this.beside = areBoth ? (target === old ? now : old) : undefined;
    const writing = Promise.all([0, 1, 2].map((client) => this.write(rows, client)));
    this.begun = [];
    for (let i = 1 + random.below(3); i > 0; i--) this.begin();
    await turns(random.below(60));
    const end = random.below(5);
    let found = place.disk;
    log.push(['closed', 'closed', 'dark', 'copied', 'restored'][end]!);
    if (end === 4) {
      await writing;
      found = new MemoryFileSystem();
      const path = `/copy${place.copies++}`;
      await restoredTables(this.db.engine, path, { fileSystem: place.disk, clock: this.clock }, found);
      place.path = path;
      place.restored++;
    } else if (end === 3) {
      await writing;
      const path = `/copy${place.copies++}`;
      await this.db.engine.checkpoint(path);
      place.path = path;
    } else if (end === 2) {
      this.isDark = true;
      found = place.disk.crash({ keepUnsynced: random.next(), random: () => random.next() });
    }
    await this.close();
    place.disk = found;
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
      const done = n === undefined ? rows.delete({ id } as never) : this.put(rows, id, n);
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

  private put(rows: Any, id: string, n: number): Promise<unknown> {
    const { random, kept } = this;
    const a = random.pick(['x', 'y', undefined]);
    const ttl = kept.ends && random.chance(0.5) ? 20_000 + random.below(200_000) : undefined;
    if (ttl !== undefined)
      this.ends.set(id, Math.min(this.ends.get(id) ?? Number.POSITIVE_INFINITY, this.clock() + ttl));
    const wide = kept.wide && {
      note: { s: `${a}`, n },
      blob: Buffer.alloc(random.below(300), n),
      map: new Map([[random.pick(['s', 't']), n]]),
    };
    const entity = {
      id,
      n,
      ...(a !== undefined && { a }),
      ...(ttl !== undefined && { ttl }),
      ...wide,
    } as never;
    if (random.chance(0.7)) return rows.put(entity);
    if (random.chance(0.5))
      return this.db.transaction(async (tx) => {
        const own = tx.repository(rows.schema.target as KeyedClass);
        if (this.beside !== undefined) {
          await tx.repository(this.beside).put({ id, n: -n, a: 'x' } as never);
          expect(await own.get({ id } as never)).toMatchObject({ n: -n, a: 'x' });
        }
        return own.put(entity);
      });
    return rows.batch((batch) => batch.replace(entity), { atomic: true });
  }

  /** `whole`: what is unfinished is finished first. */
  async check(whole: boolean): Promise<void> {
    const isOther = this.checkedIn !== this.place.restored;
    this.checkedIn = this.place.restored;
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
    const target = await this.target();
    const rows = await stored(target);
    for (const [id, end] of this.ends) if (end <= this.clock()) this.may.get(id)!.add(undefined);
    for (const [id, may] of this.may) {
      expect([...may], id).toContain(rows.get(id));
      may.clear();
      may.add(rows.get(id));
      if (!rows.has(id)) this.ends.delete(id);
    }
    if (state === 'ready' || state === 'cut-over')
      expect(await stored(declared.old)).toEqual(await stored(declared.now));
    for (const entity of [declared.old, declared.now]) await this.derived(entity, whole);
    if (this.kept.told) {
      const side = target === declared.now ? 'now' : 'old';
      const told = await this.feed.follow(db, declared, rows, side, isOther);
      const lives = [...told].filter(([id]) => rows.has(id) || !this.kept.ends);
      expect(new Map(lives)).toEqual(rows);
    }
    await this.reader(target, rows);
    await this.close();
  }

  /** Another process reads the same. */
  private async reader(target: KeyedClass, rows: ReadonlyMap<string, number>): Promise<void> {
    const { old, now } = this.declared;
    await using reader = await open({
      ...{ path: this.place.path, entities: [old, now], readOnly: true },
      ...{ fileSystem: this.place.disk, clock: this.clock },
    });
    const all = reader.repository(target).find({} as never, { fullScan: true });
    expect(await all.count()).toBe(rows.size);
    for (const { name } of reader.schema.entity(target).indexes) {
      if (reader.index(target, name as never).state !== 'active') continue;
      const counts = [this.db, reader].map((each) =>
        each
          .repository(target)
          .by(name as never)
          .find({} as never, { fullScan: true } as never)
          .count(),
      );
      const [own, read] = await Promise.all(counts);
      expect(read, name).toBe(own);
    }
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

/** Lives of programs with tables of their own in one place, in a random order. */
async function runPrograms(seed: number, programs: readonly Lives[]): Promise<void> {
  const random = new Random(seed);
  try {
    for (let life = 0; life < LIVES * programs.length; life++) await random.pick(programs).life();
    for (const program of programs) await program.check(true);
  } catch (error) {
    for (const program of programs) await program.close().catch(() => undefined);
    const log = programs[0]!.log.join('\n');
    throw new Error(`Seed ${seed}\n${log}\n${(error as Error).message}`, { cause: error });
  }
}

async function runTwo(seed: number): Promise<void> {
  const place = new Place();
  await runPrograms(seed, [new Lives(seed, place, 'a_'), new Lives(seed + 0x5eed, place, 'b_')]);
}

const TOGETHER = 2;
const parts = Array.from({ length: Math.ceil(PROGRAMS / TOGETHER) }, (_, i) => FIRST + i * TOGETHER);

describe('work that is cut off, and lives with other declarations after it', () => {
  let programs = 0;
  let both = 0;

  it.each(parts)('lose nothing, programs from %i', async (first) => {
    if (first > FIRST && !mayGoOn()) return;
    for (let seed = first; seed < Math.min(first + TOGETHER, FIRST + PROGRAMS); seed++, programs++)
      await runPrograms(seed, [new Lives(seed)]);
  });

  it.each(parts.slice(0, Math.ceil(parts.length / 4)))(
    'and so of two programs with entities of the same names over other tables, from %i',
    async (first) => {
      if (first > FIRST && !mayGoOn()) return;
      for (let seed = first; seed < Math.min(first + TOGETHER, FIRST + PROGRAMS); seed++, both++)
        await runTwo(seed);
    },
  );

  it('in all programs', () => {
    expect(programs).toBeGreaterThan(0);
    expect(both).toBeGreaterThan(0);
    record('lives', { programs, lives: programs * LIVES });
  });
});

/**
 * Features crossed: random declarations that have several at once, random programs of every way of writing, one at a time,
 * in batches and in transactions, between flushes, compactions, openings with moved columns and clocks that are set back, held against a plain Map.
 */

import { describe, expect, it } from 'vitest';
import { type Database, type OpenOptions, open } from '../../src/database.js';
import { RowanError, SchemaError } from '../../src/errors.js';
import type { BaseQuery } from '../../src/query/base-query.js';
import type { EmbeddedEngine } from '../../src/store/engine.js';
import { Delete } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { settableClock } from '../../src/testing/open-memory.js';
import { record } from '../proof/evidence.js';
import { mayGoOn, scaled } from '../proof/scale.js';
import { Random } from '../query/model/random.js';
import { type Declared, declare, type Feature, KEPT_VERSIONS, type Values } from './declare.js';
import { Derived } from './derived.js';
import { keyText, Model, type Operation, type Row, type Rows } from './model.js';
import {
  addTo,
  BATCHED,
  drawOperation,
  drawSettings,
  drawValues,
  entityOf,
  perform,
  repositoriesOf,
  withoutHistory,
} from './program.js';
import { restoredTables } from './restored.js';
import { compareVersions, shown } from './shown.js';

const PROGRAMS = scaled(2, 100, 20_000);
const FIRST = Number(process.env['ROWAN_SEED'] ?? 1);
const STEPS = 14;
const START = 1_700_000_000_000;

/** What shows the times of writes: where the clock stands still, several have the same. */
const SHOW_TIMES: readonly Feature[] = ['stamps', 'softDelete', 'versions', 'past'];

const rowText = ({ key, values }: Row): string => shown({ ...values, ...key });

class Run {
  readonly clock = settableClock(START);
  readonly disk = new MemoryFileSystem();
  readonly random: Random;
  readonly model: Model;
  declared: Declared;
  db!: Database;
  private options!: OpenOptions;
  private copies = 0;
  log: string[] = [];
  /** Of an entity with upgrades: of which version its rows are at least. */
  private stage: 'first' | 'later' | 'settled' = 'first';
  readonly derived: Derived;
  /** What was there at times past. */
  private readonly moments: { readonly time: number; readonly rows: Rows }[] = [];

  /** Draws the settings of the store: apart, so that they change no program. */
  private readonly settings: Random;
  /** Draws when the clock is set back. */
  private readonly backs: Random;
  /** The store's time. */
  private time = START;

  constructor(readonly seed: number) {
    this.random = new Random(seed ^ 0x5eed);
    this.settings = new Random(seed ^ 0x5e77);
    this.backs = new Random(seed ^ 0xbac5);
    this.declared = declare(new Random(seed), false);
    const { features, renew } = this.declared;
    compareVersions(renew || features.has('ownTtl') ? 1 : KEPT_VERSIONS);
    const { clock } = this;
    const time = () => {
      this.time = Math.max(this.time, clock());
      return this.time;
    };
    this.derived = new Derived(this.declared.features, shown);
    this.model = new Model(this.declared, {
      get now() {
        return time();
      },
      get clock() {
        return clock();
      },
    });
  }

  async open(): Promise<void> {
    const { main, sibling, source } = this.declared;
    const entities = [main, sibling, source].filter((target) => target !== undefined);
    const options = drawSettings(this.settings);
    this.log.push(`opened with ${JSON.stringify(options)}`);
    this.options = {
      path: '/crossing',
      entities: entities as never,
      fileSystem: this.disk,
      clock: this.clock,
      ...options,
    };
    this.db = await open({ ...this.options, background: 'inline' });
  }

  /** Reads in every way from a store opened read-only beside this one, from a checkpoint of it, or from what is restored of its tables. */
  private async elsewhere(): Promise<void> {
    const { db, settings } = this;
    const drawn = settings.next();
    const how = drawn < 0.3 ? 'checkpoint' : drawn < 0.85 ? 'reader' : 'restored';
    this.log.push(how);
    const path = `/copy${this.copies++}`;
    const { engine } = db as Database<EmbeddedEngine>;
    const { path: _, entities: __, ...store } = this.options;
    if (how === 'checkpoint') await engine.checkpoint(path);
    else if (how === 'restored') await restoredTables(engine, path, store);
    this.db =
      how === 'reader'
        ? await open({ ...this.options, readOnly: true })
        : await open({ ...this.options, path, background: 'inline' });
    try {
      await this.check(false);
      if (how === 'restored') await this.derived.verify(this.db, this.declared.main);
    } finally {
      await this.db.close();
      this.db = db;
    }
  }

  async step(): Promise<void> {
    const { random, model, declared } = this;
    if (!SHOW_TIMES.some((feature) => declared.features.has(feature)) && this.backs.chance(0.2))
      await this.goBack();
    this.clock.advance(random.chance(0.12) ? 40_000 + random.below(90_000) : 20 + random.below(40));
    const sort = random.below(10);
    if (sort === 0) await this.upkeep();
    else if (sort === 1) await this.batch(random.chance(0.5));
    else if (sort === 2) await this.transaction();
    else if (sort === 3 && this.settings.chance(0.5)) await this.many();
    else {
      const operation = drawOperation(random, declared, model);
      this.note(operation);
      expect(await perform(operation, declared, repositoriesOf(this.db, declared))).toBe(
        model.run(operation),
      );
    }
    if (declared.features.has('past')) this.moments.push({ time: this.clock() + 15, rows: model.rows });
  }

  /** Sets the clock back, but not before the end of a row: that would be there again. */
  private async goBack(): Promise<void> {
    const { clock, backs, db } = this;
    // The store has the time that it saw at a write.
    this.time = Math.max(this.time, clock());
    await (db as Database<EmbeddedEngine>).engine.table('crossing').delete(new Delete(Buffer.from('none')));
    const back = backs.pick([1, 1000, 60_000, 3_600_000]);
    clock.set(Math.max(START, this.model.lastEnd, clock() - back));
    this.log.push(`back to +${clock() - START}`);
  }

  private note(operation: Operation): void {
    this.log.push(
      `+${this.clock() - START} ${operation.kind} ${shown(operation.key)} | ${shown(
        Object.fromEntries(Object.entries(operation.values).map(([name, value]) => [name, value ?? 'NULL'])),
      )} | version ${String(operation.version)} asked ${String(operation.asked)}`,
    );
  }

  private async upkeep(): Promise<void> {
    if (this.stage === 'later' && this.random.chance(0.3)) return this.settle();
    switch (this.random.below(3)) {
      case 0:
        this.log.push('flush');
        return this.db.admin.flush('crossing');
      case 1:
        this.log.push('compact');
        await this.db.admin.flush('crossing');
        return this.db.admin.majorCompact('crossing');
      default:
        return this.openAgain();
    }
  }

  /** With what is declared later. */
  async openAgain(): Promise<void> {
    this.log.push(`opened again, ${this.stage} before`);
    // What an upgrade sets is absent from images of rows of before, where the upgrade is left out.
    await this.derived.follow(this.db, this.declared.main);
    await this.db.close();
    const settled = this.stage === 'settled';
    this.declared = declare(new Random(this.seed), true, settled);
    await this.open();
    if (!this.declared.features.has('upgrade')) return;
    if (this.stage === 'first') {
      this.model.upgrade();
      this.derived.upgrade();
    }
    // An index or summary of another version is another one.
    const { main } = this.declared;
    for (const { name } of this.db.schema.entity(main).indexes) {
      const index = this.db.index(main, name as never);
      if (index.state !== 'active') await index.build();
    }
    for (const { name } of this.db.schema.entity(main).summaries) {
      const summary = this.db.summary(main, name as never);
      if ((await summary.state()) !== 'active') await summary.build();
    }
    if (this.stage === 'first') this.stage = 'later';
  }

  /** Has all rows upgraded, and leaves the upgrades out. */
  private async settle(): Promise<void> {
    await this.db.schema.upgradeRows(this.declared.main);
    this.stage = 'settled';
    return this.openAgain();
  }

  private async batch(atomic: boolean): Promise<void> {
    const { random, model, declared } = this;
    const operations: Operation[] = [];
    for (let i = 1 + random.below(4); i > 0; i--) {
      const operation = withoutHistory(drawOperation(random, declared, model));
      if (BATCHED.has(operation.kind)) operations.push(operation);
    }
    this.log.push(`batch ${atomic ? 'atomic' : ''}`);
    for (const operation of operations) this.note(operation);
    const before = model.rows;
    const { main } = repositoriesOf(this.db, declared);
    const fill = (batch: Parameters<Parameters<typeof main.batch>[0]>[0]) => {
      for (const operation of operations) addTo(batch, operation, declared);
      return batch;
    };
    if (!atomic) {
      const outcomes = await main.batch(fill);
      expect(outcomes.map((outcome) => (outcome.ok ? 'ok' : outcome.error.code))).toEqual(
        operations.map((operation) => model.run(operation)),
      );
      return;
    }
    const failed = operations.map((operation) => model.run(operation)).find((outcome) => outcome !== 'ok');
    if (failed !== undefined) model.rows = before;
    let code = 'ok';
    try {
      await main.batch(fill, { atomic: true });
    } catch (error) {
      if (!(error instanceof RowanError)) throw error;
      code = error.code;
    }
    expect(code).toBe(failed ?? 'ok');
  }

  /** Each row for itself; the first failure is thrown. */
  private async many(): Promise<void> {
    const { settings, model, declared } = this;
    const operations = Array.from({ length: 1 + settings.below(6) }, (): Operation => {
      const key = settings.pick(declared.keys);
      const version = settings.chance(0.85) ? model.row(key)?.values['version'] : 7;
      const values = drawValues(settings, declared, key, false);
      return withoutHistory({ kind: 'put', key, values, version, asked: undefined });
    });
    this.log.push('putMany');
    for (const operation of operations) this.note(operation);
    const outcomes = operations.map((operation) => model.run(operation));
    const { main } = repositoriesOf(this.db, declared);
    const entities = operations.map((operation) => entityOf(operation, declared) as never);
    const failure = await main.putMany(entities).then(
      () => 'ok',
      (error: unknown) => (error instanceof RowanError ? error.code : Promise.reject(error)),
    );
    expect(failure).toBe(outcomes.find((outcome) => outcome !== 'ok') ?? 'ok');
  }

  private async transaction(): Promise<void> {
    const { random, model, declared } = this;
    const { rows, sources } = model;
    const given = random.chance(0.3);
    this.log.push(`transaction${given ? ' given up' : ''}`);
    const drawn: Operation[] = [];
    const count = 1 + random.below(4);
    const done = this.db.transaction(async (tx) => {
      // It is run again where others were faster; texts that are given their first ids are such.
      model.rows = rows;
      model.sources = sources;
      for (let i = 0; i < count; i++) {
        const operation = drawn[i] ?? withoutHistory(drawOperation(random, declared, model));
        if (drawn[i] === undefined) this.note(operation);
        drawn[i] = operation;
        expect(await perform(operation, declared, repositoriesOf(tx, declared))).toBe(model.run(operation));
      }
      if (given) throw new Error('given up');
    });
    if (given) {
      await expect(done).rejects.toThrow('given up');
      model.rows = rows;
      model.sources = sources;
    } else await done;
  }

  /** Reads in every way. `writes`: also what needs a write. */
  async check(writes = true): Promise<void> {
    const { model, declared, random } = this;
    const { main } = repositoriesOf(this.db, declared);
    for (const key of declared.keys) {
      const row = model.living(key);
      const found = await main.get(key as never);
      expect(found === null ? 'nothing' : shown(found)).toBe(row === undefined ? 'nothing' : rowText(row));
      expect(await main.exists(key as never)).toBe(row !== undefined);
    }
    const rows = model.all();
    const lead = random.pick(declared.keys)['k0'];
    const under = rows.filter(({ key }) => key['k0'] === lead);
    await this.answers(main.find({ k0: lead } as never) as never, under);
    await this.answers(main.find({} as never, { fullScan: true }) as never, rows);
    if (declared.features.has('softDelete')) {
      const all = main.find({} as never, { fullScan: true, withDeleted: true });
      await this.answers(all as never, model.all(true));
    }
    const q = random.below(3) - 1;
    const asked = main.find({ k0: lead } as never).where({ q: { gte: q } } as never);
    await this.answers(
      asked as never,
      under.filter(({ values }) => values['q'] !== undefined && Number(values['q']) >= q),
    );
    await this.moved(under, lead);
    await this.indexed(rows);
    if (writes) {
      await this.derived.check(this.db, declared.main, rows, model.all(true));
      await this.together(under);
    }
    await this.past();
    if (writes && this.settings.chance(0.4)) await this.elsewhere();
  }

  /** Asks for what may be at another place than it was. */
  private async moved(under: readonly Row[], lead: unknown): Promise<void> {
    const { settings, declared } = this;
    const of = () => repositoriesOf(this.db, declared).main.find({ k0: lead } as never);
    const away = settings.pick(['', 'x', 'y', 'zz']);
    await this.answers(
      of().where({ away } as never),
      under.filter(({ values }) => values['away'] === away),
    );
    for (const name of ['line', 'json'].filter((each) =>
      declared.features.has(each === 'line' ? 'avro' : 'json'),
    ))
      await this.answers(
        of().where({ [name]: { exists: true } } as never),
        under.filter(({ values }) => values[name] !== undefined),
      );
    if (!declared.features.has('maps')) return;
    const n = settings.below(9);
    await this.answers(
      of().where((w) => w.entry('map' as never, 's' as never, n as never)),
      under.filter(({ values }) => (values['map'] as Map<string, number> | undefined)?.get('s') === n),
    );
  }

  private async answers(query: BaseQuery<object>, rows: readonly Row[]): Promise<void> {
    const wanted = rows.map(rowText).sort();
    const all = (await query.all()).map(shown);
    expect([...all].sort()).toEqual(wanted);
    expect(await query.count()).toBe(wanted.length);
    expect((await query.reverse().all()).map(shown)).toEqual([...all].reverse());
    const paged: string[] = [];
    let page = await query.page({ size: 2 });
    for (;;) {
      paged.push(...page.items.map(shown));
      if (page.cursor === undefined) break;
      page = await query.page({ size: 2, cursor: page.cursor });
    }
    expect(paged).toEqual(all);
  }

  private async indexed(rows: readonly Row[]): Promise<void> {
    const { features } = this.declared;
    const { main } = repositoriesOf(this.db, this.declared);
    const by = (name: string, key: Values) => main.by(name as never).find(key as never) as never;
    if (features.has('index')) {
      const a = this.random.pick(['', 'x', 'y']);
      const meant = rows.filter(({ values }) => values['a'] === a && values['q'] !== undefined);
      await this.answers(by('byA', { a }), meant);
    }
    if (features.has('unique')) {
      await this.answers(
        by('byMail', { mail: 'm1' }),
        rows.filter(({ values }) => values['mail'] === 'm1'),
      );
    }
    if (features.has('several') && features.has('maps')) {
      const mapOf = ({ values }: Row) => values['map'] as Map<string, number> | undefined;
      const meant = rows.filter((row) => mapOf(row)?.has('s'));
      await this.answers(by('byMap', { map: 's' }), meant);
      const state = this.settings.pick(['open', 'shut']);
      await this.answers(
        by('byStateMap', { state, map: 's' }),
        meant.filter(({ values }) => values['state'] === state),
      );
      const value = this.settings.below(9);
      await this.answers(
        by('byMapValue', { map: value }),
        rows.filter((row) => [...(mapOf(row)?.values() ?? [])].includes(value)),
      );
    }
  }

  /** Both record types of the table. */
  private async together(under: readonly Row[]): Promise<void> {
    const { main, sibling } = this.declared;
    if (sibling === undefined || under.length === 0) return;
    const { k0 } = under[0]!.key;
    const repository = this.db.repository(sibling);
    await repository.put({ k0, z: 1, a: 'sibling' } as never);
    const found = await this.db.collection([main, sibling] as never, { k0 } as never).all();
    const own = shown({ k0, z: 1, a: 'sibling' });
    expect(found.map((one) => shown(one as object)).sort()).toEqual([...under.map(rowText), own].sort());
    await repository.delete({ k0, z: 1 } as never);
  }

  /** The store is full: everything is read as before, nothing is added, and all can be removed, in any way. */
  async full(): Promise<void> {
    const { model, declared, settings } = this;
    await this.db.close();
    this.log.push('full');
    this.db = await open({ ...this.options, background: 'inline', maxDiskSize: 1 });
    await this.check(false);
    // What was there at the last moment is not to be deleted at the same moment.
    this.clock.advance(20);
    const refused: string[] = [];
    const none = { values: {}, version: undefined, asked: undefined };
    const kind = declared.features.has('softDelete') ? 'purge' : 'delete';
    const removals: Operation[] = model.all(true).map(({ key }) => ({ kind, key, ...none }));
    // A store that has nothing is below any limit, and takes what is added.
    const isFull = removals.length > 0;
    if (declared.source !== undefined)
      for (const ref of ['r1', 'r2'])
        removals.splice(settings.below(removals.length + 1), 0, {
          ...{ kind: 'sourceGone', key: declared.keys[0]!, ...none },
          values: { ref },
        });
    for (const operation of removals) {
      this.note(operation);
      const drawn = drawOperation(settings, declared, model);
      // A text of keys that has no number yet refuses a whole batch, as its number is written before the batch.
      const key = { ...drawn.key, k0: operation.key.k0 };
      const added = { ...drawn, key, kind: 'insert' as const, values: {} };
      const one = (asked: Parameters<typeof repositoriesOf>[0]) =>
        perform(operation, declared, repositoriesOf(asked, declared));
      const way = isFull ? settings.below(3) : 0;
      let outcome: string;
      if (way === 0) outcome = await one(this.db);
      else if (way === 1 || operation.kind !== 'delete')
        outcome = await this.db.transaction(async (tx) => {
          refused.push(await perform(added, declared, repositoriesOf(tx, declared)));
          return one(tx);
        });
      else {
        const done = await repositoriesOf(this.db, declared).main.batch((batch) => {
          addTo(batch, added, declared);
          addTo(batch, operation, declared);
          return batch;
        });
        const [code, removed] = done.map((each) => (each.ok ? 'ok' : each.error.code));
        refused.push(code!);
        outcome = removed!;
      }
      expect(outcome).toBe(model.run(operation));
    }
    for (const code of refused) expect(code).not.toBe('ok');
    await this.check(false);
    await this.derived.check(this.db, declared.main, [], []);
    await this.db.close();
    this.db = await open({ ...this.options, background: 'inline' });
  }

  private async past(): Promise<void> {
    const { features } = this.declared;
    if (!features.has('past') || features.has('ttl') || features.has('ownTtl')) return;
    const { main } = repositoriesOf(this.db, this.declared);
    const { time, rows } = this.random.pick(this.moments);
    const then = [...rows.values()].filter(({ values }) => values['deleted'] === undefined);
    const found = await main
      .asOf(time)
      .find({} as never, { fullScan: true })
      .all();
    expect(found.map((one) => shown(one as object)).sort()).toEqual(then.map(rowText).sort());
    expect(
      await main
        .asOf(time)
        .find({} as never, { fullScan: true })
        .count(),
    ).toBe(then.length);
    for (const key of this.declared.keys) {
      const there = then.some((row) => keyText(row.key) === keyText(key));
      expect(await main.asOf(time).exists(key as never)).toBe(there);
    }
  }
}

async function runProgram(seed: number): Promise<boolean> {
  const run = new Run(seed);
  try {
    await run.open();
  } catch (error) {
    // What does not go together is refused, all of it, and said.
    if (error instanceof SchemaError) return false;
    throw error;
  }
  try {
    for (let i = 0; i < STEPS; i++) {
      // What is upgraded is to meet every feature, rows of before among them.
      if (i === STEPS / 2 && run.declared.features.has('upgrade')) await run.openAgain();
      await run.step();
      if (run.random.chance(0.3)) await run.check();
    }
    await run.check();
    if (seed % 3 === 0) await run.full();
    await run.derived.verify(run.db, run.declared.main);
  } catch (error) {
    const { features, renew } = run.declared;
    const what = `Seed ${seed}: ${[...features].join(' ')}${renew ? ' renew' : ''}`;
    const keys = run.db.repository(run.declared.main).schema.key.signature;
    throw new Error(`${what}; key ${keys}\n${run.log.join('\n')}\n${(error as Error).message}`, {
      cause: error,
    });
  } finally {
    await run.db.close();
  }
  return true;
}

/** Programs of one test: few enough for its time limit on a machine that is slow and has much else to do. */
const TOGETHER = 25;
const parts = Array.from({ length: Math.ceil(PROGRAMS / TOGETHER) }, (_, part) => {
  const first = FIRST + part * TOGETHER;
  return [first, Math.min(first + TOGETHER, FIRST + PROGRAMS) - 1] as const;
});

/** Programs that see rows that are read as they were before their upgrade, and writes to such rows: few of the first ones do. */
const UPGRADED = [19, 29];

describe('declarations that cross features do what each of them says', () => {
  let drawn = 0;
  let refused = 0;

  it.each(parts)('programs %i to %i', async (first, last) => {
    if (first > FIRST && !mayGoOn()) return;
    for (let seed = first; seed <= last; seed++) {
      drawn++;
      if (!(await runProgram(seed))) refused++;
    }
  });

  it.each(UPGRADED)('program %i, whose rows are upgraded', async (seed) => {
    expect(await runProgram(seed)).toBe(true);
  });

  it('of which few are refused', () => {
    expect(refused).toBeLessThanOrEqual(drawn * 0.2);
    record('crossing', { programs: drawn - refused, operations: (drawn - refused) * STEPS });
  });
});

/**
 * Features crossed, under clients that do not wait for each other: indexes and summaries are built anew meanwhile, sources change,
 * files are written and merged, the power goes, and the next opening may declare moved columns and upgrades. What was acknowledged
 * is there, and what is made of rows agrees with them.
 */

import { describe, expect, it } from 'vitest';
import { type Database, open } from '../../src/database.js';
import { RowanError, SchemaError } from '../../src/errors.js';
import type { Repository } from '../../src/repository/index.js';
import type { KeyedClass } from '../../src/schema/entity-types.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { settableClock } from '../../src/testing/open-memory.js';
import { record } from '../proof/evidence.js';
import { mayGoOn, scaled } from '../proof/scale.js';
import { Random } from '../query/model/random.js';
import { type Declared, declare, type Values } from './declare.js';
import { Derived } from './derived.js';
import { keyText, type Row } from './model.js';
import { drawValues } from './program.js';
import { shown } from './shown.js';

const PROGRAMS = scaled(1, 15, 10_000);
const FIRST = Number(process.env['ROWAN_SEED'] ?? 1);
const CLIENTS = 3;
const ROUNDS = scaled(2, 4, 4);
const START = 1_700_000_000_000;
const TABLE = 'crossing';

/** What a row is known by: the last value that was written to `away`. */
const GONE = 'there is no row';

/** The rows that one client alone writes. */
class Client {
  /** By key: what the row may be. One entry: that was acknowledged, and nothing is under way. */
  readonly may = new Map<string, Set<string>>();
  private writes = 0;

  constructor(
    private readonly name: string,
    private readonly keys: readonly Values[],
    private readonly run: Disturbed,
  ) {
    for (const key of keys) this.may.set(keyText(key), new Set([GONE]));
  }

  /** Writes one row after the other; what is refused has not happened. */
  async write(): Promise<void> {
    const { random } = this.run;
    for (let i = 2 + random.below(3); i > 0; i--) {
      const [one, other] = [random.pick(this.keys), random.pick(this.keys)];
      if (random.chance(0.25) && one !== other) await this.both(one, other);
      else await this.one(one);
    }
  }

  private values(key: Values, away: string): Values {
    const { random, declared } = this.run;
    const values = drawValues(random, declared, key, true);
    const past = values['past'] as string[] | null | undefined;
    return { ...values, ...(past && { past: past.map((value) => ({ value })) }), away };
  }

  private async one(key: Values): Promise<void> {
    const { random, declared, main } = this.run;
    const away = `${this.name}${this.writes++}`;
    const values = this.values(key, away);
    const { ttl: _, ...set } = values;
    const entity = { ...key, ...values } as never;
    const id = key as never;
    const kind = random.below(declared.features.has('softDelete') ? 11 : 9);
    this.run.log.push(`${kind} ${shown(key)} ${away}`);
    switch (kind) {
      case 0:
        return this.told(() => main.put(entity), [key], away);
      case 1:
        return this.told(() => main.insert(entity), [key], away);
      case 2:
        return this.told(() => main.replace(entity, { unknown: 'remove' }), [key], away);
      case 3:
        return this.told(() => main.update(id, values as never), [key], away);
      case 4:
        return this.told(() => main.upsert(entity, { away } as never), [key], away);
      case 5:
        return this.told(() => main.mutate(id, (row) => row.set(set as never)), [key], away);
      case 6:
        return this.told(() => main.putMany([entity]), [key], away);
      case 7: {
        const query = main.find({ k0: key['k0'], k1: key['k1'] } as never);
        return this.told(() => query.updateAll({ away } as never), [key], away, true);
      }
      case 8: {
        // What is deleted and left keeps its values.
        if (declared.features.has('softDelete')) return this.attempt(() => main.delete(id));
        return this.told(() => main.delete(id), [key], GONE);
      }
      case 9:
        return this.attempt(() => main.restore(id));
      default:
        return this.told(() => main.purge(id), [key], GONE);
    }
  }

  /** Two rows, all or nothing. */
  private both(one: Values, other: Values): Promise<void> {
    const { random, main, db } = this.run;
    const away = `${this.name}${this.writes++}`;
    const write = (of: Pick<Repository<KeyedClass>, 'put' | 'update'>) => async (): Promise<void> => {
      await of.put({ ...one, ...this.values(one, away) } as never);
      await of.put({ ...other, ...this.values(other, away) } as never);
    };
    this.run.log.push(`both ${shown(one)} ${shown(other)} ${away}`);
    if (random.chance(0.5))
      return this.told(
        () => db.transaction((tx) => write(tx.repository(this.run.declared.main))()),
        [one, other],
        away,
      );
    const entities = [one, other].map((key) => ({ ...key, ...this.values(key, away) }) as never);
    return this.told(
      () => main.batch((batch) => batch.put(entities[0]!).replace(entities[1]!), { atomic: true }),
      [one, other],
      away,
    );
  }

  private async attempt(write: () => Promise<unknown>): Promise<void> {
    try {
      await write();
    } catch (error) {
      if (!(error instanceof RowanError)) throw error;
      this.run.log.push(`  ${error.code}`);
    }
  }

  /** @param mayMiss Whether it succeeds also where it has found no row. */
  private async told(
    write: () => Promise<unknown>,
    keys: readonly Values[],
    becomes: string,
    mayMiss = false,
  ): Promise<void> {
    const rows = keys.map((key) => this.may.get(keyText(key))!);
    for (const row of rows) row.add(becomes);
    try {
      await write();
      if (this.run.isDark || mayMiss) return;
      for (const row of rows) {
        row.clear();
        row.add(becomes);
      }
    } catch (error) {
      if (!(error instanceof RowanError)) throw error;
      this.run.log.push(`  ${error.code} ${becomes}`);
      for (const row of rows) row.delete(becomes);
    }
  }
}

class Disturbed {
  readonly clock = settableClock(START);
  readonly random: Random;
  readonly log: string[] = [];
  declared: Declared;
  db!: Database;
  /** The power has gone: what is acknowledged now is not promised. */
  isDark = false;
  private disk = new MemoryFileSystem();
  private found: MemoryFileSystem | undefined;
  private isLater = false;
  private readonly clients: readonly Client[];
  private readonly derived: Derived;

  constructor(private readonly seed: number) {
    this.random = new Random(seed ^ 0xd15);
    this.declared = declare(new Random(seed), false);
    this.derived = new Derived(this.declared.features, shown);
    this.clients = Array.from({ length: CLIENTS }, (_, i) => {
      const keys = this.declared.keys.filter((_key, at) => at % CLIENTS === i);
      return new Client('abc'[i]!, keys, this);
    });
  }

  get main(): Repository<KeyedClass> {
    return this.db.repository(this.declared.main);
  }

  async open(): Promise<void> {
    const { main, sibling, source } = this.declared;
    const entities = [main, sibling, source].filter((target) => target !== undefined);
    this.db = await open({
      path: '/crossing',
      entities: entities as never,
      fileSystem: this.disk,
      clock: this.clock,
      background: 'inline',
      memstoreFlushSize: 64 * 1024,
    });
    await this.build(false);
  }

  /** Builds what cannot be asked; `again`: all of it. */
  private async build(again: boolean): Promise<void> {
    const { db, declared } = this;
    const { indexes, summaries } = db.schema.entity(declared.main);
    for (const { name } of indexes) {
      const index = db.index(declared.main, name as never);
      if (again || index.state !== 'active') await index.build();
    }
    for (const { name } of summaries) {
      const summary = db.summary(declared.main, name as never);
      if (again || (await summary.state()) !== 'active') await summary.build();
    }
  }

  async round(): Promise<void> {
    const { random, clock } = this;
    clock.advance(random.chance(0.3) ? 60_000 + random.below(60_000) : 1 + random.below(1500));
    const goesDark = random.chance(0.4);
    const all = [...this.clients.map((client) => client.write()), this.disturb()];
    if (goesDark) await this.darken();
    await Promise.all(all);
    if (goesDark || random.chance(0.3)) await this.openAgain();
    this.isDark = false;
    await this.check();
  }

  /** What goes on beside the clients. */
  private async disturb(): Promise<void> {
    const { random, db, declared } = this;
    const kind = random.below(6);
    this.log.push(`beside: ${kind}`);
    switch (kind) {
      case 0:
        await db.admin.flush(TABLE);
        return db.admin.majorCompact(TABLE);
      case 1:
        return this.build(true);
      case 2:
        if (this.isLater && declared.features.has('moves'))
          await db.schema.moveColumns(declared.main).catch(unsupported);
        return;
      default:
        await this.sources();
    }
  }

  private async sources(): Promise<void> {
    const { random, db, declared } = this;
    if (declared.source === undefined) return;
    const sources = db.repository(declared.source);
    for (let i = 3; i > 0; i--) {
      const id = random.pick(['r1', 'r2']);
      const name = random.pick(['one', 'two', 'three']);
      const write = random.chance(0.3) ? sources.delete({ id } as never) : sources.put({ id, name } as never);
      await write.catch((error: unknown) => {
        if (!(error instanceof RowanError)) throw error;
      });
    }
  }

  /** The power goes after some turns: the disk as it is found then. */
  private async darken(): Promise<void> {
    const { random } = this;
    for (let turns = random.below(12); turns > 0; turns--)
      await new Promise((resolve) => setImmediate(resolve));
    this.isDark = true;
    this.log.push('the power goes');
    this.found = this.disk.crash({ keepUnsynced: random.next(), random: () => random.next() });
  }

  private async openAgain(): Promise<void> {
    // What an upgrade sets is absent from images of rows of before, where the upgrade is left out.
    if (!this.isDark) await this.derived.follow(this.db, this.declared.main);
    await this.db.close();
    if (this.found !== undefined) this.disk = this.found;
    this.found = undefined;
    const becomesLater = !this.isLater && this.random.chance(0.5);
    this.log.push(`opened again${becomesLater ? ', with what is declared later' : ''}`);
    this.isLater ||= becomesLater;
    this.declared = declare(new Random(this.seed), this.isLater);
    await this.open();
    if (becomesLater && this.declared.features.has('upgrade')) this.derived.upgrade();
  }

  private async check(): Promise<void> {
    const { main, declared, db } = this;
    const { features } = declared;
    const find = (options: object) => main.find({} as never, { fullScan: true, ...options });
    const stored = await find(features.has('softDelete') ? { withDeleted: true } : {}).all();
    const all = stored.map((one) => rowOf(one as never, declared));
    const living = all.filter(({ values }) => values['deleted'] == null);
    expect(await find({}).count()).toBe(living.length);
    const mayEnd = features.has('ttl') || features.has('ownTtl') || declared.rule === 'cascade';
    for (const { may } of this.clients) {
      for (const [key, states] of may) {
        const row = all.find((one) => keyText(one.key) === key);
        const is = row === undefined ? GONE : String(row.values['away']);
        if (!(mayEnd && is === GONE)) expect([...states], key).toContain(is);
        states.clear();
        states.add(is);
      }
    }
    if (features.has('unique')) {
      const mails = all.flatMap(({ values }) => values['mail'] ?? []);
      expect(new Set(mails).size).toBe(mails.length);
    }
    await this.derived.check(db, declared.main, living, all);
    await this.derived.verify(db, declared.main);
  }
}

/** A row as the model has it: without absent values. */
function rowOf(entity: Values, { keys }: Declared): Row {
  const values: Values = {};
  for (const [name, value] of Object.entries(entity))
    if (value != null && !(name in keys[0]!)) values[name] = value;
  return { key: { k0: entity['k0'], k1: entity['k1'] }, values, end: undefined };
}

function unsupported(error: unknown): void {
  if (!(error instanceof RowanError) || error.code !== 'ERR_UNSUPPORTED') throw error;
}

async function runProgram(seed: number): Promise<boolean> {
  const run = new Disturbed(seed);
  try {
    await run.open();
  } catch (error) {
    if (error instanceof SchemaError) return false;
    throw error;
  }
  try {
    for (let i = 0; i < ROUNDS; i++) await run.round();
  } catch (error) {
    const what = `Seed ${seed}: ${[...run.declared.features].join(' ')} ${run.declared.rule ?? ''}`;
    throw new Error(`${what}\n${run.log.join('\n')}\n${(error as Error).message}`, { cause: error });
  } finally {
    await run.db.close().catch(() => undefined);
  }
  return true;
}

const TOGETHER = 10;
const parts = Array.from({ length: Math.ceil(PROGRAMS / TOGETHER) }, (_, part) => FIRST + part * TOGETHER);

describe('declarations that cross features, under clients side by side and losses of power', () => {
  let programs = 0;

  it.each(parts)(
    'keep what was acknowledged, and all that is made of it, programs from %i',
    async (first) => {
      if (first > FIRST && !mayGoOn()) return;
      const last = Math.min(first + TOGETHER, FIRST + PROGRAMS);
      for (let seed = first; seed < last; seed++) if (await runProgram(seed)) programs++;
    },
  );

  it('in all programs', () => {
    expect(programs).toBeGreaterThan(0);
    record('disturbed', { programs, rounds: programs * ROUNDS });
  });
});

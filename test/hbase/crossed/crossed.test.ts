/**
 * Features crossed on HBase: programs write the same rows at once, are cut off and end in the middle of writes, while regions split and
 * move and jobs run. What was acknowledged is there, and what is made of rows agrees with them.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Database } from '../../../src/database.js';
import { RowanError } from '../../../src/errors.js';
import { compileSchema } from '../../../src/mapper/index.js';
import type { Engine } from '../../../src/table/index.js';
import { mayGoOn, scaled } from '../../proof/scale.js';
import { Random } from '../../query/model/random.js';
import { RegionMover } from '../chaos/region-moves.js';
import { connectShared, sharedHBase } from '../connect.js';
import { dropTable, uniqueTable } from '../tables.js';
import { expectAnswers, expectChecks, finish, storedThings, Told } from './checks.js';
import { withClock } from './clock.js';
import { type Declared, declare, IDS, OWNERS } from './declared.js';
import { GONE, RowHistory } from './history.js';
import { type Shared, Writer } from './writer.js';

const PROGRAMS = scaled(3, 20, 400);
const FIRST = Number(process.env['ROWAN_SEED'] ?? 1);
const ROUNDS = 3;
/** Beyond any time after which somebody takes over, ms. */
const LATER = 60_000;

let engine: Engine;
let mover: RegionMover;
beforeAll(async () => {
  engine = await connectShared();
  mover = new RegionMover(sharedHBase().masters[0]!);
});
afterAll(() => engine.close());

class Run implements Shared {
  readonly log: string[] = [];
  readonly rows = new Map(IDS.map((id) => [id, new RowHistory()]));
  readonly declared: Declared;
  private readonly random: Random;
  private readonly told = new Told();
  private readonly table = uniqueTable('crossed');
  private time = 0;
  private programs = 0;
  /** A program that takes over what others have begun, however new it is. */
  private later: Database | undefined;

  constructor(readonly seed: number) {
    this.random = new Random(seed ^ 0x5eed);
    this.declared = declare(new Random(seed), this.table);
  }

  now(): number {
    return ++this.time;
  }

  private async database(ahead: number, handling: 'create' | 'verify'): Promise<Database> {
    const { thing, owner } = this.declared;
    const db = new Database(compileSchema([thing, owner] as never), withClock(engine, ahead), handling);
    await db.ready();
    return db;
  }

  async run(): Promise<void> {
    const db = await this.database(0, 'create');
    await db.repository(this.declared.owner).putMany(OWNERS.map((id) => ({ id, name: id })) as never);
    await db.close();
    for (let i = 1; i <= ROUNDS; i++) await this.round(i === ROUNDS);
  }

  private async round(isLast: boolean): Promise<void> {
    const { random, declared } = this;
    const writers = await Promise.all([this.writer(), this.writer()]);
    const beside = await this.database(0, 'verify');
    const disturbed = this.disturb(beside);
    await Promise.all(
      writers.map(async (writer) => {
        for (let burst = 0; burst < 3; burst++) {
          const fate = random.below(4);
          if (fate === 0) writer.cutAfter(random.pick(['request', 'response']), random.below(600));
          if (fate === 1) writer.dieAfter(random.below(60));
          await Promise.all([writer.write(4), writer.write(4), writer.write(4)]);
          if (writer.isDead) this.log.push(`${writer.name} has ended`);
        }
      }),
    );
    await disturbed;
    await beside.close();
    await Promise.all(writers.map((writer) => writer.end()));
    this.log.push('checked');
    await this.later?.close();
    this.later = await this.database(LATER, 'verify');
    const db = this.later;
    await finish(db, declared);
    const stored = await expectAnswers(db, declared);
    for (const [id, row] of this.rows) {
      const is = stored.find((one) => one.id === id);
      const state = is === undefined ? GONE : String(is.tag);
      expect(row.states, id).toContain(state);
      row.settle(state, this.now());
    }
    await expectChecks(db, declared, false);
    if (isLast) {
      await expectChecks(db, declared, true);
      expect(await expectAnswers(db, declared)).toEqual(stored);
    }
    if (declared.features.has('changes')) {
      const told = await this.told.follow(db, declared, this.table);
      expect(told.map((one) => ({ ...one }))).toEqual(
        (await storedThings(db, declared)).map((one) => ({ ...one })),
      );
    }
    if (isLast || random.chance(0.7)) await db.close();
    else this.log.push('who finishes what others have begun goes on beside them');
  }

  private writer(): Promise<Writer> {
    const name = `w${this.programs++}-`;
    return Writer.begin(name, this, new Random(this.random.next() * 2 ** 32));
  }

  /** What goes on beside the writers. */
  private async disturb(db: Database): Promise<void> {
    const { random } = this;
    for (let i = 1 + random.below(3); i > 0; i--) {
      const kind = random.pick([
        'split',
        'move',
        'flush',
        'compact',
        'verify',
        'repair',
        'build',
        'summary',
        'copies',
      ] as const);
      this.log.push(`beside: ${kind}`);
      try {
        await this.beside(db, kind);
      } catch (error) {
        if (!(error instanceof RowanError)) throw error;
        this.log.push(`beside: ${kind}: ${error.code} ${error.message}`);
      }
    }
  }

  private async beside(db: Database, kind: string): Promise<void> {
    const { random, declared } = this;
    const { thing } = declared;
    const { indexes, summaries } = db.schema.entity(thing);
    const names = [...declared.tables, 'rowan_outbox', 'rowan_changes'];
    const there = [];
    for (const name of names) if (await engine.admin.tableExists(name)) there.push(name);
    const table = random.pick(there);
    switch (kind) {
      case 'split': {
        const regions = await engine.admin.getRegions(declared.tables[0]!);
        const key = random.pick(['b', 'c', 'd', 'e']);
        if (regions.every(({ startKey }) => Buffer.from(startKey).toString() !== key))
          await engine.admin.split(declared.tables[0]!, Buffer.from(key));
        return;
      }
      case 'move':
        for (const region of await engine.admin.getRegions(table))
          await mover.move(region).catch(() => undefined);
        return;
      case 'flush':
        return engine.admin.flush(table);
      case 'compact':
        await engine.admin.flush(table);
        return engine.admin.majorCompact(table);
      case 'summary':
        for (const { name } of summaries)
          await (random.chance(0.5)
            ? db.summary(thing, name as never).build()
            : db.summary(thing, name as never).repair());
        return;
      case 'copies':
        if (declared.features.has('copies')) await db.denormalized(thing).repair();
        return;
      default:
        for (const { name } of indexes) {
          const index = db.index(thing, name as never);
          await (kind === 'verify' ? index.verify() : kind === 'repair' ? index.repair() : index.build());
        }
    }
  }

  async end(): Promise<void> {
    for (const name of this.declared.tables) await dropTable(engine, name);
  }
}

async function runProgram(seed: number): Promise<void> {
  const run = new Run(seed);
  try {
    await run.run();
    await run.end();
  } catch (error) {
    const what = `Seed ${seed}: ${[...run.declared.features].join(' ')} ${run.declared.rule ?? ''}`;
    throw new Error(`${what}\n${run.log.join('\n')}\n${(error as Error).message}`, { cause: error });
  }
}

describe.concurrent('entities that cross features', () => {
  it.each(Array.from({ length: PROGRAMS }, (_, i) => FIRST + i))(
    'agree with what their programs were told, program %i',
    async (seed) => {
      if (seed === FIRST || mayGoOn()) await runProgram(seed);
    },
  );
});

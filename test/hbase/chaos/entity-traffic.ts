import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'vitest';
import { defineEntity, defineTable } from '../../../decorators/index.js';
import { int32, text } from '../../../src/codec/index.js';
import type { Database } from '../../../src/database.js';
import { RowanError } from '../../../src/errors.js';
import { part, salt } from '../../../src/key/index.js';
import { uniqueTable } from '../tables.js';

const BATCH_ROWS = 20;
const TEAMS = 5;
const WRITERS = 2;
const MOVERS = 4;
const COUNTERS = 8;
const CHECKERS = 1;

/** Accounts in tables of their own: with an index, a unique index and a summary. Tallies have a counter, and a number that is checked. */
export function declareAccounts() {
  const tables = [uniqueTable('chaos_accounts'), uniqueTable('chaos_tallies')] as const;
  const table = (n: 0 | 1) => defineTable({ name: tables[n], families: { d: {} } });
  class Account extends defineEntity({
    name: 'Account',
    table: table(0),
    key: [salt(4), part('id')],
    columns: (c) => ({
      team: c.column('d:t', text),
      mail: c.column('d:m', text),
      points: c.column('d:p', int32),
    }),
    indexes: {
      byTeam: { on: [part('team')], include: ['points'] },
      byMail: { on: [part('mail')], unique: true },
    },
    summaries: { perTeam: { by: ['team'], figures: { members: 'count', points: { sum: 'points' } } } },
  }) {}
  class Tally extends defineEntity({
    name: 'Tally',
    table: table(1),
    key: [salt(4), part('id')],
    columns: (c) => ({ count: c.counter('d:c'), checked: c.column('d:x', int32) }),
  }) {}
  return { Account, Tally, tables };
}

type Accounts = ReturnType<typeof declareAccounts>;
interface Row {
  readonly id: string;
  readonly team: string;
  readonly mail: string;
  readonly points: number;
}

/** Calls with an outcome. */
interface Calls {
  acknowledged: number;
  failed: number;
}

/**
 * Writers of {@link declareAccounts}: `putMany`, moves to another team, increments, conditional changes. They remember what they were
 * told. Each row has one writer.
 */
export class EntityTraffic {
  private stopping = false;
  private readonly running: Promise<void>[] = [];
  /** What a row may be: one state, or several after a failed write. */
  private readonly states = new Map<string, readonly (Row | null)[]>();
  private readonly counted = new Map<string, Calls>();
  private readonly checked = new Map<string, Calls>();
  readonly failures: Record<string, number> = {};
  private writes = 0;

  constructor(
    private readonly db: Database,
    private readonly declared: Accounts,
  ) {}

  async start(): Promise<this> {
    const { Tally } = this.declared;
    const ids = (kind: string, count: number) => Array.from({ length: count }, (_, n) => `${kind}${n}`);
    for (const id of [...ids('c', COUNTERS), ...ids('x', CHECKERS)])
      await this.db.repository(Tally).put({ id, checked: 0 });
    for (const id of ids('b', WRITERS)) this.loop((step) => this.putMany(id, step));
    for (const id of ids('m', MOVERS)) this.loop((step) => this.move(id, step));
    for (const id of ids('c', COUNTERS)) this.loop(() => this.count(id));
    for (const id of ids('x', CHECKERS)) this.loop(() => this.check(id));
    return this;
  }

  /** Acknowledged calls so far. */
  get progress(): number {
    return this.writes;
  }

  async stop(): Promise<void> {
    this.stopping = true;
    await Promise.all(this.running);
  }

  private loop(step: (n: number) => Promise<void>): void {
    const run = async (): Promise<void> => {
      for (let n = 0; !this.stopping; n++) {
        await step(n);
        // No pause: so that there are calls under way to a server that is killed.
        await turn();
      }
    };
    this.running.push(run());
  }

  private async attempt(call: () => Promise<unknown>): Promise<boolean> {
    try {
      await call();
      this.writes++;
      return true;
    } catch (error) {
      if (!(error instanceof RowanError)) throw error;
      this.failures[error.code] = (this.failures[error.code] ?? 0) + 1;
      return false;
    }
  }

  /** A row that is written to be `next`. A failed write may still be made. */
  private async write(rows: readonly Row[], call: () => Promise<unknown>): Promise<void> {
    const before = rows.map(({ id }) => this.states.get(id) ?? [null]);
    const isDone = await this.attempt(call);
    for (const [i, row] of rows.entries()) this.states.set(row.id, isDone ? [row] : [...before[i]!, row]);
  }

  private async putMany(writer: string, step: number): Promise<void> {
    const rows = Array.from({ length: BATCH_ROWS }, (_, i) => row(`${writer}-${step}-${i}`, step + i));
    await this.write(rows, () => this.db.repository(this.declared.Account).putMany(rows));
  }

  /** Puts an account, or changes its team, its unique value and its points, or deletes it. */
  private async move(mover: string, step: number): Promise<void> {
    const accounts = this.db.repository(this.declared.Account);
    const id = `${mover}-${step % 7}`;
    const next = row(id, step);
    const known = this.states.get(id);
    if (known?.length === 1 && known[0] !== null && step % 5 === 0) {
      const isDone = await this.attempt(() => accounts.delete({ id }));
      this.states.set(id, isDone ? [null] : [...known, null]);
    } else if (known?.length === 1 && known[0] !== null) {
      const { team, mail, points } = next;
      await this.write([next], () => accounts.update({ id }, { team, mail, points }));
    } else await this.write([next], () => accounts.put(next));
  }

  private async count(id: string): Promise<void> {
    const calls = callsOf(this.counted, id);
    const tallies = this.db.repository(this.declared.Tally);
    if (await this.attempt(() => tallies.increment({ id }, { count: 1 }))) calls.acknowledged++;
    else calls.failed++;
  }

  /** Adds one by a conditional change of what was read. */
  private async check(id: string): Promise<void> {
    const calls = callsOf(this.checked, id);
    const tallies = this.db.repository(this.declared.Tally);
    let found: number | undefined;
    await this.attempt(async () => {
      found = (await tallies.get({ id }))?.checked;
    });
    if (found === undefined) return;
    const checked = found;
    let isChanged = false;
    await this.attempt(async () => {
      isChanged = (await tallies.check({ id }, { checked }).update({ checked: checked + 1 })).ok;
    });
    if (isChanged) calls.acknowledged++;
    else calls.failed++;
  }

  /** Holds what another program reads, when nobody writes, against what the writers were told. */
  async expectKept(db: Database): Promise<void> {
    const { Account, Tally } = this.declared;
    const found = new Map<string, Row>();
    for await (const one of db.repository(Account).find({}, { fullScan: true }))
      found.set(one.id, { ...one });
    for (const [id, states] of this.states) expect(states, id).toContainEqual(found.get(id) ?? null);
    for (const id of found.keys()) expect([...this.states.keys()]).toContain(id);
    for (const [property, all] of [
      ['count', this.counted],
      ['checked', this.checked],
    ] as const)
      for (const [id, { acknowledged, failed }] of all) {
        const value = Number((await db.repository(Tally).get({ id }))?.[property] ?? 0);
        expect(value, `${property} of ${id}`).toBeGreaterThanOrEqual(acknowledged);
        expect(value, `${property} of ${id}`).toBeLessThanOrEqual(acknowledged + failed);
      }
    await this.expectFollowed(db, [...found.values()]);
  }

  private async expectFollowed(db: Database, rows: readonly Row[]): Promise<void> {
    const { Account } = this.declared;
    const summary = db.summary(Account, 'perTeam');
    await summary.drain();
    for (let n = 0; n < TEAMS; n++) {
      const team = `t${n}`;
      const own = rows.filter((one) => one.team === team);
      const byTeam = await db.repository(Account).by('byTeam').find({ team }).all();
      expect(byTeam.map(({ id }) => id).sort(), team).toEqual(own.map(({ id }) => id).sort());
      const group = await summary.get({ team });
      expect([Number(group?.members ?? 0), Number(group?.points ?? 0)], team).toEqual([
        own.length,
        own.reduce((sum, { points }) => sum + points, 0),
      ]);
    }
    expect(await summary.check()).toMatchObject({ stale: 0, missing: 0, extra: 0 });
    for (const name of ['byTeam', 'byMail'] as const) {
      const index = db.index(Account, name);
      expect({ name, ...(await index.verify()) }).toMatchObject({ missing: 0, stale: 0, extra: 0 });
      await index.repair({ settledAfter: 0 });
      expect({ name, ...(await index.verify()) }).toMatchObject({
        missing: 0,
        stale: 0,
        extra: 0,
        unverified: 0,
      });
    }
  }
}

function row(id: string, n: number): Row {
  return { id, team: `t${n % TEAMS}`, mail: `${id}.${n}@example.org`, points: n % 100 };
}

function callsOf(all: Map<string, Calls>, id: string): Calls {
  const calls = all.get(id) ?? { acknowledged: 0, failed: 0 };
  all.set(id, calls);
  return calls;
}

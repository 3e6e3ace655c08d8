/**
 * Each change that a change of keys by copies sends, of copies, of its record and of its jobs, arrives late or twice: when another program
 * has gone on with it or begun it anew, has cut over, and the new layout is written. What was acknowledged is there, and nothing else.
 */

import { expect, test } from 'vitest';
import { defineEntity, defineTable } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import type { Database } from '../../src/database.js';
import { part, salt } from '../../src/key/index.js';
import { record } from '../proof/evidence.js';
import type { Delivery } from '../proof/late.js';
import { scaled } from '../proof/scale.js';
import { openStepless } from '../proof/stepless.js';

const declare = (name: string, salts: number) =>
  defineEntity({
    name,
    table: defineTable({ name: name.toLowerCase(), families: { d: {}, e: { versions: 3 } } }),
    key: [salt(salts), part('id')],
    columns: (c) => ({ value: c.column('d:v', text), note: c.column('e:n', text).optional() }),
    summaries: { byValue: { by: ['value'], figures: { rows: 'count' } } },
  });

const From = declare('LateFrom', 2);
const To = declare('LateTo', 4);
const DELIVERIES: readonly Delivery[] = ['late', 'last', 'twice'];
/** Beyond any time after which somebody takes over. */
const LATER = 60_000;
const STRIDE = scaled(31, 23, 1);
const ROWS = 6;
/** Small batches, so that there are several copies, and splits of the dead that are free at once. */
const RUN = { leaseMs: 40, batchRows: 2 };

type Target = typeof From;

/** What is written before and behind the cut-over, and what is there then. */
class Writing {
  private readonly model = new Map<string, string>();

  constructor(
    private readonly db: Database,
    private readonly clock: { readonly tick: () => void },
  ) {}

  async put(target: Target, id: string, value: string): Promise<void> {
    this.clock.tick();
    await this.db.repository(target).put({ id, value, note: value });
    this.model.set(id, value);
  }

  async delete(target: Target, id: string): Promise<void> {
    this.clock.tick();
    await this.db.repository(target).delete({ id });
    this.model.delete(id);
  }

  async check(target: Target, where: string): Promise<void> {
    const rows = await this.db.repository(target).find({}, { fullScan: true }).all();
    expect(rows.map(({ id, value, note }) => `${id} ${value} ${note}`).sort(), where).toEqual(
      [...this.model].map(([id, value]) => `${id} ${value} ${value}`).sort(),
    );
    const summary = this.db.summary(target, 'byValue');
    await summary.drain();
    const counts = new Map<string, number>();
    for (const value of this.model.values()) counts.set(value, (counts.get(value) ?? 0) + 1);
    expect(
      (await summary.find({})).map(({ value, rows: count }) => `${value} ${count}`),
      where,
    ).toEqual([...counts].map(([value, count]) => `${value} ${count}`).sort());
  }
}

/** What a delete hides is dropped with it, where the table does not keep deletes. */
async function compact(db: Database, target: Target): Promise<void> {
  const { name } = db.schema.entity(target).table.descriptor;
  await db.engine.admin.flush(name);
  await db.engine.admin.majorCompact(name);
}

/** @returns whether so many changes were sent. */
async function deliver(n: number, mode: Delivery, isBegunAnew: boolean): Promise<boolean> {
  let ahead = 0;
  await using store = await openStepless(() => Date.now() + ahead);
  const { db: other } = await store.program(From, To);
  const writing = new Writing(other, {
    tick: () => {
      ahead += 5;
    },
  });
  for (let i = 0; i < ROWS; i++) await writing.put(From, `r${i}`, 'before');
  await writing.delete(From, 'r0');
  const { db, requests } = await store.late(From, To);
  requests.keep(n, mode);
  const own = db.rekey(From, To);
  await own
    .run(RUN)
    .then(
      () => own.cutOver(),
      (error: { code?: string }) => expect(['ERR_TIMEOUT', 'ERR_JOB']).toContain(error.code),
    )
    .catch((error: { code?: string }) =>
      expect(['ERR_TIMEOUT', 'ERR_JOB', 'ERR_CONFLICT']).toContain(error.code),
    );
  if (!requests.hasKept) return false;
  ahead += LATER;
  const rekey = other.rekey(From, To);
  if ((await rekey.status())?.state !== 'cut-over') {
    // A cut-over that was given up may have left the table read-only, until there is another.
    await rekey.run(RUN);
    if (isBegunAnew) {
      await rekey.abort(RUN);
      await writing.delete(From, 'r1');
      await rekey.run(RUN);
    }
    await rekey.cutOver();
  }
  await writing.put(To, 'r2', 'behind');
  await writing.delete(To, 'r3');
  await writing.put(To, 'r0', 'again');
  await compact(other, To);
  ahead += LATER;
  await requests.deliver();
  await writing.check(To, 'when it has arrived');
  await rekey.cleanup(RUN);
  await writing.check(To, 'cleaned up');
  return true;
}

const CASES = DELIVERIES.flatMap((mode) => [false, true].map((isBegunAnew) => ({ mode, isBegunAnew })));

test.each(CASES)('any change arrives $mode; begun anew: $isBegunAnew', async ({ mode, isBegunAnew }) => {
  const failed: string[] = [];
  let tried = 0;
  for (let n = 0; ; n += STRIDE) {
    try {
      if (!(await deliver(n, mode, isBegunAnew))) break;
      tried++;
    } catch (error) {
      failed.push(`change ${n}: ${(error as Error).message}`);
    }
    if (n > 500) throw new Error('It does not end.');
  }
  expect(failed).toEqual([]);
  record('late-rekey', { [`requests that arrived ${mode === 'twice' ? 'twice' : 'late'}`]: tried });
});

/** A change of keys by copies one of whose requests arrives late or twice: what must hold on any engine without steps over rows. */

import { expect } from 'vitest';
import { defineEntity, defineTable } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import type { Database } from '../../src/database.js';
import { part, salt } from '../../src/key/index.js';
import type { Delivery, LateRequests } from '../proof/late.js';

const SUMMARIES = { summaries: { byValue: { by: ['value'], figures: { rows: 'count' } } } } as const;

/** The two layouts, with a summary each where the engine has them follow. */
export function declareLate(more: Partial<typeof SUMMARIES> = SUMMARIES) {
  const declare = (name: string, salts: number) =>
    defineEntity({
      name,
      table: defineTable({ name: name.toLowerCase(), families: { d: {}, e: { versions: 3 } } }),
      key: [salt(salts), part('id')],
      columns: (c) => ({ value: c.column('d:v', text), note: c.column('e:n', text).optional() }),
      ...more,
    });
  return { From: declare('LateFrom', 2), To: declare('LateTo', 4) };
}

/** Programs that share an engine, one of which has requests that arrive late. */
export interface LatePrograms {
  readonly other: Database;
  late(): Promise<{ readonly db: Database; readonly requests: LateRequests }>;
  /** Lets the time of a write pass. */
  tick(): Promise<void> | void;
  /** Lets a time pass after which somebody takes over. */
  later(): Promise<void> | void;
}

const ROWS = 6;
/** Small batches, so that there are several copies, and splits of the dead that are free at once. */
const RUN = { leaseMs: 40, batchRows: 2 };

type Layouts = ReturnType<typeof declareLate>;
type Target = Layouts['From'];

/** What is written before and behind the cut-over, and what is there then. */
class Writing {
  private readonly model = new Map<string, string>();

  constructor(
    private readonly db: Database,
    private readonly tick: () => Promise<void> | void,
  ) {}

  async put(target: Target, id: string, value: string): Promise<void> {
    await this.tick();
    await this.db.repository(target).put({ id, value, note: value });
    this.model.set(id, value);
  }

  async delete(target: Target, id: string): Promise<void> {
    await this.tick();
    await this.db.repository(target).delete({ id });
    this.model.delete(id);
  }

  async check(target: Target, where: string): Promise<void> {
    const rows = await this.db.repository(target).find({}, { fullScan: true }).all();
    expect(rows.map(({ id, value, note }) => `${id} ${value} ${note}`).sort(), where).toEqual(
      [...this.model].map(([id, value]) => `${id} ${value} ${value}`).sort(),
    );
    if (this.db.schema.entity(target).summaries.length === 0) return;
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
export async function deliverLate(
  programs: LatePrograms,
  { From, To }: Layouts,
  n: number,
  mode: Delivery,
  isBegunAnew: boolean,
): Promise<boolean> {
  const { other } = programs;
  const writing = new Writing(other, () => programs.tick());
  for (let i = 0; i < ROWS; i++) await writing.put(From, `r${i}`, 'before');
  await writing.delete(From, 'r0');
  const { db, requests } = await programs.late();
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
  await programs.later();
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
  await programs.later();
  await requests.deliver();
  // It may have taken a lease for a program that is gone.
  await programs.later();
  await writing.check(To, 'when it has arrived');
  await rekey.cleanup(RUN);
  await writing.check(To, 'cleaned up');
  return true;
}

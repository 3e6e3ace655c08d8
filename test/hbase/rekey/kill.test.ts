/**
 * Processes that are killed while they change keys on a real HBase, wherever they are, beside writers that go on and regions that
 * move. Others go on with the change, or abort it, and nothing that was acknowledged is lost.
 */

import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '../../../src/database.js';
import type { RowanError } from '../../../src/errors.js';
import type { RekeyState } from '../../../src/features/rekey/strategy.js';
import { isMark } from '../../../src/repository/index.js';
import { Scan } from '../../../src/table/index.js';
import { runScript } from '../../crash/run-script.js';
import { seededRandom } from '../../crash/seeded-random.js';
import { record } from '../../proof/evidence.js';
import { mayGoOn, scaled } from '../../proof/scale.js';
import { openTestStore, type TestStore } from '../../query/test-database.js';
import { checkTotals } from '../../rekey/figures.js';
import { FeedEnd, Reader } from '../../rekey/reader.js';
import { RegionMover } from '../chaos/region-moves.js';
import { sharedHBase } from '../connect.js';
import { cutOver, declareThings } from './things.js';

const PATIENCE = 900_000;
const WRITERS = 4;
/** Keys of each writer. */
const KEYS = 10;
/** The rows that were there before, of which writers only touch those of their own. */
const FILLED = 200;

/** Where processes are killed, one after the other; what is left to do then is done by the test itself. */
type Way = readonly (readonly [goal: 'run' | 'cutOver' | 'cleanup' | 'abort', place: string])[];

const WAYS: readonly Way[] = [
  [
    ['run', 'copy'],
    ['run', 'verify'],
    ['cutOver', 'read-only'],
    ['cleanup', 'disabled'],
  ],
  [
    ['run', 'altered'],
    ['run', 'copy'],
    ['abort', 'disabled'],
    ['abort', 'emptied'],
    ['run', 'run'],
  ],
  [
    ['run', 'open'],
    ['cutOver', 'read-only'],
    ['abort', 'emptied'],
    ['cutOver', 'cutOver'],
    ['cleanup', 'emptied'],
  ],
];
const ROUNDS = scaled(1, 2, 30);

/**
 * What writers of the old layout are told behind the cut-over: it takes no writes, is disabled, or is being emptied, for which
 * HBase's master takes it out of meta and makes it anew.
 */
const OLD_IS_OVER = ['ERR_READONLY', 'ERR_TABLE_DISABLED', 'ERR_TABLE_NOT_FOUND', 'ERR_TIMEOUT'];

type Things = ReturnType<typeof declareThings>;
type Target = Things['Old'];

let store: TestStore;
beforeAll(() => {
  store = openTestStore();
});
afterAll(() => store.dispose());

/** What was acknowledged, and those who write it. */
class Writing {
  private readonly model = new Map<string, number>();
  private stopped = false;
  private running: Promise<unknown> = Promise.resolve();
  private next = 0;

  constructor(
    private readonly db: Database,
    private readonly random: () => number,
    /** Whether the layout that takes writes is another. */
    private readonly isOver: (target: Target) => Promise<boolean>,
  ) {}

  /** Writes that were acknowledged. */
  get acknowledged(): number {
    return this.next;
  }

  async fill(target: Target): Promise<void> {
    const rows = Array.from({ length: FILLED }, (_, value) => ({ id: `filled-${value}`, value }));
    await this.db.repository(target).putMany(rows);
    for (const { id, value } of rows) this.model.set(id, value);
  }

  /** Until {@link stop}, or until the table takes no more. */
  start(target: Target): void {
    this.stopped = false;
    this.running = Promise.all(Array.from({ length: WRITERS }, (_, id) => this.write(target, id)));
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await this.running;
  }

  /** Until the table takes no more. */
  async refused(): Promise<void> {
    await this.running;
    expect(this.stopped).toBe(false);
  }

  private async write(target: Target, writer: number): Promise<void> {
    const things = this.db.repository(target);
    while (!this.stopped) {
      const id = `${writer}-${Math.floor(this.random() * KEYS)}`;
      const value = ++this.next;
      const isGone = this.model.has(id) && this.random() < 0.2;
      try {
        if (isGone) await things.delete({ id });
        else await things.put({ id, value, note: this.random() < 0.5 ? `n${value}` : null });
      } catch (error) {
        // In a rest, or behind the cut-over.
        const isOver = await this.isOver(target);
        expect(isOver ? OLD_IS_OVER : ['ERR_READONLY'], String(error)).toContain((error as RowanError).code);
        if (isOver) return;
        continue;
      }
      if (isGone) this.model.delete(id);
      else this.model.set(id, value);
    }
  }

  async check(target: Target, where: string): Promise<void> {
    const rows = await this.db.repository(target).find({}, { fullScan: true }).all();
    const wanted = [...this.model].map(([id, value]) => `${id}=${value}`).sort();
    expect(rows.map(({ id, value }) => `${id}=${value}`).sort(), where).toEqual(wanted);
  }
}

/** Every version of a layout with its time, told by the key and not by the row. */
async function cells(db: Database, target: Target): Promise<string[]> {
  const schema = db.schema.entity(target);
  const { key, table } = schema;
  const all: string[] = [];
  for await (const row of db.engine.table(table.descriptor.name).scan(new Scan().readAllVersions())) {
    const { id } = key.decode(row.row);
    for (const { family, qualifier, timestamp, value } of row.cells.filter((cell) => !isMark(schema, cell)))
      all.push(
        `${String(id)} ${family}:${Buffer.from(qualifier)}@${timestamp}=${Buffer.from(value).toString('hex')}`,
      );
  }
  return all.sort();
}

const OVER: readonly (RekeyState | undefined)[] = ['cut-over', 'cleanup', 'done'];

async function killAlong(way: Way, name: string, random: () => number): Promise<void> {
  const { Old, New } = declareThings(name, true);
  const db = await store.open(Old, New, FeedEnd);
  const isOver = async (target: Target): Promise<boolean> =>
    target === Old && OVER.includes((await db.rekey(Old, New).status())?.state);
  const writing = new Writing(db, random, isOver);
  const mover = new RegionMover(sharedHBase().masters[0]!);
  const tables = [Old, New].map((target) => db.schema.entity(target).table.descriptor.name);
  const endMoves = mover.keepMoving(db.engine.admin, tables);
  try {
    await killBeside(writing, { db, Old, New }, way, name, random);
    record('rekey-kills', {
      rounds: 1,
      kills: way.length,
      'moves of regions': await endMoves(),
      'acknowledged writes': writing.acknowledged,
    });
  } finally {
    await endMoves();
    await writing.stop();
    await db.close();
  }
}

async function killBeside(
  writing: Writing,
  { db, Old, New }: Things & { readonly db: Database },
  way: Way,
  name: string,
  random: () => number,
): Promise<void> {
  await writing.fill(Old);
  const reader = new Reader(Old, [Old, New]);
  /** What readers are told, and what is counted of a layout that has all rows. */
  const checkFollowed = async (target: Target, where: string): Promise<void> => {
    const { name: table } = db.schema.entity(target).table.descriptor;
    // Changes whose writers were refused are decided when the cut-over of the dead process is made or given up.
    if ((await db.engine.admin.getDescriptor(table)).readOnly) return;
    await reader.check(db, target, where);
    await db.summary(target, 'all').drain();
    await checkTotals(db, target, where);
  };
  const rekey = db.rekey(Old, New);
  const stateNow = async (): Promise<RekeyState | undefined> => (await rekey.status())?.state;
  for (const [goal, place] of way) {
    const before = await stateNow();
    // A process before may have come further than to where it was killed.
    if (goal === 'abort' && OVER.includes(before)) continue;
    const turns = Math.floor(random() * 2000);
    const where = `${name}: ${goal}, killed ${turns} turns behind "${place}", from ${before}`;
    writing.start(OVER.includes(before) ? New : Old);
    const child = runScript('test/hbase/rekey/rekeying-process.ts', [
      sharedHBase().masters.join(),
      name,
      goal,
      place,
      String(turns),
    ]);
    const exit = await child.exit;
    expect(exit, `${where}\n${child.errors()}`).toBe('SIGKILL');
    await writing.stop();
    const state = await stateNow();
    const reached = `${where}, to ${state}`;
    if (state === 'cut-over' && before !== state)
      expect(await cells(db, New), reached).toEqual(await cells(db, Old));
    await writing.check(OVER.includes(state) ? New : Old, reached);
    await checkFollowed(OVER.includes(state) ? New : Old, reached);
  }
  const options = { leaseMs: 1000 };
  const state = await stateNow();
  if (!OVER.includes(state)) {
    writing.start(Old);
    if (state === 'aborting') await rekey.abort(options);
    await rekey.run(options);
    await cutOver(rekey);
    await writing.refused();
    expect(await cells(db, New), name).toEqual(await cells(db, Old));
  }
  writing.start(New);
  await rekey.cleanup(options);
  await writing.stop();
  await writing.check(New, name);
  await checkFollowed(New, name);
  expect(await cells(db, Old), name).toEqual([]);
  await checkTotals(db, Old, name);
}

test.each(Array.from({ length: ROUNDS }, (_, round) => round))(
  'what was acknowledged is there, and the change goes on: round %i',
  async (round) => {
    if (round >= WAYS.length && !mayGoOn()) return;
    const name = `${process.pid}x${round}`;
    await killAlong(WAYS[round % WAYS.length]!, name, seededRandom(round + 1));
  },
  PATIENCE,
);

/** How long writes rest when keys are cut over on a real HBase, beside writers and regions that move (docs/rekey.md). */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { record } from '../../proof/evidence.js';
import { openTestStore, type TestStore } from '../../query/test-database.js';
import { RegionMover } from '../chaos/region-moves.js';
import { sharedHBase } from '../connect.js';
import { cutOver, declareThings } from './things.js';

const PATIENCE = 900_000;
const ROWS = 20_000;
const BATCH = 1000;
const WRITERS = 4;
const LIMIT_MS = 5000;
/** What it may take the servers, beside the limit, to have regions take writes again. */
const SERVERS_MS = 5000;

let store: TestStore;
beforeAll(() => {
  store = openTestStore();
});
afterAll(() => store.dispose());

async function filled(name: string) {
  const { Old, New } = declareThings(`Rest${name}${process.pid}`);
  const db = await store.open(Old, New);
  const olds = db.repository(Old);
  for (let from = 0; from < ROWS; from += BATCH)
    await olds.putMany(Array.from({ length: BATCH }, (_, i) => ({ id: `r${from + i}`, value: from + i })));
  return { db, Old, New };
}

type Things = Awaited<ReturnType<typeof filled>>;

/** Writers that take the layout that counts; what they wrote, and the longest time that one of them was refused. */
class Writers {
  readonly written = new Map<string, number>();
  longest = 0;
  private stopped = false;
  private isOver = false;
  private next = ROWS;
  private readonly running: Promise<unknown>;

  constructor(private readonly things: Things) {
    this.running = Promise.all(Array.from({ length: WRITERS }, (_, id) => this.write(id)));
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await this.running;
  }

  private async write(writer: number): Promise<void> {
    const { db, Old, New } = this.things;
    let refused: number | undefined;
    for (let i = 0; !this.stopped; i++) {
      const id = `r${(i * WRITERS + writer) % ROWS}`;
      const value = ++this.next;
      const state = refused === undefined ? undefined : (await db.rekey(Old, New).status())?.state;
      try {
        await db.repository(state === 'cut-over' || this.isOver ? New : Old).put({ id, value });
        this.isOver ||= state === 'cut-over';
        this.written.set(id, value);
        if (refused !== undefined) this.longest = Math.max(this.longest, performance.now() - refused);
        refused = undefined;
      } catch (error) {
        expect(error).toMatchObject({ code: 'ERR_READONLY' });
        refused ??= performance.now();
      }
    }
  }
}

async function expectAll({ db, New }: Things, { written }: Writers): Promise<void> {
  const rows = await db.repository(New).find({}, { fullScan: true }).all();
  expect(rows.length).toBe(ROWS);
  const wrong = rows.filter(({ id, value }) => value !== (written.get(id) ?? Number(id.slice(1))));
  expect(wrong).toEqual([]);
}

test.each(['at rest', 'moving'])(
  'writes rest no longer than they may, regions %s',
  async (how) => {
    const things = await filled(how === 'moving' ? 'M' : 'R');
    const { db, Old, New } = things;
    const rekey = db.rekey(Old, New);
    await rekey.run();
    const writers = new Writers(things);
    const mover = new RegionMover(sharedHBase().masters[0]!);
    const { admin } = db.engine;
    const end = how === 'moving' ? mover.keepMoving(admin, [Old.name.toLowerCase()]) : async () => 0;
    const cut = await cutOver(rekey, { restMs: LIMIT_MS }).finally(end);
    await writers.stop();
    expect(cut.rested).toBeLessThan(LIMIT_MS);
    expect(writers.longest).toBeLessThan(LIMIT_MS + SERVERS_MS);
    await expectAll(things, writers);
    record('rekey-rests', { [`ms, the longest rest, regions ${how}`]: Math.round(writers.longest) });
    await db.close();
  },
  PATIENCE,
);

test(
  'a row that another program gave the new layout keeps the cut-over out',
  async () => {
    const { Old, New } = declareThings(`Extra${process.pid}`);
    const [db, other] = [await store.open(Old, New), await store.open(New)];
    await db.repository(Old).put({ id: 'a', value: 1 });
    const rekey = db.rekey(Old, New);
    await rekey.run();
    await other.repository(New).put({ id: 'b', value: 2 });
    await expect(rekey.cutOver()).rejects.toMatchObject({ code: 'ERR_CONFLICT', details: { extra: 1 } });
    await db.repository(Old).put({ id: 'c', value: 3 });
    await Promise.all([db.close(), other.close()]);
  },
  PATIENCE,
);

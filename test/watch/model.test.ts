/**
 * Writers of every kind side by side, flushes, compactions, splits, losses of power and readers that are cut off and go on: a
 * reader that applies what it is told to nothing has the table, each image before is what it had, and positions only grow.
 */

import { expect, test } from 'vitest';
import type { Database } from '../../src/database.js';
import { RowanError } from '../../src/errors.js';
import type { ChangeCommit } from '../../src/index.js';
import type { EmbeddedEngine } from '../../src/store/engine.js';
import { MemoryFileSystem, openMemory } from '../../src/testing/index.js';
import { seededRandom } from '../crash/seeded-random.js';
import { scaled } from '../proof/scale.js';
import { entities, Line, Note, Order, Parcel } from './entities.js';

type Watchable = typeof Order | typeof Line | typeof Parcel;
const WATCHED = [Order, Line, Parcel] as const;
const WRITERS = 8;
const HISTORIES = scaled(1, 12, 400);
const LIVES = 3;
const OPERATIONS = scaled(6, 12, 20);
const END = 'the end';

/** What a reader keeps where a crash of the store does not reach: how far it is, and what it made of it. */
class Reader {
  readonly rows = new Map<string, object>();
  position: string;
  /** The power is gone, and with it whoever reads. */
  isHalted = false;
  private ended: string | undefined;

  constructor(position: string) {
    this.position = position;
  }

  /** Reads until the commit that writes `end`, cut off now and then; throws what the feed throws. */
  async follow(db: Database<EmbeddedEngine>, end: string, random: () => number): Promise<void> {
    this.isHalted = false;
    while (this.ended !== end) {
      const feed = db.watch(WATCHED, {}, { from: this.position });
      let left = 1 + Math.floor(random() * 40);
      for await (const commit of feed) {
        if (this.isHalted) return;
        this.apply(commit);
        if (this.ended === end || --left === 0) break;
      }
    }
  }

  private apply({ changes, position }: ChangeCommit<Watchable>): void {
    expect(numberOf(position)).toBeGreaterThan(numberOf(this.position));
    const seen = new Set<string>();
    for (const { entity, key, operation, before, after } of changes) {
      const name = `${entity.name} ${key.shop} ${key.no}`;
      expect(seen.has(name)).toBe(false);
      seen.add(name);
      expect(before).toEqual(this.rows.get(name));
      expect(operation).toBe(
        before === undefined ? 'insert' : after === undefined ? 'delete' : ('update' as string),
      );
      if (after === undefined) this.rows.delete(name);
      else this.rows.set(name, after);
      if (name === `Parcel ${END} 0`) this.ended = after?.status ?? undefined;
    }
    this.position = position;
  }
}

function numberOf(position: string): number {
  return Number.parseInt(Buffer.from(position, 'base64url').toString().split('.')[1]!, 36);
}

async function stored(db: Database<EmbeddedEngine>): Promise<Map<string, object>> {
  const rows = new Map<string, object>();
  for (const entity of WATCHED) {
    for (const one of await db
      .repository(entity as typeof Order)
      .find({}, { fullScan: true })
      .all())
      rows.set(`${entity.name} ${one.shop} ${one.no}`, one);
  }
  return rows;
}

/** One operation of one writer. What is refused, or lost with the power, has not happened. */
async function write(db: Database<EmbeddedEngine>, random: () => number): Promise<void> {
  const pick = <T>(...items: readonly T[]): T => items[Math.floor(random() * items.length)]!;
  const key = () => ({ shop: pick('a', 'b', 'c'), no: pick('1', '2', '3') });
  const one = () => ({ ...key(), status: pick('x', 'y', 'z', null) });
  const orders = db.repository(pick(Order, Line, Parcel, Note) as typeof Order);
  switch (Math.floor(random() * 13)) {
    case 0:
      await orders.insert(one());
      return;
    case 1:
      return orders.update(key(), { status: pick('u', 'v', null) });
    case 2:
    case 3:
      return orders.delete(key());
    case 4:
      return orders.replace(one());
    case 5:
      return orders.putMany([one(), one(), one()]);
    case 6:
      await db.batch(
        (batch) => {
          batch.of(Order).put(one());
          batch.of(Line).delete(key());
          batch.of(Parcel).put(one());
          batch.of(Order).put({ ...one(), count: Math.floor(random() * 9) });
        },
        { atomic: pick(true, false) },
      );
      return;
    case 7:
    case 8:
      return db.transaction(async (tx) => {
        const found = await tx.repository(Order).get(key());
        if (found !== null) await tx.repository(Order).put({ ...found, count: (found.count ?? 0) + 1 });
        await tx.repository(Line).put(one());
        await tx.repository(Parcel).delete(key());
        if (random() < 0.2) throw new RowanError('ERR_CONFLICT', 'thrown by the function');
      });
    case 9:
      await orders.find({ shop: pick('a', 'b') }).deleteAll();
      return;
    case 10:
      await db
        .repository(Order)
        .find({ shop: pick('a', 'b') })
        .updateAll({ status: pick('m', 'n') });
      return;
    case 11:
      return maintain(db, pick('flush', 'compact', 'split'), pick('orders', 'parcels', 'rowan_changes'));
    default:
      return orders.put(one());
  }
}

async function maintain(
  db: Database<EmbeddedEngine>,
  doing: 'flush' | 'compact' | 'split',
  table: string,
): Promise<void> {
  if (doing !== 'split') return db.admin[doing](table);
  const at = table === 'rowan_changes' ? Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 40) : Uint8Array.of(98);
  // Refused where it was split before.
  await db.admin.split(table, at);
}

test('a reader has the table, whatever goes on', async () => {
  for (let seed = 0; seed < HISTORIES; seed++) {
    const random = seededRandom(seed);
    let disk = new MemoryFileSystem();
    let db = await openMemory({ entities, disk });
    const reader = new Reader(db.watch(Order).position);
    for (let life = 0; life < LIVES; life++) {
      const killed = life < LIVES - 1 && random() < 0.7;
      const end = `life ${life}`;
      const following = reader.follow(db, end, random);
      following.catch(() => undefined);
      let left = WRITERS * OPERATIONS;
      let crashed: MemoryFileSystem | undefined;
      const at = Math.floor(random() * left);
      const writer = async (): Promise<void> => {
        while (left-- > 0 && crashed === undefined) {
          if (killed && left === at) {
            // What was read is on the disk; what nobody was told of may be or not.
            reader.isHalted = true;
            crashed = disk.crash({ keepUnsynced: random(), random });
            await db.close();
            return;
          }
          await write(db, random).catch((error: unknown) => {
            if (!(error instanceof RowanError) || error.code === 'ERR_CORRUPTION') throw error;
          });
        }
      };
      await Promise.all(Array.from({ length: WRITERS }, writer));
      if (crashed === undefined) {
        await db.repository(Parcel).put({ shop: END, no: '0', status: end });
        await following;
        expect(reader.rows).toEqual(await stored(db));
        await db.close();
      } else {
        await following.catch((error: unknown) => expect(error).toMatchObject({ code: 'ERR_CLOSED' }));
        disk = crashed;
      }
      db = await openMemory({ entities, disk });
    }
    // From the first commit on, by somebody who begins now.
    const late = new Reader(db.watch(Order, {}, { from: 'start' }).position);
    await db.repository(Parcel).put({ shop: END, no: '0', status: 'late' });
    await Promise.all([late.follow(db, 'late', random), reader.follow(db, 'late', random)]);
    expect(late.rows).toEqual(reader.rows);
    expect(late.rows).toEqual(await stored(db));
    expect(db.engine.stats().openScanners).toBe(0);
    await db.close();
  }
});

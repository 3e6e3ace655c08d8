/**
 * Requests of writes on a real HBase that arrive late or twice, over sockets: when the connection has ended that they were sent over, and
 * others have taken over what the writer had begun. Unique values, answers and checks are exact.
 */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { Database } from '../../../src/database.js';
import { compileSchema } from '../../../src/mapper/index.js';
import { Delete, type Engine, Get, Put } from '../../../src/table/index.js';
import {
  drained,
  emptied,
  expectExactChecks,
  expectTrueAnswers,
  followed,
  LATE_CASES,
  LATE_WRITES,
  LATER,
  lateEntities,
  petsThere,
  prepareLate,
} from '../../indexes/late-writes.js';
import { record } from '../../proof/evidence.js';
import type { Delivery } from '../../proof/late.js';
import { mayGoOn, scaled } from '../../proof/scale.js';
import { openTestStore, type TestStore } from '../../query/test-database.js';
import { connectShared } from '../connect.js';
import { LateNet } from './late-net.js';

/** How long the program waits whose request is kept. */
const GIVES_UP = 1500;
const STRIDE = scaled(8, 5, 1);

let store: TestStore;
let engine: Engine;
/** A program whose clock says that all others have been waited for. */
let other: Database;

beforeAll(async () => {
  store = openTestStore();
  await (await store.open(...lateEntities)).close();
  engine = await connectShared();
  other = new Database(compileSchema(lateEntities), withClock(engine, LATER), 'verify');
  await other.ready();
});
afterAll(async () => {
  await other.close();
  await store.dispose();
});

/** The engine with a clock that is so many milliseconds ahead. */
function withClock(of: Engine, ahead: number): Engine {
  return new Proxy(of, {
    get: (target, name) => {
      if (name === 'now') return () => target.now() + ahead;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

const expectGivenUp = (error: { code?: string }): void =>
  expect(['ERR_TIMEOUT', 'ERR_CONNECTION']).toContain(error.code);

/** A program of its own whose requests may arrive late. */
async function withLate<T>(
  use: (program: { readonly db: Database; readonly engine: Engine; readonly net: LateNet }) => Promise<T>,
): Promise<T> {
  const net = new LateNet();
  const late = await connectShared({
    resolveAddress: net.resolveAddress,
    rpcTimeout: GIVES_UP,
    operationTimeout: GIVES_UP,
  });
  const db = new Database(compileSchema(lateEntities), late, 'verify');
  try {
    await db.ready();
    return await use({ db, engine: late, net });
  } finally {
    await db.close();
    await net.close();
  }
}

/** @returns whether the write sent as many requests that change rows. */
async function deliver(name: string, n: number, mode: Delivery): Promise<boolean> {
  await emptied(other);
  await prepareLate(other);
  const { write, rival } = LATE_WRITES[name]!;
  return withLate(async ({ db, net }) => {
    net.keep(n, mode);
    await write(db).catch(expectGivenUp);
    await followed(db).catch(expectGivenUp);
    if (!net.hasKept) return false;
    await rival(other).catch((error: { code?: string }) => expect(error.code).toBe('ERR_CONFLICT'));
    await drained(other);
    await expectTrueAnswers(other);
    const pets = await petsThere(other);
    await net.deliver();
    await drained(other);
    await expectTrueAnswers(other);
    expect(await petsThere(other)).toEqual(pets);
    await expectExactChecks(other);
    return true;
  });
}

test.each<[Delivery, boolean]>([
  ['late', false],
  ['last', false],
  ['twice', true],
])('a plain put that arrives %s is made, for nobody has taken it over', async (mode, isMade) => {
  await withLate(async ({ engine: late, net }) => {
    const [row, value] = [Buffer.from(`put ${mode}`), Buffer.from('Red')];
    const stored = async (): Promise<boolean> =>
      !(await engine.table('late_owners').get(new Get(row))).isEmpty;
    // Looks into meta are done before.
    await late.table('late_owners').get(new Get(row));
    net.keep(0, mode);
    const putting = late.table('late_owners').put(new Put(row).addColumn('d', 'n', value));
    await putting.catch(expectGivenUp);
    expect(await stored()).toBe(isMade);
    await net.deliver();
    expect(await stored()).toBe(true);
    await engine.table('late_owners').delete(new Delete(row));
  });
});

test.each(LATE_CASES.map((each, i) => ({ ...each, i })))(
  '$name: any request arrives $mode',
  async ({ name, mode, i }) => {
    const failed: string[] = [];
    let tried = 0;
    for (let n = i % STRIDE; mayGoOn(); n += STRIDE) {
      try {
        if (!(await deliver(name, n, mode))) break;
        tried++;
      } catch (error) {
        failed.push(`request ${n}: ${(error as Error).message}`);
      }
      if (n > 200) throw new Error('The write does not end.');
    }
    expect(failed).toEqual([]);
    record('late-sockets', { [`requests that arrived ${mode === 'twice' ? 'twice' : 'late'}`]: tried });
  },
);

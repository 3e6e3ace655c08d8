/** The options of the reads of a summary, on both kinds of engines. */

import { afterEach, expect, test, vi } from 'vitest';
import { Column, Entity, part, RowKey, Summary } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import { Database } from '../../src/database.js';
import { compileSchema } from '../../src/mapper/index.js';
import { openEmbedded } from '../../src/store/engine.js';
import type { Engine, OperationOptions } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/index.js';
import { stepless } from '../proof/stepless.js';
import { watchedTables } from '../proof/watched-tables.js';

@Entity({ table: { name: 'parcels', families: { d: {} } } })
@RowKey(part('id'))
@Summary('perTown', { by: ['town'], figures: { parcels: 'count' } })
class Parcel {
  declare static readonly key: ['id'];
  declare static readonly summaries: { perTown: { by: ['town']; figures: { parcels: 'count' } } };
  id!: string;
  @Column('d:t', text) town!: string;
}

/** More than are read at once. */
const TOWNS = 600;

const HELD: readonly string[] = ['get', 'getAll', 'batch'];

/** What the requests of a read to the table of figures were sent with, and what they wait for. */
interface Requests {
  readonly options: (OperationOptions | undefined)[];
  held: Promise<void> | undefined;
}

function watched(engine: Engine, requests: Requests): Engine {
  return watchedTables(engine, (table, method, call) => {
    if (table !== 'parcels_sum' || !HELD.includes(method)) return undefined;
    return async (...given) => {
      if (method === 'get') requests.options.push(given[1] as OperationOptions | undefined);
      await requests.held;
      return call(...given);
    };
  });
}

async function opened(of: (engine: Engine) => Engine): Promise<Database> {
  const engine = await openEmbedded('/memory', { fileSystem: new MemoryFileSystem(), background: 'inline' });
  const db = new Database(compileSchema([Parcel]), of(engine), 'create');
  await db.ready();
  const rows = Array.from({ length: TOWNS }, (_, n) => ({ id: `${n}`, town: `town ${n}` }));
  await db.repository(Parcel).putMany(rows);
  await db.summary(Parcel, 'perTown').drain();
  return db;
}

afterEach(() => vi.restoreAllMocks());

test('on engines that send requests, reads end at their timeout and with their signal, whatever they wait for', async () => {
  const requests: Requests = { options: [], held: undefined };
  const db = await opened((engine) => watched(stepless(engine), requests));
  const perTown = db.summary(Parcel, 'perTown');
  const reads = {
    get: (options: OperationOptions) => perTown.get({ town: 'town 1' }, options),
    find: (options: OperationOptions) => perTown.find({}, options),
    each: (options: OperationOptions) => perTown.each({}, options).next(),
  };
  let release!: () => void;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  for (const [name, read] of Object.entries(reads)) {
    requests.held = held;
    await expect(read({ timeout: 1 }), name).rejects.toMatchObject({ code: 'ERR_TIMEOUT' });
    const ending = new AbortController();
    const aborted = read({ signal: ending.signal });
    ending.abort();
    await expect(aborted, name).rejects.toMatchObject({ code: 'ERR_ABORTED' });
    await expect(read({ signal: AbortSignal.abort() }), name).rejects.toMatchObject({ code: 'ERR_ABORTED' });
    requests.held = undefined;
    requests.options.length = 0;
    const { signal } = new AbortController();
    const attributes = { id: name };
    expect(await read({ signal, attributes, timeout: 60_000 }), name).toBeTruthy();
    expect(requests.options[0], name).toMatchObject({ signal, attributes });
  }
  // Before the figures they wait for the rows that this program has written.
  await db.repository(Parcel).put({ id: 'late', town: 'town 1' });
  requests.held = held;
  requests.options.length = 0;
  await expect(reads.get({ timeout: 1 })).rejects.toMatchObject({ code: 'ERR_TIMEOUT' });
  expect(requests.options.filter((options) => options !== undefined)).toEqual([]);
  release();
  expect(await reads.get({})).toMatchObject({ parcels: 2 });
  await db.close();
});

test('a search reads no further page after its timeout or its signal; a stream has the timeout for each wait', async () => {
  const db = await opened((engine) => engine);
  const perTown = db.summary(Parcel, 'perTown');
  expect(await perTown.find({}, { timeout: 60_000 })).toHaveLength(TOWNS);
  let now = performance.now();
  vi.spyOn(performance, 'now').mockImplementation(() => (now += 10));
  await expect(perTown.find({}, { timeout: 25 })).rejects.toMatchObject({ code: 'ERR_TIMEOUT' });
  let count = 0;
  for await (const _ of perTown.each({}, { timeout: 25 })) count++;
  expect(count).toBe(TOWNS);
  const ending = new AbortController();
  const groups = perTown.each({}, { signal: ending.signal });
  await groups.next();
  ending.abort();
  const rest = async (): Promise<void> => {
    for await (const _ of groups) count--;
  };
  await expect(rest()).rejects.toMatchObject({ code: 'ERR_ABORTED' });
  expect(count).toBeGreaterThan(0);
  await db.close();
});

test('an option that reads do not have, and a timeout that is none, are refused', async () => {
  const db = await opened((engine) => engine);
  const perTown = db.summary(Parcel, 'perTown');
  const error = { code: 'ERR_INVALID_ARGUMENT' };
  await expect(perTown.get({ town: 'a' }, { limit: 1 } as never)).rejects.toMatchObject(error);
  await expect(perTown.find({}, { timeout: 0 })).rejects.toMatchObject(error);
  expect(() => perTown.each({}, { limit: 1 } as never)).toThrow(/limit/);
  await db.close();
});

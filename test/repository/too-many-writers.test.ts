/** Changes whose row is changed by another program before each of their attempts, where a step is one row. */

import { afterEach, expect, test, vi } from 'vitest';
import { defineEntity, defineTable } from '../../decorators/index.js';
import { toHex } from '../../src/bytes/index.js';
import { text } from '../../src/codec/index.js';
import { Database } from '../../src/database.js';
import { ConflictError } from '../../src/errors.js';
import { part } from '../../src/key/index.js';
import { ROW_ATTEMPTS } from '../../src/repository/row-lock.js';
import { openEmbedded } from '../../src/store/engine.js';
import { Result } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/index.js';
import { schemaOf, stepless } from '../proof/stepless.js';
import { watchedTables } from '../proof/watched-tables.js';

const Plain = defineEntity({
  name: 'Plain',
  table: defineTable({ name: 'disputed', families: { d: {} } }),
  key: [part('id')],
  columns: (c) => ({ a: c.column('d:a', text).optional(), version: c.version('d:v') }),
});

const Indexed = defineEntity({
  name: 'Indexed',
  table: defineTable({ name: 'disputed_entries', families: { d: {} } }),
  key: [part('id')],
  indexes: { byA: { on: [part('a')] } },
  columns: (c) => ({ a: c.column('d:a', text).optional() }),
});

/** The value "y", as JSON shows it. */
const CHANGED = JSON.stringify({ value: Uint8Array.of(0x79) }).slice(1, -1);

afterEach(() => vi.restoreAllMocks());

test.each([
  {
    Entity: Plain,
    rows: 'disputed',
    says: `Other writers changed the row at each of ${ROW_ATTEMPTS} attempts of the update. Try again later.`,
    names: { table: 'disputed' },
  },
  {
    Entity: Indexed as unknown as typeof Plain,
    rows: 'disputed_entries',
    says: `A row of Indexed was changed by others, or a value of a unique index was being claimed, at each of ${ROW_ATTEMPTS} attempts. Try again later.`,
    names: { entity: 'Indexed' },
  },
])('they are given up after some attempts: $says', async ({ Entity, rows: name, says, names }) => {
  // Pauses between attempts are as short as they can be.
  vi.spyOn(Math, 'random').mockReturnValue(0);
  let attempts = 0;
  let isDisputed = false;
  const engine = await openEmbedded('/memory', { fileSystem: new MemoryFileSystem(), background: 'inline' });
  const watched = watchedTables(stepless(engine), (table, method, call) => {
    if (table !== name || !['checkAndMutate', 'batch'].includes(method)) return undefined;
    return (...given) => {
      if (!isDisputed) return call(...given);
      // Others end what a change of an index's column has begun.
      if (JSON.stringify(given[0]).includes(CHANGED)) attempts++;
      const refused = { ok: true, success: false, result: Result.EMPTY };
      return Promise.resolve(method === 'batch' ? (given[0] as unknown[]).map(() => refused) : refused);
    };
  });
  await using db = new Database(schemaOf(Entity), watched, 'create');
  await db.ready();
  const rows = db.repository(Entity);
  await rows.put({ id: '1', a: 'x' });
  isDisputed = true;
  const error = await rows.update({ id: '1' }, { a: 'y' }).then(
    () => expect.unreachable(),
    (reason: unknown) => reason as ConflictError,
  );
  isDisputed = false;
  expect(error).toBeInstanceOf(ConflictError);
  expect(error).toMatchObject({ code: 'ERR_CONFLICT', retryable: true, message: says });
  expect(error.details).toEqual({ ...names, keyHex: toHex(Buffer.from('1')) });
  expect(attempts).toBe(ROW_ATTEMPTS);
  expect((await rows.get({ id: '1' }))?.a).toBe('x');
});

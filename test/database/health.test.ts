/** `db.health()`: whether a database can be used. */

import { afterAll, beforeAll, expect, it } from 'vitest';
import { Column, Entity, part, rowKey } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import { healthOf } from '../../src/database/health.js';
import { RowanError } from '../../src/errors.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { Engine } from '../../src/table/index.js';
import { openTestDatabase, type TestDatabase } from '../query/test-database.js';

const table = (name: string) => ({ name: `health_${name}`, families: { d: {} } });

@Entity({ table: table('a') })
class One {
  static readonly key = rowKey(part('id'));
  id!: string;
  @Column('d:t', text) text?: string;
}

@Entity({ table: table('b') })
class Two {
  static readonly key = rowKey(part('id'));
  id!: string;
}

let db: TestDatabase;
beforeAll(async () => {
  db = await openTestDatabase([One, Two]);
});
afterAll(() => db.dispose());

it('asks each table of the entities once', async () => {
  expect(await db.health()).toEqual({
    status: 'up',
    engine: db.engine.name,
    tables: {
      health_a: { status: 'up', milliseconds: expect.any(Number) as number },
      health_b: { status: 'up', milliseconds: expect.any(Number) as number },
    },
  });
  await expect(db.health({ soon: true } as never)).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
});

/** The engine of the database with other answers of its tables. */
function engineWith(exists: (name: string) => Promise<boolean>, checkWritable?: () => void): Engine {
  return {
    name: 'embedded',
    ...(checkWritable && { checkWritable }),
    table: (name: string) => ({ exists: () => exists(name) }),
  } as unknown as Engine;
}

it('is down with the code of what failed, or of what did not answer in time, and never throws', async () => {
  const schema = compileSchema([One, Two]);
  const engine = engineWith((name) =>
    name === 'health_a'
      ? Promise.reject(new RowanError('ERR_CONNECTION', 'gone'))
      : new Promise<boolean>(() => undefined),
  );
  expect(await healthOf(engine, schema, { timeout: 20 })).toMatchObject({
    status: 'down',
    tables: {
      health_a: { status: 'down', error: 'ERR_CONNECTION' },
      health_b: { status: 'down', error: 'ERR_TIMEOUT' },
    },
  });
});

it('is down when a store takes no writes any more, whatever its tables answer', async () => {
  const engine = engineWith(
    () => Promise.resolve(false),
    () => {
      throw new RowanError('ERR_READONLY', 'the log could not be written');
    },
  );
  expect(await healthOf(engine, compileSchema([One, Two]), {})).toMatchObject({
    status: 'down',
    error: 'ERR_READONLY',
    tables: { health_a: { status: 'up' } },
  });
});

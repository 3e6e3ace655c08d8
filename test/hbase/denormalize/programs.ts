import { afterAll, beforeAll } from 'vitest';
import { Database } from '../../../src/database.js';
import { compileSchema } from '../../../src/mapper/index.js';
import type { EntityClass } from '../../../src/schema/types.js';
import type { Engine } from '../../../src/table/index.js';
import { Mortal } from '../../proof/dying.js';
import type { Program } from '../../proof/stepless.js';
import { openTestDatabase, type TestDatabase } from '../../query/test-database.js';
import { connectShared } from '../connect.js';

/** Of a test file: a database of the entities, and programs beside it that may end behind any call, each with a connection. */
export function programsOf(entities: readonly EntityClass[]): {
  readonly database: () => TestDatabase;
  readonly program: () => Promise<Program>;
} {
  let database: TestDatabase;
  const engines: Engine[] = [];
  beforeAll(async () => {
    database = await openTestDatabase(entities);
  });
  afterAll(async () => {
    await Promise.all(engines.map((engine) => engine.close()));
    await database.dispose();
  });
  const program = async (): Promise<Program> => {
    const engine = await connectShared();
    engines.push(engine);
    const mortal = new Mortal(engine);
    const own = new Database(compileSchema(entities), mortal.mortal, 'verify');
    await own.ready();
    return { db: own, mortal };
  };
  return { database: () => database, program };
}

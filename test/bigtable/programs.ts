import { afterAll, beforeAll } from 'vitest';
import { connectBigtableEngine } from '../../src/bigtable/engine.js';
import { Database } from '../../src/database.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { EntityClass } from '../../src/schema/types.js';
import type { Engine } from '../../src/table/index.js';
import { Mortal } from '../proof/dying.js';
import type { Program } from '../proof/stepless.js';
import { freshInstance } from './connect.js';

/** Of a test file: a database of the entities in an instance of its own, and programs beside it, each with a connection. */
export function programsOf(entities: readonly EntityClass[]): {
  readonly database: () => Database;
  /** A program that may end behind any call. */
  readonly program: () => Promise<Program>;
} {
  let database: Database;
  let instance: ReturnType<typeof freshInstance>;
  const engines: Engine[] = [];
  const connected = async (): Promise<Engine> => {
    const engine = await connectBigtableEngine(instance);
    engines.push(engine);
    return engine;
  };
  beforeAll(async () => {
    instance = freshInstance();
    database = new Database(compileSchema(entities), await connected(), 'create');
    await database.ready();
  });
  afterAll(async () => {
    await Promise.all(engines.map((engine) => engine.close()));
  });
  const program = async (): Promise<Program> => {
    const mortal = new Mortal(await connected());
    const own = new Database(compileSchema(entities), mortal.mortal, 'verify');
    await own.ready();
    return { db: own, mortal };
  };
  return { database: () => database, program };
}

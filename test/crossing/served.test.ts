/**
 * Features crossed on a store that is served: the serving process and a connection write the same rows in turn, and what they derive from
 * them agrees.
 */

import { connect, type Database, open } from '../../src/database.js';
import type { KeyedClass } from '../../src/schema/entity-types.js';
import { type StoreServer, serve } from '../../src/server/server.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { scaled } from '../proof/scale.js';
import { Random } from '../query/model/random.js';
import { declare, KEPT_VERSIONS, NOT_ON_SERVERS } from './declare.js';
import { Derived } from './derived.js';
import { Model } from './model.js';
import { drawOperation, expectOutcome, perform, repositoriesOf } from './program.js';
import { compareVersions, shown } from './shown.js';
import { describePrograms, expectAgreement, refused, rowsOf } from './two-clients.js';

const PROGRAMS = scaled(4, 50, 4000);
const STEPS = 12;
/** The least time between two operations by the store's clock, ms. */
const STEP_MS = 10;

/** The first write over a connection gives up the counts that have no contributions. */
async function built(db: Database, main: KeyedClass): Promise<void> {
  for (const { name } of db.schema.entity(main).summaries) {
    const summary = db.summary(main, name as never);
    if ((await summary.state()) !== 'active') await summary.build();
  }
}

async function runProgram(seed: number): Promise<boolean> {
  const random = new Random(seed ^ 0x5eed);
  const declared = declare(new Random(seed), false, false, NOT_ON_SERVERS);
  const { features, main, sibling, source } = declared;
  compareVersions(KEPT_VERSIONS);
  const entities = [main, sibling, source].filter((target) => target !== undefined) as never;
  const model = new Model(declared, {
    get now() {
      return Date.now();
    },
    get clock() {
      return Date.now();
    },
  });
  const derived = new Derived(features, shown);
  const log: string[] = [];
  let inside: Database | undefined;
  let server: StoreServer | undefined;
  let outside: Database | undefined;
  try {
    inside = await open({
      path: '/served',
      entities,
      fileSystem: new MemoryFileSystem(),
      background: 'inline',
      // Two writes in one millisecond are one version of a history.
      clock: () => Date.now() + STEP_MS * log.length,
    });
    server = await serve(inside as never, { listen: '127.0.0.1:0' });
    const { endpoint } = server;
    const connected = () => connect({ masters: [endpoint], user: 'test', pause: 10, entities });
    outside = await connected();
    for (let i = 0; i < STEPS; i++) {
      const operation = drawOperation(random, declared, model);
      const within = random.chance(0.5);
      if (random.chance(0.1)) await built(random.pick([inside, outside]), main);
      log.push(
        `${within ? 'inside' : 'outside'} ${operation.kind} ${shown(operation.key)} | ${shown(operation.values)}`,
      );
      const found = await perform(operation, declared, repositoriesOf(within ? inside : outside, declared));
      expectOutcome(found, model.run(operation));
    }
    await built(random.pick([inside, outside]), main);
    const rows = rowsOf(model);
    // What follows after the answers of a connection has ended when it is closed.
    await outside.close();
    outside = undefined;
    await built(inside, main);
    for (const reach of [() => inside!, connected]) {
      const db = await reach();
      if (db !== inside) outside = db;
      await expectAgreement(db, declared, derived, model, rows);
    }
  } catch (error) {
    return refused(error, seed, features, log);
  } finally {
    await outside?.close();
    await server?.close();
    await inside?.close();
  }
  return true;
}

describePrograms(
  'a served store, written by the process that serves it and by a connection',
  PROGRAMS,
  runProgram,
  { what: 'of which some have summaries', programs: 0 },
);

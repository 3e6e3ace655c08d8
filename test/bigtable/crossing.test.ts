/**
 * Features crossed on Bigtable: two programs write the same rows in turn, some of them with moved columns and upgrades later, and what
 * they derive from the rows agrees.
 */

import { connectBigtable } from '../../src/database/bigtable.js';
import type { Database } from '../../src/database.js';
import type { KeyedClass } from '../../src/schema/entity-types.js';
import { declare, KEPT_VERSIONS, NOT_ON_SERVERS } from '../crossing/declare.js';
import { Derived } from '../crossing/derived.js';
import { Model } from '../crossing/model.js';
import { drawOperation, expectOutcome, perform, repositoriesOf } from '../crossing/program.js';
import { compareVersions, shown } from '../crossing/shown.js';
import { describePrograms, expectAgreement, refused, rowsOf } from '../crossing/two-clients.js';
import { scaled } from '../proof/scale.js';
import { Random } from '../query/model/random.js';
import { freshInstance } from './connect.js';

const PROGRAMS = scaled(10, 50, 4000);
const STEPS = 12;

/** An index or summary of another version is another one. */
async function built(db: Database, main: KeyedClass): Promise<void> {
  const { indexes, summaries } = db.schema.entity(main);
  for (const { name } of indexes) {
    const index = db.index(main, name as never);
    if (index.state !== 'active') await index.build();
  }
  for (const { name } of summaries) {
    const summary = db.summary(main, name as never);
    if ((await summary.state()) !== 'active') await summary.build();
  }
}

async function runProgram(seed: number): Promise<boolean> {
  const random = new Random(seed ^ 0x5eed);
  let declared = declare(new Random(seed), false, false, NOT_ON_SERVERS);
  const { features } = declared;
  compareVersions(KEPT_VERSIONS);
  const later = random.chance(0.5);
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
  const instance = freshInstance();
  const open: Database[] = [];
  const connected = async (tables: 'create' | 'verify'): Promise<Database> => {
    const { main, sibling, source } = declared;
    const entities = [main, sibling, source].filter((target) => target !== undefined) as never;
    const db = await connectBigtable({ ...instance, entities, tables } as never);
    open.push(db);
    return db;
  };
  try {
    let one = await connected('create');
    let other = await connected('verify');
    for (let i = 0; i < STEPS; i++) {
      if (i === STEPS / 2 && later) {
        log.push('opened again');
        await one.close();
        await other.close();
        declared = declare(new Random(seed), true, false, NOT_ON_SERVERS);
        one = await connected('create');
        if (features.has('upgrade')) {
          model.upgrade();
          derived.upgrade();
          await built(one, declared.main);
        }
        other = await connected('verify');
      }
      const operation = drawOperation(random, declared, model);
      const within = random.chance(0.5);
      log.push(
        `${within ? 'one' : 'other'} ${operation.kind} ${shown(operation.key)} | ${shown(operation.values)}`,
      );
      const found = await perform(operation, declared, repositoriesOf(within ? one : other, declared));
      expectOutcome(found, model.run(operation));
    }
    const rows = rowsOf(model);
    await other.close();
    for (const db of [one, await connected('verify')]) {
      await expectAgreement(db, declared, derived, model, rows);
    }
  } catch (error) {
    return refused(error, seed, features, log);
  } finally {
    for (const db of open) await db.close();
  }
  return true;
}

describePrograms('a table of Bigtable, written by two programs', PROGRAMS, runProgram, {
  what: 'of which most are not refused',
  programs: PROGRAMS / 2,
});

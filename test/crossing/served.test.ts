/**
 * Features crossed on a store that is served: the serving process and a connection take turns in writing the same rows.
 */

import { describe, expect, it } from 'vitest';
import { connect, type Database, open } from '../../src/database.js';
import { RowanError, SchemaError } from '../../src/errors.js';
import type { KeyedClass } from '../../src/schema/entity-types.js';
import { type StoreServer, serve } from '../../src/server/server.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { scaled } from '../proof/scale.js';
import { Random } from '../query/model/random.js';
import { declare, KEPT_VERSIONS } from './declare.js';
import { Derived } from './derived.js';
import { Model, type Row } from './model.js';
import { drawOperation, perform, repositoriesOf } from './program.js';
import { compareVersions, shown } from './shown.js';

const PROGRAMS = scaled(6, 60, 2000);
const FIRST = Number(process.env['ROWAN_SEED'] ?? 1);
const STEPS = 12;

const rowText = ({ key, values }: Row): string => shown({ ...values, ...key });

/** The first write over a connection gives up the counts that have no contributions. */
async function built(db: Database, main: KeyedClass): Promise<void> {
  for (const { name } of db.schema.entity(main).summaries) {
    const summary = db.summary(main, name as never);
    if ((await summary.state()) !== 'active') await summary.build();
  }
}

async function runProgram(seed: number): Promise<boolean> {
  const random = new Random(seed ^ 0x5eed);
  const declared = declare(new Random(seed), false);
  const { features, renew, main, sibling, source } = declared;
  if (features.has('stamps') || features.has('ttl') || features.has('ownTtl')) return false;
  compareVersions(renew || features.has('ownTtl') ? 1 : KEPT_VERSIONS);
  const entities = [main, sibling, source].filter((target) => target !== undefined) as never;
  const model = new Model(declared, {
    get now() {
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
    });
    server = await serve(inside as never, { listen: '127.0.0.1:0' });
    outside = await connect({ masters: [server.endpoint], user: 'u', pause: 10, entities });
    for (let i = 0; i < STEPS; i++) {
      const operation = drawOperation(random, declared, model);
      const within = random.chance(0.5);
      if (random.chance(0.1)) await built(random.pick([inside, outside]), main);
      log.push(
        `${within ? 'inside' : 'outside'} ${operation.kind} ${shown(operation.key)} | ${shown(operation.values)}`,
      );
      const found = await perform(operation, declared, repositoriesOf(within ? inside : outside, declared));
      expect(found).toBe(model.run(operation));
    }
    await built(random.pick([inside, outside]), main);
    const rows = model.all().map(rowText).sort();
    for (const db of [inside, outside]) {
      const all = await repositoriesOf(db, declared)
        .main.find({} as never, { fullScan: true })
        .all();
      expect(all.map((one) => shown(one as object)).sort()).toEqual(rows);
      await derived.verify(db, main);
    }
  } catch (error) {
    if (error instanceof SchemaError && log.length === 0) return false;
    if (error instanceof RowanError && error.code === 'ERR_UNSUPPORTED' && log.length === 0) return false;
    throw new Error(
      `Seed ${seed}: ${[...features].join(' ')}${renew ? ' renew' : ''}\n${log.join('\n')}\n${(error as Error).message}`,
      { cause: error },
    );
  } finally {
    await outside?.close();
    await server?.close();
    await inside?.close();
  }
  return true;
}

describe('a served store', () => {
  it.each(Array.from({ length: PROGRAMS }, (_, i) => FIRST + i))('program %i', async (seed) => {
    const ran = await runProgram(seed);
    if (ran) console.log('RAN', seed);
  });
});

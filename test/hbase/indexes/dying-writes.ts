/** Writes of people by a program that ends behind any of its reads and changes: what their indexes must say then. */

import { expect } from 'vitest';
import type { Database } from '../../../src/database.js';
import type { Repository } from '../../../src/repository/index.js';
import { Person } from '../../indexes/entities.js';
import type { Program } from '../../proof/stepless.js';
import { expectTrueAnswers, faults, NAMES, WELL } from './answers.js';

export const old = (id: string): Person => ({
  id,
  email: `${id}@x`,
  status: 'open',
  placedAt: new Date(5),
  total: 5,
  tags: ['x', 'y'],
  members: new Map([['u1', 'm']]),
});

type People = Repository<typeof Person>;
const WRITES: Readonly<Record<string, (repo: People, id: string) => Promise<unknown>>> = {
  insert: (repo, id) => repo.insert({ ...old(`new-${id}`) }),
  put: (repo, id) =>
    repo.put({ id, email: `${id}@y`, status: 'sent', placedAt: new Date(9), total: 6, tags: ['y', 'z'] }),
  update: (repo, id) => repo.update({ id }, { status: 'gone', total: 7 }),
  replace: (repo, id) => repo.replace({ id, status: 'sent', placedAt: new Date(5) }),
  mutate: (repo, id) =>
    repo.mutate({ id }, (row) =>
      row.set({
        members: new Map([
          ['u2', 'm'],
          ['u1', null],
        ]),
      }),
    ),
  append: (repo, id) => repo.append({ id }, { email: 'z' }),
  delete: (repo, id) => repo.delete({ id }),
  check: (repo, id) => repo.check({ id }, { status: 'open' }).update({ placedAt: new Date(1), email: null }),
  past: (repo, id) => repo.delete({ id }, { timestamp: Date.now() }),
  batch: (repo, id) =>
    repo.batch((batch) =>
      batch
        .update({ id }, { status: 'sent' })
        .put(old(`more-${id}`))
        .delete({ id: `gone-${id}` }),
    ),
};

/** @returns how often the program has ended. */
export async function endWrites(db: Database, { db: own, mortal }: Program, stride: number): Promise<number> {
  const people = db.repository(Person);
  const repo = own.repository(Person);
  let deaths = 0;
  for (const [place, [name, write]] of Object.entries(WRITES).entries()) {
    for (let after = place % stride; ; after += stride) {
      const id = `${name}${after}`;
      await people.putMany([old(id), old(`gone-${id}`)]);
      mortal.dieAfter(after);
      await write(repo, id).catch((error: { code?: string }) => expect(error.code).toBe('ERR_CONNECTION'));
      const died = mortal.isDead;
      mortal.live();
      await expectTrueAnswers(db, `${name}, ended after ${after}`);
      if (!died) break;
      deaths++;
      expect(after).toBeLessThan(100);
    }
  }
  expect(await faults(db)).toBeGreaterThan(0);
  for (const name of NAMES) await db.index(Person, name).repair({ settledAfter: 0 });
  for (const name of NAMES) {
    expect(await db.index(Person, name).repair({ settledAfter: 0 }), name).toMatchObject({
      ...WELL,
      repaired: 0,
    });
  }
  await expectTrueAnswers(db, 'repaired');
  return deaths;
}

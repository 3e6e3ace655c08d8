/** Entities with rules of every kind, found by keys and by indexes, and deletes of them that programs may not survive. */

import { expect } from 'vitest';
import { Column, Entity, part, Reference, RowKey, Version } from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import type { Database } from '../../src/database.js';
import { uint32 } from '../../src/key/index.js';
import { endAfterCalls, type Program } from '../proof/stepless.js';

const families = { d: {} };

/** A tree: whoever is deleted takes those below along. */
@Entity({ table: { name: 'rule_people', families } })
@RowKey(part('id'))
export class Member {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:b', text) bossId?: string | null;
  @Reference(() => Member, { id: 'bossId' }, { onDelete: 'cascade' }) boss?: Member | null;
}

/** Keeps whom it names from being deleted. */
@Entity({ table: { name: 'rule_contracts', families } })
@RowKey(part('no', uint32))
export class Contract {
  declare static readonly key: ['no'];
  no!: number;
  @Column('d:c', text) memberId?: string | null;
  @Reference(() => Member, { id: 'memberId' }, { onDelete: 'restrict' }) member?: Member | null;
}

/** Found by the member's key, with which its own begins. */
@Entity({ table: { name: 'rule_visits', families } })
@RowKey(part('memberId'), part('at', uint32))
export class Call {
  declare static readonly key: ['memberId', 'at'];
  memberId!: string;
  at!: number;
  @Column('d:h', text) helperId?: string | null;
  @Version('d:v', int32) version?: number;
  @Reference(() => Member, { id: 'memberId' }, { onDelete: 'cascade' }) member?: Member | null;
  @Reference(() => Member, { id: 'helperId' }, { onDelete: 'setNull' }) helper?: Member | null;
}

export const ruled = [Member, Contract, Call];

async function prepare(db: Database): Promise<void> {
  const members = db.repository(Member);
  await db.repository(Contract).find({}, { fullScan: true }).deleteAll();
  for (const id of ['root', 'other']) await members.delete({ id });
  await members.putMany([{ id: 'root' }, { id: 'other' }]);
  await members.putMany(['a', 'b'].map((id) => ({ id, bossId: 'root' })));
  await members.put({ id: 'leaf', bossId: 'a' });
  await db.repository(Call).putMany([
    { memberId: 'a', at: 1, helperId: 'other' },
    { memberId: 'other', at: 1, helperId: 'leaf' },
    { memberId: 'other', at: 2, helperId: 'b' },
  ]);
}

const WRITES: Readonly<Record<string, (db: Database) => Promise<unknown>>> = {
  cascade: (db) => db.repository(Member).delete({ id: 'root' }),
  leaf: (db) => db.repository(Member).delete({ id: 'leaf' }),
  helper: (db) => db.repository(Member).delete({ id: 'other' }),
  name: (db) => db.repository(Call).put({ memberId: 'b', at: 3, helperId: 'a' }),
};

/** Rows that name what is not there, by scans: each counts once for each relation. */
async function countOrphans(db: Database): Promise<number> {
  const members = await db.repository(Member).find({}, { fullScan: true }).all();
  const ids = new Set(members.map(({ id }) => id));
  const calls = await db.repository(Call).find({}, { fullScan: true }).all();
  const named = [
    ...members.map(({ bossId }) => bossId),
    ...calls.flatMap(({ memberId, helperId }) => [memberId, helperId]),
  ];
  return named.filter((id) => id != null && !ids.has(id)).length;
}

/** Ends programs after the calls of their deletes: check tells what is off, the outbox finds all of it, and repair then nothing. */
export async function endDeletesAfterCalls(db: Database, program: () => Promise<Program>, stride: number) {
  const rules = [db.references(Member), db.references(Call)];
  const writes = { writes: WRITES, prepare: () => prepare(db), stride };
  return endAfterCalls(writes, program, async (when) => {
    const found = await countOrphans(db);
    let counted = 0;
    for (const one of rules) counted += (await one.check()).dangling;
    expect(counted, when).toBe(found);
    await db.references(Member).repair({ settledAfter: 0 });
    expect(await countOrphans(db), when).toBe(0);
    for (const one of rules) expect(await one.repair(), when).toMatchObject({ dangling: 0, repaired: 0 });
    return found;
  });
}

/** Two programs, of which one deletes what the other begins to name: nothing is left that names what is gone. */
export async function nameWhileDeleted(one: Database, two: Database, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    const id = `m${round}`;
    await one.repository(Member).putMany([{ id }, { id: 'stays' }]);
    const outcomes = await Promise.allSettled([
      one.repository(Member).delete({ id }),
      two.repository(Call).put({ memberId: id, at: round }),
      two.repository(Call).put({ memberId: 'stays', at: round, helperId: id }),
      two.repository(Member).put({ id: `below${round}`, bossId: id }),
    ]);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'ERR_REFERENCE' });
    expect(await one.repository(Member).get({ id })).toBeNull();
  }
  for (const target of [Call, Member])
    expect(await one.references(target as typeof Call).check()).toMatchObject({ dangling: 0 });
  expect(await countOrphans(one)).toBe(0);
}

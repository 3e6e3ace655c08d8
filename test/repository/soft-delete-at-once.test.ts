/** Soft deletes beside purges and inserts of other programs, where one step is one row: a purged row does not come back as a deleted one. */

import { expect, test } from 'vitest';
import { Column, DeletedAt, Entity, part, RowKey, Version } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import type { Repository } from '../../src/repository/index.js';
import { scaled } from '../proof/scale.js';
import { openStepless } from '../proof/stepless.js';
import { Random } from '../query/model/random.js';

const table = { name: 'kept_things', families: { d: {} } };

@Entity({ table })
@RowKey(part('id'))
class Kept {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:a', text) a?: string | null;
  @DeletedAt('d:x') deletedAt?: Date | null;
}

@Entity({ table: { ...table, name: 'kept_versions' } })
@RowKey(part('id'))
class KeptVersion {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:a', text) a?: string | null;
  @DeletedAt('d:x') deletedAt?: Date | null;
  @Version('d:v') version?: number;
}

const DELETES: Readonly<Record<string, (things: Repository<typeof Kept>, id: string) => Promise<unknown>>> = {
  delete: (things, id) => things.delete({ id }),
  deleteMany: (things, id) => things.deleteMany([{ id }]),
  deleteAll: (things, id) => things.find({ id }).deleteAll(),
  check: (things, id) => things.check({ id }, { a: 'here' }).delete(),
};

test.each(
  [Kept, KeptVersion].flatMap((of) => Object.keys(DELETES).map((name) => ({ entity: of.name, of, name }))),
)('$entity: $name beside a purge leaves nothing', async ({ of, name }) => {
  const random = new Random(1);
  await using store = await openStepless(Date.now, async () => {
    for (let turns = random.below(6); turns > 0; turns--)
      await new Promise((resolve) => setImmediate(resolve));
  });
  const [one, other] = [await store.program(of), await store.program(of)];
  const things = one.db.repository(of as typeof Kept);
  const others = other.db.repository(of as typeof Kept);
  for (let i = 0; i < scaled(8, 60, 1000); i++) {
    const id = `${i}`;
    await things.insert({ id, a: 'here' });
    await Promise.all([DELETES[name]!(things, id), others.purge({ id })]);
    expect(await things.get({ id }, { withDeleted: true })).toBeNull();
    await things.insert({ id, a: 'again' });
  }
});

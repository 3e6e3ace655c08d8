/**
 * Entries are settled without a sync, where one step is one row, as on HBase. What a server that crashes loses of that is unverified
 * again: readers are told the truth, and the next who looks settles it.
 */

import { expect, test } from 'vitest';
import { Column, Entity, Index, part, RowKey } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import type { Database } from '../../src/database.js';
import { LATER, withStore, writeAtOnce } from '../proof/behind-answers.js';
import { scaled } from '../proof/scale.js';
import { UnsyncedChanges } from '../proof/unsynced.js';
import { Random } from '../query/model/random.js';

@Entity({ table: { name: 'unsynced', families: { d: {} } } })
@RowKey(part('id'))
@Index('byColor', [part('color')])
@Index('byMail', [part('mail')], { unique: true })
class Strong {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byColor: ['color']; byMail: ['mail'] };
  id!: string;
  @Column('d:c', text) color?: string | null;
  @Column('d:m', text) mail?: string | null;
}

@Entity({ table: { name: 'unsynced', families: { d: {} } } })
@RowKey(part('id'))
@Index('byColor', [part('color')], { consistency: 'eventual' })
@Index('byMail', [part('mail')], { consistency: 'eventual' })
class Eventual {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byColor: ['color']; byMail: ['mail'] };
  id!: string;
  @Column('d:c', text) color?: string | null;
  @Column('d:m', text) mail?: string | null;
}

const COLORS = ['red', 'green', 'blue'];
const NAMES = ['byColor', 'byMail'] as const;
const NONE_WRONG = { missing: 0, stale: 0, extra: 0 };
const SETTLED = { ...NONE_WRONG, unverified: 0, pending: 0 };
type Kind = typeof Strong;

async function write(db: Database, kind: Kind, random: Random): Promise<void> {
  const rows = db.repository(kind);
  const id = `r${random.below(4)}`;
  const color = random.pick([...COLORS, null]);
  const mail = random.pick(['m', 'n', null]);
  const sort = random.below(6);
  if (sort < 2) await rows.put({ id, color, mail });
  else if (sort === 2) await rows.insert({ id, color, mail });
  else if (sort === 3) await rows.update({ id }, { color, mail });
  else if (sort === 4) await rows.delete({ id });
  else await rows.upsert({ id }, { color, mail });
}

async function closed(db: Database): Promise<void> {
  await db.close();
}

/** What `by` finds is what the rows say. */
async function expectTrue(db: Database, kind: Kind, when: string): Promise<void> {
  const rows = await db.repository(kind).find({}, { fullScan: true }).all();
  for (const color of COLORS) {
    const found = await db.repository(kind).by('byColor').find({ color }).all();
    const wanted = rows.filter((row) => row.color === color).map(({ id }) => id);
    expect(found.map(({ id }) => id).sort(), `${when}: ${color}`).toEqual(wanted);
  }
}

test.each([
  { name: 'strong and unique indexes', kind: Strong },
  { name: 'eventual indexes', kind: Eventual as unknown as Kind },
])('$name: what a server loses is settled later', async ({ kind }) => {
  let lost = 0;
  for (let seed = 1; seed <= scaled(2, 20, 300); seed++) {
    const random = new Random(seed);
    const chance = random.pick([0.2, 0.5]);
    const changes = new UnsyncedChanges(() => random.chance(chance));
    await withStore(
      async (...store) => {
        const db = await writeAtOnce(store, kind, random, (one) => write(one, kind, random), closed);
        await expectTrue(db, kind, `seed ${seed}`);
        for (const index of NAMES)
          expect(await db.index(kind, index).verify(), `seed ${seed}`).toMatchObject(NONE_WRONG);
        lost += changes.lost;
        changes.isLost = () => false;
        // What was marked since is old, too.
        store[1](LATER);
        for (const index of NAMES) {
          await db.index(kind, index).repair();
          expect(await db.index(kind, index).verify(), `seed ${seed}`).toMatchObject(SETTLED);
        }
        await expectTrue(db, kind, `seed ${seed}, repaired`);
      },
      (engine) => changes.seen(engine),
    );
  }
  expect(lost).toBeGreaterThan(0);
});

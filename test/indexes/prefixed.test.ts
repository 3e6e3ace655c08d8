/** Queries with a prefix or a range of the key and `where`, by the index that is chosen, against a read of the key's rows. */

import { expect, test } from 'vitest';
import { defineEntity, defineTable } from '../../decorators/index.js';
import {
  date,
  desc,
  int32,
  type KeyElement,
  part,
  raw,
  reverseTimestamp,
  salt,
  text,
} from '../../src/key/index.js';
import { openMemory } from '../../src/testing/index.js';
import { scaled } from '../proof/scale.js';
import { Random } from '../query/model/random.js';

const PARTS = ['p0', 'p1', 'p2'];
type Value = number | string | Date;

/** Ways to hold values of a kind in a key, and values of it. */
const KINDS: readonly {
  readonly hold: readonly ((name: string) => KeyElement)[];
  readonly values: readonly Value[];
}[] = [
  {
    hold: [(name) => part(name, int32), (name) => desc(part(name, int32)), (name) => part(name, raw.int32)],
    values: [-2, -1, 0, 1, 2],
  },
  {
    hold: [(name) => part(name, date), (name) => desc(part(name, date)), (name) => reverseTimestamp(name)],
    values: [-5, 0, 5, 10, 15].map((time) => new Date(time)),
  },
  {
    hold: [(name) => part(name, text), (name) => desc(part(name, text))],
    values: ['', 'a', 'ab', '\0a', 'b'],
  },
];

/** Equalities on leading parts, then perhaps a range. */
function draw(random: Random, kinds: readonly (typeof KINDS)[number][]): Record<string, unknown> {
  const asked: Record<string, unknown> = {};
  for (const [at, name] of PARTS.entries()) {
    const value = (): Value => random.pick(kinds[at]!.values);
    if (random.chance(0.5)) {
      asked[name] = value();
      continue;
    }
    if (random.chance(0.6)) {
      asked[name] = {
        [random.pick(['gt', 'gte'])]: value(),
        ...(random.chance(0.5) && { [random.pick(['lt', 'lte'])]: value() }),
      };
    }
    break;
  }
  return asked;
}

test('gives the rows of the key, in their order where they have one', async () => {
  let byIndex = 0;
  let ranged = 0;
  for (let seed = 1; seed <= scaled(40, 300, 3000); seed++) {
    const random = new Random(seed);
    const kinds = PARTS.map(() => random.pick(KINDS));
    const held = (names: readonly string[]): KeyElement[] => [
      ...(random.chance(0.5) ? [salt(3, [random.pick(names)])] : []),
      ...names.map((name) =>
        name === 'c' ? part('c', text) : random.pick(kinds[PARTS.indexOf(name)]!.hold)(name),
      ),
    ];
    const key = [...held(PARTS), part('id', int32)];
    const on = (): KeyElement[] =>
      held(
        random.pick([
          ['p0', 'c'],
          ['p0', 'c', 'p1'],
          ['p0', 'c', 'p1', 'p2'],
          ['c', 'p0', 'p1'],
          ['p0', 'p1', 'c'],
        ]),
      );
    // The parts are drawn, so no type knows them.
    const Thing = defineEntity({
      name: 'Thing',
      table: defineTable({ name: 'things', families: { d: {} } }),
      key: key as never,
      indexes: { first: { on: on() as never }, second: { on: on() as never } },
      columns: (c) => ({ c: c.column('d:c', text) }),
    });
    await using db = await openMemory({ entities: [Thing] });
    const things = db.repository(Thing);
    await things.putMany(
      Array.from({ length: 60 }, (_, id) => ({
        ...Object.fromEntries(PARTS.map((name, at) => [name, random.pick(kinds[at]!.values)])),
        id,
        c: random.pick(['x', 'y']),
      })) as never,
    );
    for (let n = 0; n < 10; n++) {
      const asked = draw(random, kinds);
      if (Object.keys(asked).length === 0) continue;
      const where = { c: random.pick(['x', 'y']) };
      const query = things.find(asked as never).where(where);
      const scan = things.find(asked as never, { fullScan: true }).where(where);
      const { kind } = scan.explain();
      if (kind === 'full' || query.explain().index === undefined) continue;
      byIndex++;
      if (String(query.explain()).match(/[<>]/) !== null) ranged++;
      const what = `seed ${seed}: ${String(query.explain())}`;
      const wanted = await scan.all();
      const found = await query.all();
      const isOrdered = !String(scan.explain()).includes('order  none');
      if (isOrdered) {
        expect(found, what).toEqual(wanted);
        expect(await query.reverse().all(), what).toEqual([...wanted].reverse());
        expect(await query.limit(3).all(), what).toEqual(wanted.slice(0, 3));
      } else expect(new Set(found), what).toEqual(new Set(wanted));
    }
  }
  expect(byIndex).toBeGreaterThan(30);
  expect(ranged).toBeGreaterThan(10);
});

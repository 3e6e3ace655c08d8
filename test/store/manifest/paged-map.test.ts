import { expect, test } from 'vitest';
import { applyEdits, type Edit, emptyState } from '../../../src/store/manifest/index.js';
import { PagedMap, PagedMapDraft } from '../../../src/store/manifest/paged-map.js';
import { Random } from '../../query/model/random.js';
import { TABLE } from './manifest-fixture.js';

const entriesOf = (map: PagedMap<number>): [number, number][] =>
  [...map.keys()].map((number): [number, number] => [number, map.get(number)!]).sort(([a], [b]) => a - b);

test('is like a Map after any changes, and each map stays as it was', () => {
  const random = new Random(7);
  const model = new Map<number, number>();
  let map = new PagedMap<number>();
  const earlier: [PagedMap<number>, [number, number][]][] = [];
  for (let round = 0; round < 60; round++) {
    const draft = new PagedMapDraft(map);
    for (let change = random.below(30); change > 0; change--) {
      const number = random.below(1000);
      if (random.chance(0.6)) {
        draft.set(number, change);
        model.set(number, change);
      } else {
        expect(draft.delete(number)).toBe(model.delete(number));
      }
      expect([draft.has(number), draft.get(number)]).toEqual([model.has(number), model.get(number)]);
    }
    expect([...draft.values()].sort()).toEqual([...model.values()].sort());
    map = draft.finish();
    expect(map.size).toBe(model.size);
    earlier.push([map, [...model].sort(([a], [b]) => a - b)]);
  }
  for (const [one, entries] of earlier) expect(entriesOf(one)).toEqual(entries);
  const draft = new PagedMapDraft(map);
  for (const number of [...map.keys()]) draft.delete(number);
  expect(draft.finish()).toEqual(new PagedMap());
});

test('an edit of one region copies a few of many', () => {
  const REGIONS = 3000;
  const edits: Edit[] = [
    { type: 'tableAdd', id: 1, descriptor: TABLE, familyNumbers: new Map([['d', 2]]), enabled: true },
  ];
  const key = new Uint8Array();
  for (let id = 3; id < 3 + REGIONS; id++)
    edits.push({ type: 'regionAdd', id, table: 1, startKey: key, endKey: key });
  const state = applyEdits(emptyState(), edits);
  expect(state.regions.size).toBe(REGIONS);
  const next = applyEdits(state, [{ type: 'flushed', region: 1000, family: 2, seq: 5 }]);
  expect(next.tables).toBe(state.tables);
  const before = new Set(state.regions.pages.values());
  const changed = [...next.regions.pages.values()].filter((page) => !before.has(page));
  expect(changed.map((page) => page.size)).toEqual([128]);
  expect([...changed[0]!.keys()]).toContain(1000);
  const logged = applyEdits(next, [{ type: 'walAdd', number: 9 }]);
  expect([logged.regions, logged.namespaces]).toEqual([next.regions, next.namespaces]);
  expect(logged.regions).toBe(next.regions);
});

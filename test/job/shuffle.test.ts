import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeJobKey, type JobKey, nameOfKey } from '../../src/job/pipeline/ordered-key.js';
import {
  GroupReader,
  PairGroups,
  ShuffleWriter,
  shuffleTableDescriptor,
} from '../../src/job/pipeline/shuffle.js';
import { Scan } from '../../src/table/index.js';
import { scaled } from '../proof/scale.js';
import { memoryStore } from '../store/engine/support.js';

test('reducers read what was committed, and nothing that an attempt wrote behind its last commit', async () => {
  const { engine } = await memoryStore();
  const descriptor = shuffleTableDescriptor('words', 0);
  await engine.admin.createTable(descriptor);
  const table = engine.table(descriptor.name);
  const first = new ShuffleWriter(table, 3, 1, undefined, 16, undefined);
  first.emit('oak', 'committed');
  const kept = await first.commit();
  first.emit('oak', 'lost with its worker');
  await first.commit();
  const second = new ShuffleWriter(table, 3, 2, kept, 16, undefined);
  second.emit('oak', 'tried again');
  const work = await second.commit();

  const rows = [];
  for await (const row of table.scan(new Scan())) rows.push(row);
  expect(rows).toHaveLength(3);
  const reader = new GroupReader(new Map([[3, work]]));
  const groups = [...reader.take(rows), ...reader.finish()];
  expect(groups.map(({ key, values }) => [decodeJobKey(key), values])).toEqual([
    ['oak', ['committed', 'tried again']],
  ]);
  await engine.close();
});

test('pairs are in one group for each key, by whatever way they came, and sums of them are right', () => {
  const key: fc.Arbitrary<JobKey> = fc.oneof(
    fc.constantFrom('a', 'b', '', '\ufffd', '\ud800', '\udc00', 'a\ud800'),
    fc.constantFrom(0, -0, 1, 2.5, -1, Number.MAX_SAFE_INTEGER, 2 ** 60, 1n, 0n),
    fc.constantFrom(true, new Date(0), Uint8Array.of(97), ['a', 1]),
  );
  const pairs = fc.array(fc.tuple(key, fc.boolean(), fc.integer({ min: 1, max: 600 })), { maxLength: 30 });
  fc.assert(
    fc.property(pairs, fc.boolean(), fc.nat(30), (all, combined, middle) => {
      const sum = (values: readonly unknown[]): number =>
        (values as number[]).reduce((total, n) => total + n, 0);
      const groups = new PairGroups(combined ? (_, values) => sum(values) : undefined);
      const naive = new Map<string, number>();
      let count = 0;
      for (const [at, [key, named, times]] of all.entries()) {
        if (at === middle) groups.combineAll();
        for (let i = 0; i < times; i++) {
          if (named) groups.emitNamed(nameOfKey(key), i);
          else groups.emit(key, i);
        }
        count += times;
        naive.set(nameOfKey(key), (naive.get(nameOfKey(key)) ?? 0) + (times * (times - 1)) / 2);
      }
      if (!combined) expect(groups.pairs).toBe(count);
      expect(groups.pairs).toBeLessThanOrEqual(count);
      const taken = [...groups.take()].map(
        ([bytes, values]) => [Buffer.from(bytes).toString('latin1'), sum(values)] as const,
      );
      expect(taken).toHaveLength(naive.size);
      expect(new Map(taken)).toEqual(naive);
      expect([groups.pairs, [...groups.take()]]).toEqual([0, []]);
    }),
    { numRuns: scaled(15, 200, 5000) },
  );
});

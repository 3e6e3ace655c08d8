/**
 * HBase's `TestAcidGuarantees`: writers set every column of a row, over three families, to one value; whoever reads
 * must never see two, while memory is written to files, files are merged and regions split.
 */

import { describe, expect, test } from 'vitest';
import type { EmbeddedEngine } from '../../../src/store/engine.js';
import { openEmbedded } from '../../../src/store/engine.js';
import type { EmbeddedOptions } from '../../../src/store/options.js';
import { Delete, Get, Put, type Result, RowMutations, Scan } from '../../../src/table/index.js';
import { record } from '../../proof/evidence.js';
import { scaled } from '../../proof/scale.js';
import { randomOf } from './script.js';
import { createTable, memoryStore, withFolder } from './support.js';

const FAMILIES = ['a', 'b', 'c'];
const COLUMNS = Array.from({ length: 50 }, (_, i) => `q${i}`);
const ROWS = 12;
const ROUNDS = scaled(14, 40, 2000);

const PRESSED: EmbeddedOptions = {
  automatic: true,
  memstoreFlushSize: 48_000,
  memstoreLimit: 192_000,
  walSegmentSize: 128_000,
  maxWalSegments: 3,
  maxFileSize: 80_000,
  compaction: { minFiles: 2, minSize: 128_000 },
};

const rowKey = (number: number): string => `row-${String(number).padStart(2, '0')}`;

function putOf(row: string, value: string): Put {
  const put = new Put(row);
  for (const family of FAMILIES) for (const column of COLUMNS) put.addColumn(family, column, value);
  return put;
}

/** All columns and one value. */
function checkWhole(result: Result): void {
  const values = new Set(result.cells.map(({ value }) => Buffer.from(value).toString()));
  expect([result.cells.length, values.size], `row ${Buffer.from(result.row)}`).toEqual([
    FAMILIES.length * COLUMNS.length,
    1,
  ]);
}

async function turn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

/** Writers, readers, scanners and an operator, until the writers are done. */
async function contend(engine: EmbeddedEngine): Promise<void> {
  const table = await createTable(engine, Object.fromEntries(FAMILIES.map((family) => [family, {}])));
  await table.putAll(Array.from({ length: ROWS }, (_, i) => putOf(rowKey(i), 'first')));
  let writing = true;
  let looks = 0;
  const writer = async (number: number): Promise<void> => {
    const random = randomOf(number);
    for (let round = 0; round < ROUNDS; round++) {
      const value = `${number}-${round}-${'x'.repeat(random(60))}`;
      const row = rowKey(random(ROWS));
      if (round % 3 === number % 3) await turn();
      if (number === 0) {
        const rows = [row, rowKey(random(ROWS))];
        await table.batch(
          rows.map((each) => putOf(each, value)),
          { atomic: true },
        );
      } else if (number === 1) {
        // Deleted and written again in one change: never seen without cells.
        await table.mutateRow(
          new RowMutations(row).add(new Delete(row, 1).addFamily('a', 1), putOf(row, value)),
        );
      } else await table.put(putOf(row, value));
    }
  };
  const reader = async (seed: number): Promise<void> => {
    const random = randomOf(seed);
    while (writing) {
      checkWhole(await table.get(new Get(rowKey(random(ROWS)))));
      looks++;
      await turn();
    }
  };
  const scanner = async (reversed: boolean): Promise<void> => {
    while (writing) {
      const open = table.scan(new Scan().setReversed(reversed));
      let rows = 0;
      for (let result = await open.next(); result; result = await open.next()) {
        checkWhole(result);
        rows++;
        if (rows % 4 === 0) await turn();
      }
      expect(rows).toBe(ROWS);
      looks++;
      await turn();
    }
  };
  const operator = async (): Promise<void> => {
    const random = randomOf(99);
    const { admin } = engine;
    while (writing) {
      const family = FAMILIES[random(3)]!;
      const dice = random(6);
      if (dice < 3) await admin.flush('t', family);
      else if (dice < 4) await admin.compact('t', family);
      else if (dice < 5) await admin.majorCompact('t', family);
      else if ((await admin.getRegions('t')).length < 5) await admin.split('t');
      await turn();
    }
  };
  const writers = Promise.all([0, 1, 2, 3].map(writer)).finally(() => (writing = false));
  await Promise.all([writers, reader(7), reader(8), scanner(false), scanner(true), operator()]);
  expect(looks).toBeGreaterThan(10);
  record('acid', { writes: 4 * ROUNDS, 'reads and scans': looks });
  await engine.verify();
  for await (const result of table.scan(new Scan())) checkWhole(result);
}

describe('a row is seen whole', () => {
  test('in memory, in this thread', async () => {
    const store = await memoryStore(PRESSED);
    await contend(store.engine);
    await store.reopen();
    for await (const result of store.engine.table('t').scan(new Scan())) checkWhole(result);
    await store.engine.close();
  });

  test('on the disk, with workers', async () => {
    await withFolder(async (folder) => {
      const options: EmbeddedOptions = { ...PRESSED, background: 'worker', durability: 'ASYNC_WAL' };
      const engine = await openEmbedded(folder, options);
      await contend(engine);
      await engine.close();
      const again = await openEmbedded(folder, options);
      for await (const result of again.table('t').scan(new Scan())) checkWhole(result);
      await again.close();
    });
  });
});

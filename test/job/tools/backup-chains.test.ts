/** Chains of full and incremental backups of random histories: each restores what the table was. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { EmbeddedEngine } from '../../../src/store/engine.js';
import {
  Cell,
  CellType,
  CellWithTtl,
  Delete,
  type FamilyOptions,
  Put,
  Scan,
  tableDescriptor,
} from '../../../src/table/index.js';
import { backupTables } from '../../../src/tools/backup.js';
import { restoreTables } from '../../../src/tools/restore.js';
import { scaled } from '../../proof/scale.js';
import { memoryStore, type TestStore } from '../../store/engine/support.js';

const ROWS = ['a', 'b'];
const COLUMNS = ['q'];
const RUN = { parallel: 1 };

type Step =
  | {
      readonly do: 'put';
      readonly row: number;
      readonly column: number;
      readonly age: number;
      readonly ttl: number;
    }
  | {
      readonly do: 'delete';
      readonly row: number;
      readonly column: number;
      readonly age: number;
      readonly kind: number;
    }
  | {
      readonly do: 'load';
      readonly row: number;
      readonly column: number;
      readonly age: number;
      readonly kind: number;
    }
  | { readonly do: 'flush' | 'compact' | 'majorCompact' | 'backup' | 'reopen' | 'split' }
  | { readonly do: 'wait'; readonly milliseconds: number };

const place = { row: fc.nat(ROWS.length - 1), column: fc.nat(COLUMNS.length - 1) };
/** Milliseconds before now; 0: without a timestamp. Multiples of a tick meet the timestamps of other steps. */
const TICK = 100;
const age = fc.constantFrom(0, 0, TICK, 2 * TICK, 5 * TICK, 500_000, 1_000_000);

const STEPS: readonly fc.Arbitrary<Step>[] = [
  fc.record({ do: fc.constant('put' as const), ...place, age, ttl: fc.constant(0) }),
  fc.record({ do: fc.constant('put' as const), ...place, age, ttl: fc.constantFrom(50_000, 300_000) }),
  fc.record({ do: fc.constant('delete' as const), ...place, age, kind: fc.constantFrom(0, 3) }),
  fc.record({ do: fc.constant('delete' as const), ...place, age, kind: fc.constantFrom(1, 2) }),
  fc.record({ do: fc.constant('load' as const), ...place, age, kind: fc.nat(1) }),
  fc.record({ do: fc.constant('load' as const), ...place, age, kind: fc.nat(5).map((kind) => kind + 2) }),
  fc.constant({ do: 'flush' as const }),
  fc.constant({ do: 'compact' as const }),
  fc.constant({ do: 'majorCompact' as const }),
  fc.record({ do: fc.constantFrom('reopen' as const, 'split' as const) }),
  fc.constant({ do: 'wait' as const, milliseconds: 90_000 }),
];

/** Steps of some kinds only: each kind hides faults of others, as after a loss a table is taken in full. */
const steps: fc.Arbitrary<readonly Step[]> = fc
  .subarray([...STEPS], { minLength: 2 })
  .chain((kinds) =>
    fc.array(
      fc.oneof(
        { weight: 3, arbitrary: STEPS[0]! },
        { weight: 2, arbitrary: fc.constant({ do: 'backup' as const }) },
        ...kinds.map((arbitrary) => ({ weight: 2, arbitrary })),
      ),
      { maxLength: 20, size: 'max' },
    ),
  );

const family: fc.Arbitrary<FamilyOptions> = fc.record(
  {
    versions: fc.constantFrom(1, 1, 2),
    ttl: fc.constantFrom(800, 5_000),
    keepDeletedCells: fc.constantFrom('FALSE' as const, 'TRUE' as const),
  },
  { requiredKeys: ['versions'] },
);

/** Every visible version. */
async function contentOf(engine: EmbeddedEngine): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { cells } of engine.table('t').scan(new Scan().readAllVersions())) {
    for (const { row, qualifier, timestamp, value } of cells)
      found.push(
        `${[row, qualifier, value].map((bytes) => Buffer.from(bytes).toString()).join(' ')} ${timestamp}`,
      );
  }
  return found;
}

async function run(store: TestStore, { now }: { now: number }, number: number, each: Step): Promise<void> {
  const { engine } = store;
  const table = engine.table('t');
  switch (each.do) {
    case 'put': {
      const made = new Put(ROWS[each.row]!);
      // No two versions have one timestamp where one of them expires: which of them is then seen depends on flushes.
      if (each.ttl > 0) made.addColumn('f', COLUMNS[each.column]!, `${number}`, now - each.age - 1 - number);
      else if (each.age > 0) made.addColumn('f', COLUMNS[each.column]!, `${number}`, now - each.age);
      else made.addColumn('f', COLUMNS[each.column]!, `${number}`);
      if (each.ttl > 0) made.setTtl(each.ttl);
      return table.put(made);
    }
    case 'delete': {
      const made = new Delete(ROWS[each.row]!);
      const at = each.age > 0 ? [now - each.age] : [];
      if (each.kind === 0) made.addColumn('f', COLUMNS[each.column]!, ...at);
      else if (each.kind === 1) made.addColumns('f', COLUMNS[each.column]!, ...at);
      else if (each.kind === 2) made.addFamily('f', ...at);
      else made.addFamilyVersion('f', now - each.age);
      return table.delete(made);
    }
    case 'load': {
      const row = Buffer.from(ROWS[each.row]!);
      const qualifier = Buffer.from(COLUMNS[each.column]!);
      const value = Buffer.from(`${number}`);
      const at = now - each.age - (each.kind === 2 ? 1 + number : 0);
      const cell =
        each.kind === 0
          ? new Cell(row, 'f', qualifier, at, CellType.Delete, Buffer.alloc(0))
          : each.kind === 1
            ? new Cell(row, 'f', qualifier, at, CellType.DeleteColumn, Buffer.alloc(0))
            : each.kind === 2
              ? new CellWithTtl(row, 'f', qualifier, at, CellType.Put, value, 50_000)
              : new Cell(row, 'f', qualifier, at, CellType.Put, value);
      await engine.bulkLoad('t', [cell]);
      return;
    }
    case 'wait':
      store.now += each.milliseconds;
      return;
    case 'split':
      await engine.admin.split('t', Buffer.from('b')).catch(() => undefined);
      return;
    case 'reopen':
      return store.reopen();
    case 'backup':
      return;
    default:
      return engine.admin[each.do]('t');
  }
}

async function holds(options: FamilyOptions, history: readonly Step[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'rowan-chains-'));
  const store = await memoryStore({ compaction: { minFiles: 2 } });
  try {
    await store.engine.admin.createTable(tableDescriptor('t', { f: options }));
    let number = 0;
    for (const each of [{ do: 'backup' } as const, ...history, { do: 'backup' } as const]) {
      store.now += TICK;
      await run(store, store, number++, each);
      if (each.do !== 'backup') continue;
      await backupTables(store.engine, folder, { tables: ['t'], incremental: number > 1, run: RUN });
      const other = await memoryStore();
      other.now = store.now;
      try {
        await restoreTables(other.engine, folder, { run: RUN });
        expect(await contentOf(other.engine)).toEqual(await contentOf(store.engine));
        // What is visible now may be gone later, and what was hidden by it.
        store.now += 200_000;
        other.now += 200_000;
        expect(await contentOf(other.engine)).toEqual(await contentOf(store.engine));
      } finally {
        await other.engine.close();
      }
    }
  } finally {
    await store.engine.close();
    await rm(folder, { recursive: true });
  }
}

test('whatever is written, deleted, loaded and compacted between them, backups restore what the table was', async () => {
  await fc.assert(fc.asyncProperty(family, steps, holds), { numRuns: scaled(16, 1_500, 20_000) });
}, 3_600_000);

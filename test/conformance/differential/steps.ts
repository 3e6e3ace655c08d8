/** Random changes of a table, as data: the same objects are given to both engines. */

import {
  Append,
  type BatchAction,
  CheckAndMutate,
  type CompareOperator,
  Delete,
  type Engine,
  Get,
  Increment,
  Put,
  type RowMutation,
  RowMutations,
  type Table,
} from '../../../src/table/index.js';
import type { TestClock } from '../harness.js';
import { makeFilter } from './filters.js';
import type { Random } from './random.js';
import { COUNTER, LOG, QUALIFIERS, ROWS, VALUES, type World } from './world.js';

export interface Step {
  readonly name: string;
  readonly subject: unknown;
  run(engine: Engine, table: Table): Promise<unknown>;
}

/** A change, or something that moves cells about without changing what is stored. */
export function makeStep(random: Random, world: World, clock: TestClock): Step {
  const choice = random.below(100);
  if (choice < 34) return mutation(makePut(random, world, clock.time));
  if (choice < 54) return mutation(makeDelete(random, world, clock.time));
  if (choice < 60) return mutation(makeIncrement(random, world));
  if (choice < 66) return mutation(makeAppend(random, world));
  if (choice < 72) return mutation(makeRowMutations(random, world, clock.time));
  if (choice < 78) return mutation(makeCheck(random, world, clock.time));
  if (choice < 80) return makeBatch(random, world, clock.time);
  if (choice < 90) return admin('flush', random.chance(0.5) ? random.pick(world.names) : undefined);
  if (choice < 94) return admin('majorCompact', random.chance(0.5) ? random.pick(world.names) : undefined);
  if (choice < 96 && world.canSplit) return split(random.pick(ROWS.slice(1)));
  const milliseconds = world.hasTtl ? random.between(1, 8000) : random.between(0, 3);
  return {
    name: 'advance',
    subject: milliseconds,
    // Both engines go by one clock: it moves once.
    run: async (engine) => {
      if (engine.name !== 'model') clock.advance(milliseconds);
    },
  };
}

function mutation(subject: RowMutation | RowMutations | CheckAndMutate): Step {
  return {
    name: subject.kind,
    subject,
    run: async (_engine, table) => {
      switch (subject.kind) {
        case 'put':
          return table.put(subject);
        case 'delete':
          return table.delete(subject);
        case 'increment':
          return table.increment(subject);
        case 'append':
          return table.append(subject);
        case 'rowMutations':
          return table.mutateRow(subject);
        case 'checkAndMutate':
          return table.checkAndMutate(subject);
      }
    },
  };
}

function admin(name: 'flush' | 'majorCompact', family: string | undefined): Step {
  return {
    name,
    subject: family,
    run: async (engine, table) => {
      // Some engines flush before they compact: said here, it is the same for all.
      await engine.admin.flush(table.name, family);
      if (name === 'majorCompact') await engine.admin.majorCompact(table.name, family);
    },
  };
}

/** A split may find its row at a region's start, or nothing to split: it then does nothing. */
function split(row: Uint8Array): Step {
  return {
    name: 'split',
    subject: row,
    run: async (engine, table) => {
      // A region is flushed before it is split.
      await engine.admin.flush(table.name);
      if (engine.name === 'model') return;
      const regions = await engine.admin.getRegions(table.name);
      if (regions.some((region) => Buffer.compare(region.startKey, row) === 0)) return;
      await engine.admin.split(table.name, row);
    },
  };
}

function makePut(random: Random, world: World, now: number, row = random.pick(ROWS)): Put {
  const put = new Put(row);
  for (let i = random.between(1, 4); i > 0; i--) {
    const value = random.pick(VALUES);
    if (random.chance(0.08)) put.addColumn(random.pick(world.names), random.pick(QUALIFIERS), value);
    else {
      const time = world.time(random, now);
      put.addColumn(random.pick(world.names), random.pick(QUALIFIERS), value, time);
    }
  }
  if (world.canUseCellTtl && random.chance(0.1)) put.setTtl(random.between(1, 60_000));
  return put;
}

function makeDelete(random: Random, world: World, now: number, row = random.pick(ROWS)): Delete {
  const time = world.time(random, now);
  if (random.chance(0.1)) return new Delete(row, time);
  if (random.chance(0.05)) return new Delete(row);
  const del = new Delete(row);
  for (let i = random.between(1, 3); i > 0; i--) {
    const family = random.pick(world.names);
    const qualifier = random.pick(QUALIFIERS);
    const at = random.chance(0.1) ? undefined : world.time(random, now);
    const kind = random.below(10);
    if (kind < 4) del.addColumn(family, qualifier, at);
    else if (kind < 7) del.addColumns(family, qualifier, at);
    else if (kind < 9) del.addFamily(family, at);
    else del.addFamilyVersion(family, at ?? time);
  }
  return del;
}

function makeIncrement(random: Random, world: World, row = random.pick(ROWS)): Increment {
  const increment = new Increment(row).setReturnResults(random.chance(0.9));
  for (const family of random.some(world.names)) increment.addColumn(family, COUNTER, random.between(-2, 9));
  return increment;
}

function makeAppend(random: Random, world: World, row = random.pick(ROWS)): Append {
  const append = new Append(row).addColumn(random.pick(world.names), LOG, random.pick(VALUES.slice(0, 4)));
  if (world.canUseCellTtl && random.chance(0.1)) append.setTtl(random.between(1, 60_000));
  return append;
}

function makeRowMutations(random: Random, world: World, now: number, row = random.pick(ROWS)): RowMutations {
  const mutations = new RowMutations(row);
  for (let i = random.between(1, 3); i > 0; i--) {
    mutations.add(
      random.chance(0.6) ? makePut(random, world, now, row) : makeDelete(random, world, now, row),
    );
  }
  if (random.chance(0.2)) mutations.add(makeIncrement(random, world, row));
  return mutations;
}

function makeCheck(random: Random, world: World, now: number): CheckAndMutate {
  const row = random.pick(ROWS);
  const action = random.chance(0.6)
    ? makePut(random, world, now, row)
    : random.chance(0.5)
      ? makeDelete(random, world, now, row)
      : makeRowMutations(random, world, now, row);
  if (random.chance(0.25))
    return CheckAndMutate.ifFilter(makeFilter(random, world, now, { depth: 1, forScan: false }), action);
  const operators: CompareOperator[] = [
    'LESS',
    'LESS_OR_EQUAL',
    'EQUAL',
    'NOT_EQUAL',
    'GREATER_OR_EQUAL',
    'GREATER',
  ];
  return CheckAndMutate.ifMatches(
    {
      family: random.pick(world.names),
      qualifier: random.pick(QUALIFIERS),
      operator: random.pick(operators),
      value: random.chance(0.2) ? null : random.pick(VALUES),
    },
    action,
  );
}

function makeBatch(random: Random, world: World, now: number): Step {
  const settled = new Set<string>();
  const actions = Array.from({ length: random.between(1, 4) }, (): BatchAction => {
    const choice = random.below(4);
    if (choice === 0) return new Get(random.pick(ROWS));
    const made =
      choice === 1
        ? makePut(random, world, now)
        : choice === 2
          ? makeDelete(random, world, now)
          : makeIncrement(random, world);
    const row = Buffer.from(made.row).toString('hex');
    // Behind a delete or an increment of its batch a write has another time on the embedded engine than on HBase
    // (test/store/commit/row-times).
    if (settled.has(row)) return new Get(made.row);
    if (made.kind !== 'put') settled.add(row);
    return made;
  });
  return { name: 'batch', subject: actions, run: (_engine, table) => table.batch(actions) };
}

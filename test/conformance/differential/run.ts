/** Random sequences run on an engine and on the model, answer by answer. */

import { inspect, isDeepStrictEqual } from 'node:util';
import { toStringBinary } from '../../../src/bytes/index.js';
import { RowanError } from '../../../src/errors.js';
import {
  type Cell,
  type Engine,
  type Get,
  Result,
  type Scan,
  type Table,
  tableDescriptor,
} from '../../../src/table/index.js';
import { ModelEngine } from '../../model/engine.js';
import { type EngineUnderTest, TestClock } from '../harness.js';
import { makeGet, makeScan } from './queries.js';
import { Random } from './random.js';
import { makeStep, type Step } from './steps.js';
import { makeWorld, type World } from './world.js';

interface Sequence {
  readonly seed: number;
  readonly world: World;
  readonly steps: readonly Step[];
}

/** How many steps and queries a sequence has. */
const STEPS = 30;
const QUERIES_A_STEP = 2;
const START = 1_800_000_000_000;

/** Runs sequences until `triples` queries have been compared; the first difference, shortened, as text. */
export async function compareWithModel(
  engineUnderTest: EngineUnderTest,
  firstSeed: number,
  triples: number,
): Promise<{ triples: number; difference: string | undefined }> {
  const clock = new TestClock(START);
  let done = 0;
  for (let seed = firstSeed; done < triples; seed++) {
    const sequence = makeSequence(seed, clock);
    const difference = await runSequence(sequence, engineUnderTest, clock);
    done += STEPS * QUERIES_A_STEP;
    if (difference) {
      const short = await shorten(sequence, engineUnderTest, clock);
      return { triples: done, difference: short };
    }
  }
  return { triples: done, difference: undefined };
}

/** Writes and queries of one table; the clock is at its start again afterwards. */
function makeSequence(seed: number, clock: TestClock): Sequence {
  const random = new Random(seed);
  clock.time = START;
  const world = makeWorld(random);
  const steps: Step[] = [];
  for (let i = 0; i < STEPS; i++) {
    clock.advance(1);
    const step = makeStep(random, world, clock);
    steps.push(step);
    if (step.name === 'advance') clock.advance(step.subject as number);
    for (let q = 0; q < QUERIES_A_STEP; q++) steps.push(query(random, world, clock.time));
  }
  clock.time = START;
  return { seed, world, steps };
}

function query(random: Random, world: World, now: number): Step {
  if (random.chance(0.35)) {
    const get = makeGet(random, world, now);
    return { name: 'get', subject: get, run: (_engine, table) => table.get(get) };
  }
  const scan = makeScan(random, world, now);
  return { name: 'scan', subject: scan, run: (_engine, table) => scanAll(table, scan) };
}

async function scanAll(table: Table, scan: Scan | Get): Promise<Result[]> {
  const results: Result[] = [];
  for await (const result of table.scan(scan as Scan)) results.push(result);
  return results;
}

let tables = 0;

/** The first step that is answered otherwise than by the model, as text. */
async function runSequence(
  sequence: Sequence,
  engineUnderTest: EngineUnderTest,
  clock: TestClock,
): Promise<string | undefined> {
  const name = `random_${tables++}`;
  clock.time = START;
  const { engine, close } = await engineUnderTest.open({ clock });
  const model = new ModelEngine({ now: clock.now, random: () => 0.5 });
  const descriptor = tableDescriptor(name, sequence.world.families);
  await engine.admin.createTable(descriptor, sequence.world.splitKeys);
  await model.admin.createTable(descriptor);
  try {
    for (const [index, step] of sequence.steps.entries()) {
      // Of two writes of one millisecond the embedded engine lets the later stand, where HBase does not.
      if (step.name !== 'get' && step.name !== 'scan') clock.advance(1);
      const expected = await answer(step, model);
      const answered = await answer(step, engine);
      if (!isDeepStrictEqual(answered, expected)) {
        return describeDifference(sequence, index, expected, answered);
      }
    }
    return undefined;
  } finally {
    await engine.admin.disableTable(name);
    await engine.admin.deleteTable(name);
    await close();
  }

  async function answer(step: Step, on: Engine): Promise<unknown> {
    try {
      return plain(await step.run(on, on.table(name)));
    } catch (error) {
      if (error instanceof RowanError) return error.code;
      throw error;
    }
  }
}

/** Leaves out steps as long as a difference remains. */
async function shorten(sequence: Sequence, engine: EngineUnderTest, clock: TestClock): Promise<string> {
  let steps = [...sequence.steps];
  let difference = (await runSequence(sequence, engine, clock))!;
  for (let i = steps.length - 1; i >= 0; i--) {
    const fewer = steps.filter((_, index) => index !== i);
    const found = await runSequence({ ...sequence, steps: fewer }, engine, clock);
    if (found) {
      steps = fewer;
      difference = found;
    }
  }
  return difference;
}

function describeDifference(sequence: Sequence, index: number, expected: unknown, answered: unknown): string {
  const show = (value: unknown): string =>
    inspect(value, { depth: 8, breakLength: 160, maxArrayLength: 100, compact: 6 }).replace(/v{20,}/g, 'v…');
  const steps = sequence.steps
    .slice(0, index + 1)
    .map((step) => `${step.name} ${show(readable(step.subject))}`);
  return [
    `seed ${sequence.seed}, families ${show(sequence.world.families)}`,
    ...steps,
    `model:  ${show(expected)}`,
    `engine: ${show(answered)}`,
  ].join('\n');
}

/** Answers with bytes as text. */
function plain(value: unknown): unknown {
  if (value instanceof Result) {
    return { row: toStringBinary(value.row), partial: value.partial, cells: value.cells.map(cellText) };
  }
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof RowanError) return value.code;
  if (value !== null && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plain(each)]));
  }
  return value;
}

function cellText(cell: Cell): string {
  const place = `${toStringBinary(cell.row)} ${cell.family}:${toStringBinary(cell.qualifier)}`;
  return `${place} ${cell.timestamp} ${cell.type} ${toStringBinary(cell.value)}`;
}

function readable(value: unknown): unknown {
  if (value instanceof Uint8Array) return toStringBinary(value);
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, each]) => [key, readable(each)]));
  if (Array.isArray(value)) return value.map(readable);
  if (value !== null && typeof value === 'object') {
    const told = Object.entries(value).filter(([, each]) => each !== undefined && each !== false);
    return Object.fromEntries(told.map(([key, each]) => [key, readable(each)]));
  }
  return value;
}

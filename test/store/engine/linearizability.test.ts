import { describe, expect, it, test } from 'vitest';
import { RowanError } from '../../../src/errors.js';
import { type EmbeddedEngine, openEmbedded } from '../../../src/store/engine.js';
import {
  CheckAndMutate,
  Delete,
  Get,
  Increment,
  Put,
  type Table,
  tableDescriptor,
} from '../../../src/table/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { STORE, smallStore } from '../../crash/workload.js';
import { record } from '../../proof/evidence.js';
import { scaled } from '../../proof/scale.js';
import { FaultFileSystem } from '../fs/fault-fs.js';
import { type Call, isLinearizable, type SequentialObject } from './linearizable.js';
import { type Random, randomOf } from './script.js';

const HISTORIES = scaled(6, 80, 10_000);
const CLIENTS = 6;
const CALLS = 10;
const ROWS = 3;

type Input =
  | { readonly kind: 'read' }
  | { readonly kind: 'write'; readonly value: number }
  | { readonly kind: 'clear' }
  | { readonly kind: 'check'; readonly from: number | undefined; readonly to: number }
  | { readonly kind: 'add'; readonly amount: number };
/** Of reads the value, of checks 1 or 0, of increments the new count; null where there is none. */
type Output = number | null;

/** One row: a register that is written, cleared and checked, and a counter. */
interface Row {
  readonly value: number | undefined;
  readonly count: number;
}

const ROW: SequentialObject<Row, Input, Output> = {
  initial: { value: undefined, count: 0 },
  key: ({ value, count }) => `${value} ${count}`,
  same: (expected, found) => expected === found,
  apply: (row, input) => {
    switch (input.kind) {
      case 'read':
        return { state: row, output: row.value ?? null };
      case 'write':
        return { state: { ...row, value: input.value }, output: null };
      case 'clear':
        return { state: { ...row, value: undefined }, output: null };
      case 'check':
        return row.value === input.from
          ? { state: { ...row, value: input.to }, output: 1 }
          : { state: row, output: 0 };
      case 'add': {
        const count = row.count + input.amount;
        return { state: { ...row, count }, output: count };
      }
    }
  },
};

function inputOf(random: Random, unique: number): Input {
  const dice = random(20);
  if (dice < 7) return { kind: 'read' };
  if (dice < 11) return { kind: 'write', value: unique };
  if (dice < 12) return { kind: 'clear' };
  if (dice < 16) return { kind: 'check', from: random(3) === 0 ? undefined : random(unique + 1), to: unique };
  return { kind: 'add', amount: 1 + random(9) };
}

async function perform(table: Table, row: string, input: Input): Promise<Output> {
  const text = (value: number): Buffer => Buffer.from(String(value));
  switch (input.kind) {
    case 'read': {
      const value = (await table.get(new Get(row).addColumn('f', 'v'))).getValue('f', 'v');
      return value === undefined ? null : Number(Buffer.from(value).toString());
    }
    case 'write':
      await table.put(new Put(row).addColumn('f', 'v', text(input.value)));
      return null;
    case 'clear':
      await table.delete(new Delete(row).addColumns('f', 'v'));
      return null;
    case 'check': {
      const value = input.from === undefined ? null : text(input.from);
      const condition = { family: 'f', qualifier: Buffer.from('v'), operator: 'EQUAL', value } as const;
      const put = new Put(row).addColumn('f', 'v', text(input.to));
      const { success } = await table.checkAndMutate(CheckAndMutate.ifMatches(condition, put));
      return success ? 1 : 0;
    }
    case 'add': {
      const result = await table.increment(new Increment(row).addColumn('g', 'n', input.amount));
      return Number(Buffer.from(result.getValue('g', 'n')!).readBigInt64BE());
    }
  }
}

type Histories = ReadonlyMap<string, Call<Input, Output>[]>;

class Recording {
  readonly byRow: Map<string, Call<Input, Output>[]> = new Map();
  private now = 0;
  private unique = 0;

  constructor(
    private readonly engine: EmbeddedEngine,
    private readonly files: FaultFileSystem,
    private readonly random: Random,
  ) {
    for (let row = 0; row < ROWS; row++) this.byRow.set(`row${row}`, []);
  }

  async run(faults: boolean): Promise<Histories> {
    let writing = true;
    const clients = Array.from({ length: CLIENTS }, () => this.client());
    const done = Promise.all(clients).finally(() => {
      writing = false;
    });
    const operators = [this.operator(() => writing)];
    if (faults) operators.push(this.breakDisk(() => writing));
    await Promise.all([done, ...operators]);
    this.files.clear();
    return this.byRow;
  }

  private async client(): Promise<void> {
    for (let call = 0; call < CALLS; call++) {
      const row = `row${this.random(ROWS)}`;
      const input = inputOf(this.random, ++this.unique);
      await this.call(row, input);
      for (let turns = this.random(6); turns > 0; turns--) await null;
      if (this.random(5) === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  }

  async call(row: string, input: Input): Promise<void> {
    const begun = ++this.now;
    try {
      const output = await perform(this.engine.table('t'), row, input);
      this.byRow.get(row)!.push({ input, begun, ended: ++this.now, output });
    } catch (error) {
      if (!(error instanceof RowanError)) throw error;
      // A full disk takes nothing: a rejected call has had no effect at all.
      if (error.code !== 'ERR_IO') throw error;
    }
  }

  private async operator(wanted: () => boolean): Promise<void> {
    const { admin } = this.engine;
    while (wanted()) {
      const works = [
        () => admin.flush('t'),
        () => admin.flush('t', 'f'),
        () => admin.compact('t'),
        () => admin.majorCompact('t'),
        async () => {
          if ((await admin.getRegions('t')).length < 3) await admin.split('t');
        },
      ];
      try {
        await works[this.random(works.length)]!();
      } catch (error) {
        if (!(error instanceof RowanError) || error.code !== 'ERR_IO') throw error;
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** The disk is full now and then. */
  private async breakDisk(wanted: () => boolean): Promise<void> {
    while (wanted()) {
      const shortWrite = (length: number): number => this.random(length + 1);
      this.files.inject({ calls: ['write'], after: this.random(8), times: 2, errno: 'ENOSPC', shortWrite });
      for (let turns = 3 + this.random(9); turns > 0; turns--)
        await new Promise((resolve) => setImmediate(resolve));
      this.files.clear();
    }
  }
}

async function recordHistory(seed: number, faults: boolean): Promise<Histories> {
  const files = new FaultFileSystem(
    new MemoryFileSystem({
      syncDelay: async () => {
        if (seed % 3 > 0) await new Promise((resolve) => setImmediate(resolve));
      },
    }),
  );
  const options = smallStore(files, { memstoreFlushSize: 1200 });
  const engine = await openEmbedded(STORE, options);
  await engine.admin.createTable(tableDescriptor('t', { f: {}, g: {} }));
  const recording = new Recording(engine, files, randomOf(seed));
  await recording.run(faults);
  for (const row of recording.byRow.keys()) await recording.call(row, { kind: 'read' });
  await engine.close();
  const again = await openEmbedded(STORE, options);
  for (const [row, calls] of recording.byRow) {
    // What is read by the next life is part of the same history.
    const value = await perform(again.table('t'), row, { kind: 'read' });
    const ended = 1 + Math.max(...calls.map((call) => call.ended));
    calls.push({ input: { kind: 'read' }, begun: ended, ended: ended + 1, output: value });
  }
  await again.verify();
  await again.close();
  return recording.byRow;
}

describe.each([
  ['on a sound disk', false],
  ['on a disk that is full now and then', true],
] as const)('clients of a row that do not wait for each other, %s', (_, faults) => {
  it('get answers that some order explains', async () => {
    let calls = 0;
    for (let seed = 1; seed <= HISTORIES; seed++) {
      const histories = await recordHistory(seed, faults);
      for (const [row, history] of histories) {
        calls += history.length;
        if (isLinearizable(ROW, history)) continue;
        throw new Error(`seed ${seed}, ${row}: no order explains ${JSON.stringify(history)}`);
      }
    }
    record('linearizability', { histories: HISTORIES, calls });
  });
});

test('the checker sees a stale read, a lost increment and a check that passed twice', () => {
  const write = { input: { kind: 'write', value: 1 } as const, begun: 1, ended: 2, output: null };
  const read = (output: Output) => ({ input: { kind: 'read' } as const, begun: 3, ended: 4, output });
  expect(isLinearizable(ROW, [write, read(1)])).toBe(true);
  expect(isLinearizable(ROW, [write, read(null)])).toBe(false);
  expect(isLinearizable(ROW, [{ ...write, ended: 5 }, read(null)])).toBe(true);
  const add = (begun: number, output: number) => ({
    input: { kind: 'add', amount: 1 } as const,
    begun,
    ended: 9,
    output,
  });
  expect(isLinearizable(ROW, [add(1, 2), add(2, 1)])).toBe(true);
  expect(isLinearizable(ROW, [add(1, 1), add(2, 1)])).toBe(false);
  const check = { input: { kind: 'check', from: undefined, to: 7 } as const, begun: 1, ended: 9, output: 1 };
  expect(isLinearizable(ROW, [check, check])).toBe(false);
});

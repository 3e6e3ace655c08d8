/** Transactions that meet at the same rows: none starves, whatever the order in which they begin and end. */

import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type EmbeddedEngine, openEmbedded } from '../../../src/store/engine.js';
import {
  Get,
  Increment,
  Put,
  Scan,
  type TableTransaction,
  type TransactionOptions,
  tableDescriptor,
} from '../../../src/table/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { scaled } from '../../proof/scale.js';

const QUALIFIER = Buffer.from('q');

async function opened(): Promise<EmbeddedEngine> {
  const engine = await openEmbedded('/db', { fileSystem: new MemoryFileSystem(), background: 'inline' });
  await engine.admin.createTable(tableDescriptor('t', { d: {} }));
  return engine;
}

async function numberAt(tx: Pick<TableTransaction, 'table'>, row: string): Promise<number> {
  const value = (await tx.table('t').get(new Get(Buffer.from(row)))).getValue('d', QUALIFIER);
  return value === undefined ? 0 : Number(Buffer.from(value).toString());
}

async function setValue(tx: TableTransaction, row: string, value: number): Promise<void> {
  await tx.table('t').put(new Put(Buffer.from(row)).addColumn('d', QUALIFIER, Buffer.from(String(value))));
}

/** Counts `row` up by reading and writing it; its new value, and how often it was run. */
async function counted(
  engine: EmbeddedEngine,
  rows: readonly string[],
  turns = 0,
  options: TransactionOptions = {},
): Promise<{ readonly value: number; readonly runs: number }> {
  let runs = 0;
  const value = await engine.transaction(async (tx) => {
    runs++;
    let last = 0;
    for (const row of rows) {
      last = (await numberAt(tx, row)) + 1;
      for (let i = 0; i < turns; i++) await turn();
      await setValue(tx, row, last);
    }
    return last;
  }, options);
  return { value, runs };
}

describe('transactions that are overtaken', () => {
  it.each(scaled([300], [300, 1000], [300, 1000]))(
    '%s on one row all commit, each by its second run',
    async (count) => {
      const engine = await opened();
      const done = await Promise.all(Array.from({ length: count }, () => counted(engine, ['ticket'])));
      expect(new Set(done.map(({ value }) => value)).size).toBe(count);
      expect(await numberAt(engine, 'ticket')).toBe(count);
      // All begin at once, and nobody begins later: those that were overtaken meet nobody in their next run.
      expect(Math.max(...done.map(({ runs }) => runs))).toBeLessThanOrEqual(2);
      await engine.close();
    },
  );

  it('on two rows, in both orders, commit by their third run', async () => {
    const engine = await opened();
    const loops = Array.from({ length: 10 }, async (_, i) => {
      const most = [];
      for (let j = 0; j < 10; j++)
        most.push((await counted(engine, (i + j) % 2 === 0 ? ['a', 'b'] : ['b', 'a'], 1)).runs);
      return Math.max(...most);
    });
    expect(Math.max(...(await Promise.all(loops)))).toBeLessThanOrEqual(3);
    expect([await numberAt(engine, 'a'), await numberAt(engine, 'b')]).toEqual([100, 100]);
    await engine.close();
  });

  it('get through though shorter ones go on beginning', async () => {
    const engine = await opened();
    let ended = false;
    const short = async (): Promise<void> => {
      for (; !ended; await turn()) await counted(engine, ['c']);
    };
    const others = [short(), short(), short()];
    const { runs } = await counted(engine, ['c'], 30);
    ended = true;
    await Promise.all(others);
    expect(runs).toBeLessThanOrEqual(3);
    await engine.close();
  });

  it('get through with a range that others go on writing to', async () => {
    const engine = await opened();
    let ended = false;
    const short = async (row: string): Promise<void> => {
      for (; !ended; await turn()) await counted(engine, [row]);
    };
    const others = ['r1', 'r2', 'r3'].map(short);
    let runs = 0;
    await engine.transaction(async (tx) => {
      runs++;
      let sum = 0;
      for await (const result of tx.table('t').scan(new Scan().withStartRow(Buffer.from('r')))) {
        sum += result.cells.length;
        for (let i = 0; i < 10; i++) await turn();
      }
      await setValue(tx, 'sum', sum);
    });
    ended = true;
    await Promise.all(others);
    expect(runs).toBeLessThanOrEqual(3);
    await engine.close();
  });

  it('are tried no more often than was said', async () => {
    const engine = await opened();
    const write = (): Promise<unknown> =>
      engine.table('t').increment(new Increment(Buffer.from('n')).addColumn('d', QUALIFIER, 1n));
    const always = engine.transaction(
      async (tx) => {
        await tx.table('t').get(new Get(Buffer.from('n')));
        await write();
        await setValue(tx, 'x', 1);
      },
      { attempts: 4 },
    );
    await expect(always).rejects.toMatchObject({ code: 'ERR_SERIALIZATION', details: { attempts: 4 } });
    await engine.close();
  });
});

describe('waiting for a turn', () => {
  /** Others have been overtaken at the row and run again, one of them until `release` is called. */
  async function heldTurn(engine: EmbeddedEngine): Promise<{ release: () => void; done: Promise<unknown> }> {
    let release!: () => void;
    const held = new Promise<void>((resolve) => (release = resolve));
    let runs = 0;
    const done = engine.transaction(async (tx) => {
      const value = await numberAt(tx, 'h');
      if (++runs === 1) await counted(engine, ['h']);
      else await held;
      await setValue(tx, 'h', value + 1);
    });
    while (runs < 2) await turn();
    return { release, done };
  }

  it('ends with the signal or the time of who waits, and lets the next have the turn', async () => {
    const engine = await opened();
    const { release, done } = await heldTurn(engine);
    const controller = new AbortController();
    const gone = counted(engine, ['h'], 0, { signal: controller.signal });
    const late = counted(engine, ['h'], 0, { timeout: 1 });
    const patient = counted(engine, ['h']);
    await expect(late).rejects.toMatchObject({ code: 'ERR_TIMEOUT' });
    controller.abort();
    await expect(gone).rejects.toMatchObject({ code: 'ERR_ABORTED' });
    release();
    await done;
    expect((await patient).value).toBe(3);
    await engine.close();
  });

  it('takes a time longer than a timer of the platform can', async () => {
    const engine = await opened();
    expect(await counted(engine, ['a'], 5, { timeout: 2 ** 31 })).toEqual({ value: 1, runs: 1 });
    await engine.close();
  });
});

it('random transactions beside each other all commit, and lose no count', async () => {
  const rows = ['a', 'b', 'c'];
  const step = fc.record({
    rows: fc.uniqueArray(fc.constantFrom(...rows), { minLength: 1 }),
    turns: fc.integer({ min: 0, max: 3 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(step, { maxLength: 6 }), { maxLength: 8 }), async (clients) => {
      const engine = await opened();
      await Promise.all(
        clients.map(async (steps) => {
          for (const { rows: own, turns } of steps) await counted(engine, own, turns);
        }),
      );
      for (const row of rows) {
        const times = clients.flat().filter((one) => one.rows.includes(row)).length;
        expect(await numberAt(engine, row)).toBe(times);
      }
      await engine.close();
    }),
    { numRuns: scaled(8, 200, 2000) },
  );
});

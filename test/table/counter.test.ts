import { expect, it } from 'vitest';
import { RowanError } from '../../src/errors.js';
import { openEmbedded } from '../../src/store/engine.js';
import { takeNumbers } from '../../src/table/counter.js';
import { type Increment, Result, type Table, tableDescriptor } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/index.js';

const counter = { row: Buffer.from('r'), family: 'f', qualifier: Buffer.from('n') };
const unknown = new RowanError('ERR_CONNECTION', 'lost', { details: { outcome: 'unknown' } });

/** Takes 5 numbers after each increment has ended as named: it is made each time. */
async function taken(...ends: readonly (Result | RowanError)[]): Promise<bigint> {
  const engine = await openEmbedded('/db', { fileSystem: new MemoryFileSystem() });
  await engine.admin.createTable(tableDescriptor('t', { f: {} }));
  const table = engine.table('t');
  const left = [...ends];
  const increment = async (change: Increment): Promise<Result> => {
    const result = await table.increment(change);
    const end = left.shift() ?? result;
    if (end instanceof RowanError) throw end;
    return end;
  };
  try {
    return await takeNumbers({ increment } as Partial<Table> as Table, counter, 5);
  } finally {
    await engine.close();
  }
}

it('takes the numbers up to the new value', async () => {
  expect(await taken()).toBe(5n);
});

it('takes others where it learns that they were taken, and not which, or not whether', async () => {
  expect(await taken(Result.EMPTY, Result.EMPTY)).toBe(15n);
  expect(await taken(unknown)).toBe(10n);
  const unsynced = new RowanError('ERR_REMOTE', 'no sync', { details: { outcome: 'unknown' } });
  expect(await taken(unsynced)).toBe(10n);
  expect(await taken(Result.EMPTY, unknown, Result.EMPTY)).toBe(20n);
});

it('fails where two outcomes are unknown, and with any other error', async () => {
  await expect(taken(unknown, Result.EMPTY, unknown)).rejects.toBe(unknown);
  const refused = new RowanError('ERR_CONNECTION', 'refused', { retryable: true });
  await expect(taken(refused)).rejects.toBe(refused);
  const late = new RowanError('ERR_TIMEOUT', 'late', { details: { outcome: 'unknown' } });
  await expect(taken(late)).rejects.toBe(late);
});

/** Writes to a served store whose log cannot be synced: clients learn which of them may be there after the next opening. */

import { describe, expect, it } from 'vitest';
import type { HBaseEngine } from '../../src/hbase/engine.js';
import { type BatchOutcome, CheckAndMutate, Get, Increment, Put } from '../../src/table/index.js';
import type { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { cellBlock } from '../hbase-client/fake-cells.js';
import { MutateRequest } from '../hbase-client/fake-messages.js';
import { RawClient, regionOf } from './raw-client.js';
import { endWithLostLog, Served, servedWithFailingLog } from './served.js';

const put = (row: string): Put => new Put(row).addColumn('f', 'q', 'v');
const isPut = (outcomes: readonly BatchOutcome[]): void => {
  for (const outcome of outcomes) if (!outcome.ok) throw outcome.error;
};

const CHANGES: Readonly<Record<string, (engine: HBaseEngine) => Promise<unknown>>> = {
  put: (engine) => engine.table('t').put(put('r')),
  increment: (engine) => engine.table('t').increment(new Increment('r').addColumn('f', 'n', 1)),
  'conditional put': (engine) =>
    engine.table('t').checkAndMutate(CheckAndMutate.ifNotExists('f', Buffer.from('q'), put('r'))),
  'batch of puts': (engine) =>
    engine
      .table('t')
      .batch([put('r'), put('s')])
      .then(isPut),
  transaction: (engine) => engine.transaction!((tx) => tx.table('t').put(put('r'))),
};

/** A connection to a served store with the table "t", whose next sync of the log fails. */
async function failing(): Promise<{ served: Served; engine: HBaseEngine; disk: MemoryFileSystem }> {
  const served = await servedWithFailingLog();
  return { served, engine: await served.connect(), disk: served.disk };
}

describe('a store whose log cannot be synced', () => {
  it.each(Object.keys(CHANGES))(
    'says that the outcome of a %s is unknown, and it may be found',
    async (kind) => {
      const { served, engine, disk } = await failing();
      const error: unknown = await CHANGES[kind]!(engine).catch((reason: unknown) => reason);
      expect(error).toMatchObject({ retryable: false, details: { outcome: 'unknown' } });
      expect((error as Error).message).toMatch(/not known.* Read (?:the row|what it wrote) to find out\.$/);
      await endWithLostLog(served);
      await using reopened = await Served.start({}, { disk });
      expect((await reopened.store.table('t').get(new Get('r'))).isEmpty).toBe(false);
    },
  );

  it.each(Object.keys(CHANGES))('refuses a later %s, whose outcome is known', async (kind) => {
    const { served, engine } = await failing();
    await engine
      .table('t')
      .put(put('lost'))
      .catch(() => undefined);
    const error: unknown = await CHANGES[kind]!(engine).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'ERR_READONLY', retryable: false });
    expect(error).not.toHaveProperty('details.outcome');
    expect((error as Error).message).toContain('The store accepts no more writes');
    expect((await engine.table('t').get(new Get('before'))).isEmpty).toBe(false);
    await endWithLostLog(served);
  });

  it('answers HBase’s clients by an exception that none of them repeats, and that says what it is', async () => {
    const { served } = await failing();
    const region = await regionOf(served.endpoint, 't');
    const client = await RawClient.greet(served.endpoint);
    const mutation = { row: Buffer.from('r'), type: 2, cellCount: 1 };
    const cells = cellBlock([['r', 'f', 'q', 0, 4, Buffer.from('v')]]);
    const { exception } = await client.call('Mutate', MutateRequest, { region, mutation }, cells);
    client.end();
    expect(exception).toMatchObject({
      exceptionClassName: 'org.apache.hadoop.hbase.DoNotRetryIOException',
      doNotRetry: true,
    });
    expect(exception!.stackTrace).toContain('Failed to get sync result: ');
    expect(exception!.stackTrace).toContain('may be there after the next opening');
    await endWithLostLog(served);
  });
});

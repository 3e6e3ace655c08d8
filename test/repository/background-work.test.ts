/** Work that changes have left on engines whose atomic step is one row: what fails in the background is tried again, and keeps nothing else. */

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { RowanError } from '../../src/errors.js';
import { RemoteOutbox } from '../../src/features/outbox.js';
import { ABANDONED_AFTER, type FollowUps, OUTBOX_TABLE } from '../../src/repository/index.js';
import { intentRow, outboxDescriptor, putIntent } from '../../src/repository/outbox.js';
import { WriterRecords } from '../../src/repository/remote/writer-records.js';
import type { EntitySchema } from '../../src/schema/types.js';
import { openEmbedded } from '../../src/store/engine.js';
import { type Engine, Result, Scan, type Table } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Until the calls that are under way have been answered. */
async function answered(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
}

async function pass(milliseconds: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(milliseconds);
  await answered();
}

const disabled = () => new RowanError('ERR_TABLE_DISABLED', 'Table a is disabled.');

test('changes of a table that is disabled keep those of others from nothing, and are finished when it is enabled', async () => {
  const engine = await openEmbedded('/outbox', { fileSystem: new MemoryFileSystem(), automatic: false });
  await engine.admin.createTable(outboxDescriptor());
  const outboxTable = engine.table(OUTBOX_TABLE);
  for (const name of ['A', 'B']) {
    const row = intentRow({ name } as EntitySchema, Uint8Array.of(1));
    await outboxTable.batch([putIntent(row, Uint8Array.of(7), name)]);
  }
  const left = async (): Promise<string[]> => {
    const rows: string[] = [];
    for await (const { row } of outboxTable.scan(new Scan())) rows.push(String.fromCharCode(row[0]!));
    return rows;
  };
  let isEnabled = false;
  const failures: string[] = [];
  const followUpsOf = (entity: string) => ({
    tableName: entity,
    takeOver: async () => {
      if (entity === 'A' && !isEnabled) throw disabled();
      return true;
    },
  });
  const later = {
    table: (name: string) => engine.table(name),
    now: () => engine.now() + 2 * ABANDONED_AFTER,
  };
  const outbox = new RemoteOutbox({
    engine: later as unknown as Engine,
    followUpsOf: followUpsOf as unknown as (entity: string) => FollowUps,
    rest: async () => undefined,
    recover: async () => undefined,
    onFailure: ({ code }) => failures.push(code),
  });
  outbox.kick();
  await answered();
  expect(await left()).toEqual(['A']);
  expect(failures).toEqual(['ERR_TABLE_DISABLED']);
  await expect(outbox.drain()).rejects.toMatchObject({ code: 'ERR_TABLE_DISABLED' });
  await pass(ABANDONED_AFTER);
  expect(failures).toHaveLength(2);
  await pass(ABANDONED_AFTER);
  expect(failures).toHaveLength(3);
  // When it has failed for a minute it is tried again after another one, also if more has failed in that time.
  outbox.kick();
  await answered();
  expect(failures).toHaveLength(4);
  isEnabled = true;
  await pass(ABANDONED_AFTER);
  expect(await left()).toEqual(['A']);
  await pass(ABANDONED_AFTER);
  expect(await left()).toEqual([]);
  await outbox.end();
  await engine.close();
});

test('rows that a record leads to are worked off when that has failed before', async () => {
  let time = 2 * ABANDONED_AFTER;
  const failures: string[] = [];
  const sinces: number[] = [];
  let isEnabled = false;
  const qualifier = Buffer.concat([Buffer.alloc(8), Buffer.from('Thing')]);
  const record = { family: 'd', qualifier, timestamp: 1, value: Buffer.alloc(8) };
  const records = new WriterRecords({
    table: { get: async () => new Result(Uint8Array.of(1), [record] as never) } as unknown as Table,
    row: Uint8Array.of(1),
    family: 'd',
    entity: 'Thing',
    now: () => time,
    onFailure: ({ code }) => failures.push(code),
    catchUp: async (since) => {
      if (!isEnabled) throw disabled();
      sinces.push(since);
      return 1;
    },
  });
  records.kick();
  await answered();
  expect(failures).toEqual(['ERR_TABLE_DISABLED']);
  isEnabled = true;
  time += ABANDONED_AFTER;
  await pass(ABANDONED_AFTER);
  expect(sinces).toEqual([0]);
  await records.end();
});

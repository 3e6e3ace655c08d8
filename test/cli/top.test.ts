/** `rowan top`: a store that another engine writes, and a store that is served. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { runCli } from '../../src/cli/program.js';
import { RowanError } from '../../src/errors.js';
import { HBaseAdmin } from '../../src/hbase/admin/hbase-admin.js';
import { openEmbedded } from '../../src/store/engine.js';
import { Get, Put, tableDescriptor } from '../../src/table/index.js';
import { Served } from '../server/served.js';
import { run } from './run.js';

const put = (row: string) => new Put(row).addColumn('f', 'q', 'v');

interface Seen {
  readonly totals: Readonly<Record<string, number>>;
  readonly tables: readonly {
    readonly table: string;
    readonly files: number;
    readonly memoryBytes: number;
    readonly reads: number;
  }[];
}

/** Runs `top --json` until all steps are over: each does something after a look, and is over at the first look that it waits for. */
async function watch(
  place: string,
  steps: readonly { readonly act: () => Promise<unknown>; readonly until: (seen: Seen) => boolean }[],
): Promise<Seen[]> {
  const seen: Seen[] = [];
  const acts: Promise<unknown>[] = [];
  let step = -1;
  const next = (): void => {
    step++;
    if (step < steps.length) acts.push(steps[step]!.act());
    else process.emit('SIGINT');
  };
  const write = (text: string): void => {
    const look = JSON.parse(text) as Seen;
    if (step >= 0 && !steps[step]!.until(look)) return;
    seen.push(look);
    next();
  };
  const writeError = (text: string): void => expect(text).toBe('');
  expect(await runCli(['top', place, '--every', '0.02', '--json'], { write, writeError })).toBe(0);
  await Promise.all(acts);
  return seen;
}

async function writtenStore() {
  const folder = mkdtempSync(join(tmpdir(), 'rowan-top-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const writer = await openEmbedded(folder, { background: 'inline', automatic: false });
  onTestFinished(() => writer.close());
  await writer.admin.createTable(tableDescriptor('t', { f: {} }), [Buffer.from('m')]);
  await writer.table('t').put(put('a'));
  return { folder, writer };
}

test('looks at a store beside the process that writes it: each look has what was written since the one before', async () => {
  const { folder, writer } = await writtenStore();
  const [before, written, flushed] = await watch(folder, [
    {
      act: () => writer.table('t').putAll(['b', 'c', 'd'].map(put)),
      until: ({ totals }) => totals['writesPerSecond']! > 0,
    },
    { act: () => writer.admin.flush('t'), until: ({ tables }) => tables[0]!.files > 0 },
  ]);
  expect(before).toMatchObject({ totals: { writesPerSecond: 0 }, tables: [{ table: 't', files: 0 }] });
  expect(written!.tables[0]!.memoryBytes).toBeGreaterThan(before!.tables[0]!.memoryBytes);
  expect(flushed!.totals['logSegments']).toBeGreaterThan(0);
  expect(flushed!.tables).toEqual([
    expect.objectContaining({ regions: 2, memoryBytes: 0, reads: null, writes: null, hottest: null }),
  ]);
});

test('prints lines, and on a terminal clears the screen before each look', async () => {
  const { folder } = await writtenStore();
  const plain = await run('top', folder, '--every', '0.01', '--once');
  expect(plain).toMatchObject({ code: 0, err: '' });
  const [first, head, row, ...more] = plain.out.trimEnd().split('\n');
  expect(first).toMatch(/^\d{4}-\S+Z {2}.+ {2}0\.0 writes\/s, log \d+\.\d KiB, \d+ segments$/);
  expect(head).toMatch(/^table +regions +files +on disk +in memory +reads\/s +writes\/s +hottest region$/);
  expect(row).toMatch(/^t +2 +0 +0\.0 KiB +\d+\.\d KiB +- +- +-$/);
  expect(more).toEqual([]);
  const frames: string[] = [];
  const write = (text: string): void => void frames.push(text);
  await runCli(['top', folder, '--every', '0.01', '--frames', '2'], {
    write,
    writeError: write,
    isTerminal: true,
  });
  expect(frames.map((frame) => frame.startsWith('\x1b[H\x1b[2J20'))).toEqual([true, true]);
});

test('has the requests of a served store by table, the busiest first, with the hottest region', async () => {
  await using served = await Served.start();
  for (const name of ['idle', 't'])
    await served.store.admin.createTable(tableDescriptor(name, { f: {} }), [Buffer.from('m')]);
  const client = await served.connect();
  await client.table('t').put(put('x'));
  const reading = async (): Promise<void> => {
    for (let i = 0; i < 8; i++) await client.table('t').get(new Get('x'));
  };
  const [before, read] = await watch(`hbase:${served.endpoint}`, [
    { act: reading, until: ({ tables }) => tables[0]!.reads > 0 },
  ]);
  expect(before!.tables).toMatchObject([
    { table: 'idle', reads: 0, writes: 0 },
    { table: 't', reads: 0, writes: 0 },
  ]);
  expect(read!.tables).toMatchObject([
    { table: 't', writes: 0, hottest: { startKey: 'm', share: 1 } },
    { table: 'idle', reads: 0, writes: 0, hottest: null },
  ]);
  expect(read!.totals['servers']).toBe(1);
});

test('leaves out a table that is dropped meanwhile, and looks again after an error that may pass', async () => {
  await using served = await Served.start();
  for (const name of ['dropped', 't']) await served.store.admin.createTable(tableDescriptor(name, { f: {} }));
  const looked = vi.spyOn(HBaseAdmin.prototype, 'getRegions');
  onTestFinished(() => looked.mockRestore());
  const gone = new RowanError('ERR_TABLE_NOT_FOUND', 'Table "dropped" is gone.');
  const busy = new RowanError('ERR_BUSY', 'The server is busy.', { retryable: true });
  const regions = await served.store.admin.getRegions('t');
  for (const step of [regions, regions, busy, gone, regions] as const) {
    if (step instanceof RowanError) looked.mockRejectedValueOnce(step);
    else looked.mockResolvedValueOnce([...step]);
  }
  const top = await run('top', `hbase:${served.endpoint}`, '--every', '0.01', '--once', '--json');
  expect(top).toMatchObject({ code: 0, err: 'The next look is in 0.01 s: The server is busy.\n' });
  expect(JSON.parse(top.out)).toMatchObject({ tables: [{ table: 't' }] });
});

test('refuses what it cannot look at', async () => {
  const { folder } = await writtenStore();
  expect((await run('top', folder, '--every', '0')).err).toContain('--every takes a number above 0, not "0"');
  expect((await run('top', folder, '--frames', '1.5')).err).toContain('--frames takes a whole number');
  expect((await run('top', join(folder, 'none'))).err).toContain('There is no store in');
  expect((await run('top', 'bigtable:a/b')).err).toContain('Bigtable tells no loads');
});

/** Calls that are made at the same time share requests. */

import { afterAll, beforeAll, beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest';
import { BigtableTable } from '../../src/bigtable/bigtable-table.js';
import { BigtableClient } from '../../src/bigtable/client.js';
import { Descriptors } from '../../src/bigtable/descriptors.js';
import { connectBigtableEngine } from '../../src/bigtable/engine.js';
import { resolveSettings } from '../../src/bigtable/options.js';
import { TableOptionsStore } from '../../src/bigtable/table-options.js';
import { toLatin1 } from '../../src/bytes/index.js';
import { Delete, type Engine, Get, Put, tableDescriptor } from '../../src/table/index.js';
import { freshInstance } from './connect.js';

let client: BigtableClient;
let engine: Engine;
let table: BigtableTable;
let calls: MockInstance;
let reads: MockInstance;

beforeAll(async () => {
  const instance = freshInstance();
  engine = await connectBigtableEngine(instance);
  await engine.admin.createTable(tableDescriptor('t', { f: { versions: 3 }, g: {} }));
  client = await BigtableClient.of(resolveSettings(instance));
  table = new BigtableTable(client, new Descriptors(client, new TableOptionsStore(client)), Date.now, 't');
  // Describes the table.
  await table.get(new Get('nothing'));
  calls = vi.spyOn(client, 'call');
  reads = vi.spyOn(client, 'read');
});
beforeEach(() => {
  calls.mockClear();
  reads.mockClear();
});
afterAll(async () => {
  await client.close();
  await engine.close();
});

/** The requests sent: each method with its count of rows. */
function sent(): string[] {
  const of = (request: { entries?: readonly object[]; rows?: { rowKeys: readonly object[] } }): number =>
    request.entries?.length ?? request.rows?.rowKeys.length ?? 1;
  return [...calls.mock.calls, ...reads.mock.calls]
    .map(([method, , request]) => `${method} ${of(request)}`)
    .sort();
}

const valueIn = async (row: string): Promise<string | undefined> => {
  const value = (await table.get(new Get(row))).getValue('f', 'q');
  return value && toLatin1(value);
};

const put = (row: string, value = row): Put => new Put(row).addColumn('f', 'q', value);

describe('puts and deletes at the same time', () => {
  it('of different rows share a request', async () => {
    await Promise.all(Array.from({ length: 150 }, (_, i) => table.put(put(`a${i}`))));
    expect(sent()).toEqual(['mutateRows 100', 'mutateRows 50']);
    // An attempt has the time of an attempt of one row.
    for (const given of reads.mock.calls) expect(given[5]).toBe(client.settings.rpcTimeout);
    calls.mockClear();
    reads.mockClear();
    await Promise.all([table.delete(new Delete('a0')), table.put(put('a1', 'new'))]);
    expect(sent()).toEqual(['mutateRows 2']);
    expect([await valueIn('a0'), await valueIn('a1'), await valueIn('a149')]).toEqual([
      undefined,
      'new',
      'a149',
    ]);
  });

  it('of one row do not', async () => {
    await Promise.all([table.put(put('b')), table.put(put('c')), table.put(put('b', 'other'))]);
    expect(sent()).toEqual(['mutateRow 1', 'mutateRows 2']);
  });

  it('are alone when they are large, or have a time limit or a signal', async () => {
    await Promise.all([
      table.put(put('d', 'x'.repeat(70_000))),
      table.put(put('e'), { timeout: 10_000 }),
      table.put(put('f'), { signal: new AbortController().signal }),
    ]);
    expect(sent()).toEqual(['mutateRow 1', 'mutateRow 1', 'mutateRow 1']);
  });

  it('fail one by one', async () => {
    // The cached descriptor still has the family.
    await engine.admin.modifyTable(tableDescriptor('t', { f: { versions: 3 } }));
    const outcomes = await Promise.allSettled([
      table.put(put('h')),
      table.put(new Put('i').addColumn('g', 'q', 'v')),
      table.put(put('j')),
    ]);
    expect(sent()).toContain('mutateRows 3');
    expect(outcomes.map((each) => (each.status === 'rejected' ? each.reason.code : 'made'))).toEqual([
      'made',
      'ERR_NO_SUCH_FAMILY',
      'made',
    ]);
    await engine.admin.modifyTable(tableDescriptor('t', { f: { versions: 3 }, g: {} }));
  });
});

describe('gets at the same time', () => {
  it('share a request when they ask for the same, whatever their rows', async () => {
    await table.putAll([put('k'), put('l'), new Put('m').addColumn('g', 'q', 'v')]);
    calls.mockClear();
    reads.mockClear();
    const rows = ['k', 'l', 'k', 'nothing'];
    const answers = await Promise.all([
      ...rows.map((row) => table.get(new Get(row))),
      ...rows.map((row) => table.get(new Get(row).addColumn('f', 'q').readVersions(2))),
      table.exists(new Get('m')),
    ]);
    expect(sent()).toEqual(['readRows 1', 'readRows 3', 'readRows 3']);
    expect(answers.slice(0, -1).map((each) => (each as { cells: readonly unknown[] }).cells.length)).toEqual([
      1, 1, 1, 0, 1, 1, 1, 0,
    ]);
    expect(answers.at(-1)).toBe(true);
  });

  it('fail one by one', async () => {
    const outcomes = await Promise.allSettled([
      table.get(new Get('k')),
      table.get(new Get('k').addFamily('nope')),
      table.get(new Get('l'), { timeout: 10_000 }),
    ]);
    expect(outcomes.map((each) => (each.status === 'rejected' ? each.reason.code : 'read'))).toEqual([
      'read',
      'ERR_NO_SUCH_FAMILY',
      'read',
    ]);
  });
});

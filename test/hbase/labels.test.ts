/** Visibility labels and the slow log, on an HBase of its own that has them. */

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { connectHBase, type HBaseEngine } from '../../src/hbase/engine.js';
import {
  Append,
  CheckAndMutate,
  Delete,
  Get,
  Increment,
  Put,
  RowMutations,
  Scan,
  type Table,
  tableDescriptor,
} from '../../src/table/index.js';
import { PATIENCE } from './patience.js';
import { type HBaseServer, startHBase } from './server/hbase-server.js';

/** How long is waited for what servers tell each other; it takes some milliseconds. */
const CONTROLLER = 'org.apache.hadoop.hbase.security.visibility.VisibilityController';

let server: HBaseServer;
/** Who started the server sees and may everything. */
let root: HBaseEngine;
let ann: HBaseEngine;
let bob: HBaseEngine;

beforeAll(async () => {
  server = await startHBase({
    name: 'labels',
    settings: {
      'hbase.coprocessor.master.classes': CONTROLLER,
      'hbase.coprocessor.region.classes': CONTROLLER,
      'hbase.security.authorization': 'true',
      'hbase.superuser': 'root-of-labels',
      // Every answer is a large one, and what takes a millisecond is slow.
      'hbase.regionserver.slowlog.buffer.enabled': 'true',
      'hbase.ipc.warn.response.time': '0',
      'hbase.ipc.warn.response.size': '0',
    },
  });
  const { masters } = server;
  root = await connectHBase({ masters, user: 'root-of-labels' });
  ann = await connectHBase({ masters, user: 'ann', connectionAttributes: { application: 'labels' } });
  bob = await connectHBase({ masters, user: 'bob' });
});
afterAll(async () => {
  for (const engine of [root, ann, bob]) await engine?.close();
  await server?.stop();
});

/** The values of a row's cells that somebody sees. */
async function seen(table: Table, row: string, labels?: readonly string[]): Promise<string[]> {
  const { cells } = await table.get(new Get(row).setAuthorizations(labels));
  return cells.map(({ value }) => Buffer.from(value).toString());
}

describe('labels', () => {
  it('are added, listed, given and taken; what is refused says so', async () => {
    const { labels } = root.admin;
    await labels.add(['secret', 'trial', 'ünï code']);
    expect(await labels.list()).toEqual(['secret', 'trial', 'ünï code']);
    expect(await labels.list('t.*')).toEqual(['trial']);
    const again = labels.add(['other', 'secret']);
    await expect(again).rejects.toMatchObject({
      remoteMessage: expect.stringContaining('already'),
      retryable: false,
      message: expect.stringContaining('"secret"'),
    });
    expect(await labels.list()).toContain('other');

    await labels.setAuths('cleo', ['secret', 'trial']);
    expect(await labels.getAuths('cleo')).toEqual(['secret', 'trial']);
    await labels.clearAuths('cleo', ['secret']);
    expect(await labels.getAuths('cleo')).toEqual(['trial']);
    expect(await labels.getAuths('nobody')).toEqual([]);
    await expect(labels.setAuths('cleo', ['no such label'])).rejects.toMatchObject({ code: 'ERR_REMOTE' });
    for (const wrong of [[], [''], 'secret', undefined, [7]]) {
      await expect(labels.add(wrong as never)).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
    }
    await expect(labels.setAuths('', ['secret'])).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
  });

  it('may not be made by everybody', async () => {
    await expect(ann.admin.labels.add(['mine'])).rejects.toMatchObject({ code: 'ERR_SECURITY' });
    await expect(ann.admin.labels.setAuths('ann', ['secret'])).rejects.toMatchObject({
      code: 'ERR_SECURITY',
    });
  });
});

describe('cells with a visibility', () => {
  let mine: Table;
  let his: Table;
  beforeAll(async () => {
    await root.admin.createTable(tableDescriptor('seen', { f: { versions: 10 } }));
    await root.admin.labels.add(['red', 'blue']);
    await root.admin.labels.setAuths('ann', ['red', 'blue']);
    await root.admin.labels.setAuths('bob', ['blue']);
    mine = ann.table('seen');
    his = bob.table('seen');
    // The servers learn of labels by ZooKeeper.
    await vi.waitFor(async () => {
      await mine.put(new Put('a').addColumn('f', 'q', 'v').setCellVisibility('red & blue'));
      expect(await seen(mine, 'a', ['red', 'blue'])).toEqual(['v']);
    }, PATIENCE);
  });

  it('are seen by who has the labels, of those that are asked for', async () => {
    await mine.put(new Put('r').addColumn('f', 'all', 'all'));
    await mine.put(new Put('r').addColumn('f', 'blue', 'blue').setCellVisibility('blue'));
    await mine.put(new Put('r').addColumn('f', 'red', 'red').setCellVisibility('red & !(blue)'));
    await mine.putAll([
      new Put('r').addColumn('f', 'x', 'either').setCellVisibility('red | blue'),
      new Put('s').addColumn('f', 'x', 'red').setCellVisibility('red'),
    ]);
    expect(await seen(mine, 'r')).toEqual(['all', 'blue', 'either']);
    expect(await seen(mine, 'r', ['red'])).toEqual(['all', 'red', 'either']);
    expect(await seen(mine, 'r', ['trial'])).toEqual(['all']);
    expect(await seen(his, 'r')).toEqual(['all', 'blue', 'either']);
    // Labels that one does not have are no use.
    expect(await seen(his, 'r', ['red'])).toEqual(['all']);
    expect(await his.exists(new Get('s'))).toBe(false);
    const rows = async (table: Table, labels?: readonly string[]): Promise<string[]> => {
      const found: string[] = [];
      for await (const { row } of table.scan(new Scan().withStartRow('r').setAuthorizations(labels))) {
        found.push(Buffer.from(row).toString());
      }
      return found;
    };
    expect(await rows(mine)).toEqual(expect.arrayContaining(['r', 's']));
    expect(await rows(his)).not.toContain('s');
    expect(await rows(mine, ['trial'])).not.toContain('s');
  });

  it('by every sort of change, alone, in one row change, on a condition and in a batch', async () => {
    const red = 'red';
    await mine.increment(new Increment('inc').addColumn('f', 'n', 5).setCellVisibility(red));
    await mine.append(new Append('app').addColumn('f', 'a', 'x').setCellVisibility(red));
    await mine.mutateRow(
      new RowMutations('both').add(
        new Put('both').addColumn('f', 'open', 'open'),
        new Put('both').addColumn('f', 'red', 'red').setCellVisibility(red),
      ),
    );
    const put = new Put('check').addColumn('f', 'q', 'red').setCellVisibility(red);
    expect(await mine.checkAndMutate(CheckAndMutate.ifNotExists('f', Buffer.from('q'), put))).toMatchObject({
      success: true,
    });
    const outcomes = await mine.batch([
      new Put('batch').addColumn('f', 'q', 'red').setCellVisibility(red),
      new Get('both').setAuthorizations(['blue']),
      new Get('both').setAuthorizations(['red']),
    ]);
    expect(outcomes.map((outcome) => outcome.ok && outcome.result.cells.length)).toEqual([0, 1, 2]);
    for (const row of ['inc', 'app', 'check', 'batch']) {
      expect(await seen(his, row), row).toEqual([]);
      expect(await seen(mine, row), row).toHaveLength(1);
    }
    expect(await seen(his, 'both')).toEqual(['open']);
  });

  it('are deleted by deletes of their visibility alone', async () => {
    await mine.put(new Put('d').addColumn('f', 'q', 'red', 1).setCellVisibility('red'));
    await mine.put(new Put('d').addColumn('f', 'q', 'blue', 2).setCellVisibility('blue'));
    await mine.delete(new Delete('d').addColumns('f', 'q').setCellVisibility('blue'));
    expect(await seen(mine, 'd')).toEqual(['red']);
  });

  it('need labels that there are, and an expression that can be read', async () => {
    const bad = new Put('bad').addColumn('f', 'q', 'v');
    await expect(mine.put(bad.setCellVisibility('no_such_label'))).rejects.toMatchObject({
      code: 'ERR_INVALID_ARGUMENT',
      retryable: false,
    });
    // What the client refuses, sent all the same.
    bad.visibility = 'red &';
    await expect(mine.put(bad)).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT', retryable: false });
    await mine.put(new Put('quoted').addColumn('f', 'q', 'v').setCellVisibility('"ünï code" | red'));
    expect(await seen(mine, 'quoted')).toEqual(['v']);
    for (const wrong of ['', '  ', 'red &', '(red', 'red blue', '! red', 'ünï', '""', 7, null, {}]) {
      expect(() => new Put('bad').setCellVisibility(wrong as never)).toThrow(
        expect.objectContaining({ code: 'ERR_INVALID_ARGUMENT' }),
      );
    }
    for (const wrong of [[], [''], 'red', [7], null]) {
      expect(() => new Get('bad').setAuthorizations(wrong as never), String(wrong)).toThrow(
        expect.objectContaining({ code: 'ERR_INVALID_ARGUMENT' }),
      );
    }
    expect(await seen(mine, 'bad')).toEqual([]);
  });
});

describe('the slow log', () => {
  /** The ids that the slow log has for a table, with the rpc that each came by. */
  async function ids(table: string): Promise<Map<string, string>> {
    const entries = await root.admin.slowLog.list({ kind: 'large', table, limit: 1000 });
    return new Map(
      entries.flatMap(({ requestAttributes: { id }, method }) =>
        id === undefined ? [] : [[id, method] as const],
      ),
    );
  }

  it('names requests by what the call said of them', async () => {
    await root.admin.createTable(tableDescriptor('slow', { f: {} }));
    const table = ann.table('slow');
    const put = (row: string): Put => new Put(row).addColumn('f', 'q', 'v');
    await table.put(put('a'), { attributes: { id: 'put' } });
    await table.get(new Get('a'), { attributes: { id: 'get', of: 'ünï' } });
    await table.putAll([put('b'), put('c')], { attributes: { id: 'multi' } });
    await table.increment(new Increment('i').addColumn('f', 'n', 1), { attributes: { id: 'increment' } });
    const change = new RowMutations('m').add(put('m'));
    await table.mutateRow(change, { attributes: { id: 'row' } });
    for await (const _ of table.scan(new Scan(), { attributes: { id: 'scan' } }));
    const all = {
      put: 'Mutate',
      get: 'Get',
      multi: 'Multi',
      increment: 'Mutate',
      row: 'Multi',
      scan: 'Scan',
    };
    await expect.poll(async () => Object.fromEntries(await ids('slow')), PATIENCE).toEqual(all);
    const [entry] = (await root.admin.slowLog.list({ kind: 'large', table: 'slow', limit: 1000 })).filter(
      ({ requestAttributes: { id } }) => id === 'get',
    );
    expect(entry).toMatchObject({
      server: server.regionServers[0],
      user: 'ann',
      method: 'Get',
      connectionAttributes: { application: 'labels' },
      requestAttributes: { id: 'get', of: 'ünï' },
    });
    expect(await root.admin.slowLog.list({ kind: 'large', table: 'slow', user: 'bob' })).toEqual([]);
    expect(
      await root.admin.slowLog.list({ kind: 'large', server: server.regionServers[0]!, limit: 2 }),
    ).toHaveLength(2);
    await expect(root.admin.slowLog.list({ server: 'nowhere:1' })).rejects.toMatchObject({
      code: 'ERR_NOT_FOUND',
    });
    await expect(root.admin.slowLog.list({ kind: 'fast' } as never)).rejects.toMatchObject({
      code: 'ERR_INVALID_ARGUMENT',
    });
    await root.admin.slowLog.clear();
    expect(await ids('slow')).toEqual(new Map());
  });

  it('names those that leave in one turn apart', async () => {
    await root.admin.createTable(tableDescriptor('apart', { f: {} }));
    const table = ann.table('apart');
    await table.get(new Get('warm'));
    await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        table.get(new Get(`r${i}`), { attributes: { id: `id-${i % 6}` } }),
      ),
    );
    await expect
      .poll(async () => [...(await ids('apart')).keys()].sort(), PATIENCE)
      .toEqual(Array.from({ length: 6 }, (_, i) => `id-${i}`));
  });
});

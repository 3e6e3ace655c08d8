import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { connectHBase, type HBaseEngine } from '../../src/hbase/engine.js';
import type { HBaseOptions } from '../../src/hbase/options.js';
import {
  CheckAndMutate,
  Delete,
  Get,
  Increment,
  LATEST_TIMESTAMP,
  Put,
  RowMutations,
  type Table,
} from '../../src/table/index.js';
import { cellBlock } from './fake-cells.js';
import { GetResponse, MultiResponse, MutateResponse } from './fake-messages.js';
import { FakePeer, type Request, readMulti, readMutate, readScanRequest } from './fake-peer.js';

const NSRE = 'org.apache.hadoop.hbase.NotServingRegionException';

describe('operations against a peer that does as it is told', () => {
  let peer: FakePeer;
  let engine: HBaseEngine;
  let table: Table;

  const open = async (options: HBaseOptions = {}): Promise<void> => {
    engine = await connectHBase({ masters: [peer.address], pause: 1, quarantine: 0, ...options });
    table = engine.table('t');
  };

  beforeEach(async () => {
    peer = await FakePeer.start();
    await open();
  });
  afterEach(async () => {
    await engine.close();
    await peer.stop();
  });

  /** Answers gets with a cell that repeats the row; `except` gets that error. */
  const answerMulti = (request: Request, except: ReadonlyMap<string, string> = new Map()): boolean => {
    if (request.method !== 'Multi') return false;
    const cells: [string, string, string, number, number, string][] = [];
    const regions = (readMulti(request).regionAction ?? []).map((region) => ({
      processed: region.atomic,
      results: (region.action ?? []).map((action) => {
        const row = Buffer.from(action.get?.row ?? action.mutation?.row ?? []).toString();
        const name = except.get(row);
        const index = action.index;
        if (name !== undefined) return { index, exception: { name, value: Buffer.from(`${name}: no`) } };
        if (action.get === undefined) return { index, result: {} };
        cells.push([row, 'f', 'q', 7, 4, `value of ${row}`]);
        return { index, result: { cellCount: 1 } };
      }),
    }));
    request.connection.reply(request.id, MultiResponse, { regions }, cellBlock(cells));
    return true;
  };

  it('send one get as a Get and many of a turn as one Multi', async () => {
    peer.handler = (request) => answerMulti(request);
    await table.get(new Get('alone'));
    expect(peer.of('Get')).toHaveLength(1);
    const rows = Array.from({ length: 30 }, (_, i) => `r${i}`);
    const results = await Promise.all(rows.map((row) => table.get(new Get(row))));
    expect(results.map((result) => Buffer.from(result.getValue('f', 'q')!).toString())).toEqual(
      rows.map((row) => `value of ${row}`),
    );
    expect(peer.of('Multi')).toHaveLength(1);
    expect(peer.of('Get')).toHaveLength(1);
  });

  it('keep the error of one action away from those that travelled with it, and repeat only what may succeed', async () => {
    let failures = 1;
    peer.handler = (request) => {
      const except = new Map([['bad', 'org.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException']]);
      if (request.method === 'Multi' && failures-- > 0)
        except.set('late', 'org.apache.hadoop.hbase.RegionTooBusyException');
      return answerMulti(request, except);
    };
    const outcomes = await table.batch([
      new Put('good').addColumn('f', 'q', 'v'),
      new Put('bad').addColumn('g', 'q', 'v'),
      new Put('late').addColumn('f', 'q', 'v'),
      new Put('good2').addColumn('f', 'q', 'v'),
    ]);
    expect(outcomes.map((outcome) => outcome.ok)).toEqual([true, false, true, true]);
    expect(outcomes[1]).toMatchObject({ error: { code: 'ERR_NO_SUCH_FAMILY', retryable: false } });
    // "late" alone is sent again, by itself.
    expect(peer.of('Multi')).toHaveLength(1);
    expect(
      peer.of('Mutate').map((request) => Buffer.from(readMutate(request).mutation.row!).toString()),
    ).toEqual(['late']);
  });

  it('repeat an increment with the nonce it had', async () => {
    let attempts = 0;
    peer.handler = (request) => {
      if (request.method !== 'Mutate') return false;
      if (attempts++ < 2) request.connection.socket.destroy();
      else {
        const cells = cellBlock([['r', 'f', 'q', 7, 4, Buffer.from('0000000000000005', 'hex')]]);
        request.connection.reply(request.id, MutateResponse, { result: { cellCount: 1 } }, cells);
      }
      return true;
    };
    const result = await table.increment(new Increment('r').addColumn('f', 'q', 5));
    expect(Buffer.from(result.getValue('f', 'q')!).readBigInt64BE()).toBe(5n);
    const sent = peer.of('Mutate').map(readMutate);
    expect(sent).toHaveLength(3);
    const nonces = new Set(sent.map(({ mutation, nonceGroup }) => `${mutation.nonce}/${nonceGroup}`));
    expect(nonces.size).toBe(1);
    expect(sent[0]!.mutation.nonce).not.toBe(0n);
    await table.increment(new Increment('r').addColumn('f', 'q', 5));
    expect(readMutate(peer.of('Mutate').at(-1)!).mutation.nonce).not.toBe(sent[0]!.mutation.nonce);
  });

  it('give up an increment that was sent and not answered with the word that its outcome is unknown', async () => {
    // The region is known then, and nothing but the answer is waited for.
    await table.get(new Get('warm'));
    peer.handler = (request) => request.method === 'Mutate';
    await expect(
      table.increment(new Increment('r').addColumn('f', 'q', 1), { timeout: 60 }),
    ).rejects.toMatchObject({ code: 'ERR_TIMEOUT', retryable: false, details: { outcome: 'unknown' } });
    await expect(table.put(new Put('r').addColumn('f', 'q', 'v'), { timeout: 60 })).rejects.toMatchObject({
      code: 'ERR_TIMEOUT',
      retryable: true,
    });
  });

  it('never repeat a conditional change whose answer was lost', async () => {
    peer.handler = ({ method, connection }) => {
      if (method !== 'Mutate') return false;
      connection.socket.destroy();
      return true;
    };
    const check = CheckAndMutate.ifNotExists('f', Buffer.from('q'), new Put('r').addColumn('f', 'q', 'v'));
    await expect(table.checkAndMutate(check)).rejects.toMatchObject({
      name: 'UnknownOutcomeError',
      retryable: false,
      details: { outcome: 'unknown' },
    });
    expect(peer.of('Mutate')).toHaveLength(1);
  });

  it('repeat a conditional change that the server refused before it looked', async () => {
    let first = true;
    peer.handler = ({ method, connection, id }) => {
      if (method !== 'Mutate' || !first) return false;
      first = false;
      connection.fail(id, NSRE, 'gone');
      return true;
    };
    const check = CheckAndMutate.ifNotExists('f', Buffer.from('q'), new Put('r').addColumn('f', 'q', 'v'));
    expect(await table.checkAndMutate(check)).toEqual({ success: true, result: undefined });
    const condition = readMutate(peer.of('Mutate')[1]!).condition!;
    expect(Buffer.from(condition.qualifier!).toString()).toBe('q');
    expect(condition.compareType).toBe(2);
  });

  it('look the region up again when the server does not have it', async () => {
    await table.get(new Get('r'));
    let refused = 0;
    peer.handler = ({ method, connection, id, param }) => {
      if (method !== 'Get' || !Buffer.from(param).includes('1700000000000')) return false;
      refused++;
      peer.renewRegions();
      connection.fail(id, NSRE, 'gone');
      return true;
    };
    const lookups = (): number =>
      peer.of('Scan').filter((scan) => readScanRequest(scan).scan?.reversed).length;
    const before = lookups();
    expect((await table.get(new Get('r'))).isEmpty).toBe(true);
    expect(refused).toBe(1);
    expect(lookups()).toBe(before + 1);
  });

  it('follow a region to where the server says it went', async () => {
    const other = await FakePeer.start();
    peer.handler = ({ method, connection, id }) => {
      if (method !== 'Get') return false;
      const text = `Region moved to: hostname=127.0.0.1 port=${other.port} startCode=5. As of locationSeqNum=9.`;
      connection.fail(id, 'org.apache.hadoop.hbase.exceptions.RegionMovedException', text);
      return true;
    };
    await table.get(new Get('r'));
    await table.get(new Get('r'));
    expect(peer.of('Get')).toHaveLength(1);
    expect(other.of('Get')).toHaveLength(2);
    await engine.close();
    await other.stop();
  });

  it('read meta when two servers name each other for a region that neither has any more', async () => {
    const other = await FakePeer.start();
    const moved = 'org.apache.hadoop.hbase.exceptions.RegionMovedException';
    const textOf = (port: number, seqNum: number): string =>
      `Region moved to: hostname=127.0.0.1 port=${port} startCode=5. As of locationSeqNum=${seqNum}.`;
    peer.handler = ({ method, connection, id }) => {
      if (method !== 'Get') return false;
      connection.fail(id, moved, textOf(other.port, 9));
      return true;
    };
    other.handler = ({ method, connection, id }) => {
      if (method !== 'Get') return false;
      peer.disabled.add('t');
      connection.fail(id, moved, textOf(peer.port, 8));
      return true;
    };
    await expect(table.get(new Get('r'))).rejects.toMatchObject({ code: 'ERR_TABLE_DISABLED' });
    expect(peer.of('Get')).toHaveLength(1);
    expect(other.of('Get')).toHaveLength(1);
    await engine.close();
    await other.stop();
  });

  it('fail at once on a table that does not exist', async () => {
    await expect(engine.table('absent').get(new Get('r'))).rejects.toMatchObject({
      code: 'ERR_TABLE_NOT_FOUND',
      retryable: false,
    });
  });

  it('give up after the retries they are allowed', async () => {
    await engine.close();
    await open({ retries: 3 });
    peer.handler = ({ method, connection, id }) => {
      if (method !== 'Get') return false;
      connection.fail(id, 'org.apache.hadoop.hbase.CallQueueTooBigException', 'full');
      return true;
    };
    await expect(table.get(new Get('r'))).rejects.toMatchObject({
      code: 'ERR_BUSY',
      retryable: true,
      details: { attempts: 4 },
    });
    expect(peer.of('Get')).toHaveLength(4);
  });

  it('listen once to a signal that many of them are given, and not at all when they have ended', async () => {
    peer.handler = ({ method }) => method === 'Get' || method === 'Multi';
    const controller = new AbortController();
    const { signal } = controller;
    const gets = Array.from({ length: 20 }, (_, i) => table.get(new Get(`r${i}`), { signal }));
    const all = table.getAll([new Get('a'), new Get('b')], { signal });
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    controller.abort();
    for (const one of [...gets, all]) await expect(one).rejects.toMatchObject({ code: 'ERR_ABORTED' });
    peer.handler = (request) => answerMulti(request);
    const later = new AbortController().signal;
    await table.getAll([new Get('a'), new Get('b')], { signal: later });
    expect(getEventListeners(later, 'abort')).toHaveLength(0);
  });

  it('end when their signal aborts, and at once when it had', async () => {
    peer.handler = ({ method }) => method === 'Get' || method === 'Multi';
    const controller = new AbortController();
    const one = table.get(new Get('r'), { signal: controller.signal });
    const all = table.getAll([new Get('a'), new Get('b')], { signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(one).rejects.toMatchObject({ code: 'ERR_ABORTED' });
    await expect(all).rejects.toMatchObject({ code: 'ERR_ABORTED' });
    await expect(table.get(new Get('r'), { signal: controller.signal })).rejects.toMatchObject({
      code: 'ERR_ABORTED',
    });
  });

  it('fail with ERR_CLOSED when the engine is closed under them, and after', async () => {
    peer.handler = ({ method }) => method === 'Get';
    const under = table.get(new Get('r'));
    const failed = expect(under).rejects.toMatchObject({ code: 'ERR_CLOSED' });
    await engine.close();
    await failed;
    await expect(table.get(new Get('r'))).rejects.toMatchObject({ code: 'ERR_CLOSED' });
  });

  it('have no more requests under way than is allowed, and group what waits', async () => {
    await engine.close();
    await open({ maxInFlight: 2, maxMultiActions: 10 });
    await table.get(new Get('warm'));
    let open_ = 0;
    let most = 0;
    peer.handler = (request) => {
      if (request.method !== 'Multi') return false;
      most = Math.max(most, ++open_);
      setImmediate(() => {
        open_--;
        answerMulti(request);
      });
      return true;
    };
    const gets = Array.from({ length: 100 }, (_, i) => new Get(`r${i}`));
    const results = await table.getAll(gets);
    expect(results.every((result) => result.cells.length === 1)).toBe(true);
    expect(most).toBe(2);
    expect(peer.of('Multi')).toHaveLength(10);
  });

  it('divide many gets over requests when the server has nothing else to do, and nothing else', async () => {
    await table.get(new Get('warm'));
    let held: (() => void)[] | undefined;
    peer.handler = (request) => {
      if (request.method !== 'Multi') return false;
      if (held === undefined) return answerMulti(request);
      held.push(() => answerMulti(request));
      return true;
    };
    const sizes = (): number[] => {
      const requests = peer.of('Multi').map((request) => readMulti(request).regionAction![0]!.action!.length);
      peer.requests.length = 0;
      return requests;
    };
    const gets = (count: number): Get[] => Array.from({ length: count }, (_, i) => new Get(`r${i}`));
    const read = async (count: number): Promise<void> => {
      const results = await table.getAll(gets(count));
      expect(results.map(({ row }) => Buffer.from(row).toString())).toEqual(
        gets(count).map((_, i) => `r${i}`),
      );
    };
    await read(100);
    expect(sizes()).toEqual([25, 25, 25, 25]);
    await read(31);
    expect(sizes()).toEqual([31]);
    await read(33);
    expect(sizes()).toEqual([17, 16]);
    await table.putAll(gets(100).map(({ row }) => new Put(row).addColumn('f', 'q', '1')));
    expect(sizes()).toEqual([100]);
    // While it is at work they go together.
    held = [];
    const both = [read(2), new Promise((resolve) => setImmediate(resolve)).then(() => read(100))];
    await vi.waitFor(() => expect(held).toHaveLength(2));
    for (const answer of held) answer();
    await Promise.all(both);
    expect(sizes()).toEqual([2, 100]);
  });

  it('send conditional changes of a turn in few requests, each with its own condition and outcome', async () => {
    await table.get(new Get('warm'));
    peer.handler = (request) => {
      if (request.method !== 'Multi') return false;
      const regions = (readMulti(request).regionAction ?? []).map(({ action, condition }) => {
        const row = Buffer.from(condition!.row!).toString();
        expect(action!.map(({ mutation }) => Buffer.from(mutation!.row!).toString())).toEqual([row]);
        return { processed: Number(row.slice(1)) % 3 === 0, results: [{ index: 0, result: {} }] };
      });
      request.connection.reply(request.id, MultiResponse, { regions }, cellBlock([]));
      return true;
    };
    const changes = Array.from({ length: 100 }, (_, i) =>
      CheckAndMutate.ifNotExists('f', Buffer.from('q'), new Put(`r${i}`).addColumn('f', 'q', '1')),
    );
    const outcomes = await table.batch(changes);
    expect(outcomes.map((outcome) => outcome.ok && outcome.success)).toEqual(
      changes.map((_, i) => i % 3 === 0),
    );
    expect(peer.of('Multi')).toHaveLength(8);
    expect(peer.of('Mutate')).toHaveLength(0);
  });

  it('keep the order of a row within a batch', async () => {
    peer.handler = (request) => answerMulti(request);
    await table.batch([
      new Put('r').addColumn('f', 'q', '1'),
      new Put('r').addColumn('f', 'q', '2'),
      new Delete('r').addColumns('f', 'q'),
      new Get('r'),
      new Put('other').addColumn('f', 'q', '3'),
    ]);
    const order = peer.requests
      .filter(({ method }) => method === 'Multi' || method === 'Mutate' || method === 'Get')
      .map((request) => request.method);
    // Both puts travel with the other row's; the delete and the get wait for what comes before them.
    expect(order).toEqual(['Multi', 'Mutate', 'Get']);
    expect(readMulti(peer.of('Multi')[0]!).regionAction![0]!.action).toHaveLength(3);
  });

  it('keep the order of a row whose changes take several requests, one of which is repeated', async () => {
    await engine.close();
    await open({ maxMultiActions: 3 });
    const valuesOf = ({ cells }: Request): string[] =>
      Buffer.from(cells).toString('latin1').match(/v\d/g) ?? [];
    const applied: string[] = [];
    let open_ = 0;
    let most = 0;
    let failures = 1;
    peer.handler = (request) => {
      if (request.method !== 'Multi' && request.method !== 'Mutate') return false;
      const values = valuesOf(request);
      if (values.length === 0) return answerMulti(request);
      most = Math.max(most, ++open_);
      // The answer leaves when a request that did not wait has come.
      setImmediate(() => {
        open_--;
        if (failures-- > 0) {
          answerMulti(request, new Map([['r', 'org.apache.hadoop.hbase.RegionTooBusyException']]));
          return;
        }
        applied.push(...values);
        if (!answerMulti(request)) peer.answer(request);
      });
      return true;
    };
    const puts = Array.from({ length: 8 }, (_, i) => [
      new Put('r').addColumn('f', 'q', `v${i}`),
      new Put(`other${i}`).addColumn('f', 'q', '-'),
    ]).flat();
    await table.putAll(puts);
    expect(applied).toEqual(['v0', 'v1', 'v2', 'v3', 'v4', 'v5', 'v6', 'v7']);
    applied.length = 0;
    const outcomes = await table.batch([new Get('other0'), ...puts]);
    expect(outcomes.every(({ ok }) => ok)).toBe(true);
    expect(most).toBe(1);
    expect(applied).toEqual(['v0', 'v1', 'v2', 'v3', 'v4', 'v5', 'v6', 'v7']);
  });

  it('send row mutations as one atomic action with one nonce', async () => {
    peer.handler = (request) => answerMulti(request);
    const changes = new RowMutations('r').add(
      new Put('r').addColumn('f', 'a', '1'),
      new Increment('r').addColumn('f', 'b', 1),
      new Increment('r').addColumn('f', 'c', 1),
      new Delete('r').addColumns('f', 'd'),
    );
    await table.mutateRow(changes);
    const { regionAction, nonceGroup } = readMulti(peer.of('Multi')[0]!);
    expect(regionAction).toHaveLength(1);
    expect(regionAction![0]!.atomic).toBe(true);
    const nonces = regionAction![0]!.action!.map((action) => action.mutation!.nonce);
    expect(nonces[0]).toBeUndefined();
    expect(nonces[1]).toBe(nonces[2]);
    expect(nonceGroup).toBeTypeOf('bigint');
  });

  it('answer existence from the flag alone', async () => {
    peer.handler = ({ method, connection, id }) => {
      if (method !== 'Get') return false;
      connection.reply(id, GetResponse, { result: { exists: true } });
      return true;
    };
    expect(await table.exists(new Get('r'))).toBe(true);
  });

  it('write the latest timestamp as HBase writes it, and a delete of a row without cells', async () => {
    await table.delete(new Delete('r'));
    await table.delete(new Delete('r', 5));
    const [latest, dated] = peer.of('Mutate').map((request) => readMutate(request).mutation);
    expect(latest!.timestamp).toBe(2n ** 63n - 1n);
    expect(dated!.timestamp).toBe(5n);
    expect(latest!.cellCount).toBeUndefined();
    expect(new Delete('r').timestamp).toBe(LATEST_TIMESTAMP);
  });
});

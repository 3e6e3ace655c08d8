/** What a change that failed says about itself, and what failing costs those beside it. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RowanError } from '../../src/errors.js';
import { connectHBase, type HBaseEngine } from '../../src/hbase/engine.js';
import type { HBaseOptions } from '../../src/hbase/options.js';
import { CoprocessorServiceResponse } from '../../src/hbase/wire/messages-security.js';
import {
  CheckAndMutate,
  Delete,
  Get,
  Increment,
  PackedPuts,
  type PackedPutsTable,
  Put,
  RowMutations,
  type Table,
} from '../../src/table/index.js';
import { cellBlock } from './fake-cells.js';
import { GetResponse, MultiResponse, MutateResponse } from './fake-messages.js';
import { FakePeer, type Request, readMulti, readMutate } from './fake-peer.js';

describe('a change', () => {
  let peer: FakePeer;
  let engine: HBaseEngine;
  let table: Table;

  const open = async (options: HBaseOptions = {}): Promise<void> => {
    engine = await connectHBase({ masters: [peer.address], pause: 1, quarantine: 0, ...options });
    table = engine.table('t');
  };
  beforeEach(async () => {
    peer = await FakePeer.start();
  });
  afterEach(async () => {
    await engine.close();
    await peer.stop();
  });

  const check = CheckAndMutate.ifNotExists('f', Buffer.from('q'), new Put('r').addColumn('f', 'q', 'v'));

  it('that waited for a connection which never came says so, and not that its outcome is unknown', async () => {
    let isWarm = false;
    await open({
      // A name that is never resolved stands for a server whose queue of connections is full.
      resolveAddress: (host: string, port: number) =>
        isWarm ? new Promise<never>(() => undefined) : { host, port },
    });
    await table.get(new Get('warm'));
    isWarm = true;
    for (const socket of peer.sockets) socket.destroy();
    await expect.poll(() => peer.sockets.size).toBe(0);
    for (const change of [
      table.increment(new Increment('r').addColumn('f', 'q', 1n), { timeout: 150 }),
      table.checkAndMutate(check, { timeout: 150 }),
    ]) {
      const error: unknown = await change.catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: 'ERR_TIMEOUT' });
      expect(error).not.toHaveProperty('details.outcome');
    }
  });

  it('that deletes whatever is newest is not repeated after a lost answer, for it would take two versions', async () => {
    await open();
    await table.get(new Get('warm'));
    peer.handler = ({ method, connection }) => {
      if (method !== 'Mutate' && method !== 'Multi') return false;
      connection.socket.destroy();
      return true;
    };
    const newest = new Delete('r').addColumn('f', 'q');
    const changes = [table.delete(newest), table.mutateRow(new RowMutations('r').add(newest))];
    for (const change of changes) {
      await expect(change).rejects.toMatchObject({ retryable: false, details: { outcome: 'unknown' } });
    }
    expect(peer.of('Mutate').length + peer.of('Multi').length).toBeLessThanOrEqual(2);
    // Nor is a put that may be sent once only.
    const put = new Put('r').addColumn('f', 'q', 'v');
    peer.requests.length = 0;
    expect(await table.batch([put], { once: true })).toMatchObject([
      { ok: false, error: { retryable: false, details: { outcome: 'unknown' } } },
    ]);
    expect(peer.of('Mutate')).toHaveLength(1);
    // One that names the version, or takes all, is repeated.
    let lost = 1;
    peer.handler = ({ method, connection }) => {
      if (method !== 'Mutate' || lost-- <= 0) return false;
      connection.socket.destroy();
      return true;
    };
    await table.delete(new Delete('r').addColumn('f', 'q', 5));
    lost = 1;
    await table.delete(new Delete('r').addColumns('f', 'q'));
  });

  it('whose outcome is unknown tells to read the row, and nothing else, whatever its last error advises', async () => {
    await open({ retries: 2 });
    await table.get(new Get('warm'));
    const refusals = [
      'org.apache.hadoop.hbase.CallQueueTooBigException',
      'org.apache.hadoop.hbase.RegionTooBusyException',
      'org.apache.hadoop.hbase.NotServingRegionException',
    ];
    for (const refusal of refusals) {
      let isLost = false;
      peer.handler = ({ method, connection, id }) => {
        if (method !== 'Mutate') return false;
        // The answer of the first attempt is lost; the nonce lets the client repeat the increment, and those are refused.
        if (isLost) connection.fail(id, refusal, 'not now');
        else connection.socket.destroy();
        isLost = true;
        return true;
      };
      const increment = table.increment(new Increment('r').addColumn('f', 'q', 1n));
      const error = (await increment.catch((reason: unknown) => reason)) as RowanError;
      expect(error).toMatchObject({ retryable: false, details: { outcome: 'unknown' } });
      expect(error.message).toContain('not now');
      expect(error.message).toMatch(/Read the row to find out\.$/);
      expect(error.message).not.toMatch(/again/);
    }
  });

  it.each([
    ['java.io.IOException', 'All datanodes are bad. Aborting...'],
    ['org.apache.hadoop.hbase.regionserver.wal.DamagedWALException', 'Append sequenceId=3'],
    ['org.apache.hadoop.hbase.exceptions.TimeoutIOException', 'Failed to get sync result after 300000 ms'],
  ])('whose log was not synced may be in it: it is not repeated (%s: %s)', async (name, message) => {
    await open();
    await table.get(new Get('warm'));
    let failures = 0;
    peer.handler = (request) => {
      const { method, connection, id } = request;
      if (method === 'Mutate') connection.fail(id, name, message);
      else if (method === 'Multi') connection.reply(id, MultiResponse, failedMulti(request, name, message));
      else return false;
      failures++;
      return true;
    };
    const isUnknown = { retryable: false, details: { outcome: 'unknown' } };
    // The server has forgotten the nonce of an increment.
    const changes = [
      () => table.increment(new Increment('r').addColumn('f', 'q', 1n)),
      () => table.checkAndMutate(check),
      () => table.mutateRow(new RowMutations('r').add(new Delete('r').addColumn('f', 'q'))),
    ];
    for (const change of changes) await expect(change()).rejects.toMatchObject(isUnknown);
    expect(failures).toBe(changes.length);
  });

  it('that is refused when it is repeated may be there from before: its outcome is unknown', async () => {
    await open();
    await table.get(new Get('warm'));
    let isLost = false;
    peer.handler = ({ method, connection, id }) => {
      if (method !== 'Mutate') return false;
      if (isLost) connection.fail(id, 'org.apache.hadoop.hbase.DoNotRetryIOException', 'region is read only');
      else connection.socket.destroy();
      isLost = true;
      return true;
    };
    const put = new Put('r').addColumn('f', 'q', 'v');
    const isUnknown = { code: 'ERR_READONLY', retryable: false, details: { outcome: 'unknown' } };
    await expect(table.put(put)).rejects.toMatchObject(isUnknown);
    // Refused at once, it was not made.
    const refused: unknown = await table.put(put).catch((reason: unknown) => reason);
    expect(refused).toMatchObject({ code: 'ERR_READONLY' });
    expect(refused).not.toHaveProperty('details.outcome');
  });

  it('that was not begun is repeated', async () => {
    await open();
    await table.get(new Get('warm'));
    for (const message of ['Timed out waiting for lock for row: r', 'Cannot append; log is closed']) {
      let failures = 2;
      peer.handler = ({ method, connection, id }) => {
        if (method !== 'Mutate' || failures-- <= 0) return false;
        connection.fail(id, 'java.io.IOException', message);
        return true;
      };
      await table.increment(new Increment('r').addColumn('f', 'q', 1n));
      expect(failures).toBeLessThan(0);
    }
  });

  it('that cannot be written fails alone, and for good', async () => {
    await open();
    await table.get(new Get('warm'));
    peer.handler = (request) => answerAll(request);
    const broken = new Get('broken');
    Object.defineProperty(broken, 'filter', {
      get: () => {
        throw new TypeError('no such filter');
      },
    });
    const answers = await Promise.allSettled([
      table.get(new Get('a')),
      table.get(broken),
      table.put(new Put('b').addColumn('f', 'q', 'v')),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(answers[1]).toMatchObject({
      reason: {
        code: 'ERR_INVALID_ARGUMENT',
        retryable: false,
        message: expect.stringContaining('no such filter'),
      },
    });
    await expect(table.get(broken)).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
  });

  it.each([
    [
      'DoNotRetryIOException',
      'Cell[bad/f:q/LATEST_TIMESTAMP/Put/vlen=9/seqid=0] with size 9 exceeds limit of 8 bytes',
    ],
    ['security.AccessDeniedException', 'Insufficient permissions'],
    ['quotas.SpaceLimitingException', 'NO_INSERTS'],
  ])('that a server refuses together with those beside it fails alone (%s)', async (name, message) => {
    await open();
    await table.get(new Get('warm'));
    const className = `org.apache.hadoop.hbase.${name}`;
    const exception = { name: className, value: Buffer.from(`${className}: ${message}`) };
    peer.handler = (request) => {
      const { method, connection, id } = request;
      if (method === 'Multi') {
        // Gets are answered.
        const regions = (readMulti(request).regionAction ?? []).map(({ action = [] }) => ({
          results: action.map(({ index, get }) => (get ? { index, result: {} } : { index, exception })),
        }));
        connection.reply(id, MultiResponse, { regions });
      } else if (method === 'Mutate' && `${Buffer.from(readMutate(request).mutation.row!)}` === 'bad') {
        connection.fail(id, className, message, true);
      } else return false;
      return true;
    };
    const outcomes = await table.batch([
      new Put('a').addColumn('f', 'q', 'v'),
      new Put('bad').addColumn('f', 'q', 'v'),
      new Delete('b'),
      new Get('c'),
    ]);
    expect(outcomes.map(({ ok }) => ok)).toEqual([true, false, true, true]);
    expect(outcomes[1]).toMatchObject({ error: { retryable: false } });
    expect(outcomes[1]).not.toHaveProperty('error.details.outcome');
    expect(peer.of('Mutate')).toHaveLength(3);
    expect(peer.of('Multi')).toHaveLength(1);
  });

  it('for a right that it lacks is not sent again, nor are gets beside it', async () => {
    await open();
    await table.get(new Get('warm'));
    const className = 'org.apache.hadoop.hbase.security.AccessDeniedException';
    const said =
      'Insufficient permissions (user=carl, scope=default:t, family=f:q, params=[table=default:t,family=f:q],action=WRITE)';
    const exception = { name: className, value: Buffer.from(`${className}: ${said}`) };
    peer.handler = (request) => {
      const { method, connection, id } = request;
      if (method !== 'Multi') return false;
      const regions = (readMulti(request).regionAction ?? []).map(({ action = [] }) => ({
        results: action.map(({ index }) => ({ index, exception })),
      }));
      connection.reply(id, MultiResponse, { regions });
      return true;
    };
    const outcomes = await table.batch([
      new Put('a').addColumn('f', 'q', 'v'),
      new Put('b').addColumn('f', 'p', 'v').addColumn('f', 'q', 'v'),
      new Get('c'),
      new Put('d').addColumn('f', 'other', 'v'),
      new Delete('e'),
    ]);
    // What touches other columns may have been refused for them.
    expect(outcomes.map(({ ok }) => ok)).toEqual([false, false, false, true, true]);
    expect(peer.of('Mutate')).toHaveLength(2);
    expect(peer.of('Get')).toHaveLength(1);
    const packed = new PackedPuts(
      ['q', 'other'].map((name) => ({ family: 'f', qualifier: Buffer.from(name) })),
      'USE_DEFAULT',
    );
    for (const [row, cells] of [
      ['a', [0]],
      ['b', [1, 0]],
      ['c', [1]],
    ] as const) {
      packed.reserve(cells.length);
      for (const cell of cells) {
        packed.cells[packed.cellCount] = cell;
        packed.valueEnds[packed.cellCount++] = 0;
      }
      packed.endRow(Buffer.from(row));
    }
    const errors = await (table as Table & PackedPutsTable).putPacked(packed);
    expect([0, 1, 2].map((at) => errors[at]?.code)).toEqual(['ERR_SECURITY', 'ERR_SECURITY', undefined]);
    expect(peer.of('Mutate')).toHaveLength(3);
  });

  it('and reads beside it go on for as many rounds as full answers take', async () => {
    await open({ retries: 3 });
    await table.get(new Get('warm'));
    let rounds = 0;
    peer.handler = (request) => {
      if (request.method !== 'Multi') return false;
      rounds++;
      const actions = readMulti(request).regionAction?.[0]?.action ?? [];
      const results = actions.map(({ index }, i) =>
        i === 0
          ? { index, result: {} }
          : { index, exception: { name: FULL, value: Buffer.from(`${FULL}: full`) } },
      );
      request.connection.reply(request.id, MultiResponse, { regions: [{ results }] });
      return true;
    };
    const gets = Array.from({ length: 30 }, (_, i) => new Get(`r${i}`));
    expect(await table.getAll(gets)).toHaveLength(30);
    expect(rounds).toBeGreaterThan(20);
    // Without any progress they are given up.
    peer.handler = (request) => {
      if (request.method !== 'Multi') return false;
      const exception = { name: FULL, value: Buffer.from(`${FULL}: full`) };
      request.connection.reply(request.id, MultiResponse, { regions: [{ exception }] });
      return true;
    };
    await expect(table.getAll(gets)).rejects.toMatchObject({ details: { attempts: 4 } });
  });

  it('waits for no longer than it has, whatever wait a server asks for', async () => {
    await open();
    await table.get(new Get('warm'));
    let asked = 0;
    peer.handler = ({ method, connection, id }) => {
      if (method !== 'Get') return false;
      asked++;
      connection.fail(
        id,
        'org.apache.hadoop.hbase.quotas.RpcThrottlingException',
        'number of requests exceeded - wait 900000hrs, 0sec, 0ms',
      );
      return true;
    };
    await expect(table.get(new Get('r'), { timeout: 200 })).rejects.toMatchObject({ code: 'ERR_TIMEOUT' });
    expect(asked).toBe(1);
  });

  it('names no exception in more words than a class has', async () => {
    await open({ retries: 0 });
    peer.handler = ({ method, connection, id }) => {
      if (method !== 'Get') return false;
      connection.fail(id, `${'x'.repeat(100_000)}\u0007`, 'because', true);
      return true;
    };
    const error = (await table.get(new Get('r')).catch((reason: unknown) => reason)) as Error;
    expect(error.message.length).toBeLessThan(1000);
    expect(JSON.stringify((error as { details?: unknown }).details).length).toBeLessThan(1000);
  });
});

describe('an answer whose cell block has more cells than it announces', () => {
  let peer: FakePeer;
  let engine: HBaseEngine;
  let table: Table;
  let wrong = 0;

  /** One cell that is announced, and one that is not. */
  const cells = cellBlock([
    ['r', 'f', 'q', 1, 4, 'v'],
    ['s', 'f', 'q', 1, 4, 'v'],
  ]);
  const announced = cellBlock([['r', 'f', 'q', 1, 4, 'v']]);

  beforeEach(async () => {
    peer = await FakePeer.start();
    engine = await connectHBase({ masters: [peer.address], pause: 1, quarantine: 0 });
    table = engine.table('t');
    await table.get(new Get('warm'));
    wrong = 1;
    peer.handler = (request) => {
      const { method, connection, id } = request;
      const block = wrong > 0 ? cells : announced;
      if (method === 'Get') connection.reply(id, GetResponse, { result: { cellCount: 1 } }, block);
      else if (method === 'Mutate')
        connection.reply(id, MutateResponse, { result: { cellCount: 1 }, processed: true }, block);
      else if (method === 'Multi') connection.reply(id, MultiResponse, multiOf(request), block);
      else if (method === 'ExecService')
        connection.reply(id, CoprocessorServiceResponse, COPROCESSOR, wrong > 0 ? cells : undefined);
      else return false;
      wrong--;
      return true;
    };
  });
  afterEach(async () => {
    await engine.close();
    await peer.stop();
  });

  /** The first action of all has a cell. */
  const multiOf = (request: Request) => {
    let cellCount = 1;
    const regions = (readMulti(request).regionAction ?? []).map(({ action = [] }) => ({
      processed: true,
      results: action.map(({ index }) => ({ index, result: { cellCount: cellCount-- > 0 ? 1 : 0 } })),
    }));
    return { regions };
  };
  const COPROCESSOR = {
    region: { type: 1, value: Buffer.from('t,,1') },
    value: { name: 'x', value: Buffer.from('v') },
  };
  const check = CheckAndMutate.ifNotExists('f', Buffer.from('q'), new Put('r').addColumn('f', 'q', 'v'));
  const call = {
    table: 't',
    service: 'x.Service',
    method: 'do',
    request: new Uint8Array(0),
    repeatable: true,
  };

  it.each<[string, () => Promise<unknown>]>([
    ['Get', () => table.get(new Get('r'))],
    ['Multi', () => table.getAll([new Get('r'), new Get('s')])],
    ['ExecService', () => engine.callCoprocessor(call, Buffer.from('r'))],
  ])('is refused, and asked for anew: %s', async (method, read) => {
    const before = peer.of(method).length;
    await read();
    expect(peer.of(method).length - before).toBe(2);
  });

  it('leaves the outcome of a change unknown that cannot be repeated', async () => {
    const unknown = { retryable: false, details: { outcome: 'unknown' } };
    await expect(table.checkAndMutate(check)).rejects.toMatchObject(unknown);
    wrong = 1;
    const outcomes = await table.batch([new Get('a'), check]);
    expect(outcomes).toMatchObject([{ ok: true }, { ok: false, error: unknown }]);
  });
});

const FULL = 'org.apache.hadoop.hbase.MultiActionResultTooLarge';

function failedMulti(request: Request, name: string, message: string) {
  const exception = { name, value: Buffer.from(`${name}: ${message}`) };
  return { regions: (readMulti(request).regionAction ?? []).map(() => ({ exception })) };
}

function answerAll(request: Request): boolean {
  if (request.method !== 'Multi') return false;
  const regions = (readMulti(request).regionAction ?? []).map(({ action = [] }) => ({
    results: action.map(({ index }) => ({ index, result: {} })),
  }));
  request.connection.reply(request.id, MultiResponse, { regions });
  return true;
}

/** Answers that are larger than what is believed, or than what can be held: they fail what asked for them, and no more. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connectHBase, type HBaseEngine } from '../../src/hbase/engine.js';
import {
  CheckAndMutate,
  Get,
  Increment,
  Put,
  RowMutations,
  Scan,
  type Table,
} from '../../src/table/index.js';
import { cellBlock } from './fake-cells.js';
import { MultiResponse } from './fake-messages.js';
import { answerFrame, FakePeer, type Request, readGet, readMulti } from './fake-peer.js';

const LIMIT = 1 << 16;

describe('an answer that is too large', () => {
  let peer: FakePeer;
  let engine: HBaseEngine;
  let table: Table;

  beforeEach(async () => {
    peer = await FakePeer.start();
    engine = await connectHBase({
      masters: [peer.address],
      pause: 1,
      quarantine: 0,
      retries: 1,
      maxFrameSize: LIMIT,
      maxAnswerCells: 1000,
    });
    table = engine.table('t');
    await table.get(new Get('warm'));
  });
  afterEach(async () => {
    await engine.close();
    await peer.stop();
  });

  const rowOf = (request: Request): string =>
    request.method === 'Get' ? Buffer.from(readGet(request).get.row).toString() : '';

  it('to increments leaves their outcome unknown once another server has the region', async () => {
    const other = await FakePeer.start();
    peer.handler = (request) => {
      const { method, id, connection } = request;
      if (method !== 'Multi') return false;
      peer.places.set('t', other.address);
      // Each is sent again by itself.
      const isCommon = readMulti(request).regionAction!.length > 1;
      if (isCommon) connection.raw(answerFrame(id, new Uint8Array(LIMIT * 3)));
      else connection.fail(id, 'org.apache.hadoop.hbase.NotServingRegionException');
      return true;
    };
    const changes = [...'abcdefghijklmnop'].map((row) =>
      new RowMutations(row).add(new Increment(row).addColumn('f', 'q', 1)),
    );
    const outcomes = await table.batch(changes);
    const error = { retryable: false, details: { outcome: 'unknown' } };
    expect(outcomes).toMatchObject(changes.map(() => ({ ok: false, error })));
    expect(other.of('Multi')).toHaveLength(0);
    await other.stop();
  });

  it('fails its own call at once, and neither the connection nor the calls on it', async () => {
    const sockets = new Set<unknown>();
    let held: Request[] = [];
    peer.handler = (request) => {
      sockets.add(request.connection);
      if (rowOf(request) === 'large') {
        // In two parts, so that what is passed over goes on in another chunk; then the neighbours' answers.
        const answer = answerFrame(request.id, new Uint8Array(LIMIT * 3));
        request.connection.raw(answer.subarray(0, 5000));
        setTimeout(() => {
          request.connection.raw(answer.subarray(5000));
          for (const { id, connection } of held) connection.raw(answerFrame(id, Uint8Array.of(0x10, 1)));
        }, 5);
        return true;
      }
      if (request.method !== 'Mutate') return false;
      held = [...held, request];
      return true;
    };
    const check = CheckAndMutate.ifNotExists('f', Buffer.from('q'), new Put('r').addColumn('f', 'q', 'v'));
    const neighbours = [1, 2, 3].map(() => table.checkAndMutate(check));
    await expect.poll(() => held.length).toBe(3);
    await expect(table.get(new Get('large'))).rejects.toMatchObject({
      code: 'ERR_TOO_LARGE',
      retryable: false,
      details: { bytes: expect.any(Number), limit: LIMIT },
    });
    expect((await Promise.all(neighbours)).map(({ success }) => success)).toEqual([true, true, true]);
    expect(sockets.size).toBe(1);
    expect(peer.of('Get').filter((request) => rowOf(request) === 'large')).toHaveLength(1);
  });

  it('in a Multi fails the action that it is for, and the others have theirs', async () => {
    peer.handler = (request) => {
      const { id, method, connection } = request;
      if (method === 'Get' && rowOf(request) !== 'large') return false;
      const rows = method === 'Multi' ? (readMulti(request).regionAction?.[0]?.action ?? []) : [];
      const isLarge =
        method === 'Get' || rows.some(({ get }) => Buffer.from(get!.row).toString() === 'large');
      if (isLarge) connection.raw(answerFrame(id, new Uint8Array(LIMIT + 1)));
      else {
        const results = rows.map(({ index }) => ({ index, result: {} }));
        connection.reply(id, MultiResponse, { regions: [{ results }] });
      }
      return true;
    };
    const answers = await Promise.allSettled(['a', 'large', 'b', 'c'].map((row) => table.get(new Get(row))));
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
    expect(answers[1]).toMatchObject({ reason: { code: 'ERR_TOO_LARGE' } });
  });

  it('is not made into more objects than is allowed', async () => {
    const inline = Buffer.alloc(5 * 4000);
    for (let at = 0; at < inline.length; at += 5) inline.set([0x0a, 3, 0x0a, 1, 0x72], at);
    const result = Buffer.concat([Buffer.of(0x0a, 0xa0, 0x9c, 0x01), inline]);
    peer.handler = ({ id, method, connection }) => {
      if (method !== 'Get') return false;
      connection.raw(answerFrame(id, result));
      return true;
    };
    await expect(table.get(new Get('r'))).rejects.toMatchObject({ code: 'ERR_TOO_LARGE' });
    const many = cellBlock(Array.from({ length: 1001 }, () => ['r', 'f', 'q', 1, 4, '']));
    peer.handler = ({ id, method, connection }) => {
      if (method !== 'Get') return false;
      connection.raw(answerFrame(id, Uint8Array.of(0x0a, 3, 0x10, 0xe9, 0x07), many));
      return true;
    };
    await expect(table.get(new Get('r'))).rejects.toMatchObject({ code: 'ERR_TOO_LARGE' });
    // The rows of a scan are made as they are read.
    peer.handler = (request) => {
      if (request.method !== 'Scan' || Buffer.from(request.param).includes('hbase:meta')) return false;
      const count = Uint8Array.of(0x08, 0xe9, 0x07, 0x18, 0, 0x40, 0);
      request.connection.raw(answerFrame(request.id, count, many));
      return true;
    };
    const rows = await table.scan(new Scan()).nextBatch(10);
    expect(rows.map(({ cells }) => cells.length)).toEqual([1001]);
  });

  it('announces no more results than there are bytes for', async () => {
    const numbers = (field: number, byte: number, count: number): Buffer =>
      Buffer.concat([
        Buffer.of(field * 8 + 2, (count & 127) | 128, ((count >> 7) & 127) | 128, count >> 14),
        Buffer.alloc(count, byte),
      ]);
    for (const answer of [numbers(1, 0, 60_000), numbers(1, 1, 60_000), numbers(7, 1, 60_000)]) {
      peer.handler = (request) => {
        if (request.method !== 'Scan' || Buffer.from(request.param).includes('hbase:meta')) return false;
        request.connection.raw(answerFrame(request.id, answer));
        return true;
      };
      await expect(table.scan(new Scan()).next()).rejects.toMatchObject({
        code: 'ERR_CORRUPTION',
        message: expect.stringContaining('more'),
      });
    }
  });
});

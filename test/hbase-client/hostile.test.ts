import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connectHBase, type HBaseEngine } from '../../src/hbase/engine.js';
import { GetClusterStatusResponse } from '../../src/hbase/wire/messages-admin.js';
import { LogEntry } from '../../src/hbase/wire/messages-operations.js';
import { GetActiveMasterResponse, ResponseHeader } from '../../src/hbase/wire/messages-rpc.js';
import { CoprocessorServiceResponse } from '../../src/hbase/wire/messages-security.js';
import { encodeMessage } from '../../src/hbase/wire/schema.js';
import { Get, Put, Scan, type Table } from '../../src/table/index.js';
import { scaled } from '../proof/scale.js';
import { cellBlock } from './fake-cells.js';
import { GetResponse, MultiResponse, ScanResponse } from './fake-messages.js';
import { answerFrame, delimited, FakePeer, frame, type PeerConnection, type Request } from './fake-peer.js';

const int32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};

/** Ways for a server to answer a call wrongly. Each must end in an error, a closed connection, and nothing else. */
const WRONGS: Record<string, (request: Request) => void> = {
  'a negative length': ({ connection }) => connection.raw(int32(-1)),
  'no length at all': ({ connection }) => connection.raw(int32(0)),
  'a huge length': ({ connection }) => connection.raw(Buffer.concat([int32(0x7fffffff), Buffer.alloc(64)])),
  'text of another protocol': ({ connection }) =>
    connection.raw(Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')),
  'a call that was never made': ({ connection }) => connection.raw(answerFrame(1_000_000, new Uint8Array(0))),
  'a header longer than its frame': ({ connection }) => connection.raw(frame(Uint8Array.of(0x7f, 8, 1))),
  'a header cut in a field': ({ connection }) => connection.raw(frame(Uint8Array.of(2, 8, 0x80))),
  'a varint without end': ({ connection }) =>
    connection.raw(frame(Uint8Array.of(12, 8, ...new Array<number>(11).fill(0xff)))),
  'a message longer than its frame': ({ connection, id }) =>
    connection.raw(frame(delimited(encodeMessage(ResponseHeader, { callId: id })), Uint8Array.of(0x50, 1))),
  'no message': ({ connection, id }) =>
    connection.raw(frame(delimited(encodeMessage(ResponseHeader, { callId: id })))),
  'a cell block longer than its frame': ({ connection, id }) => {
    const header = encodeMessage(ResponseHeader, { callId: id, cellBlockMeta: { length: 1_000_000 } });
    connection.raw(frame(delimited(header), delimited(new Uint8Array(0))));
  },
  'more cells than there are': ({ connection, id }) =>
    connection.reply(id, GetResponse, { result: { cellCount: 1_000_000_000 } }),
  'broken cells': ({ connection, id }) => {
    const cells = cellBlock([['r', 'f', 'q', 1, 4, 'v']]);
    cells[7] = 0xff;
    connection.reply(id, GetResponse, { result: { cellCount: 1 } }, cells);
  },
  'an unknown wire type': ({ connection, id }) => connection.raw(answerFrame(id, Uint8Array.of(0x0f, 1))),
  'the end in mid-frame': ({ connection, id }) => {
    connection.socket.end(answerFrame(id, new Uint8Array(100)).subarray(0, 30));
  },
  'an exception about the connection': ({ connection }) => {
    const exception = {
      exceptionClassName: 'org.apache.hadoop.hbase.ipc.WrongVersionException',
      stackTrace: 'go away',
    };
    connection.raw(frame(delimited(encodeMessage(ResponseHeader, { callId: 0xffffffff, exception }))));
  },
};

describe('a client of a server that misbehaves', () => {
  let peer: FakePeer;
  let engine: HBaseEngine;
  let table: Table;
  const unhandled: unknown[] = [];
  const onUnhandled = (reason: unknown): void => {
    unhandled.push(reason);
  };

  beforeEach(async () => {
    unhandled.length = 0;
    process.on('unhandledRejection', onUnhandled);
    peer = await FakePeer.start();
    engine = await connectHBase({
      masters: [peer.address],
      pause: 1,
      retries: 1,
      quarantine: 0,
      operationTimeout: 20_000,
      maxFrameSize: 1 << 20,
    });
    table = engine.table('t');
    await table.get(new Get('warm'));
  });
  afterEach(async () => {
    await engine.close();
    await peer.stop();
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', onUnhandled);
    expect(unhandled).toEqual([]);
  });

  const dataSockets = (): number => peer.sockets.size;

  for (const [name, misbehave] of Object.entries(WRONGS)) {
    it(`fails on ${name}, and works again with the next connection`, async () => {
      const seen = new Set<PeerConnection>();
      peer.handler = (request) => {
        if (request.method !== 'Get') return false;
        seen.add(request.connection);
        misbehave(request);
        return true;
      };
      const error = await table.get(new Get('r')).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(error).toMatchObject({ code: expect.stringMatching(/^ERR_(CORRUPTION|CONNECTION)$/) });
      expect(seen.size).toBeGreaterThan(0);
      await expect.poll(() => [...seen].every(({ socket }) => socket.destroyed)).toBe(true);
      peer.handler = () => undefined;
      expect((await table.get(new Get('r'))).isEmpty).toBe(true);
    });
  }

  it('fails on answers that fit no request of a Multi', async () => {
    const answers = [
      { regions: [{ results: [{ index: 7, result: {} }] }] },
      { regions: [{}, {}, {}] },
      { regions: [] },
    ];
    for (const value of answers) {
      peer.handler = ({ method, connection, id }) => {
        if (method !== 'Multi') return false;
        connection.reply(id, MultiResponse, value);
        return true;
      };
      await expect(table.getAll([new Get('a'), new Get('b')])).rejects.toMatchObject({
        code: 'ERR_CORRUPTION',
      });
    }
  });

  it('waits for a slow server no longer than it was told', async () => {
    peer.handler = ({ method, connection, id }) => {
      if (method !== 'Get') return false;
      // One byte now and then: never a whole answer.
      const answer = answerFrame(id, new Uint8Array(100));
      let at = 0;
      const timer = setInterval(() => {
        if (at < 50 && !connection.socket.destroyed) connection.raw(answer.subarray(at, ++at));
        else clearInterval(timer);
      }, 5);
      return true;
    };
    await expect(table.get(new Get('r'), { timeout: 150 })).rejects.toMatchObject({ code: 'ERR_TIMEOUT' });
  });

  it('leaves a connection on which not a byte has come for as long as a call may take', async () => {
    await engine.close();
    engine = await connectHBase({
      masters: [peer.address],
      pause: 1,
      retries: 1,
      quarantine: 0,
      rpcTimeout: 100,
    });
    table = engine.table('t');
    await table.get(new Get('warm'));
    let mute: PeerConnection | undefined;
    peer.handler = ({ method, connection }) => {
      if (method !== 'Get') return false;
      mute ??= connection;
      return connection === mute;
    };
    expect((await table.get(new Get('r'))).isEmpty).toBe(true);
    await expect.poll(() => mute!.socket.destroyed).toBe(true);
  });

  it('passes over the late answer to a call that was given up', async () => {
    let late: (() => void) | undefined;
    peer.handler = ({ method, connection, id }) => {
      if (method !== 'Get' || late !== undefined) return false;
      late = () => connection.raw(answerFrame(id, new Uint8Array(0)));
      return true;
    };
    const sockets = dataSockets();
    const slow = table.get(new Get('slow'), { timeout: 120 });
    const failed = expect(slow).rejects.toMatchObject({ code: 'ERR_TIMEOUT' });
    await expect.poll(() => late).toBeDefined();
    await table.get(new Get('quick')); // something is received meanwhile
    await failed;
    late!();
    expect((await table.get(new Get('r'))).isEmpty).toBe(true);
    expect(dataSockets()).toBe(sockets);
  });

  it('comes through any damage to any answer without a hang, a crash or a lost promise', async () => {
    const good = (method: string, id: number): Uint8Array => {
      const cells = cellBlock([
        ['r', 'f', 'q', 1, 4, 'value'],
        ['r', 'f', 'q2', 1, 4, 'value'],
      ]);
      if (method === 'Get')
        return concat(id, encodeMessage(GetResponse, { result: { cellCount: 2 } }), cells);
      if (method === 'Scan') {
        const value = {
          cellsPerResult: [2],
          scannerId: 9n,
          ttl: 60_000,
          moreResults: false,
          partial: [false],
        };
        return concat(id, encodeMessage(ScanResponse, value), cells);
      }
      const results = [0, 1, 2].map((index) => ({ index, result: { cellCount: index } }));
      const regions = [{ results }, { exception: { name: 'x.TooBusy', value: Buffer.from('no') } }];
      return concat(id, encodeMessage(MultiResponse, { regions }), cells);
    };
    const concat = (id: number, message: Uint8Array, cells: Uint8Array): Uint8Array =>
      answerFrame(id, message, cells);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ at: fc.nat(), byte: fc.nat(255) }), { minLength: 1, maxLength: 4 }),
        fc.option(fc.nat(120), { nil: undefined }),
        async (damage, cut) => {
          peer.handler = (request) => {
            const isData = /^(Get|Multi|Scan)$/.test(request.method);
            if (!isData || Buffer.from(request.param).includes('hbase:meta')) return false;
            let answer = Uint8Array.from(good(request.method, request.id));
            for (const { at, byte } of damage) answer[at % answer.length] = byte;
            if (cut !== undefined) answer = answer.subarray(0, cut);
            request.connection.raw(answer);
            // What is never completed must not be waited for for ever.
            setTimeout(() => request.connection.socket.destroy(), 20);
            return true;
          };
          const options = { timeout: 500 };
          const outcomes = await Promise.allSettled([
            table.get(new Get('r'), options),
            table.batch([new Get('a'), new Put('b').addColumn('f', 'q', 'v'), new Get('c')], options),
            table.scan(new Scan(), options).nextBatch(10),
          ]);
          for (const outcome of outcomes) {
            if (outcome.status === 'rejected') expect(outcome.reason).toHaveProperty('code');
          }
        },
      ),
      // A scanner without a number that had more rows was opened for ever.
      { numRuns: scaled(8, 60, 60), examples: [[[{ at: 12, byte: 185 }], 101]] },
    );
  });

  it('comes through any answer to what is asked of labels, groups and the slow log', async () => {
    const { labels, groups, slowLog } = engine.admin;
    const calls: (() => Promise<unknown>)[] = [
      () => labels.add(['secret']),
      () => labels.list(),
      () => labels.getAuths('ann'),
      () => labels.setAuths('ann', ['secret']),
      () => groups.list(),
      () => groups.get('g'),
      () => groups.ofTable('t'),
      () => groups.ofServer('localhost:1'),
      () => groups.balance('g'),
      () => slowLog.list({ limit: 10 }),
      () => slowLog.clear(),
    ];
    const ASKED = ['ClearSlowLogsResponses', 'ExecMasterService', 'ExecService', 'GetLogEntries'];
    const wrapped = (method: string, value: Uint8Array): Uint8Array => {
      if (method === 'ClearSlowLogsResponses') return value;
      if (method === 'GetLogEntries')
        return encodeMessage(LogEntry, { logClassName: 'SlowLogResponses', logMessage: value });
      const region = { type: 1, value: new Uint8Array() };
      return encodeMessage(CoprocessorServiceResponse, { region, value: { name: 'x', value } });
    };
    const damaged = new Set<string>();
    const bytes = fc.uint8Array({ maxLength: 60 });
    // Fields of every number and kind, with what is in them, over and over.
    const fields = fc
      .array(fc.tuple(fc.integer({ min: 1, max: 15 }), fc.constantFrom(0, 1, 2, 5), bytes), { maxLength: 6 })
      .map((all) =>
        Buffer.concat(
          all.map(([no, type, inner]) =>
            Buffer.from([(no << 3) | type, ...(type === 2 ? [inner.length] : []), ...inner]),
          ),
        ),
      );
    const many = fc
      .tuple(fc.constantFrom([10, 0], [10, 2, 10, 0], [18, 0], [8, 0]), fc.constantFrom(1000, 200_000))
      .map(([pattern, times]) => Buffer.concat(Array.from({ length: times }, () => Buffer.from(pattern))));
    await fc.assert(
      fc.asyncProperty(fc.oneof(bytes, fields, many), fc.boolean(), async (message, whole) => {
        peer.handler = ({ method, connection, id }) => {
          const serverName = { hostName: '127.0.0.1', port: peer.port, startCode: 1 };
          if (method === 'GetActiveMaster')
            return connection.reply(id, GetActiveMasterResponse, { serverName }) ?? true;
          const liveServers = [{ server: serverName, serverLoad: {} }];
          if (method === 'GetClusterStatus')
            return connection.reply(id, GetClusterStatusResponse, { clusterStatus: { liveServers } }) ?? true;
          if (!ASKED.includes(method)) return false;
          damaged.add(method);
          connection.raw(answerFrame(id, whole ? wrapped(method, message) : message));
          return true;
        };
        const outcomes = await Promise.allSettled(calls.map((call) => call()));
        for (const outcome of outcomes) {
          if (outcome.status === 'rejected') expect(outcome.reason).toHaveProperty('code');
        }
      }),
      // Behind a damaged frame some calls are not sent. Whole frames of nothing meet every method.
      { numRuns: scaled(1, 40, 1000), examples: [[new Uint8Array(), true]] },
    );
    expect([...damaged].sort()).toEqual(ASKED);
  });
});

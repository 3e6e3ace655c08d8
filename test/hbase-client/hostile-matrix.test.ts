/**
 * Every stage of what a client does, with every way of a server to misbehave in it. Whatever comes: the call ends within
 * its time, with an answer or an error of Rowan's; nothing is thrown at nobody; a neighbour that uses another server, and
 * one that uses the same, are served meanwhile.
 */

import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RowanError } from '../../src/errors.js';
import { connectHBase, type HBaseEngine } from '../../src/hbase/engine.js';
import type { HBaseOptions } from '../../src/hbase/options.js';
import { knownExceptions } from '../../src/hbase/rpc/errors.js';
import { kerberosAuthenticator } from '../../src/hbase/security/kerberos.js';
import { GetClusterIdResponse, MetaRegionServerNode } from '../../src/hbase/wire/messages-rpc.js';
import { encodeMessage } from '../../src/hbase/wire/schema.js';
import { CheckAndMutate, Get, Put, Scan } from '../../src/table/index.js';
import { scaled } from '../proof/scale.js';
import { answerFrame, FakePeer, frame, type Request } from './fake-peer.js';
import { FakeZooKeeper, framed, int32, znode } from './fake-zookeeper.js';

const LARGEST = 1 << 16;
/** Of calls of which any end will do. */
const OPERATION = 200;
/** How long a call may take at the most: its own time and what a very busy machine adds. */
const LIMIT = 120_000;

const OPTIONS: HBaseOptions = {
  pause: 1,
  // Time alone ends what is tried: a neighbour on a busy machine may need many attempts.
  retries: 1_000_000,
  quarantine: 0,
  operationTimeout: OPERATION,
  scannerTimeout: 200,
  rpcTimeout: 200,
  metaTimeout: 200,
  connectTimeout: 200,
  adminTimeout: OPERATION,
  maxFrameSize: LARGEST,
};

type Damage = (answer: Buffer, send: (bytes: Uint8Array) => void, end: () => void) => void;

/** Where the cluster is found at, nobody misbehaves. */
const WELL_FOUND = { connectTimeout: LIMIT, metaTimeout: LIMIT };

/** What is done to the bytes of an answer. `answer` is one that would do. */
const DAMAGES: Readonly<Record<string, Damage>> = {
  garbage: (_, send) => send(randomBytes(3000)),
  'garbage in a good frame': (_, send) => send(frame(randomBytes(200))),
  truncated: (answer, send, end) => {
    send(answer.subarray(0, answer.length - 3));
    end();
  },
  'cut to nothing': (_, _send, end) => end(),
  oversized: (answer, send) => {
    const head = Buffer.from(answer);
    head.writeInt32BE(LARGEST * 4, 0);
    send(Buffer.concat([head, Buffer.alloc(LARGEST * 4 - (answer.length - 4))]));
  },
  'oversized without end': (answer, send) => {
    const head = Buffer.from(answer);
    head.writeInt32BE(0x7fffffff, 0);
    send(head);
  },
  slow: (answer, send) => {
    let at = 0;
    const timer = setInterval(() => {
      if (at < answer.length - 1) send(answer.subarray(at, ++at));
      else clearInterval(timer);
    }, 20);
    timer.unref();
  },
  never: () => undefined,
  duplicated: (answer, send) => send(Buffer.concat([answer, answer, answer])),
  'for a foreign call': (_, send) => send(answerFrame(4_000_000, new Uint8Array(2))),
  'for the connection': (_, send) => send(answerFrame(0xffffffff, new Uint8Array(2))),
};

describe('whatever a server sends', () => {
  const unhandled: unknown[] = [];
  const onUnhandled = (reason: unknown): void => {
    unhandled.push(reason);
  };

  beforeAll(() => {
    process.on('unhandledRejection', onUnhandled);
    process.on('uncaughtException', onUnhandled);
  });
  afterAll(async () => {
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', onUnhandled);
    process.off('uncaughtException', onUnhandled);
    expect(unhandled).toEqual([]);
  });

  /** Two servers. `good` is registry, meta and the server of the table "good", `bad` that of the table "bad". */
  const inCluster = async (run: (good: FakePeer, bad: FakePeer) => Promise<void>): Promise<void> => {
    const good = await FakePeer.start();
    const bad = await FakePeer.start();
    good.places.set('bad', bad.address);
    try {
      await run(good, bad);
    } finally {
      await good.stop();
      await bad.stop();
    }
  };

  /** Every damage in a cluster of its own, all at the same time. */
  const withEach = (
    run: (damage: Damage, good: FakePeer, bad: FakePeer, name: string) => Promise<void>,
  ): Promise<unknown> =>
    Promise.all(
      Object.entries(DAMAGES).map(([name, damage]) => inCluster((good, bad) => run(damage, good, bad, name))),
    );

  /** The end of a call: an answer or an error of Rowan's, and in time. */
  const ends = async (call: () => Promise<unknown>): Promise<void> => {
    const began = performance.now();
    const error: unknown = await call().then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(performance.now() - began).toBeLessThan(LIMIT);
    if (error !== undefined) {
      expect(error).toBeInstanceOf(RowanError);
      expect((error as Error).message.length).toBeLessThan(20_000);
    }
  };

  /** Misbehaves in the answers to requests that `hits`, as the peer itself would have answered them. */
  const spoil = (peer: FakePeer, damage: Damage, hits: (request: Request) => boolean): void => {
    peer.handler = (request) => {
      if (!hits(request)) return false;
      const { socket } = request.connection;
      const answers: Buffer[] = [];
      const write = socket.write;
      // The peer's own answer is caught, and sent as the damage has it.
      socket.write = ((bytes: Uint8Array) => {
        answers.push(Buffer.from(bytes));
        return true;
      }) as typeof socket.write;
      peer.answer(request);
      socket.write = write;
      const send = (bytes: Uint8Array): void => {
        if (!socket.destroyed) socket.write(bytes);
      };
      damage(Buffer.concat(answers), send, () => socket.destroy());
      return true;
    };
  };

  const STAGES: Readonly<Record<string, readonly [string, (engine: HBaseEngine) => Promise<unknown>]>> = {
    get: ['Get', (client) => client.table('bad').get(new Get('r'))],
    put: ['Mutate', (client) => client.table('bad').put(new Put('r').addColumn('f', 'q', 'v'))],
    check: [
      'Mutate',
      (client) =>
        client
          .table('bad')
          .checkAndMutate(
            CheckAndMutate.ifNotExists('f', Buffer.from('q'), new Put('r').addColumn('f', 'q', 'v')),
          ),
    ],
    multi: ['Multi', (client) => client.table('bad').getAll([new Get('a'), new Get('b'), new Get('c')])],
    scan: ['Scan', (client) => client.table('bad').scan(new Scan()).nextBatch(10)],
    'reversed scan': [
      'Scan',
      (client) => client.table('bad').scan(new Scan().setReversed(true)).nextBatch(10),
    ],
    admin: ['FlushRegion', (client) => client.admin.flush('bad')],
  };

  for (const [stage, [method, call]] of Object.entries(STAGES)) {
    it(`in ${/^[aeiou]/.test(stage) ? 'an' : 'a'} ${stage}`, () =>
      withEach(async (damage, good, bad, name) => {
        const client = await connectHBase({
          masters: [good.address],
          ...OPTIONS,
          ...WELL_FOUND,
        });
        await client.table('good').get(new Get('warm'), { timeout: LIMIT });
        spoil(bad, damage, (request) => request.method === method);
        const neighbour = client.table('good').get(new Get('n'), { timeout: LIMIT });
        await ends(() => call(client));
        expect((await neighbour).isEmpty).toBe(true);
        // The server has come to its senses: a caller who has nothing to do with what was before is served.
        bad.handler = () => undefined;
        const after = client.table('bad').get(new Get('after'), { timeout: LIMIT });
        await expect(after, `after ${name}`).resolves.toMatchObject({ isEmpty: true });
        await client.close();
      }));
  }

  it('in a lookup in meta, beside the lookups of others', () =>
    withEach(async (damage, good) => {
      const client = await connectHBase({ masters: [good.address], ...OPTIONS, connectTimeout: LIMIT });
      spoil(good, damage, ({ method, param }) => method === 'Scan' && Buffer.from(param).includes('bad,'));
      const neighbour = client.table('good').get(new Get('n'), { timeout: LIMIT });
      await ends(() => client.table('bad').get(new Get('r')));
      good.handler = () => undefined;
      expect((await neighbour).isEmpty).toBe(true);
      await client.close();
    }));

  for (const method of ['GetClusterId', 'GetMetaRegionLocations', 'GetBootstrapNodes']) {
    it(`in the ${method} of the registry`, () =>
      withEach(async (damage, good, bad) => {
        spoil(bad, damage, (request) => request.method === method);
        await ends(async () => {
          const client = await connectHBase({ masters: [bad.address], ...OPTIONS });
          await client
            .table('good')
            .get(new Get('r'))
            .finally(() => client.close());
        });
        // One that is well beside it suffices.
        const both = { ...OPTIONS, ...WELL_FOUND };
        const client = await connectHBase({ masters: [bad.address, good.address], ...both });
        expect((await client.table('good').get(new Get('r'), { timeout: LIMIT })).isEmpty).toBe(true);
        await client.close();
      }));
  }

  it('before it is asked anything', () =>
    withEach(async (damage, good) => {
      good.onConnection = (socket) =>
        damage(
          Buffer.from(answerFrame(0, new Uint8Array(2))),
          (bytes) => {
            if (!socket.destroyed) socket.write(bytes);
          },
          () => socket.destroy(),
        );
      await ends(async () => (await connectHBase({ masters: [good.address], ...OPTIONS })).close());
    }));

  it('in the exchange about the authentication', async () => {
    const kerberos = {
      initializeClient: async () => ({
        contextComplete: true,
        step: async () => '',
        unwrap: async () => '',
        wrap: async () => '',
      }),
    };
    const word = Buffer.concat([int32(0), int32(4), Buffer.from('word')]);
    await withEach(async (damage) => {
      for (const spoilt of [1, 2]) {
        let tokens = 0;
        const peer = await FakePeer.start(undefined, {
          saslTokens: 2,
          sasl: (_, socket) => {
            if (++tokens !== spoilt) return tokens >= 2 ? 'done' : word;
            damage(
              Buffer.from(word),
              (bytes) => {
                if (!socket.destroyed) socket.write(bytes);
              },
              () => socket.destroy(),
            );
            return new Uint8Array(0);
          },
        });
        const authenticator = kerberosAuthenticator({ kerberos });
        await ends(async () =>
          (await connectHBase({ masters: [peer.address], authenticator, ...OPTIONS })).close(),
        );
        await peer.stop();
      }
    });
  });

  it('in ZooKeeper', () =>
    withEach(async (damage, good) => {
      const server = { hostName: '127.0.0.1', port: good.port, startCode: 1 };
      const nodes = {
        '/hbase/hbaseid': znode(encodeMessage(GetClusterIdResponse, { clusterId: 'id' })),
        '/hbase/meta-region-server': znode(encodeMessage(MetaRegionServerNode, { server, state: 3 })),
      };
      const other = await FakeZooKeeper.start(nodes);
      for (const spoilt of [1, 2]) {
        const zooKeeper = await FakeZooKeeper.start(nodes);
        let replies = 0;
        zooKeeper.meddle = (reply, socket) => {
          if (++replies !== spoilt) return false;
          damage(
            reply,
            (bytes) => {
              if (!socket.destroyed) socket.write(bytes);
            },
            () => socket.destroy(),
          );
          return true;
        };
        const quorum = [zooKeeper.address];
        await ends(async () => (await connectHBase({ zookeeper: { quorum }, ...OPTIONS })).close());
        replies = 0;
        const both = [zooKeeper.address, other.address];
        const client = await connectHBase({ zookeeper: { quorum: both }, ...OPTIONS, connectTimeout: LIMIT });
        expect(['id', '']).toContain(client.clusterId.slice(0, 2));
        await client.close();
        await zooKeeper.stop();
      }
      await other.stop();
    }));

  it('by way of every exception there is, in every call', () =>
    inCluster(async (good, bad) => {
      const client = await connectHBase({
        masters: [good.address],
        ...OPTIONS,
        ...WELL_FOUND,
        // Everything is answered here.
        rpcTimeout: LIMIT,
        scannerTimeout: LIMIT,
        retries: 1,
      });
      const names = [...knownExceptions(), 'com.example.Surprise', '', '\u0000', 'a'.repeat(5000)];
      for (const name of names.filter((_, i) => i % scaled(12, 1, 1) === 0)) {
        bad.handler = ({ method, connection, id }) => {
          if (method === 'GetRegionInfo') return false;
          connection.fail(id, name, 'told to');
          return true;
        };
        const neighbour = client.table('good').get(new Get('n'), { timeout: LIMIT });
        await Promise.all(Object.values(STAGES).map(([, call]) => ends(() => call(client))));
        expect((await neighbour).isEmpty).toBe(true);
      }
      await client.close();
    }));

  it('which is framed as it should be and means nothing', () =>
    inCluster(async (good, bad) => {
      const client = await connectHBase({ masters: [good.address], ...OPTIONS, ...WELL_FOUND });
      for (let i = 0; i < scaled(3, 15, 2000); i++) {
        bad.handler = ({ id, connection }) => {
          connection.raw(answerFrame(id, randomBytes(1 + (i % 40)), framed(randomBytes(i % 60))));
          return true;
        };
        await Promise.all(Object.values(STAGES).map(([, call]) => ends(() => call(client))));
      }
      await client.close();
    }));
});

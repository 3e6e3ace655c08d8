import { afterEach, describe, expect, it } from 'vitest';
import { connectHBase, type HBaseEngine } from '../../src/hbase/engine.js';
import type { HBaseOptions } from '../../src/hbase/options.js';
import {
  GetProcedureResultResponse,
  GetTableStateResponse,
  ProcedureResponse,
  TableRequest,
} from '../../src/hbase/wire/messages-admin.js';
import { GetActiveMasterResponse } from '../../src/hbase/wire/messages-rpc.js';
import { decodeMessage } from '../../src/hbase/wire/schema.js';
import { Get, Scan } from '../../src/table/index.js';
import { cellBlock } from './fake-cells.js';
import { GetResponse } from './fake-messages.js';
import { FakePeer, type Request, readGet } from './fake-peer.js';

const peers: FakePeer[] = [];
let engine: HBaseEngine | undefined;

async function startPeer(): Promise<FakePeer> {
  const peer = await FakePeer.start();
  peers.push(peer);
  return peer;
}

async function open(peer: FakePeer, options: HBaseOptions = {}): Promise<HBaseEngine> {
  engine = await connectHBase({ masters: [peer.address], pause: 1, quarantine: 0, ...options });
  return engine;
}

afterEach(async () => {
  await engine?.close();
  for (const peer of peers.splice(0)) await peer.stop();
});

const name = (peer: FakePeer) => ({ hostName: '127.0.0.1', port: peer.port, startCode: 1 });
const isData = (request: Request): boolean =>
  request.method === 'Get' && !Buffer.from(request.param).includes('hbase:meta');
const answerCell = ({ connection, id }: Request, value: string): true => {
  const cells = cellBlock([['r', 'f', 'q', 1, 4, value]]);
  connection.reply(id, GetResponse, { result: { cellCount: 1, stale: value === 'old' } }, cells);
  return true;
};

describe('finding the cluster', () => {
  it('passes over nodes that are down, and maps the names it is given', async () => {
    const peer = await startPeer();
    const asked: string[] = [];
    engine = await connectHBase({
      masters: ['127.0.0.1:1', 'no.such.host:16000'],
      resolveAddress: (host, port) => {
        asked.push(host);
        return host === 'no.such.host' ? { host: '127.0.0.1', port: peer.port } : { host, port };
      },
    });
    expect(engine.clusterId).toBe('fake');
    expect(asked).toContain('no.such.host');
  });

  it('says which nodes were tried and why they failed', async () => {
    await expect(connectHBase({ masters: ['127.0.0.1:1'], connectTimeout: 500 })).rejects.toMatchObject({
      code: 'ERR_CONNECTION',
      retryable: true,
      message: expect.stringMatching(/127\.0\.0\.1:1: .*ECONNREFUSED.*option masters/s),
    });
  });
});

describe('TIMELINE reads', () => {
  // With 0 the primary is late before its region has been looked up.
  it.each([5, 0])(
    'take the answer of a replica when the primary is late by %i ms, and ask it for its own region',
    async (primaryCallTimeout) => {
      const [primary, replica] = [await startPeer(), await startPeer()];
      primary.replicaPort = replica.port;
      primary.handler = isData; // Data is never answered.
      replica.handler = (request) => answerCell(request, 'old');
      const table = (await open(primary, { primaryCallTimeout })).table('t');
      const result = await table.get(new Get('r').setConsistency('TIMELINE'));
      expect(Buffer.from(result.getValue('f', 'q')!).toString()).toBe('old');
      expect(result.isStale).toBe(true);
      const asked = readGet(replica.of('Get')[0]!);
      expect(Buffer.from(asked.region.value).toString()).toContain('_0001.');
      expect(asked.get.consistency).toBe(1);
    },
  );

  it('ask nobody else when the primary is in time, and STRONG reads never', async () => {
    const [primary, replica] = [await startPeer(), await startPeer()];
    primary.replicaPort = replica.port;
    primary.handler = (request) => isData(request) && answerCell(request, 'new');
    const table = (await open(primary, { primaryCallTimeout: 2000 })).table('t');
    const result = await table.get(new Get('r').setConsistency('TIMELINE'));
    expect(Buffer.from(result.getValue('f', 'q')!).toString()).toBe('new');
    expect(result.isStale).toBe(false);
    await table.get(new Get('r'));
    expect(replica.requests).toHaveLength(0);
  });

  it('fail with the error of the primary when nobody answers', async () => {
    const [primary, replica] = [await startPeer(), await startPeer()];
    primary.replicaPort = replica.port;
    const refuse = (request: Request): boolean => {
      if (!isData(request)) return false;
      request.connection.fail(
        request.id,
        `org.apache.hadoop.hbase.Fails${request.connection.socket.localPort}`,
        'no',
        true,
      );
      return true;
    };
    primary.handler = refuse;
    replica.handler = refuse;
    const table = (await open(primary, { primaryCallTimeout: 0 })).table('t');
    await expect(table.get(new Get('r').setConsistency('TIMELINE'))).rejects.toMatchObject({
      exceptionClass: expect.stringContaining(`Fails${primary.port}`),
    });
  });
});

describe('a disabled table', () => {
  it('fails reads and scans with ERR_TABLE_DISABLED, whether its regions were known or not', async () => {
    const peer = await startPeer();
    const opened = await open(peer);
    await opened.table('t').get(new Get('r'));
    peer.disabled.add('t').add('u');
    peer.handler = (request) => {
      if (!isData(request)) return false;
      request.connection.fail(request.id, 'org.apache.hadoop.hbase.NotServingRegionException', 'closed');
      return true;
    };
    for (const table of ['t', 'u']) {
      await expect(opened.table(table).get(new Get('r'))).rejects.toMatchObject({
        code: 'ERR_TABLE_DISABLED',
      });
    }
    await expect(opened.table('u').scan(new Scan()).next()).rejects.toMatchObject({
      code: 'ERR_TABLE_DISABLED',
    });
  });
});

describe('the admin', () => {
  it('looks for the master until there is one that is ready', async () => {
    const peer = await startPeer();
    let looks = 0;
    let calls = 0;
    peer.handler = ({ method, connection, id }) => {
      if (method === 'GetActiveMaster') {
        connection.reply(id, GetActiveMasterResponse, ++looks > 1 ? { serverName: name(peer) } : {});
        return true;
      }
      if (method !== 'GetTableState') return false;
      if (++calls === 1) connection.fail(id, 'org.apache.hadoop.hbase.PleaseHoldException', 'starting');
      else if (calls === 2) connection.socket.destroy();
      else connection.reply(id, GetTableStateResponse, { tableState: { state: 0 } });
      return true;
    };
    expect(await (await open(peer)).admin.isTableEnabled('t')).toBe(true);
    expect(calls).toBe(3);
    expect(looks).toBe(3);
  });

  it.each(['PleaseHoldException', 'ipc.ServerNotRunningYetException', 'MasterNotRunningException'])(
    'waits for a master that starts (%s), whatever the retries',
    async (exception) => {
      const peer = await startPeer();
      let calls = 0;
      peer.handler = ({ method, connection, id }) => {
        if (method === 'GetActiveMaster')
          connection.reply(id, GetActiveMasterResponse, { serverName: name(peer) });
        else if (method !== 'GetTableState') return false;
        else if (++calls < 8)
          connection.fail(id, `org.apache.hadoop.hbase.${exception}`, 'Master is initializing');
        else connection.reply(id, GetTableStateResponse, { tableState: { state: 0 } });
        return true;
      };
      const engine = await open(peer, { retries: 2 });
      expect(await engine.admin.isTableEnabled('t')).toBe(true);
    },
  );

  it('waits for a master that starts beyond operationTimeout', async () => {
    const peer = await startPeer();
    const operationTimeout = 1000;
    const asked: number[] = [];
    peer.handler = ({ method, connection, id }) => {
      if (method === 'GetTableState') asked.push(performance.now());
      if (method === 'GetActiveMaster')
        connection.reply(id, GetActiveMasterResponse, { serverName: name(peer) });
      else if (method !== 'GetTableState') return false;
      else if (asked.at(-1)! - asked[0]! <= operationTimeout)
        connection.fail(id, 'org.apache.hadoop.hbase.PleaseHoldException', 'Master is initializing');
      else connection.reply(id, GetTableStateResponse, { tableState: { state: 0 } });
      return true;
    };
    expect(await (await open(peer, { operationTimeout })).admin.isTableEnabled('t')).toBe(true);
  });

  it('waits for a master that starts until adminTimeout, and not at all without retries', async () => {
    const peer = await startPeer();
    peer.handler = ({ method, connection, id }) => {
      if (method === 'GetActiveMaster')
        connection.reply(id, GetActiveMasterResponse, { serverName: name(peer) });
      else if (method === 'GetTableState')
        connection.fail(id, 'org.apache.hadoop.hbase.PleaseHoldException', 'Master is initializing');
      else return false;
      return true;
    };
    const busy = { code: 'ERR_BUSY', retryable: true, message: expect.stringContaining('initializing') };
    const patient = await open(peer, { operationTimeout: 50, adminTimeout: 200 });
    await expect(patient.admin.isTableEnabled('t')).rejects.toMatchObject(busy);
    const before = peer.of('GetTableState').length;
    const hasty = await open(peer, { retries: 0 });
    await expect(hasty.admin.isTableEnabled('t')).rejects.toMatchObject(busy);
    expect(peer.of('GetTableState')).toHaveLength(before + 1);
  });

  it('repeats a change under the same nonce, and waits for its procedure', async () => {
    const peer = await startPeer();
    const nonces: (bigint | undefined)[] = [];
    let polls = 0;
    peer.handler = ({ method, connection, id, param }) => {
      if (method === 'GetActiveMaster')
        connection.reply(id, GetActiveMasterResponse, { serverName: name(peer) });
      else if (method === 'DisableTable') {
        nonces.push(decodeMessage(TableRequest, param).nonce);
        if (nonces.length === 1) connection.socket.destroy();
        else connection.reply(id, ProcedureResponse, { procId: 7 });
      } else if (method === 'getProcedureResult') {
        connection.reply(id, GetProcedureResultResponse, { state: ++polls < 3 ? 1 : 2 });
      } else return false;
      return true;
    };
    await (await open(peer)).admin.disableTable('t');
    expect(polls).toBe(3);
    expect(nonces).toHaveLength(2);
    expect(nonces[0]).toBe(nonces[1]);
  });

  it('fails with what the procedure failed with', async () => {
    const peer = await startPeer();
    peer.handler = ({ method, connection, id }) => {
      if (method === 'GetActiveMaster')
        connection.reply(id, GetActiveMasterResponse, { serverName: name(peer) });
      else if (method === 'DeleteTable') connection.reply(id, ProcedureResponse, { procId: 7 });
      else if (method === 'getProcedureResult') {
        const genericException = {
          className: 'org.apache.hadoop.hbase.TableNotDisabledException',
          message: 'Not DISABLED',
        };
        connection.reply(id, GetProcedureResultResponse, {
          state: 2,
          exception: { source: 'master', genericException },
        });
      } else return false;
      return true;
    };
    await expect((await open(peer)).admin.deleteTable('t')).rejects.toMatchObject({
      code: 'ERR_TABLE_ENABLED',
      message: expect.stringContaining('Not DISABLED'),
    });
  });
});

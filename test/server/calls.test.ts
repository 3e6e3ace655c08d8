/** Calls that HBase's clients make and this package's client does not, and those that are refused by name. */

import { describe, expect, it } from 'vitest';
import { connectionHeader } from '../../src/hbase/rpc/handshake.js';
import { ConnectionHeader, GetClusterIdResponse } from '../../src/hbase/wire/messages-rpc.js';
import { decodeMessage, Empty, encodeMessage } from '../../src/hbase/wire/schema.js';
import { GetConnectionRegistryResponse } from '../../src/server/services/messages.js';
import { Get, Put, Scan, tableDescriptor } from '../../src/table/index.js';
import { GetRequest, ScanRequest, ScanResponse } from '../hbase-client/fake-messages.js';
import { RawClient, regionOf } from './raw-client.js';
import { Served } from './served.js';

const TABLE = 'calls';

async function withRows(served: Served): Promise<void> {
  await served.store.admin.createTable(tableDescriptor(TABLE, { f: {} }));
  const puts = Array.from({ length: 10 }, (_, i) => new Put(`row${i}`).addColumn('f', 'q', `v${i % 3}`));
  await served.store.table(TABLE).putAll(puts);
}

const FILTERS = 'org.apache.hadoop.hbase.filter.';

/** A message with fields of bytes, by their numbers. */
function fields(...parts: readonly (readonly [number, Uint8Array | string])[]): Buffer {
  return Buffer.concat(
    parts.flatMap(([number, value]) => {
      const bytes = Buffer.from(value);
      return [Buffer.of(number * 8 + 2, bytes.length), bytes];
    }),
  );
}

/** `RowFilter` with operator EQUAL and the comparator of a class. */
function rowFilter(comparator: string): { name: string; serializedFilter: Buffer } {
  const compare = Buffer.concat([Buffer.of(8, 2), fields([2, fields([1, comparator], [2, ''])])]);
  return { name: `${FILTERS}RowFilter`, serializedFilter: fields([1, compare]) };
}

describe('calls of HBase’s clients', () => {
  it('the preamble that only asks for the cluster is answered with its id, and the connection ends', async () => {
    await using served = await Served.start();
    const asking = await RawClient.open(served.endpoint);
    asking.send(Buffer.from('Regist'));
    await asking.closed;
    const { clusterId } = decodeMessage(GetConnectionRegistryResponse, asking.answers[0]!.message);
    const registry = await RawClient.greet(served.endpoint, 'ClientMetaService');
    const answer = decodeMessage(
      GetClusterIdResponse,
      (await registry.call('GetClusterId', Empty, {})).message,
    );
    expect(clusterId).toMatch(/^[\da-f-]{36}$/);
    expect(answer.clusterId).toBe(clusterId);
    registry.end();
  });

  it('a scan that tracks metrics is told how many rows were scanned and filtered, and another is not', async () => {
    await using served = await Served.start();
    await withRows(served);
    const region = await regionOf(served.endpoint, TABLE);
    const client = await RawClient.greet(served.endpoint);
    // Operator EQUAL, the family, the qualifier, and the comparator: 3 of the 10 rows have the value v1.
    const comparator = fields([1, `${FILTERS}BinaryComparator`], [2, fields([1, fields([1, 'v1'])])]);
    const serializedFilter = Buffer.concat([
      fields([1, 'f'], [2, 'q']),
      Buffer.of(24, 2),
      fields([4, comparator]),
    ]);
    const filter = { name: `${FILTERS}SingleColumnValueFilter`, serializedFilter };
    const scanned = async (tracksMetrics: boolean) => {
      const request = { region, scan: { filter }, numberOfRows: 100, tracksMetrics };
      const { message } = await client.call('Scan', ScanRequest, request);
      return decodeMessage(ScanResponse, message);
    };
    const answer = await scanned(true);
    expect(answer.cellsPerResult).toEqual([1, 1, 1]);
    const metrics = answer.metrics!.metrics!.map(({ name, value }) => [name, value]);
    expect(Object.fromEntries(metrics)).toEqual({ ROWS_SCANNED: 10, ROWS_FILTERED: 7 });
    expect((await scanned(false)).metrics).toBeUndefined();
    client.end();
  });

  it('cell blocks are compressed for who asks for it, and a client without them gets cells in the message', async () => {
    await using served = await Served.start();
    await withRows(served);
    for (const cellBlockCompression of ['gzip', 'deflate'] as const) {
      const engine = await served.connect({ cellBlockCompression });
      const table = engine.table(TABLE);
      await table.put(new Put('packed').addColumn('f', 'q', cellBlockCompression.repeat(100)));
      const found = (await table.get(new Get('packed'))).getValue('f', 'q')!;
      expect(Buffer.from(found).toString()).toBe(cellBlockCompression.repeat(100));
      let rows = 0;
      for await (const _ of table.scan(new Scan())) rows++;
      expect(rows).toBe(11);
    }
    const region = await regionOf(served.endpoint, TABLE);
    const get = { region, get: { row: Buffer.from('packed') } };
    const sizeFor = async (header?: Uint8Array) => {
      const client = await RawClient.greet(served.endpoint, 'ClientService', header);
      const { message, cells } = await client.call('Get', GetRequest, get);
      client.end();
      return { message: message.length, cells: cells.length };
    };
    const plain = await sizeFor();
    expect(plain.cells).toBeGreaterThan(700);
    const packed = await sizeFor(connectionHeader('raw', 'ClientService', { cellBlockCompression: 'gzip' }));
    expect(packed.cells).toBeLessThan(200);
    const bare = encodeMessage(ConnectionHeader, { serviceName: 'ClientService' });
    const length = Buffer.alloc(4);
    length.writeInt32BE(bare.length);
    const inline = await sizeFor(Buffer.concat([length, bare]));
    expect(inline.cells).toBe(0);
    expect(inline.message).toBeGreaterThan(700);
  });

  it('hbase:meta and hbase:namespace are read like tables, and written by nobody', async () => {
    await using served = await Served.start();
    await withRows(served);
    await served.store.admin.createNamespace('shop');
    const engine = await served.connect();
    const rowsOf = async (table: string) => {
      const rows: string[] = [];
      for await (const { row } of engine.table(table).scan(new Scan()))
        rows.push(Buffer.from(row).toString());
      return rows;
    };
    expect(await rowsOf('hbase:namespace')).toEqual(['default', 'hbase', 'shop']);
    const regions = (await rowsOf('hbase:meta')).filter((row) => !row.startsWith('hbase:rowan_server'));
    expect(regions).toEqual([
      TABLE,
      expect.stringMatching(/^calls,,\d+\.[\da-f]{32}\.$/),
      'hbase:namespace',
      expect.stringMatching(/^hbase:namespace,,1\.[\da-f]{32}\.$/),
    ]);
    const put = new Put('x').addColumn('info', 'q', 'v');
    await expect(engine.table('hbase:namespace').put(put)).rejects.toMatchObject({
      message: expect.stringContaining('hbase:namespace'),
    });
  });
});

describe('what is not there', () => {
  it.each([
    ['MasterService', 'SetQuota', 'Quotas (SetQuota)'],
    ['MasterService', 'AddReplicationPeer', 'Replication (AddReplicationPeer)'],
    ['MasterService', 'Grant', 'Access control (Grant)'],
    ['MasterService', 'AddRSGroup', 'Groups of servers (AddRSGroup)'],
    ['MasterService', 'StopMaster', 'Stopping the server over the network (StopMaster)'],
    ['MasterService', 'ExecMasterService', 'Coprocessors (ExecMasterService)'],
    ['MasterService', 'OfflineRegion', 'MasterService.OfflineRegion'],
    ['ClientService', 'ExecService', 'Coprocessors (ExecService)'],
    ['ClientService', 'ExecRegionServerService', 'Coprocessors (ExecRegionServerService)'],
    ['AdminService', 'WarmupRegion', 'AdminService.WarmupRegion'],
  ] as const)('%s.%s is refused by name, for good', async (service, name, what) => {
    await using served = await Served.start();
    const client = await RawClient.greet(served.endpoint, service);
    const { exception } = await client.call(name, Empty, {});
    expect(exception?.stackTrace).toContain(`${what} is not supported by rowan serve. See docs/server.md`);
    expect(exception?.doNotRetry).toBe(true);
    // The connection goes on.
    expect((await client.call(name, Empty, {})).exception).toBeDefined();
    client.end();
  });

  it.each([
    ['filter', { name: `${FILTERS}FilterAllFilter` }, `${FILTERS}FilterAllFilter`],
    ['filter', { name: 'com.example.Own' }, 'com.example.Own'],
    ['comparator', rowFilter(`${FILTERS}BigDecimalComparator`), `${FILTERS}BigDecimalComparator`],
  ])('a %s that the store lacks is refused with the name of its class', async (kind, filter, name) => {
    await using served = await Served.start();
    await withRows(served);
    const region = await regionOf(served.endpoint, TABLE);
    const client = await RawClient.greet(served.endpoint);
    const { exception } = await client.call('Scan', ScanRequest, { region, scan: { filter } });
    expect(exception?.exceptionClassName).toBe('org.apache.hadoop.hbase.DoNotRetryIOException');
    expect(exception?.stackTrace).toContain(`The ${kind} ${name} is not supported by this server`);
    expect(served.server.stats().scanners).toBe(0);
    client.end();
  });
});

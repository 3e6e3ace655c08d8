/** What a server bears: clients that ask too much, do not read, or are many, and its own end while they are at it. */

import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { decodeMessage } from '../../src/hbase/wire/schema.js';
import { Delete, Get, Put, Scan, tableDescriptor } from '../../src/table/index.js';
import { cellBlock } from '../hbase-client/fake-cells.js';
import { GetRequest, MutateRequest, ScanRequest, ScanResponse } from '../hbase-client/fake-messages.js';
import { RawClient, regionOf as regionOfTable } from './raw-client.js';
import { Served } from './served.js';

const TABLE = 'limits';

const regionOf = ({ endpoint }: Served) => regionOfTable(endpoint, TABLE);

async function withRows(served: Served, rows: number, size: number): Promise<void> {
  await served.store.admin.createTable(tableDescriptor(TABLE, { f: {} }));
  const value = Buffer.alloc(size, 7);
  const table = served.store.table(TABLE);
  const puts = Array.from({ length: rows }, (_, i) =>
    new Put(`row${String(i).padStart(6, '0')}`).addColumn('f', 'q', value),
  );
  await table.putAll(puts);
}

const put = (row: string, region: { type: number; value: Uint8Array }) =>
  ({
    message: {
      region,
      mutation: { row: Buffer.from(row), type: 2, cellCount: 1 },
    },
    cells: cellBlock([[row, 'f', 'q', 5, 4, 'v']]),
  }) as const;

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise<void>((resolve) => setTimeout(resolve, 10));
}

describe('limits of a server', () => {
  it('what a full store refuses has the code that the store gives it', async () => {
    await using served = await Served.start({}, { maxDiskSize: 10_000, walPreparedSize: 0 });
    await withRows(served, 1, 10_000);
    const table = (await served.connect()).table(TABLE);
    const full = { code: 'ERR_SPACE', retryable: false };
    const refused = new Put('r').addColumn('f', 'q', 'v');
    // It looks at its size after some writes.
    for (let n = 0; n < 16; n++) await table.put(refused).catch(() => undefined);
    await expect(table.put(refused)).rejects.toMatchObject(full);
    const [outcome] = await table.batch([refused]);
    expect(outcome).toMatchObject({ ok: false, error: full });
    await table.delete(new Delete('r'));
  });

  it('a client that pipelines without reading is held back, and closed when it never reads', async () => {
    const limits = { maxUnreadBytes: 64 << 10, slowReaderTimeout: 300 };
    await using served = await Served.start(limits);
    await withRows(served, 1, 32 << 10);
    const region = await regionOf(served);
    const greedy = await RawClient.greet(served.endpoint);
    greedy.socket.pause();
    const get = { region, get: { row: Buffer.from('row000000') } };
    for (let i = 0; i < 2000; i++) void greedy.call('Get', GetRequest, get);
    await new Promise((resolve) => setTimeout(resolve, 100));
    const { queuedBytes, totalCalls } = served.server.stats();
    expect(totalCalls).toBeLessThan(2000);
    expect(queuedBytes).toBeLessThan(8 << 20);
    // Others are served meanwhile.
    const other = await RawClient.greet(served.endpoint);
    expect((await other.call('Get', GetRequest, get)).exception).toBeUndefined();
    other.end();
    await until(() => served.server.stats().connections === 0);
    greedy.end();
  });

  it('a client that pipelines and reads is answered all it asked', async () => {
    await using served = await Served.start({ maxUnreadBytes: 64 << 10, maxCallsPerConnection: 10 });
    await withRows(served, 1, 4 << 10);
    const region = await regionOf(served);
    const client = await RawClient.greet(served.endpoint);
    const get = { region, get: { row: Buffer.from('row000000') } };
    const gets = Array.from({ length: 1000 }, () => client.call('Get', GetRequest, get));
    const puts = Array.from({ length: 200 }, (_, i) => {
      const { message, cells } = put(`p${i}`, region);
      return client.call('Mutate', MutateRequest, message, cells);
    });
    const answers = await Promise.all([...gets, ...puts]);
    expect(answers.filter(({ exception }) => exception !== undefined)).toEqual([]);
    client.end();
  });

  it('calls above maxCalls are told to come again, and the client of this package does', async () => {
    await using served = await Served.start({ maxCalls: 2 });
    await withRows(served, 1, 10);
    const region = await regionOf(served);
    const client = await RawClient.greet(served.endpoint);
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => {
        const { message, cells } = put(`p${i}`, region);
        return client.call('Mutate', MutateRequest, message, cells);
      }),
    );
    client.end();
    const classes = new Set(answers.map(({ exception }) => exception?.exceptionClassName));
    expect(classes).toEqual(new Set([undefined, 'org.apache.hadoop.hbase.CallQueueTooBigException']));
    const engine = await served.connect({ retries: 20 });
    const table = engine.table(TABLE);
    await Promise.all(
      Array.from({ length: 50 }, (_, i) => table.put(new Put(`c${i}`).addColumn('f', 'q', 'v'))),
    );
    expect((await table.get(new Get('c49'))).isEmpty).toBe(false);
  });

  it('no call begins while requests and answers hold maxQueuedBytes, and the client of this package comes again', async () => {
    await using served = await Served.start({ maxQueuedBytes: 64 << 10, maxUnreadBytes: 1 << 20 });
    await withRows(served, 1, 32 << 10);
    const region = await regionOf(served);
    const get = { region, get: { row: Buffer.from('row000000') } };
    const engine = await served.connect({ retries: 20 });
    await engine.table(TABLE).get(new Get('row000000'));
    const greedy = await RawClient.greet(served.endpoint);
    greedy.socket.pause();
    // More than a socket holds, so that answers wait in the server.
    for (let i = 0; i < 400; i++) void greedy.call('Get', GetRequest, get);
    await until(() => served.server.stats().queuedBytes >= 64 << 10);
    const other = await RawClient.greet(served.endpoint);
    const { exception } = await other.call('Get', GetRequest, get);
    expect(exception?.exceptionClassName).toBe('org.apache.hadoop.hbase.CallQueueTooBigException');
    other.end();
    const later = engine.table(TABLE).get(new Get('row000000'));
    greedy.socket.resume();
    expect((await later).isEmpty).toBe(false);
    greedy.end();
  });

  it('a request above maxRequestSize is refused by name', async () => {
    await using served = await Served.start({ maxRequestSize: 10_000 });
    const client = await RawClient.greet(served.endpoint);
    void client.callRaw('Get', Buffer.alloc(20_000));
    await client.closed;
    expect(client.answers[0]?.exception?.exceptionClassName).toBe(
      'org.apache.hadoop.hbase.exceptions.RequestTooBigException',
    );
  });

  it('1,000 idle connections are no trouble', async () => {
    await using served = await Served.start();
    await withRows(served, 1, 10);
    const idle = await Promise.all(Array.from({ length: 1000 }, () => RawClient.greet(served.endpoint)));
    await until(() => served.server.stats().connections === 1000);
    const engine = await served.connect();
    expect((await engine.table(TABLE).get(new Get('row000000'))).isEmpty).toBe(false);
    await engine.close();
    for (const each of idle) each.end();
  });

  it('a scanner above maxScanners is refused for the moment, and a connection above maxConnections at once', async () => {
    await using served = await Served.start({ maxScanners: 1, maxConnections: 3 });
    await withRows(served, 10, 10);
    const region = await regionOf(served);
    await until(() => served.server.stats().connections === 0);
    const [client] = await Promise.all(Array.from({ length: 3 }, () => RawClient.greet(served.endpoint)));
    const open = () => client!.call('Scan', ScanRequest, { region, scan: {}, numberOfRows: 2 });
    const first = decodeMessage(ScanResponse, (await open()).message);
    expect((await open()).exception?.exceptionClassName).toMatch(/\.RegionTooBusyException$/);
    await until(() => served.server.stats().connections === 3);
    const refused = await RawClient.greet(served.endpoint);
    await refused.closed;
    await client!.call('Scan', ScanRequest, { scannerId: first.scannerId!, closeScanner: true });
    expect((await open()).exception).toBeUndefined();
    expect(served.server.stats()).toMatchObject({ connections: 3, scanners: 1 });
  });

  it('a connection that is idle for long is closed', async () => {
    await using served = await Served.start({ idleTimeout: 100 });
    const { closed } = await RawClient.greet(served.endpoint);
    await closed;
  });

  it('answers of scans are cut by bytes, and a row larger than an answer comes in parts', async () => {
    await using served = await Served.start({ maxAnswerSize: 20_000 });
    await withRows(served, 100, 1000);
    const wide = new Put('wide');
    for (let i = 0; i < 200; i++) wide.addColumn('f', `q${String(i).padStart(3, '0')}`, Buffer.alloc(500));
    await served.store.table(TABLE).put(wide);
    const engine = await served.connect();
    const counts: number[] = [];
    for await (const row of engine.table(TABLE).scan(new Scan())) counts.push(row.cells.length);
    expect(counts).toEqual([...Array.from({ length: 100 }, () => 1), 200]);
  });

  it('a scanner that nobody asks is closed, one that is renewed is not, and its calls come in order', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    await using served = await Served.start({ scannerLease: 200 });
    await withRows(served, 10, 10);
    const region = await regionOf(served);
    const client = await RawClient.greet(served.endpoint);
    const open = async (): Promise<bigint> => {
      const { message } = await client.call('Scan', ScanRequest, { region, scan: {}, numberOfRows: 2 });
      const answer = decodeMessage(ScanResponse, message);
      expect(answer).toMatchObject({ cellsPerResult: [1, 1], moreResults: true, moreResultsInRegion: true });
      return answer.scannerId!;
    };
    const [left, renewed] = [await open(), await open()];
    const ask = (scannerId: bigint, nextCallSeq: number, renew = false) =>
      client.call('Scan', ScanRequest, { scannerId, numberOfRows: renew ? 0 : 2, nextCallSeq, renew });
    for (let i = 0; i < 6; i++) {
      vi.advanceTimersByTime(60);
      expect((await ask(renewed, i, true)).exception).toBeUndefined();
    }
    expect((await ask(left, 0)).exception?.exceptionClassName).toMatch(/\.UnknownScannerException$/);
    expect((await ask(renewed, 0)).exception?.exceptionClassName).toMatch(/OutOfOrderScannerNextException$/);
    expect(decodeMessage(ScanResponse, (await ask(renewed, 6)).message).cellsPerResult).toEqual([1, 1]);
    expect(served.server.stats().scanners).toBe(1);
    client.end();
  });

  it('a scan that finds nothing for long says that it is at work', async () => {
    await using served = await Served.start();
    await withRows(served, 20_000, 10);
    const region = await regionOf(served);
    const client = await RawClient.greet(served.endpoint);
    // Half of it would be the time of a call; the server takes 10 ms at least.
    client.callTimeout = 1;
    // A prefix that no qualifier has.
    const columnPrefix = 'org.apache.hadoop.hbase.filter.ColumnPrefixFilter';
    const filter = { name: columnPrefix, serializedFilter: Buffer.from([10, 2, 0x7a, 0x7a]) };
    const ask = async (request: object) => {
      const asked = { numberOfRows: 100, handlesPartials: true, handlesHeartbeats: true, ...request };
      return decodeMessage(ScanResponse, (await client.call('Scan', ScanRequest, asked)).message);
    };
    for (const needsCursor of [false, true]) {
      const cursors: (string | undefined)[] = [];
      let answer = await ask({ region, scan: { filter, needsCursor } });
      while (answer.moreResultsInRegion === true && answer.moreResults === true) {
        expect(answer.heartbeat).toBe(true);
        cursors.push(answer.cursor?.row && Buffer.from(answer.cursor.row).toString());
        answer = await ask({ scannerId: answer.scannerId! });
      }
      expect(cursors.length).toBeGreaterThan(0);
      // Who asks for it learns how far the scan is.
      const told = cursors.filter((row) => row !== undefined);
      expect(told).toEqual(needsCursor ? [...new Set(cursors)].sort() : []);
    }
    client.end();
  });

  it('an end of the server answers what is under way, and refuses what comes then', async () => {
    await using served = await Served.start();
    await withRows(served, 1, 10);
    const region = await regionOf(served);
    const client = await RawClient.greet(served.endpoint);
    const first = put('p0', region);
    await client.call('Mutate', MutateRequest, first.message, first.cells);
    const answers = Array.from({ length: 20 }, (_, i) => {
      const { message, cells } = put(`p${i}`, region);
      return client.call('Mutate', MutateRequest, message, cells);
    });
    await new Promise<void>((resolve) => setImmediate(() => resolve()));
    await served.server.close();
    await client.closed;
    const settled = await Promise.race([
      Promise.all(answers),
      new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), 50)),
    ]);
    // Those that had come are answered, or refused by name; none is answered and lost.
    const kept = client.answers.filter(({ exception }) => exception === undefined).length;
    expect(kept).toBeGreaterThan(0);
    if (settled !== undefined) expect(settled).toHaveLength(20);
    for (const { exception } of client.answers)
      if (exception !== undefined)
        expect(exception.exceptionClassName).toMatch(/RegionServerStoppedException$/);
    expect((await served.store.table(TABLE).get(new Get('p0'))).isEmpty).toBe(false);
  });
});

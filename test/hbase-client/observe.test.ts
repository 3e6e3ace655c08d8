import * as telemetry from '@opentelemetry/api';
import { afterEach, describe, expect, it } from 'vitest';
import { connectHBase, type HBaseEngine } from '../../src/hbase/engine.js';
import type { HBaseEvent } from '../../src/hbase/observe/observer.js';
import { Latencies, TableStatisticsOfEngine } from '../../src/hbase/observe/table-figures.js';
import type { HBaseOptions } from '../../src/hbase/options.js';
import { ConnectionHeader } from '../../src/hbase/wire/messages-rpc.js';
import { decodeMessage } from '../../src/hbase/wire/schema.js';
import { Get, Put, Scan, tableDescriptor } from '../../src/table/index.js';
import { Served } from '../server/served.js';
import { FakePeer, type Request } from './fake-peer.js';

/** Bytes of a cell beside row, family, qualifier and value. */
const CELL = 24;

let peer: FakePeer;
let engine: HBaseEngine | undefined;

async function open(options: HBaseOptions, answer?: (request: Request) => boolean): Promise<HBaseEngine> {
  peer = await FakePeer.start(answer);
  engine = await connectHBase({ masters: [peer.address], pause: 1, quarantine: 0, ...options });
  return engine;
}

afterEach(async () => {
  await engine?.close();
  engine = undefined;
  await peer?.stop();
});

const isData = (request: Request): boolean =>
  request.method === 'Get' && !Buffer.from(request.param).includes('hbase:meta');

/** Answers the first get that it is too busy. */
function busyOnce(): (request: Request) => boolean {
  let first = true;
  return (request) => {
    if (!isData(request) || !first) return false;
    first = false;
    request.connection.fail(request.id, 'org.apache.hadoop.hbase.RegionTooBusyException', 'too busy');
    return true;
  };
}

describe('the metrics of an engine', () => {
  it('count requests, failures and retries by server and method, and what is open', async () => {
    const db = await open({}, busyOnce());
    await db.table('t').get(new Get('r'));
    const { servers, retries, connections, regionCache, openScanners } = db.metrics();
    const server = servers[peer.address]!;
    expect(server).toMatchObject({ queued: 0, inFlight: 0, limit: 64 });
    expect(server.methods['Get']).toMatchObject({ calls: 2, failures: 1, latency: { count: 2 } });
    expect(retries).toBe(1);
    expect(connections).toBeGreaterThan(0);
    expect(openScanners).toBe(0);
    expect(regionCache).toMatchObject({ tables: 2, regions: 2, lookups: 1 });
    const { buckets, sum, max } = server.methods['Get']!.latency;
    expect(buckets.reduce((total, { count }) => total + count, 0)).toBe(2);
    expect(sum).toBeGreaterThanOrEqual(max);
  });

  it('have operations, rows, bytes, errors, retries and times of each table, and of its regions on request', async () => {
    await using served = await Served.start();
    const db = await served.connect();
    const start = [Buffer.from('m')];
    await db.admin.createTable(tableDescriptor('t', { f: {} }), start);
    const table = db.table('t');
    const put = (row: string): Put => new Put(row).addColumn('f', 'q', 'x'.repeat(1000));
    await table.put(put('a'));
    await table.putAll([put('b'), put('n')]);
    const { bytes: changed, ...changes } = db.metrics().tables['t']!;
    expect(changes).toMatchObject({ operations: 3, errors: 0, retries: 0, rows: 3, latency: { count: 3 } });
    expect(changes.latency.sum).toBeGreaterThan(0);
    expect(changed).toBeGreaterThan(3000);
    expect(changed).toBeLessThan(4000);
    await table.getAll([new Get('a'), new Get('none')]);
    expect(db.metrics().tables['t']).toMatchObject({
      operations: 5,
      rows: 4,
      bytes: changed + CELL + 'afq'.length + 1000,
    });
    for await (const { isEmpty } of table.scan(new Scan())) expect(isEmpty).toBe(false);
    const before = db.metrics({ regions: true }).tables['t']!;
    expect(before).toMatchObject({ rows: 7, bytes: changed + 4 * (CELL + 'afq'.length + 1000) });
    await expect(table.get(new Get('a').addFamily('wrong'))).rejects.toThrow('wrong');
    const { regions = {}, otherRegions, ...all } = db.metrics({ regions: true }).tables['t']!;
    expect(all).toMatchObject({ operations: before.operations + 1, errors: 1, rows: 7 });
    const names = (await db.admin.getRegions('t')).map(({ name }) => name);
    expect(Object.keys(regions).sort()).toEqual([...names].sort());
    const [first, second] = names.map((name) => regions[name]!);
    expect([first!.rows, second!.rows, otherRegions!.operations]).toEqual([5, 2, 0]);
    for (const figure of ['operations', 'errors', 'bytes'] as const)
      expect(first![figure] + second![figure], figure).toBe(all[figure]);
    expect(db.metrics().tables['t']).not.toHaveProperty('regions');
    expect(db.debugState().tables['t']!.regions).toEqual(regions);
    expect(
      db
        .tableMetrics()
        .find(({ name, attributes }) => name.endsWith('.rows') && attributes!['db.collection.name'] === 't'),
    ).toMatchObject({ name: 'rowan.hbase.table.rows', kind: 'counter', unit: '{row}', value: 7 });
  });

  it('count an operation that is tried again once, with its retries, and one that fails as an error', async () => {
    const db = await open({}, busyOnce());
    await db.table('t').get(new Get('r'));
    expect(db.metrics().tables['t']).toMatchObject({ operations: 1, errors: 0, retries: 1, rows: 0 });
    await db.close();
    await peer.stop();
    const other = await open({ retries: 0 }, busyOnce());
    await expect(other.table('t').get(new Get('r'))).rejects.toMatchObject({ code: 'ERR_BUSY' });
    expect(other.metrics().tables['t']).toMatchObject({ operations: 1, errors: 1, retries: 0, rows: 0 });
  });

  it('keep figures of so many regions, and sum up the others', () => {
    const engine = new TableStatisticsOfEngine(2);
    const region = (name: string) => ({ statistics: undefined, toString: () => name });
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(region);
    const [t, u] = [engine.table('t'), engine.table('u')];
    t.succeeded(a, 1, 1, 10);
    u.succeeded(b, 1, 1, 10);
    t.succeeded(c, 1, 1, 10);
    t.failed(d, 1);
    // A region at a new location is the same region.
    t.succeeded(region('a'), 1, 1, 10);
    t.retried(undefined);
    const { t: of, u: ofOther } = engine.snapshot(true);
    expect(Object.keys(of!.regions!)).toEqual(['a']);
    expect(of!.regions!['a']).toMatchObject({ operations: 2, rows: 2, bytes: 20 });
    expect(of!.otherRegions).toMatchObject({ operations: 2, errors: 1, rows: 1 });
    expect(of).toMatchObject({ operations: 4, errors: 1, retries: 1, rows: 3, bytes: 30 });
    expect(Object.keys(ofOther!.regions!)).toEqual(['b']);
  });

  it('show what waits while a server answers nothing', async () => {
    const db = await open({ maxInFlight: 1 }, isData);
    const table = db.table('t');
    const aborter = new AbortController();
    const get = (row: string): Promise<unknown> =>
      table.get(new Get(row), { signal: aborter.signal }).catch(() => 0);
    const gets = [get('a')];
    await expect.poll(() => db.metrics().servers[peer.address]?.inFlight).toBe(1);
    gets.push(get('b'));
    await expect.poll(() => db.metrics().servers[peer.address]).toMatchObject({ queued: 1, limit: 1 });
    aborter.abort();
    await Promise.all(gets);
  });

  it('put each duration into its bucket', () => {
    const latencies = new Latencies();
    for (const milliseconds of [0.2, 1, 1.1, 700, 1e9]) latencies.record(milliseconds);
    const { buckets, count, max } = latencies.snapshot();
    const filled = buckets
      .filter((bucket) => bucket.count > 0)
      .map((bucket) => [bucket.atMost, bucket.count]);
    expect([filled, count, max]).toEqual([
      [
        [1, 2],
        [2, 1],
        [1000, 1],
        [Number.POSITIVE_INFINITY, 1],
      ],
      5,
      1e9,
    ]);
  });
});

describe('events', () => {
  it('tell of connections, retries and slow requests, and a listener that throws disturbs nothing', async () => {
    const events: HBaseEvent[] = [];
    const onEvent = (event: HBaseEvent): void => {
      events.push(event);
      throw new Error('a fault of the listener');
    };
    const db = await open({ onEvent, slowCall: 0 }, busyOnce());
    await db.table('t').get(new Get('r'));
    const server = peer.address;
    expect(events).toContainEqual(
      expect.objectContaining({ kind: 'connected', server, service: 'ClientService' }),
    );
    expect(events).toContainEqual(
      expect.objectContaining({ kind: 'retry', table: 't', operations: 1, attempts: 1 }),
    );
    const slow = events.filter((event) => event.kind === 'slowCall' && event.method === 'Get');
    expect(slow).toMatchObject([{ error: { code: 'ERR_BUSY' } }, { error: undefined }]);
    await peer.stop();
    await expect
      .poll(() => events.filter((event) => event.kind === 'disconnected').map((event) => event.service))
      .toContain('ClientService');
  });

  it('leave out requests that are quick', async () => {
    const events: HBaseEvent[] = [];
    const db = await open({ onEvent: (event) => events.push(event), slowCall: 3_600_000 });
    await db.table('t').get(new Get('r'));
    expect(events.map(({ kind }) => kind)).not.toContain('slowCall');
  });
});

describe('OpenTelemetry', () => {
  interface SeenSpan {
    readonly name: string;
    readonly attributes: Record<string, unknown>;
    ended: number;
    exception?: Error;
    status?: { code: number };
  }

  type Read = (result: { observe(value: number, attributes: Record<string, string>): void }) => void;

  /** A provider that writes down what it is told, behind the real API. */
  function watch(): {
    spans: SeenSpan[];
    durations: [string, Record<string, unknown>][];
    gauges: Set<string>;
    counters: Map<string, Read>;
  } {
    const spans: SeenSpan[] = [];
    const durations: [string, Record<string, unknown>][] = [];
    const gauges = new Set<string>();
    const counters = new Map<string, Read>();
    const tracer = {
      startSpan(name: string, { attributes }: { attributes: Record<string, unknown> }) {
        const seen: SeenSpan = { name, attributes: { ...attributes }, ended: 0 };
        spans.push(seen);
        return {
          setAttribute: (key: string, value: unknown) => (seen.attributes[key] = value),
          setStatus: (status: { code: number }) => (seen.status = status),
          recordException: (error: Error) => (seen.exception = error),
          end: () => seen.ended++,
        };
      },
    };
    const meter = {
      createHistogram: (name: string) => ({
        record: (value: number, attributes: Record<string, unknown>) => {
          expect(value).toBeGreaterThanOrEqual(0);
          durations.push([name, attributes]);
        },
      }),
      createObservableGauge: (name: string) => ({
        addCallback: () => gauges.add(name),
        removeCallback: () => gauges.delete(name),
      }),
      createObservableCounter: (name: string) => ({
        addCallback: (read: Read) => counters.set(name, read),
        removeCallback: () => counters.delete(name),
      }),
    };
    telemetry.trace.setGlobalTracerProvider({ getTracer: () => tracer as never });
    telemetry.metrics.setGlobalMeterProvider({ getMeter: () => meter as never });
    return { spans, durations, gauges, counters };
  }
  afterEach(() => {
    telemetry.trace.disable();
    telemetry.metrics.disable();
  });

  it('has a span for each operation, with its error, and durations of operations and requests', async () => {
    const { spans, durations, gauges, counters } = watch();
    const db = await open({ telemetry, retries: 0 }, (request) => {
      if (!isData(request) || !Buffer.from(request.param).includes('bad')) return false;
      request.connection.fail(request.id, 'org.apache.hadoop.hbase.RegionTooBusyException', 'too busy');
      return true;
    });
    const table = db.table('t');
    await table.get(new Get('r'));
    await table.get(new Get('bad')).catch(() => undefined);
    await table.putAll([new Put('a').addColumn('f', 'q', '1'), new Put('b').addColumn('f', 'q', '2')]);
    for await (const _ of table.scan(new Scan())) break;
    expect(spans.map(({ name, ended }) => [name, ended])).toEqual([
      ['get t', 1],
      ['get t', 1],
      ['batch t', 1],
      ['scan t', 1],
    ]);
    expect(Object.keys(spans[0]!)).toEqual(['name', 'attributes', 'ended']);
    expect(spans[1]).toMatchObject({
      attributes: { 'db.system.name': 'hbase', 'db.collection.name': 't', 'error.type': 'ERR_BUSY' },
      exception: { code: 'ERR_BUSY' },
      status: { code: telemetry.SpanStatusCode.ERROR },
    });
    expect(spans[2]?.attributes['db.operation.batch.size']).toBe(2);
    expect(durations).toContainEqual([
      'rowan.hbase.call.duration',
      { 'rpc.method': 'Get', 'server.address': peer.address, 'error.type': 'ERR_BUSY' },
    ]);
    expect(durations.filter(([name]) => name === 'db.client.operation.duration')).toHaveLength(4);
    expect([...gauges].sort()).toEqual([
      'rowan.hbase.connections',
      'rowan.hbase.regions',
      'rowan.hbase.scanners',
    ]);
    const seen: [string, number, string][] = [];
    for (const [name, read] of counters)
      read({ observe: (value, attributes) => seen.push([name, value, attributes['db.collection.name']!]) });
    expect(seen.filter(([, , table]) => table === 't').slice(0, 2)).toEqual([
      ['rowan.hbase.table.operations', 5, 't'],
      ['rowan.hbase.table.errors', 1, 't'],
    ]);
    expect(seen).toHaveLength(db.tableMetrics().length);
    await db.close();
    expect(gauges.size + counters.size).toBe(0);
  });

  it('refuses what is not the API', async () => {
    await expect(open({ telemetry: {} as never })).rejects.toMatchObject({
      code: 'ERR_INVALID_ARGUMENT',
      message: expect.stringContaining('@opentelemetry/api'),
    });
  });
});

it('connection attributes go with every connection', async () => {
  await open({ connectionAttributes: { application: 'billing' } });
  const { attribute } = decodeMessage(ConnectionHeader, peer.hellos.at(-1)!, 10);
  expect(attribute).toEqual([{ name: 'application', value: Buffer.from('billing') }]);
  for (const wrong of [5, { a: 1 }, null]) {
    await expect(
      connectHBase({ masters: [peer.address], connectionAttributes: wrong as never }),
    ).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
  }
});

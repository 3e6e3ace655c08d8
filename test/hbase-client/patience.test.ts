/** One caller's little time is not another's loss. */

import { afterEach, beforeEach, expect, it } from 'vitest';
import { connectHBase, type HBaseEngine } from '../../src/hbase/engine.js';
import { type HBaseOptions, resolveSettings } from '../../src/hbase/options.js';
import { Get, Put, Scan, type Table } from '../../src/table/index.js';
import { cellBlock } from './fake-cells.js';
import { ScanResponse } from './fake-messages.js';
import { answerFrame, FakePeer, type Request, readScanRequest } from './fake-peer.js';

const TIMED_OUT = { code: 'ERR_TIMEOUT' };
const ROW = cellBlock([['a', 'f', 'q', 1, 4, 'v']]);

let peer: FakePeer;
let engine: HBaseEngine;
let table: Table;
/** Scans of the table, and gets of the row `mute`, that wait for their answers. */
let held: Request[];

/** Time enough for a busy machine. */
const SOON = { timeout: 60_000 };

async function open(rpcTimeout: number, options: HBaseOptions = {}): Promise<void> {
  const times = { rpcTimeout, scannerTimeout: 60_000, metaTimeout: 60_000, quarantine: 0 };
  engine = await connectHBase({ masters: [peer.address], pause: 1, retries: 0, ...times, ...options });
  table = engine.table('t');
}

beforeEach(async () => {
  held = [];
  peer = await FakePeer.start((request) => {
    const { method, param } = request;
    const text = Buffer.from(param).toString('latin1');
    const isHeld = method === 'Scan' ? !text.includes('hbase:meta') : text.includes('mute');
    if (isHeld) held.push(request);
    return isHeld;
  });
  await open(60_000);
});
afterEach(async () => {
  await engine.close();
  await peer.stop();
});

const lastRow = ({ id, connection }: Request): void =>
  connection.reply(id, ScanResponse, { cellsPerResult: [1], scannerId: 1n, moreResults: false }, ROW);

it('an answer that is on its way arrives, though a call behind it had no time to wait for it', async () => {
  const first = table.get(new Get('mute 1'), { timeout: 60_000 });
  await expect.poll(() => held.length, SOON).toBe(1);
  const slow = table.get(new Get('mute'), { timeout: 60_000 });
  await expect.poll(() => held.length, SOON).toBe(2);
  const [one, two] = held.map(({ id }) => Buffer.from(answerFrame(id, new Uint8Array(2))));
  const { connection } = held[0]!;
  connection.raw(Buffer.concat([one!, two!.subarray(0, 5)]));
  await first;
  await expect(table.get(new Get('mute 2'), { timeout: 20 })).rejects.toMatchObject(TIMED_OUT);
  connection.raw(two!.subarray(5));
  expect((await slow).isEmpty).toBe(true);
});

it('a scan may take its time on a connection on which others wait in vain', async () => {
  await engine.close();
  await open(150);
  const scanned = table.scan(new Scan()).next();
  await expect.poll(() => held.length, SOON).toBe(1);
  // Longer together than any call but that of a scan may take.
  for (const row of ['mute 1', 'mute 2', 'mute 3']) {
    await expect(table.get(new Get(row))).rejects.toMatchObject(TIMED_OUT);
  }
  lastRow(held[0]!);
  expect(await scanned).toBeDefined();
});

it('a server that comes to the close of a scanner late is not told to pass over it', async () => {
  const scanner = table.scan(new Scan());
  const first = scanner.next();
  await expect.poll(() => held.length, SOON).toBe(1);
  held[0]!.connection.reply(
    held[0]!.id,
    ScanResponse,
    { cellsPerResult: [1, 1, 1], scannerId: 7n, moreResults: true, moreResultsInRegion: true },
    cellBlock(['a', 'b', 'c'].map((row) => [row, 'f', 'q', 1, 4, 'v'])),
  );
  await first;
  const closing = scanner.close();
  await expect
    .poll(() => held.map(readScanRequest).filter(({ closeScanner }) => closeScanner).length, SOON)
    .toBe(1);
  expect(held.at(-1)!.timeout).toBe(60_000);
  lastRow(held.at(-1)!);
  await closing;
});

it('a request of a scan that is never answered is made again, and there is time for that', async () => {
  const { scannerTimeout, operationTimeout } = resolveSettings({ masters: [peer.address] });
  expect(2 * scannerTimeout).toBeLessThan(operationTimeout);
  await engine.close();
  await open(60_000, { scannerTimeout: 300, retries: 1000 });
  const scanned = table.scan(new Scan()).next();
  await expect.poll(() => held.length, SOON).toBeGreaterThan(1);
  // All but the first, however late.
  let answered = 1;
  const answers = setInterval(() => {
    while (answered < held.length) lastRow(held[answered++]!);
  }, 5);
  expect(await scanned.finally(() => clearInterval(answers))).toBeDefined();
});

it.each([
  { retries: 31, metaTimeout: 60_000 },
  { retries: 2, metaTimeout: 50 },
  { retries: 0, metaTimeout: 60_000 },
])(
  'calls behind a silent meta name its server, and no lookup in the rest of their time (%o)',
  async (options) => {
    await engine.close();
    peer.handler = ({ method, param }) =>
      method === 'Scan' && Buffer.from(param).toString('latin1').includes('hbase:meta');
    await open(60_000, { ...options, operationTimeout: 400 });
    const calls: Readonly<Record<string, () => Promise<unknown>>> = {
      get: () => table.get(new Get('a')),
      put: () => table.put(new Put('a').addColumn('f', 'q', 'v')),
      gets: () => table.getAll([new Get('a'), new Get('z')]),
      scan: () => table.scan(new Scan()).next(),
    };
    for (const call of Object.values(calls)) {
      const { message } = await call().then(
        () => expect.unreachable(),
        (reason: unknown) => reason as Error,
      );
      expect(message).toMatch(/The (?:lookup of the region of row|scan of table hbase:meta) /);
      expect(message).toContain(peer.address);
      expect(message).not.toMatch(/within \d ms/);
      if (options.retries > 2)
        expect(message).toMatch(/^The \w+ o[nf] table t .* within 400 ms\. Last error: /);
    }
  },
);

/** No scan leaves a scanner open on a server, however it ends. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connectHBase, type HBaseEngine } from '../../src/hbase/engine.js';
import type { HBaseOptions } from '../../src/hbase/options.js';
import { Scan, type Table } from '../../src/table/index.js';
import { scaled } from '../proof/scale.js';
import { cellBlock } from './fake-cells.js';
import { ScanResponse } from './fake-messages.js';
import { FakePeer, type Request, readScanRequest } from './fake-peer.js';

/** Of each of four ends. */
const SCANS = scaled(25, 250, 1000);
/** Soon, as far as a busy machine allows. */
const SOON = { timeout: 300_000 };

describe('a scan that ends early', () => {
  let peer: FakePeer;
  let engine: HBaseEngine;
  let table: Table;
  /** The scanners that the server holds. */
  let open: Set<bigint>;
  let opened: number;
  let answers: number;
  /** Milliseconds between two signs of life of a scanner. */
  let ttl: number;
  /** What is done with a request to a scanner; true: no answer. */
  let meddle: (request: Request, kind: 'open' | 'next' | 'close' | 'renew') => boolean;

  const answer = (request: Request): boolean => {
    if (request.method !== 'Scan') return false;
    const scan = readScanRequest(request);
    if (Buffer.from(scan.region?.value ?? []).includes('hbase:meta')) return false;
    const kind = scan.closeScanner ? 'close' : scan.renew ? 'renew' : scan.scannerId ? 'next' : 'open';
    if (meddle(request, kind)) return true;
    reply(request, kind, scan.scannerId);
    return true;
  };

  const reply = (request: Request, kind: string, asked: bigint | undefined): void => {
    if (kind === 'close') open.delete(asked!);
    const id = asked ?? BigInt(++opened);
    if (kind === 'open') open.add(id);
    const isFirst = kind === 'open' && readScanRequest(request).scan?.includeStartRow !== false;
    const row = `a${String(isFirst ? 0 : ++answers).padStart(9, '0')}`;
    const hasRow = kind === 'open' || kind === 'next';
    request.connection.reply(
      request.id,
      ScanResponse,
      { cellsPerResult: hasRow ? [1] : [], scannerId: id, ttl, moreResults: true, moreResultsInRegion: true },
      hasRow ? cellBlock([[row, 'f', 'q', 1, 4, 'v']]) : new Uint8Array(0),
    );
  };

  const start = async (options: HBaseOptions = {}): Promise<void> => {
    engine = await connectHBase({ masters: [peer.address], pause: 1, retries: 0, quarantine: 0, ...options });
    table = engine.table('t');
  };

  beforeEach(async () => {
    open = new Set();
    opened = 0;
    answers = 0;
    ttl = 60_000;
    meddle = () => false;
    peer = await FakePeer.start(answer);
    await start();
  });
  afterEach(async () => {
    await engine.close();
    await peer.stop();
  });

  const many = (run: (i: number) => Promise<unknown>): Promise<unknown> =>
    Promise.all(Array.from({ length: SCANS }, (_, i) => run(i)));

  it('because it was closed, aborted between rows or during a wait, or its loop was left', async () => {
    await many(async (i) => {
      const aborter = new AbortController();
      const scanner = table.scan(new Scan(), { signal: aborter.signal });
      if (i % 4 === 0) {
        for await (const _ of scanner) break;
        return;
      }
      await scanner.next();
      if (i % 4 === 1) await scanner.close();
      else if (i % 4 === 2) aborter.abort();
      else {
        const wait = scanner.next();
        aborter.abort();
        await wait.catch(() => undefined);
      }
    });
    expect(opened).toBe(SCANS);
    await expect.poll(() => open.size, SOON).toBe(0);
  });

  it('because it was aborted while it was opened', async () => {
    const aborter = new AbortController();
    meddle = (_, kind) => {
      if (kind === 'open') aborter.abort();
      return false;
    };
    await expect(table.scan(new Scan(), { signal: aborter.signal }).next()).rejects.toMatchObject({
      code: 'ERR_ABORTED',
    });
    await expect.poll(() => [opened, open.size], SOON).toEqual([1, 0]);
  });

  it('because it failed: at an error of the server, at rows out of order, or at a limit of time', async () => {
    await many(async (i) => {
      const scanner = table.scan(new Scan(), { timeout: 30_000 });
      await scanner.next();
      meddle = (request, kind) => {
        if (kind !== 'next') return false;
        if (i % 2 === 0) request.connection.fail(request.id, 'java.io.IOException', 'no more', true);
        else reply(request, 'open', readScanRequest(request).scannerId);
        return true;
      };
      await expect(scanner.next()).rejects.toThrow();
    });
    await expect.poll(() => open.size, SOON).toBe(0);
  });

  it('because the answer that opened it, or went on with it, came too late', async () => {
    await engine.close();
    await start({ scannerTimeout: 100, operationTimeout: 150 });
    const late: (() => void)[] = [];
    meddle = (request, kind) => {
      if (kind !== 'open') return false;
      late.push(() => reply(request, 'open', undefined));
      return true;
    };
    await expect(table.scan(new Scan()).next()).rejects.toMatchObject({ code: 'ERR_TIMEOUT' });
    expect(late.length).toBeGreaterThan(0);
    for (const send of late) send();
    await expect.poll(() => [opened > 0, open.size], SOON).toEqual([true, 0]);
  });

  it('because nobody knows it any more', async () => {
    await engine.close();
    ttl = 200;
    await start();
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    // In functions of their own, so that no variable of this one keeps them.
    const forget = async (): Promise<void> => {
      await table.scan(new Scan()).next();
    };
    const signals: AbortSignal[] = [];
    const forgetIterator = async (): Promise<void> => {
      const { signal } = new AbortController();
      signals.push(signal);
      await table.scan(new Scan(), { signal })[Symbol.asyncIterator]().next();
    };
    await many((i) => (i % 2 === 0 ? forget() : forgetIterator()));
    expect(open.size).toBe(SCANS);
    await expect
      .poll(() => {
        collect();
        return open.size;
      }, SOON)
      .toBe(0);
    expect(signals.every(({ aborted }) => !aborted)).toBe(true);
  });

  it('but not one that is read on, be it only by a loop', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    let rows = 0;
    for await (const _ of table.scan(new Scan())) {
      collect();
      await new Promise((resolve) => setImmediate(resolve));
      if (++rows === scaled(6, 20, 20)) break;
    }
    expect(opened).toBe(1);
  });

  it('because the engine is closed', async () => {
    await many(() => table.scan(new Scan()).next());
    expect(open.size).toBe(SCANS);
    await engine.close();
    expect(open.size).toBe(0);
  });

  it('and one that nobody reads on is opened again where it stood', async () => {
    await engine.close();
    ttl = 200;
    await start({ scannerIdleTimeout: 50 });
    const scanner = table.scan(new Scan());
    await scanner.next();
    await expect.poll(() => open.size, SOON).toBe(0);
    // One more row had been fetched ahead.
    expect(await scanner.next()).toBeDefined();
    expect(await scanner.next()).toBeDefined();
    expect(opened).toBe(2);
    const again = peer
      .of('Scan')
      .map(readScanRequest)
      .filter(({ scan }) => scan?.includeStartRow === false)
      .map(({ scan }) => Buffer.from(scan?.startRow ?? []).toString());
    expect(again).toEqual(['a000000001']);
    await scanner.close();
    await expect.poll(() => open.size, SOON).toBe(0);
  });
});

/**
 * Many scans and gets over one connection to a peer that delays, reorders, splits, drops and refuses: every scan that may
 * end well gives its rows, each once; no answer is lost, no neighbour harmed, no scanner left open.
 */

import type { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { connectHBase } from '../../src/hbase/engine.js';
import { encodeMessage } from '../../src/hbase/wire/schema.js';
import { Get, Scan, type Table } from '../../src/table/index.js';
import { Random } from '../hbase/differential/random.js';

import { scaled } from '../proof/scale.js';
import { cellBlock } from './fake-cells.js';
import { ScanResponse } from './fake-messages.js';
import { answerFrame, exceptionFrame, FakePeer, type Request, readScanRequest } from './fake-peer.js';

const ROWS = 60;
const STORMS = scaled(1, 60, 3000);
const SCANS = 60;
const BUSY = 'org.apache.hadoop.hbase.CallQueueTooBigException';

const rowOf = (at: number): string => `r${String(at).padStart(4, '0')}`;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Bytes of one connection, written in pieces of any size, with turns of the event loop between them. */
class Trickle {
  private chain: Promise<void> = Promise.resolve();

  constructor(
    private readonly socket: Socket,
    private readonly random: Random,
  ) {}

  write(bytes: Uint8Array): void {
    this.chain = this.chain.then(async () => {
      for (let at = 0; at < bytes.length; ) {
        const size = this.random.chance(0.5) ? bytes.length : 1 + this.random.below(9);
        this.socket.write(bytes.subarray(at, at + size));
        at += size;
        if (this.random.chance(0.3)) await turn();
      }
    });
  }
}

interface ServerScanner {
  position: number;
  seq: number;
  isAsked: boolean;
}

/** What HBase does with scanners, in any order and at any pace. */
class StormyServer {
  readonly open = new Map<bigint, ServerScanner>();
  private readonly outputs = new Map<Socket, Trickle>();
  private opened = 0n;
  dropped = 0;

  constructor(private readonly random: Random) {}

  readonly handle = (request: Request): boolean => {
    const output = this.output(request.connection.socket);
    // What the peer answers by itself waits its turn too.
    request.connection.raw = (bytes) => output.write(bytes);
    if (request.method === 'Get') {
      void this.later(request, () => answerFrame(request.id, new Uint8Array(0)));
      return true;
    }
    if (request.method !== 'Scan') return false;
    const { region } = readScanRequest(request);
    if (Buffer.from(region?.value ?? []).includes('hbase:meta')) return false;
    void this.later(request, () => this.scan(request));
    return true;
  };

  private output(socket: Socket): Trickle {
    const found = this.outputs.get(socket);
    if (found !== undefined) return found;
    const made = new Trickle(socket, this.random);
    this.outputs.set(socket, made);
    return made;
  }

  /** Some turns later: an answer, or none where the call has waited for longer than it may. */
  private async later(request: Request, answer: () => Uint8Array): Promise<void> {
    const output = this.output(request.connection.socket);
    const came = performance.now();
    for (let turns = this.random.below(12); turns > 0; turns--) await turn();
    const isLate = request.timeout > 0 && performance.now() - came > request.timeout;
    if (isLate || (request.timeout < 100 && this.random.chance(0.1))) {
      this.dropped++;
      return;
    }
    if (this.random.chance(0.03)) output.write(exceptionFrame(request.id, BUSY, 'later'));
    else output.write(answer());
  }

  private scan(request: Request): Uint8Array {
    const asked = readScanRequest(request);
    const { id } = request;
    if (asked.scannerId === undefined) {
      const start = Buffer.from(asked.scan?.startRow ?? []).toString();
      const from =
        start === '' ? 0 : Number(start.slice(1)) + (asked.scan?.includeStartRow === false ? 1 : 0);
      this.open.set(++this.opened, { position: from, seq: 0, isAsked: false });
      return this.rows(id, this.opened, asked.numberOfRows ?? 1);
    }
    const scanner = this.open.get(asked.scannerId);
    if (scanner === undefined) return exceptionFrame(id, 'UnknownScannerException', 'who?', true);
    if (asked.closeScanner) {
      this.open.delete(asked.scannerId);
      return answerFrame(id, encodeMessage(ScanResponse, { moreResults: false }));
    }
    if (BigInt(asked.nextCallSeq ?? 0) !== BigInt(scanner.seq)) {
      return exceptionFrame(id, 'OutOfOrderScannerNextException', 'not so', true);
    }
    scanner.seq++;
    return this.rows(id, asked.scannerId, asked.numberOfRows ?? 1);
  }

  private rows(id: number, scannerId: bigint, count: number): Uint8Array {
    const scanner = this.open.get(scannerId)!;
    const rows = Array.from({ length: Math.max(0, Math.min(count, ROWS - scanner.position)) }, (_, i) =>
      rowOf(scanner.position + i),
    );
    scanner.position += rows.length;
    const isEnd = scanner.position >= ROWS;
    if (isEnd) this.open.delete(scannerId);
    const answer = {
      cellsPerResult: rows.map(() => 1),
      scannerId,
      ttl: 60_000,
      moreResults: !isEnd,
      moreResultsInRegion: !isEnd,
    };
    return answerFrame(
      id,
      encodeMessage(ScanResponse, answer),
      cellBlock(rows.map((row) => [row, 'f', 'q', 1, 4, 'v'.repeat(this.random.below(3000))])),
    );
  }
}

/** One scan with an end drawn at random; answers whether it gave every row. */
async function oneScan(table: Table, random: Random): Promise<boolean> {
  const end = random.pick(['whole', 'whole', 'abort', 'close', 'timeout', 'get'] as const);
  const aborter = new AbortController();
  const timeout = end === 'timeout' ? 1 + random.below(20) : 600_000;
  if (end === 'get') {
    await table
      .get(new Get('r'), { timeout: random.chance(0.5) ? 1 + random.below(5) : 600_000 })
      .catch(() => undefined);
    return false;
  }
  const scanner = table.scan(new Scan().setCaching(1 + random.below(20)), {
    signal: aborter.signal,
    timeout,
  });
  let rows = 0;
  const leaveAt = random.below(ROWS);
  try {
    for await (const { row } of scanner) {
      expect(Buffer.from(row).toString()).toBe(rowOf(rows++));
      if (random.chance(0.1)) await turn();
      if (end === 'close' && rows > leaveAt) break;
      if (end === 'abort' && rows > leaveAt) setImmediate(() => aborter.abort());
    }
  } catch (error) {
    expect([end, (error as { code?: string }).code]).toEqual([
      end,
      end === 'abort' ? 'ERR_ABORTED' : 'ERR_TIMEOUT',
    ]);
    return false;
  }
  return end === 'whole' && rows === ROWS;
}

it('scans beside each other in a storm', async () => {
  let whole = 0;
  const seed = Number(process.env['ROWAN_SEED'] ?? 1);
  for (let storm = 0; storm < STORMS; storm++) {
    const random = new Random(seed * 1_000_003 + storm);
    const server = new StormyServer(random);
    const peer = await FakePeer.start(server.handle);
    const lost: string[] = [];
    const engine = await connectHBase({
      masters: [peer.address],
      pause: 1,
      retries: 1000,
      onEvent: (event) => {
        if (event.kind === 'disconnected') lost.push(event.error.message);
      },
    });
    try {
      const table = engine.table('t');
      const ended = await Promise.all(Array.from({ length: SCANS }, () => oneScan(table, random)));
      whole += ended.filter(Boolean).length;
      await expect.poll(() => server.open.size, { timeout: 120_000, message: `storm ${storm}` }).toBe(0);
      expect([storm, lost, engine.metrics().openScanners]).toEqual([storm, [], 0]);
    } finally {
      await engine.close();
      await peer.stop();
    }
  }
  expect(whole).toBeGreaterThan(STORMS);
});

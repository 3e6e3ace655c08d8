/** What the answers of a hostile server cost a process with a heap of 512 MB. The server is in another process: this one. */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bundleOfText } from '../bundle.js';
import { answerFrame, FakePeer } from './fake-peer.js';

const run = promisify(execFile);
const MEBIBYTE = 1 << 20;
const LARGE = 100 * MEBIBYTE;
const LIMIT = 128 * MEBIBYTE;

/** A length-delimited field of many bytes. */
function field(number: number, content: Buffer): Buffer {
  const head: number[] = [number * 8 + 2];
  let length = content.length;
  for (; length > 127; length = Math.floor(length / 128)) head.push((length % 128) | 128);
  return Buffer.concat([Buffer.from(head), Buffer.of(length), content]);
}

/** `unit` again and again. */
const repeated = (unit: readonly number[], bytes: number): Buffer => {
  const out = Buffer.alloc(bytes - (bytes % unit.length));
  return out.fill(Buffer.from(unit));
};

interface Case {
  /** What lies in the answer; the table that is asked has this name. */
  readonly name: string;
  readonly method: 'Get' | 'Scan' | 'Multi' | 'GetTableDescriptors';
  make(): Buffer;
}

const CASES: readonly Case[] = [
  { name: 'zeroes', method: 'Scan', make: () => field(1, Buffer.alloc(30 * MEBIBYTE)) },
  { name: 'flags', method: 'Scan', make: () => field(7, Buffer.alloc(LARGE, 1)) },
  { name: 'cells', method: 'Get', make: () => field(1, repeated([0x0a, 3, 0x0a, 1, 0x72], LARGE)) },
  { name: 'rows', method: 'Scan', make: () => field(5, repeated([0x0a, 3, 0x0a, 1, 0x72], LARGE)) },
  {
    name: 'pieces',
    method: 'Scan',
    make: () => repeated([0x2a, 5, 0x0a, 3, 0x0a, 1, 0x72], LARGE),
  },
  { name: 'exceptions', method: 'Multi', make: () => field(1, repeated([0x12, 3, 0x0a, 1, 0x78], LARGE)) },
  { name: 'tables', method: 'GetTableDescriptors', make: () => repeated([0x0a, 0], LARGE) },
  { name: 'too_large', method: 'Get', make: () => Buffer.alloc(LIMIT + 2 * MEBIBYTE) },
];

/** Asks for each case, one after the other; prints what came of it, and the most memory that was ever resident. */
const PROGRAM = `
  const { connectHBase } = await import('./src/hbase/engine.ts');
  const { Get, Scan } = await import('./src/table/index.ts');
  const [address, maxFrameSize, cases] = process.argv.slice(2).map((text) => JSON.parse(text));
  const times = { operationTimeout: 600000, rpcTimeout: 600000, scannerTimeout: 600000 };
  const engine = await connectHBase({ masters: [address], pause: 1, retries: 1, maxFrameSize, ...times });
  await engine.table('warm').get(new Get('r'));
  const calls = {
    Get: (table) => table.get(new Get('r')),
    Scan: (table) => table.scan(new Scan()).nextBatch(10),
    Multi: (table) => table.getAll([new Get('a'), new Get('b')]),
    GetTableDescriptors: () => engine.admin.listTables(),
  };
  const codes = [];
  for (const [name, method] of cases) {
    codes.push(await calls[method](engine.table(name)).then(() => 'none', (error) => error.code));
  }
  const neighbour = await engine.table('warm').exists(new Get('n'));
  await engine.close();
  // What resourceUsage has of it may be the parent's.
  const { readFileSync } = await import('node:fs');
  const most = /VmHWM:\\s*(\\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
  console.log(JSON.stringify({ codes, neighbour, whole: Math.round(Number(most) / 1024) }));`;

describe.runIf(process.platform === 'linux')('a process of 512 MB', () => {
  let peer: FakePeer;
  beforeEach(async () => {
    peer = await FakePeer.start();
  });
  afterEach(async () => {
    await peer.stop();
  });

  /** Answers the first two requests of each case with it. */
  const spoil = (cases: readonly Case[]): void => {
    const spoilt = new Map<Case, number>();
    peer.handler = ({ method, param, id, connection }) => {
      const text = Buffer.from(param).toString('latin1');
      if (method === 'GetActiveMaster') {
        const { port } = peer;
        const name = Buffer.concat([
          Buffer.of(0x0a, 9),
          Buffer.from('127.0.0.1'),
          Buffer.of(0x10, (port & 127) | 128, ((port >> 7) & 127) | 128, port >> 14),
        ]);
        connection.raw(answerFrame(id, field(1, name)));
        return true;
      }
      if (text.includes('hbase:meta')) return false;
      const found = cases.find(
        (one) => one.method === method && (method === 'GetTableDescriptors' || text.includes(one.name)),
      );
      const times = found === undefined ? 2 : (spoilt.get(found) ?? 0);
      if (found === undefined || times > 1) return false;
      spoilt.set(found, times + 1);
      connection.raw(answerFrame(id, found.make()));
      return true;
    };
  };

  it.each(CASES)('lives through many $name', async (one) => {
    spoil([one]);
    const asked = [[one.name, one.method]];
    const given = [peer.address, LIMIT, asked].map((value) => JSON.stringify(value));
    const flags = ['--max-old-space-size=512', bundleOfText(PROGRAM)];
    const { stdout } = await run(process.execPath, [...flags, ...given]);
    const { codes, neighbour, whole } = JSON.parse(stdout) as {
      codes: string[];
      neighbour: boolean;
      whole: number;
    };
    expect(codes).toEqual([expect.stringMatching(/^ERR_(TOO_LARGE|CORRUPTION|REMOTE)$/)]);
    expect(neighbour).toBe(false);
    expect(whole, 'MiB of resident memory at the most').toBeLessThan(300);
  });
});

/** What the answers of a hostile server cost a process with a heap of 512 MB. The server is in another process: this one. */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { answerFrame, FakePeer } from './fake-peer.js';

const run = promisify(execFile);
const MEBIBYTE = 1 << 20;
const END = 55_000;

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

describe.runIf(process.platform === 'linux')('a process of 512 MB', () => {
  let peer: FakePeer;
  beforeEach(async () => {
    peer = await FakePeer.start();
  });
  afterEach(async () => {
    await peer.stop();
  });

  const LARGE = 100 * MEBIBYTE;
  const inlineCells = (): Buffer => field(1, repeated([0x0a, 3, 0x0a, 1, 0x72], LARGE));
  const ANSWERS: Readonly<Record<string, readonly [string, () => Buffer]>> = {
    'zero cells a result, thirty million times': ['Scan', () => field(1, Buffer.alloc(30 * MEBIBYTE))],
    'partial flags without results': ['Scan', () => field(7, Buffer.alloc(LARGE, 1))],
    'cells of five bytes in a get': ['Get', inlineCells],
    'cells of five bytes in a scan': ['Scan', () => field(5, repeated([0x0a, 3, 0x0a, 1, 0x72], LARGE))],
    'exceptions for the one action of a Multi': [
      'Multi',
      () => field(1, repeated([0x12, 3, 0x0a, 1, 0x78], LARGE)),
    ],
    'tables without anything': ['GetTableDescriptors', () => repeated([0x0a, 0], LARGE)],
    'an answer above the limit': ['Get', () => Buffer.alloc(160 * MEBIBYTE)],
  };

  const PROGRAM = `
    const { connectHBase } = await import('./src/hbase/engine.ts');
    const { Get, Scan } = await import('./src/table/index.ts');
    const engine = await connectHBase({ masters: [process.argv[1]], pause: 1, retries: 1, operationTimeout: 20000, rpcTimeout: 20000 });
    const table = engine.table('t');
    await table.get(new Get('warm'));
    const calls = {
      Get: () => table.get(new Get('r')),
      Scan: () => table.scan(new Scan()).nextBatch(10),
      Multi: () => table.getAll([new Get('a'), new Get('b')]),
      GetTableDescriptors: () => engine.admin.listTables(),
    };
    const code = await calls[process.argv[2]]().then(() => 'none', (error) => error.code);
    const neighbour = await engine.table('other').exists(new Get('n'));
    await engine.close();
    // The most that was ever resident; what resourceUsage has of it may be the parent's.
    const { readFileSync } = await import('node:fs');
    const most = /VmHWM:\\s*(\\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
    console.log(JSON.stringify({ code, neighbour, whole: Math.round(Number(most) / 1024) }));`;

  it.each(Object.entries(ANSWERS))('lives through %s', async (_, [method, make]) => {
    const message = make();
    let spoilt = 0;
    peer.handler = ({ method: asked, param, id, connection }) => {
      const isMeta = asked === 'Scan' && Buffer.from(param).includes('hbase:meta');
      if (asked === 'GetActiveMaster') {
        const port = peer.port;
        const name = Buffer.concat([
          Buffer.of(0x0a, 9),
          Buffer.from('127.0.0.1'),
          Buffer.of(0x10, (port & 127) | 128, ((port >> 7) & 127) | 128, port >> 14),
        ]);
        connection.raw(answerFrame(id, field(1, name)));
        return true;
      }
      const isOther = Buffer.from(param).includes('other') || Buffer.from(param).includes('warm');
      if (asked !== method || isMeta || isOther || spoilt > 1) return false;
      spoilt++;
      connection.raw(answerFrame(id, message));
      return true;
    };
    const args = ['--max-old-space-size=512', '--import', 'tsx', '--input-type=module', '--eval', PROGRAM];
    const { stdout } = await run(process.execPath, [...args, peer.address, method], { timeout: END });
    const { code, neighbour, whole } = JSON.parse(stdout) as {
      code: string;
      neighbour: boolean;
      whole: number;
    };
    expect(code).toMatch(/^ERR_(TOO_LARGE|CORRUPTION|REMOTE)$/);
    expect(neighbour).toBe(false);
    expect(whole, 'MiB of resident memory at the most').toBeLessThan(300);
  });
});

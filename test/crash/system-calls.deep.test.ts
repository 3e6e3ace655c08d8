/** What a real process asks of the system: recorded, played again, and made to fail. Needs gcc; runs in deep only. */

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toLatin1 } from '../../src/bytes/index.js';
import { type EmbeddedEngine, openEmbedded } from '../../src/store/engine.js';
import { Scan } from '../../src/table/index.js';
import { record } from '../proof/evidence.js';
import { seededRandom } from './seeded-random.js';
import { Replay, readRecords } from './system-calls/replay.js';

const EIO = 5;
const EMFILE = 24;
const ENOSPC = 28;
/** Rows that each of eight clients writes. */
const ROWS = 24;

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowan-calls-'));
  const source = join(process.cwd(), 'test/crash/system-calls/shim.c');
  execFileSync('gcc', [
    '-shared',
    '-fPIC',
    '-O1',
    '-o',
    join(folder, 'shim.so'),
    source,
    '-ldl',
    '-lpthread',
  ]);
});

afterAll(() => rmSync(folder, { recursive: true }));

/** Runs the writer under the shim; the root folder and the record of its calls. */
function run(name: string, first = 0, fail?: string): { root: string; log: string; errors: string } {
  const root = join(folder, name);
  const log = join(folder, `${name}-${first}.log`);
  mkdirSync(root, { recursive: true });
  const { status, stderr } = spawnSync(
    process.execPath,
    [
      '--import',
      'tsx',
      join(process.cwd(), 'test/crash/system-calls/writer.ts'),
      root,
      `${first}`,
      `${ROWS}`,
    ],
    {
      encoding: 'utf8',
      env: {
        ...process.env,
        LD_PRELOAD: join(folder, 'shim.so'),
        ROWAN_SHIM_ROOT: root,
        ROWAN_SHIM_LOG: log,
        ...(fail === undefined ? {} : { ROWAN_SHIM_FAIL: fail }),
      },
    },
  );
  expect(status, stderr).toBe(0);
  return { root, log, errors: stderr };
}

/** Every row is whole, and every acknowledged one is there. */
async function check(engine: EmbeddedEngine, acknowledged: readonly string[]): Promise<void> {
  const found = new Set<string>();
  if (await engine.admin.tableExists('t')) {
    for await (const result of engine.table('t').scan(new Scan())) {
      const row = toLatin1(result.row);
      const [a, b] = ['a', 'b'].map((family) => result.getValue(family, 'v'));
      if (!a || !b || toLatin1(a) !== toLatin1(b) || !toLatin1(a).startsWith(`${row} `))
        throw new Error(`${row} is not whole`);
      found.add(row);
    }
  }
  const lost = acknowledged.filter((row) => !found.has(row));
  if (lost.length > 0) throw new Error(`${lost.length} acknowledged rows are lost: ${lost.slice(0, 5)}`);
  await engine.verify();
}

describe('the system calls of a real process', () => {
  it('leave, wherever the power goes, a store with everything acknowledged', async () => {
    const { root, log } = run('power');
    run('power', ROWS);
    const records = [log, join(folder, `power-${ROWS}.log`)].flatMap(readRecords);
    const replay = new Replay(root);
    const random = seededRandom(3);
    let states = 0;
    for (const [index, each] of records.entries()) {
      if (!(await replay.play(each))) continue;
      for (const keepUnsynced of [0, 0.5, 0.5, 1]) {
        const files = replay.disk.crash({ keepUnsynced, random, unit: index % 2 === 0 ? 512 : 4096 });
        const engine = await openEmbedded(join(root, 'db'), { fileSystem: files, automatic: false });
        try {
          await check(engine, replay.acknowledged);
        } catch (error) {
          throw new Error(`after call ${index} (${each.kind} ${each.path}), keep ${keepUnsynced}: ${error}`);
        } finally {
          await engine.close();
        }
        states++;
      }
    }
    expect(replay.acknowledged.length).toBe(2 * 8 * ROWS);
    expect(states).toBeGreaterThan(2000);
    record('system-calls', { 'system calls': records.length, 'states after a loss of power': states });
  });

  it.each([
    ['write', EIO, 40],
    ['short', EIO, 25],
    ['write', ENOSPC, 40],
    ['sync', EIO, 40],
    ['open', EMFILE, 40],
    ['rename', EIO, 2],
    ['unlink', EIO, 8],
    ['link', EIO, 1],
    ['mkdir', EIO, 1],
  ])(
    'may fail (%s, errno %d): errors are typed and nothing acknowledged is lost',
    async (call, errno, most) => {
      let runs = 0;
      for (let number = 0; number < most; number = number * 2 + 1) {
        const { root } = run(`${call}-${errno}-${number}`, 0, `${call} ${number} ${errno}`);
        const acknowledged = readFileSync(join(root, 'acks'), 'utf8').split('\n').slice(0, -1);
        const engine = await openEmbedded(join(root, 'db'), { background: 'inline', automatic: false });
        await check(engine, acknowledged);
        await engine.close();
        runs++;
      }
      record('system-calls', { 'runs with a failing call': runs });
    },
  );
});

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { toLatin1 } from '../../src/bytes/index.js';
import { openEmbedded } from '../../src/store/engine.js';
import { Scan } from '../../src/table/index.js';
import { record } from '../proof/evidence.js';
import { mayGoOn } from '../proof/scale.js';
import { GROUP, idOf } from './list-rows.js';
import { runScript } from './run-script.js';
import { seededRandom } from './seeded-random.js';

/** HBase's integration test has as many in each layer. */
const NODES = 1_000_000;
/** Groups that a life writes at most, before it is killed. */
const LIFE = 200;

it('a million rows that each name an earlier one: no name leads nowhere, however often the writer is killed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rowan-list-'));
  const random = seededRandom(7);
  const done = new Uint8Array(NODES + 100 * GROUP);
  let next = 0;
  let there = -1;
  let kills = 0;
  try {
    while (next < NODES && mayGoOn()) {
      const writer = runScript('test/crash/list-writer.ts', [folder, next, NODES, there].map(String));
      const ended = writer.line((line) => line === 'end.').catch(() => undefined);
      await Promise.race([ended, writer.count(2 + Math.floor(random() * LIFE * 2))]);
      writer.kill();
      if ((await writer.exit) === 'SIGKILL') kills++;
      for (const line of writer.lines) {
        const [what, number] = line.slice(0, -1).split(' ');
        if (what === 'begun') next = Math.max(next, Number(number) + 1);
        if (what !== 'done') continue;
        there = Number(number);
        done.fill(1, there - GROUP + 1, there + 1);
      }
    }
    const found = await check(folder, done);
    record('linked-list', { rows: found, kills });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/** Reads everything; the number of rows. */
async function check(folder: string, done: Uint8Array): Promise<number> {
  const engine = await openEmbedded(folder);
  const found = new Uint8Array(done.length);
  const named = new Uint8Array(done.length);
  let rows = 0;
  for await (const result of engine.table('t').scan(new Scan())) {
    found[idOf(toLatin1(result.row))] = 1;
    named[Number(toLatin1(result.getValue('f', 'before')!))] = 1;
    rows++;
  }
  let lost = 0;
  let undefinedNames = 0;
  for (let id = 0; id < done.length; id++) {
    if (done[id] === 1 && found[id] === 0) lost++;
    if (named[id] === 1 && found[id] === 0) undefinedNames++;
  }
  expect({ lost, undefinedNames }).toEqual({ lost: 0, undefinedNames: 0 });
  expect(rows).toBeGreaterThan(0);
  await engine.verify();
  await engine.close();
  return rows;
}

import { describe, expect, it } from 'vitest';
import { RowanError } from '../../src/errors.js';
import { repairStore } from '../../src/store/repair/repair.js';
import { record } from '../proof/evidence.js';
import { scaled } from '../proof/scale.js';
import { makeStore, open, readAll } from './sample-store.js';
import { seededRandom } from './seeded-random.js';
import { STORE } from './workload.js';

/** Every how many bytes one bit is changed. */
const STRIDE = scaled(640, 97, 3);

describe.each([
  ['a store that was closed', true],
  ['a store whose process died', false],
] as const)('the repair of %s with one changed bit', (_, closed) => {
  it('makes it open again with nothing that was not in it, and says what is missing', async () => {
    const store = await makeStore(closed);
    const engine = await open(store.crash({ keepUnsynced: 1, random: () => 0 }));
    const expected = new Set((await readAll(engine)).split('\n'));
    await engine.close();
    const random = seededRandom(6);
    let repaired = 0;
    let saved = 0;
    for (const name of store.readdir(STORE).filter((each) => each !== 'LOCK')) {
      const path = `${STORE}/${name}`;
      const length = store.fileSize(path);
      for (let at = Math.floor(random() * 20); at < length; at += STRIDE) {
        const files = store.crash({ keepUnsynced: 1, random: () => 0 });
        files.contents(path)[at]! ^= 1 << Math.floor(random() * 8);
        const where = `${name} at ${at}`;
        const report = await repairStore(STORE, files).catch((error: unknown) => error);
        if (!isReport(report)) {
          // Without a MANIFEST there is nothing to go by.
          if (!(report instanceof RowanError) || !/^(MANIFEST|CURRENT)/.test(name))
            throw new Error(`${where}: ${String(report)}`, { cause: report });
          continue;
        }
        repaired++;
        const after = await open(files).catch((cause: unknown) => {
          throw new Error(`${where}: it is still refused: ${String(cause)}`, { cause });
        });
        // The edit that made the table may be what is lost.
        const found = (await after.admin.tableExists('t')) ? (await readAll(after)).split('\n') : [];
        await after.verify();
        await after.close();
        const wrong = found.filter((line) => !expected.has(line));
        if (wrong.length > 0) throw new Error(`${where}: ${wrong.length} lines that never were: ${wrong[0]}`);
        const complete = new Set(found).size === expected.size;
        if (!complete && report.lost.length === 0) throw new Error(`${where}: it lost data without a word`);
        saved += found.length;
        expect(files.openHandles).toBe(0);
      }
    }
    expect(repaired).toBeGreaterThan(20);
    expect(saved / repaired).toBeGreaterThan(expected.size / 3);
    record('repair', { 'damaged stores repaired': repaired });
  });
});

function isReport(value: unknown): value is Awaited<ReturnType<typeof repairStore>> {
  return typeof value === 'object' && value !== null && 'setAside' in value;
}

/** `rowan rekey` on a real HBase, each step a process of its own to the servers, beside a program that writes. */

import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { New, Old } from '../../cli/fixtures/rekeyed.js';
import { run } from '../../cli/run.js';
import { openTestStore, type TestStore } from '../../query/test-database.js';
import { sharedHBase } from '../connect.js';

const MODULE = fileURLToPath(new URL('../../../build/test/cli/fixtures/rekeyed.js', import.meta.url));
const PATIENCE = 900_000;

let store: TestStore;
beforeAll(() => {
  store = openTestStore();
});
afterAll(() => store.dispose());

test(
  'keys are planned, run, aborted, run again, cut over and cleaned up',
  async () => {
    const place = `hbase:${sharedHBase().masters.join()}`;
    const rekey = (step: string, ...flags: string[]) =>
      run('rekey', step, MODULE, place, 'Old', 'New', ...flags);
    const conflict = { code: 1, err: expect.stringContaining('ERR_CONFLICT') };
    const db = await store.open(Old, New);
    const olds = db.repository(Old);
    const sizes = async (target: typeof Old): Promise<number[]> => {
      const all = await db.repository(target).find({}, { fullScan: true }).all();
      return all.map(({ size }) => size).sort();
    };
    const plannedSteps = async (): Promise<unknown> => (await db.schema.plan()).steps;
    const put = (size: number) => olds.put({ id: `t${size}`, color: 'red', size });
    await olds.putMany([1, 2, 3].map((size) => ({ id: `t${size}`, color: 'red', size })));

    expect((await rekey('plan')).out).toContain('state not started');
    expect(await rekey('status')).toMatchObject({ code: 0, out: 'Not begun.\n' });
    expect(await rekey('pause')).toMatchObject(conflict);
    expect(await rekey('cutover')).toMatchObject(conflict);
    expect(await rekey('run')).toMatchObject({ code: 0, out: 'ready, run 1\n' });
    expect(await rekey('abort')).toMatchObject({ code: 0, out: 'aborted, run 1\n' });
    expect(await sizes(New)).toEqual([]);
    await put(4);
    expect(await rekey('run', '--rate', '100000')).toMatchObject({ code: 0, out: 'ready, run 2\n' });
    expect(await plannedSteps()).toEqual([]);
    // Behind what was copied: the cut-over takes it along.
    await put(5);
    await olds.delete({ id: 't1' });
    expect(JSON.parse((await rekey('status', '--json')).out)).toMatchObject({ state: 'ready', run: 2 });
    expect(await rekey('cutover')).toMatchObject({
      code: 0,
      out: 'cut-over, run 2\nverified 4 rows: 0 missing, 0 extra, 0 different, 0 unkeyed, 0 wrong entries\n',
    });
    expect(await plannedSteps()).toEqual([]);
    await expect(put(6)).rejects.toMatchObject({ code: 'ERR_READONLY' });
    expect(await rekey('abort')).toMatchObject(conflict);
    await db.repository(New).put({ id: 't7', color: 'blue', size: 7 });
    expect((await rekey('cleanup')).out).toContain('done, run 2');
    expect(await sizes(New)).toEqual([2, 3, 4, 5, 7]);
    expect(await sizes(Old)).toEqual([]);
    expect(await plannedSteps()).toEqual([]);
    expect((await rekey('run', '--rate', 'fast')).code).not.toBe(0);
    await db.close();
  },
  PATIENCE,
);

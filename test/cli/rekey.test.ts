import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { open } from '../../src/database.js';
import { New, Old } from './fixtures/rekeyed.js';
import { run } from './run.js';

const MODULE = fileURLToPath(new URL('../../build/test/cli/fixtures/rekeyed.js', import.meta.url));

test('keys are planned, run, cut over and cleaned up, or aborted', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rowan-rekey-'));
  const store = join(folder, 'store');
  const rekey = (step: string, from = 'Old', to = 'New') => run('rekey', step, MODULE, store, from, to);
  const sizes = async (target: typeof Old | typeof New): Promise<number[]> => {
    await using db = await open({ path: store, entities: [Old, New] });
    return (
      await db
        .repository(target as typeof Old)
        .find({}, { fullScan: true })
        .all()
    )
      .map(({ size }) => size)
      .sort();
  };
  try {
    await using db = await open({ path: store, entities: [Old, New] });
    await db.repository(Old).putMany([1, 2, 3].map((size) => ({ id: `t${size}`, color: 'red', size })));
    await db.close();
    expect((await rekey('plan')).out).toContain('state not started');
    expect(await rekey('status')).toMatchObject({ code: 0, out: 'Not begun.\n' });
    expect(await rekey('pause')).toMatchObject({ code: 1, err: expect.stringContaining('ERR_CONFLICT') });
    expect((await rekey('run')).out).toBe(
      'ready, run 1\nverified 3 rows: 0 missing, 0 extra, 0 different, 0 unkeyed, 0 wrong entries\n',
    );
    expect((await rekey('abort')).out).toContain('aborted, run 1');
    expect((await rekey('run')).out).toContain('ready, run 2');
    expect((await rekey('cutover')).out).toContain('cut-over');
    expect((await rekey('cleanup')).out).toContain('done');
    expect(await sizes(New)).toEqual([1, 2, 3]);
    expect(await sizes(Old)).toEqual([]);
    expect((await rekey('run', 'Old', 'Neu')).code).toBe(1);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

/** A process that deploys migrations is killed after each step. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openEmbedded } from '../../../src/store/engine.js';
import { MemoryFileSystem } from '../../../src/testing/index.js';
import { runScript } from '../../crash/run-script.js';
import { type Release, toolsOf } from './releases.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowan-migrate-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('a process that deploys may be killed after any step: the next one goes on', async () => {
  const store = join(folder, 'store');
  const migrations = join(folder, 'migrations');
  const table = 'shop:orders';
  const release: Release = { versions: 3, extra: true, byStatus: true, byKind: true, note: true };
  const planner = await openEmbedded('/store', { fileSystem: new MemoryFileSystem() });
  await toolsOf(planner, table, {}).makeMigration(migrations, { title: 'first' });
  await toolsOf(planner, table, release).makeMigration(migrations, { title: 'second' });
  await planner.close();
  const seen: string[] = [];
  for (;;) {
    const args = [store, migrations, table, JSON.stringify(release), '1'];
    const script = runScript('test/ddl/migrate/deploy-process.ts', args);
    const line = await script.line((each) => each === 'stopped' || each.startsWith('deployed'));
    seen.push(...script.lines.filter((each) => each.startsWith('done ')));
    if (line !== 'stopped') {
      expect(await script.exit).toBe(0);
      break;
    }
    script.kill();
    await script.exit;
  }
  expect(seen.length).toBeGreaterThan(2);
  expect(seen).toEqual([...new Set(seen)]);
  const engine = await openEmbedded(store);
  try {
    const tools = toolsOf(engine, table, release);
    expect(await tools.migrationStatus(migrations)).toMatchObject({ upToDate: true, drift: [] });
    const history = await tools.history();
    expect(history.every(({ intact }) => intact)).toBe(true);
    // The process that was killed after the last step left nothing for the next one to record.
    expect(history.map(({ state }) => state)).toEqual(
      seen.map((_, at) => (at < seen.length - 1 ? 'abandoned' : 'running')),
    );
  } finally {
    await engine.close();
  }
});

import { afterEach, beforeEach, expect, test } from 'vitest';
import { openEmbedded } from '../../src/store/engine.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { goldenOf, rowanSteps, scriptOf } from './golden.js';

let timeZone: string | undefined;
beforeEach(() => {
  timeZone = process.env['TZ'];
  process.env['TZ'] = 'UTC';
});
afterEach(() => {
  if (timeZone === undefined) delete process.env['TZ'];
  else process.env['TZ'] = timeZone;
});

test('the embedded engine answers every statement as the shell of HBase did', async () => {
  const engine = await openEmbedded('/store', { fileSystem: new MemoryFileSystem() });
  try {
    const golden = goldenOf('statements');
    expect(golden.length).toBeGreaterThan(500);
    expect(await rowanSteps(engine, scriptOf('statements'))).toEqual(golden);
  } finally {
    await engine.close();
  }
});

import { openEmbedded } from '../../../src/store/engine.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import type { EngineUnderTest } from '../harness.js';

/** The embedded engine in memory, which does in the background only what it is asked for. */
export const embeddedEngine: EngineUnderTest = {
  name: 'the embedded engine',
  settableClock: true,
  async open(options = {}) {
    const engine = await openEmbedded('/store', {
      fileSystem: new MemoryFileSystem(),
      automatic: false,
      ...(options.clock ? { clock: options.clock.now } : {}),
      ...(options.random ? { random: options.random } : {}),
    });
    return { engine, close: () => engine.close() };
  },
};

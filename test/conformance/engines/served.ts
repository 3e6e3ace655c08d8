import { connectHBase } from '../../../src/hbase/engine.js';
import { serve } from '../../../src/server/server.js';
import { openEmbedded } from '../../../src/store/engine.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import type { EngineUnderTest } from '../harness.js';

/** The HBase engine, connected to an embedded store in memory that is served in the same process. */
export const servedEngine: EngineUnderTest = {
  name: 'the HBase engine on a served store',
  settableClock: true,
  async open(options = {}) {
    const store = await openEmbedded('/store', {
      fileSystem: new MemoryFileSystem(),
      automatic: false,
      ...(options.clock ? { clock: options.clock.now } : {}),
      ...(options.random ? { random: options.random } : {}),
    });
    const server = await serve(store, { listen: '127.0.0.1:0' });
    const engine = await connectHBase({ masters: [server.endpoint], user: 'test', pause: 10, retries: 3 });
    return {
      engine,
      async close() {
        await engine.close();
        await server.close();
        await store.close();
      },
    };
  },
};

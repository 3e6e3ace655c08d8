import { openEmbedded } from '../../src/store/engine.js';
import type { EmbeddedOptions } from '../../src/store/options.js';
import type { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { digestOf, type Promised, STORE, smallStore } from './workload.js';

/**
 * Opens what a crash left, with `options`. Throws unless it is one of the states that may be found; returns which.
 */
export async function checkRecovered(
  files: MemoryFileSystem,
  promised: Promised,
  options: Partial<EmbeddedOptions> = {},
): Promise<number> {
  const engine = await openEmbedded(STORE, smallStore(files, { automatic: false, ...options }));
  try {
    const found = await digestOf(engine);
    await engine.verify();
    for (let k = promised.most; k >= promised.least; k--) if (promised.states[k] === found) return k;
    const earlier = promised.states.indexOf(found);
    throw new Error(
      earlier >= 0
        ? `state ${earlier} was found; ${promised.least} changes were acknowledged`
        : `a state was found that never was, instead of ${promised.least} to ${promised.most}:\n${found}\n--- expected\n${promised.states[promised.most]}`,
    );
  } finally {
    await engine.close();
  }
}

/**
 * Deploys the migrations of a folder on a store, prints each step, and stops for good after so many of them: the test kills it
 * there. `deploy-process.ts store folder table release stopAfter`
 */

import { openEmbedded } from '../../../src/store/engine.js';
import { type Release, toolsOf } from './releases.js';

const [store, folder, table, release, stopAfter] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
  string,
];
const engine = await openEmbedded(store);
let steps = 0;
const { applied } = await toolsOf(engine, table, JSON.parse(release) as Release).deploy(folder, {
  leaseMs: 400,
  onStep: ({ id }) => {
    process.stdout.write(`done ${id}\n`);
    steps++;
    if (steps === Number(stopAfter)) {
      process.stdout.write('stopped\n');
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    }
  },
});
process.stdout.write(`deployed ${applied.join(' ')}\n`);
await engine.close();

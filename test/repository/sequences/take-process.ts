/** Takes numbers of a sequence on a store and prints each, until it is killed: `take-process.ts store block` */

import { openEmbedded } from '../../../src/store/engine.js';
import { sequencesOn } from './suite.js';

const [store, block] = process.argv.slice(2) as [string, string];
const engine = await openEmbedded(store);
const tickets = sequencesOn(engine).sequence('tickets', { per: 'tenantId', block: Number(block) });
for (;;) {
  const tenantId = Math.random() < 0.5 ? 'a' : 'b';
  process.stdout.write(`${tenantId} ${await tickets.next({ tenantId })}\n`);
}

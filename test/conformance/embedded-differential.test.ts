import { describeDifferential } from './differential/suite.js';
import { embeddedEngine } from './engines/embedded.js';

describeDifferential(embeddedEngine, {
  triples: 100_000,
  seed: Number(process.env['ROWAN_SEED'] ?? 1),
});

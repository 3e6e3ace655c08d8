import { scaled } from '../proof/scale.js';
import { describeDifferential } from './differential/suite.js';
import { embeddedEngine } from './engines/embedded.js';

describeDifferential(embeddedEngine, {
  triples: scaled(400, 40_000, 1_000_000),
  seed: Number(process.env['ROWAN_SEED'] ?? 1),
});

import { modelEngine } from '../conformance/engines/model.js';
import { describeVectors } from '../conformance/vectors/suite.js';
import { scaled } from '../proof/scale.js';

// The embedded engine, which is held against the model too, replays more of them.
describeVectors(
  modelEngine,
  scaled(40, 3, 1),
  scaled(15, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY),
);

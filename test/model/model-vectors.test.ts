import { modelEngine } from '../conformance/engines/model.js';
import { describeVectors } from '../conformance/vectors/suite.js';

describeVectors(modelEngine);

import { embeddedEngine } from './engines/embedded.js';
import { describeVectors } from './vectors/suite.js';

describeVectors(embeddedEngine);

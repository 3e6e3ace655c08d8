import { scaled } from '../proof/scale.js';
import { embeddedEngine } from './engines/embedded.js';
import { describeVectors } from './vectors/suite.js';

describeVectors(embeddedEngine, scaled(5, 1, 1), scaled(20, Infinity, Infinity));

import { embeddedEngine } from './engines/embedded.js';
import { describeRules } from './rules/suite.js';

describeRules(embeddedEngine);

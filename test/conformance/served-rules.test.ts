import { scaled } from '../proof/scale.js';
import { servedEngine } from './engines/served.js';
import { PLACEMENTS, type Placement } from './rules/case.js';
import { describeRules } from './rules/suite.js';

describeRules(servedEngine, scaled<readonly Placement[]>(['memstore'], PLACEMENTS, PLACEMENTS));

/** Properties that say nothing of it run as often as the size of the run asks. */

import fc from 'fast-check';
import { scaled } from './scale.js';

fc.configureGlobal({ numRuns: scaled(40, 100, 1000) });

/** Sets the default number of runs of properties from the size of the test run. */

import fc from 'fast-check';
import { scaled } from './scale.js';

fc.configureGlobal({ numRuns: scaled(25, 100, 1000) });

/** Rewrites the table of docs/reliability.md from results.json: `npx tsx test/proof/page.ts`. */

import { readFileSync, writeFileSync } from 'node:fs';
import { PAGE, pageWith, readResults } from './results.js';

writeFileSync(PAGE, pageWith(readFileSync(PAGE, 'utf8'), readResults()));

/** Renews the listings of the public interface (`npm run api`). */

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { reportPath, reports } from './report.js';

for (const report of reports()) {
  const path = reportPath(report.entry);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, report.text);
  console.log(`${report.entry.name}: ${report.names.length} exports`);
  for (const name of report.unnamed) console.log(`  mentioned and not exported: ${name}`);
}

/** `npm run test:hbase:versions [-- 2.4 2.5 2.6 3.0]`: the suites that every HBase has to pass, on one server of each version. */

import { spawn } from 'node:child_process';
import { HBASE_VERSIONS, type HBaseVersion } from './options.js';

const SUITES = [
  'test/hbase/smoke.test.ts',
  'test/hbase/copy.test.ts',
  'test/query/entity-query.test.ts',
  'test/repository/repository.test.ts',
];

function runSuites(version: HBaseVersion): Promise<boolean> {
  const args = ['vitest', 'run', '--config', 'vitest.hbase.config.ts', ...SUITES];
  const env = { ...process.env, ROWAN_HBASE_VERSION: version };
  return new Promise((resolve) => {
    const child = spawn('npx', args, { stdio: 'inherit', env });
    child.once('error', () => resolve(false));
    child.once('exit', (code) => resolve(code === 0));
  });
}

const asked = process.argv.slice(2);
const unknown = asked.filter((version) => !HBASE_VERSIONS.includes(version as HBaseVersion));
if (unknown.length > 0) throw new Error(`There are ${HBASE_VERSIONS.join(', ')}, not ${unknown.join(', ')}.`);
const outcomes: string[] = [];
for (const version of HBASE_VERSIONS) {
  if (asked.length > 0 && !asked.includes(version)) continue;
  console.log(`HBase ${version}`);
  const passed = await runSuites(version);
  outcomes.push(`HBase ${version}: ${passed ? 'passed' : 'FAILED'}`);
  if (!passed) process.exitCode = 1;
}
console.log(outcomes.join('\n'));

// Runs the files of a suite that failed once more, alone: `node .ci/again.mjs SUITE CONFIG`. What passes then is named with what
// it failed with first, so that nobody takes it for sound; more than three files, or an error outside of every test, are no accident.
import { spawnSync } from 'node:child_process';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';

const MOST = 3;
const [suite, config] = process.argv.slice(2);
const folder = process.env.ROWAN_REPORTS;
const path = join(folder, `${suite}.json`);
const first = JSON.parse(readFileSync(path, 'utf8'));
const failed = first.testResults.filter(({ status }) => status === 'failed');
if (failed.length === 0 || failed.length > MOST) process.exit(1);

const kept = join(folder, `${suite}.first`);
renameSync(path, kept);
const files = failed.map(({ name }) => relative(process.cwd(), name));
console.log(`\nOnce more, alone: ${files.join(', ')}`);
const { status } = spawnSync(
  'npx',
  ['vitest', 'run', '--config', config, '--no-file-parallelism', ...files],
  { stdio: 'inherit' },
);
if (status !== 0) {
  renameSync(kept, path);
  process.exit(1);
}
writeFileSync(
  path,
  JSON.stringify({
    ...first,
    numPassedTests: first.numPassedTests + first.numFailedTests,
    numFailedTests: 0,
    testResults: first.testResults.map((file) => ({ ...file, status: 'passed' })),
  }),
);
rmSync(kept);
console.log('\nFailed at first, and passed when run alone:');
for (const { name, message, assertionResults } of failed) {
  const tests = assertionResults.filter((test) => test.status === 'failed');
  if (tests.length === 0) console.log(`  ${relative(process.cwd(), name)}: ${message}`);
  for (const { fullName, failureMessages } of tests)
    console.log(`  ${relative(process.cwd(), name)} > ${fullName}: ${failureMessages[0]?.split('\n')[0]}`);
}

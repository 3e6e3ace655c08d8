/**
 * Takes each feature away in turn, with those that are built on it, from a copy of the project: what is left compiles, and the tests of
 * the core and of the other features pass. `npm run test:removal [feature…]`
 */

import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { takeAway } from './take-away.js';

const ROOT = join(import.meta.dirname, '../..');

/** Features, and those that are built on them. */
const FEATURES: Readonly<Record<string, readonly string[]>> = {
  copies: [],
  relations: ['copies'],
  summaries: [],
  changes: [],
  rekey: [],
  transactions: [],
  evolution: [],
};

/** Tests of the core. */
const CORE = [
  'test/repository/repository.test.ts',
  'test/repository/writes.test.ts',
  'test/repository/maintainers.test.ts',
  'test/query/entity-query.test.ts',
  'test/indexes/indexes.test.ts',
];

/** A test of each feature, which passes without the others. */
const TESTS: Readonly<Record<string, string>> = {
  copies: 'test/denormalize/copies.test.ts',
  relations: 'test/denormalize/remote-references.test.ts',
  summaries: 'test/summaries/remote.test.ts',
  changes: 'test/watch/watch.test.ts',
  rekey: 'test/rekey/rekey.test.ts',
  evolution: 'test/moves/moves.test.ts',
};

/** Tests in the files above that use a feature through `db`, by a part of their names: they are left out without it. */
const USES: Readonly<Record<string, readonly string[]>> = {
  summaries: ['keys are changed under writers, pauses, aborts'],
  changes: ['keys are changed under writers, pauses, aborts'],
  transactions: [
    'every way of writing a row gives it the values',
    'reaches more rows by the outbox, also behind a transaction',
    'keys are changed under writers, pauses, aborts',
    'a batch and a transaction are one commit',
  ],
};

const COPIED = [
  'src',
  'decorators',
  'test',
  'package.json',
  'tsconfig.json',
  'vitest.config.ts',
  'vitest.shared.ts',
];

function run(folder: string, command: string, args: readonly string[]): boolean {
  const { status, stdout, stderr } = spawnSync(join(ROOT, 'node_modules/.bin', command), args, {
    cwd: folder,
    encoding: 'utf8',
  });
  if (status !== 0) process.stdout.write(`${stdout}${stderr}`);
  return status === 0;
}

function passesWithout(feature: string): boolean {
  const taken = [feature, ...FEATURES[feature]!];
  const folder = mkdtempSync(join(tmpdir(), `rowan-without-${feature}-`));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  for (const name of COPIED) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  // Bundled, and not compiled with the rest.
  rmSync(join(folder, 'src/studio/page'), { recursive: true });
  takeAway(folder, taken);
  const { compilerOptions } = JSON.parse(readFileSync(join(ROOT, 'tsconfig.build.json'), 'utf8')) as {
    compilerOptions: object;
  };
  writeFileSync(
    join(folder, 'tsconfig.build.json'),
    JSON.stringify({
      extends: './tsconfig.json',
      // Imports of what a line used that is gone.
      compilerOptions: { ...compilerOptions, noUnusedLocals: false, declaration: false },
      include: ['src', 'decorators'],
    }),
  );
  // The bundle is not made: nothing of what is run here loads it.
  mkdirSync(join(folder, 'dist'));
  const compiles = run(folder, 'tsc', ['-p', 'tsconfig.build.json']);
  writeFileSync(join(folder, 'dist/index.js'), '');
  const tests = [
    ...CORE,
    ...Object.keys(TESTS).flatMap((name) => (taken.includes(name) ? [] : TESTS[name]!)),
  ];
  const without = taken.flatMap((name) => USES[name] ?? []);
  const pattern = without.length === 0 ? [] : ['--testNamePattern', `^(?!.*(${without.join('|')}))`];
  const passes = compiles && run(folder, 'vitest', ['run', ...tests, ...pattern]);
  process.stdout.write(
    `without ${taken.join(' and ')}: ${passes ? `compiles, ${tests.length} files of tests pass` : 'FAILS'}\n`,
  );
  if (passes) rmSync(folder, { recursive: true });
  return passes;
}

const asked = process.argv.slice(2);
const failed = (asked.length === 0 ? Object.keys(FEATURES) : asked).filter(
  (feature) => !passesWithout(feature),
);
if (failed.length > 0) process.exitCode = 1;

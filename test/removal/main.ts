/**
 * Takes each feature away in turn, with those that are built on it, from a copy of the project: what is left compiles, and the tests of
 * the core and of the other features pass. `npm run test:removal [feature…]`
 *
 * The whole is compiled once. What is left without a feature is compiled from there: the compiler checks the files that the
 * removal changes, and those that depend on them. While the tests of one run, the next is compiled. The random tests run at
 * their short size: what they prove of a feature at other sizes does not depend on which others are there.
 */

import { spawn } from 'node:child_process';
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
  mutual: [],
  computed: [],
  changes: [],
  rekey: [],
  transactions: [],
  evolution: [],
  indexes: ['copies', 'relations', 'summaries', 'rekey', 'evolution'],
};

/** Tests of the core. */
const CORE = [
  'test/repository/repository.test.ts',
  'test/repository/writes.test.ts',
  'test/repository/maintainers.test.ts',
  'test/query/entity-query.test.ts',
  'test/ddl/plan.test.ts',
  'test/database/declarations.test.ts',
  'test/cli/store.test.ts',
];

/** A test of each feature, which passes without the others. */
const TESTS: Readonly<Record<string, string>> = {
  copies: 'test/denormalize/copies.test.ts',
  relations: 'test/denormalize/remote-references.test.ts',
  summaries: 'test/summaries/remote.test.ts',
  changes: 'test/watch/watch.test.ts',
  rekey: 'test/rekey/rekey.test.ts',
  evolution: 'test/moves/bulk-load.test.ts',
  indexes: 'test/indexes/indexes.test.ts',
};

/** Tests in the files above that use a feature through `db`, by a part of their names: they are left out without it. */
const USES: Readonly<Record<string, readonly string[]>> = {
  summaries: ['keys are changed under writers, pauses, aborts'],
  changes: ['keys are changed under writers, pauses, aborts'],
  rekey: ['where a feed ends at a change of keys'],
  transactions: [
    'every way of writing a row gives it the values',
    'reaches more rows by the outbox, also behind a transaction',
    'keys are changed under writers, pauses, aborts',
    'a batch and a transaction are one commit',
  ],
  indexes: ['programs that start at once make their tables together'],
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

const PARENT = mkdtempSync(join(tmpdir(), 'rowan-without-'));

/** Runs a program of the project, and prints what it prints if it fails. @returns whether it succeeds. */
function run(folder: string, command: string, args: readonly string[]): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const child = spawn(join(ROOT, 'node_modules/.bin', command), args, {
      cwd: folder,
      env: { ...process.env, ROWAN_SCALE: 'short' },
    });
    const printed: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (part: Buffer) => printed.push(part));
    child.on('error', reject);
    child.on('close', (status) => {
      if (status !== 0) process.stdout.write(Buffer.concat(printed));
      resolve(status === 0);
    });
  });
}

const compile = (folder: string): Promise<boolean> => run(folder, 'tsc', ['-p', 'tsconfig.build.json']);

/** A copy of the project, compiled. @throws Error when it does not compile. */
async function compiledCopy(): Promise<string> {
  const folder = join(PARENT, 'nothing');
  mkdirSync(folder);
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  for (const name of COPIED) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  // Bundled, and not compiled with the rest.
  rmSync(join(folder, 'src/studio/page'), { recursive: true });
  const { compilerOptions } = JSON.parse(readFileSync(join(ROOT, 'tsconfig.build.json'), 'utf8')) as {
    compilerOptions: object;
  };
  writeFileSync(
    join(folder, 'tsconfig.build.json'),
    JSON.stringify({
      extends: './tsconfig.json',
      compilerOptions: {
        ...compilerOptions,
        // Imports of what a line used that is gone.
        noUnusedLocals: false,
        declaration: false,
        sourceMap: false,
        incremental: true,
        tsBuildInfoFile: 'build/compiled.json',
      },
      include: ['src', 'decorators'],
    }),
  );
  // The bundle is not made: nothing of what is run here loads it.
  mkdirSync(join(folder, 'dist'));
  if (!(await compile(folder))) throw new Error('What nothing is taken from does not compile.');
  return folder;
}

/** A copy of the compiled project without these features. Undefined: it does not compile. */
async function copyWithout(whole: string, taken: readonly string[]): Promise<string | undefined> {
  const folder = join(PARENT, taken[0]!);
  // With their times: tests refuse sources that are newer than what was compiled of them.
  cpSync(whole, folder, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
  for (const file of takeAway(folder, taken))
    rmSync(join(folder, 'build', file.replace(/\.ts$/, '.js')), { force: true });
  if (!(await compile(folder))) return undefined;
  // Tests refuse a bundle that is older than what it is made of.
  writeFileSync(join(folder, 'dist/index.js'), '');
  return folder;
}

async function passes(folder: string, taken: readonly string[]): Promise<boolean> {
  const tests = [
    ...CORE,
    ...Object.keys(TESTS).flatMap((name) => (taken.includes(name) ? [] : TESTS[name]!)),
  ];
  const without = taken.flatMap((name) => USES[name] ?? []);
  const pattern = without.length === 0 ? [] : ['--testNamePattern', `^(?!.*(${without.join('|')}))`];
  if (!(await run(folder, 'vitest', ['run', ...tests, ...pattern]))) return false;
  process.stdout.write(`without ${taken.join(' and ')}: compiles, ${tests.length} files of tests pass\n`);
  return true;
}

const asked = process.argv.slice(2);
const whole = await compiledCopy();
let tested: Promise<boolean> = Promise.resolve(true);
let failed = false;
for (const feature of asked.length === 0 ? Object.keys(FEATURES) : asked) {
  const taken = [feature, ...FEATURES[feature]!];
  const folder = await copyWithout(whole, taken);
  failed = !(await tested) || failed;
  tested = folder === undefined ? Promise.resolve(false) : passes(folder, taken);
  tested = tested.then((isPassed) => {
    if (!isPassed)
      process.stdout.write(`without ${taken.join(' and ')}: FAILS, see ${join(PARENT, feature)}\n`);
    else rmSync(folder!, { recursive: true });
    return isPassed;
  });
}
failed = !(await tested) || failed;
if (failed) process.exitCode = 1;
else rmSync(PARENT, { recursive: true });

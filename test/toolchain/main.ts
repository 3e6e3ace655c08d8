/**
 * The toolchain matrix (`npm run test:toolchain`, after `npm run build`): the same entities, compiled by every compiler
 * in every decorator mode, run on Node 20, 22, 24 and 26, must store and load the same; a program bundled by every bundler must
 * run with its worker; and the packed package is looked at as npm has it, and by the programs of the pages. Exits with 1
 * when one does not.
 */

import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { BUILDS, type Build, CACHE, OTHER_NODES, ROOT } from './builds.js';
import { BUNDLES, type Bundle, bundleProject } from './bundles.js';
import { CODEGEN } from './codegen.js';
import { COMMONJS } from './commonjs.js';
import { CONSUMERS } from './consumers.js';
import { CREATED } from './created.js';
import { FRAMEWORKS } from './frameworks.js';
import { SNIPPETS } from './snippets.js';

const EXPECTED = JSON.stringify({
  columns: [
    'amount float64',
    'name text',
    'note text',
    'paid boolean',
    'shippedAt date',
    'views int64',
    'photo bytes',
  ],
  found: 1,
  loaded: {
    label: 'Ann 2024-05-06T07:08:09.010Z',
    names: ['customerId', 'placedAt', 'name', 'amount', 'views', 'paid', 'shippedAt', 'photo', 'note'],
    amount: 2.5,
    views: String(12345678901234567890n % 1000000007n),
    paid: true,
    shippedAt: '1970-01-02T00:00:00.000Z',
    photo: [1, 2, 255],
    note: 'none',
  },
});

interface Runtime {
  readonly version: string;
  readonly path: string;
}

function runtimes(): Runtime[] {
  const here = { version: process.versions.node, path: process.execPath };
  return [here, ...OTHER_NODES.filter(({ version }) => !here.version.startsWith(`${version}.`))];
}

function prepare(): void {
  rmSync(CACHE, { recursive: true, force: true });
  mkdirSync(join(CACHE, 'node_modules'), { recursive: true });
  writeFileSync(join(CACHE, 'package.json'), JSON.stringify({ name: 'toolchain-fixtures', type: 'module' }));
  // Compilers look for options upwards; by this project's own they would take its sources for the package.
  const options = { extends: relative(CACHE, join(ROOT, 'tsconfig.json')), compilerOptions: { paths: {} } };
  writeFileSync(join(CACHE, 'tsconfig.json'), JSON.stringify(options));
  const installed = join(CACHE, 'node_modules/rowan-orm');
  for (const path of ['package.json', 'dist']) {
    cpSync(join(ROOT, path), join(installed, path), { recursive: true });
  }
  symlinkSync(join(ROOT, 'node_modules/vitest'), join(CACHE, 'node_modules/vitest'), 'junction');
}

/** What is wrong with a run, or undefined. */
function run(
  runtime: Runtime,
  args: readonly string[],
  folder: string,
  expected = EXPECTED,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const options = { cwd: folder, env: { ...process.env, NODE_OPTIONS: '', NO_COLOR: '1' } };
    execFile(runtime.path, [...args], options, (error, stdout, stderr) => {
      const lines = stdout.split('\n').map((text) => text.trim());
      if (lines.includes(expected)) resolve(undefined);
      else resolve(`${error === null ? 'other output' : 'it failed'}:\n${stdout}${stderr}`);
    });
  });
}

async function check(build: Build, index: number, nodes: readonly Runtime[]): Promise<string[]> {
  const folder = join(CACHE, `build-${index}`);
  let args: readonly string[];
  try {
    args = await build.make(folder);
  } catch (error) {
    return [`${build.name} does not compile: ${(error as Error).message}`];
  }
  const failures: string[] = [];
  for (const node of nodes) {
    // Node 20 strips no types.
    if (build.name.startsWith('Node alone') && node.version.startsWith('20.')) continue;
    const problem = await run(node, args, folder);
    console.log(`${problem === undefined ? 'ok  ' : 'FAIL'} ${build.name}, Node ${node.version}`);
    if (problem !== undefined) failures.push(`${build.name}, Node ${node.version}: ${problem}`);
  }
  return failures;
}

/** Bundles a program with its worker, and runs it where nothing is installed. */
async function checkBundle(bundle: Bundle, index: number, nodes: readonly Runtime[]): Promise<string[]> {
  const to = mkdtempSync(join(tmpdir(), `rowan-bundle-${index}-`));
  try {
    const file = await bundle.make(join(CACHE, 'bundle'), to);
    if (file === undefined) return [];
    const failures: string[] = [];
    for (const node of nodes) {
      const problem = await run(node, [file], to, BUNDLED);
      console.log(
        `${problem === undefined ? 'ok  ' : 'FAIL'} bundle by ${bundle.name}, Node ${node.version}`,
      );
      if (problem !== undefined) failures.push(`bundle by ${bundle.name}, Node ${node.version}: ${problem}`);
    }
    return failures;
  } catch (error) {
    return [`bundle by ${bundle.name}: ${(error as Error).message}`];
  } finally {
    rmSync(to, { recursive: true, force: true });
  }
}

const BUNDLED = JSON.stringify({ title: 'bundled', words: ['a', 'b'], worker: true });

const nodes = runtimes();
if (nodes.length < 3) {
  console.log(
    `Only Node ${nodes.map(({ version }) => version).join(', ')}: the packages of the others are for Linux on x64.`,
  );
}
prepare();
const failures: string[] = [];
for (const [index, build] of BUILDS.entries()) failures.push(...(await check(build, index, nodes)));
await bundleProject(join(CACHE, 'bundle'));
for (const [index, bundle] of BUNDLES.entries()) failures.push(...(await checkBundle(bundle, index, nodes)));
const consumers = [...CONSUMERS, ...CREATED, ...COMMONJS, ...FRAMEWORKS, ...SNIPPETS, ...CODEGEN];
for (const consumer of consumers) {
  const problem = await consumer.check();
  console.log(`${problem === undefined ? 'ok  ' : 'FAIL'} ${consumer.name}`);
  if (problem !== undefined) failures.push(`${consumer.name}: ${problem}`);
}
for (const failure of failures) console.error(`\n${failure}`);
console.log(
  `\n${BUILDS.length} builds, ${BUNDLES.length} bundles, ${consumers.length} checks of the package, ${nodes.length} versions of Node, ${failures.length} failures.`,
);
process.exitCode = failures.length === 0 ? 0 : 1;

/**
 * `npm run build`: compiles `build`, then bundles `dist`. Nothing is made where the contents of the inputs and of both folders
 * are those of the last build. `build/made.json` names them by digests, so neither the time of a file nor a change within the
 * folders is believed.
 */

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const MADE = 'build/made.json';
/** What the compiler remembers of its last run. */
const COMPILED = 'build/compiled.tsbuildinfo';
/** The lists of packages as asked for and as installed, options, and folders whose files are read whole. */
const INPUTS = [
  'package.json',
  'package-lock.json',
  'node_modules/.package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'packaging',
  'src',
  'decorators',
  'examples',
];

/** The files at or below a path of the project; none where there is none. */
function filesOf(path) {
  if (!existsSync(join(ROOT, path))) return [];
  try {
    return readdirSync(join(ROOT, path), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length + 1))
      .filter((name) => !name.includes('node_modules/'));
  } catch (error) {
    if (error.code !== 'ENOTDIR') throw error;
    return [path];
  }
}

const outputs = () => [...filesOf('build'), ...filesOf('dist')].filter((name) => name !== MADE).sort();

/** Besides {@link INPUTS}, those that the compiler is given, and sources of what it made of them: what these import. */
function inputs() {
  const { include } = JSON.parse(readFileSync(join(ROOT, 'tsconfig.build.json'), 'utf8'));
  const folders = include.map((path) => path.replace(/\/\*\.ts$/, ''));
  const imported = filesOf('build').map((name) => name.slice(6).replace(/\.js$/, '.ts'));
  const given = [...INPUTS, ...folders].flatMap(filesOf);
  return [...new Set([...given, ...imported.filter((name) => existsSync(join(ROOT, name)))])].sort();
}

function digest(files) {
  const sum = createHash('sha256').update(process.version);
  for (const name of files) {
    const bytes = readFileSync(join(ROOT, name));
    sum.update(`${name}\0${bytes.length}\0`).update(bytes);
  }
  return sum.digest('hex');
}

const begun = new Date();
const last = existsSync(join(ROOT, MADE)) ? JSON.parse(readFileSync(join(ROOT, MADE), 'utf8')) : {};
const isIntact = last.outputs !== undefined && last.outputs === digest(outputs());
const given = inputs();
const before = digest(given);
if (!isIntact || last.inputs !== before) {
  rmSync(join(ROOT, MADE), { force: true });
  // The compiler writes what has changed, and would leave what somebody else has changed or taken away.
  if (!isIntact) rmSync(join(ROOT, COMPILED), { force: true });
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  const options = ['-p', 'tsconfig.build.json', '--incremental', '--tsBuildInfoFile', COMPILED];
  for (const args of [[compiler, ...options], ['packaging/bundle.mjs']]) {
    const { status } = spawnSync(process.execPath, args, { cwd: ROOT, stdio: 'inherit' });
    if (status !== 0) process.exit(status ?? 1);
  }
  // Sources of files that were made only now are among the inputs from now on. What was changed meanwhile is not in the build.
  if (digest(given) === before)
    writeFileSync(join(ROOT, MADE), JSON.stringify({ inputs: digest(inputs()), outputs: digest(outputs()) }));
}
// Tests refuse a build that is older than its sources, which may have been written again as they were.
for (const name of outputs()) utimesSync(join(ROOT, name), begun, begun);

/**
 * Makes `dist`, what is published, of the sources and of the declarations that the compiler left in `build`
 * (`npm run build`): an entry for each subpath of package.json, the command, the files with which threads begin, and chunks
 * that these share. docs/bundling.md says why it is done so.
 */

import { readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { rollup } from 'rollup';
import { dts } from 'rollup-plugin-dts';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const DIST = join(ROOT, 'dist');

/** Subpaths of the package, by the names of their files. */
const SUBPATHS = JSON.parse(readFileSync(join(ROOT, 'packaging/entries.json'), 'utf8'));

/** The command, and the files with which threads begin: `threadFile` (src/threads.ts) finds these by name. */
const PROGRAMS = {
  rowan: 'src/cli/main.ts',
  'rowan-worker': 'src/store/background/worker.ts',
  'rowan-parquet-thread': 'src/job/files/parquet-thread.ts',
  'rowan-job-thread': 'src/cli/job-worker.ts',
};

const inFolder = (folder, entries, rename = (path) => path) =>
  Object.fromEntries(Object.entries(entries).map(([name, path]) => [name, join(ROOT, folder, rename(path))]));

/** Packages and modules of Node: whatever is neither a path nor a helper of compiled syntax. */
const external = (id) => !/^([./]|@oxc-project\/runtime)/.test(id);

async function bundleCode() {
  const bundle = await rolldown({
    input: inFolder('.', { ...SUBPATHS, ...PROGRAMS }),
    external,
    platform: 'node',
    tsconfig: join(ROOT, 'tsconfig.json'),
    transform: { target: 'es2022' },
  });
  await bundle.write({
    dir: DIST,
    format: 'esm',
    sourcemap: true,
    comments: false,
    keepNames: true,
    entryFileNames: '[name].js',
    chunkFileNames: 'chunk-[name].js',
  });
  await bundle.close();
}

async function bundleDeclarations() {
  const bundle = await rollup({
    input: inFolder('build', SUBPATHS, (path) => path.replace(/\.ts$/, '.d.ts')),
    external,
    plugins: [dts()],
    onLog(level, log) {
      // Types that a signature names and no entry exports: the listing of the interface (test/api) decides on these.
      if (!/private shared type exports/.test(log.message)) console.warn(`${level}: ${log.message}`);
    },
  });
  await bundle.write({
    dir: DIST,
    format: 'es',
    entryFileNames: '[name].d.ts',
    chunkFileNames: ({ name }) => `chunk-${name.replace(/\.d$/, '')}.d.ts`,
  });
  await bundle.close();
}

rmSync(DIST, { recursive: true, force: true });
await Promise.all([bundleCode(), bundleDeclarations()]);

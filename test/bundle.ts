/**
 * Programs of the tests as one file of JavaScript, with the worker of the store beside it: loading a hundred files of
 * TypeScript costs a process ten times what its life in a test does.
 */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type BuildOptions, buildSync } from 'esbuild';

/** Where the bundles of this process are. */
let bundles: string | undefined;
const bundled = new Map<string, string>();

/** The file, whose path is one in the repository, as one of JavaScript. */
export function bundleOf(file: string): string {
  return kept(file, { entryPoints: [join(process.cwd(), file)] });
}

/** The same of a program that is given as text. What it imports is looked for from the repository's folder. */
export function bundleOfText(contents: string): string {
  return kept(contents, { stdin: { contents, resolveDir: process.cwd(), loader: 'ts' } });
}

function kept(id: string, source: BuildOptions): string {
  const known = bundled.get(id);
  if (known !== undefined) return known;
  bundles ??= makeFolder();
  const outfile = join(bundles, `${bundled.size}.mjs`);
  bundle(source, outfile);
  bundled.set(id, outfile);
  return outfile;
}

function makeFolder(): string {
  // Inside the project, where the packages that a bundle names are found.
  const parent = join(process.cwd(), 'node_modules/.cache');
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, 'rowan-scripts-'));
  process.once('exit', () => rmSync(folder, { recursive: true }));
  // The one that is published: it takes what the store gives it, whichever bundle that is of.
  const worker = pathToFileURL(join(process.cwd(), 'dist/rowan-worker.js'));
  writeFileSync(join(folder, 'rowan-worker.mjs'), `import '${worker}';\n`);
  return folder;
}

function bundle(source: BuildOptions, outfile: string): void {
  buildSync({
    ...source,
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    packages: 'external',
  });
}

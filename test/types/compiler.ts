/** Runs the TypeScript compiler on modules, as a user's project would. */

import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { declarations } from './declarations.js';

export const ROOT: string = fileURLToPath(new URL('../../', import.meta.url));

/** Files that tests make; ignored by git. */
export const CACHE: string = join(ROOT, 'test/types/.cache');

const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');

interface CompilerRun {
  readonly ok: boolean;
  readonly output: string;
}

/** Runs tsc with these arguments in the repository's folder. */
export function tsc(...args: readonly string[]): Promise<CompilerRun> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [TSC, ...args], { cwd: ROOT, maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
      if (error !== null && typeof error.code !== 'number') reject(error);
      else resolve({ ok: error === null, output: stdout + stderr });
    });
  });
}

/** What every check of a file is compiled with. */
export const STRICT: readonly string[] = [
  '--ignoreConfig',
  '--noEmit',
  '--strict',
  '--skipLibCheck',
  '--target',
  'es2022',
  '--module',
  'nodenext',
  '--types',
  'node',
  '--typeRoots',
  join(ROOT, 'node_modules/@types'),
  // A second checker would look at the same few files, beside other tests on the same cores.
  '--checkers',
  '1',
];

/** A module of the tests, which imports the source by `../../../src`, as one that imports declaration files in its place. */
export function declared(code: string): string {
  return code.replaceAll("'../../../", `'${declarations()}/`);
}

/** Both decorator modes. */
export const MODES: readonly (readonly [string, readonly string[]])[] = [
  ['experimentalDecorators', ['--experimentalDecorators', 'true', '--emitDecoratorMetadata', 'true']],
  ['standard decorators', ['--experimentalDecorators', 'false']],
];

/** Writes a file below the cache folder and gives its path. */
export function write(path: string, text: string): string {
  const target = join(CACHE, path);
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, text);
  return target;
}

/**
 * A folder below the cache in which modules find the package `rowan-orm` as a user has it: its declaration files and no
 * source. Each test file has one of its own, since they run at the same time.
 */
export function consumerFolder(name: string): void {
  cpSync(join(ROOT, 'dist'), join(CACHE, name, 'node_modules/rowan-orm/dist'), {
    recursive: true,
    filter: (path) => !/\.(js|map)$/.test(path),
  });
  const published = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { exports: object };
  const manifest = {
    name: 'rowan-orm',
    version: '0.0.0',
    type: 'module',
    exports: published.exports,
  };
  write(`${name}/node_modules/rowan-orm/package.json`, JSON.stringify(manifest));
  write(`${name}/package.json`, JSON.stringify({ name: 'consumer', private: true, type: 'module' }));
}

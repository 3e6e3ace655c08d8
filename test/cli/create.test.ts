/** `npm create rowan`: the packed packages make a project that compiles, passes its test and runs. */

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROOT } from '../types/compiler.js';

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly bin: string;
  readonly dependencies: Readonly<Record<string, string>>;
}

const manifestOf = (path: string): Manifest => JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'));

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowan-create-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Packs a package and unpacks it as npm installs it, in `node_modules`; what it depends on is there before. */
function install(packed: string, modules: string): string {
  const tarballs = mkdtempSync(join(folder, 'packed-'));
  execFileSync('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', tarballs], {
    cwd: packed,
    stdio: 'ignore',
  });
  const { name } = manifestOf(packed);
  const target = join(modules, name);
  mkdirSync(target, { recursive: true });
  const tarball = join(tarballs, readdirSync(tarballs)[0]!);
  execFileSync('tar', ['-xzf', tarball, '--strip-components=1', '-C', target]);
  return target;
}

test('a project made by the packed packages compiles, passes its test and runs', () => {
  const modules = join(folder, 'node_modules');
  mkdirSync(modules);
  const rowan = install(ROOT, modules);
  for (const name of [...Object.keys(manifestOf(rowan).dependencies), '@types', 'typescript', 'undici-types'])
    symlinkSync(join(ROOT, 'node_modules', name), join(modules, name), 'junction');
  const create = install(join(ROOT, 'packaging/create-rowan'), modules);
  expect(readdirSync(create).sort()).toEqual(['README.md', 'index.js', 'package.json']);
  const { version, bin, dependencies } = manifestOf(create);
  expect([version, dependencies]).toEqual([
    manifestOf(rowan).version,
    { 'rowan-orm': `^${manifestOf(rowan).version}` },
  ]);

  const project = join(folder, 'my-app');
  const made = execFileSync(process.execPath, [join(create, bin), 'my-app', '--name', 'mine'], {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  expect(made).toMatch(/src\/task\.ts\n[\s\S]*Next:\n {2}cd my-app\n/);
  expect(manifestOf(project).name).toBe('mine');
  // `npm test` without npm's own installation: the modules of the folder above are found.
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [tsc], { cwd: project, stdio: 'inherit' });
  const tested = execFileSync(process.execPath, ['--test', 'dist/task.test.js'], {
    cwd: project,
    encoding: 'utf8',
  });
  expect(tested).toMatch(/pass 1/);
  const ran = execFileSync(process.execPath, ['dist/main.js'], { cwd: project, encoding: 'utf8' });
  expect(ran).toBe('t1 Read the guide\nopen: 1\n');
  expect(() =>
    execFileSync(process.execPath, [join(create, bin), 'my-app'], { cwd: folder, stdio: 'ignore' }),
  ).toThrow('Command failed');
});

/** `npm create rowan`: what its program makes. That the packed one makes a project that runs is held by `npm run test:toolchain`. */

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../types/compiler.js';

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly bin: string;
  readonly dependencies: Readonly<Record<string, string>>;
}

const manifestOf = (path: string): Manifest => JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'));

test('the program makes a project by the package beside it, and none where one is', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rowan-create-'));
  const create = join(ROOT, 'packaging/create-rowan');
  const { version, bin, dependencies } = manifestOf(create);
  expect([version, dependencies]).toEqual([
    manifestOf(ROOT).version,
    { 'rowan-orm': `^${manifestOf(ROOT).version}` },
  ]);
  const modules = join(folder, 'node_modules');
  mkdirSync(modules);
  symlinkSync(ROOT, join(modules, 'rowan-orm'), 'junction');
  symlinkSync(create, join(modules, 'create-rowan'), 'junction');
  const program = join(modules, 'create-rowan', bin);
  // Links are kept, so that it looks for the package where it would be installed.
  const make = () =>
    spawnSync(
      process.execPath,
      ['--preserve-symlinks', '--preserve-symlinks-main', program, 'my-app', '--name', 'mine'],
      { cwd: folder, encoding: 'utf8' },
    );
  const { stdout, status } = make();
  expect(status).toBe(0);
  expect(stdout).toMatch(/src\/task\.ts\n[\s\S]*Next:\n {2}cd my-app\n/);
  expect(manifestOf(join(folder, 'my-app')).name).toBe('mine');
  expect(make()).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('already. Nothing was written'),
  });
  rmSync(folder, { recursive: true });
});

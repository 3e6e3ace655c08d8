/** What is held of `npm create rowan` and `rowan init`: a project that they make compiles, passes its test and runs. */

import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './builds.js';
import { APP, type Consumer, outcome } from './consumers.js';

const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');
const ROWAN = join(APP, 'node_modules/rowan-orm/dist/rowan.js');

/** Packs create-rowan and unpacks it as npm installs it, beside the package that it depends on. */
function installCreate(): string {
  const target = join(APP, 'node_modules/create-rowan');
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target);
  const packed = ['pack', '--silent', '--ignore-scripts', '--pack-destination', target];
  execFileSync('npm', packed, { cwd: join(ROOT, 'packaging/create-rowan'), stdio: 'ignore' });
  const tarball = join(target, readdirSync(target)[0]!);
  execFileSync('tar', ['-xzf', tarball, '--strip-components=1', '-C', target]);
  rmSync(tarball);
  return target;
}

/** `npm test` and `npm run lint` of the project, without the scripts. */
async function tested(project: string): Promise<string | undefined> {
  const problem =
    (await outcome([TSC], undefined, project)) ??
    (await outcome(['--test', 'dist/task.test.js'], 'pass 1', project));
  if (problem !== undefined) return problem;
  const found = execFileSync(process.execPath, [ROWAN, 'lint', 'dist/task.js'], {
    cwd: project,
    encoding: 'utf8',
  });
  return found === '' ? undefined : `its schema is not sound:\n${found}`;
}

async function create(): Promise<string | undefined> {
  const create = installCreate();
  const files = readdirSync(create).sort().join(' ');
  if (files !== 'README.md index.js package.json') return `create-rowan has ${files}`;
  const project = join(APP, 'my-app');
  return (
    (await outcome([join(create, 'index.js'), 'my-app'], 'Next:\n  cd my-app\n')) ??
    (await tested(project)) ??
    (await outcome(['dist/main.js'], 't1 Read the guide\nopen: 1\n', project))
  );
}

async function init(): Promise<string | undefined> {
  return (
    (await outcome([ROWAN, 'init', 'on-hbase', '--engine', 'hbase'], 'src/task.ts\n')) ??
    tested(join(APP, 'on-hbase'))
  );
}

export const CREATED: readonly Consumer[] = [
  { name: 'a project made by the packed create-rowan', check: create },
  { name: 'a project on HBase made by rowan init', check: init },
];

/** What is held of the packed package: that it installs, and compiles and runs as the documentation says. */

import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE, HERE, OTHER_NODES, own, ROOT } from './builds.js';

export interface Consumer {
  readonly name: string;
  /** What is wrong, or undefined. */
  readonly check: () => Promise<string | undefined>;
}

/** Where the package is installed. */
export const APP = join(CACHE, 'app');

/** Runs a command and answers what it printed when it failed, or printed something else than is wanted. */
export function outcome(
  args: readonly string[],
  wanted?: string,
  cwd: string = APP,
  node: string = process.execPath,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(node, [...args], { cwd }, (error, stdout, stderr) => {
      const right = error === null && (wanted === undefined || stdout.includes(wanted));
      resolve(right ? undefined : `other than wanted:\n${stdout}${stderr}`);
    });
  });
}

/** Packs the package and installs it in a new folder, with the README's five minutes and the guide's tsconfig. */
async function install(): Promise<string | undefined> {
  rmSync(APP, { recursive: true, force: true });
  mkdirSync(join(APP, 'node_modules/@types'), { recursive: true });
  execFileSync('npm', ['pack', '--silent', '--pack-destination', APP], { cwd: ROOT, stdio: 'ignore' });
  const tarball = readdirSync(APP).find((name) => name.endsWith('.tgz'))!;
  writeFileSync(join(APP, 'package.json'), JSON.stringify({ name: 'app', private: true, type: 'module' }));
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', `./${tarball}`], {
    cwd: APP,
    stdio: 'ignore',
  });
  mkdirSync(join(APP, 'node_modules/@types'), { recursive: true });
  useTypes('types-node-oldest');
  const config = JSON.parse(/```json\n([\s\S]*?)```/.exec(guide('getting-started'))![1]!) as {
    compilerOptions: object;
  };
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
  writeFileSync(join(APP, 'main.ts'), /```ts\n(import \{[\s\S]*?)```/.exec(readme)![1]!);
  writeFileSync(
    join(APP, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: { ...config.compilerOptions, outDir: 'out', rootDir: '.' },
      include: ['main.ts'],
    }),
  );
  return undefined;
}

/** Has the application use these types of Node. */
function useTypes(name: 'types-node-oldest' | 'types-node-newest'): void {
  const link = join(APP, 'node_modules/@types/node');
  rmSync(link, { force: true });
  symlinkSync(join(HERE, 'node_modules', name), link, 'junction');
}

async function lint(): Promise<string | undefined> {
  const { publint } = (await import(own.resolve('publint'))) as {
    publint(options: object): Promise<{ messages: readonly { readonly code: string }[] }>;
  };
  const { messages } = await publint({ pkgDir: ROOT, strict: true });
  // Only these: the package is ECMAScript modules, and says so.
  return messages.length === 0 ? undefined : JSON.stringify(messages);
}

/** The text of a page of docs/. */
export function guide(name: string): string {
  return readFileSync(join(ROOT, `docs/${name}.md`), 'utf8');
}

/** What is used of "Are The Types Wrong". */
interface Attw {
  createPackageFromTarballData(tarball: Uint8Array): object;
  checkPackage(
    tarball: object,
    options: object,
  ): Promise<{
    readonly types: unknown;
    readonly problems?: readonly { readonly kind: string; readonly resolutionKind?: string }[];
  }>;
}

/**
 * The declarations of every entry under the resolutions that the package is made for: node16 from modules, and bundler.
 * From CommonJS they resolve as well, to modules, which the tool reports as it knows no `require` of them; what
 * compilers say there is held by commonjs.ts. node10 knows no `exports`. The worker is a program, imported by nobody.
 */
async function attw(): Promise<string | undefined> {
  const { checkPackage, createPackageFromTarballData } = (await import(
    own.resolve('@arethetypeswrong/core')
  )) as Attw;
  const tarball = readFileSync(join(APP, readdirSync(APP).find((name) => name.endsWith('.tgz'))!));
  const { types, problems } = await checkPackage(createPackageFromTarballData(tarball), {
    excludeEntrypoints: ['./worker'],
  });
  if (types === false || problems === undefined) return 'the package has no types';
  const meant = problems.filter(
    ({ kind, resolutionKind }) =>
      resolutionKind !== 'node10' && !(kind === 'CJSResolvesToESM' && resolutionKind === 'node16-cjs'),
  );
  return meant.length === 0 ? undefined : JSON.stringify(meant);
}

/** The compilers between which all work: the oldest that the documentation names, and the current one. */
const COMPILERS: readonly (readonly [string, string])[] = [
  ['the oldest TypeScript', join(HERE, 'node_modules/typescript-oldest/bin/tsc')],
  ['the current TypeScript', join(ROOT, 'node_modules/typescript/bin/tsc')],
];

const TYPES = [
  ['@types/node 20.19.0', 'types-node-oldest'],
  ['the newest @types/node', 'types-node-newest'],
] as const;

/** Runs the compiled program on every Node that there is, from the oldest that is supported. */
async function runEverywhere(): Promise<string | undefined> {
  for (const { path, version } of [{ path: process.execPath, version: 'this' }, ...OTHER_NODES]) {
    const problem = await outcome(['out/main.js'], 'Ada 3', APP, path);
    if (problem !== undefined) return `on Node ${version} ${problem}`;
  }
  return undefined;
}

export const CONSUMERS: readonly Consumer[] = [
  { name: 'npm install of the packed package', check: install },
  { name: 'publint', check: lint },
  { name: 'Are The Types Wrong, node16 from modules and bundler', check: attw },
  ...TYPES.flatMap(([types, folder]) =>
    COMPILERS.map(([name, tsc]) => ({
      name: `the README's five minutes, with ${name}, ${types} and the guide's tsconfig`,
      check: async () => {
        useTypes(folder);
        return (await outcome([tsc, '-p', '.'])) ?? runEverywhere();
      },
    })),
  ),
];

/** What is held of the packed package: that it installs, and compiles and runs as the documentation says. */

import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE, HERE, own, ROOT } from './builds.js';

export interface Consumer {
  readonly name: string;
  /** What is wrong, or undefined. */
  readonly check: () => Promise<string | undefined>;
}

const APP = join(CACHE, 'app');

/** Runs a command and answers what it printed when it failed, or printed something else than is wanted. */
function outcome(args: readonly string[], wanted?: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(process.execPath, [...args], { cwd: APP }, (error, stdout, stderr) => {
      const right = error === null && (wanted === undefined || stdout.includes(wanted));
      resolve(right ? undefined : `${stdout}${stderr}`);
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
  symlinkSync(join(ROOT, 'node_modules/@types/node'), join(APP, 'node_modules/@types/node'), 'junction');
  const guide = readFileSync(join(ROOT, 'docs/getting-started.md'), 'utf8');
  const config = JSON.parse(/```json\n([\s\S]*?)```/.exec(guide)![1]!) as { compilerOptions: object };
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

async function lint(): Promise<string | undefined> {
  const { publint } = (await import(own.resolve('publint'))) as {
    publint(options: object): Promise<{ messages: readonly { readonly code: string }[] }>;
  };
  const { messages } = await publint({ pkgDir: ROOT, strict: true });
  // Only these: the package is ECMAScript modules, and says so.
  return messages.length === 0 ? undefined : JSON.stringify(messages);
}

/** The guide's recipe of Jest in a CommonJS project, with the guide's test. */
async function jest(): Promise<string | undefined> {
  const folder = join(APP, 'jest');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'jest', private: true }));
  const recipe = /```js\n\/\/ jest\.config\.cjs\n([\s\S]*?)```/.exec(guide('bundling'))![1]!;
  const transformer = JSON.stringify(own.resolve('@swc/jest'));
  writeFileSync(join(folder, 'jest.config.cjs'), recipe.replace("'@swc/jest'", transformer));
  for (const name of ['models.ts', 'jest.test.ts']) {
    const code = guide('testing').split(`\`\`\`ts file=${name}\n`)[1]!.split('```')[0]!;
    writeFileSync(join(folder, name), code);
  }
  return outcome([
    join(HERE, 'node_modules/jest/bin/jest.js'),
    '--rootDir',
    folder,
    '--config',
    join(folder, 'jest.config.cjs'),
  ]);
}

function guide(name: string): string {
  return readFileSync(join(ROOT, `docs/${name}.md`), 'utf8');
}

/** The compilers between which all work: the oldest that the documentation names, and the current one. */
const COMPILERS: readonly (readonly [string, string])[] = [
  ['the oldest TypeScript', join(HERE, 'node_modules/typescript-oldest/bin/tsc')],
  ['the current TypeScript', join(ROOT, 'node_modules/typescript/bin/tsc')],
];

export const CONSUMERS: readonly Consumer[] = [
  { name: 'npm install of the packed package', check: install },
  { name: 'publint', check: lint },
  ...COMPILERS.map(([name, tsc]) => ({
    name: `the README's five minutes, with ${name} and the guide's tsconfig`,
    check: async () => (await outcome([tsc, '-p', '.'])) ?? outcome(['out/main.js'], 'Ada 3'),
  })),
  { name: 'Jest in a CommonJS project', check: jest },
  {
    name: 'require',
    check: () =>
      outcome(
        ['--eval', 'console.log(typeof require("rowan-orm").open)', '--input-type=commonjs'],
        'function',
      ),
  },
];

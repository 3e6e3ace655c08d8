/** The compilers of the matrix: each makes modules that Node runs, or is run by Node itself. */

import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const HERE: string = fileURLToPath(new URL('.', import.meta.url));

/** Versions of Node beside the one that runs this, where their packages are for this machine. */
export const OTHER_NODES: readonly { readonly version: string; readonly path: string }[] = [
  ['20.19.0', 'node-oldest'],
  ['22', 'node-22'],
  ['24', 'node-24'],
  ['26', 'node-26'],
]
  .map(([version, name]) => ({ version: version!, path: join(HERE, `node_modules/${name}/bin/node`) }))
  .filter(({ path }) => existsSync(path));
export const ROOT: string = join(HERE, '../..');
export const CACHE: string = join(HERE, '.cache');
const FIXTURES = join(HERE, 'fixtures');
export const own: NodeJS.Require = createRequire(join(HERE, 'package.json'));

export interface Build {
  readonly name: string;
  /** Makes the modules and answers the arguments that Node is to be run with. */
  readonly make: (folder: string) => Promise<readonly string[]> | readonly string[];
}

type Options = Readonly<Record<string, unknown>>;

const LEGACY: Options = { experimentalDecorators: true, emitDecoratorMetadata: true };
const STANDARD: Options = { experimentalDecorators: false };

function tsconfig(folder: string, options: Options): string {
  const path = join(folder, 'tsconfig.json');
  const compilerOptions = {
    target: 'es2022',
    module: 'nodenext',
    strict: true,
    skipLibCheck: true,
    types: ['node'],
    typeRoots: [join(ROOT, 'node_modules/@types')],
    ...options,
  };
  writeFileSync(path, JSON.stringify({ compilerOptions, include: ['*.ts'] }));
  return path;
}

function sources(folder: string, ...names: readonly string[]): void {
  mkdirSync(folder, { recursive: true });
  for (const name of ['exercise.ts', ...names]) cpSync(join(FIXTURES, name), join(folder, name));
}

function byTsc(fixture: string, options: Options): Build['make'] {
  return (folder) => {
    sources(folder, `${fixture}.ts`);
    const config = tsconfig(folder, { ...options, rootDir: folder, outDir: join(folder, 'out') });
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    execFileSync(process.execPath, [tsc, '-p', config], { stdio: ['ignore', 'inherit', 'inherit'] });
    return [join(folder, `out/${fixture}.js`)];
  };
}

function byEsbuild(fixture: string, options: Options, more: Options = {}): Build['make'] {
  return async (folder) => {
    sources(folder, `${fixture}.ts`);
    const esbuild = (await import(own.resolve('esbuild'))) as typeof import('esbuild');
    const outfile = join(folder, 'bundle.mjs');
    await esbuild.build({
      entryPoints: [join(folder, `${fixture}.ts`)],
      bundle: true,
      external: ['rowan-orm'],
      format: 'esm',
      platform: 'node',
      target: 'node20',
      outfile,
      logLevel: 'warning',
      tsconfigRaw: { compilerOptions: options },
      ...more,
    });
    return [outfile];
  };
}

/** What is used of swc, which is installed in this folder only. */
interface Swc {
  transform(source: string, options: object): Promise<{ readonly code: string }>;
}

function bySwc(fixture: string, transform: Options): Build['make'] {
  return async (folder) => {
    sources(folder, `${fixture}.ts`);
    const swc = (await import(own.resolve('@swc/core'))) as Swc;
    for (const name of ['exercise', fixture]) {
      const { code } = await swc.transform(readFileSync(join(folder, `${name}.ts`), 'utf8'), {
        filename: `${name}.ts`,
        jsc: {
          parser: { syntax: 'typescript', decorators: true },
          transform: transform as never,
          target: 'es2022',
        },
        module: { type: 'es6' },
      });
      writeFileSync(join(folder, `${name}.js`), code);
    }
    return [join(folder, `${fixture}.js`)];
  };
}

function byTsx(fixture: string, options: Options): Build['make'] {
  return (folder) => {
    sources(folder, `${fixture}.ts`);
    tsconfig(folder, options);
    return ['--import', join(ROOT, 'node_modules/tsx/dist/loader.mjs'), join(folder, `${fixture}.ts`)];
  };
}

function byVite(fixture: string): Build['make'] {
  return async (folder) => {
    sources(folder, `${fixture}.ts`);
    tsconfig(folder, LEGACY);
    const vite = (await import(
      own.resolve('vite').replace(/index\.cjs$/, 'node/index.js')
    )) as typeof import('vite');
    await vite.build({
      root: folder,
      logLevel: 'warn',
      configFile: false,
      build: {
        ssr: join(folder, `${fixture}.ts`),
        outDir: join(folder, 'out'),
        target: 'node20',
        rollupOptions: { external: ['rowan-orm'], output: { entryFileNames: 'bundle.mjs' } },
      },
    });
    return [join(folder, 'out/bundle.mjs')];
  };
}

/** Vitest runs the fixture as a module of a test; its output stands among the reporter's. */
function byVitest(fixture: string): Build['make'] {
  return (folder) => {
    sources(folder, `${fixture}.ts`);
    tsconfig(folder, LEGACY);
    const test = `import { it } from 'vitest';\nit('runs', async () => { await import('./${fixture}.js'); });\n`;
    writeFileSync(join(folder, 'fixture.test.ts'), test);
    writeFileSync(
      join(folder, 'vitest.config.mjs'),
      'export default { test: { include: ["*.test.ts"] } };\n',
    );
    const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
    return [vitest, 'run', '--root', folder, '--disable-console-intercept', '--pool', 'forks'];
  };
}

function byNode(folder: string): readonly string[] {
  sources(folder, 'stripped.ts');
  return ['--disable-warning=ExperimentalWarning', '--experimental-strip-types', join(folder, 'stripped.ts')];
}

const SWC_LEGACY: Options = { legacyDecorator: true, decoratorMetadata: true };

/** Every compiler in every decorator mode it has. */
export const BUILDS: readonly Build[] = [
  { name: 'tsc, experimentalDecorators', make: byTsc('explicit', LEGACY) },
  { name: 'tsc, emitted types', make: byTsc('inferred', LEGACY) },
  {
    name: 'tsc, emitted types, assigned class fields',
    make: byTsc('inferred', { ...LEGACY, useDefineForClassFields: false }),
  },
  { name: 'tsc, standard decorators', make: byTsc('explicit', STANDARD) },
  {
    name: 'tsc, standard decorators, assigned class fields',
    make: byTsc('explicit', { ...STANDARD, useDefineForClassFields: false }),
  },
  { name: 'esbuild, experimentalDecorators', make: byEsbuild('explicit', LEGACY) },
  { name: 'esbuild, standard decorators', make: byEsbuild('explicit', STANDARD) },
  { name: 'esbuild, standard decorators, minified', make: byEsbuild('explicit', STANDARD, { minify: true }) },
  { name: 'swc, legacy decorators', make: bySwc('explicit', SWC_LEGACY) },
  { name: 'swc, emitted types', make: bySwc('inferred', SWC_LEGACY) },
  { name: 'swc, standard decorators', make: bySwc('explicit', { decoratorVersion: '2023-11' }) },
  { name: 'swc, decorators of 2022-03', make: bySwc('explicit', { decoratorVersion: '2022-03' }) },
  { name: 'tsx, experimentalDecorators', make: byTsx('explicit', LEGACY) },
  { name: 'tsx, standard decorators', make: byTsx('explicit', STANDARD) },
  { name: 'vite, legacy decorators', make: byVite('explicit') },
  { name: 'vite, emitted types', make: byVite('inferred') },
  { name: 'vitest, emitted types', make: byVitest('inferred') },
  { name: 'Node alone, defineEntity', make: byNode },
];

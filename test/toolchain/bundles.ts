/** The bundlers of the matrix: each makes a program of one file and its worker, as docs/bundling.md says. */

import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { HERE, own } from './builds.js';

export interface Bundle {
  readonly name: string;
  /** Bundles the program in the folder `from` into `to`, and answers the file to be run; undefined where it cannot. */
  readonly make: (from: string, to: string) => Promise<string | undefined> | string;
}

const EXTERNAL = ['snappy', 'lz4-napi', '@bokuweb/zstd-wasm', 'kerberos'];
const WORKER = 'rowan-orm/worker';

function byEsbuild(format: 'esm' | 'cjs', extension: string): Bundle['make'] {
  return async (from, to) => {
    const esbuild = (await import(own.resolve('esbuild'))) as typeof import('esbuild');
    await esbuild.build({
      absWorkingDir: from,
      entryPoints: { app: 'bundled.ts', 'rowan-worker': WORKER },
      bundle: true,
      platform: 'node',
      target: 'node20',
      format,
      outdir: to,
      outExtension: { '.js': extension },
      external: EXTERNAL,
      logLevel: 'error',
    });
    return join(to, `app${extension}`);
  };
}

/** What is used of Rollup, Rolldown and their plugins, which are installed in this folder only. */
interface Rollup {
  rollup(options: object): Promise<{ write(output: object): Promise<unknown>; close(): Promise<void> }>;
}

async function plugin(name: string, options: object = {}): Promise<unknown> {
  const module = (await import(own.resolve(name))) as { default: unknown };
  const make = (module.default as { default?: unknown }).default ?? module.default;
  return (make as (options: object) => unknown)(options);
}

function byRollup(format: 'es' | 'cjs', extension: string): Bundle['make'] {
  return async (from, to) => {
    const { rollup } = (await import(own.resolve('rollup'))) as Rollup;
    const bundle = await rollup({
      input: { app: join(from, 'bundled.js'), 'rowan-worker': WORKER },
      external: [...EXTERNAL, /^node:/],
      plugins: [
        await plugin('@rollup/plugin-node-resolve', { rootDir: from, preferBuiltins: true }),
        await plugin('@rollup/plugin-commonjs'),
        await plugin('@rollup/plugin-json'),
      ],
      onwarn: () => {},
    });
    await bundle.write({
      dir: to,
      format,
      entryFileNames: `[name]${extension}`,
      chunkFileNames: `[name]-[hash]${extension}`,
    });
    await bundle.close();
    return join(to, `app${extension}`);
  };
}

function byRolldown(from: string, to: string): Promise<string> {
  return (async () => {
    const { rolldown } = (await import(own.resolve('rolldown'))) as unknown as {
      rolldown: Rollup['rollup'];
    };
    const bundle = await rolldown({
      cwd: from,
      input: { app: join(from, 'bundled.js'), 'rowan-worker': WORKER },
      external: EXTERNAL,
      platform: 'node',
    });
    await bundle.write({
      dir: to,
      format: 'esm',
      entryFileNames: '[name].mjs',
      chunkFileNames: '[name]-[hash].mjs',
    });
    await bundle.close();
    return join(to, 'app.mjs');
  })();
}

function byWebpack(from: string, to: string): Promise<string> {
  const webpack = own('webpack') as (
    options: object,
    done: (error: Error | null, stats?: { hasErrors(): boolean; toString(how: string): string }) => void,
  ) => void;
  return new Promise((resolve, reject) => {
    webpack(
      {
        context: from,
        mode: 'production',
        target: 'node20',
        entry: { app: './bundled.js', 'rowan-worker': WORKER },
        output: { path: to, filename: '[name].cjs' },
        externals: EXTERNAL.map((name) => ({ [name]: `commonjs ${name}` })),
        optimization: { minimize: false },
        performance: false,
      },
      (error, stats) => {
        if (error !== null) reject(error);
        else if (stats!.hasErrors()) reject(new Error(stats!.toString('errors-only')));
        else resolve(join(to, 'app.cjs'));
      },
    );
  });
}

async function byBun(from: string, to: string): Promise<string | undefined> {
  const bun = join(HERE, 'node_modules/@oven/bun-linux-x64/bin/bun');
  if (!existsSync(bun)) return undefined;
  const worker = own.resolve('rowan-orm/worker', { paths: [from] });
  const externals = EXTERNAL.flatMap((name) => ['--external', name]);
  for (const [entry, name] of [
    ['bundled.ts', 'app'],
    [worker, 'rowan-worker'],
  ] as const) {
    execFileSync(bun, ['build', entry, '--target=node', '--outfile', join(to, `${name}.mjs`), ...externals], {
      cwd: from,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  }
  return join(to, 'app.mjs');
}

export const BUNDLES: readonly Bundle[] = [
  { name: 'esbuild, modules', make: byEsbuild('esm', '.mjs') },
  { name: 'esbuild, CommonJS', make: byEsbuild('cjs', '.cjs') },
  { name: 'Rollup, modules', make: byRollup('es', '.mjs') },
  { name: 'Rollup, CommonJS', make: byRollup('cjs', '.cjs') },
  { name: 'Rolldown', make: byRolldown },
  { name: 'webpack', make: byWebpack },
  { name: 'bun build', make: byBun },
];

/** Copies a fixture into a project's folder, and makes it JavaScript for the bundlers that take no TypeScript. */
export async function bundleProject(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  cpSync(join(HERE, 'fixtures/bundled.ts'), join(folder, 'bundled.ts'));
  const esbuild = (await import(own.resolve('esbuild'))) as typeof import('esbuild');
  await esbuild.build({
    entryPoints: [join(folder, 'bundled.ts')],
    outfile: join(folder, 'bundled.js'),
    target: 'node20',
    logLevel: 'error',
  });
}

/**
 * The programs of the README and of docs/ as their readers have them: on the packed package, in a folder of their own,
 * compiled by the guide's tsconfig (no `skipLibCheck`) where no optional peer is installed; and once more with each
 * compression that comes from a package of its own.
 */

import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Block, blocksOf, type Module, PAGES, printedBy, promisedBy } from '../docs/snippets.js';
import { HERE, OTHER_NODES, ROOT } from './builds.js';
import { APP, type Consumer, guide, outcome } from './consumers.js';

const HOME = join(APP, 'snippets');
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');

/** How families are declared: as the page has it, and with a compression. */
const VARIANTS = ['NONE', 'SNAPPY', 'LZ4', 'ZSTD'] as const;
type Variant = (typeof VARIANTS)[number];

/** Blocks that need what a reader installs for them; Jest's recipe is in `commonjs.ts`. */
const NEEDS_A_PACKAGE = /^(?:vitest|jest|random)\./;

const blocks = [...PAGES, 'README'].flatMap(blocksOf).filter(({ name }) => !name.startsWith('jest.'));
const alone = blocks.filter(({ name }) => !NEEDS_A_PACKAGE.test(name));

const folderOf = (variant: Variant, { page }: Block): string => join(HOME, variant, page);

/** The compiled module of a block, to be run in a folder that no other run has written to. */
function moduleOf(variant: Variant, block: Block, run = 'this'): Module {
  const folder = join(HOME, 'run', `${variant}-${run}`, block.page);
  mkdirSync(folder, { recursive: true });
  return { folder, file: join(HOME, 'out', variant, block.page, block.name.replace(/\.ts$/, '.js')) };
}

function compile(name: string, files: readonly string[]): Promise<string | undefined> {
  const { compilerOptions } = JSON.parse(/```json\n([\s\S]*?)```/.exec(guide('getting-started'))![1]!) as {
    compilerOptions: object;
  };
  const options = { ...compilerOptions, rootDir: HOME, outDir: join(HOME, 'out') };
  const config = join(HOME, `tsconfig.${name}.json`);
  writeFileSync(config, JSON.stringify({ compilerOptions: options, files }));
  return outcome([TSC, '-p', config]);
}

function write(variant: Variant, block: Block): string {
  const path = join(folderOf(variant, block), block.name);
  const family = variant === 'NONE' ? '{}' : `{ compression: '${variant}' }`;
  mkdirSync(folderOf(variant, block), { recursive: true });
  writeFileSync(path, block.code.replaceAll('families: { d: {} }', `families: { d: ${family} }`));
  return path;
}

/** A module that takes all entries of the package, but for those that stand on a package of their own. */
function everyEntry(): string {
  const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { exports: object };
  const names = Object.entries(exports).flatMap(([path, target]) =>
    typeof target === 'object' && !/bigtable|fast-check/.test(path) ? [path.replace('.', 'rowan-orm')] : [],
  );
  const file = join(HOME, 'entries.ts');
  writeFileSync(file, names.map((name, at) => `export * as entry${at} from '${name}';\n`).join(''));
  return file;
}

async function compileAll(): Promise<string | undefined> {
  const files = VARIANTS.flatMap((variant) => alone.map((block) => write(variant, block)));
  cpSync(join(HERE, 'fixtures/compressions.ts'), join(HOME, 'compressions.ts'));
  const main = join(HOME, 'compressed.ts');
  writeFileSync(main, "import { readBack } from './compressions.js';\nconsole.log(await readBack());\n");
  return compile('alone', [...files, everyEntry(), main]);
}

/** Runs the programs of a variant in one process each kind; what they print has to be what they say. */
async function runAll(variant: Variant, version?: string, node?: string): Promise<string | undefined> {
  const isTest = ({ name }: Block): boolean => name.endsWith('.test.ts');
  const modulesOf = (some: readonly Block[]) => some.map((block) => moduleOf(variant, block, version));
  const programs = alone.filter((block) => !isTest(block));
  try {
    const printed = await printedBy(modulesOf(programs), node);
    for (const [at, block] of programs.entries()) {
      const lines = printed[at]!.split('\n');
      const missing = promisedBy(block).filter((line) => !lines.includes(line));
      if (missing.length > 0) return `${block.page}/${block.name} did not print ${missing.join(' nor ')}`;
    }
    const tests = (await printedBy(modulesOf(alone.filter(isTest)), node)).join('');
    return /^[#ℹ] fail 0$/m.test(tests) ? undefined : tests;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    return `${stdout.slice(-1_000)}${stderr || error}`;
  }
}

async function onOtherNodes(): Promise<string | undefined> {
  for (const { path, version } of OTHER_NODES) {
    const problem = await runAll('NONE', version, path);
    if (problem !== undefined) return `on Node ${version}: ${problem}`;
  }
  return undefined;
}

/** The blocks that need a package, where it is installed. */
async function withPackages(): Promise<string | undefined> {
  for (const name of ['fast-check', 'vitest']) {
    symlinkSync(join(ROOT, 'node_modules', name), join(APP, 'node_modules', name), 'junction');
  }
  const some = blocks.filter(({ name }) => NEEDS_A_PACKAGE.test(name));
  const random = some.filter(({ name }) => name.startsWith('random.'));
  const problem = await compile(
    'packages',
    some.map((block) => write('NONE', block)),
  );
  if (problem !== undefined) return problem;
  const printed = await printedBy(random.map((block) => moduleOf('NONE', block)));
  if (!/^[#ℹ] fail 0$/m.test(printed.join(''))) return printed.join('');
  const folder = join(HOME, 'NONE/testing');
  writeFileSync(join(folder, 'vitest.config.js'), 'export default {};\n');
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
  return outcome([vitest, 'run', '--root', folder, 'vitest.test.ts'], '1 passed');
}

export const SNIPPETS: readonly Consumer[] = [
  {
    name: `${alone.length} programs of README and docs, and every entry, compile without skipLibCheck and without optional peers`,
    check: compileAll,
  },
  ...VARIANTS.map((variant) => ({
    name: `they run, each in its folder, with the compression ${variant}`,
    check: () => runAll(variant),
  })),
  { name: 'they run on the other versions of Node', check: onOtherNodes },
  {
    name: 'rows of SNAPPY, LZ4 and ZSTD are read again from their files',
    check: () => outcome([join(HOME, 'out/compressed.js')], 'KeptSNAPPY KeptLZ4 KeptZSTD'),
  },
  { name: 'those that need Vitest or fast-check compile and run with these', check: withPackages },
];

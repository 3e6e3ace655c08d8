/**
 * Runs the examples of the guides. A block of TypeScript is a module, written from its first import to its end, but for
 * those marked `no-run`; blocks marked `file=NAME` can import each other.
 */

import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { beforeAll, describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const CACHE = join(ROOT, 'test/docs/.cache');
const BUNDLES = join(CACHE, 'bundles');
const run = promisify(execFile);

const PAGES = [
  'changes',
  'denormalization',
  'errors',
  'getting-started',
  'indexes',
  'migrating',
  'operations',
  'relations',
  'testing',
  'transactions',
];

interface Block {
  readonly page: string;
  readonly name: string;
  readonly code: string;
}

function blocksOf(page: string): Block[] {
  const text = readFileSync(join(ROOT, 'docs', `${page}.md`), 'utf8');
  const found = [...text.matchAll(/^```ts(.*)\n([\s\S]*?)^```$/gm)];
  return found.flatMap(([, info, code], index) => {
    if (info!.includes('no-run')) return [];
    const name = /file=(\S+)/.exec(info!)?.[1] ?? `example-${index + 1}.ts`;
    return [{ page, name, code: code! }];
  });
}

/** The package's source in place of the package. */
function fromSource(code: string): string {
  return code
    .replaceAll("'rowan-orm'", "'../../../../src/index.js'")
    .replaceAll("'rowan-orm/table'", "'../../../../src/public/table.js'")
    .replaceAll("'rowan-orm/testing'", "'../../../../src/testing/index.js'")
    .replaceAll("'rowan-orm/testing/fast-check'", "'../../../../src/testing/fast-check.js'");
}

const blocks = PAGES.flatMap(blocksOf);
rmSync(CACHE, { recursive: true, force: true });
for (const { page, name, code } of blocks) {
  mkdirSync(join(CACHE, page), { recursive: true });
  writeFileSync(join(CACHE, page, name), fromSource(code));
}

// Jest's recipe runs where Jest does: in the toolchain matrix.
const runnable = blocks.filter(({ name }) => !/^(vitest|jest)\./.test(name));

/** The module of a block as JavaScript, in the folder of its page. */
const bundleOf = ({ page, name }: Block): string => join(BUNDLES, page, name.replace(/\.ts$/, '.mjs'));

/** All blocks in one build: they share the modules of the source, with the worker of the store beside these. */
beforeAll(() =>
  build({
    entryPoints: [
      ...runnable.map(({ page, name }) => ({
        in: join(CACHE, page, name),
        out: `${page}/${name.replace(/\.ts$/, '')}`,
      })),
      { in: join(ROOT, 'src/store/background/worker.ts'), out: 'rowan-worker' },
    ],
    outdir: BUNDLES,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    target: 'node20',
    platform: 'node',
    format: 'esm',
    packages: 'external',
    tsconfig: join(ROOT, 'tsconfig.json'),
  }),
);

/** Runs modules, or tests of node:test, in one process; gives what each printed. */
async function runBlocks(some: readonly Block[]): Promise<Map<Block, string>> {
  const modules = some.flatMap((block) => [join(CACHE, block.page), bundleOf(block)]);
  const { stdout } = await run(process.execPath, [join(ROOT, 'test/docs/run-examples.mjs'), ...modules], {
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  const printed = stdout.split(/^>>> .*\n/m).slice(1);
  return new Map(some.map((block, i) => [block, printed[i]!]));
}

describe('examples', () => {
  const isTest = ({ name }: Block): boolean => name.endsWith('.test.ts');

  it.each(PAGES)('of docs/%s.md run and print what they say', async (page) => {
    const printed = await ran;
    const own = runnable.filter((block) => block.page === page && !isTest(block));
    for (const block of own) {
      // A comment behind console.log is what it prints.
      for (const [, wanted] of block.code.matchAll(/^console\.log\(.*\); \/\/ (.*)$/gm)) {
        expect(printed.get(block)!.split('\n')).toContain(wanted);
      }
    }
  });

  it('for node:test pass', async () => {
    const printed = await runBlocks(runnable.filter(isTest));
    expect([...printed.values()].join('')).toMatch(/^# fail 0$/m);
  });

  let ran: Promise<Map<Block, string>>;
  beforeAll(() => {
    ran = runBlocks(runnable.filter((block) => !isTest(block)));
    return ran;
  });
});

describe('the recipe for Vitest', async () => {
  await import(join(CACHE, 'testing', 'vitest.test.ts'));
});

const MENTIONS = [
  'README.md',
  ...PAGES.map((page) => `docs/${page}.md`),
  'docs/architecture.md',
  'docs/bundling.md',
];

describe.each(MENTIONS)('what %s mentions is there', (page) => {
  const text = readFileSync(join(ROOT, page), 'utf8');

  it('files and links', () => {
    const links = [...text.matchAll(/\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)/g)].map(([, path]) =>
      join(ROOT, page, '..', path!),
    );
    const files = [...text.matchAll(/`((?:src|docs|test|examples|decorators|bench)\/[\w./-]+)`/g)].map(
      ([, path]) => join(ROOT, path!),
    );
    expect([...links, ...files].filter((path) => !existsSync(path))).toEqual([]);
  });

  it('headings of links', () => {
    for (const [, path, anchor] of text.matchAll(/\]\((?!https?:)([^)#]*)#([^)]+)\)/g)) {
      const target = path === '' ? join(ROOT, page) : join(ROOT, page, '..', path!);
      const headings = [...readFileSync(target, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
        heading!
          .toLowerCase()
          .replace(/[^\w\- ]/g, '')
          .replaceAll(' ', '-'),
      );
      expect(headings).toContain(anchor);
    }
  });

  it('scripts of npm and commands of rowan', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    const named = [...text.matchAll(/npm run ([\w:-]+)/g)].map(([, name]) => name!);
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
    const program = readFileSync(join(ROOT, 'src/cli/program.ts'), 'utf8') + commandSources();
    const commands = [...text.matchAll(/(?:`|npx )rowan ([a-z]+)/g)].map(([, name]) => name!);
    expect(commands.filter((name) => !new RegExp(`['"\`]${name}\\b`).test(program))).toEqual([]);
  });
});

function commandSources(): string {
  const folder = join(ROOT, 'src/cli/commands');
  return readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('\n');
}

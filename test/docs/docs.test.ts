/** Runs the examples of the guides on the package's source (`snippets.ts`). The toolchain matrix runs them on the packed package. */

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Block, blocksOf, PAGES, printedBy, promisedBy } from './snippets.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const CACHE = join(ROOT, 'test/docs/.cache');
const BUNDLES = join(CACHE, 'bundles');

/** The package's source in place of the package. */
function fromSource(code: string): string {
  return code
    .replaceAll("'rowan-orm'", "'../../../../src/index.js'")
    .replaceAll("'rowan-orm/table'", "'../../../../src/public/table.js'")
    .replaceAll("'rowan-orm/validation'", "'../../../../src/validation/index.js'")
    .replaceAll("'rowan-orm/nestjs'", "'../../../../src/nestjs/index.js'")
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
  const modules = some.map((block) => ({ folder: join(CACHE, block.page), file: bundleOf(block) }));
  const printed = await printedBy(modules);
  return new Map(some.map((block, i) => [block, printed[i]!]));
}

describe('examples', () => {
  const isTest = ({ name }: Block): boolean => name.endsWith('.test.ts');

  it.each(PAGES)('of docs/%s.md run and print what they say', async (page) => {
    const printed = await ran;
    const own = runnable.filter((block) => block.page === page && !isTest(block));
    for (const block of own) {
      expect(printed.get(block)!.split('\n')).toEqual(expect.arrayContaining(promisedBy(block)));
    }
  });

  it('for node:test pass', async () => {
    const printed = await runBlocks(runnable.filter(isTest));
    expect([...printed.values()].join('')).toMatch(/^(#|ℹ) fail 0$/m);
  });

  let ran: Promise<Map<Block, string>>;
  beforeAll(() => {
    ran = runBlocks(runnable.filter((block) => !isTest(block)));
    return ran;
  });
});

it('every page with a program that opens a database is one of those that run', () => {
  const pages = readdirSync(join(ROOT, 'docs')).flatMap((name) =>
    name.endsWith('.md') && name !== 'README.md' ? [name.replace(/\.md$/, '')] : [],
  );
  const opens = /from 'rowan-orm[\s\S]*\b(?:open|openMemory|startServer)\(/;
  const withPrograms = pages.filter((page) => blocksOf(page).some(({ code }) => opens.test(code)));
  expect(withPrograms.filter((page) => !PAGES.includes(page))).toEqual([]);
  expect(withPrograms).toContain('summaries');
});

describe('the recipe for Vitest', async () => {
  await import(join(CACHE, 'testing', 'vitest.test.ts'));
});

const MENTIONS = [
  'README.md',
  'docs/README.md',
  'docs/keys.md',
  'docs/key-designs.md',
  'docs/queries.md',
  'docs/pages.md',
  'docs/collections.md',
  'docs/figures.md',
  'docs/writes.md',
  ...PAGES.map((page) => `docs/${page}.md`),
  'docs/architecture.md',
  'docs/bundling.md',
  'docs/nestjs.md',
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

/** The sources of the commands: those of `src/cli/commands`, and those of features. */
function commandSources(): string {
  const commands = join(ROOT, 'src/cli/commands');
  const features = join(ROOT, 'src/features');
  return [
    ...readdirSync(commands).map((name) => join(commands, name)),
    ...readdirSync(features).map((name) => join(features, name, 'command.ts')),
  ]
    .filter((file) => existsSync(file))
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n');
}

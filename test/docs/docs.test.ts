/**
 * Runs the examples of the guides. A block of TypeScript is a module, written from its first import to its end, but for
 * those marked `no-run`; blocks marked `file=NAME` can import each other.
 */

import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const CACHE = join(ROOT, 'test/docs/.cache');
const run = promisify(execFile);

const PAGES = ['errors', 'getting-started', 'indexes', 'migrating', 'operations', 'testing', 'transactions'];

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

beforeAll(() => {
  rmSync(CACHE, { recursive: true, force: true });
  for (const { page, name, code } of blocks) {
    mkdirSync(join(CACHE, page), { recursive: true });
    writeFileSync(join(CACHE, page, name), fromSource(code));
  }
});

/** Runs a module, or a test of node:test, in a process of its own whose folder is the page's. */
async function runBlock({ page, name }: Block): Promise<string> {
  const loader = join(ROOT, 'node_modules/tsx/dist/loader.mjs');
  const { stdout } = await run(process.execPath, ['--import', loader, name], {
    cwd: join(CACHE, page),
    env: { ...process.env, NODE_OPTIONS: '', TSX_TSCONFIG_PATH: join(ROOT, 'tsconfig.json') },
  });
  return stdout;
}

describe.each(PAGES)('docs/%s.md', (page) => {
  // Vitest's and Jest's recipes run where those do: in this process, and in the toolchain matrix.
  const runnable = blocks.filter((block) => block.page === page && !/^(vitest|jest)\./.test(block.name));

  it.each(runnable.map((block) => [block.name, block] as const))('%s runs', async (_name, block) => {
    const printed = await runBlock(block);
    // A comment behind console.log is what it prints.
    for (const [, wanted] of block.code.matchAll(/^console\.log\(.*\); \/\/ (.*)$/gm)) {
      expect(printed.split('\n')).toContain(wanted);
    }
    expect(printed).not.toMatch(/^not ok/m);
  });
});

it('the recipe for Vitest runs', async () => {
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
  const folder = join(CACHE, 'testing');
  writeFileSync(
    join(folder, 'vitest.config.mjs'),
    'export default { test: { include: ["vitest.test.ts"] } };\n',
  );
  const { stdout } = await run(process.execPath, [vitest, 'run', '--root', folder], {
    env: { ...process.env, NODE_OPTIONS: '', NO_COLOR: '1' },
  });
  expect(stdout).toMatch(/1 passed/);
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

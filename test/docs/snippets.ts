/**
 * The programs of the guides. A block of TypeScript is a module, written from its first import to its end, but for those
 * marked `no-run`; blocks marked `file=NAME` can import each other.
 */

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const RUNNER = join(ROOT, 'test/docs/run-examples.mjs');

/** The pages of docs/ whose blocks run. */
export const PAGES: readonly string[] = [
  'change-recipes',
  'changes',
  'denormalization',
  'errors',
  'getting-started',
  'indexes',
  'indexes-eventual',
  'migrating',
  'observing',
  'operations',
  'places',
  'relations',
  'streams',
  'summaries',
  'testing',
  'testing-servers',
  'transactions',
  'validation',
];

export interface Block {
  readonly page: string;
  readonly name: string;
  readonly code: string;
}

/** The blocks of a page, which is the README or one of docs/. */
export function blocksOf(page: string): Block[] {
  const text = readFileSync(join(ROOT, page === 'README' ? 'README.md' : `docs/${page}.md`), 'utf8');
  const found = [...text.matchAll(/^```ts(.*)\n([\s\S]*?)^```$/gm)];
  return found.flatMap(([, info, code], index) => {
    if (info!.includes('no-run')) return [];
    const name = /file=(\S+)/.exec(info!)?.[1] ?? `example-${index + 1}.ts`;
    return [{ page, name, code: code! }];
  });
}

/** The lines that a block says it prints: a comment behind console.log. */
export function promisedBy({ code }: Block): string[] {
  return [...code.matchAll(/^console\.log\(.*\); \/\/ (.*)$/gm)].map(([, line]) => line!);
}

export interface Module {
  /** The folder that it runs in. */
  readonly folder: string;
  readonly file: string;
}

/** Runs modules, or tests of node:test, in one process; gives what each printed. */
export async function printedBy(modules: readonly Module[], node = process.execPath): Promise<string[]> {
  const args = modules.flatMap(({ folder, file }) => [folder, file]);
  const { stdout } = await promisify(execFile)(node, [RUNNER, ...args], {
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  return stdout.split(/^>>> .*\n/m).slice(1);
}

import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { buildSync } from 'esbuild';

/** A child process that runs a TypeScript file of the tests and answers by lines. */
export interface Script {
  readonly pid: number;
  /** How it ended: the exit code, or the signal. */
  readonly exit: Promise<number | NodeJS.Signals>;
  /** All lines so far. */
  readonly lines: readonly string[];
  /** The first line that fits. Rejects, with what it wrote on stderr, when the process ends before. */
  line(fits: (line: string) => boolean): Promise<string>;
  /** Resolves when there are so many lines. Rejects when the process ends before. */
  count(lines: number): Promise<void>;
  /** SIGKILL: no handler runs, nothing is flushed. */
  kill(): void;
}

/** Where the bundles of this process are. */
let bundles: string | undefined;
const bundled = new Map<string, string>();

/**
 * The file as one of JavaScript, with the worker of the store beside it: loading a hundred files of TypeScript costs a
 * process ten times what its life in a test does.
 */
function bundleOf(file: string): string {
  const known = bundled.get(file);
  if (known !== undefined) return known;
  const folder = bundles ?? makeFolder();
  const outfile = join(folder, `${bundled.size}.mjs`);
  bundle(file, outfile);
  bundled.set(file, outfile);
  return outfile;
}

function makeFolder(): string {
  // Inside the project, where the packages that a bundle names are found.
  const parent = join(process.cwd(), 'node_modules/.cache');
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, 'rowan-scripts-'));
  process.once('exit', () => rmSync(folder, { recursive: true }));
  bundles = folder;
  bundle('src/store/background/worker.ts', join(folder, 'rowan-worker.mjs'));
  return folder;
}

function bundle(file: string, outfile: string): void {
  const entry = join(process.cwd(), file);
  buildSync({
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
  });
}

export function runScript(file: string, args: readonly string[]): Script {
  const child = spawn(process.execPath, [bundleOf(file), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  let errors = '';
  let ended = false;
  child.stderr.on('data', (chunk) => {
    errors += String(chunk);
  });
  const reader = createInterface({ input: child.stdout });
  const drained = new Promise<void>((resolve) => reader.once('close', resolve));
  reader.on('line', (line) => {
    lines.push(line);
    for (const check of waiting) check();
  });
  const exit = new Promise<number | NodeJS.Signals>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', async (code, signal) => {
      await drained;
      ended = true;
      for (const check of waiting) check();
      resolve(signal ?? code ?? 0);
    });
  });
  const when = <T>(found: () => T | undefined): Promise<T> =>
    new Promise((resolve, reject) => {
      const check = (): void => {
        const value = found();
        if (value === undefined && !ended) return;
        waiting.delete(check);
        if (value !== undefined) resolve(value);
        else reject(new Error(`${file} ended too early. ${errors}`));
      };
      waiting.add(check);
      check();
    });
  return {
    pid: child.pid ?? -1,
    exit,
    lines,
    line: (fits) => when(() => lines.find(fits)),
    count: async (wanted) => {
      await when(() => (lines.length >= wanted ? true : undefined));
    },
    kill: () => child.kill('SIGKILL'),
  };
}

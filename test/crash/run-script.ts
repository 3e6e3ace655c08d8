import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { bundleOf } from '../bundle.js';

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
  /** What it has written on stderr so far. */
  errors(): string;
  /** SIGKILL: no handler runs, nothing is flushed. */
  kill(): void;
}

/** `descriptors`: how many files it may have open, where the system has a shell that can say so. */
export function runScript(
  file: string,
  args: readonly string[],
  { descriptors }: { readonly descriptors?: number } = {},
): Script {
  const limit = descriptors === undefined ? '' : `ulimit -n ${descriptors}; `;
  const command = [process.execPath, bundleOf(file), ...args];
  const [program, ...rest] =
    limit === '' ? command : ['/bin/sh', '-c', `${limit}exec "$@"`, 'sh', ...command];
  const child = spawn(program!, rest, { stdio: ['ignore', 'pipe', 'pipe'] });
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
    errors: () => errors,
    kill: () => child.kill('SIGKILL'),
  };
}

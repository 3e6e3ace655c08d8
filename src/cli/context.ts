import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RowanError } from '../errors.js';
import type { JobProgress, JobRunOptions } from '../job/types.js';

/** The outputs of a command. Tests pass their own. */
export interface CliContext {
  readonly write: (text: string) => void;
  readonly writeError: (text: string) => void;
  /** Asks the user; undefined where nobody can answer: the input is no terminal. */
  readonly ask?: ((question: string) => Promise<string>) | undefined;
  /** Whether the output is a terminal. Default false. */
  readonly isTerminal?: boolean;
}

export const processContext: CliContext = {
  write: (text) => void process.stdout.write(text),
  writeError: (text) => void process.stderr.write(text),
  ask: process.stdin.isTTY ? askTerminal : undefined,
  isTerminal: process.stdout.isTTY === true,
};

async function askTerminal(question: string): Promise<string> {
  const { createInterface } = await import('node:readline/promises');
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return await lines.question(question);
  } finally {
    lines.close();
  }
}

/** Ends `rowan` with an exit code, after all output was printed. */
export class CliExit extends Error {
  constructor(readonly code: number) {
    super(`exit ${code}`);
  }
}

/** The text of a file that a command line names. @throws RowanError `ERR_IO`. */
export function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new RowanError(
      'ERR_IO',
      `${path} cannot be read: ${(cause as Error).message}. Give the path of a file that you may read.`,
      { cause, details: { file: path } },
    );
  }
}

/** The version in the nearest package.json above this file. */
export function packageVersion(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  for (;;) {
    try {
      return (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }).version;
    } catch (error) {
      const parent = dirname(folder);
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || parent === folder) throw error;
      folder = parent;
    }
  }
}

// — The progress bar of jobs, on standard error.

/** Runs a job with a progress bar, if the output is a terminal and neither `--json` nor `--no-progress` is given. */
export async function withProgress<T>(
  { json, progress }: { readonly json?: boolean; readonly progress?: boolean },
  run: (onProgress: JobRunOptions['onProgress']) => Promise<T>,
): Promise<T> {
  const bar = progress !== false && json !== true && process.stderr.isTTY ? await progressBar() : undefined;
  try {
    return await run(bar && ((at) => bar.update(at)));
  } finally {
    bar?.stop();
  }
}

async function progressBar(): Promise<{ update(progress: JobProgress): void; stop(): void }> {
  const { SingleBar } = await import('cli-progress');
  const bar = new SingleBar({
    format: '{bar} {percentage}% | {rows} rows, {rate}/s | {left}',
    stream: process.stderr,
  });
  bar.start(1000, 0, { rows: 0, rate: 0, left: '' });
  return {
    update: ({ fraction, rows, rowsPerSecond, remainingMs }) =>
      bar.update(Math.floor(fraction * 1000), {
        rows,
        rate: Math.round(rowsPerSecond),
        left: remainingMs === undefined ? '' : `${Math.ceil(remainingMs / 1000)} s left`,
      }),
    stop: () => bar.stop(),
  };
}

/** Resolves at the first SIGINT or SIGTERM. A second one ends the process at once. */
export function signalled(): { readonly came: Promise<string>; forget(): void } {
  let forget = (): void => undefined;
  const came = new Promise<string>((resolve) => {
    const end = (name: string): void => {
      forget();
      resolve(name);
    };
    process.on('SIGTERM', end);
    process.on('SIGINT', end);
    forget = () => {
      process.off('SIGTERM', end);
      process.off('SIGINT', end);
    };
  });
  return { came, forget: () => forget() };
}

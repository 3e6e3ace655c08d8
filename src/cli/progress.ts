/** The progress bar of jobs, on standard error. */

import { SingleBar } from 'cli-progress';
import type { JobProgress, JobRunOptions } from '../job/types.js';

/** Runs a job with a bar, where a person may be looking and does not ask for JSON or for none. */
export async function withProgress<T>(
  { json, progress }: { readonly json?: boolean; readonly progress?: boolean },
  run: (onProgress: JobRunOptions['onProgress']) => Promise<T>,
): Promise<T> {
  const bar = progress !== false && json !== true && process.stderr.isTTY ? progressBar() : undefined;
  try {
    return await run(bar && ((at) => bar.update(at)));
  } finally {
    bar?.stop();
  }
}

function progressBar(): { update(progress: JobProgress): void; stop(): void } {
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

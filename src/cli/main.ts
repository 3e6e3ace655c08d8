#!/usr/bin/env node
import * as nodeModule from 'node:module';

// Enables Node's compile cache where it exists (22.8 and newer), so that the next command starts faster.
const { enableCompileCache } = nodeModule as { enableCompileCache?: () => unknown };
enableCompileCache?.();

/** As a shell says it of a program that SIGPIPE has ended. Node.js ignores the signal. */
const PIPE_CLOSED = 141;
for (const output of [process.stdout, process.stderr]) {
  output.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    // Who reads the output has ended, such as `head`.
    process.exit(PIPE_CLOSED);
  });
}

const { processContext } = await import('./context.js');
const { runCli } = await import('./program.js');
process.exitCode = await runCli(process.argv.slice(2), processContext);

#!/usr/bin/env node
import * as nodeModule from 'node:module';

// Enables Node's compile cache where it exists (22.8 and newer), so that the next command starts faster.
const { enableCompileCache } = nodeModule as { enableCompileCache?: () => unknown };
enableCompileCache?.();

const { processContext } = await import('./context.js');
const { runCli } = await import('./program.js');
process.exitCode = await runCli(process.argv.slice(2), processContext);

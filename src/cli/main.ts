#!/usr/bin/env node
import * as nodeModule from 'node:module';

// What Node compiles is kept in its own folder, where it can do that (22.8 and newer): the next command starts faster.
const { enableCompileCache } = nodeModule as { enableCompileCache?: () => unknown };
enableCompileCache?.();

const { processContext } = await import('./context.js');
const { runCli } = await import('./program.js');
process.exitCode = await runCli(process.argv.slice(2), processContext);

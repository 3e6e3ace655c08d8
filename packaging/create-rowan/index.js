#!/usr/bin/env node
/** `npm create rowan [folder] [-- options]`: `rowan init` with the same arguments, in a terminal with its questions. */

import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const { resolve } = createRequire(import.meta.url);
const rowan = join(dirname(resolve('rowan-orm/package.json')), 'dist/rowan.js');
const args = [rowan, 'init', ...process.argv.slice(2)];
const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' });
process.exitCode = status ?? 1;

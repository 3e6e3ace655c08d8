/**
 * `npm run bigtable:start` and `npm run bigtable:stop`: an emulator of Bigtable on loopback that runs until it is stopped.
 * `--port N`: default 8086.
 */

import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { BIGTABLE_HOME, Emulator } from './emulator.js';

const STATE = join(BIGTABLE_HOME, 'emulator.json');

interface State {
  readonly host: string;
  readonly process: number;
}

async function running(): Promise<State | undefined> {
  const text = await readFile(STATE, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const state = JSON.parse(text) as State;
  try {
    process.kill(state.process, 0);
    return state;
  } catch {
    return undefined;
  }
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { port: { type: 'string', default: '8086' } },
});
const state = await running();
if (positionals[0] === 'start') {
  const host = state?.host ?? (await startNew(Number(values.port)));
  console.log(`The emulator runs: export BIGTABLE_EMULATOR_HOST=${host}`);
} else if (positionals[0] === 'stop') {
  if (state !== undefined) process.kill(state.process, 'SIGINT');
  await rm(STATE, { force: true });
  console.log(state === undefined ? 'No emulator runs.' : `The emulator ${state.host} has ended.`);
} else {
  console.error('npm run bigtable:start [-- --port N], npm run bigtable:stop');
  process.exitCode = 2;
}

async function startNew(port: number): Promise<string> {
  const { host, process: child } = await Emulator.start(port, true);
  await writeFile(STATE, JSON.stringify({ host, process: child.pid! } satisfies State));
  return host;
}

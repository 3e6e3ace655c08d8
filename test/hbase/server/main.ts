/**
 * `npm run hbase:start` and `npm run hbase:stop`: an Apache HBase on loopback that runs until it is stopped.
 * Options: see USAGE.
 */

import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { run } from './class-path.js';
import { type ServerState, startHBase } from './hbase-server.js';
import { HBASE_HOME, InstanceLayout } from './layout.js';
import { probeMaster } from './probe.js';

const USAGE = `npm run hbase:start -- [options]
  --name NAME               names the folder under .hbase/instances; default "default"
  --port-offset N           added to 16000 (master), 16020 (region server) and 12181 (ZooKeeper); default 0
  --region-servers N        default 1
  --separate-processes      ZooKeeper, masters and region servers in a JVM each
  --masters N               with --separate-processes: further ones stand by; default 1
  --session-timeout MS      until a killed server counts as dead
  --handlers N              calls a region server works on at a time; default 8
  --jit quick|full          default quick
  --heap SIZE               default 1g
  --set KEY=VALUE           a setting of hbase-site.xml; can be repeated
npm run hbase:stop -- [--name NAME | --all]`;

async function start(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      name: { type: 'string', default: 'default' },
      'port-offset': { type: 'string', default: '0' },
      'region-servers': { type: 'string', default: '1' },
      'separate-processes': { type: 'boolean', default: false },
      masters: { type: 'string', default: '1' },
      'session-timeout': { type: 'string' },
      handlers: { type: 'string', default: '8' },
      jit: { type: 'string', default: 'quick' },
      heap: { type: 'string' },
      set: { type: 'string', multiple: true, default: [] },
    },
  });
  const layout = new InstanceLayout(values.name);
  const state = await readState(layout);
  if (state !== undefined && (await answers(state))) {
    console.log(`HBase "${values.name}" is running already: masters ${state.masters.join(', ')}`);
    return;
  }
  if (state !== undefined) await stopInstance(layout);
  const offset = integer('--port-offset', values['port-offset']);
  const began = Date.now();
  const server = await startHBase({
    name: values.name,
    masterPort: 16000 + offset,
    regionServerPort: 16020 + offset,
    zooKeeperPort: 12181 + offset,
    regionServers: integer('--region-servers', values['region-servers']),
    masters: integer('--masters', values.masters),
    separateProcesses: values['separate-processes'],
    ...(values['session-timeout'] === undefined
      ? {}
      : { sessionTimeout: integer('--session-timeout', values['session-timeout']) }),
    handlers: integer('--handlers', values.handlers),
    jit: values.jit === 'full' ? 'full' : 'quick',
    ...(values.heap === undefined ? {} : { heap: values.heap }),
    settings: Object.fromEntries(values.set.map((pair) => pair.split(/=(.*)/s).slice(0, 2))),
    detached: true,
  });
  const seconds = ((Date.now() - began) / 1000).toFixed(1);
  console.log(
    `HBase "${values.name}" is ready after ${seconds} s: masters ${server.masters.join(', ')}, ` +
      `ZooKeeper ${server.zooKeeperAddress}, logs in ${layout.log}`,
  );
}

async function stop(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: { name: { type: 'string', default: 'default' }, all: { type: 'boolean', default: false } },
  });
  const names = values.all ? await readdir(join(HBASE_HOME, 'instances')).catch(() => []) : [values.name];
  for (const name of names) {
    const stopped = await stopInstance(new InstanceLayout(name));
    if (stopped || !values.all)
      console.log(stopped ? `HBase "${name}" is stopped.` : `HBase "${name}" is not running.`);
  }
}

/** Stops the processes that the state file names; false when there was no such file. */
async function stopInstance(layout: InstanceLayout): Promise<boolean> {
  const state = await readState(layout);
  if (state === undefined) return false;
  const ours: number[] = [];
  for (const pid of Object.values(state.processes)) if (await belongsTo(pid, layout)) ours.push(pid);
  for (const pid of ours) signal(pid, 'SIGTERM');
  const until = Date.now() + 4000;
  while (ours.some((pid) => signal(pid, 0)) && Date.now() < until) await delay(50);
  for (const pid of ours) signal(pid, 'SIGKILL');
  await rm(layout.stateFile, { force: true });
  return true;
}

async function readState(layout: InstanceLayout): Promise<ServerState | undefined> {
  const text = await readFile(layout.stateFile, 'utf8').catch(() => undefined);
  return text === undefined ? undefined : (JSON.parse(text) as ServerState);
}

/** Whether the process is still the one that was started: ids are given again to others. */
async function belongsTo(pid: number, layout: InstanceLayout): Promise<boolean> {
  // Not every Linux image has ps, and macOS has no /proc.
  const commandLine = await readFile(`/proc/${pid}/cmdline`, 'latin1').catch(
    async () => (await run('ps', ['-p', String(pid), '-o', 'args=', '-ww'])).output,
  );
  return commandLine.includes(`-Dhbase.home.dir=${layout.root}`);
}

async function answers(state: ServerState): Promise<boolean> {
  for (const master of state.masters) {
    const [host = '', port = ''] = master.split(':');
    const ready = await probeMaster(host, Number(port)).then(
      () => true,
      () => false,
    );
    if (ready) return true;
  }
  return false;
}

function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

function integer(option: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0)
    throw new Error(`${option} takes a whole number, not "${text}".`);
  return value;
}

const [command, ...rest] = process.argv.slice(2);
try {
  if (command === 'start') await start(rest);
  else if (command === 'stop') await stop(rest);
  else throw new Error(`Say start or stop.\n${USAGE}`);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

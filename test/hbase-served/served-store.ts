import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InstanceLayout, PROJECT_ROOT } from '../hbase/server/layout.js';
import { writeConfiguration } from '../hbase/server/settings.js';

/** How a client of HBase finds the server. */
export type Registry = 'bootstrap' | 'masters' | 'zookeeper';

/** `rowan serve` in a process of its own, on a store in a folder of its own. */
export class ServedStore {
  private constructor(
    readonly folder: string,
    private child: ChildProcess,
    public endpoint: string,
    public zookeeper: string,
  ) {}

  static async start(options: readonly string[] = []): Promise<ServedStore> {
    const folder = await mkdtemp(join(tmpdir(), 'rowan-served-'));
    const { child, endpoint, zookeeper } = await spawnServer(join(folder, 'store'), '127.0.0.1:0', options);
    return new ServedStore(folder, child, endpoint, zookeeper);
  }

  get pid(): number {
    return this.child.pid!;
  }

  get port(): number {
    return Number(this.endpoint.split(':')[1]);
  }

  /** `kill -9`, and the server again, at the same port. */
  async crash(options: readonly string[] = []): Promise<void> {
    await ended(this.child, 'SIGKILL');
    const again = await spawnServer(join(this.folder, 'store'), this.endpoint, options);
    this.child = again.child;
    this.zookeeper = again.zookeeper;
  }

  /** Ends the server as an operator does; answers its exit code. */
  async terminate(): Promise<number | null> {
    return ended(this.child, 'SIGTERM');
  }

  async stop(): Promise<void> {
    await ended(this.child, 'SIGTERM');
    await rm(this.folder, { recursive: true, force: true });
  }

  /** The configuration of a Java client that finds the server so. */
  async layout(registry: Registry, settings: Readonly<Record<string, string>> = {}): Promise<InstanceLayout> {
    return clientLayout(registry, { ...this.settings(registry), ...settings });
  }

  /** What tells a Java client to find the server so. */
  settings(registry: Registry): Record<string, string> {
    if (registry !== 'zookeeper') return registrySettings(registry, `localhost:${this.port}`);
    return {
      'hbase.zookeeper.quorum': '127.0.0.1',
      'hbase.zookeeper.property.clientPort': this.zookeeper.split(':')[1]!,
    };
  }
}

/** What tells a Java client to ask the server at this address where everything is. */
export function registrySettings(
  registry: Exclude<Registry, 'zookeeper'>,
  address: string,
): Record<string, string> {
  const CLIENT = 'org.apache.hadoop.hbase.client.';
  return registry === 'bootstrap'
    ? {
        'hbase.client.registry.impl': `${CLIENT}RpcConnectionRegistry`,
        'hbase.client.bootstrap.servers': address,
      }
    : { 'hbase.client.registry.impl': `${CLIENT}MasterRegistry`, 'hbase.masters': address };
}

/** A configuration of Java clients, with folders of its own for each kind of registry. */
export async function clientLayout(
  registry: Registry,
  settings: Readonly<Record<string, string>>,
): Promise<InstanceLayout> {
  const layout = new InstanceLayout(`served-${process.pid}-${registry}`);
  await mkdir(layout.tmp, { recursive: true });
  await writeConfiguration(layout, { 'hadoop.tmp.dir': layout.tmp, ...settings });
  return layout;
}

async function spawnServer(
  store: string,
  listen: string,
  options: readonly string[],
): Promise<{ child: ChildProcess; endpoint: string; zookeeper: string }> {
  const args = ['serve', store, '--create', '--listen', listen, '--announce', 'localhost'];
  const child = spawn(
    process.execPath,
    [join(PROJECT_ROOT, 'dist/rowan.js'), ...args, '--zookeeper', '127.0.0.1:0', ...options],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  let output = '';
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`rowan serve ended with code ${code}: ${output}`)));
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      const endpoint = / at (127\.0\.0\.1:\d+)\n/.exec(output)?.[1];
      const zookeeper = /answered at (127\.0\.0\.1:\d+)\n/.exec(output)?.[1];
      if (endpoint !== undefined && zookeeper !== undefined) resolve({ child, endpoint, zookeeper });
    });
  });
}

function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode);
  return new Promise((resolve) => {
    child.once('exit', (code) => resolve(code));
    child.kill(signal);
  });
}

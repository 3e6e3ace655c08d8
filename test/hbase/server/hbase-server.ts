import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { delimiter } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { classPath, requireTools } from './class-path.js';
import { Jvm } from './jvm.js';
import { InstanceLayout } from './layout.js';
import type { HBaseOptions, ResolvedOptions } from './options.js';
import { freePorts, isFree } from './ports.js';
import { probeMaster } from './probe.js';
import { siteSettings, writeConfiguration } from './settings.js';
import { fileSystemClasses } from './tool.js';

const READY_LIMIT = 300_000;
const HOST = 'localhost';

/**
 * Starts an Apache HBase on loopback, with an empty data folder, and returns when a namespace can be created in it.
 * The first call on a machine fetches it by Maven (about 130 MB).
 * @throws Error when there is no JDK or Maven, when a port is taken, or with the end of its log when it does not start.
 */
export async function startHBase(options: HBaseOptions = {}): Promise<HBaseServer> {
  await requireTools();
  const resolved = await resolveOptions(options);
  const names = [
    ...(options.libraries ?? []),
    resolved.version === '2.6' ? ('server' as const) : (`server-${resolved.version}` as const),
  ];
  const jars = [...(options.classes ?? []), ...(await Promise.all(names.map(classPath)))].join(delimiter);
  await requireFreePorts(resolved);
  const layout = new InstanceLayout(resolved.name);
  await rm(layout.root, { recursive: true, force: true });
  for (const folder of [layout.data, layout.log, layout.tmp]) await mkdir(folder, { recursive: true });
  await writeConfiguration(layout, siteSettings(resolved, layout));
  await cp(await fileSystemClasses(), layout.conf, { recursive: true });
  const server = new HBaseServer(layout, resolved, jars);
  try {
    await server.startAll();
  } catch (error) {
    await server.kill();
    throw error;
  }
  return server;
}

/** A running HBase. Its processes can be killed, paused and started again one by one if it has several. */
export class HBaseServer {
  private zooKeeper: Jvm | undefined;
  private readonly masterJvms: Jvm[] = [];
  private readonly regionServerJvms: Jvm[] = [];

  constructor(
    readonly layout: InstanceLayout,
    readonly options: ResolvedOptions,
    private readonly jars: string,
  ) {}

  /** "host:port" of each master, the one that was active at the start first: what `connect({ masters })` takes. */
  get masters(): string[] {
    return this.options.masterPorts.map((port) => `${HOST}:${port}`);
  }

  /** "host:port" of each region server; empty when several share a JVM, for then their ports are picked by them. */
  get regionServers(): string[] {
    const { regionServerPorts } = this.options;
    return regionServerPorts.map((port) => `${HOST}:${port}`);
  }

  get zooKeeperAddress(): string {
    return `127.0.0.1:${this.options.zooKeeperPort}`;
  }

  /** Starts every process and waits until a namespace can be created. */
  async startAll(): Promise<void> {
    if (this.options.separateProcesses) {
      await this.startZooKeeper();
      this.startMaster(0);
      for (let n = 0; n < this.options.regionServers; n++) this.startRegionServer(n);
      await this.waitUntilReady();
      for (let n = 1; n < this.options.masterPorts.length; n++) this.startMaster(n);
    } else {
      this.startMaster(0);
      await this.waitUntilReady();
    }
    await this.writeState();
  }

  /** Starts the process of ZooKeeper, also after its end, with what it had written. */
  async startZooKeeper(): Promise<void> {
    this.zooKeeper = this.jvm('zookeeper', 'org.apache.hadoop.hbase.zookeeper.HQuorumPeer', [], '256m');
    await this.waitForPort(this.options.zooKeeperPort, this.zooKeeper);
  }

  startMaster(n: number): Jvm {
    const port = this.options.masterPorts[n];
    if (port === undefined)
      throw new Error(`There is no master ${n}; ask for more masters when you start HBase.`);
    const args = [`-Dhbase.master.port=${port}`, 'start', ...(n > 0 ? ['--backup'] : [])];
    const jvm = this.jvm(`master-${n}`, 'org.apache.hadoop.hbase.master.HMaster', args);
    this.masterJvms[n] = jvm;
    return jvm;
  }

  startRegionServer(n: number): Jvm {
    const port = this.options.regionServerPorts[n];
    if (!this.options.separateProcesses || port === undefined) {
      throw new Error(`There is no process of a region server ${n}; start HBase with separateProcesses.`);
    }
    const mainClass = 'org.apache.hadoop.hbase.regionserver.HRegionServer';
    const jvm = this.jvm(`region-server-${n}`, mainClass, [`-Dhbase.regionserver.port=${port}`, 'start']);
    this.regionServerJvms[n] = jvm;
    return jvm;
  }

  /** The process of ZooKeeper, if it has one of its own. */
  get zooKeeperProcess(): Jvm {
    return known(this.zooKeeper, 'process of ZooKeeper');
  }

  /** The process of a master; in standalone mode master 0 is the whole HBase. */
  master(n = 0): Jvm {
    return known(this.masterJvms[n], `master ${n}`);
  }

  regionServer(n = 0): Jvm {
    return known(this.regionServerJvms[n], `process of a region server ${n}`);
  }

  /** The region server process that listens on "host:port", as `RegionInfo.server` names it; -1 when it is none. */
  regionServerAt(address: string): number {
    return this.options.regionServerPorts.indexOf(Number(address.split(':')[1]?.split(',')[0]));
  }

  /** Ends every process, and removes the instance's folder unless it was to outlive this process. */
  async stop(): Promise<void> {
    // The region servers of a cluster wait for their master and the master for them; nothing of it is read again.
    if (!this.options.separateProcesses) await this.masterJvms[0]?.stop();
    await this.kill();
    if (!this.options.detached) await rm(this.layout.root, { recursive: true, force: true });
  }

  /** Kills every process; the logs stay. */
  async kill(): Promise<void> {
    await Promise.all(this.processes().map((jvm) => jvm.kill()));
    await this.removeState();
  }

  /** Waits until an active master creates a namespace. */
  async waitUntilReady(): Promise<void> {
    const until = Date.now() + READY_LIMIT;
    let last: unknown = new Error('It was not asked yet.');
    while (Date.now() < until) {
      const dead = this.processes().find((jvm) => !jvm.running);
      if (dead !== undefined) throw new Error(`${dead.name} has ended:\n${dead.logTail()}`);
      for (const port of this.options.masterPorts) {
        try {
          await this.options.probe('127.0.0.1', port);
          return;
        } catch (error) {
          last = error;
        }
      }
      await delay(100);
    }
    const log = this.masterJvms[0]?.logTail() ?? '';
    throw new Error(`HBase was not ready after ${READY_LIMIT / 1000} s (${String(last)}):\n${log}`);
  }

  /** The processes that were started and not yet given up for another. */
  processes(): Jvm[] {
    return [this.zooKeeper, ...this.masterJvms, ...this.regionServerJvms].filter((jvm) => jvm !== undefined);
  }

  private jvm(name: string, mainClass: string, args: readonly string[], heap?: string): Jvm {
    return Jvm.start({
      layout: this.layout,
      name,
      mainClass,
      args,
      classPath: this.jars,
      heap: heap ?? this.options.heap,
      jit: this.options.jit,
      systemProperties: {
        [`proc_${name}`]: 'true',
        'zookeeper.admin.enableServer': 'false',
        ...this.options.systemProperties,
      },
      detached: this.options.detached,
    });
  }

  private async waitForPort(port: number, jvm: Jvm): Promise<void> {
    const until = Date.now() + READY_LIMIT;
    while (await isFree(port)) {
      if (!jvm.running || Date.now() > until) throw new Error(`${jvm.name} did not start:\n${jvm.logTail()}`);
      await delay(50);
    }
  }

  private async writeState(): Promise<void> {
    const processes = Object.fromEntries(this.processes().map((jvm) => [jvm.name, jvm.pid]));
    const state: ServerState = { masters: this.masters, zooKeeper: this.zooKeeperAddress, processes };
    await writeFile(this.layout.stateFile, `${JSON.stringify(state, undefined, 2)}\n`);
  }

  private async removeState(): Promise<void> {
    await rm(this.layout.stateFile, { force: true });
  }
}

/** What `server.json` of an instance holds while it runs. */
export interface ServerState {
  readonly masters: readonly string[];
  readonly zooKeeper: string;
  /** Name of a process -> its process id. */
  readonly processes: Readonly<Record<string, number>>;
}

function known(jvm: Jvm | undefined, what: string): Jvm {
  if (jvm === undefined) throw new Error(`There is no ${what}.`);
  return jvm;
}

async function resolveOptions(options: HBaseOptions): Promise<ResolvedOptions> {
  const separateProcesses = options.separateProcesses ?? false;
  const regionServers = options.regionServers ?? 1;
  const masters = options.masters ?? 1;
  if (masters > 1 && !separateProcesses) {
    throw new Error('A second master needs a process of its own: start HBase with separateProcesses.');
  }
  const found = await freePorts(masters + regionServers + 1);
  const given = (port: number | undefined): number => port || (found.pop() as number);
  const masterPorts = Array.from({ length: masters }, (_, n) =>
    given(n === 0 ? options.masterPort : undefined),
  );
  // Several region servers in one JVM pick their ports themselves.
  const listed = separateProcesses || regionServers === 1 ? regionServers : 0;
  const regionServerPorts = Array.from({ length: listed }, (_, n) =>
    given(n === 0 ? options.regionServerPort : undefined),
  );
  return {
    name: options.name ?? `hbase-${masterPorts[0]}`,
    masterPorts,
    regionServerPorts,
    zooKeeperPort: given(options.zooKeeperPort),
    regionServers,
    separateProcesses,
    sessionTimeout: options.sessionTimeout ?? (separateProcesses ? 4000 : 600_000),
    handlers: options.handlers ?? 8,
    jit: options.jit ?? 'quick',
    heap: options.heap ?? (separateProcesses ? '512m' : '1g'),
    settings: options.settings ?? {},
    version: options.version ?? '2.6',
    systemProperties: options.systemProperties ?? {},
    probe: options.probe ?? probeMaster,
    detached: options.detached ?? false,
  };
}

async function requireFreePorts(options: ResolvedOptions): Promise<void> {
  for (const port of [...options.masterPorts, ...options.regionServerPorts, options.zooKeeperPort]) {
    if (!(await isFree(port))) {
      throw new Error(
        `Port ${port} of 127.0.0.1 is taken. Stop what listens there (npm run hbase:stop), ` +
          'or choose others: npm run hbase:start -- --port-offset 1000.',
      );
    }
  }
}

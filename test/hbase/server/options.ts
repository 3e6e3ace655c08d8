import type { ClassPathName } from './class-path.js';

/** The lines of HBase that there are jars of. */
export const HBASE_VERSIONS = ['2.4', '2.5', '2.6', '3.0'] as const;
export type HBaseVersion = (typeof HBASE_VERSIONS)[number];

/** How to run HBase. Everything has a default. */
export interface HBaseOptions {
  /** Names the folder under `.hbase/instances/`, so that several can run side by side. Default: from the master's port. */
  readonly name?: string;
  /** 0 or left out: a free port is found. `npm run hbase:start` fills in 16000, 16020 and 12181. */
  readonly masterPort?: number;
  readonly regionServerPort?: number;
  readonly zooKeeperPort?: number;
  /** Default 1. */
  readonly regionServers?: number;
  /** Default 1; a second one stands by. More than one needs `separateProcesses`. */
  readonly masters?: number;
  /** One JVM each for ZooKeeper, the masters and the region servers, so that each can be killed. Default: all in one. */
  readonly separateProcesses?: boolean;
  /** Milliseconds until a killed server counts as dead. Default 600000, or 4000 with `separateProcesses`. */
  readonly sessionTimeout?: number;
  /** Calls that a region server works on at the same time. Default 8; it queues ten times as many and refuses the rest. */
  readonly handlers?: number;
  /** `quick`: first compiler only and the serial collector, for tests. `full`: as in production, for benchmarks. */
  readonly jit?: 'quick' | 'full';
  /** Java heap of each process, as `-Xmx` takes it. Default 1g, or 512m with `separateProcesses`. */
  readonly heap?: string;
  /** Further settings of `hbase-site.xml`, which win over the rest. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Which HBase; default: 2.6. */
  readonly version?: HBaseVersion;
  /** Poms whose jars stand before the server's own. */
  readonly libraries?: readonly ClassPathName[];
  /** Folders of compiled classes that stand before all jars. */
  readonly classes?: readonly string[];
  /** Java system properties of every process. */
  readonly systemProperties?: Readonly<Record<string, string>>;
  /** Called until it succeeds; default: a namespace is created without the client under test, and without authentication. */
  readonly probe?: (host: string, port: number) => Promise<void>;
  /** Leave it running when this process ends. Default false: however this process ends, the server ends too. */
  readonly detached?: boolean;
}

/** The options with every default filled in. */
export interface ResolvedOptions {
  readonly name: string;
  readonly masterPorts: readonly number[];
  readonly regionServerPorts: readonly number[];
  readonly zooKeeperPort: number;
  readonly regionServers: number;
  readonly separateProcesses: boolean;
  readonly sessionTimeout: number;
  readonly handlers: number;
  readonly jit: 'quick' | 'full';
  readonly heap: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly version: HBaseVersion;
  readonly systemProperties: Readonly<Record<string, string>>;
  readonly probe: (host: string, port: number) => Promise<void>;
  readonly detached: boolean;
}

import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { openEmbedded, serve } from '../../src/public/server.js';
import { classPath } from './server/class-path.js';
import { type HBaseServer, type ServerState, startHBase } from './server/hbase-server.js';
import { InstanceLayout } from './server/layout.js';
import { HBASE_VERSIONS, type HBaseVersion } from './server/options.js';
import { freePorts } from './server/ports.js';
import { writeConfiguration } from './server/settings.js';

/** What the suites are told of the server that they share. */
export interface SharedHBase {
  /** The folder name of the instance, for the shell. */
  readonly instance: string;
  /** "host:port" of its masters. */
  readonly masters: readonly string[];
  /** "host:port". */
  readonly zooKeeper: string;
}

declare module 'vitest' {
  interface ProvidedContext {
    /** One for each worker. */
    readonly hbase: readonly SharedHBase[];
  }
}

/**
 * Starts an HBase for each worker (three region servers, so that calls are spread over servers) and stops it at the
 * end, whatever became of the tests. With ROWAN_HBASE=NAME they use the instance of that name that `npm run
 * hbase:start` has started, which saves the start when one test is run again and again. ROWAN_HBASE_VERSION=2.4 takes
 * another HBase. ROWAN_HBASE=served takes an embedded store behind `rowan serve`.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const instance = process.env['ROWAN_HBASE'];
  if (instance === SERVED) return setUpServed(project);
  if (instance !== undefined) {
    const text = await readFile(new InstanceLayout(instance).stateFile, 'utf8').catch(() => {
      throw new Error(`ROWAN_HBASE is "${instance}", but no such HBase runs. Start it: npm run hbase:start.`);
    });
    const state = JSON.parse(text) as ServerState;
    project.provide('hbase', [{ instance, masters: state.masters, zooKeeper: state.zooKeeper }]);
    return async () => {};
  }
  // One Maven at a time: two that fetch the same jar into an empty repository spoil it for each other.
  const version = versionAsked();
  await classPath(version === '2.6' ? 'server' : `server-${version}`);
  const count = Math.min(project.config.maxWorkers, project.vitest.state.getPaths().length);
  const [servers] = await Promise.all([startServers(count, version), fetchOtherJars()]);
  project.provide(
    'hbase',
    servers.map(({ options, masters, zooKeeperAddress }) => ({
      instance: options.name,
      masters,
      zooKeeper: zooKeeperAddress,
    })),
  );
  return async () => {
    await Promise.all(servers.map((server) => server.stop()));
  };
}

async function startServers(count: number, version: HBaseVersion): Promise<HBaseServer[]> {
  // Found together: servers that start at once would find the same.
  const ports = await freePorts(2 * count);
  return Promise.all(
    Array.from({ length: count }, (_, n) =>
      startHBase({ regionServers: 3, version, masterPort: ports[2 * n]!, zooKeeperPort: ports[2 * n + 1]! }),
    ),
  );
}

/** What files that run side by side would else fetch at once. */
async function fetchOtherJars(): Promise<void> {
  for (const name of ['shell', 'jobs', 'groups'] as const) await classPath(name);
}

/** The value of ROWAN_HBASE that takes `rowan serve` in place of HBase. */
const SERVED = 'served';

/** It compacts when it is asked to, as the suites ask HBase: what a merge of its own drops is not to be seen any more. */
async function setUpServed(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'rowan-served-'));
  const store = await openEmbedded(folder, { automatic: false });
  const layout = new InstanceLayout(`served-${process.pid}`);
  await mkdir(layout.data, { recursive: true });
  const server = await serve(store, {
    bulkLoad: layout.data,
    listen: '127.0.0.1:0',
    announce: 'localhost',
    zookeeper: '127.0.0.1:0',
  });
  const zooKeeper = server.zookeeperEndpoint!;
  await mkdir(layout.tmp, { recursive: true });
  await writeConfiguration(layout, {
    'hbase.zookeeper.quorum': '127.0.0.1',
    'hbase.zookeeper.property.clientPort': zooKeeper.split(':')[1]!,
    'hadoop.tmp.dir': layout.tmp,
  });
  project.provide('hbase', [{ instance: layout.name, masters: [server.endpoint], zooKeeper }]);
  return async () => {
    await server.close();
    await store.close();
    await rm(folder, { recursive: true });
  };
}

function versionAsked(): HBaseVersion {
  const asked = process.env['ROWAN_HBASE_VERSION'] ?? '2.6';
  const version = HBASE_VERSIONS.find((known) => known === asked);
  if (version === undefined)
    throw new Error(`ROWAN_HBASE_VERSION is one of ${HBASE_VERSIONS.join(', ')}, not "${asked}".`);
  return version;
}

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { InstanceLayout } from './layout.js';
import type { ResolvedOptions } from './options.js';

/** The Java class that servers, and tools with their configuration, read and write files with. */
export const FILE_SYSTEM = 'QuickLocalFileSystem';

/** The settings of `hbase-site.xml`: loopback only, no web pages, quick to start, nothing that moves by itself. */
export function siteSettings(options: ResolvedOptions, layout: InstanceLayout): Record<string, string> {
  const { regionServers, separateProcesses, handlers } = options;
  // Region servers in one JVM each take their own share of the one heap; HBase refuses a sum above 0.8.
  const share = separateProcesses ? '0.35' : (0.39 / regionServers).toFixed(2);
  return {
    'hbase.cluster.distributed': String(separateProcesses),
    'hbase.tmp.dir': layout.data,
    'hbase.rootdir': `file://${join(layout.data, 'root')}`,
    'hbase.unsafe.stream.capability.enforce': 'false',
    'hbase.wal.provider': 'filesystem',
    // The one with checksums keeps a buffer of its own, which a kill -9 loses with acknowledged edits in it.
    'fs.file.impl': separateProcesses ? `${FILE_SYSTEM}$Raw` : FILE_SYSTEM,
    'hbase.zookeeper.quorum': '127.0.0.1',
    'hbase.zookeeper.property.clientPort': String(options.zooKeeperPort),
    'hbase.zookeeper.property.clientPortAddress': '127.0.0.1',
    'hbase.zookeeper.property.dataDir': join(layout.data, 'zk'),
    // ZooKeeper grants sessions of 2 to 20 ticks.
    'hbase.zookeeper.property.tickTime': String(Math.max(1000, Math.ceil(options.sessionTimeout / 20))),
    'hbase.zookeeper.property.maxClientCnxns': '300',
    'zookeeper.session.timeout': String(options.sessionTimeout),
    // The one that counts when all is in one JVM.
    'zookeeper.session.timeout.localHBaseCluster': String(options.sessionTimeout),
    'hbase.master.port': String(options.masterPorts[0]),
    'hbase.regionserver.port': String(regionServers === 1 ? options.regionServerPorts[0] : 0),
    'hbase.master.info.port': '-1',
    'hbase.regionserver.info.port': '-1',
    'hbase.master.hostname': 'localhost',
    'hbase.unsafe.regionserver.hostname': 'localhost',
    'hbase.master.ipc.address': '127.0.0.1',
    'hbase.regionserver.ipc.address': '127.0.0.1',
    'hbase.masters': '1',
    'hbase.regionservers': String(regionServers),
    'hbase.master.wait.on.regionservers.mintostart': String(regionServers),
    'hbase.master.wait.on.regionservers.maxtostart': String(regionServers),
    'hbase.regionserver.msginterval': '300',
    'hbase.server.thread.wakefrequency': '100',
    'hbase.regionserver.handler.count': String(handlers),
    'hbase.master.handler.count': String(Math.max(7, handlers)),
    'hbase.regionserver.metahandler.count': '3',
    'hbase.ipc.server.read.threadpool.size': '3',
    'hbase.netty.worker.count': '3',
    'hbase.master.procedure.threads': '4',
    'hbase.procedure.remote.dispatcher.threadpool.size': '3',
    'hbase.procedure.remote.dispatcher.delay.msec': '10',
    'hbase.assignment.dispatch.wait.msec': '10',
    'hfile.block.cache.size': share,
    'hbase.regionserver.global.memstore.size': share,
    'hbase.hregion.memstore.flush.size': String(16 * 1024 * 1024),
    'hbase.hregion.memstore.mslab.chunksize': String(512 * 1024),
    'hbase.status.published': 'false',
    'hbase.balancer.period': '30000000',
    // A region cannot be split or merged again before the files that its compaction replaced are gone.
    'hbase.hfile.compaction.discharger.interval': '1000',
    'hbase.table.sanity.checks': 'true',
    'hbase.snapshot.enabled': 'true',
    'hbase.io.compress.snappy.codec': 'org.apache.hadoop.hbase.io.compress.aircompressor.SnappyCodec',
    'hbase.io.compress.lz4.codec': 'org.apache.hadoop.hbase.io.compress.aircompressor.Lz4Codec',
    'hbase.io.compress.lzo.codec': 'org.apache.hadoop.hbase.io.compress.aircompressor.LzoCodec',
    'hbase.io.compress.zstd.codec': 'org.apache.hadoop.hbase.io.compress.zstd.ZstdCodec',
    ...options.settings,
  };
}

const LOGGING = `status = warn
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} %-5p [%t] %c{2}: %.2000m%n
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
logger.hbase.name = org.apache.hadoop.hbase
logger.hbase.level = info
logger.zookeeper.name = org.apache.zookeeper
logger.zookeeper.level = error
`;

/**
 * No MBeans: whenever a region is opened or closed, HBase registers those of all regions and tables anew, reading every figure
 * (`JmxCacheBuster`), which takes most of a server's time once tests have made some hundred tables.
 */
const METRICS = '*.source.start_mbeans=false\n';

/** Writes `hbase-site.xml`, the set-up of logging and the one of metrics into the instance's `conf/`. */
export async function writeConfiguration(
  layout: InstanceLayout,
  settings: Readonly<Record<string, string>>,
): Promise<void> {
  await mkdir(layout.conf, { recursive: true });
  // What Hadoop's own classes look for stands where they look.
  const hadoop = Object.entries(settings).filter(([name]) => name.startsWith('hadoop.'));
  await writeFile(join(layout.conf, 'core-site.xml'), configurationOf(hadoop));
  await writeFile(join(layout.conf, 'hbase-site.xml'), configurationOf(Object.entries(settings)));
  await writeFile(join(layout.conf, 'log4j2.properties'), LOGGING);
  await writeFile(join(layout.conf, 'hadoop-metrics2-hbase.properties'), METRICS);
}

function configurationOf(settings: readonly (readonly [string, string])[]): string {
  const properties = settings.map(
    ([name, value]) =>
      `  <property><name>${escapeXml(name)}</name><value>${escapeXml(value)}</value></property>`,
  );
  return `<?xml version="1.0"?>\n<configuration>\n${properties.join('\n')}\n</configuration>\n`;
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

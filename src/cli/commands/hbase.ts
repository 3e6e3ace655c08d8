import type { Command } from 'commander';
import { toStringBinary } from '../../bytes/index.js';
import type { ClusterStatus } from '../../hbase/index.js';
import type { CliContext } from '../context.js';

interface StatusOptions {
  readonly json?: boolean;
}

/** `rowan hbase status`: prints the state of a cluster. */
export function addHBaseCommand(program: Command, context: CliContext): void {
  const hbase = program.command('hbase').summary('show the state of an HBase cluster');
  hbase
    .command('status')
    .summary('print the masters, the servers with their load, and regions in transition')
    .argument(
      '[masters]',
      'host:port,host:port, or the path of an hbase-site.xml; default: the configuration in HBASE_CONF_DIR',
    )
    .option('--json', 'print everything as JSON')
    .action(async (place: string | undefined, options: StatusOptions) => {
      const { connectHBase } = await import('../../hbase/engine.js');
      const engine = await connectHBase(placeOf(place));
      try {
        const status = await engine.admin.getStatus();
        const asText = (_name: string, value: unknown): unknown =>
          value instanceof Uint8Array ? toStringBinary(value) : value;
        context.write(options.json === true ? `${JSON.stringify(status, asText, 2)}\n` : report(status));
      } finally {
        await engine.close();
      }
    });
}

function placeOf(place: string | undefined): { readonly configuration?: string; readonly masters?: string } {
  if (place === undefined) return {};
  return /[/\\]|\.xml$/.test(place) ? { configuration: place } : { masters: place };
}

const MEBIBYTE = 1 << 20;
const size = (bytes: number): string => `${bytes / MEBIBYTE} MiB`;

function report(status: ClusterStatus): string {
  const lines = [
    `HBase ${status.version}, cluster ${status.clusterId}`,
    `master ${status.master || 'none'}${status.backupMasters.map((name) => `, standing by ${name}`).join('')}`,
    `balancer ${status.balancerOn ? 'on' : 'off'}`,
    `${status.servers.length} servers, ${status.deadServers.length} dead`,
  ];
  for (const server of status.servers) {
    lines.push(
      `  ${server.host}:${server.port}  ${server.regions} regions, ${server.requestsPerSecond} requests/s, ` +
        `heap ${size(server.usedHeap)} of ${size(server.maxHeap)}, memstores ${size(server.memstoreSize)}, ` +
        `${server.storeFiles} files of ${size(server.storeFileSize)}`,
    );
  }
  for (const name of status.deadServers) lines.push(`  ${name}  dead`);
  for (const region of status.regionsInTransition) {
    const key = toStringBinary(region.startKey);
    lines.push(
      `  region ${region.table},${key} has been in transition for ${Math.round(region.for / 1000)} s`,
    );
  }
  return `${lines.join('\n')}\n`;
}

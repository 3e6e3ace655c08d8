import type { Command } from 'commander';
import { toStringBinary } from '../../bytes/index.js';
import { InvalidArgumentError } from '../../errors.js';
import type { ClusterStatus, HBaseEngine, SlowLogEntry } from '../../hbase/index.js';
import type { RegionInfo } from '../../table/index.js';
import type { CliContext } from '../context.js';

interface StatusOptions {
  readonly json?: boolean;
}

/** `rowan hbase …`: prints the state of a cluster, and of the regions and slow requests of a table. */
export function addHBaseCommand(program: Command, context: CliContext): void {
  const hbase = program
    .command('hbase')
    .summary('Shows the state of an HBase cluster, and of the regions of a table.');
  hbase
    .command('status')
    .summary('Prints the masters, the servers with their load, and regions in transition.')
    .argument(
      '[masters]',
      'host:port,host:port, or the path of an hbase-site.xml; default: the configuration in HBASE_CONF_DIR',
    )
    .option('--json', 'print everything as JSON')
    .action((place: string | undefined, options: StatusOptions) =>
      tell(place, options, context, (engine) => engine.admin.getStatus(), report),
    );
  hbase
    .command('regions')
    .summary(
      'Prints the regions of a table: keys, server, files, memory and requests since they were opened.',
    )
    .argument('<table>')
    .argument('[masters]', 'as for status')
    .option('--json', 'print them as JSON')
    .action((table: string, place: string | undefined, options: StatusOptions) =>
      tell(place, options, context, (engine) => engine.admin.getRegions(table), regionLines),
    );
  hbase
    .command('hot')
    .summary('Prints the regions of a table by their requests a second, measured between two looks.')
    .argument('<table>')
    .argument('[masters]', 'as for status')
    .option('--seconds <number>', 'time between the looks; servers report their load every 3 s', '10')
    .option('--json', 'print them as JSON')
    .action(
      (table: string, place: string | undefined, options: StatusOptions & { readonly seconds: string }) =>
        tell(place, options, context, (engine) => loads(engine, table, Number(options.seconds)), hotLines),
    );
  hbase
    .command('slowlog')
    .summary('Prints the requests to a table that took long, or had large answers, newest first.')
    .argument('<table>')
    .argument('[masters]', 'as for status')
    .option('--large', 'requests with large answers')
    .option('--limit <number>', 'the most requests of each server', '100')
    .option('--json', 'print everything as JSON')
    .action(
      (
        table: string,
        place: string | undefined,
        options: StatusOptions & { readonly large?: boolean; readonly limit: string },
      ) => {
        const query = {
          table,
          limit: Number(options.limit),
          kind: options.large === true ? 'large' : 'slow',
        } as const;
        return tell(place, options, context, (engine) => engine.admin.slowLog.list(query), slowLines);
      },
    );
}

/** Prints what `read` finds in a cluster. */
async function tell<T>(
  place: string | undefined,
  { json }: StatusOptions,
  context: CliContext,
  read: (engine: HBaseEngine) => Promise<T>,
  lines: (found: T) => string,
): Promise<void> {
  const { connectHBase } = await import('../../hbase/engine.js');
  const engine = await connectHBase(placeOf(place));
  try {
    const found = await read(engine);
    const asText = (_name: string, value: unknown): unknown =>
      value instanceof Uint8Array ? toStringBinary(value) : value;
    context.write(json === true ? `${JSON.stringify(found, asText, 2)}\n` : lines(found));
  } finally {
    await engine.close();
  }
}

function rangeOf({ startKey, endKey }: Pick<RegionInfo, 'startKey' | 'endKey'>): string {
  return `[${toStringBinary(startKey)}, ${toStringBinary(endKey)})`;
}

function regionLines(regions: readonly RegionInfo[]): string {
  return regions
    .map(
      (region) =>
        `${rangeOf(region)}\t${region.server}\t${region.storeFiles} files of ${size(region.storeFileSize)}\t` +
        `memstore ${size(region.memstoreSize)}\t${region.readRequests} reads, ${region.writeRequests} writes\t${region.name}\n`,
    )
    .join('');
}

/** The load of a region, per second. */
interface RegionLoad extends Pick<RegionInfo, 'name' | 'startKey' | 'endKey' | 'server'> {
  readonly reads: number;
  readonly writes: number;
  /** Of the requests to the table, 0 to 1. */
  readonly share: number;
}

/** The regions of a table by their requests a second, the busiest first. */
async function loads(engine: HBaseEngine, table: string, seconds: number): Promise<RegionLoad[]> {
  if (!(Number.isFinite(seconds) && seconds > 0))
    throw new InvalidArgumentError('--seconds takes the seconds between two looks, a number above 0.');
  const before = await engine.admin.getRegions(table);
  const start = performance.now();
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  const regions = await engine.admin.getRegions(table);
  return ratesBetween(before, regions, (performance.now() - start) / 1000);
}

/**
 * What regions did between two looks that lie `seconds` apart, the busiest first. A region that was moved or split meanwhile counts
 * from 0.
 */
export function ratesBetween(
  before: readonly RegionInfo[],
  after: readonly RegionInfo[],
  seconds: number,
): RegionLoad[] {
  const known = new Map(before.map((region) => [region.name, region]));
  const since = (now: number, then: number | undefined): number =>
    (now < (then ?? 0) ? now : now - (then ?? now)) / seconds;
  const found = after.map(({ name, startKey, endKey, server, readRequests, writeRequests }) => {
    const reads = since(readRequests, known.get(name)?.readRequests);
    const writes = since(writeRequests, known.get(name)?.writeRequests);
    return { name, startKey, endKey, server, reads, writes };
  });
  const all = found.reduce((sum, { reads, writes }) => sum + reads + writes, 0);
  return found
    .map((region) => ({ ...region, share: all === 0 ? 0 : (region.reads + region.writes) / all }))
    .sort((a, b) => b.share - a.share);
}

function hotLines(regions: readonly RegionLoad[]): string {
  return regions
    .map(
      (region) =>
        `${Math.round(region.share * 100)} %\t${region.reads.toFixed(1)} reads/s\t${region.writes.toFixed(1)} writes/s\t` +
        `${region.server}\t${rangeOf(region)}\t${region.name}\n`,
    )
    .join('');
}

function slowLines(entries: readonly SlowLogEntry[]): string {
  return entries
    .map(
      (entry) =>
        `${new Date(entry.startTime).toISOString()}\t${entry.processingTime} ms (queued ${entry.queueTime} ms)\t${entry.method}\t` +
        `${entry.responseSize} bytes\t${entry.client}\t${entry.server}\t${entry.region}\n`,
    )
    .join('');
}

function placeOf(place: string | undefined): { readonly configuration?: string; readonly masters?: string } {
  if (place === undefined) return {};
  if (/[/\\]|\.xml$/.test(place)) return { configuration: place };
  // Also hbase:host:port, the place of other commands. The host of hbase:16000 is named hbase.
  return { masters: place.replace(/^hbase:(?!\d+(,|$))/, '') };
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

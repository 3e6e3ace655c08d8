import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { toStringBinary } from '../../bytes/index.js';
import { InvalidArgumentError, RowanError } from '../../errors.js';
import type { HBaseEngine } from '../../hbase/index.js';
import type { ReadOnlyStore } from '../../store/read-only/read-only-store.js';
import type { Admin, RegionInfo } from '../../table/index.js';
import { type CliContext, signalled } from '../context.js';
import { isServer, openEngine } from '../databases.js';
import { encryptionFromEnvironment } from '../encryption.js';
import { ratesBetween } from './hbase.js';

interface TopOptions {
  readonly every: string;
  readonly frames?: string;
  readonly once?: boolean;
  readonly json?: boolean;
}

/** `rowan top <place>`: what a store or cluster does now, refreshed until it is interrupted (docs/observing.md). */
export function addTopCommand(program: Command, context: CliContext): void {
  program
    .command('top')
    .summary('Shows the sizes and loads of the tables of a store in use, or of a cluster, again and again.')
    .description(
      'Shows the tables of a store, also while another process has it open, or of a cluster or served store: regions, files, ' +
        'memory, and their load since the look before. Nothing is written. On a terminal it refreshes the screen until Ctrl-C; ' +
        'elsewhere it prints line after line.',
    )
    .argument('<place>', 'the folder of a store, or hbase:host:port,host:port')
    .option('--every <seconds>', 'time between two looks; servers of HBase report every 3 s', '2')
    .option('--frames <number>', 'end after so many; default: none')
    .option('--once', 'print one, and end')
    .option('--json', 'a line of JSON for each look')
    .action((place: string, options: TopOptions) => top(place, options, context));
}

/** A table at one look. */
interface TableLoad {
  readonly table: string;
  readonly regions: number;
  readonly files: number;
  /** Bytes on disk. */
  readonly fileBytes: number;
  /** Bytes in memory that no file has yet. */
  readonly memoryBytes: number;
  /** Requests a second since the look before. Null for a store: the process that serves them counts them. */
  readonly reads: number | null;
  readonly writes: number | null;
  /** The start key of the busiest region, and its share of the requests. Null while there are none. */
  readonly hottest: { readonly startKey: string; readonly share: number } | null;
}

interface Look {
  readonly time: string;
  /** Of the whole place, by name: numbers, in the units of their names. */
  readonly totals: Readonly<Record<string, number>>;
  /** The busiest first, then by name. */
  readonly tables: readonly TableLoad[];
}

/** Looks at a place: each look has what happened since the one before. */
type Looking = () => Promise<Look>;

async function top(place: string, options: TopOptions, context: CliContext): Promise<void> {
  const seconds = numberOf('--every', options.every, (value) => value > 0);
  const frames =
    options.once === true
      ? 1
      : numberOf(
          '--frames',
          options.frames ?? 'Infinity',
          (value) => value === Infinity || (Number.isInteger(value) && value > 0),
        );
  const engine = await opened(place);
  const signal = signalled();
  const ended = new AbortController();
  void signal.came.then(() => ended.abort());
  try {
    const look: Looking = 'refresh' in engine ? lookAtStore(engine) : lookAtCluster(engine);
    // The first look has nothing before it.
    await look();
    for (let shown = 0; shown < frames; ) {
      await sleep(seconds * 1000, undefined, { signal: ended.signal }).catch(() => undefined);
      if (ended.signal.aborted) return;
      let seen: Look;
      try {
        seen = await look();
      } catch (error) {
        if (!(error instanceof RowanError && error.retryable)) throw error;
        context.writeError(`The next look is in ${seconds} s: ${error.message}\n`);
        continue;
      }
      shown++;
      const clear = context.isTerminal === true && options.json !== true ? '\x1b[H\x1b[2J' : '';
      context.write(clear + (options.json === true ? `${JSON.stringify(seen)}\n` : linesOf(place, seen)));
    }
  } finally {
    signal.forget();
    await engine.close();
  }
}

function numberOf(option: string, text: string, fits: (value: number) => boolean): number {
  const value = Number(text);
  if (fits(value)) return value;
  throw new InvalidArgumentError(
    `${option} takes a ${option === '--every' ? '' : 'whole '}number above 0, not "${text}".`,
  );
}

async function opened(place: string): Promise<ReadOnlyStore | HBaseEngine> {
  if (!isServer(place)) {
    const { openReadOnly } = await import('../../store/read-only/read-only-store.js');
    return openReadOnly(place, encryptionFromEnvironment());
  }
  if (place.startsWith('hbase:')) return (await openEngine(place)) as HBaseEngine;
  throw new InvalidArgumentError(
    `top shows a store or an HBase cluster, not "${place}": Bigtable tells no loads of regions.`,
  );
}

/** The regions of each table; without tables that are dropped meanwhile. */
async function regionsOf(
  admin: Pick<Admin, 'listTables' | 'getRegions'>,
): Promise<Map<string, readonly RegionInfo[]>> {
  const regions = new Map<string, readonly RegionInfo[]>();
  for (const { name } of await admin.listTables()) {
    try {
      regions.set(name, await admin.getRegions(name));
    } catch (error) {
      if (!(error instanceof RowanError && error.code === 'ERR_TABLE_NOT_FOUND')) throw error;
    }
  }
  return regions;
}

/** Adds up the regions of a table. */
function sizesOf(
  table: string,
  regions: readonly RegionInfo[],
): Omit<TableLoad, 'reads' | 'writes' | 'hottest'> {
  const sum = (of: (region: RegionInfo) => number): number =>
    regions.reduce((total, region) => total + of(region), 0);
  return {
    table,
    regions: regions.length,
    files: sum(({ storeFiles }) => storeFiles),
    fileBytes: sum(({ storeFileSize }) => storeFileSize),
    memoryBytes: sum(({ memstoreSize }) => memstoreSize),
  };
}

/** What another process writes is seen by the number of the last write; its reads are not. */
function lookAtStore(store: ReadOnlyStore): Looking {
  let before: { readonly at: number; readonly seq: number } | undefined;
  return async () => {
    const { time } = await store.refresh();
    const at = performance.now();
    const { lastSeq: seq, walBytes, walSegments } = store.stats();
    const passed = (at - (before?.at ?? at)) / 1000;
    const tables: TableLoad[] = [];
    for (const [name, regions] of await regionsOf(store.admin))
      tables.push({ ...sizesOf(name, regions), reads: null, writes: null, hottest: null });
    const writesPerSecond = before === undefined ? 0 : (seq - before.seq) / passed;
    before = { at, seq };
    const totals = { writesPerSecond, logBytes: walBytes, logSegments: walSegments };
    return { time: new Date(time).toISOString(), totals, tables };
  };
}

function lookAtCluster(engine: HBaseEngine): Looking {
  let before:
    | { readonly at: number; readonly regions: ReadonlyMap<string, readonly RegionInfo[]> }
    | undefined;
  return async () => {
    const regions = await regionsOf(engine.admin);
    const { servers } = await engine.admin.getStatus();
    const at = performance.now();
    const passed = (at - (before?.at ?? at)) / 1000;
    const tables = [...regions].map(([table, found]): TableLoad => {
      const loads = before === undefined ? [] : ratesBetween(before.regions.get(table) ?? [], found, passed);
      const first = loads[0];
      return {
        ...sizesOf(table, found),
        reads: loads.reduce((sum, { reads }) => sum + reads, 0),
        writes: loads.reduce((sum, { writes }) => sum + writes, 0),
        hottest:
          first === undefined || first.share === 0
            ? null
            : { startKey: toStringBinary(first.startKey), share: first.share },
      };
    });
    before = { at, regions };
    tables.sort((a, b) => b.reads! + b.writes! - (a.reads! + a.writes!) || (a.table < b.table ? -1 : 1));
    const requestsPerSecond = servers.reduce((sum, server) => sum + server.requestsPerSecond, 0);
    const totals = { servers: servers.length, requestsPerSecond };
    return { time: new Date().toISOString(), totals, tables };
  };
}

const HEAD = ['table', 'regions', 'files', 'on disk', 'in memory', 'reads/s', 'writes/s', 'hottest region'];

function linesOf(place: string, { time, totals, tables }: Look): string {
  const figures = Object.entries(totals).map(([name, value]) => TOTALS[name]!(value));
  const rate = (value: number | null): string => (value === null ? '-' : value.toFixed(1));
  const rows = tables.map((one) => [
    one.table,
    String(one.regions),
    String(one.files),
    size(one.fileBytes),
    size(one.memoryBytes),
    rate(one.reads),
    rate(one.writes),
    one.hottest === null ? '-' : `${Math.round(one.hottest.share * 100)} % from "${one.hottest.startKey}"`,
  ]);
  const all = [HEAD, ...rows];
  const widths = HEAD.map((_, i) => Math.max(...all.map((row) => row[i]!.length)));
  const lines = all.map((row) =>
    row
      .map((text, i) => text.padEnd(widths[i]!))
      .join('  ')
      .trimEnd(),
  );
  return `${time}  ${place}  ${figures.join(', ')}\n${lines.join('\n')}\n`;
}

/** How the totals are printed. */
const TOTALS: Readonly<Record<string, (value: number) => string>> = {
  writesPerSecond: (value) => `${value.toFixed(1)} writes/s`,
  logBytes: (value) => `log ${size(value)}`,
  logSegments: (value) => `${value} segments`,
  servers: (value) => `${value} ${value === 1 ? 'server' : 'servers'}`,
  requestsPerSecond: (value) => `${value} requests/s`,
};

function size(bytes: number): string {
  return bytes < 1 << 20 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / (1 << 20)).toFixed(1)} MiB`;
}

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { toStringBinary } from '../../bytes/index.js';
import type { JsonValue } from '../../codec/index.js';
import { InvalidArgumentError } from '../../errors.js';
import type { EntitySchema } from '../../schema/types.js';
import { openEmbedded } from '../../store/engine.js';
import {
  type Compression,
  type DataBlockEncoding,
  type Engine,
  type FamilyDescriptor,
  type RowMutation,
  RowMutations,
  tableDescriptor,
} from '../../table/index.js';
import { type CliContext, textOf } from '../context.js';
import { entityNamed, loadSchema } from '../load-entities.js';
import { parseSamples } from './hotspots.js';

/**
 * Estimates the size of a table: a sample is written with the real codecs into a temporary store under each encoding
 * and compression, and the measured size is multiplied (HBase book, "Table schema rules of thumb" and sizing).
 */

const GIB = 2 ** 30;
/** The target size of a region, in bytes. */
const REGION_BYTES = 10 * GIB;
const FLUSH_BYTES = 128 * 2 ** 20;
/** The share of the heap for memstores (`hbase.regionserver.global.memstore.size`); they are half full on average. */
const MEMSTORE_SHARE = 0.4;
const FILL = 0.5;
/** Fixed bytes of an HBase KeyValue besides row, family, qualifier and value: lengths, timestamp and type. */
const CELL_OVERHEAD = 20;
/** The disk space that one server serves (HBase book, quoting Hofhansl). */
const SERVER_BYTES = 6 * 2 ** 40;

/** Variants that are measured besides the declared one. */
const VARIANTS: readonly (readonly [Compression, DataBlockEncoding])[] = [
  ['NONE', 'NONE'],
  ['NONE', 'FAST_DIFF'],
  ['GZ', 'NONE'],
  ['GZ', 'FAST_DIFF'],
  ['SNAPPY', 'FAST_DIFF'],
  ['LZ4', 'FAST_DIFF'],
  ['ZSTD', 'FAST_DIFF'],
  ['BROTLI', 'FAST_DIFF'],
];

interface SizeQuestion {
  readonly entity: EntitySchema;
  readonly samples: readonly Readonly<Record<string, unknown>>[];
  /** Expected number of rows. */
  readonly rows: number;
  readonly servers: number;
}

interface SizeVariant {
  /** `declared`, or "ZSTD FAST_DIFF". */
  readonly name: string;
  /** Undefined if the codec is in an optional package that is not installed. */
  readonly bytesPerRow: number | undefined;
}

interface SizeReport {
  readonly entity: string;
  readonly table: string;
  readonly sampled: number;
  readonly rows: number;
  readonly keyBytes: number;
  readonly cellsPerRow: number;
  readonly valueBytesPerRow: number;
  /** The size in HBase's memory and on the wire, where each cell repeats row, names and timestamp. */
  readonly rawBytesPerRow: number;
  readonly variants: readonly SizeVariant[];
  /** Size on disk as declared, one replica. */
  readonly totalBytes: number;
  readonly regions: number;
  readonly regionsPerServer: number;
  /** The heap of a server in which the memstores of its regions fit if all are being written to. */
  readonly heapBytesPerServer: number;
  /** The number of servers that the disk space alone requires. */
  readonly leastServers: number;
  /** In the notation of the HBase shell. */
  readonly splitPoints: readonly string[];
}

/**
 * Computes the estimate.
 * @throws InvalidArgumentError when there are too few samples to separate the size of rows from the fixed size of a
 * file.
 */
async function sizeReport({ entity, samples, rows, servers }: SizeQuestion): Promise<SizeReport> {
  if (samples.length < 2) {
    throw new InvalidArgumentError(
      `The sample of ${entity.name} has ${samples.length} rows. Use at least 2, better 1000.`,
    );
  }
  const written = samples.map((sample) => {
    const row = entity.mapper.rowOf(sample);
    return { row, mutations: entity.mapper.toMutations(sample, row) };
  });
  const { keys, cells, values, raw } = weigh(written);
  const count = written.length;
  const variants = await measure(entity, written);
  const total = variants[0]!.bytesPerRow! * rows;
  const regions = Math.max(1, Math.ceil(total / REGION_BYTES));
  const regionsPerServer = Math.ceil(regions / servers);
  const families = entity.table.descriptor.families.length;
  const flush = entity.table.descriptor.memstoreFlushSize ?? FLUSH_BYTES;
  const points =
    regions < 2 ? [] : entity.key.splitPoints(regions, { samples: written.map(({ row }) => row) });
  return {
    entity: entity.name,
    table: entity.table.descriptor.name,
    sampled: count,
    rows,
    keyBytes: keys / count,
    cellsPerRow: cells / count,
    valueBytesPerRow: values / count,
    rawBytesPerRow: raw / count,
    variants,
    totalBytes: total,
    regions,
    regionsPerServer,
    heapBytesPerServer: (regionsPerServer * families * flush * FILL) / MEMSTORE_SHARE,
    leastServers: Math.max(1, Math.ceil(total / SERVER_BYTES)),
    splitPoints: points.map(toStringBinary),
  };
}

interface Written {
  readonly row: Uint8Array;
  readonly mutations: readonly RowMutation[];
}

function weigh(written: readonly Written[]): { keys: number; cells: number; values: number; raw: number } {
  const sums = { keys: 0, cells: 0, values: 0, raw: 0 };
  for (const { row, mutations } of written) {
    sums.keys += row.length;
    for (const mutation of mutations) {
      if (mutation.kind !== 'put') continue;
      for (const { family, qualifier, value } of mutation.cells) {
        sums.cells++;
        sums.values += value.length;
        sums.raw += CELL_OVERHEAD + row.length + Buffer.byteLength(family) + qualifier.length + value.length;
      }
    }
  }
  return sums;
}

async function measure(entity: EntitySchema, written: readonly Written[]): Promise<SizeVariant[]> {
  const folder = mkdtempSync(join(tmpdir(), 'rowan-size-'));
  const engine = await openEmbedded(join(folder, 'store'), { background: 'inline', automatic: false });
  try {
    const { families } = entity.table.descriptor;
    const found: SizeVariant[] = [
      { name: 'declared', bytesPerRow: await weighFiles(engine, families, written) },
    ];
    for (const [compression, dataBlockEncoding] of VARIANTS) {
      const changed = families.map((family) => ({ ...family, compression, dataBlockEncoding }));
      const bytesPerRow = await weighFiles(engine, changed, written).catch(() => undefined);
      found.push({ name: `${compression} ${dataBlockEncoding}`, bytesPerRow });
    }
    return found;
  } finally {
    await engine.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The size of a row: the difference between all rows and one row, so that the fixed size of a file does not count. */
async function weighFiles(
  engine: Engine,
  families: readonly FamilyDescriptor[],
  written: readonly Written[],
): Promise<number> {
  // Expiry and version limits are ignored in the estimate.
  const kept = families.map((family) => ({ ...family, ttl: 'FOREVER' as const }));
  const weights: number[] = [];
  for (const rows of [written.slice(0, 1), written]) {
    const name = 'size:sample';
    if (!(await engine.admin.listNamespaces()).includes('size')) await engine.admin.createNamespace('size');
    const options = Object.fromEntries(kept.map(({ name: family, ...rest }) => [family, rest]));
    await engine.admin.createTable(tableDescriptor(name, options));
    const table = engine.table(name);
    const outcomes = await table.batch(
      rows.map(({ row, mutations }) => new RowMutations(row).add(...mutations.map(withoutLife))),
    );
    for (const outcome of outcomes) if (!outcome.ok) throw outcome.error;
    await engine.admin.majorCompact(name);
    const regions = await engine.admin.getRegions(name);
    weights.push(regions.reduce((sum, region) => sum + region.storeFileSize, 0));
    await engine.admin.disableTable(name);
    await engine.admin.deleteTable(name);
  }
  return Math.max(0, weights[1]! - weights[0]!) / (written.length - 1);
}

function withoutLife(mutation: RowMutation): RowMutation {
  return mutation.ttl === undefined ? mutation : mutation.setTtl(undefined);
}

interface SizeFlags {
  readonly rows: string;
  readonly servers: string;
  readonly json?: boolean;
}

/**
 * `rowan size <module>`: estimates the size of tables from a sample and the expected number of rows (docs/introspect.md).
 */
export function addSizeCommand(program: Command, context: CliContext): void {
  program
    .command('size')
    .description(
      'Writes a sample of an entity with the real codecs, each encoding and compression, and estimates bytes, regions, ' +
        'split points and heap for the expected number of rows.',
    )
    .argument('<module>', 'path of the compiled module that exports the entities')
    .argument('<entity>', "the entity's name")
    .argument('<samples>', 'path of the samples: entities as JSON, an array or one per line')
    .requiredOption('--rows <n>', 'expected number of rows: 1000000000, 1e9')
    .option('--servers <n>', 'region servers', '3')
    .option('--json', 'as JSON')
    .action(async (module: string, name: string, file: string, flags: SizeFlags) => {
      const entity = entityNamed(await loadSchema(module), name);
      const plain = parseSamples(textOf(file)) as Record<string, JsonValue>[];
      const samples = plain.map((each) => entity.mapper.fromPlain(each) as Record<string, unknown>);
      const report = await sizeReport({
        entity,
        samples,
        rows: positive('--rows', flags.rows),
        servers: positive('--servers', flags.servers),
      });
      context.write(flags.json === true ? `${JSON.stringify(report, null, 2)}\n` : await asText(report));
    });
}

function positive(flag: string, text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new InvalidArgumentError(`${flag} takes a whole number above 0, not "${text}".`);
}

async function asText(report: SizeReport): Promise<string> {
  const { default: Table } = await import('cli-table3');
  const table = new Table({ head: ['', 'bytes per row', 'total'], style: { head: [], border: [] } });
  for (const { name, bytesPerRow } of report.variants) {
    table.push(
      bytesPerRow === undefined
        ? [name, 'not installed', '']
        : [name, bytesPerRow.toFixed(1), bytesText(bytesPerRow * report.rows)],
    );
  }
  const lines = [
    `${report.entity} in ${report.table}: ${report.sampled} rows sampled, ${report.rows} expected`,
    `key ${report.keyBytes.toFixed(1)} bytes, ${report.cellsPerRow.toFixed(1)} cells per row, values ${report.valueBytesPerRow.toFixed(1)} bytes, raw ${report.rawBytesPerRow.toFixed(1)} bytes per row`,
    table.toString(),
    `As declared ${bytesText(report.totalBytes)} on disk, one copy: ${report.regions} regions of ${bytesText(REGION_BYTES)}, ${report.regionsPerServer} per server, ${bytesText(report.heapBytesPerServer)} of heap for their memstores if all are written to; the disk space alone needs ${report.leastServers} servers.`,
  ];
  if (report.splitPoints.length > 0) lines.push(`split at ${report.splitPoints.join(' ')}`);
  return `${lines.join('\n')}\n`;
}

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

function bytesText(bytes: number): string {
  const unit = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  return `${(bytes / 1024 ** unit).toFixed(unit === 0 ? 0 : 1)} ${UNITS[unit]}`;
}

/** `rowan size <module>`: what tables will weigh, from a sample and the rows that are expected (docs/schema.md). */

import { readFileSync } from 'node:fs';
import Table from 'cli-table3';
import type { Command } from 'commander';
import type { JsonValue } from '../../codec/index.js';
import { InvalidArgumentError } from '../../errors.js';
import type { CliContext } from '../context.js';
import { loadSchema } from '../load-entities.js';
import { parseSamples } from '../sample-keys.js';
import { REGION_BYTES, type SizeReport, sizeReport } from '../size-report.js';

interface SizeFlags {
  readonly rows: string;
  readonly servers: string;
  readonly json?: boolean;
}

export function addSizeCommand(program: Command, context: CliContext): void {
  program
    .command('size')
    .description(
      'Writes a sample of an entity with the real codecs, each encoding and compression, and reckons bytes, regions, ' +
        'split points and heap for the rows that are expected.',
    )
    .argument('<module>', 'path of the compiled module that exports the entities')
    .argument('<entity>', "the entity's name")
    .argument('<samples>', 'path of the samples: entities as JSON, an array or one a line')
    .requiredOption('--rows <n>', 'rows that are expected: 1000000000, 1e9')
    .option('--servers <n>', 'region servers', '3')
    .option('--json', 'as JSON')
    .action(async (module: string, name: string, file: string, flags: SizeFlags) => {
      const { entities } = await loadSchema(module);
      const entity = entities.find((each) => each.name === name);
      if (entity === undefined) {
        throw new InvalidArgumentError(
          `The module has no entity "${name}". It has ${entities.map((each) => each.name).join(', ')}.`,
        );
      }
      const plain = parseSamples(textOf(file)) as Record<string, JsonValue>[];
      const samples = plain.map((each) => entity.mapper.fromPlain(each) as Record<string, unknown>);
      const report = await sizeReport({
        entity,
        samples,
        rows: positive('--rows', flags.rows),
        servers: positive('--servers', flags.servers),
      });
      context.write(flags.json === true ? `${JSON.stringify(report, null, 2)}\n` : asText(report));
    });
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new InvalidArgumentError(`The samples cannot be read: ${(cause as Error).message}.`, { cause });
  }
}

function positive(flag: string, text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new InvalidArgumentError(`${flag} takes a whole number above 0, not "${text}".`);
}

function asText(report: SizeReport): string {
  const table = new Table({ head: ['', 'bytes a row', 'in all'], style: { head: [], border: [] } });
  for (const { name, bytesPerRow } of report.variants) {
    table.push(
      bytesPerRow === undefined
        ? [name, 'not installed', '']
        : [name, bytesPerRow.toFixed(1), bytesText(bytesPerRow * report.rows)],
    );
  }
  const lines = [
    `${report.entity} in ${report.table}: ${report.sampled} rows sampled, ${report.rows} expected`,
    `key ${report.keyBytes.toFixed(1)} bytes, ${report.cellsPerRow.toFixed(1)} cells a row, values ${report.valueBytesPerRow.toFixed(1)} bytes, raw ${report.rawBytesPerRow.toFixed(1)} bytes a row`,
    table.toString(),
    `As declared ${bytesText(report.totalBytes)} on disk, one copy: ${report.regions} regions of ${bytesText(REGION_BYTES)}, ${report.regionsPerServer} a server, ${bytesText(report.heapBytesPerServer)} of heap for their memstores if all are written to; the disk alone asks for ${report.leastServers} servers.`,
  ];
  if (report.splitPoints.length > 0) lines.push(`split at ${report.splitPoints.join(' ')}`);
  return `${lines.join('\n')}\n`;
}

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

function bytesText(bytes: number): string {
  const unit = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  return `${(bytes / 1024 ** unit).toFixed(unit === 0 ? 0 : 1)} ${UNITS[unit]}`;
}

import { readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError as UsageError } from 'commander';
import { toHex, toStringBinary } from '../../bytes/index.js';
import { InvalidArgumentError } from '../../errors.js';
import { type HotspotReport, hotspots } from '../../key/index.js';
import type { Schema } from '../../schema/index.js';
import type { EntitySchema } from '../../schema/types.js';
import type { CliContext } from '../context.js';
import { loadSchema } from '../load-entities.js';
import { parseSamples, sampleKeys } from '../sample-keys.js';

interface HotspotOptions {
  readonly json: boolean;
  readonly regions: number | undefined;
}

/** `rowan hotspots <module> <entity> <samples>`: how sample keys of an entity would fall on regions. */
export function addHotspotsCommand(program: Command, context: CliContext): void {
  program
    .command('hotspots')
    .summary('print how sample keys of an entity would spread over regions')
    .description(
      'Reads sample keys in the order of their writing and prints how they fall on the regions of the table: keys and ' +
        'share of each, how skewed they are, and what to do. The samples are a JSON array or one JSON object a line, ' +
        "each with the key's parts (dates as ISO texts), or a row as text, as the HBase shell prints it.",
    )
    .argument('<module>', 'path of the compiled module')
    .argument('<entity>', "the entity's name")
    .argument('<samples>', 'path of the samples (JSON or NDJSON)')
    .option('--regions <n>', 'split into this many regions; default: as declared, else 16', positive)
    .option('--json', 'print JSON', false)
    .action(async (modulePath: string, name: string, samplesPath: string, options: HotspotOptions) => {
      const entity = entityOf(await loadSchema(modulePath), name);
      const samples = sampleKeys(entity.key, parseSamples(readSamples(samplesPath)));
      const report = hotspots(entity.key, samples, splitsOf(entity, options.regions));
      context.write(
        options.json ? `${JSON.stringify(asJson(entity, report), null, 2)}\n` : asText(entity, report),
      );
    });
}

function positive(text: string): number {
  const regions = Number(text);
  if (Number.isInteger(regions) && regions >= 1 && regions <= 10_000) return regions;
  throw new UsageError('Give a whole number from 1 to 10000.');
}

function entityOf({ entities }: Schema, name: string): EntitySchema {
  const found = entities.find((entity) => entity.name === name);
  if (found !== undefined) return found;
  throw new InvalidArgumentError(
    `The module has no entity "${name}". It has ${entities.map((entity) => entity.name).join(', ')}.`,
  );
}

function readSamples(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new InvalidArgumentError(`The samples cannot be read: ${(cause as Error).message}.`, { cause });
  }
}

function splitsOf({ key, table }: EntitySchema, regions: number | undefined): readonly Uint8Array[] {
  if (regions !== undefined) return key.splitPoints(regions);
  return table.splitKeys.length > 0 ? table.splitKeys : key.splitPoints(16);
}

function asJson(entity: EntitySchema, report: HotspotReport): object {
  return {
    entity: entity.name,
    table: entity.table.descriptor.name,
    ...report,
    regions: report.regions.map(({ start, stop, keys, share }) => ({
      start: toHex(start),
      stop: stop === undefined ? null : toHex(stop),
      keys,
      share,
    })),
  };
}

/** Characters of the bar of the fullest region. */
const BAR = 40;

function asText(entity: EntitySchema, report: HotspotReport): string {
  const { regions, keys } = report;
  const names = regions.map(
    ({ start, stop }) => `[${toStringBinary(start)}, ${stop === undefined ? '' : toStringBinary(stop)})`,
  );
  const width = Math.max(...names.map((name) => name.length));
  const digits = String(keys).length;
  const lines = regions.map(({ keys: count, share }, i) => {
    const bar = '#'.repeat(Math.round((BAR * share) / report.hottestShare));
    return `  ${names[i]!.padEnd(width)}  ${String(count).padStart(digits)}  ${percent(share).padStart(7)}  ${bar}`.trimEnd();
  });
  return [
    `${entity.name} in ${entity.table.descriptor.name}: ${keys} keys over ${regions.length} region${regions.length === 1 ? '' : 's'}`,
    ...lines,
    `fullest over mean ${report.maxOverMean.toFixed(2)}, Gini ${report.gini.toFixed(3)}, hottest ${percent(report.hottestShare)}, ` +
      `one after the other ${percent(report.burst)}`,
    ...report.findings.map((finding) => `! ${finding}`),
    '',
  ].join('\n');
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

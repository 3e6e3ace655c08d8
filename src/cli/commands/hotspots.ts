import { type Command, InvalidArgumentError as UsageError } from 'commander';
import { fromStringBinary, toHex, toStringBinary } from '../../bytes/index.js';
import { InvalidArgumentError } from '../../errors.js';
import { BaseCodec, type HotspotReport, hotspots, type KeyLayout } from '../../key/index.js';
import type { EntitySchema } from '../../schema/types.js';
import { type CliContext, textOf } from '../context.js';
import { entityNamed, loadSchema } from '../load-entities.js';

/** Reads sample keys from JSON: values of key parts, or whole rows in HBase's notation. */

/** A row key, or the values of key parts. */
type SampleKey = Uint8Array | Readonly<Record<string, unknown>>;

type Conversion = (value: unknown) => unknown;

/**
 * Parses a JSON array, or one JSON value per line.
 * @throws InvalidArgumentError naming the line or the item.
 */
export function parseSamples(text: string): unknown[] {
  if (text.trimStart().startsWith('[')) {
    try {
      return JSON.parse(text) as unknown[];
    } catch (cause) {
      throw new InvalidArgumentError(`The samples are not a JSON array: ${(cause as Error).message}.`, {
        cause,
      });
    }
  }
  return text.split('\n').flatMap((line, i) => {
    if (line.trim() === '') return [];
    try {
      return [JSON.parse(line) as unknown];
    } catch (cause) {
      throw new InvalidArgumentError(
        `Line ${i + 1} of the samples is not JSON: ${(cause as Error).message}.`,
        {
          cause,
        },
      );
    }
  });
}

/**
 * Converts samples to what the layout accepts. Where a part's codec accepts neither strings nor numbers, strings stand
 * for dates (ISO), bigints (digits) and bytes (HBase's notation), and numbers for dates (ms) and bigints. Texts of
 * dictionaries get ids in the order of their appearance.
 */
export function sampleKeys(layout: KeyLayout, samples: readonly unknown[]): SampleKey[] {
  const conversions = new Map<string, Conversion>();
  const ids = new Map(layout.substitutions.map(({ part }) => [part, new Map<unknown, number>()]));
  return samples.map((sample, i) => {
    if (typeof sample === 'string') return fromStringBinary(sample);
    if (typeof sample !== 'object' || sample === null || Array.isArray(sample)) {
      throw new InvalidArgumentError(
        `Sample ${i + 1} is ${JSON.stringify(sample)}: use an object of key parts, or a row as a string.`,
      );
    }
    const values: Record<string, unknown> = { ...sample };
    for (const { name, codec } of layout.parts) {
      const value = values[name];
      const given = ids.get(name);
      if (given !== undefined) {
        values[name] = idOf(given, value);
        continue;
      }
      let convert = conversions.get(name);
      if (convert === undefined) {
        convert = codec instanceof BaseCodec ? conversionFor(codec, value) : same;
        conversions.set(name, convert);
      }
      values[name] = converted(convert, value);
    }
    return values;
  });
}

function idOf(given: Map<unknown, number>, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  let id = given.get(value);
  if (id === undefined) {
    id = given.size + 1;
    given.set(value, id);
  }
  return id;
}

/** Values that cannot be converted stay as they are, so that the codec reports the error. */
function converted(convert: Conversion, value: unknown): unknown {
  try {
    return convert(value);
  } catch {
    return value;
  }
}

const same: Conversion = (value) => value;

const CONVERSIONS: readonly Conversion[] = [
  same,
  (value) => (typeof value === 'string' || typeof value === 'number' ? BigInt(value) : value),
  (value) => (typeof value === 'string' || typeof value === 'number' ? new Date(value) : value),
  (value) => (typeof value === 'string' ? fromStringBinary(value) : value),
];

/** The first conversion whose result the codec accepts; if there is none, the codec reports the error. */
function conversionFor(codec: BaseCodec<unknown>, value: unknown): Conversion {
  const fits = CONVERSIONS.find((convert) => {
    try {
      codec.encode(convert(value));
      return true;
    } catch {
      return false;
    }
  });
  return fits ?? same;
}

interface HotspotOptions {
  readonly json: boolean;
  readonly regions: number | undefined;
}

/** `rowan hotspots <module> <entity> <samples>`: predicts how sample keys of an entity spread over regions. */
export function addHotspotsCommand(program: Command, context: CliContext): void {
  program
    .command('hotspots')
    .summary('Prints how sample keys of an entity would spread over regions.')
    .description(
      'Reads sample keys in the order of their writes and prints how they spread over the regions of the table: keys and ' +
        'share of each, how skewed they are, and what to do. The samples are a JSON array or one JSON object a line, ' +
        "each with the key's parts (dates as ISO texts), or a row as text, as the HBase shell prints it.",
    )
    .argument('<module>', 'path of the compiled module')
    .argument('<entity>', "the entity's name")
    .argument('<samples>', 'path of the samples (JSON or NDJSON)')
    .option('--regions <n>', 'split into this many regions; default: as declared, else 16', positive)
    .option('--json', 'print JSON', false)
    .action(async (modulePath: string, name: string, samplesPath: string, options: HotspotOptions) => {
      const entity = entityNamed(await loadSchema(modulePath), name);
      const samples = sampleKeys(entity.key.stored, parseSamples(textOf(samplesPath)));
      const report = hotspots(entity.key.stored, samples, splitsOf(entity, options.regions));
      context.write(
        options.json ? `${JSON.stringify(asJson(entity, report), null, 2)}\n` : asText(entity, report),
      );
    });
}

function positive(text: string): number {
  const regions = Number(text);
  if (Number.isInteger(regions) && regions >= 1 && regions <= 10_000) return regions;
  throw new UsageError('It must be a whole number from 1 to 10000.');
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

/** The length of the bar of the fullest region, in characters. */
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
      `burst ${percent(report.burst)}`,
    ...report.findings.map((finding) => `! ${finding}`),
    '',
  ].join('\n');
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

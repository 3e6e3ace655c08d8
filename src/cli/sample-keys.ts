/** Sample keys from JSON: the values of key parts, or whole rows as HBase prints them. */

import { fromStringBinary } from '../bytes/index.js';
import { InvalidArgumentError } from '../errors.js';
import { BaseCodec, type KeyLayout } from '../key/index.js';

/** A row, or the values of a key's parts. */
export type SampleKey = Uint8Array | Readonly<Record<string, unknown>>;

type Conversion = (value: unknown) => unknown;

/**
 * Reads a JSON array, or one JSON value a line.
 * @throws InvalidArgumentError that names the line or the item.
 */
export function parseSamples(text: string): unknown[] {
  if (text.trimStart().startsWith('[')) {
    try {
      return JSON.parse(text) as unknown[];
    } catch (cause) {
      throw new InvalidArgumentError(`The samples are no JSON array: ${(cause as Error).message}.`, {
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
        `Line ${i + 1} of the samples is no JSON: ${(cause as Error).message}.`,
        {
          cause,
        },
      );
    }
  });
}

/**
 * The samples as the layout takes them. Texts stand for dates (ISO), bigints (digits) and bytes (as HBase prints them),
 * numbers for dates (ms) and bigints, where the part's codec takes no texts or numbers. Texts of dictionaries get ids in
 * the order of their appearance.
 */
export function sampleKeys(layout: KeyLayout, samples: readonly unknown[]): SampleKey[] {
  const conversions = new Map<string, Conversion>();
  const ids = new Map(layout.substitutions.map(({ part }) => [part, new Map<unknown, number>()]));
  return samples.map((sample, i) => {
    if (typeof sample === 'string') return fromStringBinary(sample);
    if (typeof sample !== 'object' || sample === null || Array.isArray(sample)) {
      throw new InvalidArgumentError(
        `Sample ${i + 1} is ${JSON.stringify(sample)}: give an object of key parts, or a row as text.`,
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

/** What cannot be converted is left as it is: the codec says what is wrong with it. */
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

/** The first conversion whose value the codec takes; none at all leaves the error to the codec. */
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

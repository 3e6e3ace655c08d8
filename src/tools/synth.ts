import { InvalidArgumentError, SchemaError } from '../errors.js';
import { type PutTarget, putOverStored } from '../job/pipeline/sink.js';
import { runJob } from '../job/runner.js';
import { toolJobName, toolRun } from '../job/table-pass.js';
import type { JobOutcome, JobReadable, JobRunOptions, RowRange } from '../job/types.js';
import { isOfDays, isStoredForm, text, valueOfStored } from '../key/codecs/index.js';
import { murmur3 } from '../key/digest.js';
import { listedCodec } from '../schema/derived.js';
import { givenColumns } from '../schema/lifecycle.js';
import type { ColumnSchema, EntitySchema } from '../schema/types.js';
import { describe } from '../table/checks.js';
import { Cell, CellType, type Engine, Result, type ResultScanner, Scan } from '../table/index.js';
import { DAYS, draw, listsOf, randomOf, sentence, type ValueSpace, valueSpace } from './synth-values.js';

const MIN_ROWS_OF_A_SPLIT = 20_000;
const MAX_SPLITS = 1000;

/** The numbers from 0 up to a count, as rows of a table that a job can read. */
class NumberTable implements JobReadable {
  readonly name = 'numbers';
  readonly ranges: readonly RowRange[];

  constructor(private readonly count: number) {
    const size = Math.max(MIN_ROWS_OF_A_SPLIT, Math.ceil(count / MAX_SPLITS));
    this.ranges = Array.from({ length: Math.ceil(count / size) }, (_, at) => ({
      start: rowOfNumber(at * size),
      stop: rowOfNumber(Math.min(count, (at + 1) * size)),
    }));
  }

  wholeScan(): Scan {
    return new Scan();
  }

  scan({ startRow, stopRow, includeStartRow }: Scan): ResultScanner {
    const first = startRow.length === 0 ? 0 : numberOfRow(startRow) + (includeStartRow ? 0 : 1);
    return new NumberScanner(first, stopRow.length === 0 ? this.count : numberOfRow(stopRow));
  }
}

class NumberScanner implements ResultScanner {
  constructor(
    private at: number,
    private readonly end: number,
  ) {}

  async next(): Promise<Result | undefined> {
    return (await this.nextBatch(1))[0];
  }

  nextBatch(count: number): Promise<Result[]> {
    const rows: Result[] = [];
    for (; rows.length < count && this.at < this.end; this.at++) {
      const row = rowOfNumber(this.at);
      rows.push(new Result(row, [new Cell(row, 'n', row, 0, CellType.Put, row)]));
    }
    return Promise.resolve(rows);
  }

  close(): Promise<void> {
    this.at = this.end;
    return Promise.resolve();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Result, void> {
    for (let row = await this.next(); row !== undefined; row = await this.next()) yield row;
  }
}

function rowOfNumber(number: number): Uint8Array {
  const row = Buffer.alloc(8);
  row.writeBigUInt64BE(BigInt(number));
  return row;
}

function numberOfRow(row: Uint8Array): number {
  return Number(Buffer.from(row.buffer, row.byteOffset, row.length).readBigUInt64BE());
}

// — Generates synthetic entities from declarations, with realistic skew.

/** How to generate a property's values. */
export interface SynthValues {
  /** The number of distinct values. Default: all that the type has, but at most about a million. */
  readonly values?: number;
  /**
   * The skew of their frequencies. 0: uniform. 1: Zipf's law, where the first of 1,000 values occurs in about every
   * tenth row. Default 0.
   */
  readonly skew?: number;
  /**
   * Whether each row has the value after that of the row before. Default: true for the last part of the key, if its
   * type has enough values.
   */
  readonly serial?: boolean;
  /** The share of rows without a value, 0 to 1. Default 0. */
  readonly absent?: number;
}

/**
 * Returns the value for a row number (from 0); `random` returns numbers in [0, 1) that depend only on the seed, the row
 * and the property.
 */
export type SynthFunction = (row: number, random: () => number) => unknown;

export interface SynthOptions {
  /** How many rows to generate. Rows with the same key coincide. */
  readonly rows: number;
  /** The seed, 0 to 2^32 - 1: equal seeds give equal rows. Default 0. */
  readonly seed?: number;
  /** By property; properties of embedded objects with dots. */
  readonly properties?: Readonly<Record<string, SynthValues | SynthFunction>>;
  /** The job's name, by which it can be resumed; default: the tool and the entity. */
  readonly name?: string;
  readonly run?: JobRunOptions;
}

/** The largest number of entries in a Map of columns. */
const MAX_ENTRIES = 5;

/**
 * Puts generated entities through a repository, with indexes, copies and hooks. The n-th value of a type is the same in
 * every entity, so references resolve if both properties have the same number of values. Counter: `entities`. Counters,
 * histories, packed columns, copies and properties that Rowan sets are omitted.
 * @throws InvalidArgumentError for invalid options; SchemaError for a property whose codec is not one of Rowan's and
 * that has no function.
 */
export async function synthesize(
  engine: Engine,
  target: PutTarget<object>,
  entity: EntitySchema,
  options: SynthOptions,
): Promise<JobOutcome> {
  const { rows, seed = 0, properties = {} } = options;
  checkWhole('rows', rows, 0, Number.MAX_SAFE_INTEGER);
  checkWhole('seed', seed, 0, 2 ** 32 - 1);
  const makers = makersOf(entity, rows, seed, properties);
  const numbers = new NumberTable(rows);
  return runJob(
    engine,
    {
      name: options.name ?? toolJobName('synth', entity.table.descriptor.name, entity.name),
      signature: `synth ${entity.name} ${rows} ${seed} ${JSON.stringify(properties)}`,
      phases: [
        {
          table: numbers,
          ranges: numbers.ranges,
          oneSplitEach: true,
          scan: () => numbers.wholeScan(),
          open: (context) => ({
            async rows(found) {
              const made = found.map(({ row }) => make(makers, numberOfRow(row)));
              await putOverStored(target, made);
              context.count('entities', found.length);
            },
          }),
        },
      ],
    },
    toolRun(options.run),
  );
}

/**
 * Returns a function that makes the entity of a row number, with a value for each property but `omitted`. Equal seeds and
 * numbers give equal entities; the last part of the key counts up.
 * @throws InvalidArgumentError on an invalid seed; SchemaError for a property whose codec is not one of Rowan's and
 * that is not omitted.
 */
export function entityMaker(
  entity: EntitySchema,
  seed: number,
  omitted: ReadonlySet<string>,
): (row: number) => object {
  checkWhole('seed', seed, 0, 2 ** 32 - 1);
  const names = [
    ...entity.key.parts.map(({ name }) => name),
    ...givenColumns(entity).map(({ property }) => property),
  ];
  const left = names.filter((name) => omitted.has(name.split('.')[0]!));
  const makers = makersOf(entity, 1, seed, Object.fromEntries(left.map((name) => [name, () => undefined])));
  return (row) => make(makers, row);
}

interface Maker {
  readonly path: readonly string[];
  /** Undefined: the row has no value. Another `more` gives another value for the same row. */
  value(row: number, more?: number): unknown;
}

function make(makers: readonly Maker[], row: number): object {
  const entity: Record<string, unknown> = {};
  for (const { path, value } of makers) {
    const made = value(row);
    if (made === undefined) continue;
    let at = entity;
    for (const step of path.slice(0, -1)) {
      at[step] ??= {};
      at = at[step] as Record<string, unknown>;
    }
    at[path.at(-1)!] = made;
  }
  return entity;
}

function makersOf(
  entity: EntitySchema,
  rows: number,
  seed: number,
  properties: NonNullable<SynthOptions['properties']>,
): Maker[] {
  const columns = givenColumns(entity).filter(
    ({ property }) => !entity.key.parts.some(({ name }) => name === property),
  );
  const known = [...entity.key.parts.map(({ name }) => name), ...columns.map(({ property }) => property)];
  for (const name of Object.keys(properties)) {
    if (!known.includes(name)) {
      throw new InvalidArgumentError(
        `${entity.name} has no property "${name}" for which values can be generated. It has ${known.join(', ')}.`,
      );
    }
  }
  const isText = new Set(entity.key.substitutions.map(({ part }) => part));
  const parts = entity.key.parts.map(({ name, codec }, at): Maker => {
    const given = properties[name];
    if (typeof given === 'object' && given.absent !== undefined && given.absent !== 0) {
      throw new InvalidArgumentError(
        `${name} is a part of the key of ${entity.name}, so "absent" is not possible.`,
      );
    }
    const isLast = at === entity.key.parts.length - 1;
    const source = sourceOf(entity, name, isText.has(name) ? text : codec, seed, given, ({ size }) =>
      isLast && size >= rows ? { serial: true } : {},
    );
    return { path: [name], value: source };
  });
  return [
    ...parts,
    ...columns.map((column) => columnMaker(entity, column, seed, properties[column.property])),
  ];
}

function columnMaker(
  entity: EntitySchema,
  column: ColumnSchema,
  seed: number,
  given: SynthValues | SynthFunction | undefined,
): Maker {
  const { path, property, codec, qualifierCodec } = column;
  const value: Maker['value'] = sourceOf(entity, property, codec, seed, given, () => ({}));
  if (column.kind === 'column' || typeof given === 'function') return { path, value };
  const key = sourceOf(entity, `${property} key`, qualifierCodec!, seed, undefined, () => ({}));
  const random = nameOf(`${property} entries`);
  return {
    path,
    value(row) {
      const first = value(row);
      if (first === undefined) return undefined;
      const count = Math.floor(randomOf(seed, row, random)() * (MAX_ENTRIES + 1));
      // The entries are generated like those of rows after the last one.
      return new Map(
        Array.from({ length: count }, (_, at) => [key(row * MAX_ENTRIES + at), value(row, at + 1)]),
      );
    },
  };
}

/** Creates the generator of one property's values. */
function sourceOf(
  entity: EntitySchema,
  property: string,
  codec: { readonly name: string },
  seed: number,
  given: SynthValues | SynthFunction | undefined,
  usual: (space: ValueSpace) => SynthValues,
): Maker['value'] {
  const name = nameOf(property);
  if (typeof given === 'function') return (row) => given(row, randomOf(seed, row, name));
  const { name: codecName } = codec;
  const listed = listedCodec(entity, property);
  const space = listed ? listsOf(valueSpace(listed.name)) : isOfDays(codec) ? DAYS : valueSpace(codecName);
  if (space === undefined || !isStoredForm(codec, space.at(0))) {
    throw new SchemaError(
      `No values can be generated for ${property} of ${entity.name}, whose codec is ${codecName}. Pass a function: { ${JSON.stringify(property)}: (row, random) => … }.`,
    );
  }
  const { values, skew = 0, serial = false, absent = 0 } = checked(property, given ?? usual(space), space);
  const isFreeText =
    given === undefined &&
    codecName === 'text' &&
    !serial &&
    !entity.key.parts.some((part) => part.name === property);
  const count = values ?? (serial ? space.size : space.usual);
  return (row, more = 0) => {
    if (serial) return valueOfStored(codec, space.at(row % count));
    const random = randomOf(seed, row, name + more);
    if (absent > 0 && random() < absent) return undefined;
    return valueOfStored(codec, isFreeText ? sentence(random) : space.at(draw(random(), count, skew)));
  };
}

function nameOf(property: string): number {
  return murmur3(Buffer.from(property));
}

function checked(property: string, given: SynthValues, { size }: ValueSpace): SynthValues {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new InvalidArgumentError(
      `The options of ${property} must be an object or a function, not ${describe(given)}.`,
    );
  }
  const { values, skew, serial, absent, ...rest } = given;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) {
    throw new InvalidArgumentError(
      `Unknown option "${unknown}" of ${property}. Known: absent, serial, skew, values.`,
    );
  }
  if (values !== undefined) checkWhole(`values of ${property}`, values, 1, size);
  if (serial !== undefined && typeof serial !== 'boolean') {
    throw new InvalidArgumentError(`serial of ${property} must be true or false, not ${describe(serial)}.`);
  }
  checkNumber(`skew of ${property}`, skew, 0, 10);
  checkNumber(`absent of ${property}`, absent, 0, 1);
  return given;
}

function checkWhole(what: string, value: number, min: number, max: number): void {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return;
  throw new InvalidArgumentError(
    `The ${what} must be a whole number from ${min} to ${max}, not ${describe(value)}.`,
  );
}

function checkNumber(what: string, value: number | undefined, min: number, max: number): void {
  if (value === undefined || (typeof value === 'number' && value >= min && value <= max)) return;
  throw new InvalidArgumentError(
    `The ${what} must be a number from ${min} to ${max}, not ${describe(value)}.`,
  );
}

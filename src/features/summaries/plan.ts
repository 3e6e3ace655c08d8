import { toLatin1 } from '../../bytes/index.js';
import { decimalText } from '../../codec/index.js';
import { KeyError } from '../../errors.js';
import { quotient } from '../../query/index.js';
import { writtenColumn } from '../../repository/maintainer.js';
import type { RowImage } from '../../repository/row-image.js';
import { RowMarker } from '../../repository/row-marker.js';
import { endOf } from '../../schema/marker.js';
import {
  ALL_PART,
  type ColumnSchema,
  type EntitySchema,
  type FigureSchema,
  type MeasuredSchema,
  type RowReader,
  type SumKind,
  type SummarySchema,
  valueAt,
} from '../../schema/types.js';
import type { RowMutation } from '../../table/index.js';
import type { CompiledWhere } from '../indexes/entity-indexes.js';
import { compileKeptWhere } from '../indexes/query/access.js';
import { type FigureAmounts, summaryTableName } from './rows.js';

// — Exact sums: numbers as whole multiples of a unit, split into limbs of 32 bits. Limbs are incremented independently,
// without carry, so sums need increments only, in any order, and are exact.

const LIMB_BITS = 32n;
const LIMB_MASK = (1n << LIMB_BITS) - 1n;
/** The unit of doubles is 2 to the power of minus this. */
const DOUBLE_SHIFT = 1074;
const MANTISSA_BITS = 53;

/** Values that are no multiple of a unit. */
type Beyond = 'negative infinity' | 'infinity' | 'NaN';

/** A value of the codec in units. */
function unitsOf(value: unknown, kind: SumKind): bigint | Beyond {
  switch (kind.unit) {
    case 'one':
      return BigInt(value as number | bigint);
    case 'decimal':
      return BigInt((value as string).replace('.', ''));
    case 'double':
      return doubleUnits(value as number);
  }
}

const view = new DataView(new ArrayBuffer(8));

function doubleUnits(value: number): bigint | Beyond {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? 'infinity' : 'negative infinity';
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0);
  const exponent = Number((bits >> 52n) & 0x7ffn);
  const fraction = bits & 0xfffffffffffffn;
  const units = exponent === 0 ? fraction : (fraction | (1n << 52n)) << BigInt(exponent - 1);
  return value < 0 ? -units : units;
}

/** Calls `each` with the nonzero limbs, the lowest is number 0. All have the sign of the number. */
function eachLimb(units: bigint, each: (limb: number, amount: bigint) => void): void {
  const sign = units < 0n ? -1n : 1n;
  let rest = units * sign;
  for (let limb = 0; rest > 0n; limb++) {
    const amount = rest & LIMB_MASK;
    if (amount > 0n) each(limb, sign * amount);
    rest >>= LIMB_BITS;
  }
}

/** The units that an amount of limb n represents. */
function limbUnits(limb: number, amount: bigint): bigint {
  return amount << (LIMB_BITS * BigInt(limb));
}

/** A sum in the type of the values. */
function sumOf(units: bigint, kind: SumKind): number | bigint | string {
  switch (kind.unit) {
    case 'one':
      return kind.as === 'bigint' ? units : Number(units);
    case 'decimal':
      return decimalText(units, kind.scale);
    case 'double':
      return toDouble(units, 1n);
  }
}

/** The double nearest to the average. */
function averageOf(units: bigint, kind: SumKind, count: number): number {
  if (kind.unit === 'double') return toDouble(units, BigInt(count));
  return quotient(units, kind.unit === 'decimal' ? kind.scale : 0, count);
}

/** The double nearest to units / divisor, in units of doubles. Ties go to even. */
function toDouble(units: bigint, divisor: bigint): number {
  if (units < 0n) return -toDouble(-units, divisor);
  if (units === 0n) return 0;
  // Shifts out the bits beyond a mantissa; never less than one unit, so that subnormal doubles are right too.
  const step = Math.max(0, bitsOf(units / divisor) - MANTISSA_BITS);
  const bottom = divisor << BigInt(step);
  const whole = units / bottom;
  const twice = 2n * (units - whole * bottom);
  const up = twice > bottom || (twice === bottom && whole % 2n === 1n);
  // Exact unless it exceeds the range of doubles.
  return Number(up ? whole + 1n : whole) * 2 ** (step - DOUBLE_SHIFT);
}

function bitsOf(value: bigint): number {
  if (value === 0n) return 0;
  const hex = value.toString(16);
  return hex.length * 4 - Math.clz32(Number.parseInt(hex[0]!, 16)) + 28;
}

/** The qualifier of the cell that counts rows. */
const ROWS = '_';
const COUNT = 0;
const FIRST_LIMB = 1;
const BEYOND: Readonly<Record<Beyond, number>> = { 'negative infinity': 0xfd, infinity: 0xfe, NaN: 0xff };

/** The contribution of one row. */
export interface Contribution {
  /** The group, encoded by the summary's layout. */
  readonly group: Uint8Array;
  readonly amounts: FigureAmounts;
}

interface Measure extends MeasuredSchema {
  readonly path: readonly string[];
  /** The prefix of the qualifiers of its cells. */
  readonly lead: string;
}

/** Counts and sums as text: equal for equal figures, however their limbs are distributed. */
export type GroupIdentity = string | undefined;

/**
 * Plans the figures of a summary: what a row contributes, and what the figures of a group are. Used by writes, reads,
 * counts and checks.
 */
export class SummaryPlan {
  readonly tableName: string;
  readonly where: CompiledWhere | undefined;
  /** The columns that decide on what a row contributes. */
  private readonly columns: readonly ColumnSchema[];
  private readonly rowMarker: RowMarker;
  private readonly reader: RowReader;
  private readonly groupBy: readonly (readonly [part: string, path: readonly string[]])[];
  private readonly measures: readonly Measure[];

  /** @throws QueryError naming an invalid condition. */
  constructor(
    readonly schema: EntitySchema,
    readonly summary: SummarySchema,
  ) {
    const { by, measured, where, name } = summary;
    this.tableName = summaryTableName(schema.table.descriptor.name);
    this.where = where && compileKeptWhere(schema, where, `summary "${name}"`);
    this.rowMarker = new RowMarker(schema);
    const properties = new Set([...by, ...measured.map(({ property }) => property)]);
    this.reader = schema.mapper.readerOf(properties);
    this.columns = [
      ...[...properties].flatMap((property) => schema.columnsByProperty.get(property) ?? []),
      ...(this.where?.columns ?? []),
      ...(this.rowMarker.deletedAt === undefined ? [] : [this.rowMarker.deletedAt]),
    ];
    const pathOf = (property: string) => schema.columnsByProperty.get(property)?.path ?? [property];
    this.groupBy = by.map((property) => [property, pathOf(property)] as const);
    this.measures = measured.map((one, i) => ({
      ...one,
      path: pathOf(one.property),
      lead: String.fromCharCode(i),
    }));
  }

  /** Whether its rows expire. */
  get ends(): boolean {
    return this.schema.timeToLive.lifelong;
  }

  /** Undefined where the row does not count. @throws KeyError on a value that no group can have. */
  contributionOf(image: RowImage): Contribution | undefined {
    if (image.isEmpty || !this.rowMarker.isIn(image, 'live')) return undefined;
    const row = image.toResult();
    if (this.where !== undefined && !this.where.test(row)) return undefined;
    const entity = this.reader.read(row);
    if (entity === null) return undefined;
    const values: Record<string, unknown> = {};
    for (const [part, path] of this.groupBy) {
      const value = valueAt(entity, path);
      if (value === undefined) return undefined;
      values[part] = value;
    }
    return { group: this.encode(values), amounts: this.amountsOf(entity) };
  }

  /** Whether the mutations set every column that decides on what a row contributes, whatever it has been. */
  isDecidedBy(mutations: readonly RowMutation[]): boolean {
    return this.columns.every((column) => {
      const written = writtenColumn(mutations, column);
      return written?.value !== undefined;
    });
  }

  /** @throws KeyError when the values identify no group. */
  encode(values: Readonly<Record<string, unknown>>): Uint8Array {
    const { summary, schema } = this;
    try {
      return summary.layout.encode(summary.by.length === 0 ? { [ALL_PART]: 0 } : values);
    } catch (error) {
      if (!(error instanceof KeyError)) throw error;
      throw new KeyError(`${error.message} The summary "${summary.name}" has no such group.`, {
        cause: error,
        details: { ...error.details, entity: schema.name, summary: summary.name },
      });
    }
  }

  /** The expiry of the row, ms since 1970; 0: it does not expire. */
  endOf(image: RowImage): number {
    const { marker } = this.schema;
    const cell = marker && image.cell(marker.family, marker.qualifier);
    return (cell && endOf(cell)) ?? 0;
  }

  private amountsOf(entity: object): FigureAmounts {
    const amounts = new Map<string, bigint>([[ROWS, 1n]]);
    for (const { path, sum, lead } of this.measures) {
      const value = valueAt(entity, path);
      if (value === undefined) continue;
      amounts.set(lead + String.fromCharCode(COUNT), 1n);
      if (sum === undefined) continue;
      const units = unitsOf(value, sum);
      if (typeof units === 'string') amounts.set(lead + String.fromCharCode(BEYOND[units]), 1n);
      else
        eachLimb(units, (limb, amount) => amounts.set(lead + String.fromCharCode(FIRST_LIMB + limb), amount));
    }
    return amounts;
  }

  rowsIn(amounts: FigureAmounts): bigint {
    return amounts.get(ROWS) ?? 0n;
  }

  /** Undefined: the group is empty. */
  identityOf(amounts: FigureAmounts): GroupIdentity {
    const figures = [
      this.rowsIn(amounts),
      ...this.measures.flatMap((one) => Object.values(totalsOf(one, amounts)) as bigint[]),
    ];
    return figures.every((one) => one === 0n) ? undefined : figures.join(' ');
  }

  /** A figure other than least and greatest values. */
  figureOf({ kind, property }: FigureSchema, amounts: FigureAmounts): unknown {
    if (property === undefined) return Number(this.rowsIn(amounts));
    const measure = this.measures.find((one) => one.property === property)!;
    const totals = totalsOf(measure, amounts);
    const count = Number(totals.count);
    if (kind === 'count') return count;
    const sum = measure.sum!;
    if (kind === 'avg' && count === 0) return null;
    const beyond = beyondOf(totals);
    if (beyond !== undefined) return beyond;
    return kind === 'sum' ? sumOf(totals.units, sum) : averageOf(totals.units, sum, count);
  }
}

interface Totals {
  readonly count: bigint;
  readonly units: bigint;
  readonly negative: bigint;
  readonly positive: bigint;
  readonly nan: bigint;
}

function totalsOf({ lead, sum }: Measure, amounts: FigureAmounts): Totals {
  const at = (kind: number): bigint => amounts.get(lead + String.fromCharCode(kind)) ?? 0n;
  let units = 0n;
  if (sum !== undefined) {
    for (const [qualifier, amount] of amounts) {
      if (qualifier.length !== 2 || qualifier[0] !== lead) continue;
      const kind = qualifier.charCodeAt(1);
      if (kind >= FIRST_LIMB && kind < BEYOND['negative infinity'])
        units += limbUnits(kind - FIRST_LIMB, amount);
    }
  }
  return {
    count: at(COUNT),
    units,
    negative: at(BEYOND['negative infinity']),
    positive: at(BEYOND.infinity),
    nan: at(BEYOND.NaN),
  };
}

/** The sum where infinities or NaN are among the values. Undefined where none are. */
function beyondOf({ negative, positive, nan }: Totals): number | undefined {
  if (nan > 0n || (negative > 0n && positive > 0n)) return Number.NaN;
  if (negative > 0n) return Number.NEGATIVE_INFINITY;
  return positive > 0n ? Number.POSITIVE_INFINITY : undefined;
}

/** The difference between two contributions. Empty: none. */
export function differenceOf(
  was: FigureAmounts | undefined,
  is: FigureAmounts | undefined,
): Map<string, bigint> {
  const amounts = new Map<string, bigint>(is);
  for (const [qualifier, amount] of was ?? []) {
    const rest = (amounts.get(qualifier) ?? 0n) - amount;
    if (rest === 0n) amounts.delete(qualifier);
    else amounts.set(qualifier, rest);
  }
  return amounts;
}

/** Whether two contributions are equal and of the same group. */
export function isSameContribution(a: Contribution | undefined, b: Contribution | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return toLatin1(a.group) === toLatin1(b.group) && differenceOf(a.amounts, b.amounts).size === 0;
}

/** Geohashes: cells of a grid over the earth, whose texts begin alike where they lie in one larger cell. */

import { InvalidArgumentError, RowanError, SchemaError } from '../../errors.js';
import { describe, isRecord } from '../../table/checks.js';
import { BaseCodec, badBytes, badValue, type KeyWriter, type ScalarCodec, wrongLength } from './base.js';

/** The digits of geohashes: base 32. */
export const GEOHASH_DIGITS = '0123456789bcdefghjkmnpqrstuvwxyz';
/** The bits of a digit: in turn of longitude and latitude. */
export const GEOHASH_BITS = 5;
const LONGEST = 12;
/** The most cells that `geohashCells` returns: each is a range of a query. */
const MAX_CELLS = 1000;
/** Meters of a degree of latitude, at least. */
const DEGREE = 110_574;

/** An area between two latitudes and two longitudes, in degrees. With `west` above `east` it crosses the date line. */
export interface GeoBox {
  readonly south: number;
  readonly west: number;
  readonly north: number;
  readonly east: number;
}

class GeohashCodec extends BaseCodec<string> {
  readonly name: string;
  readonly fixedLength: number;

  constructor(private readonly digits: number) {
    super();
    this.name = `geohash(${digits})`;
    this.fixedLength = Math.ceil((GEOHASH_BITS * digits) / 8);
  }

  write(value: string, out: KeyWriter): void {
    const numbers = digitsOf(value);
    if (numbers?.length !== this.digits)
      throw badValue(this.name, value, `${this.digits} of the digits ${GEOHASH_DIGITS}`);
    writeBits(numbers, this.fixedLength, out);
  }

  read(bytes: Uint8Array, start: number, end: number): string {
    if (end - start !== this.fixedLength) throw wrongLength(this, bytes, start, end);
    let text = '';
    let held = 0;
    let bits = 0;
    for (let at = start; at < end; at++) {
      held = ((held << 8) | bytes[at]!) & 0xffff;
      bits += 8;
      while (bits >= GEOHASH_BITS && text.length < this.digits) {
        bits -= GEOHASH_BITS;
        text += GEOHASH_DIGITS[(held >> bits) & 31];
      }
    }
    if ((held & ((1 << bits) - 1)) !== 0)
      throw badBytes(this.name, bytes, start, end, 'it has bits behind its last digit');
    return text;
  }

  override writePrefix(value: unknown, out: KeyWriter): boolean {
    const numbers = digitsOf(value);
    if (numbers === undefined || numbers.length > this.digits)
      throw badValue(this.name, value, `at most ${this.digits} of the digits ${GEOHASH_DIGITS}`);
    const bits = GEOHASH_BITS * numbers.length;
    writeBits(numbers, Math.floor(bits / 8), out);
    return bits % 8 === 0;
  }
}

/** Undefined for what is no text of digits. */
function digitsOf(value: unknown): number[] | undefined {
  if (typeof value !== 'string' || value.length > LONGEST) return undefined;
  const numbers = [...value].map((digit) => GEOHASH_DIGITS.indexOf(digit));
  return numbers.includes(-1) ? undefined : numbers;
}

/** Writes the first `count` bytes of the digits' bits, with zeros after the last digit. */
function writeBits(numbers: readonly number[], count: number, out: KeyWriter): void {
  let held = 0;
  let bits = 0;
  let at = 0;
  for (let i = 0; i < count; i++) {
    while (bits < 8) {
      held = ((held << GEOHASH_BITS) | (numbers[at++] ?? 0)) & 0xffff;
      bits += GEOHASH_BITS;
    }
    bits -= 8;
    out.push((held >> bits) & 0xff);
  }
}

/**
 * A geohash of `digits` characters (1..12), a text such as "u0m4x" in code, in 5 bits for each. The order is that of the
 * texts, so `startsWith` finds the cells within a larger one. {@link geohashOf} makes it, {@link geohashCells} the cells
 * to query.
 * @throws SchemaError on another number of digits.
 */
export function geohash(digits: number): ScalarCodec<string> {
  if (!isLength(digits)) {
    throw new SchemaError(
      `geohash(): give the number of digits, from 1 to ${LONGEST}, not ${describe(digits)}.`,
    );
  }
  return new GeohashCodec(digits);
}

/**
 * The geohash of a place, in degrees.
 * @param digits 1..12; 5 are cells of 4.9 km, 6 of 1.2 km by 0.6 km, 7 of 153 m, 9 of 5 m. Default 9.
 * @throws InvalidArgumentError when a number is out of range.
 */
export function geohashOf(latitude: number, longitude: number, digits = 9): string {
  checkDegrees('geohashOf', 'latitude', latitude, 90);
  checkDegrees('geohashOf', 'longitude', longitude, 180);
  checkLength('geohashOf', digits);
  const { columns, rows } = gridOf(digits);
  return textOf(columnOf(longitude, columns), rowOf(latitude, rows), digits);
}

/** The area of a geohash. @throws RowanError `ERR_CODEC` when the text is no geohash. */
export function geohashBox(hash: string): GeoBox {
  const numbers = digitsOf(hash);
  if (numbers === undefined || numbers.length === 0) {
    throw new RowanError('ERR_CODEC', `geohashBox() takes a geohash, "u0m4x", not ${describe(hash)}.`, {
      details: { codec: 'geohash', value: hash },
    });
  }
  let [column, row] = [0, 0];
  let isLongitude = true;
  for (const number of numbers) {
    for (let bit = GEOHASH_BITS - 1; bit >= 0; bit--, isLongitude = !isLongitude) {
      const one = (number >> bit) & 1;
      if (isLongitude) column = 2 * column + one;
      else row = 2 * row + one;
    }
  }
  const { columns, rows } = gridOf(numbers.length);
  return {
    south: (row * 180) / rows - 90,
    west: (column * 360) / columns - 180,
    north: ((row + 1) * 180) / rows - 90,
    east: ((column + 1) * 360) / columns - 180,
  };
}

/**
 * The box around a circle, in degrees and meters. Near a pole it goes around the earth.
 * @throws InvalidArgumentError when a number is out of range.
 */
export function geoBoxAround(latitude: number, longitude: number, meters: number): GeoBox {
  checkDegrees('geoBoxAround', 'latitude', latitude, 90);
  checkDegrees('geoBoxAround', 'longitude', longitude, 180);
  if (!Number.isFinite(meters) || meters < 0)
    throw new InvalidArgumentError(`geoBoxAround(): meters is 0 or more, not ${describe(meters)}.`);
  const high = meters / DEGREE;
  const [south, north] = [latitude - high, latitude + high];
  const widest = Math.max(Math.abs(south), Math.abs(north));
  const wide = widest >= 90 ? 180 : high / Math.cos((widest * Math.PI) / 180);
  if (wide >= 180) return { south: Math.max(-90, south), west: -180, north: Math.min(90, north), east: 180 };
  const around = (degrees: number): number =>
    degrees < -180 ? degrees + 360 : degrees > 180 ? degrees - 360 : degrees;
  return { south, west: around(longitude - wide), north, east: around(longitude + wide) };
}

/**
 * The geohashes of an area, in their order: `find({ cell: { in: geohashCells(box, 6) } })` reads the places in it, and
 * those around it that lie in the same cells.
 * @throws InvalidArgumentError when the area is wrong, or has more than 1,000 cells: take fewer digits.
 */
export function geohashCells(box: GeoBox, digits: number): string[] {
  checkLength('geohashCells', digits);
  const { south, west, north, east } = (isRecord(box) ? box : {}) as GeoBox;
  for (const [name, degrees, most] of [
    ['south', south, 90],
    ['north', north, 90],
    ['west', west, 180],
    ['east', east, 180],
  ] as const)
    checkDegrees('geohashCells', name, degrees, most);
  if (south > north)
    throw new InvalidArgumentError(
      `geohashCells(): south is ${south}, above north, ${north}. Exchange them.`,
    );
  const { columns, rows } = gridOf(digits);
  const [bottom, top] = [rowOf(south, rows), rowOf(north, rows)];
  const [left, right] = [columnOf(west, columns), columnOf(east, columns)];
  const across = west <= east ? right - left + 1 : Math.min(columns, columns - left + right + 1);
  const count = across * (top - bottom + 1);
  if (count > MAX_CELLS) {
    throw new InvalidArgumentError(
      `geohashCells(): the area has ${count} cells of ${digits} digits, and ${MAX_CELLS} are allowed. Take fewer digits, or a smaller area.`,
    );
  }
  const cells: string[] = [];
  for (let row = bottom; row <= top; row++) {
    for (let i = 0; i < across; i++) cells.push(textOf((left + i) % columns, row, digits));
  }
  return cells.sort();
}

/** The cells of the whole earth. The first bit is of the longitude, so it has a bit more where their number is odd. */
function gridOf(digits: number): { readonly columns: number; readonly rows: number } {
  return {
    columns: 2 ** Math.ceil((GEOHASH_BITS * digits) / 2),
    rows: 2 ** Math.floor((GEOHASH_BITS * digits) / 2),
  };
}

function columnOf(longitude: number, columns: number): number {
  return Math.min(columns - 1, Math.floor(((longitude + 180) / 360) * columns));
}

function rowOf(latitude: number, rows: number): number {
  return Math.min(rows - 1, Math.floor(((latitude + 90) / 180) * rows));
}

function textOf(column: number, row: number, digits: number): string {
  let text = '';
  let [columnBits, rowBits] = [
    Math.ceil((GEOHASH_BITS * digits) / 2),
    Math.floor((GEOHASH_BITS * digits) / 2),
  ];
  for (let digit = 0, isLongitude = true; digit < digits; digit++) {
    let number = 0;
    for (let bit = 0; bit < GEOHASH_BITS; bit++, isLongitude = !isLongitude)
      number = 2 * number + (isLongitude ? (column >> --columnBits) & 1 : (row >> --rowBits) & 1);
    text += GEOHASH_DIGITS[number];
  }
  return text;
}

function isLength(digits: unknown): boolean {
  return Number.isInteger(digits) && (digits as number) >= 1 && (digits as number) <= LONGEST;
}

function checkLength(taker: string, digits: unknown): void {
  if (!isLength(digits))
    throw new InvalidArgumentError(
      `${taker}(): digits is a number from 1 to ${LONGEST}, not ${describe(digits)}.`,
    );
}

function checkDegrees(taker: string, name: string, degrees: unknown, most: number): void {
  if (typeof degrees === 'number' && Math.abs(degrees) <= most) return;
  throw new InvalidArgumentError(
    `${taker}(): ${name} is from -${most} to ${most} degrees, not ${describe(degrees)}.`,
  );
}

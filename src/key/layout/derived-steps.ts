/** Constants, and what is computed from parts: salts, buckets, digests, time buckets. */

import { copyBytes, equalBytes, toHex } from '../../bytes/index.js';
import { KeyError } from '../../errors.js';
import { describeValue, type ValueRange } from '../codecs/base.js';
import type { BaseCodec } from '../codecs/index.js';
import { KeyWriter } from '../codecs/index.js';
import { getInteger, putInteger } from '../codecs/integers.js';
import { readSafe, writeSafe } from '../codecs/long.js';
import { digest, phoenixSalt } from '../digest/digest.js';
import { murmur3 } from '../digest/murmur3.js';
import type { BucketElement, HashElement, SaltElement, TimeBucketElement } from '../elements.js';
import { type KeyValues, partError, requireValue, rowError, Step } from './step.js';

/** Bytes that stand in every key. */
export class ConstStep extends Step {
  readonly derived = false;
  readonly width: number;

  constructor(
    readonly bytes: Uint8Array,
    readonly signature: string,
  ) {
    super();
    this.width = bytes.length;
  }

  encode(_values: KeyValues, out: KeyWriter): void {
    out.append(this.bytes);
  }

  decode(row: Uint8Array, at: number): number {
    const end = this.skip(row, at);
    if (end < 0) throw rowError(`byte ${at} is not the beginning of ${this.signature}`);
    return end;
  }

  skip(row: Uint8Array, at: number): number {
    const { bytes, width } = this;
    if (at + width > row.length) return -1;
    for (let i = 0; i < width; i++) if (row[at + i] !== bytes[i]) return -1;
    return at + width;
  }
}

/** Steps that take one of a known number of byte strings of one width: a query can ask for each. */
export abstract class SpreadStep extends Step {
  abstract override readonly width: number;
  readonly derived = true;
  /** What can stand there, in byte order. */
  abstract readonly choices: readonly Uint8Array[];
}

/** A salt. `encode` only makes room; `patch` fills it in when the rest of the key is there. */
export class SaltStep extends SpreadStep {
  readonly signature: string;
  readonly width: number;
  readonly choices: readonly Uint8Array[];
  private readonly prefixes: readonly Uint8Array[] | undefined;
  private readonly gathered = new KeyWriter(64);

  constructor(
    readonly element: SaltElement,
    /** The index of this step in the layout. */
    private readonly index: number,
    /** First and last step of each run of bytes that is hashed; undefined for all bytes behind the salt. */
    readonly runs: readonly (readonly [number, number])[] | undefined,
    private readonly random: () => number,
  ) {
    super();
    const { buckets, prefixes, over, algorithm, assign } = element;
    this.prefixes = prefixes;
    this.width = prefixes?.[0]?.length ?? 1;
    this.choices = prefixes
      ? [...prefixes].sort((a, b) => Buffer.compare(a, b))
      : Array.from({ length: buckets }, (_, i) => Uint8Array.of(i));
    const options = [
      prefixes ? `[${prefixes.map(toHex).join(' ')}]` : String(buckets),
      ...(over ? [`over ${over.join('+')}`] : []),
      ...(algorithm === 'phoenix' ? ['phoenix'] : []),
      ...(assign === 'random' ? ['random'] : []),
    ];
    this.signature = `salt(${options.join(',')})`;
  }

  encode(_values: KeyValues, out: KeyWriter): void {
    out.ensure(this.width);
    out.length += this.width;
  }

  /** Fills the salt in; `ends` holds where each step of the key ends. */
  patch(out: KeyWriter, ends: Int32Array): void {
    const at = ends[this.index]! - this.width;
    const choice = this.choose(out, ends);
    if (this.prefixes === undefined) out.buffer[at] = choice;
    else out.buffer.set(this.prefixes[choice]!, at);
  }

  private choose(out: KeyWriter, ends: Int32Array): number {
    const { buckets, assign } = this.element;
    if (assign === 'random') return Math.floor(this.random() * buckets);
    const { runs } = this;
    if (runs === undefined) return phoenixSalt(out.buffer, ends[this.index]!, out.length, buckets);
    if (runs.length === 1) {
      const [first, last] = runs[0]!;
      return murmur3(out.buffer, first === 0 ? 0 : ends[first - 1]!, ends[last]!) % buckets;
    }
    const { gathered } = this;
    gathered.length = 0;
    for (const [first, last] of runs) {
      gathered.append(out.buffer.subarray(first === 0 ? 0 : ends[first - 1]!, ends[last]!));
    }
    return this.choiceOf(gathered);
  }

  private choiceOf(hashed: KeyWriter): number {
    return murmur3(hashed.buffer, 0, hashed.length) % this.element.buckets;
  }

  /** The salt of the bytes that `hashed` holds. */
  saltOf(hashed: KeyWriter): Uint8Array {
    const choice = this.choiceOf(hashed);
    return this.prefixes?.[choice] ?? Uint8Array.of(choice);
  }

  decode(row: Uint8Array, at: number): number {
    const end = this.skip(row, at);
    if (end < 0) throw rowError(`byte ${at} is none of the salts of ${this.signature}`);
    return end;
  }

  skip(row: Uint8Array, at: number): number {
    const end = at + this.width;
    if (end > row.length) return -1;
    if (this.prefixes === undefined) return row[at]! < this.element.buckets ? end : -1;
    return this.prefixes.some((prefix) => equalBytes(prefix, row.subarray(at, end))) ? end : -1;
  }
}

/** A numeric part modulo a number. */
export class BucketStep extends SpreadStep {
  readonly signature: string;
  readonly width = 1;
  readonly choices: readonly Uint8Array[];

  constructor(readonly element: BucketElement) {
    super();
    this.signature = `bucket(${element.buckets},${element.of})`;
    this.choices = Array.from({ length: element.buckets }, (_, i) => Uint8Array.of(i));
  }

  encode(values: KeyValues, out: KeyWriter): void {
    const { of, buckets } = this.element;
    out.push(Number(modulo(of, requireValue(values, of), buckets)));
  }

  decode(row: Uint8Array, at: number): number {
    const end = this.skip(row, at);
    if (end < 0) throw rowError(`byte ${at} is no bucket of ${this.signature}`);
    return end;
  }

  skip(row: Uint8Array, at: number): number {
    return at < row.length && row[at]! < this.element.buckets ? at + 1 : -1;
  }
}

/** value mod n, 0..n-1, of a whole number, a bigint or the ms of a Date. */
function modulo(name: string, value: unknown, n: number): number | bigint {
  const number = value instanceof Date ? value.getTime() : value;
  if (typeof number === 'bigint') return ((number % BigInt(n)) + BigInt(n)) % BigInt(n);
  if (typeof number === 'number' && Number.isSafeInteger(number)) return ((number % n) + n) % n;
  throw new KeyError(
    `Key part "${name}": ${describeValue(value)} has no modulo. Buckets go with whole numbers, bigints and Dates; spread others with salt().`,
    { details: { property: name } },
  );
}

/** What a digest is taken of. */
export interface HashSource {
  readonly name: string;
  readonly codec: BaseCodec<unknown>;
}

/** A digest of parts. */
export class HashStep extends Step {
  readonly signature: string;
  readonly width: number;
  private readonly scratch = new KeyWriter(64);

  constructor(
    readonly element: HashElement,
    readonly sources: readonly HashSource[],
    /** Whether the parts stand in the key whole as well. */
    readonly derived: boolean,
  ) {
    super();
    const { algorithm, bytes, encoding, modulo: divisor } = element;
    this.width = encoding === 'hex' ? 2 * bytes : bytes;
    const options = [
      algorithm,
      String(bytes),
      sources.map(({ name, codec }) => (derived ? name : `${name}:${codec.name}`)).join('+'),
      ...(encoding === 'hex' ? ['hex'] : []),
      ...(divisor === undefined ? [] : [`modulo ${divisor}`]),
    ];
    this.signature = `hash(${options.join(',')})`;
  }

  encode(values: KeyValues, out: KeyWriter): void {
    const { scratch } = this;
    const { algorithm, bytes, encoding } = this.element;
    scratch.length = 0;
    for (const source of this.sources) this.gather(source, requireValue(values, source.name));
    const whole = digest(algorithm, scratch.buffer.subarray(0, scratch.length));
    const kept = whole.subarray(0, bytes);
    out.append(encoding === 'hex' ? Buffer.from(toHex(kept), 'latin1') : kept);
  }

  private gather({ name, codec }: HashSource, value: unknown): void {
    const { scratch } = this;
    const start = scratch.length;
    try {
      codec.write(value, scratch);
    } catch (error) {
      throw partError(name, value, error);
    }
    const { modulo: divisor } = this.element;
    if (divisor === undefined) return;
    scratch.length = start;
    scratch.append(Buffer.from(String(modulo(name, value, divisor)), 'latin1'));
  }

  decode(row: Uint8Array, at: number): number {
    const end = this.skip(row, at);
    if (end < 0) throw rowError(`it ends within ${this.signature}`);
    return end;
  }

  skip(row: Uint8Array, at: number): number {
    const end = at + this.width;
    return end <= row.length ? end : -1;
  }
}

/** The start of the span of time that a part is in. */
export class TimeBucketStep extends Step {
  readonly signature: string;
  readonly width: number;
  readonly name: string;
  readonly inverted: boolean;
  readonly span: number;

  constructor(
    readonly element: TimeBucketElement,
    /** Whether the part stands in the key whole as well. */
    readonly derived: boolean,
  ) {
    super();
    this.name = element.parts[0];
    this.span = element.width;
    this.inverted = element.descending;
    this.width = element.unit === 's' ? 4 : 8;
    const text = `timeBucket(${element.width}ms,${element.unit},${this.name})`;
    this.signature = element.descending ? `desc(${text})` : text;
  }

  /** The start of the span that `ms` is in. */
  startOf(ms: number): number {
    return Math.floor(ms / this.span) * this.span;
  }

  /** Milliseconds of a value of the part. @throws KeyError. */
  timeOf(value: unknown): number {
    const ms = value instanceof Date ? value.getTime() : Number.NaN;
    if (Number.isNaN(ms)) {
      throw new KeyError(
        `Key part "${this.name}": timeBucket cannot hold ${describeValue(value)}: it must be a valid Date.`,
        {
          details: { property: this.name },
        },
      );
    }
    return ms;
  }

  /** The starts of the first and the last span that hold times of a range; undefined where it is open. */
  bucketsOf({ lower, upper }: ValueRange): readonly [number | undefined, number | undefined] {
    return [
      lower && this.startOf(this.timeOf(lower.value) + (lower.inclusive ? 0 : 1)),
      upper && this.startOf(this.timeOf(upper.value) - (upper.inclusive ? 0 : 1)),
    ];
  }

  encode(values: KeyValues, out: KeyWriter): void {
    this.writeStart(this.startOf(this.timeOf(requireValue(values, this.name))), out);
  }

  /** Appends the bucket that starts at `start` ms. */
  writeStart(start: number, out: KeyWriter): void {
    const from = out.length;
    if (this.width === 8) {
      writeSafe(start, 0x80, out);
    } else {
      const seconds = start / 1000;
      if (seconds < 0 || seconds > 0xffffffff) {
        throw new KeyError(
          `Key part "${this.name}": ${new Date(start).toISOString()} is outside of the 4 bytes of seconds (1970 to 2106). Use unit "ms".`,
          { details: { property: this.name } },
        );
      }
      out.ensure(4);
      putInteger(out.buffer, out.length, 4, seconds);
      out.length += 4;
    }
    if (this.inverted) out.invert(from);
  }

  /** The start in ms of the bucket at byte `at` of a row. */
  startAt(row: Uint8Array, at: number): number {
    const own = copyBytes(row, at, at + this.width);
    if (this.inverted) for (let i = 0; i < own.length; i++) own[i] = ~own[i]!;
    return this.width === 8 ? readSafe(own, 0, 0x80) : getInteger(own, 0, 4) * 1000;
  }

  decode(row: Uint8Array, at: number): number {
    const end = this.skip(row, at);
    if (end < 0) throw rowError(`it ends within ${this.signature}`);
    return end;
  }

  skip(row: Uint8Array, at: number): number {
    const end = at + this.width;
    return end <= row.length ? end : -1;
  }
}

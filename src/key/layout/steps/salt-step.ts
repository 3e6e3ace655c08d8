import { concatBytes, equalBytes, toHex } from '../../../bytes/index.js';
import { KeyError } from '../../../errors.js';
import { describe } from '../../../table/checks.js';
import { KeyWriter } from '../../codecs/index.js';
import { murmur3, phoenixSalt } from '../../digest.js';
import type { BucketElement, SaltElement } from '../../elements.js';
import type { SplitOptions } from '../../types.js';
import { type KeyValues, requireValue, rowError } from '../conditions.js';
import { precedesOpenPart, type SplitBehind, Step, type StepFormat, type StepWalk } from '../step.js';

/** A step whose bytes are one of a known set of strings of equal length. A query can cover each of them. */
abstract class SpreadStep extends Step {
  abstract override readonly width: number;
  readonly derived = true;
  /** The possible bytes, in byte order. */
  abstract readonly choices: readonly Uint8Array[];

  /** The one choice that the values of a walk determine, or undefined. */
  protected abstract chosen(walk: StepWalk): Uint8Array | undefined;

  pass(walk: StepWalk): boolean {
    const bytes = this.chosen(walk);
    return bytes === undefined ? walk.fanOutOver(this.choices, this.signature) : walk.appendDerived(bytes);
  }

  override disorders(later: readonly Step[], isKnown: (name: string) => boolean): boolean {
    return precedesOpenPart(later, isKnown);
  }

  /**
   * Splits between the choices, and also within each if there are more regions than choices and the following steps can
   * be split.
   */
  override splits(
    prefix: Uint8Array,
    regions: number,
    behind: SplitBehind,
    _options: SplitOptions,
  ): Uint8Array[] {
    const { choices } = this;
    const count = choices.length;
    const keys: Uint8Array[] = [];
    if (regions <= count) {
      for (let i = 1; i < regions; i++) {
        keys.push(concatBytes(prefix, choices[Math.ceil((i * count) / regions)]!));
      }
      return keys;
    }
    choices.forEach((choice, i) => {
      const start = concatBytes(prefix, choice);
      if (i > 0) keys.push(start);
      const share = Math.floor(((i + 1) * regions) / count) - Math.floor((i * regions) / count);
      keys.push(...behind(start, share));
    });
    return keys;
  }
}

/** A salt: computed from other parts of the key, or random. */
export class SaltStep extends SpreadStep {
  readonly signature: string;
  readonly width: number;
  readonly choices: readonly Uint8Array[];
  override readonly deterministic: boolean;
  override readonly patches = true;
  private readonly prefixes: readonly Uint8Array[] | undefined;
  private readonly gathered = new KeyWriter(64);

  constructor(
    private readonly element: SaltElement,
    /** The index of this step in the layout. */
    private readonly index: number,
    /** First and last step of each range of bytes that is hashed; undefined for all bytes after the salt. */
    private readonly runs: readonly (readonly [number, number])[] | undefined,
    /** The parts in those ranges. */
    private readonly salted: readonly string[],
    private readonly random: () => number,
  ) {
    super();
    const { buckets, prefixes, over, algorithm, assign } = element;
    this.prefixes = prefixes;
    this.deterministic = assign !== 'random';
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

  get format(): StepFormat {
    const { element, prefixes, runs, deterministic } = this;
    return { kind: 'salt', buckets: element.buckets, prefixes, runs, random: !deterministic };
  }

  encode(_values: KeyValues, out: KeyWriter): void {
    out.ensure(this.width);
    out.length += this.width;
  }

  override isConstant(isFixed: (part: string) => boolean): boolean {
    return this.deterministic && this.runs !== undefined && this.salted.every(isFixed);
  }

  override patch(out: KeyWriter, ends: Int32Array): void {
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

  protected chosen(walk: StepWalk): Uint8Array | undefined {
    if (!this.deterministic) return undefined;
    if (this.runs === undefined) return walk.bytesOfWholeKey(this.width);
    const { gathered } = this;
    gathered.length = 0;
    for (const [first, last] of this.runs) {
      for (let i = first; i <= last; i++) if (!walk.writeStep(i, gathered)) return undefined;
    }
    const choice = this.choiceOf(gathered);
    return this.prefixes?.[choice] ?? Uint8Array.of(choice);
  }

  decode(row: Uint8Array, at: number): number {
    const end = this.skip(row, at);
    if (end < 0) throw rowError(`it has no salt of ${this.signature} at byte ${at}`);
    return end;
  }

  skip(row: Uint8Array, at: number): number {
    const end = at + this.width;
    if (end > row.length) return -1;
    if (this.prefixes === undefined) return row[at]! < this.element.buckets ? end : -1;
    return this.prefixes.some((prefix) => equalBytes(prefix, row.subarray(at, end))) ? end : -1;
  }
}

/** Computes `value mod n`, 0..n-1, of an integer, a bigint or the ms of a Date. @throws KeyError. */
export function modulo(name: string, value: unknown, n: number): number | bigint {
  const number = value instanceof Date ? value.getTime() : value;
  if (typeof number === 'bigint') return ((number % BigInt(n)) + BigInt(n)) % BigInt(n);
  if (typeof number === 'number' && Number.isSafeInteger(number)) return ((number % n) + n) % n;
  throw new KeyError(
    `Key part "${name}": ${describe(value)} has no modulo. bucket() works with whole numbers, bigints and Dates; use salt() for others.`,
    { details: { property: name } },
  );
}

/** A numeric part modulo a number. */
export class BucketStep extends SpreadStep {
  readonly signature: string;
  readonly width = 1;
  readonly choices: readonly Uint8Array[];

  constructor(private readonly element: BucketElement) {
    super();
    this.signature = `bucket(${element.buckets},${element.of})`;
    this.choices = Array.from({ length: element.buckets }, (_, i) => Uint8Array.of(i));
  }

  get format(): StepFormat {
    return { kind: 'bucket', part: this.element.of, buckets: this.element.buckets };
  }

  override isConstant(isFixed: (part: string) => boolean): boolean {
    return isFixed(this.element.of);
  }

  encode(values: KeyValues, out: KeyWriter): void {
    const { of, buckets } = this.element;
    out.push(Number(modulo(of, requireValue(values, of), buckets)));
  }

  protected chosen(walk: StepWalk): Uint8Array | undefined {
    return walk.has(this.element.of) ? walk.bytesOf(this) : undefined;
  }

  decode(row: Uint8Array, at: number): number {
    const end = this.skip(row, at);
    if (end < 0) throw rowError(`it has no bucket of ${this.signature} at byte ${at}`);
    return end;
  }

  skip(row: Uint8Array, at: number): number {
    return at < row.length && row[at]! < this.element.buckets ? at + 1 : -1;
  }
}

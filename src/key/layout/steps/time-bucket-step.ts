import { copyBytes } from '../../../bytes/index.js';
import { KeyError } from '../../../errors.js';
import { describe } from '../../../table/checks.js';
import { getInteger, KeyWriter, putInteger } from '../../codecs/base.js';
import { readSafe, writeSafe } from '../../codecs/integers.js';
import type { TimeBucketElement } from '../../elements.js';
import type { SplitOptions } from '../../types.js';
import {
  type KeyValues,
  type OrderedConditions,
  queryError,
  requireValue,
  type SpanCondition,
} from '../conditions.js';
import type { RelativeRange } from '../ranges.js';
import { betweenSplits } from '../split-cuts.js';
import {
  OpaqueStep,
  precedesOpenPart,
  type SplitBehind,
  type Step,
  type StepFormat,
  type StepTest,
  type StepWalk,
} from '../step.js';
import { encodedTest } from './hash-step.js';

type RangeCondition = Extract<SpanCondition, { kind: 'range' }>;

/** A range of more time buckets than this is scanned as one range. */
const MAX_BUCKETS = 1024;

/** The start of the time span that contains a part's time. */
export class TimeBucketStep extends OpaqueStep {
  readonly signature: string;
  readonly width: number;
  override readonly names: readonly string[];
  private readonly name: string;
  private readonly inverted: boolean;
  private readonly span: number;
  private readonly scratch = new KeyWriter(8);

  constructor(
    element: TimeBucketElement,
    /** Whether the key also holds the part whole, or in a finer bucket. */
    readonly derived: boolean,
    /** Whether the part's own bytes decrease as its values increase; undefined if the key does not hold it whole. */
    private readonly partReversed: boolean | undefined,
  ) {
    super();
    this.name = element.parts[0];
    this.names = element.parts;
    this.span = element.width;
    this.inverted = element.descending;
    this.width = element.unit === 's' ? 4 : 8;
    const text = `timeBucket(${element.width}ms,${element.unit},${this.name})`;
    this.signature = element.descending ? `desc(${text})` : text;
  }

  get format(): StepFormat {
    const { name, span, width, inverted } = this;
    return { kind: 'timeBucket', name, span, width, inverted };
  }

  private startOf(ms: number): number {
    return Math.floor(ms / this.span) * this.span;
  }

  /** The ms of a value of the part. @throws KeyError. */
  private timeOf(value: unknown): number {
    const ms = value instanceof Date ? value.getTime() : Number.NaN;
    if (Number.isNaN(ms)) {
      throw new KeyError(
        `Key part "${this.name}": timeBucket cannot hold ${describe(value)}: it must be a valid Date.`,
        { details: { property: this.name } },
      );
    }
    return ms;
  }

  /**
   * The starts of the first and last span with times of a range; undefined where the range is open. For a range without
   * any time (two exclusive bounds), the last precedes the first.
   */
  private bucketsOf({ lower, upper }: RangeCondition): readonly [number | undefined, number | undefined] {
    const first = lower && this.timeOf(lower.value) + (lower.inclusive ? 0 : 1);
    const last = upper && this.timeOf(upper.value) - (upper.inclusive ? 0 : 1);
    const start = first === undefined ? undefined : this.startOf(first);
    if (start !== undefined && last !== undefined && first! > last) return [start, start - this.span];
    return [start, last === undefined ? undefined : this.startOf(last)];
  }

  encode(values: KeyValues, out: KeyWriter): void {
    this.writeStart(this.startOf(this.timeOf(requireValue(values, this.name))), out);
  }

  /** Appends the bucket that starts at `start` ms. */
  private writeStart(start: number, out: KeyWriter): void {
    const from = out.length;
    if (this.width === 8) {
      writeSafe(start, 0x80, out);
    } else {
      const seconds = start / 1000;
      if (seconds < 0 || seconds > 0xffffffff) {
        throw new KeyError(
          `Key part "${this.name}": ${new Date(start).toISOString()} is out of range for 4 bytes of seconds (1970 to 2106). Use unit "ms".`,
          { details: { property: this.name } },
        );
      }
      out.ensure(4);
      putInteger(out.buffer, out.length, 4, seconds);
      out.length += 4;
    }
    if (this.inverted) out.invert(from);
  }

  private bucketBytes(start: number): Uint8Array {
    const { scratch } = this;
    scratch.length = 0;
    this.writeStart(start, scratch);
    return scratch.copy();
  }

  /** The start in ms of the bucket at byte `at` of a row. */
  private startAt(row: Uint8Array, at: number): number {
    const own = copyBytes(row, at, at + this.width);
    if (this.inverted) for (let i = 0; i < own.length; i++) own[i] = ~own[i]!;
    return this.width === 8 ? readSafe(own, 0, 0x80) : getInteger(own, 0, 4) * 1000;
  }

  override spanStart(row: Uint8Array, at: number, part: string, width: number): number | undefined {
    return this.name === part && this.span === width ? this.startAt(row, at) : undefined;
  }

  pass(walk: StepWalk): boolean {
    const { name } = this;
    if (walk.has(name)) {
      const bytes = walk.bytesOf(this);
      return this.derived ? walk.appendDerived(bytes) : walk.appendParts(this.names, bytes);
    }
    if (walk.span?.name !== name) return walk.stop();
    const { condition } = walk.span;
    if (condition.kind !== 'range') {
      throw queryError(name, `is a time, which does not support ${condition.kind}. Use a range or equality`);
    }
    return this.passRange(walk, condition);
  }

  private passRange(walk: StepWalk, condition: RangeCondition): boolean {
    const [lower, upper] = this.bucketsOf(condition);
    if (this.derived && lower !== undefined && upper !== undefined && walk.leadsToSpan()) {
      const count = (upper - lower) / this.span + 1;
      if (count <= MAX_BUCKETS) {
        const starts = Array.from({ length: Math.max(0, count) }, (_, i) => lower + i * this.span);
        return walk.appendEach(
          starts.map((start) => this.bucketBytes(start)),
          this.partReversed === this.inverted,
          this.signature,
        );
      }
    }
    const [first, last] = this.inverted ? [upper, lower] : [lower, upper];
    const range: RelativeRange = {
      start: first === undefined ? undefined : this.bucketBytes(first),
      startAt: 'before',
      stop: last === undefined ? undefined : this.bucketBytes(last),
      stopAt: 'behindPrefix',
    };
    return walk.stopAt(this.derived ? [] : this.names, {
      ranges: [range],
      exact: true,
      ordered: !this.derived,
      narrow: true,
    });
  }

  /** Whether the range contains every time of the buckets that it touches. */
  isAligned({ lower, upper }: RangeCondition): boolean {
    const aligned = (ms: number) => ms % this.span === 0;
    return (
      (lower === undefined || aligned(this.timeOf(lower.value) + (lower.inclusive ? 0 : 1))) &&
      (upper === undefined || aligned(this.timeOf(upper.value) + (upper.inclusive ? 1 : 0)))
    );
  }

  override decides(condition: SpanCondition): boolean {
    return condition.kind === 'range' && this.isAligned(condition);
  }

  override disorders(later: readonly Step[], isKnown: (name: string) => boolean): boolean {
    return this.derived && !isKnown(this.name) && precedesOpenPart(later, isKnown);
  }

  override testOf(asked: OrderedConditions): StepTest | undefined {
    if (this.derived) return undefined;
    return asked.span?.name === this.name ? this.rangeTest(asked.span.condition) : encodedTest(this, asked);
  }

  private rangeTest(condition: SpanCondition): StepTest | undefined {
    if (condition.kind !== 'range') return undefined;
    const [first, last] = this.bucketsOf(condition);
    return (row, start) => {
      const ms = this.startAt(row, start);
      return (first === undefined || ms >= first) && (last === undefined || ms <= last);
    };
  }

  override splits(
    prefix: Uint8Array,
    regions: number,
    _behind: SplitBehind,
    options: SplitOptions,
  ): Uint8Array[] {
    return betweenSplits(prefix, regions, options, (value, out) => this.encode({ [this.name]: value }, out));
  }
}

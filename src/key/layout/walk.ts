/** One combination of fixed values, and one range at most, walked through the steps of a layout: prefixes, then ranges. */

import { concatBytes, EMPTY_BYTES } from '../../bytes/index.js';
import { KeyWriter } from '../codecs/index.js';
import { IdCodec } from '../codecs/transforms.js';
import type { KeyRange } from '../types.js';
import { MAX_RANGES, type OrderedConditions, queryError, tooMany } from './conditions.js';
import {
  BucketStep,
  ConstStep,
  HashStep,
  type SaltStep,
  SpreadStep,
  TimeBucketStep,
} from './derived-steps.js';
import { FieldStep } from './field-step.js';
import type { CompiledLayout } from './layout.js';
import { absoluteRange, EVERYTHING, fieldBytes, fieldRanges, type RelativeRange } from './ranges.js';
import type { KeyValues, Step } from './step.js';

type Span = NonNullable<OrderedConditions['span']>;

/** Where a derived step lies in the keys of a walk. */
export interface DerivedMark {
  readonly index: number;
  /** Where its bytes end. */
  readonly end: number;
}

/** How many buckets of time a range is cut into before it is scanned as one. */
const MAX_BUCKETS = 1024;

/** What is written into it is taken out before anything else is written. */
const out = new KeyWriter();

export class Walk {
  prefixes: Uint8Array[] = [EMPTY_BYTES];
  /** Set when the walk stopped before the last step: the rest is a range behind each prefix. */
  stopped: readonly RelativeRange[] | undefined;
  /** The step at which it stopped, or the number of steps. */
  stopIndex = 0;
  /** Whether all rows of the ranges meet every condition. */
  exact = true;
  /** Whether the rows of one prefix come in the order of the key's parts. */
  ordered = true;
  /** Whether anything but the fan-out narrows the table. */
  narrowed = false;
  fanOut = 1;
  /** Buckets of time that were asked for one by one; 1 when none were. */
  timeBuckets = 1;
  /** Derived steps that were passed. */
  readonly derived: DerivedMark[] = [];
  /** Parts of which only the time bucket could be asked for. */
  readonly inexactParts: string[] = [];
  private readonly applied = new Set<string>();

  constructor(
    private readonly layout: CompiledLayout,
    private readonly values: KeyValues,
    private readonly span: Span | undefined,
  ) {
    const { steps } = layout;
    while (this.stopIndex < steps.length && this.pass(steps[this.stopIndex]!)) this.stopIndex++;
    if (this.stopped !== undefined) this.finish();
  }

  /** The rows, one interval a prefix; points when the walk reached the end. */
  ranges(): KeyRange[] {
    const relative = this.stopped;
    if (relative === undefined) {
      return this.prefixes.map((row) => ({ start: row, stop: concatBytes(row, ZERO) }));
    }
    const ranges: KeyRange[] = [];
    for (const prefix of this.prefixes) {
      for (const one of relative) {
        const range = absoluteRange(prefix, one);
        if (range !== undefined) ranges.push(range);
      }
    }
    return ranges;
  }

  /** Goes over one step; false when the walk stops there. */
  private pass(step: Step): boolean {
    if (step instanceof FieldStep) return this.passField(step);
    if (step instanceof ConstStep) return this.append(step.bytes);
    if (step instanceof SpreadStep) return this.passSpread(step);
    if (step instanceof HashStep) return this.passHash(step);
    return this.passBucket(step as TimeBucketStep);
  }

  private append(bytes: Uint8Array): boolean {
    this.prefixes = this.prefixes.map((prefix) => concatBytes(prefix, bytes));
    this.narrowed = true;
    return true;
  }

  private passField(field: FieldStep): boolean {
    const { name } = field;
    if (Object.hasOwn(this.values, name)) {
      this.applied.add(name);
      return this.append(fieldBytes(field, this.values[name]));
    }
    if (this.span?.name !== name) return this.stop();
    if (field.codec instanceof IdCodec) {
      throw queryError(name, 'stands in the row key as an id in no order: equality finds it, a range cannot');
    }
    const found = fieldRanges(field, this.span.condition);
    this.applied.add(name);
    this.narrowed ||= found.narrow;
    this.exact = found.exact;
    this.ordered = found.ordered;
    return this.stop(found.ranges);
  }

  private passSpread(step: SpreadStep): boolean {
    const bytes = this.chosen(step);
    if (bytes !== undefined) {
      this.prefixes = this.prefixes.map((prefix) => concatBytes(prefix, bytes));
    } else {
      this.fanOut *= step.choices.length;
      this.spread(step.choices, step.signature);
    }
    this.mark();
    return true;
  }

  /** The one choice of a salt or bucket that the values lead to, or undefined. */
  private chosen(step: SpreadStep): Uint8Array | undefined {
    const { values } = this;
    out.length = 0;
    if (step instanceof BucketStep) {
      if (!Object.hasOwn(values, step.element.of)) return undefined;
      step.encode(values, out);
      return out.copy();
    }
    const salt = step as SaltStep;
    if (salt.element.assign === 'random') return undefined;
    if (salt.runs === undefined) return this.saltOfWholeKey(salt);
    for (const [first, last] of salt.runs) {
      for (let i = first; i <= last; i++) {
        const over = this.layout.steps[i]!;
        if (!namesOf(over).every((name) => Object.hasOwn(values, name))) return undefined;
        over.encode(values, out);
      }
    }
    return salt.saltOf(out);
  }

  /** Phoenix's salt needs every part. */
  private saltOfWholeKey(salt: SaltStep): Uint8Array | undefined {
    const { layout, values } = this;
    if (!layout.deterministic || !layout.parts.every(({ name }) => Object.hasOwn(values, name)))
      return undefined;
    const at = this.prefixes[0]!.length;
    return layout.encode(values).slice(at, at + salt.width);
  }

  private passHash(step: HashStep): boolean {
    const names = namesOf(step);
    if (names.every((name) => Object.hasOwn(this.values, name))) {
      if (step.derived) this.markBehind(step);
      else for (const name of names) this.applied.add(name);
      return this.appendStep(step);
    }
    if (!step.derived && this.span !== undefined && names.includes(this.span.name)) {
      throw queryError(
        this.span.name,
        'stands in the row key as a digest only: equality finds it, a range cannot',
      );
    }
    this.ordered = false;
    return this.stop();
  }

  private passBucket(step: TimeBucketStep): boolean {
    const { name } = step;
    if (Object.hasOwn(this.values, name)) {
      if (step.derived) this.markBehind(step);
      else this.applied.add(name);
      return this.appendStep(step);
    }
    if (this.span?.name !== name) {
      this.ordered &&= !step.derived;
      return this.stop();
    }
    if (this.span.condition.kind !== 'range') {
      throw queryError(name, `is a time: it knows no ${this.span.condition.kind}. Use a range or equality`);
    }
    return this.passBucketRange(step, this.span.condition);
  }

  private passBucketRange(
    step: TimeBucketStep,
    condition: Extract<Span['condition'], { kind: 'range' }>,
  ): boolean {
    const [lower, upper] = step.bucketsOf({ lower: condition.lower, upper: condition.upper });
    if (step.derived && lower !== undefined && upper !== undefined && this.leadsToSpan()) {
      const count = (upper - lower) / step.span + 1;
      if (count >= 0 && count <= MAX_BUCKETS) {
        this.spread(
          Array.from({ length: Math.max(0, count) }, (_, i) => this.bucketBytes(step, lower + i * step.span)),
          step.signature,
        );
        this.timeBuckets = count;
        this.narrowed = true;
        this.mark();
        return true;
      }
    }
    if (!step.derived) {
      this.applied.add(step.name);
      if (!isAligned(step, condition)) this.inexactParts.push(step.name);
    } else {
      this.ordered = false;
    }
    this.narrowed = true;
    const [first, last] = step.inverted ? [upper, lower] : [lower, upper];
    const range: RelativeRange = {
      start: first === undefined ? undefined : this.bucketBytes(step, first),
      startAt: 'before',
      stop: last === undefined ? undefined : this.bucketBytes(step, last),
      stopAt: 'behindPrefix',
    };
    return this.stop([range]);
  }

  private bucketBytes(step: TimeBucketStep, start: number): Uint8Array {
    out.length = 0;
    step.writeStart(start, out);
    return out.copy();
  }

  /** Whether every step from here to the range's own part has its value. */
  private leadsToSpan(): boolean {
    for (const step of this.layout.steps.slice(this.stopIndex + 1)) {
      if (step instanceof FieldStep && step.name === this.span?.name) return true;
      if (!namesOf(step).every((name) => Object.hasOwn(this.values, name)) || step instanceof SpreadStep)
        return false;
    }
    return false;
  }

  private appendStep(step: Step): boolean {
    out.length = 0;
    step.encode(this.values, out);
    return this.append(out.copy());
  }

  private spread(choices: readonly Uint8Array[], signature: string): void {
    if (this.prefixes.length * choices.length > MAX_RANGES) throw tooMany(signature);
    this.prefixes = this.prefixes.flatMap((prefix) => choices.map((choice) => concatBytes(prefix, choice)));
  }

  private mark(): void {
    this.derived.push({ index: this.stopIndex, end: this.prefixes[0]?.length ?? 0 });
  }

  /** As `mark`, before the step's bytes are appended. */
  private markBehind(step: Step): void {
    this.derived.push({ index: this.stopIndex, end: (this.prefixes[0]?.length ?? 0) + (step.width ?? 0) });
  }

  private stop(ranges: readonly RelativeRange[] = [EVERYTHING]): boolean {
    this.stopped = ranges;
    return false;
  }

  /** What the steps behind the stop leave open. */
  private finish(): void {
    const rest = this.layout.steps.slice(this.stopIndex);
    const asked = [...Object.keys(this.values), ...(this.span === undefined ? [] : [this.span.name])];
    if (asked.some((name) => !this.applied.has(name))) this.exact = false;
    if (rest.some((step) => step instanceof ConstStep)) this.exact = false;
    const open = this.values;
    rest.forEach((step, i) => {
      if (step instanceof FieldStep && !step.codec.ordered && !Object.hasOwn(open, step.name)) {
        if (i > 0 || this.span?.name !== step.name) this.ordered = false;
      }
      if (step instanceof HashStep) this.ordered = false;
      const derived = step instanceof SpreadStep || (step instanceof TimeBucketStep && step.derived);
      if (derived && rest.slice(i + 1).some((later) => later instanceof FieldStep)) this.ordered = false;
    });
  }
}

const ZERO = Uint8Array.of(0);

/** The parts that a step's bytes are made of. */
export function namesOf(step: Step): readonly string[] {
  if (step instanceof FieldStep || step instanceof TimeBucketStep) return [step.name];
  return step instanceof HashStep ? step.sources.map(({ name }) => name) : [];
}

function isAligned(
  step: TimeBucketStep,
  { lower, upper }: Extract<Span['condition'], { kind: 'range' }>,
): boolean {
  const aligned = (value: unknown) => step.timeOf(value) % step.span === 0;
  return (
    (lower === undefined || (lower.inclusive && aligned(lower.value))) &&
    (upper === undefined || (!upper.inclusive && aligned(upper.value)))
  );
}

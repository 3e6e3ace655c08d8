/** Where to split a table, told from the layout of its keys, or from samples. */

import { compareBytes, concatBytes, EMPTY_BYTES, fromLatin1 } from '../../bytes/index.js';
import { InvalidArgumentError } from '../../errors.js';
import { KeyWriter } from '../codecs/index.js';
import type { SplitOptions } from '../types.js';
import { ConstStep, HashStep, SpreadStep, TimeBucketStep } from './derived-steps.js';
import { FieldStep } from './field-step.js';
import type { CompiledLayout } from './layout.js';
import type { Step } from './step.js';

/** Split keys of HBase's `UniformSplit` have this many bytes. */
const UNIFORM_BYTES = 8;

/** See `KeyLayout.splitPoints`. */
export function splitPoints(layout: CompiledLayout, regions: number, options: SplitOptions): Uint8Array[] {
  if (!Number.isInteger(regions) || regions < 1) {
    throw new InvalidArgumentError(`The number of regions must be a whole number from 1 on, not ${regions}.`);
  }
  if (options.samples !== undefined) return quantiles(options.samples, regions);
  return split(layout.steps, 0, EMPTY_BYTES, regions, options);
}

/** Splits what lies behind `prefix`, from step `index` on; the prefix itself is no split. */
function split(
  steps: readonly Step[],
  index: number,
  prefix: Uint8Array,
  regions: number,
  options: SplitOptions,
): Uint8Array[] {
  const step = steps[index];
  if (regions < 2 || step === undefined) return [];
  if (step instanceof ConstStep)
    return split(steps, index + 1, concatBytes(prefix, step.bytes), regions, options);
  if (step instanceof SpreadStep) return spreadSplits(steps, index, step, prefix, regions, options);
  return leadSplits(step, regions, options).map((key) => concatBytes(prefix, key));
}

/** Between salts, and within each salt when there are more regions than salts and what follows can be split. */
function spreadSplits(
  steps: readonly Step[],
  index: number,
  step: SpreadStep,
  prefix: Uint8Array,
  regions: number,
  options: SplitOptions,
): Uint8Array[] {
  const { choices } = step;
  const count = choices.length;
  const keys: Uint8Array[] = [];
  if (regions <= count) {
    for (let i = 1; i < regions; i++)
      keys.push(concatBytes(prefix, choices[Math.ceil((i * count) / regions)]!));
    return keys;
  }
  choices.forEach((choice, i) => {
    const start = concatBytes(prefix, choice);
    if (i > 0) keys.push(start);
    const share = Math.floor(((i + 1) * regions) / count) - Math.floor((i * regions) / count);
    keys.push(...split(steps, index + 1, start, share, options));
  });
  return keys;
}

/** Splits of the leading part: its bytes where they are uniform, else between two values when they are given. */
function leadSplits(step: Step, regions: number, options: SplitOptions): Uint8Array[] {
  if (step instanceof HashStep) {
    const { encoding, bytes } = step.element;
    return encoding === 'hex' ? textSplits(16, 2 * bytes, regions) : uniformSplits(bytes, regions);
  }
  if (step instanceof FieldStep) {
    if (step.codec.uniform === 'bytes')
      return uniformSplits(step.codec.fixedLength ?? UNIFORM_BYTES, regions);
    if (step.codec.uniform === 'digits') return textSplits(10, step.width!, regions);
  }
  return options.between === undefined ? [] : betweenSplits(step, options.between, regions);
}

/** Equal steps over all byte strings, as HBase's `UniformSplit` (8 bytes) does; fewer bytes when there are only those. */
function uniformSplits(width: number, regions: number): Uint8Array[] {
  const bytes = Math.min(width, UNIFORM_BYTES);
  return cuts(0n, 256n ** BigInt(bytes), regions).map((value) => bigBytes(value, bytes));
}

/** Equal steps over numbers of `width` digits, as HBase's `HexStringSplit` and `DecimalStringSplit` (8 digits) do. */
function textSplits(radix: number, width: number, regions: number): Uint8Array[] {
  const digits = Math.min(width, UNIFORM_BYTES);
  return cuts(0n, BigInt(radix) ** BigInt(digits), regions).map((value) =>
    fromLatin1(value.toString(radix).padStart(digits, '0')),
  );
}

/** Equal steps between the bytes of the first and the last value. */
function betweenSplits(step: Step, between: readonly [unknown, unknown], regions: number): Uint8Array[] {
  const [a, b] = between.map((value) => stepBytes(step, value));
  if (a === undefined || b === undefined) return [];
  const [low, high] = compareBytes(a, b) <= 0 ? [a, b] : [b, a];
  const width = Math.max(low.length, high.length);
  return cuts(bigOf(low, width), bigOf(high, width), regions).map((value) => bigBytes(value, width));
}

function stepBytes(step: Step, value: unknown): Uint8Array | undefined {
  const out = new KeyWriter();
  if (step instanceof FieldStep) step.write(value, out);
  else if (step instanceof TimeBucketStep) step.encode({ [step.name]: value }, out);
  else return undefined;
  return out.copy();
}

function bigOf(bytes: Uint8Array, width: number): bigint {
  let value = 0n;
  for (let i = 0; i < width; i++) value = value * 256n + BigInt(bytes[i] ?? 0);
  return value;
}

function bigBytes(value: bigint, width: number): Uint8Array {
  const out = new Uint8Array(width);
  let rest = value;
  for (let i = width - 1; i >= 0; i--, rest >>= 8n) out[i] = Number(rest & 0xffn);
  return out;
}

/** Values that cut [first, last) into `regions` equal pieces; fewer when there are fewer values than regions. */
function cuts(first: bigint, last: bigint, regions: number): bigint[] {
  const span = last - first;
  const count = span < BigInt(regions) ? Number(span) : regions;
  const step = count === 0 ? 0n : span / BigInt(count);
  const values: bigint[] = [];
  for (let i = 1n; i < BigInt(count); i++) values.push(first + step * i);
  return values;
}

/** Rows of the sample that cut it into equal shares. */
function quantiles(samples: readonly Uint8Array[], regions: number): Uint8Array[] {
  const sorted = [...samples].sort(compareBytes);
  const keys: Uint8Array[] = [];
  for (let i = 1; i < regions; i++) {
    const key = sorted[Math.floor((i * sorted.length) / regions)];
    const before = keys.at(-1) ?? sorted[0];
    if (key !== undefined && before !== undefined && compareBytes(before, key) < 0) keys.push(key);
  }
  return keys;
}

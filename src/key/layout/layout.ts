import { copySlice, EMPTY_BYTES, toHex } from '../../bytes/index.js';
import { InvalidArgumentError, KeyError } from '../../errors.js';
import { splitKeys } from '../../table/admin.js';
import { baseCodec } from '../codecs/desc.js';
import { type Conversion, KeyWriter, TransformedCodec, text } from '../codecs/index.js';
import { type KeyDictionary, MissingTextError } from '../dictionary/dictionary.js';
import type { LayoutDictionaries } from '../dictionary/layout-dictionaries.js';
import type {
  KeyConditions,
  KeyLayout,
  KeyPart,
  KeyPiece,
  KeyPlan,
  KeySubstitution,
  SplitOptions,
} from '../types.js';
import { type KeyValues, partError } from './conditions.js';
import { type DirectLayout, directLayout, equalPrefix, type SteppedLayout } from './direct-plan.js';
import {
  generateStepsReader,
  generateStepsWriter,
  type StepsReader,
  type StepsWriter,
} from './generated-steps.js';
import { logicalBytes, planKeys } from './planner.js';
import { quantiles } from './split-cuts.js';
import type { Step, StepFormat } from './step.js';

// — Decides whether rows of two layouts can be distinguished, that is, whether no row matches both.

/** The content of a row at one position: one byte, constant or arbitrary, or a value whose end is found by a rule. */
type Piece =
  | { readonly kind: 'byte'; readonly always: number | undefined }
  | { readonly kind: 'value'; readonly ending: string; readonly least: number };

/**
 * Whether it is certain that no row matches both layouts. The proof is a byte that differs at a position found the same
 * way in both, counted from the left or the right, or a different row length. False means only that there is no such
 * proof.
 */
function areApart(left: readonly Step[], right: readonly Step[]): boolean {
  const a = piecesOf(left);
  const b = piecesOf(right);
  return (
    differ(a, b, sameEnding) !== undefined || differ(a.reverse(), b.reverse(), () => false) !== undefined
  );
}

/**
 * Prepares the plans of two layouts of one table. If a byte that is found from the left tells them apart, the ranges of a plan, or the checks
 * that it has anyway, leave out rows of the other layout. If only the length of rows or their last bytes do, rows of one may lie between those
 * of the other: then plans check each row. True in that case.
 */
export function checkRowsBetween(one: KeyLayout, other: KeyLayout): boolean {
  if (!(one instanceof CompiledLayout && other instanceof CompiledLayout)) return false;
  if (differ(piecesOf(one.steps), piecesOf(other.steps), sameEnding) === 'byte') return false;
  one.checkEachRow();
  other.checkEachRow();
  return true;
}

function piecesOf(steps: readonly Step[]): Piece[] {
  return steps.flatMap((step): Piece[] => {
    if (step.width === undefined) return [{ kind: 'value', ...step.ends! }];
    return Array.from({ length: step.width }, (_, i) => ({ kind: 'byte', always: step.constant?.[i] }));
  });
}

function differ(
  a: readonly Piece[],
  b: readonly Piece[],
  together: (a: Piece, b: Piece) => boolean,
): 'byte' | 'length' | undefined {
  const both = Math.min(a.length, b.length);
  for (let i = 0; i < both; i++) {
    const one = a[i]!;
    const other = b[i]!;
    if (one.kind === 'byte' && other.kind === 'byte') {
      if (one.always !== undefined && other.always !== undefined && one.always !== other.always)
        return 'byte';
    } else if (!together(one, other)) {
      return undefined;
    }
  }
  return leastLength(a.slice(both)) + leastLength(b.slice(both)) > 0 ? 'length' : undefined;
}

/** Whether the two values end at the same byte if they begin at the same one. */
function sameEnding(a: Piece, b: Piece): boolean {
  return a.kind === 'value' && b.kind === 'value' && a.ending === b.ending;
}

function leastLength(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, piece) => sum + (piece.kind === 'byte' ? 1 : piece.least), 0);
}

// — Chooses split points: by HBase's own algorithms, from samples, or from the layout of the keys.

/** See `KeyLayout.splitPoints`. */
function splitPoints(steps: readonly Step[], regions: number, options: SplitOptions): Uint8Array[] {
  checkRegions(regions);
  if (options.algorithm !== undefined) return splitKeys(options.algorithm, regions);
  if (options.samples !== undefined) return quantiles(options.samples, regions);
  const split = (index: number, prefix: Uint8Array, share: number): Uint8Array[] => {
    const step = steps[index];
    if (share < 2 || step === undefined) return [];
    return step.splits(prefix, share, (behind, count) => split(index + 1, behind, count), options);
  };
  return split(0, EMPTY_BYTES, regions);
}

function checkRegions(regions: number): void {
  if (Number.isInteger(regions) && regions >= 1) return;
  throw new InvalidArgumentError(
    `The number of regions must be a whole number of at least 1, not ${String(regions)}.`,
  );
}

// — The elements by which keys are ordered.

/** The same text for steps that order the same values alike. */
function orderOfBytes({ field, signature, ordered, ends }: Step, layout: KeyLayout): string {
  // The bytes of salts and digests depend on how the layout stores the other parts.
  if (field === undefined) return `${signature} of ${layout.signature}`;
  return ordered || ends === undefined ? signature : `${signature} ${ends.ending}`;
}

/** The longest row HBase takes (`HConstants.MAX_ROW_LENGTH`). */
const MAX_ROW_LENGTH = 32767;

/** The properties of a layout besides its steps. */
interface LayoutTraits {
  readonly entity: string | undefined;
  readonly substitutions: readonly KeySubstitution[];
  readonly dictionaries: LayoutDictionaries | undefined;
  readonly bind: (dictionary: (name: string) => KeyDictionary) => KeyLayout;
}

/** A compiled row key: encodes and decodes. Planning is in `planner.ts`. */
export class CompiledLayout implements SteppedLayout {
  readonly signature: string;
  readonly deterministic: boolean;
  readonly substitutions: readonly KeySubstitution[];
  readonly dictionaries: LayoutDictionaries | undefined;
  direct: DirectLayout | undefined;
  checksRows = false;
  private readonly writer = new KeyWriter();
  private readonly ends: Int32Array;
  private readonly readSteps: StepsReader;
  private readonly writeSteps: StepsWriter;
  /** Salts, from right to left, since one may be computed over another that follows it. */
  private readonly patched: readonly Step[];

  constructor(
    readonly steps: readonly Step[],
    readonly parts: readonly KeyPart[],
    readonly recordType: number | undefined,
    readonly traits: LayoutTraits,
  ) {
    this.signature = steps.map((step) => step.signature).join(' ');
    this.substitutions = traits.substitutions;
    this.dictionaries = traits.dictionaries;
    this.ends = new Int32Array(steps.length);
    this.direct = directLayout(steps);
    this.readSteps = generateStepsReader(steps);
    this.writeSteps = generateStepsWriter(steps);
    this.patched = steps.filter(({ patches }) => patches).reverse();
    this.deterministic = steps.every((step) => step.deterministic);
    for (const part of parts) Object.freeze(part);
  }

  get stored(): CompiledLayout {
    return this;
  }

  bind(dictionary: (name: string) => KeyDictionary): KeyLayout {
    if (this.substitutions.length === 0) return this;
    const bound = this.traits.bind(dictionary);
    if (this.checksRows && bound instanceof CompiledLayout) bound.checkEachRow();
    return bound;
  }

  encode(values: KeyValues): Uint8Array {
    return this.written(values).copy();
  }

  /** The writer that holds the key's bytes until the next key. */
  written(values: KeyValues): KeyWriter {
    const { writer, ends, patched } = this;
    writer.length = 0;
    try {
      this.writeSteps(values, writer, ends);
    } catch (error) {
      throw this.named(error);
    }
    for (let i = 0; i < patched.length; i++) patched[i]!.patch(writer, ends);
    if (writer.length === 0 || writer.length > MAX_ROW_LENGTH) throw this.lengthError(writer.length);
    return writer;
  }

  private lengthError(length: number): Error {
    const why =
      length === 0
        ? 'The row key is empty, which no table accepts. Give its part a non-empty value.'
        : `The row key has ${length} bytes; a table accepts at most ${MAX_ROW_LENGTH}. Shorten its parts or hash them.`;
    return this.named(new KeyError(why, { details: { layout: this.signature } }));
  }

  /** Adds to the error the entity whose keys these are. */
  protected named<E>(error: E): E | KeyError {
    const { entity } = this.traits;
    if (entity === undefined || !(error instanceof KeyError) || error instanceof MissingTextError)
      return error;
    const said = error.message.replace(/^(?:Key part|The row)\b/, (first) => first.toLowerCase());
    return new KeyError(`${entity}: ${said}`, {
      cause: error.cause,
      details: { entity, ...error.details },
    });
  }

  decode(row: Uint8Array): Record<string, unknown> {
    const target: Record<string, unknown> = {};
    this.decodeInto(row, target);
    return target;
  }

  decodeInto(row: Uint8Array, target: Record<string, unknown>): void {
    let at = 0;
    try {
      at = this.readSteps(row, target);
    } catch (error) {
      throw this.rowError(row, error instanceof Error ? error.message : String(error), error);
    }
    if (at !== row.length) throw this.rowError(row, `${row.length - at} bytes follow its last part`);
  }

  decodeLast(row: Uint8Array): unknown {
    const { steps } = this;
    const last = steps[steps.length - 1]!;
    const target: Record<string, unknown> = {};
    let at = 0;
    for (let i = 0; i < steps.length - 1 && at >= 0; i++) at = steps[i]!.skip(row, at);
    try {
      if (at >= 0) at = last.decode(row, at, target);
    } catch (error) {
      throw this.rowError(row, error instanceof Error ? error.message : String(error), error);
    }
    if (at !== row.length) throw this.rowError(row, 'its parts encode to other bytes');
    return target[last.names[0]!];
  }

  protected rowError(row: Uint8Array, why: string, cause?: unknown): Error {
    if (cause instanceof MissingTextError) return cause;
    const keyHex = toHex(row);
    return new KeyError(
      `The row ${keyHex} does not have the layout "${this.signature}": ${why}. It was written by another layout or program.`,
      { cause, details: { keyHex, layout: this.signature } },
    );
  }

  pieces(row: Uint8Array): KeyPiece[] {
    const pieces: KeyPiece[] = [];
    let start = 0;
    for (const step of this.steps) {
      if (start === row.length) return pieces;
      const end = step.skip(row, start);
      if (end < 0) throw this.rowError(row, `it does not hold ${step.signature} at byte ${start}`);
      pieces.push({ element: step.signature, parts: step.names, start, end, derived: step.derived });
      start = end;
    }
    if (start < row.length) throw this.rowError(row, `${row.length - start} bytes follow its last part`);
    return pieces;
  }

  matches(row: Uint8Array): boolean {
    const { steps } = this;
    let at = 0;
    for (let i = 0; i < steps.length; i++) {
      at = steps[i]!.skip(row, at);
      if (at < 0) return false;
    }
    return at === row.length;
  }

  isApartFrom(other: KeyLayout): boolean {
    return other instanceof CompiledLayout && areApart(this.steps, other.steps);
  }

  /** Has plans check each row of their ranges from now on. */
  checkEachRow(): void {
    this.checksRows = true;
    this.direct = undefined;
  }

  orderingElements(isFixed: (part: string) => boolean): readonly string[] {
    return this.steps.filter((step) => !step.isConstant(isFixed)).map((step) => orderOfBytes(step, this));
  }

  plan(conditions: KeyConditions): KeyPlan {
    try {
      return planKeys(this, conditions);
    } catch (error) {
      throw this.named(error);
    }
  }

  prefixOf(conditions: KeyConditions): Uint8Array | undefined {
    if (this.direct === undefined) return undefined;
    try {
      return equalPrefix(this.direct, conditions);
    } catch (error) {
      throw this.named(error);
    }
  }

  splitPoints(regions: number, options: SplitOptions = {}): Uint8Array[] {
    return splitPoints(this.steps, regions, options);
  }

  logicalBytes(row: Uint8Array): Uint8Array {
    return logicalBytes(this, row);
  }

  bucketStart(row: Uint8Array, part: string, width: number): number {
    let at = 0;
    for (const step of this.steps) {
      const end = step.skip(row, at);
      if (end < 0) throw this.rowError(row, `it does not hold ${step.signature}`);
      const start = step.spanStart(row, at, part, width);
      if (start !== undefined) return start;
      at = end;
    }
    throw this.rowError(row, `it has no bucket of ${width} ms of "${part}"`);
  }
}

/**
 * A layout with parts of transformed codecs: it takes and returns their values. `stored` has the same keys, and takes
 * and returns what is stored. Conditions are on stored values.
 */
export class TransformedLayout extends CompiledLayout {
  private readonly recovered: readonly (readonly [part: string, conversion: Conversion])[];

  constructor(
    private readonly inner: CompiledLayout,
    private readonly conversions: ReadonlyMap<string, Conversion>,
  ) {
    const parts = inner.parts.map((part): KeyPart => {
      const conversion = conversions.get(part.name);
      if (conversion === undefined) return part;
      return { ...part, codec: new TransformedCodec(baseCodec(part.codec), conversion) };
    });
    super(inner.steps, parts, inner.recordType, inner.traits);
    this.recovered = [...conversions].filter(
      ([name]) => parts.find((part) => part.name === name)?.recoverable === true,
    );
  }

  override get stored(): CompiledLayout {
    return this.inner;
  }

  override checkEachRow(): void {
    super.checkEachRow();
    this.inner.checkEachRow();
  }

  override written(values: KeyValues): KeyWriter {
    const stored: Record<string, unknown> = {};
    for (const { name } of this.parts) stored[name] = this.storedPart(name, values[name]);
    return this.inner.written(stored);
  }

  private storedPart(name: string, value: unknown): unknown {
    const conversion = this.conversions.get(name);
    if (conversion === undefined || value === undefined || value === null) return value;
    try {
      return conversion.toStored(value);
    } catch (error) {
      throw this.named(partError(name, value, error));
    }
  }

  override decodeInto(row: Uint8Array, target: Record<string, unknown>): void {
    this.inner.decodeInto(row, target);
    for (const [name, conversion] of this.recovered) {
      target[name] = this.recover(row, conversion, target[name]);
    }
  }

  override decodeLast(row: Uint8Array): unknown {
    const stored = this.inner.decodeLast(row);
    const conversion = this.conversions.get(this.steps.at(-1)!.names[0]!);
    return conversion === undefined || stored === undefined ? stored : this.recover(row, conversion, stored);
  }

  private recover(row: Uint8Array, conversion: Conversion, stored: unknown): unknown {
    try {
      return conversion.fromStored(stored);
    } catch (error) {
      throw this.rowError(row, (error as Error).message, error);
    }
  }

  override plan(conditions: KeyConditions): KeyPlan {
    return this.inner.plan(conditions);
  }

  override prefixOf(conditions: KeyConditions): Uint8Array | undefined {
    return this.inner.prefixOf(conditions);
  }

  override splitPoints(regions: number, options: SplitOptions = {}): Uint8Array[] {
    const [first] = this.parts;
    const between = options.between?.map((value) => this.storedPart(first!.name, value));
    return this.inner.splitPoints(regions, {
      ...options,
      ...(between && { between: between as [unknown, unknown] }),
    });
  }
}

/**
 * Whether keys of the layout hold the part's text exactly as columns do, so that `encode` accepts a `StoredText` for
 * it.
 */
export function takesStoredText(layout: KeyLayout, part: string): boolean {
  if (!(layout instanceof CompiledLayout) || layout.stored !== layout) return false;
  const steps = layout.steps.filter(({ names }) => names.includes(part));
  return steps.length > 0 && steps.every(({ inline }) => inline?.writable === true && inline.codec === text);
}

/** Appends the key that `encode` returns. @throws as `encode`; nothing is appended then. */
export function appendKey(layout: KeyLayout, values: KeyValues, out: KeyWriter): void {
  if (!(layout instanceof CompiledLayout)) {
    out.append(layout.encode(values));
    return;
  }
  const { buffer, length } = layout.written(values);
  out.ensure(length);
  const { buffer: target, length: at } = out;
  if (length > 64) copySlice(buffer, 0, length, target, at);
  else for (let i = 0; i < length; i++) target[at + i] = buffer[i]!;
  out.length = at + length;
}

/** The format of a layout's keys, step by step. Undefined for a layout that is not Rowan's. */
export function keyFormat(layout: KeyLayout): readonly StepFormat[] | undefined {
  return layout instanceof CompiledLayout ? layout.steps.map((step) => step.format) : undefined;
}

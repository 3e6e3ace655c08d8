import type { BaseCodec, KeyWriter } from '../codecs/index.js';
import type { SplitOptions } from '../types.js';
import type { KeyValues, OrderedConditions, SpanCondition } from './conditions.js';
import type { FieldRanges, KeyField } from './ranges.js';

/**
 * The steps that a compiled layout is made of, left to right. Each writes, reads and skips its own bytes, and knows how a
 * search goes over them: nothing else asks what sort of step it is.
 */

/** Whether the bytes of a step, from `start` to `end` of a row, meet what was asked. */
export type StepTest = (row: Uint8Array, start: number, end: number) => boolean;

/** A part whose bytes are its codec's: generated code reads and writes it without asking the step. */
export interface InlinePart {
  readonly name: string;
  readonly codec: BaseCodec<unknown>;
  /** Bytes that end the value. */
  readonly endLength: number;
  /** Whether the codec's bytes are written as they are, but for what `frame` does. */
  readonly writable: boolean;
  readonly framed: boolean;
}

/** Splits of what stands behind a step. */
export type SplitBehind = (prefix: Uint8Array, regions: number) => Uint8Array[];

const NO_NAMES: readonly string[] = Object.freeze([]);

export abstract class Step {
  /** Stands in the layout's signature. */
  abstract readonly signature: string;
  /** Bytes it takes in every key, or undefined when they differ. */
  abstract readonly width: number | undefined;
  /** Whether it says nothing that other steps do not say: it is computed from parts that stand elsewhere whole. */
  abstract readonly derived: boolean;
  /** The parts that its bytes are made of. */
  readonly names: readonly string[] = NO_NAMES;
  /** Whether its bytes are in the order of its parts' values. */
  readonly ordered: boolean = true;
  /** What stands there in every key, if it is always the same. */
  readonly constant: Uint8Array | undefined = undefined;
  readonly isRecordType: boolean = false;
  /** Where `width` is undefined: how its end is found (steps with the same text find it alike), and its least bytes. */
  readonly ends: { readonly ending: string; readonly least: number } | undefined = undefined;
  /** False when equal values can get different bytes. */
  readonly deterministic: boolean = true;
  readonly inline: InlinePart | undefined = undefined;
  /** The part that stands there whole, if one does. */
  readonly field: KeyField | undefined = undefined;
  /** Whether `encode` only makes room: `patch` fills it in when the rest of the key is there. */
  readonly patches: boolean = false;

  /** Appends its bytes. @throws KeyError naming the part. */
  abstract encode(values: KeyValues, out: KeyWriter): void;

  /** Of a step that `patches`: writes its bytes into a key that is there else; `ends` holds where each step ends. */
  patch(_out: KeyWriter, _ends: Int32Array): void {}

  /** Reads its bytes from `at` on into `target`; gives their end. @throws KeyError. */
  abstract decode(row: Uint8Array, at: number, target: Record<string, unknown>): number;

  /** The end of its bytes, which begin at `at`, or -1 when there are none such. */
  abstract skip(row: Uint8Array, at: number): number;

  /** Goes over its bytes in a walk; false where the walk stops. @throws KeyError on what it cannot be asked. */
  abstract pass(walk: StepWalk): boolean;

  /** Whether rows whose bytes differ from here on are out of the order of their parts. `later` stand behind it. */
  disorders(_later: readonly Step[], _isKnown: (name: string) => boolean): boolean {
    return false;
  }

  /** Of a part that cannot be read back: whether its bytes alone decide the condition. */
  decides(_condition: SpanCondition): boolean {
    return false;
  }

  /** A test of its bytes where decoding gives no value to test; undefined when there is nothing to be tested. */
  testOf(_asked: OrderedConditions): StepTest | undefined {
    return undefined;
  }

  /** The start in ms of the span of time that its bytes at `at` stand for; undefined of other steps. */
  spanStart(_row: Uint8Array, _at: number, _part: string, _width: number): number | undefined {
    return undefined;
  }

  /** Where to cut the keys that begin with `prefix` into `regions` shares; the prefix itself is no cut. */
  splits(_prefix: Uint8Array, _regions: number, _behind: SplitBehind, _options: SplitOptions): Uint8Array[] {
    return [];
  }
}

/** Whether a derived step that is open stands before a part that is open, too. */
export function precedesOpenPart(later: readonly Step[], isKnown: (name: string) => boolean): boolean {
  return later.some((step) => !step.derived && step.names.some((name) => !isKnown(name)));
}

/** What writes bytes for values: a step. */
export interface KeyBytes {
  encode(values: KeyValues, out: KeyWriter): void;
}

/**
 * A search as a step meets it: what is asked, and where the step says what follows for its bytes. Each method that goes
 * on or stops gives what `Step.pass` answers.
 */
export interface StepWalk {
  /** The one part that is asked for with a range, if any. */
  readonly span: OrderedConditions['span'];

  /** Whether a part has a single value. */
  has(name: string): boolean;

  /** The bytes that a step has for the values. @throws KeyError. */
  bytesOf(step: KeyBytes): Uint8Array;

  /** Appends the bytes of the step at `index` to `target`; false when a part of it is not given. */
  writeStep(index: number, target: KeyWriter): boolean;

  /** `width` bytes of the whole key from here on; undefined unless every part is given. */
  bytesOfWholeKey(width: number): Uint8Array | undefined;

  /** Whether every step from behind here to the range's own part has its value. */
  leadsToSpan(): boolean;

  /** Appends what every key has here. */
  append(bytes: Uint8Array): boolean;

  /** As `append`, of the record type. */
  appendType(bytes: Uint8Array): boolean;

  /** Appends the bytes of parts that are given. */
  appendParts(names: readonly string[], bytes: Uint8Array): boolean;

  /** Appends what follows from parts that are given. */
  appendDerived(bytes: Uint8Array): boolean;

  /** Goes on behind each of the choices, one of which every row has. @throws KeyError when there are too many ranges. */
  fanOutOver(choices: readonly Uint8Array[], signature: string): boolean;

  /** Goes on behind each of the choices; the others hold no row that is meant. @throws KeyError as `fanOutOver`. */
  appendEach(choices: readonly Uint8Array[], inOrder: boolean, signature: string): boolean;

  /** Stops before a step of which nothing is known. */
  stop(): boolean;

  /** Stops within a step, at ranges of its bytes that stand for conditions on these parts. */
  stopAt(names: readonly string[], found: FieldRanges): boolean;
}

import type { BaseCodec, KeyWriter } from '../codecs/index.js';
import type { HashAlgorithm } from '../elements.js';
import type { SplitOptions } from '../types.js';
import { type KeyValues, type OrderedConditions, rowError, type SpanCondition } from './conditions.js';
import type { FieldRanges, KeyField } from './ranges.js';

/** Whether a step's bytes, from `start` to `end` of a row, satisfy the conditions. */
export type StepTest = (row: Uint8Array, start: number, end: number) => boolean;

/** A part stored as its codec writes it: generated code reads and writes it without calling the step. */
export interface InlinePart {
  readonly name: string;
  readonly codec: BaseCodec<unknown>;
  /** The number of bytes in the terminator. */
  readonly endLength: number;
  /** Whether the codec's bytes are stored unchanged, apart from `frame`. */
  readonly writable: boolean;
  readonly framed: boolean;
}

/** How the end of a field is found: `length` by its fixed length, `self` by its own bytes, `row` at the end of the row. */
export type FieldEnding = 'length' | 'self' | 'escaped' | 'separated' | 'row';

/** The format of a step's bytes, as plain data: for programs in other languages (docs/codegen.md). */
export type StepFormat =
  | { readonly kind: 'constant'; readonly bytes: Uint8Array }
  | {
      readonly kind: 'field';
      readonly name: string;
      readonly codec: BaseCodec<unknown>;
      readonly ending: FieldEnding;
      readonly inverted: boolean;
    }
  | {
      readonly kind: 'hash';
      readonly algorithm: HashAlgorithm;
      readonly bytes: number;
      readonly hex: boolean;
      readonly modulo: number | undefined;
      /** `ended`: 00 is hashed as 00 FF, and 00 01 after the part. */
      readonly sources: readonly {
        readonly name: string;
        readonly codec: BaseCodec<unknown>;
        readonly ended: boolean;
      }[];
    }
  | {
      readonly kind: 'salt';
      readonly buckets: number;
      /** The bytes of each salt; undefined for one byte, its number. */
      readonly prefixes: readonly Uint8Array[] | undefined;
      /** First and last step of each range of bytes that is hashed; undefined for Phoenix's hash of all bytes after the salt. */
      readonly runs: readonly (readonly [number, number])[] | undefined;
      readonly random: boolean;
    }
  | { readonly kind: 'bucket'; readonly part: string; readonly buckets: number }
  | {
      readonly kind: 'timeBucket';
      readonly name: string;
      /** Milliseconds. */
      readonly span: number;
      /** 8 bytes of milliseconds, or 4 of seconds. */
      readonly width: number;
      readonly inverted: boolean;
    };

/** The split points within the steps that follow. */
export type SplitBehind = (prefix: Uint8Array, regions: number) => Uint8Array[];

const NO_NAMES: readonly string[] = Object.freeze([]);

/**
 * The steps of a compiled layout, left to right. Each step writes, reads and skips its own bytes and takes part in
 * planning; other code never depends on the kind of a step.
 */
export abstract class Step {
  /** The step as it appears in the layout's signature. Frozen. */
  abstract readonly signature: string;
  /** The number of bytes in every key, or undefined if it varies. */
  abstract readonly width: number | undefined;
  /** Whether the step adds no information: it is computed from parts that the key holds whole elsewhere. */
  abstract readonly derived: boolean;
  /** The parts from which the bytes are computed. */
  readonly names: readonly string[] = NO_NAMES;
  /** Whether byte order is the order of its parts' values. */
  readonly ordered: boolean = true;
  /** The bytes, if they are the same in every key. */
  readonly constant: Uint8Array | undefined = undefined;
  readonly isRecordType: boolean = false;
  /**
   * If `width` is undefined: the rule that finds the end (steps with the same text use the same rule), and the least
   * number of bytes.
   */
  readonly ends: { readonly ending: string; readonly least: number } | undefined = undefined;
  /** False when equal values can get different bytes. */
  readonly deterministic: boolean = true;
  readonly inline: InlinePart | undefined = undefined;
  abstract readonly format: StepFormat;
  /** The part that the step holds whole, if any. */
  readonly field: KeyField | undefined = undefined;
  /** Whether `encode` only reserves space that `patch` fills once the rest of the key is written. */
  readonly patches: boolean = false;

  /** Appends its bytes. @throws KeyError naming the part. */
  abstract encode(values: KeyValues, out: KeyWriter): void;

  /** Whether the bytes are the same in all keys in which each part that satisfies `isFixed` has one value. */
  isConstant(isFixed: (part: string) => boolean): boolean {
    if (this.constant !== undefined) return true;
    return this.deterministic && this.names.length > 0 && this.names.every(isFixed);
  }

  /** For a step that `patches`: writes its bytes into an otherwise complete key. `ends` holds the end of each step. */
  patch(_out: KeyWriter, _ends: Int32Array): void {}

  /** Reads its bytes from `at` on into `target`; returns their end. @throws KeyError. */
  abstract decode(row: Uint8Array, at: number, target: Record<string, unknown>): number;

  /** The end of its bytes, which begin at `at`, or -1 if they are invalid. */
  abstract skip(row: Uint8Array, at: number): number;

  /**
   * Takes the walk past this step's bytes; returns false if the walk stops. @throws KeyError on a condition that the
   * step does not support.
   */
  abstract pass(walk: StepWalk): boolean;

  /**
   * Whether rows whose bytes differ from here on are out of the order of their parts. `later` are the steps that
   * follow.
   */
  disorders(_later: readonly Step[], _isKnown: (name: string) => boolean): boolean {
    return false;
  }

  /** For a part that cannot be decoded: whether its bytes alone decide the condition. */
  decides(_condition: SpanCondition): boolean {
    return false;
  }

  /** A test of its bytes, for parts whose decoding gives no value to test; undefined if there is nothing to test. */
  testOf(_asked: OrderedConditions): StepTest | undefined {
    return undefined;
  }

  /** The start, in ms, of the time span stored at `at`; undefined for other steps. */
  spanStart(_row: Uint8Array, _at: number, _part: string, _width: number): number | undefined {
    return undefined;
  }

  /** Points that split the keys which begin with `prefix` into `regions` shares, without the prefix itself. */
  splits(_prefix: Uint8Array, _regions: number, _behind: SplitBehind, _options: SplitOptions): Uint8Array[] {
    return [];
  }
}

/** A step of a fixed number of bytes from which no part is read: a digest, or a bucket of time. */
export abstract class OpaqueStep extends Step {
  abstract override readonly width: number;

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

/** Whether an undetermined derived step precedes an undetermined part. */
export function precedesOpenPart(later: readonly Step[], isKnown: (name: string) => boolean): boolean {
  return later.some((step) => !step.derived && step.names.some((name) => !isKnown(name)));
}

/** A step as a writer of bytes for given values. */
export interface KeyBytes {
  encode(values: KeyValues, out: KeyWriter): void;
}

/**
 * The state of planning as a step sees it: the conditions, and methods that record the step's bytes. Methods that
 * continue or stop the walk return the result for `Step.pass`.
 */
export interface StepWalk {
  /** The one part with a range condition, if any. */
  readonly span: OrderedConditions['span'];

  /** Whether a part has a single value. */
  has(name: string): boolean;

  /** The bytes that a step has for the values. @throws KeyError. */
  bytesOf(step: KeyBytes): Uint8Array;

  /** Appends the bytes of the step at `index` to `target`; returns false if one of its parts has no value. */
  writeStep(index: number, target: KeyWriter): boolean;

  /** `width` bytes of the whole key from here on; undefined unless every part has a value. */
  bytesOfWholeKey(width: number): Uint8Array | undefined;

  /** Whether every part from the next step up to the range's part has a value. */
  leadsToSpan(): boolean;

  /** Appends bytes that are the same in every key. */
  append(bytes: Uint8Array): boolean;

  /** Like `append`, for the record type. */
  appendType(bytes: Uint8Array): boolean;

  /** Appends the bytes of parts that have values. */
  appendParts(names: readonly string[], bytes: Uint8Array): boolean;

  /** Appends bytes derived from parts that have values. */
  appendDerived(bytes: Uint8Array): boolean;

  /**
   * Continues after each of the choices; every row has one of them. @throws KeyError when there are too many ranges.
   */
  fanOutOver(choices: readonly Uint8Array[], signature: string): boolean;

  /** Continues after each of the choices; rows with others do not match. @throws KeyError as `fanOutOver`. */
  appendEach(choices: readonly Uint8Array[], inOrder: boolean, signature: string): boolean;

  /** Stops before a step about which nothing is known. */
  stop(): boolean;

  /** Stops within a step, at ranges of its bytes for the conditions on these parts. */
  stopAt(names: readonly string[], found: FieldRanges): boolean;
}

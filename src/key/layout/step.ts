/**
 * The steps that a compiled layout is made of, left to right. Each writes, reads and skips its own bytes, and knows how a
 * search goes over them: nothing else asks what sort of step it is.
 */

import type { BaseCodec, KeyWriter } from '../codecs/index.js';
import type { SplitOptions } from '../types.js';
import type { OrderedConditions, SpanCondition } from './conditions.js';
import type { KeyField } from './key-field.js';
import type { KeyValues } from './part-values.js';
import type { StepWalk } from './step-walk.js';

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

import type { KeyWriter } from '../codecs/writer.js';
import type { OrderedConditions } from './conditions.js';
import type { KeyValues } from './part-values.js';
import type { FieldRanges } from './ranges.js';

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

/** The steps that a compiled layout is made of, left to right; each writes, reads and skips its own bytes. */

import { KeyError, RowanError } from '../../errors.js';
import { describeValue } from '../codecs/base.js';
import type { KeyWriter } from '../codecs/index.js';

/** Values of key parts by name. */
export type KeyValues = Readonly<Record<string, unknown>>;

export abstract class Step {
  /** Stands in the layout's signature. */
  abstract readonly signature: string;
  /** Bytes it takes in every key, or undefined when they differ. */
  abstract readonly width: number | undefined;
  /** Whether it says nothing that other steps do not say: it is computed from parts that stand elsewhere whole. */
  abstract readonly derived: boolean;

  /** Appends its bytes. @throws KeyError naming the part. */
  abstract encode(values: KeyValues, out: KeyWriter): void;

  /** Reads its bytes from `at` on into `target`; gives their end. @throws KeyError. */
  abstract decode(row: Uint8Array, at: number, target: Record<string, unknown>): number;

  /** The end of its bytes, which begin at `at`, or -1 when there are none such. */
  abstract skip(row: Uint8Array, at: number): number;
}

/** The value of a part. @throws KeyError when it is undefined or null. */
export function requireValue(values: KeyValues, name: string): unknown {
  return requirePresent(name, values[name]);
}

/** The value itself. @throws KeyError when it is undefined or null. */
export function requirePresent(name: string, value: unknown): unknown {
  if (value === undefined || value === null) {
    throw new KeyError(
      `Key part "${name}" is ${value === null ? 'null' : 'undefined'}. Every part of a row key needs a value: set it before writing, or leave it out of a prefix.`,
      { details: { property: name } },
    );
  }
  return value;
}

/** The KeyError of a part whose value a codec refused. */
export function partError(name: string, value: unknown, cause: unknown): Error {
  if (!(cause instanceof RowanError) || cause.code !== 'ERR_CODEC') return cause as Error;
  return new KeyError(`Key part "${name}": ${cause.message}`, {
    cause,
    details: { property: name, value: describeValue(value) },
  });
}

/** The KeyError of a row that does not have the layout; the layout adds the row and itself. */
export function rowError(why: string): KeyError {
  return new KeyError(why);
}

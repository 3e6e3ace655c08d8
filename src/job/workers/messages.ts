/** What a process and its threads of mappers tell each other. */

import { fromWire, RowanError, toWire, type WireError } from '../../errors.js';
import type { Counters } from '../types.js';

export type MapperRequest =
  | {
      readonly id: number;
      readonly call: 'open';
      readonly scan: number;
      readonly start: Uint8Array;
      readonly isStartIncluded: boolean;
      readonly stop: Uint8Array;
    }
  | { readonly id: number; readonly call: 'next' | 'close'; readonly scan: number };

/** Rows of one scan that were mapped together. */
export interface MappedBatch {
  /** The last row; undefined at the end. */
  readonly last: Uint8Array | undefined;
  readonly rows: number;
  readonly bytes: number;
  readonly counters: Counters;
  /** Serialized by V8: keys as latin1 texts, undefined where there is no reduce, and the values. */
  readonly pairs: Uint8Array;
}

export interface Pairs {
  readonly keys: readonly string[] | undefined;
  readonly values: readonly unknown[];
}

export type MapperReply =
  | { readonly ready: true; readonly signature: string }
  | { readonly failed: ThreadError }
  | { readonly id: number; readonly batch: MappedBatch | undefined }
  | { readonly id: number; readonly error: ThreadError };

/** An error on its way between threads: one of Rowan's, or one of the program's own. */
export type ThreadError =
  | { readonly rowan: WireError }
  | { readonly name: string; readonly message: string; readonly stack: string | undefined };

export function toThread(error: unknown): ThreadError {
  if (error instanceof RowanError) return { rowan: toWire(error) };
  if (!(error instanceof Error)) return { name: 'Error', message: String(error), stack: undefined };
  const { name, message, stack } = error;
  return { name, message, stack };
}

export function fromThread(error: ThreadError): Error {
  if ('rowan' in error) return fromWire(error.rowan);
  const made = new Error(error.message);
  made.name = error.name;
  if (error.stack !== undefined) made.stack = error.stack;
  return made;
}

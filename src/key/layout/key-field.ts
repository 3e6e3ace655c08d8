import type { BaseCodec } from '../codecs/base.js';
import type { KeyWriter } from '../codecs/writer.js';

/** A part that stands in the key whole: what ranges and plans need of its step. */
export interface KeyField {
  readonly name: string;
  readonly codec: BaseCodec<unknown>;
  /** Whether every bit, framing included, is inverted. */
  readonly inverted: boolean;
  /** Whether larger values have smaller bytes. */
  readonly reversed: boolean;
  /** Whether it is the last step of the layout. */
  readonly last: boolean;

  /** Appends `value` with its framing. @throws KeyError naming the part. */
  write(value: unknown, out: KeyWriter): void;

  /** The bytes of `value` here. @throws KeyError. */
  bytesOf(value: unknown): Uint8Array;

  /**
   * Appends what the bytes of all values that start (`suffix`: end) with `value` start with.
   * @returns whether all such bytes are of such values; undefined when the codec has no such prefixes.
   */
  writePrefix(value: unknown, suffix: boolean, out: KeyWriter): boolean | undefined;
}
